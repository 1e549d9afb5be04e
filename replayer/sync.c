/* SPDX-License-Identifier: MIT */
/*
 * What the program learnt from the device. A trace has only answers that said something: each is replayed as a wait
 * until this device says the same. Waits end in an error when the device does not finish (wait.h).
 */
#include <inttypes.h>
#include <time.h>

#include "gen_replay.h"
#include "replayer/events.h"
#include "replayer/named.h"
#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/submit.h"
#include "replayer/wait.h"

#define REST_NS 20000
#define ASK_MS  100u /* between questions whether the device has anything under way */

/* Waits in progress: how long, and whether anything can still end them. */
struct waiting {
    struct replay_wait wait;
    const char *what;
    uint64_t asked_ms;
    bool idle; /* the device had nothing under way before the last look */
};

static struct waiting begin_waiting(const char *what)
{
    struct replay_wait wait = replay_wait_begin();
    return (struct waiting){.wait = wait, .what = what, .asked_ms = wait.now_ms};
}

/* After a look that found nothing. LAP_AGAIN: look again. LAP_OK: give it up, for the device has nothing under way; a
 * driver that does nothing may have told the program otherwise. An error when it takes too long. */
static enum lap_status wait_more(struct replay *r, struct replay_device *dev, struct waiting *waiting)
{
    uint64_t now = replay_now_ms();
    enum lap_status status;
    bool any;

    if (replay_wait_is_over(r, dev, &waiting->wait))
        return replay_wait_fail(r, dev, waiting->what);
    if (!waiting->idle) {
        if (now - waiting->asked_ms >= ASK_MS) {
            waiting->asked_ms = now;
            waiting->idle = replay_device_finishes(dev, REPLAY_WAIT_SLICE_NS);
        }
        return LAP_AGAIN; /* also if it is idle now: its last work may have done it since the look */
    }
    /* Only what is held back can still end the wait. */
    status = replay_submits_flush(r, dev, &any);
    if (status != LAP_OK)
        return status;
    waiting->idle = !any;
    if (any)
        return LAP_AGAIN;
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
    struct waiting waiting = begin_waiting(count == 1 ? "a fence" : "fences");
    enum lap_status status = LAP_AGAIN;

    while (status == LAP_AGAIN) {
        VkResult result = dev->vk.WaitForFences(dev->live, count, fences, all, REPLAY_WAIT_SLICE_NS);
        status = result == VK_TIMEOUT ? wait_more(r, dev, &waiting) : replay_result(r, result);
    }
    if (status == LAP_OK && (all || count == 1))
        replay_pending_seen(dev, count, fences);
    return status;
}

/* Drivers bear nulls among them, and so the program waited for the rest: see invalid.h. The list is the decoder's own.
 */
static uint32_t drop_nulls(uint32_t count, const VkFence *fences)
{
    VkFence *list = (VkFence *)(uintptr_t)fences;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (list[i])
            list[kept++] = list[i];
    return kept;
}

enum lap_status replay_ResetFences(struct replay *r, struct replay_device *dev, struct gen_args_vkResetFences *args)
{
    enum lap_status status;

    args->fenceCount = drop_nulls(args->fenceCount, args->pFences);
    if (args->fenceCount == 0)
        return LAP_OK;
    status = replay_pending_reset(r, dev, args->fenceCount, args->pFences);
    return status == LAP_OK ? replay_result(r, dev->vk.ResetFences(dev->live, args->fenceCount, args->pFences))
                            : status;
}

enum lap_status replay_WaitForFences(struct replay *r, struct replay_device *dev, struct gen_args_vkWaitForFences *args)
{
    uint32_t count = drop_nulls(args->fenceCount, args->pFences);

    /* If one was enough, nobody knows which. */
    if (args->result != VK_SUCCESS || count == 0 || (count < args->fenceCount && !args->waitAll))
        return LAP_OK;
    args->fenceCount = count;
    return wait_fences(r, dev, args->fenceCount, args->pFences, args->waitAll);
}

enum lap_status replay_GetFenceStatus(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkGetFenceStatus *args)
{
    return args->result == VK_SUCCESS ? wait_fences(r, dev, 1, &args->fence, VK_TRUE) : LAP_OK;
}

/* The same for semaphores and their values. */
static void drop_null_semaphores(VkSemaphoreWaitInfo *info)
{
    VkSemaphore *semaphores = (VkSemaphore *)(uintptr_t)info->pSemaphores;
    uint64_t *values = (uint64_t *)(uintptr_t)info->pValues;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < info->semaphoreCount; i++) {
        if (!semaphores[i])
            continue;
        values[kept] = values[i];
        semaphores[kept++] = semaphores[i];
    }
    if (kept < info->semaphoreCount && info->flags & VK_SEMAPHORE_WAIT_ANY_BIT)
        kept = 0; /* if one was enough, nobody knows which */
    info->semaphoreCount = kept;
}

static enum lap_status wait_semaphores(struct replay *r, struct replay_device *dev, const VkSemaphoreWaitInfo *info)
{
    struct waiting waiting =
        begin_waiting(info->semaphoreCount == 1 ? "a value of a semaphore" : "values of semaphores");
    enum lap_status status = LAP_AGAIN;

    if (!dev->vk.WaitSemaphores)
        return replay_missing(r, GEN_vkWaitSemaphores);
    while (status == LAP_AGAIN) {
        VkResult result = dev->vk.WaitSemaphores(dev->live, info, REPLAY_WAIT_SLICE_NS);
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
    drop_null_semaphores((VkSemaphoreWaitInfo *)(uintptr_t)args->pWaitInfo); /* the decoder's own, as the lists are */
    return args->pWaitInfo->semaphoreCount ? wait_semaphores(r, dev, args->pWaitInfo) : LAP_OK;
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
    struct waiting waiting = begin_waiting("an event");
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
    struct waiting waiting = begin_waiting("results of queries");
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

enum lap_status replay_ResetQueryPool(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkResetQueryPool *args)
{
    enum lap_status status = replay_named_reset_queries(r, dev, args->queryPool);

    if (status == LAP_OK)
        dev->vk.ResetQueryPool(dev->live, args->queryPool, args->firstQuery, args->queryCount);
    return status;
}

enum lap_status replay_QueueWaitIdle(struct replay *r, struct replay_device *dev, struct gen_args_vkQueueWaitIdle *args)
{
    enum lap_status status = replay_submits_flush_queue(r, dev, args->queue);

    if (status == LAP_OK)
        status = replay_wait_queue(r, dev, args->queue, "what was submitted to a queue");
    /* A fence does not tell of binds. */
    return status == LAP_OK && dev->sparse ? replay_result(r, dev->vk.QueueWaitIdle(args->queue)) : status;
}

enum lap_status replay_DeviceWaitIdle(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkDeviceWaitIdle *args)
{
    bool any;
    enum lap_status status = replay_submits_flush(r, dev, &any);

    if (status == LAP_OK && replay_submits_await(dev))
        return replay_wait_fail(r, dev, "all of it");
    return status == LAP_OK ? replay_wait_device(r, dev, "all that was submitted") : status;
}
