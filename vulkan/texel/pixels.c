/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/pixels.h"

#include <xxhash.h>

#include "vulkan/texel/texels.h"

enum lap_pixel_layout lap_pixels_layout(VkFormat format)
{
    switch ((int)format) {
    case VK_FORMAT_R8_UNORM:
    case VK_FORMAT_R8_SRGB:
        return LAP_PIXEL_R8;
    case VK_FORMAT_R8G8_UNORM:
    case VK_FORMAT_R8G8_SRGB:
        return LAP_PIXEL_RG8;
    case VK_FORMAT_R8G8B8_UNORM:
    case VK_FORMAT_R8G8B8_SRGB:
        return LAP_PIXEL_RGB8;
    case VK_FORMAT_B8G8R8_UNORM:
    case VK_FORMAT_B8G8R8_SRGB:
        return LAP_PIXEL_BGR8;
    case VK_FORMAT_R8G8B8A8_UNORM:
    case VK_FORMAT_R8G8B8A8_UINT:
    case VK_FORMAT_R8G8B8A8_SRGB:
    case VK_FORMAT_A8B8G8R8_UNORM_PACK32:
    case VK_FORMAT_A8B8G8R8_SRGB_PACK32:
        return LAP_PIXEL_RGBA8;
    case VK_FORMAT_B8G8R8A8_UNORM:
    case VK_FORMAT_B8G8R8A8_SRGB:
        return LAP_PIXEL_BGRA8;
    case VK_FORMAT_R5G6B5_UNORM_PACK16:
        return LAP_PIXEL_BGR565;
    case VK_FORMAT_B5G6R5_UNORM_PACK16:
        return LAP_PIXEL_RGB565;
    case VK_FORMAT_A1R5G5B5_UNORM_PACK16:
        return LAP_PIXEL_BGRA5551;
    case VK_FORMAT_R5G5B5A1_UNORM_PACK16:
        return LAP_PIXEL_ABGR1555;
    case VK_FORMAT_R4G4B4A4_UNORM_PACK16:
        return LAP_PIXEL_ABGR4;
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
        return LAP_PIXEL_RGBA1010102;
    case VK_FORMAT_A2R10G10B10_UNORM_PACK32:
        return LAP_PIXEL_BGRA1010102;
    case VK_FORMAT_R16G16B16A16_UNORM:
        return LAP_PIXEL_RGBA16;
    case VK_FORMAT_R16G16B16A16_SFLOAT:
        return LAP_PIXEL_RGBA16F;
    case VK_FORMAT_R32G32B32A32_SFLOAT:
        return LAP_PIXEL_RGBA32F;
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32:
        return LAP_PIXEL_RGB11F;
    default:
        return LAP_PIXEL_NONE;
    }
}

size_t lap_pixels_bytes(VkFormat format)
{
    return lap_pixel_bytes(lap_pixels_layout(format));
}

bool lap_pixels_are_linear(VkFormat format)
{
    switch ((int)format) {
    case VK_FORMAT_R8_SRGB:
    case VK_FORMAT_R8G8_SRGB:
    case VK_FORMAT_R8G8B8_SRGB:
    case VK_FORMAT_B8G8R8_SRGB:
    case VK_FORMAT_R8G8B8A8_SRGB:
    case VK_FORMAT_B8G8R8A8_SRGB:
    case VK_FORMAT_A8B8G8R8_SRGB_PACK32:
    case VK_FORMAT_R16G16B16A16_SFLOAT:
    case VK_FORMAT_R32G32B32A32_SFLOAT:
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32:
        return true;
    default:
        return false;
    }
}

void lap_pixels_hash(const void *data, size_t bytes, uint64_t *out_low, uint64_t *out_high)
{
    XXH128_hash_t hash = XXH3_128bits(data, bytes);
    *out_low = hash.low64;
    *out_high = hash.high64;
}

VkFormat lap_pixels_family(VkFormat format, uint32_t *out_count)
{
    static const struct {
        VkFormat first;
        uint32_t count;
    } families[] = {
        {VK_FORMAT_R5G6B5_UNORM_PACK16, 1},      {VK_FORMAT_B5G6R5_UNORM_PACK16, 1},
        {VK_FORMAT_R8G8B8A8_UNORM, 7},           {VK_FORMAT_B8G8R8A8_UNORM, 7},
        {VK_FORMAT_A8B8G8R8_UNORM_PACK32, 7},    {VK_FORMAT_A2R10G10B10_UNORM_PACK32, 6},
        {VK_FORMAT_A2B10G10R10_UNORM_PACK32, 6},
    };
    bool numeric = (format >= VK_FORMAT_BC4_UNORM_BLOCK && format <= VK_FORMAT_BC6H_SFLOAT_BLOCK) ||
                   (format >= VK_FORMAT_EAC_R11_UNORM_BLOCK && format <= VK_FORMAT_EAC_R11G11_SNORM_BLOCK);

    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (format >= families[i].first && (uint32_t)(format - families[i].first) < families[i].count) {
            if (out_count)
                *out_count = families[i].count;
            return families[i].first;
        }
    if (format >= VK_FORMAT_BC1_RGB_UNORM_BLOCK && format <= VK_FORMAT_ASTC_12x12_SRGB_BLOCK) {
        if (out_count)
            *out_count = numeric ? 1 : 2;
        return numeric ? format : (VkFormat)(((uint32_t)format - 1) / 2 * 2 + 1);
    }
    return VK_FORMAT_UNDEFINED;
}

VkFormat lap_pixels_substitutable(VkFormat format)
{
    const VkImageAspectFlags depth_stencil = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;

    return lap_texels_aspects(format) & depth_stencil ? format : lap_pixels_family(format, NULL);
}
