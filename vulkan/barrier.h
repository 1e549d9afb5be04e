/* SPDX-License-Identifier: MIT */
/* barrier: the image barrier for copies of whole images, and what barriers do to contents. */
#ifndef LAP_VULKAN_BARRIER_H
#define LAP_VULKAN_BARRIER_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

/* Whether a barrier drops what the image held: its layout was none. Not where other APIs or devices hand the
 * image over, since they know no layouts: importers of AHardwareBuffers acquire them from UNDEFINED. */
static inline bool lap_barrier_drops(VkImageLayout from, uint32_t from_family)
{
    return from == VK_IMAGE_LAYOUT_UNDEFINED && from_family != VK_QUEUE_FAMILY_EXTERNAL &&
           from_family != VK_QUEUE_FAMILY_FOREIGN_EXT;
}

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
