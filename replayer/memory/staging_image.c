/* SPDX-License-Identifier: MIT */
#include "replayer/memory/staging_image.h"

#include "replayer/core/device.h"

static VkImageMemoryBarrier barrier_of(const struct replay_image_part *part, VkImageLayout from, VkImageLayout to)
{
    return (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .oldLayout = from,
                                  .newLayout = to,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .image = part->image,
                                  .subresourceRange = part->range};
}

static void pass(const struct replay_device *dev, VkCommandBuffer commands, uint32_t count,
                 const VkImageMemoryBarrier *barriers)
{
    const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};

    dev->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &memory,
                               0, NULL, count, barriers);
}

/* The end of the layers of a part. A volume has one, or its slices. */
static uint64_t end_of(const VkImageSubresourceRange *range)
{
    return range->layerCount == VK_REMAINING_ARRAY_LAYERS ? UINT64_MAX
                                                          : (uint64_t)range->baseArrayLayer + range->layerCount;
}

/* Parts of one image that a step names twice can't be in two layouts. */
static bool meet(const struct replay_image_part *a, const struct replay_image_part *b)
{
    return a->image == b->image && a->range.aspectMask & b->range.aspectMask &&
           a->range.baseMipLevel == b->range.baseMipLevel && a->range.baseArrayLayer < end_of(&b->range) &&
           b->range.baseArrayLayer < end_of(&a->range);
}

static void record_copy(const struct replay_device *dev, VkCommandBuffer commands, const struct replay_image_step *step)
{
    const bool is_one = meet(&step->to, &step->from);
    const VkImageLayout to = is_one ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    const VkImageLayout from = is_one ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkImageMemoryBarrier before[] = {barrier_of(&step->to, step->to.layout, to),
                                           barrier_of(&step->from, step->from.layout, from)};
    const VkImageMemoryBarrier after[] = {barrier_of(&step->to, to, step->to.layout),
                                          barrier_of(&step->from, from, step->from.layout)};

    pass(dev, commands, is_one ? 1 : 2, before);
    dev->vk.CmdCopyImage(commands, step->from.image, from, step->to.image, to, 1, &step->copy);
    pass(dev, commands, is_one ? 1 : 2, after);
}

static void record_write(const struct replay_device *dev, VkCommandBuffer commands, VkBuffer ring,
                         const struct replay_image_step *step)
{
    const VkImageLayout to = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    const VkImageMemoryBarrier before = barrier_of(&step->to, step->to.layout, to),
                               after = barrier_of(&step->to, to, step->to.layout);

    pass(dev, commands, 1, &before);
    dev->vk.CmdCopyBufferToImage(commands, ring, step->to.image, to, 1, &step->region);
    pass(dev, commands, 1, &after);
}

bool replay_image_steps_record(const struct replay_device *dev, VkCommandBuffer commands, VkBuffer ring,
                               const struct replay_image_steps *steps, size_t at, size_t *next)
{
    bool any = false;

    for (; *next < steps->count && steps->list[*next].at <= at; ++*next) {
        const struct replay_image_step *step = &steps->list[*next];
        VkImageMemoryBarrier layout;
        if (!step->to.image)
            continue;
        any = true;
        switch (step->kind) {
        case REPLAY_STEP_WRITE:
            record_write(dev, commands, ring, step);
            break;
        case REPLAY_STEP_COPY:
            record_copy(dev, commands, step);
            break;
        case REPLAY_STEP_LAYOUT:
            layout = barrier_of(&step->to, step->old_layout, step->to.layout);
            pass(dev, commands, 1, &layout);
            break;
        }
    }
    return any;
}
