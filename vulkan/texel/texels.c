/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/texels.h"

struct block {
    uint32_t width, height, bytes;
};

/* Formats of equal blocks have consecutive numbers. */
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

/* Formats of extensions, which older headers lack. */
#define A1B5G5R5_UNORM_PACK16 1000470000
#define A8_UNORM              1000470001
#define R16G16_SFIXED5        1000464000

/* Formats with one plane that are not among the first 185. */
static struct block later_block_of(VkFormat format)
{
    switch ((int)format) {
    case A8_UNORM:
        return (struct block){1, 1, 1};
    case VK_FORMAT_A4R4G4B4_UNORM_PACK16:
    case VK_FORMAT_A4B4G4R4_UNORM_PACK16:
    case A1B5G5R5_UNORM_PACK16:
    case VK_FORMAT_R10X6_UNORM_PACK16:
    case VK_FORMAT_R12X4_UNORM_PACK16:
        return (struct block){1, 1, 2};
    case R16G16_SFIXED5:
    case VK_FORMAT_R10X6G10X6_UNORM_2PACK16:
    case VK_FORMAT_R12X4G12X4_UNORM_2PACK16:
        return (struct block){1, 1, 4};
    case VK_FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16:
    case VK_FORMAT_R12X4G12X4B12X4A12X4_UNORM_4PACK16:
        return (struct block){1, 1, 8};
    case VK_FORMAT_G8B8G8R8_422_UNORM:
    case VK_FORMAT_B8G8R8G8_422_UNORM:
        return (struct block){2, 1, 4};
    case VK_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16:
    case VK_FORMAT_B10X6G10X6R10X6G10X6_422_UNORM_4PACK16:
    case VK_FORMAT_G12X4B12X4G12X4R12X4_422_UNORM_4PACK16:
    case VK_FORMAT_B12X4G12X4R12X4G12X4_422_UNORM_4PACK16:
    case VK_FORMAT_G16B16G16R16_422_UNORM:
    case VK_FORMAT_B16G16R16G16_422_UNORM:
        return (struct block){2, 1, 8};
    default:
        return (struct block){1, 1, 0};
    }
}

/* The block of the color or depth aspect. bytes 0: unknown format. */
static struct block block_of(VkFormat format)
{
    struct block block = later_block_of(format);

    if (format >= VK_FORMAT_ASTC_4x4_SFLOAT_BLOCK && format <= VK_FORMAT_ASTC_12x12_SFLOAT_BLOCK) /* as the others */
        format = VK_FORMAT_ASTC_4x4_UNORM_BLOCK + (format - VK_FORMAT_ASTC_4x4_SFLOAT_BLOCK) * 2;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !block.bytes; i++)
        if (format <= kinds[i].last) {
            block = (struct block){kinds[i].width, kinds[i].height, kinds[i].bytes};
            break;
        }
    return block;
}

/* Whether a format with several planes has components of 8 bits, and how many of its texels share one color. */
static bool is_planes_of_bytes(VkFormat format)
{
    switch ((int)format) {
    case VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM:
    case VK_FORMAT_G8_B8R8_2PLANE_420_UNORM:
    case VK_FORMAT_G8_B8_R8_3PLANE_422_UNORM:
    case VK_FORMAT_G8_B8R8_2PLANE_422_UNORM:
    case VK_FORMAT_G8_B8_R8_3PLANE_444_UNORM:
    case VK_FORMAT_G8_B8R8_2PLANE_444_UNORM:
        return true;
    default:
        return false;
    }
}

static void share_colors(VkFormat format, struct lap_texel_block *out)
{
    switch ((int)format) {
    case VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM:
    case VK_FORMAT_G8_B8R8_2PLANE_420_UNORM:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G16_B16_R16_3PLANE_420_UNORM:
    case VK_FORMAT_G16_B16R16_2PLANE_420_UNORM:
        out->divide_x = out->divide_y = 2;
        break;
    case VK_FORMAT_G8_B8_R8_3PLANE_444_UNORM:
    case VK_FORMAT_G8_B8R8_2PLANE_444_UNORM:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4R12X4_2PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G16_B16_R16_3PLANE_444_UNORM:
    case VK_FORMAT_G16_B16R16_2PLANE_444_UNORM:
        break;
    default: /* 422 */
        out->divide_x = 2;
        break;
    }
}

