/* SPDX-License-Identifier: MIT */
/*
 * layout: a driver's layout of linear images, in a form that can be compared between devices. Any thread.
 */
#ifndef LAP_VULKAN_LAYOUT_H
#define LAP_VULKAN_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* A hash of the layout of a linear image: offsets and pitches of all its subresources. plane: 0, or the plane of a
 * disjoint image. memory_planes: it is linear by its modifier, and memory planes are queried. Never 0. */
uint64_t lap_layout_hash(VkDevice device, PFN_vkGetImageSubresourceLayout get, VkImage image,
                         const VkImageCreateInfo *info, VkImageAspectFlags plane, bool memory_planes);

#endif
