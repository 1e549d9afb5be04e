/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include "vulkan/texel/texels.h"

static VkImageCreateInfo image(VkFormat format)
{
    return (VkImageCreateInfo){.format = format, .extent = {37, 19, 1}, .mipLevels = 3, .arrayLayers = 2};
}

static uint64_t bytes_of(VkFormat format, VkImageAspectFlags aspect, uint32_t level)
{
    VkImageCreateInfo info = image(format);
    struct lap_texels texels;
    return lap_texels_describe(&info, aspect, level, 1, &texels) ? texels.rows * texels.row_bytes : 0;
}

UNIT_TEST(texels_are_packed_as_a_copy_packs_them)
{
    const VkImageAspectFlags color = VK_IMAGE_ASPECT_COLOR_BIT, depth = VK_IMAGE_ASPECT_DEPTH_BIT,
                             stencil = VK_IMAGE_ASPECT_STENCIL_BIT;
    CHECK_EQ_U64(bytes_of(VK_FORMAT_R8G8B8A8_UNORM, color, 0), 37 * 19 * 4);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_R8G8B8A8_UNORM, color, 2), 9 * 4 * 4);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_R5G6B5_UNORM_PACK16, color, 0), 37 * 19 * 2);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_R8G8B8_UNORM, color, 0), 37 * 19 * 3);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_R64G64B64A64_SFLOAT, color, 0), 37 * 19 * 32);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_B10G11R11_UFLOAT_PACK32, color, 0), 37 * 19 * 4);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_BC1_RGB_UNORM_BLOCK, color, 0), 10 * 5 * 8);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_BC7_UNORM_BLOCK, color, 1), 5 * 3 * 16);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_EAC_R11_UNORM_BLOCK, color, 0), 10 * 5 * 8);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_ASTC_12x10_UNORM_BLOCK, color, 0), 4 * 2 * 16);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_D16_UNORM, depth, 0), 37 * 19 * 2);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_X8_D24_UNORM_PACK32, depth, 0), 37 * 19 * 4);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_D32_SFLOAT, depth, 0), 37 * 19 * 4);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_D16_UNORM_S8_UINT, depth, 0), 37 * 19 * 2);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_D24_UNORM_S8_UINT, depth, 0), 37 * 19 * 4);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_D32_SFLOAT_S8_UINT, depth, 0), 37 * 19 * 4);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_D32_SFLOAT_S8_UINT, stencil, 0), 37 * 19);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_S8_UINT, stencil, 0), 37 * 19);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_IMAGE_ASPECT_PLANE_0_BIT, 0), 37 * 19);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_IMAGE_ASPECT_PLANE_1_BIT, 0), 19 * 10 * 2);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_G16_B16_R16_3PLANE_422_UNORM, VK_IMAGE_ASPECT_PLANE_2_BIT, 0), 19 * 19 * 2);
}

UNIT_TEST(color_has_all_planes)
{
    const VkImageAspectFlags planes = VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT,
                             color = VK_IMAGE_ASPECT_COLOR_BIT;
    const VkImageAspectFlags both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    CHECK_EQ_U64(lap_texels_parts(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM), planes);
    CHECK_EQ_U64(lap_texels_parts_in(planes, color), planes);
    CHECK_EQ_U64(lap_texels_parts_in(planes, VK_IMAGE_ASPECT_PLANE_1_BIT), VK_IMAGE_ASPECT_PLANE_1_BIT);
    CHECK_EQ_U64(lap_texels_parts_in(both, color), 0);
    CHECK_EQ_U64(lap_texels_range_of(planes), color);
    CHECK_EQ_U64(lap_texels_range_of(lap_texels_parts(VK_FORMAT_D24_UNORM_S8_UINT)), both);
}

UNIT_TEST(what_an_image_lacks_is_not_described)
{
    VkImageCreateInfo info = image(VK_FORMAT_D16_UNORM);
    struct lap_texels texels;
    CHECK_EQ_U64(bytes_of(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_ASPECT_DEPTH_BIT, 0), 0);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, 0), 0);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, 0), 0);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_ASPECT_COLOR_BIT, 3), 0);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_IMAGE_ASPECT_COLOR_BIT, 0), 0);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_IMAGE_ASPECT_PLANE_2_BIT, 0), 0);
    CHECK_EQ_U64(bytes_of(VK_FORMAT_UNDEFINED, VK_IMAGE_ASPECT_COLOR_BIT, 0), 0);
    CHECK_EQ_U64(bytes_of((VkFormat)0x7fffffff, VK_IMAGE_ASPECT_COLOR_BIT, 0), 0);
    CHECK(!lap_texels_describe(&info, VK_IMAGE_ASPECT_DEPTH_BIT, 0, 2, &texels));
    info.extent = (VkExtent3D){UINT32_MAX, UINT32_MAX, UINT32_MAX};
    CHECK(!lap_texels_describe(&info, VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0, &texels));
}

UNIT_TEST(bits_that_mean_nothing_are_cleared)
{
    uint32_t texels[2] = {0xff123456, 0x80000001}, same[2] = {0xff123456, 0x80000001};
    lap_texels_clean(VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, texels, sizeof texels);
    CHECK_EQ_U64(texels[0], 0x123456);
    CHECK_EQ_U64(texels[1], 1);
    lap_texels_clean(VK_FORMAT_D32_SFLOAT, VK_IMAGE_ASPECT_DEPTH_BIT, same, sizeof same);
    lap_texels_clean(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_ASPECT_COLOR_BIT, same, sizeof same);
    CHECK_EQ_U64(same[0], 0xff123456);
}

