/* SPDX-License-Identifier: MIT */
/*
 * modifier: images whose layout a DRM format modifier names (VK_EXT_image_drm_format_modifier). A modifier means
 * something to the GPUs that have it; only DRM_FORMAT_MOD_LINEAR is the same everywhere. Any thread.
 */
#ifndef LAP_VULKAN_MODIFIER_H
#define LAP_VULKAN_MODIFIER_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* DRM_FORMAT_MOD_LINEAR and DRM_FORMAT_MOD_INVALID of drm_fourcc.h. */
#define LAP_MODIFIER_LINEAR  UINT64_C(0)
#define LAP_MODIFIER_INVALID UINT64_C(0x00ffffffffffffff)

/* The most memory planes that Vulkan has aspects for. */
#define LAP_MEMORY_PLANES 4u

/* Whether the host can know where the texels of such an image lie: it is linear, with a memory plane for each plane of
 * the format. */
bool lap_modifier_is_linear(VkFormat format, uint64_t modifier, uint32_t memory_planes);

/* The aspect of a plane of the format, or color, as the memory plane that it lies in. Only for linear modifiers. */
VkImageAspectFlags lap_modifier_aspect(VkImageAspectFlags aspect);
/* The reverse: an aspect of the format. Other aspects stay the same. */
VkImageAspectFlags lap_modifier_format_aspect(VkFormat format, VkImageAspectFlags aspect);

/* Makes a recorded image with a modifier one without: of linear tiling if it was linear, else of optimal tiling, which
 * has no planes of its own in memory. The chain loses the structures of the modifier. Others stay the same. True: it
 * had one. */
bool lap_modifier_remove(VkImageCreateInfo *info);

#endif
