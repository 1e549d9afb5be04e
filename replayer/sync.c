/* SPDX-License-Identifier: MIT */
/*
 * What the program learnt from the device. A trace has only answers that said something: each is replayed as a wait
 * until this device says the same. Waits are cut into slices and end in an error when the device does not finish.
 */
#include <inttypes.h>
#include <time.h>

#include "gen_replay.h"
#include "replayer/events.h"
#include "replayer/player.h"
#include "replayer/submit.h"

#define SLICE_NS 200000000u
#define REST_NS  20000
#define ASK_MS   100u /* between questions whether the device has anything under way */

#define STUCK                                                                                                          \
    "the device waits for an event that the host sets later: what is waited for here stands behind that, where the "   \
    "recorded machine had a queue of its own for it"

/* Waits in progress: how long, and whether anything can still end them. */
struct waiting {
    uint64_t begin_ms, asked_ms;
    bool idle; /* the device had nothing under way before the last look */
};

static struct waiting begin_waiting(void)
{
    uint64_t now = replay_now_ms();
    return (struct waiting){.begin_ms = now, .asked_ms = now};
}

/* The device has nothing under way: only what is held back can still end a wait. */
static enum lap_status let_go(struct replay *r, struct replay_device *dev, struct waiting *waiting)
{
    bool any;
    enum lap_status status = replay_submits_flush(r, dev, &any);

    waiting->idle = !any;
    return status == LAP_OK ? LAP_AGAIN : status;
}

/* After a look that found nothing. LAP_AGAIN: look again. LAP_OK: give it up, for the device has nothing under way; a
 * driver that does nothing may have told the program otherwise. An error when it takes too long. */
static enum lap_status wait_more(struct replay *r, struct replay_device *dev, struct waiting *waiting)
{
    uint64_t now = replay_now_ms();

    if (now - waiting->begin_ms > REPLAY_WAIT_LIMIT_MS && replay_submits_await(dev))
        return replay_fail(r, STUCK);
    if (now - waiting->begin_ms > REPLAY_WAIT_LIMIT_MS)
        return replay_fail(r, "the device does not finish: %u s were not enough", REPLAY_WAIT_LIMIT_MS / 1000);
    if (!waiting->idle) {
        if (now - waiting->asked_ms >= ASK_MS) {
            waiting->asked_ms = now;
            waiting->idle = replay_device_finishes(dev, SLICE_NS);
        }
        return waiting->idle ? let_go(r, dev, waiting) : LAP_AGAIN;
    }
    if (!r->gave_up_waiting)
        lap_log(r->log, LAP_LOG_WARNING,
                "packet %" PRIu64 ": the recorded driver says what nothing here can bring about; played on",
                r->packet.ticket);
    r->gave_up_waiting = true;
    return LAP_OK;
}

static void rest(uint32_t round)
{
    struct timespec pause = {0, round < 100 ? REST_NS : 50 * REST_NS};
    nanosleep(&pause, NULL);
}

static enum lap_status wait_fences(struct replay *r, struct replay_device *dev, uint32_t count, const VkFence *fences,
                                   VkBool32 all)
{
    struct waiting waiting = begin_waiting();
    enum lap_status status = LAP_AGAIN;

    while (status == LAP_AGAIN) {
        VkResult result = dev->vk.WaitForFences(dev->live, count, fences, all, SLICE_NS);
        status = result == VK_TIMEOUT ? wait_more(r, dev, &waiting) : replay_result(r, result);
    }
    return status;
}

enum lap_status replay_WaitForFences(struct replay *r, struct replay_device *dev, struct gen_args_vkWaitForFences *args)
{
    if (args->result != VK_SUCCESS || args->fenceCount == 0)
        return LAP_OK;
    return wait_fences(r, dev, args->fenceCount, args->pFences, args->waitAll);
}

enum lap_status replay_GetFenceStatus(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkGetFenceStatus *args)
{
    return args->result == VK_SUCCESS ? wait_fences(r, dev, 1, &args->fence, VK_TRUE) : LAP_OK;
}

static enum lap_status wait_semaphores(struct replay *r, struct replay_device *dev, const VkSemaphoreWaitInfo *info)
{
    struct waiting waiting = begin_waiting();
    enum lap_status status = LAP_AGAIN;

    if (!dev->vk.WaitSemaphores)
        return replay_missing(r, GEN_vkWaitSemaphores);
    while (status == LAP_AGAIN) {
        VkResult result = dev->vk.WaitSemaphores(dev->live, info, SLICE_NS);
        status = result == VK_TIMEOUT ? wait_more(r, dev, &waiting) : replay_result(r, result);
    }
    return status;
}

