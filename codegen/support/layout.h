/* SPDX-License-Identifier: MIT */
/*
 * layout: how a driver lays out linear images, in a form that machines can compare. Any thread.
 */
#ifndef LAP_CODEGEN_LAYOUT_H
#define LAP_CODEGEN_LAYOUT_H

#include <stdint.h>
#include <vulkan/vulkan.h>

/* How many planes a format has; 1 for all that are not multi-planar. */
uint32_t lap_format_planes(VkFormat format);

/* A hash of what decides which byte of a linear image is which texel: offsets and pitches of all its subresources.
 * plane: 0, or the plane of a disjoint image. Never 0. */
uint64_t lap_layout_hash(VkDevice device, PFN_vkGetImageSubresourceLayout get, VkImage image,
                         const VkImageCreateInfo *info, VkImageAspectFlags plane);

#endif
