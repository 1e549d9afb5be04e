/* SPDX-License-Identifier: MIT */
/*
 * Repeats the answers that the program got from the device. A trace has only answers with information. The replay
 * repeats each as a wait until the replay device gives the same answer. Waits end with an error when the device does
 * not finish (wait.h).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "gen_replay.h"
#include "replayer/command/command_events.h"
#include "replayer/command/reference_check.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/submit/external_sync.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"

#define REST_NS 20000
#define ASK_MS  100u /* between checks whether the device has work in flight */

/* A wait in progress: its duration, and whether anything can still end it. */
struct waiting {
    struct replay_wait wait;
    const char *what;
    uint64_t asked_ms;
    bool idle; /* the device was idle before the last look */
};

static struct waiting begin_waiting(const char *what)
{
    struct replay_wait wait = replay_wait_begin();
    return (struct waiting){.wait = wait, .what = what, .asked_ms = wait.now_ms};
}

/* After a look without a result. LAP_AGAIN: look again. LAP_OK: stop waiting, as the device is idle; a driver that
 * does nothing may have returned another answer to the program. An error when the wait takes too long. */
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
        return LAP_AGAIN; /* look again even if it is idle now: its last work may have finished since the look */
    }
    /* Only held work can still end the wait. */
    status = replay_submits_flush(r, dev, &any);
    if (status != LAP_OK)
        return status;
    waiting->idle = !any;
    if (any)
        return LAP_AGAIN;
    if (!r->summary.gave_up_waiting)
        lap_log(r->log, LAP_LOG_WARNING,
                "packet %" PRIu64 ": nothing in the replay can cause the recorded result; the replay goes on",
                r->at.packet.ticket);
    r->summary.gave_up_waiting = true;
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
        replay_submission_fences_seen(dev, count, fences);
    return status;
}

/* Leaves out the fences that no call of the trace signals. The decoder owns the list. */
static enum lap_status leave_out_foreign(struct replay *r, struct replay_device *dev, uint32_t *count,
                                         const VkFence *fences)
{
    VkFence *list = (VkFence *)(uintptr_t)fences;
    enum lap_status status = LAP_OK;
    uint32_t remaining = 0;

    for (uint32_t i = 0; dev->sync.handed && i < *count && status == LAP_OK; i++) {
        bool over;
        status = replay_external_sync_await(r, dev, list[i], &over);
        if (!over)
            list[remaining++] = list[i];
    }
    *count = dev->sync.handed ? remaining : *count;
    return status;
}

/* Drivers accept null fences, and the program waited for the rest: see invalid_calls.h. The decoder owns the list. */
static uint32_t drop_nulls(uint32_t count, const VkFence *fences)
{
    VkFence *list = (VkFence *)(uintptr_t)fences;
    uint32_t remaining = 0;

    for (uint32_t i = 0; i < count; i++)
        if (list[i])
            list[remaining++] = list[i];
    return remaining;
}

enum lap_status replay_ResetFences(struct replay *r, struct replay_device *dev, struct gen_args_vkResetFences *args)
{
    enum lap_status status;

    status = replay_external_sync_reset(r, dev, args->fenceCount, (VkFence *)(uintptr_t)args->pFences);
    args->fenceCount = drop_nulls(args->fenceCount, args->pFences);
    if (args->fenceCount == 0 || status != LAP_OK)
        return status;
    status = replay_submission_await_fences(r, dev, args->fenceCount, args->pFences);
    return status == LAP_OK ? replay_result(r, dev->vk.ResetFences(dev->live, args->fenceCount, args->pFences))
                            : status;
}

enum lap_status replay_WaitForFences(struct replay *r, struct replay_device *dev, struct gen_args_vkWaitForFences *args)
{
    uint32_t count = drop_nulls(args->fenceCount, args->pFences);

    /* If one fence was enough, it is unknown which. */
    if (args->result != VK_SUCCESS || count == 0 || (count < args->fenceCount && !args->waitAll))
        return LAP_OK;
    enum lap_status status = leave_out_foreign(r, dev, &count, args->pFences);

    args->fenceCount = count;
    return count && status == LAP_OK ? wait_fences(r, dev, args->fenceCount, args->pFences, args->waitAll) : status;
}

enum lap_status replay_GetFenceStatus(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkGetFenceStatus *args)
{
    uint32_t count = 1;
    enum lap_status status = args->result == VK_SUCCESS ? leave_out_foreign(r, dev, &count, &args->fence) : LAP_OK;

    return args->result == VK_SUCCESS && count && status == LAP_OK ? wait_fences(r, dev, 1, &args->fence, VK_TRUE)
                                                                   : status;
}

/* ---- the program's fences ---- */