enum lap_status replay_WaitSemaphores(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkWaitSemaphores *args)
{
    if (args->result != VK_SUCCESS)
        return LAP_OK;
    if (args->pWaitInfo->semaphoreCount && (!args->pWaitInfo->pSemaphores || !args->pWaitInfo->pValues))
        return replay_absent(r, "pSemaphores");
    return wait_semaphores(r, dev, args->pWaitInfo);
}

enum lap_status replay_GetSemaphoreCounterValue(struct replay *r, struct replay_device *dev,
                                                struct gen_args_vkGetSemaphoreCounterValue *args)
{
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &args->semaphore,
                                .pValues = args->pValue};

    return args->result == VK_SUCCESS && args->pValue ? wait_semaphores(r, dev, &info) : LAP_OK;
}

enum lap_status replay_GetEventStatus(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkGetEventStatus *args)
{
    struct waiting waiting = begin_waiting();
    enum lap_status status = LAP_OK;

    if ((args->result != VK_EVENT_SET && args->result != VK_EVENT_RESET) || r->options.blackhole)
        return LAP_OK;
    if (args->result == VK_EVENT_SET)
        status = replay_submits_seen_event(r, dev, replay_event_of(r, args->event));
    status = status == LAP_OK ? LAP_AGAIN : status;
    for (uint32_t round = 0; status == LAP_AGAIN; round++) {
        VkResult result = dev->vk.GetEventStatus(dev->live, args->event);
        if (result < 0 || result == args->result)
            return replay_result(r, result);
        rest(round);
        status = wait_more(r, dev, &waiting);
    }
    return status;
}

enum lap_status replay_GetQueryPoolResults(struct replay *r, struct replay_device *dev,
                                           struct gen_args_vkGetQueryPoolResults *args)
{
    /* Asked again and again rather than with WAIT, which has no limit; and for no part then, which is there at once. */
    const VkQueryResultFlags waits = VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_PARTIAL_BIT;
    const VkQueryResultFlags flags = args->flags & VK_QUERY_RESULT_WAIT_BIT ? args->flags & ~waits : args->flags;
    struct waiting waiting = begin_waiting();
    enum lap_status status = LAP_AGAIN;
    void *scratch;

    if (args->result != VK_SUCCESS || args->dataSize == 0 || r->options.blackhole)
        return LAP_OK;
    scratch = replay_scratch(r, args->dataSize, 1);
    if (!scratch)
        return replay_no_scratch(r);
    for (uint32_t round = 0; status == LAP_AGAIN; round++) {
        VkResult result = dev->vk.GetQueryPoolResults(dev->live, args->queryPool, args->firstQuery, args->queryCount,
                                                      args->dataSize, scratch, args->stride, flags);
        if (result != VK_NOT_READY)
            return replay_result(r, result);
        rest(round);
        status = wait_more(r, dev, &waiting);
    }
    return status;
}

/* As vkQueueWaitIdle, which has no limit. */
static enum lap_status wait_queue(struct replay *r, struct replay_device *dev, VkQueue queue)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    enum lap_status status = replay_result(r, dev->vk.CreateFence(dev->live, &info, NULL, &fence));

    if (status == LAP_OK)
        status = replay_result(r, dev->vk.QueueSubmit(queue, 0, NULL, fence));
    if (status == LAP_OK)
        status = wait_fences(r, dev, 1, &fence, VK_TRUE);
    if (status == LAP_OK) /* else it is under way until the process ends */
        dev->vk.DestroyFence(dev->live, fence, NULL);
    return status;
}

enum lap_status replay_QueueWaitIdle(struct replay *r, struct replay_device *dev, struct gen_args_vkQueueWaitIdle *args)
{
    enum lap_status status = replay_submits_flush_queue(r, dev, args->queue);

    if (status == LAP_OK && replay_submits_await(dev))
        return wait_queue(r, dev, args->queue);
    return status == LAP_OK ? replay_result(r, dev->vk.QueueWaitIdle(args->queue)) : status;
}

enum lap_status replay_DeviceWaitIdle(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkDeviceWaitIdle *args)
{
    bool any;
    enum lap_status status = replay_submits_flush(r, dev, &any);

    if (status == LAP_OK && replay_submits_await(dev))
        return replay_fail(r, STUCK);
    return status == LAP_OK ? replay_result(r, dev->vk.DeviceWaitIdle(dev->live)) : status;
}
