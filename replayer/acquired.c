/* SPDX-License-Identifier: MIT */
#include "replayer/acquired.h"

#include <string.h>

#include "gen_replay.h"
#include "replayer/player.h"
#include "replayer/resource.h"

/* The oldest stays first. */
static void remove_at(struct replay_device *dev, uint32_t at)
{
    dev->owed_count--;
    memmove(&dev->owed[at], &dev->owed[at + 1], (dev->owed_count - at) * sizeof *dev->owed);
}

static enum lap_status signal_at(struct replay *r, struct replay_device *dev, uint32_t at)
{
    const struct replay_owed owed = dev->owed[at];
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = 1, .pSignalSemaphores = &owed.semaphore};

    remove_at(dev, at);
    return replay_result(r, dev->vk.QueueSubmit(owed.queue, 1, &submit, VK_NULL_HANDLE));
}

/* The place of a semaphore whose signal is owed, or owed_count. */
static uint32_t find(const struct replay_device *dev, VkSemaphore semaphore)
{
    uint32_t at = 0;

    while (at < dev->owed_count && dev->owed[at].semaphore != semaphore)
        at++;
    return at;
}

void replay_acquired_forget(struct replay_device *dev, VkSemaphore semaphore)
{
    uint32_t at = find(dev, semaphore);

    if (at < dev->owed_count)
        remove_at(dev, at);
}

enum lap_status replay_acquired_signal(struct replay *r, struct replay_device *dev, uint32_t count,
                                       const VkSemaphore *semaphores)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        uint32_t at = find(dev, semaphores[i]);
        if (at < dev->owed_count)
            status = signal_at(r, dev, at);
    }
    return status;
}

enum lap_status replay_acquired_owe(struct replay *r, struct replay_device *dev, const struct replay_queue *queue,
                                    VkSemaphore semaphore)
{
    enum lap_status status = replay_acquired_signal(r, dev, 1, &semaphore); /* a program that acquires with it again */

    if (status == LAP_OK && dev->owed_count == REPLAY_OWED_MOST)
        status = signal_at(r, dev, 0);
    if (status == LAP_OK)
        dev->owed[dev->owed_count++] = (struct replay_owed){semaphore, queue->live};
    return status;
}

/* ---- what waits ---- */

/* Whether the queue needs no wait for a semaphore; else its signal is submitted, if it is owed. */
static enum lap_status take(struct replay *r, struct replay_device *dev, VkQueue queue, VkSemaphore semaphore,
                            bool *out_needless)
{
    uint32_t at = find(dev, semaphore);

    *out_needless = at < dev->owed_count && dev->owed[at].queue == queue;
    if (*out_needless)
        remove_at(dev, at);
    return !*out_needless && at < dev->owed_count ? signal_at(r, dev, at) : LAP_OK;
}

/* The arrays that lie beside a batch's waits are as long: all are written through, as they are the replay's own. */
static enum lap_status leave_out_old(struct replay *r, struct replay_device *dev, VkQueue queue, VkSubmitInfo *info)
{
    VkSemaphore *semaphores = (VkSemaphore *)(uintptr_t)info->pWaitSemaphores;
    VkPipelineStageFlags *stages = (VkPipelineStageFlags *)(uintptr_t)info->pWaitDstStageMask;
    VkTimelineSemaphoreSubmitInfo *timeline = (VkTimelineSemaphoreSubmitInfo *)(uintptr_t)replay_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    VkDeviceGroupSubmitInfo *group = (VkDeviceGroupSubmitInfo *)(uintptr_t)replay_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
    uint64_t *values = timeline && timeline->waitSemaphoreValueCount == info->waitSemaphoreCount
                           ? (uint64_t *)(uintptr_t)timeline->pWaitSemaphoreValues
                           : NULL;
    uint32_t *devices = group && group->waitSemaphoreCount == info->waitSemaphoreCount
                            ? (uint32_t *)(uintptr_t)group->pWaitSemaphoreDeviceIndices
                            : NULL;
    enum lap_status status = LAP_OK;
    uint32_t kept = 0;

    if (!semaphores || !stages)
        return LAP_OK;
    for (uint32_t i = 0; i < info->waitSemaphoreCount && status == LAP_OK; i++) {
        bool needless;
        status = take(r, dev, queue, semaphores[i], &needless);
        if (needless)
            continue;
        semaphores[kept] = semaphores[i];
        stages[kept] = stages[i];
        if (values)
            values[kept] = values[i];
        if (devices)
            devices[kept] = devices[i];
        kept++;
    }
    if (status != LAP_OK)
        return status;
    info->waitSemaphoreCount = kept;
    if (values)
        timeline->waitSemaphoreValueCount = kept;
    if (devices)
        group->waitSemaphoreCount = kept;
    return LAP_OK;
}

static enum lap_status leave_out_new(struct replay *r, struct replay_device *dev, VkQueue queue, VkSubmitInfo2 *info)
{
    VkSemaphoreSubmitInfo *waits = (VkSemaphoreSubmitInfo *)(uintptr_t)info->pWaitSemaphoreInfos;
    enum lap_status status = LAP_OK;
    uint32_t kept = 0;

    if (!waits)
        return LAP_OK;
    for (uint32_t i = 0; i < info->waitSemaphoreInfoCount && status == LAP_OK; i++) {
        bool needless;
        status = take(r, dev, queue, waits[i].semaphore, &needless);
        if (!needless)
            waits[kept++] = waits[i];
    }
    if (status == LAP_OK)
        info->waitSemaphoreInfoCount = kept;
    return status;
}

/* What else was acquired behind the queue's presents is signalled before the queue gets work that may wait for what
 * depends on it. */
static enum lap_status signal_queue(struct replay *r, struct replay_device *dev, VkQueue queue)
{
    enum lap_status status = LAP_OK;

    for (uint32_t at = 0; at < dev->owed_count && status == LAP_OK;) {
        if (dev->owed[at].queue == queue)
            status = signal_at(r, dev, at);
        else
            at++;
    }
    return status;
}

enum lap_status replay_acquired_before(struct replay *r, struct replay_device *dev, uint32_t command, void *args,
                                       uint32_t first, uint32_t count)
{
    enum lap_status status = LAP_OK;

    if (!dev->owed_count)
        return LAP_OK;
    if (command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *one = args;
        for (uint32_t i = first; i < first + count && status == LAP_OK; i++)
            status = leave_out_old(r, dev, one->queue, (VkSubmitInfo *)(uintptr_t)&one->pSubmits[i]);
        return status == LAP_OK ? signal_queue(r, dev, one->queue) : status;
    }
    if (command == GEN_vkQueueSubmit2) {
        const struct gen_args_vkQueueSubmit2 *two = args;
        for (uint32_t i = first; i < first + count && status == LAP_OK; i++)
            status = leave_out_new(r, dev, two->queue, (VkSubmitInfo2 *)(uintptr_t)&two->pSubmits[i]);
        return status == LAP_OK ? signal_queue(r, dev, two->queue) : status;
    }
    const struct gen_args_vkQueueBindSparse *binds = args;
    for (uint32_t i = first; i < first + count && status == LAP_OK; i++)
        if (binds->pBindInfo[i].pWaitSemaphores)
            status = replay_acquired_signal(r, dev, binds->pBindInfo[i].waitSemaphoreCount,
                                            binds->pBindInfo[i].pWaitSemaphores);
    return status == LAP_OK ? signal_queue(r, dev, binds->queue) : status;
}