enum lap_status replay_CreateFence(struct replay *r, struct replay_device *dev, struct gen_args_vkCreateFence *args)
{
    VkFenceCreateInfo info = *args->pCreateInfo;
    VkFence live = VK_NULL_HANDLE;
    VkResult result;

    (void)replay_external_sync_drop_exports(&info.pNext);
    result = dev->vk.CreateFence(dev->live, &info, NULL, &live);
    if (result < 0)
        return replay_result(r, result);
    return replay_object_keep(r, GEN_HANDLE_VkFence, dev, gen_u64_VkFence(*args->pFence), gen_u64_VkFence(live));
}

/* The trace does not show when a display of the recorded machine was ready. The program waits for these fences and
 * destroys them: they are signalled from the beginning. */
static enum lap_status create_signalled(struct replay *r, struct replay_device *dev, const VkFence *recorded)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
                                    .flags = VK_FENCE_CREATE_SIGNALED_BIT};
    VkFence live = VK_NULL_HANDLE;
    VkResult result;

    if (!recorded || *recorded == VK_NULL_HANDLE)
        return LAP_OK;
    result = dev->vk.CreateFence(dev->live, &info, NULL, &live);
    if (result < 0)
        return replay_result(r, result);
    return replay_object_keep(r, GEN_HANDLE_VkFence, dev, gen_u64_VkFence(*recorded), gen_u64_VkFence(live));
}

enum lap_status replay_RegisterDeviceEventEXT(struct replay *r, struct replay_device *dev,
                                              struct gen_args_vkRegisterDeviceEventEXT *args)
{
    return create_signalled(r, dev, args->pFence);
}

enum lap_status replay_RegisterDisplayEventEXT(struct replay *r, struct replay_device *dev,
                                               struct gen_args_vkRegisterDisplayEventEXT *args)
{
    return create_signalled(r, dev, args->pFence);
}

enum lap_status replay_end_VkFence(struct replay *r, struct replay_device *dev, uint64_t index,
                                   struct replay_object *object)
{
    if (__builtin_expect(!dev->sync.handed, 1) || replay_external_sync_end(r, dev, GEN_HANDLE_VkFence, index)) {
        if (__builtin_expect(dev->busy, 0))
            replay_deferred_destroy_handle(dev, GEN_HANDLE_VkFence, object->live);
        else
            dev->vk.DestroyFence(dev->live, gen_VkFence(object->live), NULL);
        free(object->record);
    }
    replay_object_end(r, GEN_HANDLE_VkFence, index, object);
    return LAP_OK;
}

/* The same for semaphores and their values. */
static void drop_null_semaphores(VkSemaphoreWaitInfo *info)
{
    VkSemaphore *semaphores = (VkSemaphore *)(uintptr_t)info->pSemaphores;
    uint64_t *values = (uint64_t *)(uintptr_t)info->pValues;
    uint32_t remaining = 0;

    for (uint32_t i = 0; i < info->semaphoreCount; i++) {
        if (!semaphores[i])
            continue;
        values[remaining] = values[i];
        semaphores[remaining++] = semaphores[i];
    }
    if (remaining < info->semaphoreCount && info->flags & VK_SEMAPHORE_WAIT_ANY_BIT)
        remaining = 0; /* if one was enough, it is unknown which */
    info->semaphoreCount = remaining;
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
    drop_null_semaphores((VkSemaphoreWaitInfo *)(uintptr_t)args->pWaitInfo); /* the decoder owns it and the lists */
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
    /* Polls without WAIT, which has no limit, and without PARTIAL, which returns at once. */
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
    enum lap_status status = replay_reference_check_reset_queries(r, dev, args->queryPool);

    if (status == LAP_OK)
        dev->vk.ResetQueryPool(dev->live, args->queryPool, args->firstQuery, args->queryCount);
    return status;
}

enum lap_status replay_QueueWaitIdle(struct replay *r, struct replay_device *dev, struct gen_args_vkQueueWaitIdle *args)
{
    enum lap_status status = replay_submits_flush_queue(r, dev, args->queue);

    if (status == LAP_OK)
        status = replay_wait_queue(r, dev, args->queue, "what was submitted to a queue");
    /* A fence does not cover sparse binds. */
    return status == LAP_OK && dev->memory.sparse ? replay_result(r, dev->vk.QueueWaitIdle(args->queue)) : status;
}

enum lap_status replay_DeviceWaitIdle(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkDeviceWaitIdle *args)
{
    bool any;
    enum lap_status status = replay_submits_flush(r, dev, &any);

    if (status == LAP_OK && replay_device_awaits_host(dev))
        return replay_wait_fail(r, dev, "all of it");
    return status == LAP_OK ? replay_wait_device(r, dev, "all that was submitted") : status;
}
