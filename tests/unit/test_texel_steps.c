/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include "vulkan/texel/texel_steps.h"

static bool within(VkFormat format, uint32_t a, uint32_t b, size_t bytes, uint32_t steps)
{
    bool there = lap_texel_steps_within(format, VK_IMAGE_ASPECT_COLOR_BIT, &a, &b, bytes, steps);
    CHECK_EQ_INT(lap_texel_steps_within(format, VK_IMAGE_ASPECT_COLOR_BIT, &b, &a, bytes, steps), there);
    return there;
}

UNIT_TEST(normalized_components_are_counted_one_by_one)
{
    CHECK(within(VK_FORMAT_R8G8B8A8_UNORM, 0x01ff0010, 0x00fe0111, 4, 1));
    CHECK(!within(VK_FORMAT_R8G8B8A8_UNORM, 0x01ff0010, 0x00fd0111, 4, 1));
    CHECK(within(VK_FORMAT_B8G8R8A8_SRGB, 0x10, 0x14, 4, 4));
    CHECK(!within(VK_FORMAT_R8_UNORM, 0x00, 0xff, 1, 1));
    CHECK(within(VK_FORMAT_R8_SNORM, 0x00, 0xff, 1, 1)); /* 0 and -1 */
    CHECK(!within(VK_FORMAT_R8_SNORM, 0x7f, 0x80, 1, 200));
    CHECK(within(VK_FORMAT_R16G16_UNORM, 0x00ff0100, 0x010000ff, 4, 1));
    CHECK(within(VK_FORMAT_R5G6B5_UNORM_PACK16, 1 << 5 | 1 << 11, 0, 2, 1));
    CHECK(!within(VK_FORMAT_R5G6B5_UNORM_PACK16, 2 << 5, 0, 2, 1));
    CHECK(within(VK_FORMAT_A2B10G10R10_UNORM_PACK32, UINT32_C(3) << 30, UINT32_C(2) << 30, 4, 1));
    CHECK(!within(VK_FORMAT_A2B10G10R10_UNORM_PACK32, 0x3ff, 0x400, 4, 1));
    CHECK(within(VK_FORMAT_B10G11R11_UFLOAT_PACK32, 0x7ff, 0x7fe, 4, 1));
}

UNIT_TEST(floats_are_counted_by_what_lies_between)
{
    CHECK(within(VK_FORMAT_R32_SFLOAT, 0x3f800000, 0x3f7fffff, 4, 1));
    CHECK(!within(VK_FORMAT_R32_SFLOAT, 0x3f800000, 0x3f800002, 4, 1));
    CHECK(within(VK_FORMAT_R32_SFLOAT, 0x00000000, 0x80000000, 4, 0));
    CHECK(within(VK_FORMAT_R32_SFLOAT, 0x00000001, 0x80000001, 4, 2));
    CHECK(!within(VK_FORMAT_R32_SFLOAT, 0x7f7fffff, 0xff7fffff, 4, UINT32_C(0x7fffffff)));
    CHECK(within(VK_FORMAT_R16G16_SFLOAT, 0x3c003c00, 0x3c013bff, 4, 1));
}

UNIT_TEST(integers_blocks_and_unknown_formats_have_to_be_the_same)
{
    const VkFormat formats[] = {VK_FORMAT_R8G8B8A8_UINT,       VK_FORMAT_R8G8B8A8_SINT, VK_FORMAT_R32_UINT,
                                VK_FORMAT_BC1_RGB_UNORM_BLOCK, VK_FORMAT_UNDEFINED,     (VkFormat)0x7fffffff};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        CHECK(within(formats[i], 5, 5, 4, 100));
        CHECK(!within(formats[i], 5, 6, 4, 100));
    }
}

UNIT_TEST(depth_and_stencil_are_told_apart)
{
    uint32_t a = 0x800000, b = 0x800001;
    CHECK(lap_texel_steps_within(VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, &a, &b, 4, 1));
    CHECK(!lap_texel_steps_within(VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT, &a, &b, 4, 0));
    CHECK(!lap_texel_steps_within(VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_STENCIL_BIT, &a, &b, 4, 1));
    CHECK(lap_texel_steps_within(VK_FORMAT_D32_SFLOAT, VK_IMAGE_ASPECT_DEPTH_BIT, &a, &b, 4, 1));
    CHECK(lap_texel_steps_within(VK_FORMAT_D16_UNORM, VK_IMAGE_ASPECT_DEPTH_BIT, &a, &b, 4, 1));
}

UNIT_MAIN();
