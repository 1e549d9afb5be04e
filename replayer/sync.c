/* SPDX-License-Identifier: MIT */
/*
 * What the program learnt from the device. A trace has only answers that said something: each is replayed as a wait
 * until this device says the same. Waits are cut into slices and end in an error when the device does not finish.
 */
#include <time.h>

#include "gen_replay.h"
#include "replayer/player.h"

#define SLICE_NS 500000000u

static enum lap_status too_long(struct replay *r)
{
    return replay_fail(r, "the device does not finish: %u s were not enough", REPLAY_WAIT_LIMIT_MS / 1000);
}

static bool is_over(uint64_t begin_ms)
{
    return replay_now_ms() - begin_ms > REPLAY_WAIT_LIMIT_MS;
}

static void rest(uint32_t round)
{
    struct timespec pause = {0, round < 100 ? 20000 : 1000000};
    nanosleep(&pause, NULL);
}

static enum lap_status wait_fences(struct replay *r, struct replay_device *dev, uint32_t count, const VkFence *fences,
                                   VkBool32 all)
{
    uint64_t begin_ms = replay_now_ms();
    VkResult result;

    do {
        result = dev->vk.WaitForFences(dev->live, count, fences, all, SLICE_NS);
        if (result != VK_TIMEOUT)
            return replay_result(r, result);
    } while (!is_over(begin_ms));
    return too_long(r);
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
    uint64_t begin_ms = replay_now_ms();
    VkResult result;

    if (!dev->vk.WaitSemaphores)
        return replay_missing(r, GEN_vkWaitSemaphores);
    do {
        result = dev->vk.WaitSemaphores(dev->live, info, SLICE_NS);
        if (result != VK_TIMEOUT)
            return replay_result(r, result);
    } while (!is_over(begin_ms));
    return too_long(r);
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
    uint64_t begin_ms = replay_now_ms();

    if (args->result != VK_EVENT_SET && args->result != VK_EVENT_RESET)
        return LAP_OK;
    for (uint32_t round = 0; !is_over(begin_ms); round++) {
        VkResult result = dev->vk.GetEventStatus(dev->live, args->event);
        if (result < 0)
            return replay_result(r, result);
        if (result == args->result)
            return LAP_OK;
        rest(round);
    }
    return too_long(r);
}

enum lap_status replay_GetQueryPoolResults(struct replay *r, struct replay_device *dev,
                                           struct gen_args_vkGetQueryPoolResults *args)
{
    uint64_t begin_ms = replay_now_ms();
    void *scratch;

    if (args->result != VK_SUCCESS || args->dataSize == 0)
        return LAP_OK;
    scratch = replay_scratch(r, args->dataSize, 1);
    if (!scratch)
        return replay_no_scratch(r);
    /* Asked again and again rather than with WAIT, which has no limit. */
    for (uint32_t round = 0; !is_over(begin_ms); round++) {
        VkResult result = dev->vk.GetQueryPoolResults(dev->live, args->queryPool, args->firstQuery, args->queryCount,
                                                      args->dataSize, scratch, args->stride,
                                                      args->flags & ~(VkQueryResultFlags)VK_QUERY_RESULT_WAIT_BIT);
        if (result != VK_NOT_READY)
            return replay_result(r, result);
        rest(round);
    }
    return too_long(r);
}

enum lap_status replay_QueueWaitIdle(struct replay *r, struct replay_device *dev, struct gen_args_vkQueueWaitIdle *args)
{
    return replay_result(r, dev->vk.QueueWaitIdle(args->queue));
}

enum lap_status replay_DeviceWaitIdle(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkDeviceWaitIdle *args)
{
    return replay_result(r, dev->vk.DeviceWaitIdle(dev->live));
}