uint32_t lap_format_planes(VkFormat format)
{
    switch ((int)format) {
    case VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM:
    case VK_FORMAT_G8_B8_R8_3PLANE_422_UNORM:
    case VK_FORMAT_G8_B8_R8_3PLANE_444_UNORM:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G16_B16_R16_3PLANE_420_UNORM:
    case VK_FORMAT_G16_B16_R16_3PLANE_422_UNORM:
    case VK_FORMAT_G16_B16_R16_3PLANE_444_UNORM:
        return 3;
    case VK_FORMAT_G8_B8R8_2PLANE_420_UNORM:
    case VK_FORMAT_G8_B8R8_2PLANE_422_UNORM:
    case VK_FORMAT_G8_B8R8_2PLANE_444_UNORM:
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4R12X4_2PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4R12X4_2PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G16_B16R16_2PLANE_420_UNORM:
    case VK_FORMAT_G16_B16R16_2PLANE_422_UNORM:
    case VK_FORMAT_G16_B16R16_2PLANE_444_UNORM:
        return 2;
    default:
        return 1;
    }
}

bool lap_texels_block(VkFormat format, VkImageAspectFlags aspect, struct lap_texel_block *out)
{
    const uint32_t planes = lap_format_planes(format);
    struct block block = block_of(format);

    *out = (struct lap_texel_block){block.width, block.height, block.bytes, 1, 1};
    if (planes == 1) {
        if (!aspect || aspect & (aspect - 1) || !(lap_texels_aspects(format) & aspect))
            return false;
        if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT)
            out->bytes = 1;
        return true;
    }
    out->bytes = is_planes_of_bytes(format) ? 1 : 2;
    if (aspect == VK_IMAGE_ASPECT_PLANE_0_BIT)
        return true;
    share_colors(format, out);
    if (planes == 2)
        out->bytes *= 2; /* two colors side by side */
    return aspect == VK_IMAGE_ASPECT_PLANE_1_BIT || (planes == 3 && aspect == VK_IMAGE_ASPECT_PLANE_2_BIT);
}

/* The significant bits of a component in 16. */
static uint32_t bits_of_planes(VkFormat format)
{
    switch ((int)format) {
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6R10X6_2PLANE_444_UNORM_3PACK16:
        return 10;
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4R12X4_2PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4R12X4_2PLANE_444_UNORM_3PACK16:
        return 12;
    default:
        return is_planes_of_bytes(format) ? 8 : 16;
    }
}

VkFormat lap_texels_plane_format(VkFormat format, VkImageAspectFlags plane)
{
    const bool two = plane == VK_IMAGE_ASPECT_PLANE_1_BIT && lap_format_planes(format) == 2; /* components */
    struct lap_texel_block block;

    if (lap_format_planes(format) < 2 || !lap_texels_block(format, plane, &block))
        return VK_FORMAT_UNDEFINED;
    switch (bits_of_planes(format)) {
    case 8:
        return two ? VK_FORMAT_R8G8_UNORM : VK_FORMAT_R8_UNORM;
    case 10:
        return two ? VK_FORMAT_R10X6G10X6_UNORM_2PACK16 : VK_FORMAT_R10X6_UNORM_PACK16;
    case 12:
        return two ? VK_FORMAT_R12X4G12X4_UNORM_2PACK16 : VK_FORMAT_R12X4_UNORM_PACK16;
    default:
        return two ? VK_FORMAT_R16G16_UNORM : VK_FORMAT_R16_UNORM;
    }
}

static uint64_t blocks(uint32_t texels, uint32_t block)
{
    return ((uint64_t)texels + block - 1) / block;
}

uint64_t lap_texels_region_bytes(const struct lap_texel_block *block, const struct lap_texel_region *region)
{
    uint64_t row = blocks(region->extent.width, block->width) * block->bytes, slice, layer, all;

    if (__builtin_mul_overflow(row, blocks(region->extent.height, block->height), &slice) ||
        __builtin_mul_overflow(slice, (uint64_t)region->extent.depth, &layer) ||
        __builtin_mul_overflow(layer, (uint64_t)region->layer_count, &all))
        return UINT64_MAX;
    return all;
}