UNIT_MAIN();

struct pieces {
    const struct lap_texel_block *block;
    uint64_t bytes, most, count;
    bool in_order;
    struct lap_texel_region last;
};

/* In the order of their bytes: by layer, slice, row and column. */
static bool is_behind(const struct lap_texel_region *last, const struct lap_texel_region *next)
{
    if (next->layer != last->layer)
        return next->layer == last->layer + last->layer_count;
    if (next->offset.z != last->offset.z)
        return next->offset.z == last->offset.z + (int32_t)last->extent.depth;
    if (next->offset.y != last->offset.y)
        return next->offset.y == last->offset.y + (int32_t)last->extent.height;
    return next->offset.x == last->offset.x + (int32_t)last->extent.width;
}

static enum lap_status count_piece(void *context, const struct lap_texel_region *piece, size_t bytes)
{
    struct pieces *pieces = context;
    pieces->in_order &= !pieces->count || is_behind(&pieces->last, piece);
    pieces->last = *piece;
    pieces->bytes += bytes;
    pieces->count++;
    pieces->most = bytes > pieces->most ? bytes : pieces->most;
    CHECK_EQ_U64(lap_texels_region_bytes(pieces->block, piece), bytes);
    return LAP_OK;
}

UNIT_TEST(regions_are_cut_into_pieces_that_follow_one_another)
{
    static const struct {
        VkFormat format;
        VkImageAspectFlags aspect;
    } kinds[] = {{VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_ASPECT_COLOR_BIT},
                 {VK_FORMAT_BC1_RGB_UNORM_BLOCK, VK_IMAGE_ASPECT_COLOR_BIT},
                 {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_IMAGE_ASPECT_PLANE_1_BIT},
                 {VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_ASPECT_STENCIL_BIT}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (uint64_t most = 1; most < 5000; most = most * 3 + 1) {
            const struct lap_texel_region all = {kinds[i].aspect, 0, 1, 3, {4, 8, 0}, {36, 20, 5}};
            struct lap_texel_block block;
            struct pieces pieces = {.block = &block, .in_order = true};
            CHECK(lap_texels_block(kinds[i].format, kinds[i].aspect, &block));
            CHECK_EQ_INT(lap_texels_cut(&block, &all, most, count_piece, &pieces), LAP_OK);
            CHECK_EQ_U64(pieces.bytes, lap_texels_region_bytes(&block, &all));
            CHECK(pieces.most <= most || pieces.most == block.bytes);
            CHECK(pieces.in_order);
        }
}

UNIT_TEST(a_region_lies_in_its_image_at_whole_blocks)
{
    VkImageCreateInfo info = image(VK_FORMAT_BC1_RGB_UNORM_BLOCK);
    struct lap_texel_region region = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 2, {4, 8, 0}, {33, 11, 1}};
    struct lap_texel_block block;

    CHECK(lap_texels_block(info.format, VK_IMAGE_ASPECT_COLOR_BIT, &block));
    CHECK(lap_texels_region_is_inside(&info, &block, &region));
    region.extent.width = 34;
    CHECK(!lap_texels_region_is_inside(&info, &block, &region));
    region.extent.width = 30; /* ends in the middle of a block */
    CHECK(!lap_texels_region_is_inside(&info, &block, &region));
    region.extent.width = 32;
    CHECK(lap_texels_region_is_inside(&info, &block, &region));
    region.offset.x = 2;
    CHECK(!lap_texels_region_is_inside(&info, &block, &region));
    region.offset.x = -4;
    CHECK(!lap_texels_region_is_inside(&info, &block, &region));
    region.offset.x = INT32_MAX - 3;
    CHECK(!lap_texels_region_is_inside(&info, &block, &region));
    region = (struct lap_texel_region){VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 2, {0, 0, 0}, {4, 4, 1}};
    CHECK(!lap_texels_region_is_inside(&info, &block, &region));
    region = (struct lap_texel_region){VK_IMAGE_ASPECT_COLOR_BIT, 40, 0, 1, {0, 0, 0}, {4, 4, 1}};
    CHECK(!lap_texels_region_is_inside(&info, &block, &region));
    /* A plane with a quarter of the texels. */
    info.format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    CHECK(lap_texels_block(info.format, VK_IMAGE_ASPECT_PLANE_1_BIT, &block));
    CHECK_EQ_U64(block.bytes, 2);
    region = (struct lap_texel_region){VK_IMAGE_ASPECT_PLANE_1_BIT, 0, 0, 1, {0, 0, 0}, {19, 10, 1}};
    CHECK(lap_texels_region_is_inside(&info, &block, &region));
    region.extent.width = 20;
    CHECK(!lap_texels_region_is_inside(&info, &block, &region));
    CHECK(!lap_texels_block(info.format, VK_IMAGE_ASPECT_PLANE_2_BIT, &block));
    CHECK(!lap_texels_block(info.format, VK_IMAGE_ASPECT_COLOR_BIT, &block));
}
