/* SPDX-License-Identifier: MIT */
#include "codegen/support/texels.h"

struct block {
    uint32_t width, height, bytes;
};

/* Formats of equal blocks are numbered one after the other. */
static const struct {
    VkFormat last;
    uint8_t bytes, width, height;
} kinds[] = {
    {VK_FORMAT_UNDEFINED, 0, 1, 1},
    {VK_FORMAT_R4G4_UNORM_PACK8, 1, 1, 1},
    {VK_FORMAT_A1R5G5B5_UNORM_PACK16, 2, 1, 1},
    {VK_FORMAT_R8_SRGB, 1, 1, 1},
    {VK_FORMAT_R8G8_SRGB, 2, 1, 1},
    {VK_FORMAT_B8G8R8_SRGB, 3, 1, 1},
    {VK_FORMAT_A2B10G10R10_SINT_PACK32, 4, 1, 1},
    {VK_FORMAT_R16_SFLOAT, 2, 1, 1},
    {VK_FORMAT_R16G16_SFLOAT, 4, 1, 1},
    {VK_FORMAT_R16G16B16_SFLOAT, 6, 1, 1},
    {VK_FORMAT_R16G16B16A16_SFLOAT, 8, 1, 1},
    {VK_FORMAT_R32_SFLOAT, 4, 1, 1},
    {VK_FORMAT_R32G32_SFLOAT, 8, 1, 1},
    {VK_FORMAT_R32G32B32_SFLOAT, 12, 1, 1},
    {VK_FORMAT_R32G32B32A32_SFLOAT, 16, 1, 1},
    {VK_FORMAT_R64_SFLOAT, 8, 1, 1},
    {VK_FORMAT_R64G64_SFLOAT, 16, 1, 1},
    {VK_FORMAT_R64G64B64_SFLOAT, 24, 1, 1},
    {VK_FORMAT_R64G64B64A64_SFLOAT, 32, 1, 1},
    {VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, 4, 1, 1},
    {VK_FORMAT_D16_UNORM, 2, 1, 1},
    {VK_FORMAT_D32_SFLOAT, 4, 1, 1},
    {VK_FORMAT_S8_UINT, 1, 1, 1},
    {VK_FORMAT_D16_UNORM_S8_UINT, 2, 1, 1}, /* the depth */
    {VK_FORMAT_D32_SFLOAT_S8_UINT, 4, 1, 1},
    {VK_FORMAT_BC1_RGBA_SRGB_BLOCK, 8, 4, 4},
    {VK_FORMAT_BC3_SRGB_BLOCK, 16, 4, 4},
    {VK_FORMAT_BC4_SNORM_BLOCK, 8, 4, 4},
    {VK_FORMAT_BC7_SRGB_BLOCK, 16, 4, 4},
    {VK_FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK, 8, 4, 4},
    {VK_FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK, 16, 4, 4},
    {VK_FORMAT_EAC_R11_SNORM_BLOCK, 8, 4, 4},
    {VK_FORMAT_EAC_R11G11_SNORM_BLOCK, 16, 4, 4},
    {VK_FORMAT_ASTC_4x4_SRGB_BLOCK, 16, 4, 4},
    {VK_FORMAT_ASTC_5x4_SRGB_BLOCK, 16, 5, 4},
    {VK_FORMAT_ASTC_5x5_SRGB_BLOCK, 16, 5, 5},
    {VK_FORMAT_ASTC_6x5_SRGB_BLOCK, 16, 6, 5},
    {VK_FORMAT_ASTC_6x6_SRGB_BLOCK, 16, 6, 6},
    {VK_FORMAT_ASTC_8x5_SRGB_BLOCK, 16, 8, 5},
    {VK_FORMAT_ASTC_8x6_SRGB_BLOCK, 16, 8, 6},
    {VK_FORMAT_ASTC_8x8_SRGB_BLOCK, 16, 8, 8},
    {VK_FORMAT_ASTC_10x5_SRGB_BLOCK, 16, 10, 5},
    {VK_FORMAT_ASTC_10x6_SRGB_BLOCK, 16, 10, 6},
    {VK_FORMAT_ASTC_10x8_SRGB_BLOCK, 16, 10, 8},
    {VK_FORMAT_ASTC_10x10_SRGB_BLOCK, 16, 10, 10},
    {VK_FORMAT_ASTC_12x10_SRGB_BLOCK, 16, 12, 10},
    {VK_FORMAT_ASTC_12x12_SRGB_BLOCK, 16, 12, 12},
};

/* Of the color or the depth. bytes 0: not known. */
static struct block block_of(VkFormat format)
{
    struct block block = {1, 1, 0};

    if (format == VK_FORMAT_A4R4G4B4_UNORM_PACK16 || format == VK_FORMAT_A4B4G4R4_UNORM_PACK16)
        block.bytes = 2;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !block.bytes; i++)
        if (format <= kinds[i].last) {
            block = (struct block){kinds[i].width, kinds[i].height, kinds[i].bytes};
            break;
        }
    return block;
}

VkImageAspectFlags lap_texels_aspects(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D32_SFLOAT:
        return VK_IMAGE_ASPECT_DEPTH_BIT;
    case VK_FORMAT_S8_UINT:
        return VK_IMAGE_ASPECT_STENCIL_BIT;
    case VK_FORMAT_D16_UNORM_S8_UINT:
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default:
        return block_of(format).bytes ? VK_IMAGE_ASPECT_COLOR_BIT : 0;
    }
}

static uint32_t at_level(uint32_t extent, uint32_t level)
{
    return extent >> level ? extent >> level : 1;
}

bool lap_texels_describe(const VkImageCreateInfo *info, VkImageAspectFlags aspect, uint32_t level, uint32_t layer,
                         struct lap_texels *out)
{
    struct block block = block_of(info->format);
    bool is_one = aspect && !(aspect & (aspect - 1));

    if (!is_one || !(lap_texels_aspects(info->format) & aspect) || level >= info->mipLevels || level > 31 ||
        layer >= info->arrayLayers)
        return false;
    if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT)
        block.bytes = 1;
    out->aspect = aspect;
    out->level = level;
    out->layer = layer;
    out->extent = (VkExtent3D){at_level(info->extent.width, level), at_level(info->extent.height, level),
                               at_level(info->extent.depth, level)};
    out->row_bytes = ((uint64_t)out->extent.width + block.width - 1) / block.width * block.bytes;
    out->rows = ((uint64_t)out->extent.height + block.height - 1) / block.height * out->extent.depth;
    return out->row_bytes && out->rows && out->rows <= UINT32_MAX && out->rows <= SIZE_MAX / 2 / out->row_bytes;
}

void lap_texels_clean(VkFormat format, VkImageAspectFlags aspect, void *data, uint64_t bytes)
{
    uint32_t *texels = data;

    if (aspect != VK_IMAGE_ASPECT_DEPTH_BIT ||
        (format != VK_FORMAT_X8_D24_UNORM_PACK32 && format != VK_FORMAT_D24_UNORM_S8_UINT))
        return;
    for (uint64_t i = 0; i < bytes / sizeof *texels; i++)
        texels[i] &= 0xffffff;
}
