/* SPDX-License-Identifier: MIT */
#include "vulkan/layout.h"

#include <xxhash.h>

#include "vulkan/modifier.h"
#include "vulkan/texel/texels.h"

#define MAX_ASPECTS 3

/* The aspects for calls of vkGetImageSubresourceLayout, which takes one at a time. */
static uint32_t aspects_of(VkFormat format, VkImageAspectFlags plane, VkImageAspectFlags out_aspects[MAX_ASPECTS])
{
    uint32_t planes = lap_format_planes(format);

    out_aspects[0] = plane ? plane : VK_IMAGE_ASPECT_COLOR_BIT;
    if (plane)
        return 1;
    if (planes > 1) {
        for (uint32_t i = 0; i < planes; i++)
            out_aspects[i] = (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << i;
        return planes;
    }
    if (format < VK_FORMAT_D16_UNORM || format > VK_FORMAT_D32_SFLOAT_S8_UINT)
        return 1;
    out_aspects[0] = format == VK_FORMAT_S8_UINT ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT;
    out_aspects[1] = VK_IMAGE_ASPECT_STENCIL_BIT;
    return format > VK_FORMAT_S8_UINT ? 2 : 1;
}

uint64_t lap_layout_hash(VkDevice device, PFN_vkGetImageSubresourceLayout get, VkImage image,
                         const VkImageCreateInfo *info, VkImageAspectFlags plane, bool memory_planes)
{
    VkImageAspectFlags aspects[MAX_ASPECTS];
    uint32_t count = aspects_of(info->format, plane, aspects);
    uint64_t hash = 1;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t level = 0; level < info->mipLevels; level++) {
            VkImageSubresource which = {memory_planes ? lap_modifier_aspect(aspects[i]) : aspects[i], level, 0};
            VkSubresourceLayout layout = {0};
            uint64_t key[4];
            get(device, image, &which, &layout);
            /* With one layer, or without depth, the pitch between them is arbitrary. */
            key[0] = layout.offset;
            key[1] = layout.rowPitch;
            key[2] = info->arrayLayers > 1 ? layout.arrayPitch : 0;
            key[3] = info->imageType == VK_IMAGE_TYPE_3D ? layout.depthPitch : 0;
            hash = XXH3_64bits_withSeed(key, sizeof key, hash);
        }
    }
    return hash ? hash : 1;
}
