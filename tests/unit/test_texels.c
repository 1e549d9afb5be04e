/* SPDX-License-Identifier: MIT */
#include "codegen/support/texels.h"
#include "tests/unit/unit.h"

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
