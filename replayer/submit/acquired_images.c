/* SPDX-License-Identifier: MIT */
#include "replayer/submit/acquired_images.h"

#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/core/device.h"
#include "vulkan/chain.h"

/* A semaphore to signal behind a queue's submitted work. */
struct signal {
    VkSemaphore semaphore;
    VkQueue queue;
};

struct replay_acquired_images {
    uint32_t count;
    struct signal signals[REPLAY_ACQUIRED_MOST]; /* oldest first */
};

static uint32_t signal_count(const struct replay_device *dev)
{
    return dev->present.acquired ? dev->present.acquired->count : 0;
}

static void remove_at(struct replay_device *dev, uint32_t at)
{
    struct replay_acquired_images *acquired = dev->present.acquired;

    acquired->count--;
    memmove(&acquired->signals[at], &acquired->signals[at + 1], (acquired->count - at) * sizeof *acquired->signals);
}

static enum lap_status signal_at(struct replay *r, struct replay_device *dev, uint32_t at)
{
    const struct signal signal = dev->present.acquired->signals[at];
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = 1, .pSignalSemaphores = &signal.semaphore};

    remove_at(dev, at);
    return replay_result(r, dev->vk.QueueSubmit(signal.queue, 1, &submit, VK_NULL_HANDLE));
}

/* The place of a semaphore with a pending signal, or signal_count(dev). */
static uint32_t find(const struct replay_device *dev, VkSemaphore semaphore)
{
    uint32_t at = 0;

    while (at < signal_count(dev) && dev->present.acquired->signals[at].semaphore != semaphore)
        at++;
    return at;
}

void replay_acquired_images_forget(struct replay_device *dev, VkSemaphore semaphore)
{
    uint32_t at = find(dev, semaphore);

    if (at < signal_count(dev))
        remove_at(dev, at);
}

enum lap_status replay_acquired_images_signal(struct replay *r, struct replay_device *dev, uint32_t count,
                                              const VkSemaphore *semaphores)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        uint32_t at = find(dev, semaphores[i]);
        if (at < signal_count(dev))
            status = signal_at(r, dev, at);
    }
    return status;
}

enum lap_status replay_acquired_images_signal_later(struct replay *r, struct replay_device *dev,
                                                    const struct replay_queue *queue, VkSemaphore semaphore)
{
    enum lap_status status =
        replay_acquired_images_signal(r, dev, 1, &semaphore); /* the program acquires with it again */

    if (!dev->present.acquired)
        dev->present.acquired = calloc(1, sizeof *dev->present.acquired);
    if (!dev->present.acquired)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for an acquired image");
    if (status == LAP_OK && signal_count(dev) == REPLAY_ACQUIRED_MOST)
        status = signal_at(r, dev, 0);
    if (status == LAP_OK)
        dev->present.acquired->signals[dev->present.acquired->count++] = (struct signal){semaphore, queue->live};
    return status;
}

void replay_acquired_images_finish(struct replay_device *dev)
{
    free(dev->present.acquired);
    dev->present.acquired = NULL;
}

/* ---- waits ---- */

/* Whether the queue can skip the wait for a semaphore. If not, the semaphore's pending signal is submitted. */
static enum lap_status take(struct replay *r, struct replay_device *dev, VkQueue queue, VkSemaphore semaphore,
                            bool *out_needless)
{
    uint32_t at = find(dev, semaphore);

    *out_needless = at < signal_count(dev) && dev->present.acquired->signals[at].queue == queue;
    if (*out_needless)
        remove_at(dev, at);
    return !*out_needless && at < signal_count(dev) ? signal_at(r, dev, at) : LAP_OK;
}

/* The arrays parallel to a batch's waits have the same length. All belong to the replay, so they may be
 * overwritten. */
static enum lap_status leave_out_old(struct replay *r, struct replay_device *dev, VkQueue queue, VkSubmitInfo *info)
{
    VkSemaphore *semaphores = (VkSemaphore *)(uintptr_t)info->pWaitSemaphores;
    VkPipelineStageFlags *stages = (VkPipelineStageFlags *)(uintptr_t)info->pWaitDstStageMask;
    VkTimelineSemaphoreSubmitInfo *timeline = (VkTimelineSemaphoreSubmitInfo *)(uintptr_t)lap_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    VkDeviceGroupSubmitInfo *group =
        (VkDeviceGroupSubmitInfo *)(uintptr_t)lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
    uint64_t *values = timeline && timeline->waitSemaphoreValueCount == info->waitSemaphoreCount
                           ? (uint64_t *)(uintptr_t)timeline->pWaitSemaphoreValues
                           : NULL;
    uint32_t *devices = group && group->waitSemaphoreCount == info->waitSemaphoreCount
                            ? (uint32_t *)(uintptr_t)group->pWaitSemaphoreDeviceIndices
                            : NULL;
    enum lap_status status = LAP_OK;
    uint32_t remaining = 0;

    if (!semaphores || !stages)
        return LAP_OK;
    for (uint32_t i = 0; i < info->waitSemaphoreCount && status == LAP_OK; i++) {
        bool needless;
        status = take(r, dev, queue, semaphores[i], &needless);
        if (needless)
            continue;
        semaphores[remaining] = semaphores[i];
        stages[remaining] = stages[i];
        if (values)
            values[remaining] = values[i];
        if (devices)
            devices[remaining] = devices[i];
        remaining++;
    }
    if (status != LAP_OK)
        return status;
    info->waitSemaphoreCount = remaining;
    if (values)
        timeline->waitSemaphoreValueCount = remaining;
    if (devices)
        group->waitSemaphoreCount = remaining;
    return LAP_OK;
}

static enum lap_status leave_out_new(struct replay *r, struct replay_device *dev, VkQueue queue, VkSubmitInfo2 *info)
{
    VkSemaphoreSubmitInfo *waits = (VkSemaphoreSubmitInfo *)(uintptr_t)info->pWaitSemaphoreInfos;
    enum lap_status status = LAP_OK;
    uint32_t remaining = 0;

    if (!waits)
        return LAP_OK;
    for (uint32_t i = 0; i < info->waitSemaphoreInfoCount && status == LAP_OK; i++) {
        bool needless;
        status = take(r, dev, queue, waits[i].semaphore, &needless);
        if (!needless)
            waits[remaining++] = waits[i];
    }
    if (status == LAP_OK)
        info->waitSemaphoreInfoCount = remaining;
    return status;
}

/* Signals the other acquire semaphores that follow the queue's presents, before the queue gets work that may wait
 * for something that depends on them. */
static enum lap_status signal_queue(struct replay *r, struct replay_device *dev, VkQueue queue)
{
    enum lap_status status = LAP_OK;

    for (uint32_t at = 0; at < signal_count(dev) && status == LAP_OK;) {
        if (dev->present.acquired->signals[at].queue == queue)
            status = signal_at(r, dev, at);
        else
            at++;
    }
    return status;
}

enum lap_status replay_acquired_images_before(struct replay *r, struct replay_device *dev, uint32_t command, void *args,
                                              uint32_t first, uint32_t count)
{
    enum lap_status status = LAP_OK;

    if (!signal_count(dev))
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
            status = replay_acquired_images_signal(r, dev, binds->pBindInfo[i].waitSemaphoreCount,
                                                   binds->pBindInfo[i].pWaitSemaphores);
    return status == LAP_OK ? signal_queue(r, dev, binds->queue) : status;
}