/* One dimension of a region. A block may reach beyond the end of the image. */
static bool is_inside(uint32_t size, uint32_t level, uint32_t divide, uint32_t block, int32_t begin, uint32_t extent)
{
    uint64_t whole = size >> level ? size >> level : 1;

    whole = (whole + divide - 1) / divide;
    if (begin < 0 || !extent || (uint32_t)begin % block ||
        (uint64_t)begin + extent > (whole + block - 1) / block * block)
        return false;
    return extent % block == 0 || (uint64_t)begin + extent == whole;
}

bool lap_texels_region_is_inside(const VkImageCreateInfo *info, const struct lap_texel_block *block,
                                 const struct lap_texel_region *region)
{
    if (region->level >= info->mipLevels || region->level > 31 || region->layer >= info->arrayLayers ||
        !region->layer_count || region->layer_count > info->arrayLayers - region->layer)
        return false;
    return is_inside(info->extent.width, region->level, block->divide_x, block->width, region->offset.x,
                     region->extent.width) &&
           is_inside(info->extent.height, region->level, block->divide_y, block->height, region->offset.y,
                     region->extent.height) &&
           is_inside(info->extent.depth, region->level, 1, 1, region->offset.z, region->extent.depth);
}

/* Halves a dimension at a whole block; 0: it is one block. */
static uint32_t half(uint32_t size, uint32_t block)
{
    return (uint32_t)(blocks(size, block) / 2 * block);
}

enum lap_status lap_texels_cut(const struct lap_texel_block *block, const struct lap_texel_region *region,
                               uint64_t most, lap_texels_piece_fn visit, void *context)
{
    const uint64_t bytes = lap_texels_region_bytes(block, region);
    struct lap_texel_region first = *region, second = *region;
    enum lap_status status;
    uint32_t part;

    if (!bytes)
        return LAP_OK;
    /* The outermost dimension first: so the bytes of each half lie together. */
    if (bytes <= most) {
        return visit(context, region, (size_t)bytes);
    } else if (region->layer_count > 1) {
        first.layer_count = region->layer_count / 2;
        second.layer += first.layer_count;
        second.layer_count -= first.layer_count;
    } else if (region->extent.depth > 1) {
        first.extent.depth = region->extent.depth / 2;
        second.offset.z += (int32_t)first.extent.depth;
        second.extent.depth -= first.extent.depth;
    } else if ((part = half(region->extent.height, block->height)) != 0) {
        first.extent.height = part;
        second.offset.y += (int32_t)part;
        second.extent.height -= part;
    } else if ((part = half(region->extent.width, block->width)) != 0) {
        first.extent.width = part;
        second.offset.x += (int32_t)part;
        second.extent.width -= part;
    } else {
        return visit(context, region, (size_t)bytes);
    }
    status = lap_texels_cut(block, &first, most, visit, context);
    return status == LAP_OK ? lap_texels_cut(block, &second, most, visit, context) : status;
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

#define ALL_PLANES (VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT | VK_IMAGE_ASPECT_PLANE_2_BIT)

VkImageAspectFlags lap_texels_parts(VkFormat format)
{
    const uint32_t planes = lap_format_planes(format);

    if (planes == 1)
        return lap_texels_aspects(format);
    return planes == 2 ? VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT : ALL_PLANES;
}

VkImageAspectFlags lap_texels_parts_in(VkImageAspectFlags parts, VkImageAspectFlags aspects)
{
    return parts & (aspects & VK_IMAGE_ASPECT_COLOR_BIT ? aspects | ALL_PLANES : aspects);
}

VkImageAspectFlags lap_texels_range_of(VkImageAspectFlags parts)
{
    return parts & ALL_PLANES ? VK_IMAGE_ASPECT_COLOR_BIT : parts;
}

/* divide: texels of the image that share one of the plane. */
static uint32_t at_level(uint32_t extent, uint32_t level, uint32_t divide)
{
    return ((extent >> level ? extent >> level : 1) + divide - 1) / divide;
}

bool lap_texels_describe(const VkImageCreateInfo *info, VkImageAspectFlags aspect, uint32_t level, uint32_t layer,
                         struct lap_texels *out)
{
    struct lap_texel_block block;

    if (!lap_texels_block(info->format, aspect, &block) || level >= info->mipLevels || level > 31 ||
        layer >= info->arrayLayers)
        return false;
    out->aspect = aspect;
    out->level = level;
    out->layer = layer;
    out->extent =
        (VkExtent3D){at_level(info->extent.width, level, block.divide_x),
                     at_level(info->extent.height, level, block.divide_y), at_level(info->extent.depth, level, 1)};
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
