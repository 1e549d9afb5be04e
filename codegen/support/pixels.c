/* SPDX-License-Identifier: MIT */
#include "codegen/support/pixels.h"

#include <xxhash.h>

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
