/* SPDX-License-Identifier: MIT */
#include "replayer/handover.h"

#include <stdlib.h>

#include "codegen/support/barrier.h"
#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/wait.h"

enum { THERE, MAIN };

/* Command buffers are recorded once. The program may present the image again while they are under way, so they may be
 * so several times at once; semaphores are waited for by what comes before their next signal. */
struct replay_handover {
    const struct replay_queue *queue;
    VkCommandPool pools[2]; /* of the queue's family and the main queue's */
    VkCommandBuffer release[2], acquire[2];
    VkSemaphore released[2]; /* by [THERE], by [MAIN] */
};

bool replay_handover_needed(const struct replay_device *dev, const struct replay_queue *queue, VkSharingMode mode)
{
    const VkQueueFlags barriers = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;

    return mode == VK_SHARING_MODE_EXCLUSIVE && dev->main_queue && queue->family != dev->main_queue->family &&
           (queue->flags & barriers);
}

static VkResult record(const struct replay_device *dev, VkCommandBuffer commands, const VkImageMemoryBarrier *barrier)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    VkResult result = dev->vk.BeginCommandBuffer(commands, &begin);

    if (result < 0)
        return result;
    dev->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                               NULL, 0, NULL, 1, barrier);
    return dev->vk.EndCommandBuffer(commands);
}

/* What one side does: it releases to the other one and acquires from it. */
static VkResult make_side(struct replay_device *dev, struct replay_handover *handover, int side, VkImage image,
                          VkImageLayout layout)
{
    const uint32_t families[2] = {handover->queue->family, dev->main_queue->family};
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = families[side]};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkImageMemoryBarrier release = lap_color_barrier(image, layout, layout, VK_ACCESS_MEMORY_WRITE_BIT, 0);
    VkImageMemoryBarrier acquire = lap_color_barrier(image, layout, layout, 0, all);
    VkResult result = dev->vk.CreateCommandPool(dev->live, &pool, NULL, &handover->pools[side]);

    release.srcQueueFamilyIndex = acquire.dstQueueFamilyIndex = families[side];
    release.dstQueueFamilyIndex = acquire.srcQueueFamilyIndex = families[!side];
    release.subresourceRange.layerCount = acquire.subresourceRange.layerCount = VK_REMAINING_ARRAY_LAYERS;
    allocate.commandPool = handover->pools[side];
    if (result >= 0)
        result = dev->vk.CreateSemaphore(dev->live, &semaphore, NULL, &handover->released[side]);
    if (result >= 0)
        result = dev->vk.AllocateCommandBuffers(dev->live, &allocate, &handover->release[side]);
    if (result >= 0)
        result = dev->vk.AllocateCommandBuffers(dev->live, &allocate, &handover->acquire[side]);
    if (result >= 0)
        result = record(dev, handover->release[side], &release);
    return result >= 0 ? record(dev, handover->acquire[side], &acquire) : result;
}

static enum lap_status need(struct replay *r, struct replay_device *dev, struct replay_handover **handover,
                            const struct replay_queue *queue, VkImage image, VkImageLayout layout)
{
    enum lap_status status = LAP_OK;
    VkResult result;

    if (*handover && (*handover)->queue == queue)
        return LAP_OK;
    if (*handover) /* it is presented on another queue than before */
        status = replay_wait_device(r, dev, "an image's way to another queue");
    if (status != LAP_OK)
        return status;
    replay_handover_destroy(dev, handover);
    *handover = calloc(1, sizeof **handover);
    if (!*handover)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    (*handover)->queue = queue;
    result = make_side(dev, *handover, THERE, image, layout);
    if (result >= 0)
        result = make_side(dev, *handover, MAIN, image, layout);
    if (result < 0)
        replay_handover_destroy(dev, handover);
    return replay_result(r, result);
}

/* One side releases and the other one acquires. */
static enum lap_status go(struct replay *r, struct replay_device *dev, const struct replay_handover *handover, int from,
                          uint32_t wait_count, const VkSemaphore *waits)
{
    const VkQueue queues[2] = {handover->queue->live, dev->main_queue->live};
    const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkPipelineStageFlags *stages = replay_scratch(r, wait_count, sizeof *stages);
    VkSubmitInfo release = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .waitSemaphoreCount = wait_count,
                            .pWaitSemaphores = waits,
                            .pWaitDstStageMask = stages,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &handover->release[from],
                            .signalSemaphoreCount = 1,
                            .pSignalSemaphores = &handover->released[from]};
    VkSubmitInfo acquire = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .waitSemaphoreCount = 1,
                            .pWaitSemaphores = &handover->released[from],
                            .pWaitDstStageMask = &all,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &handover->acquire[!from]};
    VkResult result;

    if (wait_count && !stages)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < wait_count; i++)
        stages[i] = all;
    result = dev->vk.QueueSubmit(queues[from], 1, &release, VK_NULL_HANDLE);
    if (result >= 0)
        result = dev->vk.QueueSubmit(queues[!from], 1, &acquire, VK_NULL_HANDLE);
    return replay_result(r, result);
}

enum lap_status replay_handover_to_main(struct replay *r, struct replay_device *dev, struct replay_handover **handover,
                                        const struct replay_queue *queue, VkImage image, VkImageLayout layout,
                                        uint32_t wait_count, const VkSemaphore *waits)
{
    enum lap_status status = need(r, dev, handover, queue, image, layout);

    return status == LAP_OK ? go(r, dev, *handover, THERE, wait_count, waits) : status;
}

enum lap_status replay_handover_back(struct replay *r, struct replay_device *dev,
                                     const struct replay_handover *handover)
{
    return go(r, dev, handover, MAIN, 0, NULL);
}

void replay_handover_destroy(struct replay_device *dev, struct replay_handover **handover)
{
    if (!*handover)
        return;
    for (int side = 0; side < 2; side++) {
        if ((*handover)->released[side])
            replay_pending_destroy(dev, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore((*handover)->released[side]));
        if ((*handover)->pools[side])
            replay_pending_destroy(dev, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool((*handover)->pools[side]));
    }
    free(*handover);
    *handover = NULL;
}
