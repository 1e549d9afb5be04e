/* SPDX-License-Identifier: MIT */
/*
 * format_utils: properties of VkFormats, from the format tables of Vulkan's utility libraries: their header
 * <vulkan/utility/vk_format_utils.h>, if it lies beside the Vulkan headers of the build (format_utils.c), else their
 * predecessor libVkLayer_utils, whose own header is not C. The function names are those of the predecessor.
 *
 * A format that they do not know has an element size of 0 and no planes.
 */
#ifndef LAP_LAYER_FORMAT_UTILS_H
#define LAP_LAYER_FORMAT_UTILS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

bool FormatIsDepthOrStencil(VkFormat format);
bool FormatIsDepthAndStencil(VkFormat format);
bool FormatIsStencilOnly(VkFormat format);
/* 1 for formats with one plane. */
uint32_t FormatPlaneCount(VkFormat format);
/* The one-plane format whose texels lie in a plane, and how many texels of the image share one of the plane's. */
VkFormat FindMultiplaneCompatibleFormat(VkFormat format, VkImageAspectFlags plane);
VkExtent2D FindMultiplaneExtentDivisors(VkFormat format, VkImageAspectFlags plane);
/* A texel block in texels, and in bytes: for VK_IMAGE_ASPECT_COLOR_BIT the whole block, for every format. Ask
 * layer_element_bytes for the depth or stencil aspect of a format. */
VkExtent3D FormatTexelBlockExtent(VkFormat format);
uint32_t FormatElementSize(VkFormat format, VkImageAspectFlags aspect);

/* The bytes of one aspect in buffer copies. The library gives 24-bit depth 3 bytes; a copy uses 32 bits a texel
 * (specification, "Copying Data Between Buffers and Images"). */
static inline uint32_t layer_element_bytes(VkFormat format, VkImageAspectFlags aspect)
{
    uint32_t bytes = FormatElementSize(format, aspect);
    return bytes == 3 && (aspect & VK_IMAGE_ASPECT_DEPTH_BIT) ? 4 : bytes;
}

#endif
