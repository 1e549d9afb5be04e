/* SPDX-License-Identifier: MIT */
/* barrier: the image barrier for copies of whole images. */
#ifndef LAP_VULKAN_BARRIER_H
#define LAP_VULKAN_BARRIER_H

#include <vulkan/vulkan.h>

/* Moves the first level and layer of a color image to another layout, within its queue family. */
static inline VkImageMemoryBarrier lap_color_barrier(VkImage image, VkImageLayout from, VkImageLayout to,
                                                     VkAccessFlags before, VkAccessFlags after)
{
    return (VkImageMemoryBarrier){
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = before,
        .dstAccessMask = after,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
}

#endif
