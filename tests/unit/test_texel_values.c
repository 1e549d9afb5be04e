/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "vulkan/texel/pixels.h"
#include "vulkan/texel/texel_picture.h"
#include "vulkan/texel/texels.h"

#define COLOR   VK_IMAGE_ASPECT_COLOR_BIT
#define DEPTH   VK_IMAGE_ASPECT_DEPTH_BIT
#define STENCIL VK_IMAGE_ASPECT_STENCIL_BIT

/* `want`: channels in the order of memory, and their values. */
static void check_values(VkFormat format, VkImageAspectFlags aspect, const void *texel, const char *want,
                         const double *values)
{
    const struct gen_format *found = lap_texel_format(format, aspect);
    double got[4];

    CHECK(found != NULL);
    if (!found)
        return;
    CHECK_EQ_U64(found->count, strlen(want));
    lap_texel_values(found, texel, got);
    for (unsigned i = 0; i < found->count; i++) {
        CHECK_EQ_INT(found->components[i].channel, want[i]);
        CHECK(got[i] == values[i]);
    }
}

#define VALUES(...)                                                                                                    \
    (const double[])                                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define CHECK_WORD(format, word, want, ...) check_values(format, COLOR, &(uint64_t){word}, want, VALUES(__VA_ARGS__))

UNIT_TEST(values_are_those_of_the_specification)
{
    CHECK_WORD(VK_FORMAT_R8G8B8A8_UNORM, 0xff33ff00, "RGBA", 0, 1, 0.2, 1);
    CHECK_WORD(VK_FORMAT_B8G8R8A8_SRGB, 0x00330000, "BGRA", 0, 0, 0.2, 0);
    CHECK_WORD(VK_FORMAT_R8G8_SNORM, 0x7f81, "RG", -1, 1);
    CHECK_WORD(VK_FORMAT_R8_SNORM, 0x80, "R", -1);
    CHECK_WORD(VK_FORMAT_R8_SSCALED, 0x80, "R", -128);
    CHECK_WORD(VK_FORMAT_R16G16_USCALED, 0xffff0001, "RG", 1, 65535);
    CHECK_WORD(VK_FORMAT_A2B10G10R10_SINT_PACK32, 0xffe007ff, "RGBA", -1, 1, -2, -1);
    CHECK_WORD(VK_FORMAT_A2R10G10B10_UINT_PACK32, 0xc0100402, "BGRA", 2, 1, 1, 3);
    CHECK_WORD(VK_FORMAT_R5G6B5_UNORM_PACK16, 31 << 11, "BGR", 0, 0, 1);
    CHECK_WORD(VK_FORMAT_R4G4_UNORM_PACK8, 0xf0, "GR", 0, 1);
    CHECK_WORD(VK_FORMAT_A4R4G4B4_UNORM_PACK16, 0xf03f, "BGRA", 1, 0.2, 0, 1);
    CHECK_WORD(VK_FORMAT_R10X6G10X6_UNORM_2PACK16, 0xffc0003f, "RG", 0, 1);
    CHECK_WORD(VK_FORMAT_R12X4_UNORM_PACK16, 0x3330, "R", 0.2);
    CHECK_WORD(VK_FORMAT_R16G16B16A16_SFLOAT, 0x0001c0007c003c00, "RGBA", 1, (double)INFINITY, -2, 0x1p-24);
    CHECK_WORD(VK_FORMAT_B10G11R11_UFLOAT_PACK32, 14u << 27 | (15u << 6 | 32) << 11 | 1, "RGB", 0x1p-20, 1.5, 0.5);
    CHECK_WORD(VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, 16u << 27 | 256u << 18 | 1, "RGB", 0x1p-8, 0, 1);
    CHECK_WORD(VK_FORMAT_R32_SINT, 0x80000000, "R", -2147483648.0);
    CHECK_WORD(VK_FORMAT_R32G32_SFLOAT, 0x3fc0000080000000, "RG", 0, 1.5);
    CHECK_WORD(VK_FORMAT_R64_SINT, UINT64_MAX, "R", -1);
    CHECK_WORD((VkFormat)1000464000 /* VK_FORMAT_R16G16_SFIXED5_NV */, 0xfff00030, "RG", 1.5, -0.5);
    check_values(VK_FORMAT_R64G64B64A64_SFLOAT, COLOR, VALUES(1, -0.1, 1e300, 5), "RGBA", VALUES(1, -0.1, 1e300, 5));
}

