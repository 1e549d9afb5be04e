/* SPDX-License-Identifier: MIT */
#include "vulkan/modifier.h"

#include "vulkan/chain.h"
#include "vulkan/texel/texels.h"

bool lap_modifier_is_linear(VkFormat format, uint64_t modifier, uint32_t memory_planes)
{
    return modifier == LAP_MODIFIER_LINEAR && memory_planes == lap_format_planes(format);
}

VkImageAspectFlags lap_modifier_aspect(VkImageAspectFlags aspect)
{
    switch (aspect) {
    case VK_IMAGE_ASPECT_COLOR_BIT:
    case VK_IMAGE_ASPECT_PLANE_0_BIT:
        return VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT;
    case VK_IMAGE_ASPECT_PLANE_1_BIT:
        return VK_IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT;
    case VK_IMAGE_ASPECT_PLANE_2_BIT:
        return VK_IMAGE_ASPECT_MEMORY_PLANE_2_BIT_EXT;
    default:
        return aspect;
    }
}

VkImageAspectFlags lap_modifier_format_aspect(VkFormat format, VkImageAspectFlags aspect)
{
    switch (aspect) {
    case VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT:
        return lap_format_planes(format) > 1 ? VK_IMAGE_ASPECT_PLANE_0_BIT : VK_IMAGE_ASPECT_COLOR_BIT;
    case VK_IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT:
        return VK_IMAGE_ASPECT_PLANE_1_BIT;
    case VK_IMAGE_ASPECT_MEMORY_PLANE_2_BIT_EXT:
        return VK_IMAGE_ASPECT_PLANE_2_BIT;
    default:
        return aspect;
    }
}

bool lap_modifier_remove(VkImageCreateInfo *info)
{
    static const VkStructureType structs[] = {
        VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
        VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
    };
    const VkImageDrmFormatModifierExplicitCreateInfoEXT *is =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT);
    bool linear = is && lap_modifier_is_linear(info->format, is->drmFormatModifier, is->drmFormatModifierPlaneCount);

    if (info->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT)
        return false;
    info->tiling = linear ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL;
    if (!linear)
        info->flags &= ~(VkImageCreateFlags)VK_IMAGE_CREATE_DISJOINT_BIT;
    lap_chain_drop(&info->pNext, structs, sizeof structs / sizeof *structs);
    return true;
}
