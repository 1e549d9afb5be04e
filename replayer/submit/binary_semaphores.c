/* SPDX-License-Identifier: MIT */
#include "replayer/submit/binary_semaphores.h"

#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/submit/external_sync.h"
#include "vulkan/chain.h"

/* NULL: nothing is known of it, or it is a timeline semaphore. */
static struct replay_semaphore_record *record_of(struct replay *r, const struct replay_device *dev,
                                                 VkSemaphore semaphore)
{
    struct replay_semaphore_record *record = dev->sync.handed ? NULL : replay_semaphore_record_of(r, semaphore);

    return record && !record->schedule.timeline ? record : NULL;
}

static enum lap_status wait_for(struct replay *r, const struct replay_device *dev, VkSemaphore semaphore)
{
    struct replay_semaphore_record *record = record_of(r, dev, semaphore);

    if (!record)
        return LAP_OK;
    if (!record->signalled)
        return replay_fail(r, "VkSemaphore:%" PRIu64 " is waited for, but nothing has signalled it%s",
                           replay_object_index(r, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(semaphore)),
                           record->waited ? " since the last wait" : "");
    record->signalled = false;
    record->waited = true;
    return LAP_OK;
}

bool replay_binary_semaphores_may_signal(struct replay *r, const struct replay_device *dev, VkSemaphore semaphore)
{
    struct replay_semaphore_record *record = record_of(r, dev, semaphore);

    if (!record || !record->signalled) {
        if (record)
            record->signalled = true;
        return true;
    }
    if (!r->summary.warned_signalled)
        lap_log(r->log, LAP_LOG_WARNING,
                "packet %" PRIu64 ": VkSemaphore:%" PRIu64
                " is signalled again, but nothing waits for the signal before: "
                "this one is left out (said once)",
                r->at.packet.ticket, replay_object_index(r, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(semaphore)));
    r->summary.warned_signalled = true;
    return false;
}

enum lap_status replay_binary_semaphores_wait(struct replay *r, const struct replay_device *dev, uint32_t count,
                                              const VkSemaphore *semaphores)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++)
        status = wait_for(r, dev, semaphores[i]);
    return status;
}

/* Returns how many signals remain. The arrays parallel to them, or NULL, have the same length. Nothing is written where
 * all remain. */
static uint32_t leave_out(struct replay *r, const struct replay_device *dev, uint32_t count, const VkSemaphore *signals,
                          const uint64_t *signal_values, const uint32_t *signal_devices)
{
    VkSemaphore *semaphores = (VkSemaphore *)(uintptr_t)signals;
    uint64_t *values = (uint64_t *)(uintptr_t)signal_values;
    uint32_t *devices = (uint32_t *)(uintptr_t)signal_devices;
    uint32_t remaining = 0;

    for (uint32_t i = 0; semaphores && i < count; i++) {
        if (!replay_binary_semaphores_may_signal(r, dev, semaphores[i]))
            continue;
        if (remaining < i) {
            semaphores[remaining] = semaphores[i];
            if (values)
                values[remaining] = values[i];
            if (devices)
                devices[remaining] = devices[i];
        }
        remaining++;
    }
    return semaphores ? remaining : count;
}

/* The members that VkSubmitInfo and VkBindSparseInfo share. */
struct old_batch {
    const void *chain;
    uint32_t wait_count, *signal_count;
    const VkSemaphore *waits, *signals;
};

static enum lap_status before_old(struct replay *r, const struct replay_device *dev, const struct old_batch *batch)
{
    VkTimelineSemaphoreSubmitInfo *timeline = (VkTimelineSemaphoreSubmitInfo *)(uintptr_t)lap_chain_find(
        batch->chain, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    VkDeviceGroupSubmitInfo *group =
        (VkDeviceGroupSubmitInfo *)(uintptr_t)lap_chain_find(batch->chain, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
    const uint32_t count = *batch->signal_count;
    const bool has_values = timeline && timeline->signalSemaphoreValueCount == count;
    const bool has_devices = group && group->signalSemaphoreCount == count;
    enum lap_status status = replay_binary_semaphores_wait(r, dev, batch->waits ? batch->wait_count : 0, batch->waits);
    uint32_t remaining;

    if (status != LAP_OK)
        return status;
    remaining = leave_out(r, dev, count, batch->signals, has_values ? timeline->pSignalSemaphoreValues : NULL,
                          has_devices ? group->pSignalSemaphoreDeviceIndices : NULL);
    if (remaining == count)
        return LAP_OK;
    *batch->signal_count = remaining;
    if (has_values)
        timeline->signalSemaphoreValueCount = remaining;
    if (has_devices)
        group->signalSemaphoreCount = remaining;
    return LAP_OK;
}

static enum lap_status before_new(struct replay *r, const struct replay_device *dev, VkSubmitInfo2 *info)
{
    VkSemaphoreSubmitInfo *signals = (VkSemaphoreSubmitInfo *)(uintptr_t)info->pSignalSemaphoreInfos;
    enum lap_status status = LAP_OK;
    uint32_t remaining = 0;

    for (uint32_t i = 0; info->pWaitSemaphoreInfos && i < info->waitSemaphoreInfoCount && status == LAP_OK; i++)
        status = wait_for(r, dev, info->pWaitSemaphoreInfos[i].semaphore);
    for (uint32_t i = 0; signals && i < info->signalSemaphoreInfoCount && status == LAP_OK; i++) {
        if (!replay_binary_semaphores_may_signal(r, dev, signals[i].semaphore))
            continue;
        if (remaining < i)
            signals[remaining] = signals[i];
        remaining++;
    }
    if (status == LAP_OK && remaining < info->signalSemaphoreInfoCount)
        info->signalSemaphoreInfoCount = remaining;
    return status;
}

enum lap_status replay_binary_semaphores_before(struct replay *r, struct replay_device *dev, uint32_t command,
                                                void *args, uint32_t first, uint32_t count)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = first; i < first + count && status == LAP_OK; i++) {
        if (command == GEN_vkQueueSubmit) {
            const struct gen_args_vkQueueSubmit *one = args;
            VkSubmitInfo *info = (VkSubmitInfo *)(uintptr_t)&one->pSubmits[i];
            status = before_old(r, dev,
                                &(struct old_batch){info->pNext, info->waitSemaphoreCount, &info->signalSemaphoreCount,
                                                    info->pWaitSemaphores, info->pSignalSemaphores});
        } else if (command == GEN_vkQueueSubmit2) {
            const struct gen_args_vkQueueSubmit2 *two = args;
            status = before_new(r, dev, (VkSubmitInfo2 *)(uintptr_t)&two->pSubmits[i]);
        } else {
            const struct gen_args_vkQueueBindSparse *binds = args;
            VkBindSparseInfo *info = (VkBindSparseInfo *)(uintptr_t)&binds->pBindInfo[i];
            status = before_old(r, dev,
                                &(struct old_batch){info->pNext, info->waitSemaphoreCount, &info->signalSemaphoreCount,
                                                    info->pWaitSemaphores, info->pSignalSemaphores});
        }
    }
    return status;
}
