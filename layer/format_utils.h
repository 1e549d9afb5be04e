/* SPDX-License-Identifier: MIT */
/*
 * format_utils: what VkFormats look like, from the format tables of libVkLayer_utils. Its own header,
 * <vulkan/vk_format_utils.h>, has default arguments and is no C; these are the same functions.
 *
 * A format that the library does not know has an element size of 0 and no planes.
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
/* A texel block in texels, and in bytes. For depth or stencil of a format that has both: as copies to buffers have it;
 * for VK_IMAGE_ASPECT_COLOR_BIT: the whole block, whatever the format. */
VkExtent3D FormatTexelBlockExtent(VkFormat format);
uint32_t FormatElementSize(VkFormat format, VkImageAspectFlags aspect);

#endif
