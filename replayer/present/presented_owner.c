/* SPDX-License-Identifier: MIT */
#include "replayer/present/presented_owner.h"

#include <stdlib.h>

#include "replayer/core/device.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/wait.h"
#include "vulkan/barrier.h"

enum { THERE, MAIN };

/* Command buffers are recorded once. The program may present the image again while they are in flight, so they allow
 * simultaneous use. Each semaphore is waited for before its next signal. */
struct replay_presented_owner {
    const struct replay_queue *queue;
    VkCommandPool pools[2]; /* of the queue's family and of the main queue's */
    VkCommandBuffer release[2], acquire[2];
    VkSemaphore released[2]; /* signalled by [THERE] and by [MAIN] */
};

bool replay_presented_owner_differs(const struct replay_device *dev, const struct replay_queue *queue,
                                    VkSharingMode mode)
{
    const VkQueueFlags barriers = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;

    return mode == VK_SHARING_MODE_EXCLUSIVE && dev->queues.main && queue->family != dev->queues.main->family &&
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

/* The commands of one side: it releases to the other side and acquires from it. */
static VkResult make_side(struct replay_device *dev, struct replay_presented_owner *owner, int side, VkImage image,
                          VkImageLayout layout)
{
    const uint32_t families[2] = {owner->queue->family, dev->queues.main->family};
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = families[side]};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkImageMemoryBarrier release = lap_color_barrier(image, layout, layout, VK_ACCESS_MEMORY_WRITE_BIT, 0);
    VkImageMemoryBarrier acquire = lap_color_barrier(image, layout, layout, 0, all);
    VkResult result = dev->vk.CreateCommandPool(dev->live, &pool, NULL, &owner->pools[side]);

    release.srcQueueFamilyIndex = acquire.dstQueueFamilyIndex = families[side];
    release.dstQueueFamilyIndex = acquire.srcQueueFamilyIndex = families[!side];
    release.subresourceRange.layerCount = acquire.subresourceRange.layerCount = VK_REMAINING_ARRAY_LAYERS;
    allocate.commandPool = owner->pools[side];
    if (result >= 0)
        result = dev->vk.CreateSemaphore(dev->live, &semaphore, NULL, &owner->released[side]);
    if (result >= 0)
        result = dev->vk.AllocateCommandBuffers(dev->live, &allocate, &owner->release[side]);
    if (result >= 0)
        result = dev->vk.AllocateCommandBuffers(dev->live, &allocate, &owner->acquire[side]);
    if (result >= 0)
        result = record(dev, owner->release[side], &release);
    return result >= 0 ? record(dev, owner->acquire[side], &acquire) : result;
}

static enum lap_status need(struct replay *r, struct replay_device *dev, struct replay_presented_owner **owner,
                            const struct replay_queue *queue, VkImage image, VkImageLayout layout)
{
    enum lap_status status = LAP_OK;
    VkResult result;

    if (*owner && (*owner)->queue == queue)
        return LAP_OK;
    if (*owner) /* it is presented on another queue than last time */
        status = replay_wait_device(r, dev, "an image's way to another queue");
    if (status != LAP_OK)
        return status;
    replay_presented_owner_destroy(dev, owner);
    *owner = calloc(1, sizeof **owner);
    if (!*owner)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    (*owner)->queue = queue;
    result = make_side(dev, *owner, THERE, image, layout);
    if (result >= 0)
        result = make_side(dev, *owner, MAIN, image, layout);
    if (result < 0)
        replay_presented_owner_destroy(dev, owner);
    return replay_result(r, result);
}

/* One side releases, the other side acquires. */
static enum lap_status go(struct replay *r, struct replay_device *dev, const struct replay_presented_owner *owner,
                          int from, uint32_t wait_count, const VkSemaphore *waits)
{
    const VkQueue queues[2] = {owner->queue->live, dev->queues.main->live};
    const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkPipelineStageFlags *stages = replay_scratch(r, wait_count, sizeof *stages);
    VkSubmitInfo release = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .waitSemaphoreCount = wait_count,
                            .pWaitSemaphores = waits,
                            .pWaitDstStageMask = stages,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &owner->release[from],
                            .signalSemaphoreCount = 1,
                            .pSignalSemaphores = &owner->released[from]};
    VkSubmitInfo acquire = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .waitSemaphoreCount = 1,
                            .pWaitSemaphores = &owner->released[from],
                            .pWaitDstStageMask = &all,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &owner->acquire[!from]};
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

enum lap_status replay_presented_owner_to_main(struct replay *r, struct replay_device *dev,
                                               struct replay_presented_owner **owner, const struct replay_queue *queue,
                                               VkImage image, VkImageLayout layout, uint32_t wait_count,
                                               const VkSemaphore *waits)
{
    enum lap_status status = need(r, dev, owner, queue, image, layout);

    return status == LAP_OK ? go(r, dev, *owner, THERE, wait_count, waits) : status;
}

enum lap_status replay_presented_owner_back(struct replay *r, struct replay_device *dev,
                                            const struct replay_presented_owner *owner)
{
    return go(r, dev, owner, MAIN, 0, NULL);
}

void replay_presented_owner_destroy(struct replay_device *dev, struct replay_presented_owner **owner)
{
    if (!*owner)
        return;
    for (int side = 0; side < 2; side++) {
        if ((*owner)->released[side])
            replay_destroy(dev, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore((*owner)->released[side]));
        if ((*owner)->pools[side])
            replay_destroy(dev, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool((*owner)->pools[side]));
    }
    free(*owner);
    *owner = NULL;
}