UNIT_TEST(depth_and_stencil_are_as_copies_have_them)
{
    const uint32_t depth = 0x00ffffff;
    const uint8_t stencil = 200;

    check_values(VK_FORMAT_D24_UNORM_S8_UINT, DEPTH, &depth, "D", VALUES(1));
    check_values(VK_FORMAT_X8_D24_UNORM_PACK32, DEPTH, &depth, "D", VALUES(1));
    check_values(VK_FORMAT_D16_UNORM_S8_UINT, DEPTH, &(uint16_t){0x3333}, "D", VALUES(0.2));
    check_values(VK_FORMAT_D32_SFLOAT_S8_UINT, DEPTH, &(float){0.25f}, "D", VALUES(0.25));
    check_values(VK_FORMAT_D32_SFLOAT_S8_UINT, STENCIL, &stencil, "S", VALUES(200));
    check_values(VK_FORMAT_S8_UINT, STENCIL, &stencil, "S", VALUES(200));
    CHECK(!lap_texel_format(VK_FORMAT_D16_UNORM, STENCIL));
    CHECK(!lap_texel_format(VK_FORMAT_D16_UNORM, COLOR));
    CHECK(!lap_texel_format(VK_FORMAT_D24_UNORM_S8_UINT, DEPTH | STENCIL));
    CHECK(!lap_texel_format(VK_FORMAT_BC1_RGB_UNORM_BLOCK, COLOR));
    CHECK(!lap_texel_format(VK_FORMAT_G8B8G8R8_422_UNORM, COLOR));
    CHECK(!lap_texel_format((VkFormat)0x7fffffff, COLOR));
}

UNIT_TEST(every_format_of_single_texels_is_known_with_its_size)
{
    for (uint32_t i = VK_FORMAT_R4G4_UNORM_PACK8; i <= VK_FORMAT_D32_SFLOAT_S8_UINT; i++) {
        const VkImageAspectFlags aspects = lap_texels_aspects((VkFormat)i);
        const VkImageAspectFlags first = aspects & -aspects; /* color, or depth rather than stencil */
        const struct gen_format *found = lap_texel_format((VkFormat)i, first);
        struct lap_texel_block block;
        CHECK(lap_texels_block((VkFormat)i, first, &block));
        CHECK(found && found->bytes == block.bytes);
    }
}

/* Texels with all kinds of bits; of floating-point formats also special values. */
static void check_like_screenshots(VkFormat format)
{
    enum { COUNT = 4096 };
    const enum lap_pixel_layout layout = lap_pixels_layout(format);
    const struct lap_picture_options options = {.has_range = true, .black = 0, .white = 1};
    static uint8_t texels[COUNT * 16], want[COUNT * 3], got[COUNT * 3];
    struct lap_picture picture;

    for (size_t i = 0; i < sizeof texels; i++)
        texels[i] = (uint8_t)(i * 2654435761u >> 13);
    lap_pixels_to_rgb8(layout, texels, COUNT, want);
    CHECK_EQ_INT(lap_picture_plan(format, COLOR, &options, texels, COUNT, 1, &picture), LAP_OK);
    lap_picture_row(&picture, 0, got);
    for (size_t i = 0; i < COUNT && picture.kind == LAP_PNG_GREY8; i++)
        CHECK(got[i] == want[3 * i] && got[i] == want[3 * i + 1] && got[i] == want[3 * i + 2]);
    CHECK(picture.kind == LAP_PNG_GREY8 || (picture.kind == LAP_PNG_RGB8 && memcmp(got, want, sizeof want) == 0));
}

