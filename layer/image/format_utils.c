/* SPDX-License-Identifier: MIT */
#include "layer/image/format_utils.h"

/* Elsewhere libVkLayer_utils has these functions. */
#if __has_include(<vulkan/utility/vk_format_utils.h>)

#include <vulkan/utility/vk_format_utils.h>

bool FormatIsDepthOrStencil(VkFormat format)
{
    return vkuFormatIsDepthOrStencil(format);
}

bool FormatIsDepthAndStencil(VkFormat format)
{
    return vkuFormatIsDepthAndStencil(format);
}

bool FormatIsStencilOnly(VkFormat format)
{
    return vkuFormatIsStencilOnly(format);
}

uint32_t FormatPlaneCount(VkFormat format)
{
    return vkuFormatPlaneCount(format);
}

VkFormat FindMultiplaneCompatibleFormat(VkFormat format, VkImageAspectFlags plane)
{
    return vkuFindMultiplaneCompatibleFormat(format, (VkImageAspectFlagBits)plane);
}

VkExtent2D FindMultiplaneExtentDivisors(VkFormat format, VkImageAspectFlags plane)
{
    return vkuFindMultiplaneExtentDivisors(format, (VkImageAspectFlagBits)plane);
}

VkExtent3D FormatTexelBlockExtent(VkFormat format)
{
    return vkuFormatTexelBlockExtent(format);
}

uint32_t FormatElementSize(VkFormat format, VkImageAspectFlags aspect)
{
    if (aspect & VK_IMAGE_ASPECT_STENCIL_BIT)
        return vkuFormatStencilSize(format) / 8;
    if (aspect & VK_IMAGE_ASPECT_DEPTH_BIT)
        return vkuFormatDepthSize(format) / 8;
    return vkuFormatTexelBlockSize(format);
}

#endif
