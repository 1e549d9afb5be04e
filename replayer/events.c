/* SPDX-License-Identifier: MIT */
#include "replayer/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "gen_replay.h"
#include "replayer/player.h"
#include "replayer/submit.h"

/* By index, since an event may end before a command buffer that names it. */
struct step {
    uint64_t event;
    enum replay_event_use use;
};

struct list {
    uint32_t count, capacity;
    struct step *steps;
};

struct replay_events {
    struct lap_map lists; /* struct list by the command buffer's index */
};

/* ---- lists ---- */

static uint64_t index_of(struct replay *r, VkCommandBuffer commands)
{
    return replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
}

static struct list *list_of(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    return dev->events ? lap_map_get(&dev->events->lists, index_of(r, commands)) : NULL;
}

static void free_list(void *user, uint64_t key, void *value)
{
    struct list *list = value;
    (void)user;
    (void)key;
    free(list->steps);
    free(list);
}

static enum lap_status need_events(struct replay *r, struct replay_device *dev)
{
    if (dev->events)
        return LAP_OK;
    dev->events = calloc(1, sizeof *dev->events);
    if (!dev->events)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    lap_map_init(&dev->events->lists);
    return replay_submits_begin(r, dev);
}

void replay_events_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct list *list = list_of(r, dev, commands);

    if (list)
        list->count = 0;
}

void replay_events_forget(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    struct list *list = dev->events ? lap_map_remove(&dev->events->lists, index_of(r, commands)) : NULL;

    if (list)
        free_list(NULL, 0, list);
}

void replay_events_finish(struct replay_device *dev)
{
    if (!dev->events)
        return;
    lap_map_each(&dev->events->lists, free_list, NULL);
    lap_map_finish(&dev->events->lists);
    free(dev->events);
    dev->events = NULL;
}

uint32_t replay_events_count(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    const struct list *list = list_of(r, dev, commands);
    return list ? list->count : 0;
}

uint32_t replay_events_write(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                             struct replay_event_step *out)
{
    const struct list *list = list_of(r, dev, commands);
    uint32_t count = 0;

    for (uint32_t i = 0; list && i < list->count; i++) {
        const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkEvent, list->steps[i].event);
        if (object && object->record)
            out[count++] = (struct replay_event_step){object->record, list->steps[i].use};
    }
    return count;
}

/* ---- commands ---- */

static enum lap_status add(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                           const struct step *steps, uint32_t count)
{
    struct list *list = list_of(r, dev, commands);
    enum lap_status status = LAP_OK;

    if (!count)
        return LAP_OK;
    if (!list) {
        list = calloc(1, sizeof *list);
        if (!list || lap_map_put(&dev->events->lists, index_of(r, commands), list, NULL) != LAP_OK) {
            free(list);
            list = NULL;
        }
    }
    if (list && count > list->capacity - list->count) {
        uint64_t capacity = 2 * ((uint64_t)list->count + count);
        struct step *more =
            capacity <= UINT32_MAX / sizeof *more ? realloc(list->steps, capacity * sizeof *more) : NULL;
        if (more) {
            list->steps = more;
            list->capacity = (uint32_t)capacity;
        } else {
            list = NULL;
        }
    }
    if (!list)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory for what command buffers wait for");
    else
        memcpy(list->steps + list->count, steps, count * sizeof *steps);
    if (list)
        list->count += count;
    return status;
}

static enum lap_status add_event(struct replay *r, struct replay_device *dev, VkCommandBuffer commands, VkEvent event,
                                 enum replay_event_use use)
{
    struct step step = {replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(event)), use};

    return replay_event_of(r, event) ? add(r, dev, commands, &step, 1) : LAP_OK;
}

static enum lap_status add_waits(struct replay *r, struct replay_device *dev, VkCommandBuffer commands, uint32_t count,
                                 const VkEvent *events)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++)
        status = add_event(r, dev, commands, events[i], REPLAY_EVENT_WAIT);
    return status;
}

/* What a secondary does, at the time it is executed. */
static enum lap_status add_secondary(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                     VkCommandBuffer secondary)
{
    const struct list *list = list_of(r, dev, secondary);

    return list && secondary != commands ? add(r, dev, commands, list->steps, list->count) : LAP_OK;
}

enum lap_status replay_events_note(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                   const void *args)
{
    enum lap_status status = LAP_OK;

    switch (r->command) {
    case GEN_vkCmdSetEvent:
        return add_event(r, dev, commands, ((const struct gen_args_vkCmdSetEvent *)args)->event, REPLAY_EVENT_SET);
    case GEN_vkCmdSetEvent2:
        return add_event(r, dev, commands, ((const struct gen_args_vkCmdSetEvent2 *)args)->event, REPLAY_EVENT_SET);
    case GEN_vkCmdResetEvent:
        return add_event(r, dev, commands, ((const struct gen_args_vkCmdResetEvent *)args)->event, REPLAY_EVENT_RESET);
    case GEN_vkCmdResetEvent2:
        return add_event(r, dev, commands, ((const struct gen_args_vkCmdResetEvent2 *)args)->event, REPLAY_EVENT_RESET);
    case GEN_vkCmdWaitEvents: {
        const struct gen_args_vkCmdWaitEvents *a = args;
        return add_waits(r, dev, commands, a->eventCount, a->pEvents);
    }
    case GEN_vkCmdWaitEvents2: {
        const struct gen_args_vkCmdWaitEvents2 *a = args;
        return add_waits(r, dev, commands, a->eventCount, a->pEvents);
    }
    case GEN_vkCmdExecuteCommands: {
        const struct gen_args_vkCmdExecuteCommands *a = args;
        for (uint32_t i = 0; i < a->commandBufferCount && status == LAP_OK; i++)
            status = add_secondary(r, dev, commands, a->pCommandBuffers[i]);
        return status;
    }
    default:
        return LAP_OK;
    }
}

/* ---- events ---- */

struct replay_event *replay_event_of(struct replay *r, VkEvent event)
{
    struct replay_object *object =
        replay_object_get(r, GEN_HANDLE_VkEvent, replay_object_index(r, GEN_HANDLE_VkEvent, gen_u64_VkEvent(event)));
    return object ? object->record : NULL;
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
    dev->vk.DestroyEvent(dev->live, args->event, NULL);
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