UNIT_TEST(pictures_are_those_of_screenshots)
{
    unsigned compared = 0;

    for (uint32_t i = 1; i < 200; i++)
        if (lap_pixels_layout((VkFormat)i) != LAP_PIXEL_NONE && i != VK_FORMAT_R8G8B8A8_UINT) { /* shown with a range */
            check_like_screenshots((VkFormat)i);
            compared++;
        }
    CHECK_EQ_U64(compared, 25);
}

static struct lap_picture planned(VkFormat format, VkImageAspectFlags aspect, const char *channels, const void *texels,
                                  uint32_t count)
{
    const struct lap_picture_options options = {.channels = channels};
    struct lap_picture picture;

    CHECK_EQ_INT(lap_picture_plan(format, aspect, &options, texels, count, 1, &picture), LAP_OK);
    return picture;
}

UNIT_TEST(ranges_are_those_of_the_finite_values)
{
    const float depths[] = {0.25f, NAN, 0.75f, INFINITY, 0.5f}, colors[] = {0.5f, 0, -3, 1, 2, 1};
    uint16_t row[5];
    struct lap_picture picture = planned(VK_FORMAT_D32_SFLOAT, DEPTH, NULL, depths, 5);

    CHECK(picture.has_range && picture.black == 0.25 && picture.white == 0.75 && picture.kind == LAP_PNG_GREY16);
    CHECK(picture.nans == 1 && picture.infinities == 1);
    lap_picture_row(&picture, 0, row);
    CHECK(row[0] == 0 && row[1] == 0 && row[2] == 65535 && row[3] == 65535 && row[4] == 32768);
    picture = planned(VK_FORMAT_R32G32_SFLOAT, COLOR, NULL, colors, 2);
    CHECK(picture.has_range && picture.black == -3 && picture.white == 1 && picture.kind == LAP_PNG_RGB8);
    picture = planned(VK_FORMAT_R32_SFLOAT, COLOR, NULL, colors, 2);
    CHECK(picture.has_range && picture.black == 0 && picture.white == 1 && picture.kind == LAP_PNG_GREY16);
    picture = planned(VK_FORMAT_R8_UINT, COLOR, NULL, (uint8_t[]){7, 7}, 2);
    CHECK(picture.has_range && picture.black == 7 && picture.white == 7 && picture.kind == LAP_PNG_GREY8);
    picture = planned(VK_FORMAT_R8G8_SNORM, COLOR, NULL, colors, 1);
    CHECK(picture.has_range && picture.black == -1 && picture.white == 1);
    CHECK(!planned(VK_FORMAT_R8G8B8A8_UNORM, COLOR, NULL, colors, 1).has_range);
}

UNIT_TEST(channels_are_chosen)
{
    const struct lap_picture_options blue = {.channels = "b"};
    const uint8_t texel[4] = {10, 20, 30, 40};
    struct lap_picture picture = planned(VK_FORMAT_B8G8R8A8_UNORM, COLOR, "rgba", texel, 1);
    uint8_t row[4] = {0};

    lap_picture_row(&picture, 0, row);
    CHECK(picture.kind == LAP_PNG_RGBA8 && memcmp(row, (uint8_t[]){30, 20, 10, 40}, 4) == 0);
    picture = planned(VK_FORMAT_B8G8R8A8_UNORM, COLOR, "b", texel, 1);
    lap_picture_row(&picture, 0, row);
    CHECK(picture.kind == LAP_PNG_GREY8 && row[0] == 10);
    CHECK_EQ_INT(planned(VK_FORMAT_S8_UINT, STENCIL, "g", texel, 1).kind, LAP_PNG_GREY8);
    CHECK_EQ_INT(lap_picture_plan(VK_FORMAT_R8G8_UNORM, COLOR, &blue, texel, 1, 1, &picture), LAP_ERROR_UNSUPPORTED);
    CHECK_STR(lap_error_message(), "has no channel b");
}

UNIT_MAIN();
