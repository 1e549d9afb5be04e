/* SPDX-License-Identifier: MIT */
#include "replayer/submit/submit_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/command/command_events.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/submit/schedule.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/deferred_destroy.h"

#define STEPS_MOST ((uint64_t)1 << 23) /* of one submit: it may contain a command buffer many times */

/* ---- submits ---- */

/* The batches of either call. */
struct batches {
    uint32_t count;
    const VkSubmitInfo *one;
    const VkSubmitInfo2 *two;
};

static uint32_t command_buffer_count(const struct batches *batches, uint32_t batch)
{
    const VkSubmitInfo *one = batches->one ? &batches->one[batch] : NULL;
    const VkSubmitInfo2 *two = batches->two ? &batches->two[batch] : NULL;

    if (one)
        return one->pCommandBuffers ? one->commandBufferCount : 0;
    return two && two->pCommandBufferInfos ? two->commandBufferInfoCount : 0;
}

static VkCommandBuffer command_buffer(const struct batches *batches, uint32_t batch, uint32_t number)
{
    return batches->one ? batches->one[batch].pCommandBuffers[number]
                        : batches->two[batch].pCommandBufferInfos[number].commandBuffer;
}

enum lap_status replay_submit_events(struct replay *r, const struct replay_device *dev, uint32_t command,
                                     const void *args, struct replay_submit_events *out)
{
    const struct gen_args_vkQueueSubmit *one = command == GEN_vkQueueSubmit ? args : NULL;
    const struct gen_args_vkQueueSubmit2 *two = one ? NULL : args;
    const struct batches batches = {one ? one->submitCount : two->submitCount, one ? one->pSubmits : NULL,
                                    two ? two->pSubmits : NULL};
    struct replay_event_step *steps;
    uint32_t *step_counts;
    uint64_t most = 0, count = 0;

    *out = (struct replay_submit_events){0};
    for (uint32_t i = 0; dev->sync.events && i < batches.count; i++)
        for (uint32_t j = 0; j < command_buffer_count(&batches, i); j++)
            most += replay_command_events_count(r, dev, command_buffer(&batches, i, j));
    if (!most)
        return LAP_OK;
    if (most > STEPS_MOST)
        return lap_fail(LAP_ERROR_LIMIT, "command buffers of one submit do more than %u million things with events",
                        (unsigned)(STEPS_MOST >> 20));
    steps = replay_scratch(r, most, sizeof *steps);
    step_counts = replay_scratch(r, batches.count, sizeof *step_counts);
    if (!steps || !step_counts)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < batches.count; i++) {
        uint64_t first = count;
        for (uint32_t j = 0; j < command_buffer_count(&batches, i); j++)
            count += replay_command_events_write(r, dev, command_buffer(&batches, i, j), steps + count);
        step_counts[i] = (uint32_t)(count - first);
    }
    *out = (struct replay_submit_events){step_counts, steps};
    return LAP_OK;
}

/* ---- calls ---- */

static enum lap_status need_events(struct replay *r, struct replay_device *dev)
{
    enum lap_status status = replay_command_events_create(r, dev);

    return status == LAP_OK ? replay_submits_begin(r, dev) : status;
}

enum lap_status replay_CreateEvent(struct replay *r, struct replay_device *dev, struct gen_args_vkCreateEvent *args)
{
    uint64_t index = gen_u64_VkEvent(*args->pEvent);
    VkEvent live = VK_NULL_HANDLE;
    struct replay_object *object;
    enum lap_status status = replay_result(r, dev->vk.CreateEvent(dev->live, args->pCreateInfo, NULL, &live));

    if (status == LAP_OK)
        status = gen_keep_VkEvent(r, dev, args->pEvent, &live, 1);
    if (status != LAP_OK || !index || args->pCreateInfo->flags & VK_EVENT_CREATE_DEVICE_ONLY_BIT)
        return status;
    object = replay_object_get(r, GEN_HANDLE_VkEvent, index);
    if (object)
        object->record = calloc(1, sizeof(struct replay_event));
    return object && object->record ? need_events(r, dev) : replay_no_scratch(r);
}

enum lap_status replay_DestroyEvent(struct replay *r, struct replay_device *dev, struct gen_args_vkDestroyEvent *args)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(args->event));
    struct replay_event *known = replay_event_of(r, args->event);

    if (known && replay_submits_name_event(dev, known))
        return replay_fail(r, "VkEvent:%" PRIu64 " is destroyed before the work that names it", index);
    if (known)
        replay_submits_forget_event(dev, known);
    replay_destroy(dev, GEN_HANDLE_VkEvent, gen_u64_VkEvent(args->event));
    free(known);
    replay_object_remove(r, GEN_HANDLE_VkEvent, index);
    return LAP_OK;
}

enum lap_status replay_SetEvent(struct replay *r, struct replay_device *dev, struct gen_args_vkSetEvent *args)
{
    enum lap_status status = replay_result(r, dev->vk.SetEvent(dev->live, args->event));

    return status == LAP_OK ? replay_submits_set_event(dev, replay_event_of(r, args->event)) : status;
}

enum lap_status replay_ResetEvent(struct replay *r, struct replay_device *dev, struct gen_args_vkResetEvent *args)
{
    struct replay_event *known = replay_event_of(r, args->event);

    if (known)
        replay_schedule_reset(known);
    return replay_result(r, dev->vk.ResetEvent(dev->live, args->event));
}
