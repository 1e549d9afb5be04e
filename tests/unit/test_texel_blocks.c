/* SPDX-License-Identifier: MIT */
/* Blocks that say by themselves what they hold; tests/e2e/blocks_check.c compares all others with devices. */
#include <math.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "vulkan/texel/texel_blocks.h"
#include "vulkan/texel/texel_picture.h"

#define COLOR VK_IMAGE_ASPECT_COLOR_BIT

static void check_texel(VkFormat format, const char *block, uint32_t x, uint32_t y, double r, double g, double b,
                        double a)
{
    const double want[4] = {r, g, b, a};
    double got[LAP_BLOCK_WIDTH_MOST][4];

    lap_texel_block_row(format, block, y, got);
    for (unsigned c = 0; c < lap_texel_block_format(format)->count; c++)
        CHECK(got[x][c] == want[c]);
}

UNIT_TEST(values_are_those_of_the_specification)
{
    /* The first color is not larger: the third is their mean, the fourth is transparent with alpha. */
    check_texel(VK_FORMAT_BC1_RGBA_SRGB_BLOCK, "\0\0\0\xf8\x24\0\0\0", 1, 0, 1, 0, 0, 1);
    check_texel(VK_FORMAT_BC1_RGBA_SRGB_BLOCK, "\0\0\0\xf8\x24\0\0\0", 2, 0, 0.5, 0, 0, 1);
    check_texel(VK_FORMAT_BC1_RGBA_UNORM_BLOCK, "\0\0\0\xf8\0\0\0\xc0", 3, 3, 0, 0, 0, 0);
    check_texel(VK_FORMAT_BC1_RGB_UNORM_BLOCK, "\0\xf8\0\0\x02\0\0\0", 0, 0, 2 / 3.0, 0, 0, 1);
    /* -128 is -127; the eighth of six values is 1, the seventh -1. */
    check_texel(VK_FORMAT_BC4_SNORM_BLOCK, "\x80\x7f\x38\0\0\0\0\0", 0, 0, -1, 0, 0, 0);
    check_texel(VK_FORMAT_BC4_SNORM_BLOCK, "\x80\x7f\x38\0\0\0\0\0", 1, 0, 1, 0, 0, 0);
    /* Without a multiplier a modifier is an eighth of what it is with 1. */
    check_texel(VK_FORMAT_EAC_R11_SNORM_BLOCK, "\x20\x10\0\0\0\0\0\0", 3, 3, (32 * 8 - 24) / 1023.0, 0, 0, 0);
    check_texel(VK_FORMAT_EAC_R11_SNORM_BLOCK, "\x80\x00\x80\0\0\0\0\0", 0, 0, (-127 * 8 + 2) / 1023.0, 0, 0, 0);
    check_texel(VK_FORMAT_EAC_R11G11_UNORM_BLOCK, "\x20\x10\0\0\0\0\0\0\xff\xf0\x80\0\0\0\0\0", 0, 0,
                (32 * 8 + 4 - 24) / 2047.0, 1, 0, 0);
    /* The least end of 16 bits is infinite. */
    check_texel(VK_FORMAT_BC6H_SFLOAT_BLOCK, "\x0f\0\0\0\x80\0\0\0\0\0\0\0\0\0\0\0", 0, 0, -(double)INFINITY, 0, 0, 0);
    /* Between 0 and 1 of 255, at 37 of 64: with sRGB ends have another lower half. */
    check_texel(VK_FORMAT_ASTC_4x4_UNORM_BLOCK, "\x53\0\0\x02\0\0\0\0\0\0\x49\x92\x24\x49\x92\x24", 0, 0, 149 / 65536.0,
                149 / 65536.0, 149 / 65536.0, 1);
    check_texel(VK_FORMAT_ASTC_4x4_SRGB_BLOCK, "\x53\0\0\x02\0\0\0\0\0\0\x49\x92\x24\x49\x92\x24", 0, 0, 1 / 255.0,
                1 / 255.0, 1 / 255.0, 1);
    /* Colors of 16 bits: half floats, rounded to zero; with sRGB their highest 8 bits. */
    check_texel(VK_FORMAT_ASTC_5x4_UNORM_BLOCK, "\xfc\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\x01\0\0\x80", 4, 3, 1,
                2047 / 2048.0, 1 / 65536.0, 0.5);
    check_texel(VK_FORMAT_ASTC_12x12_SRGB_BLOCK, "\xfc\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xfe\x01\0\0\x80", 11, 11,
                1, 254 / 255.0, 0, 0.5);
}

/* Reserved bits and modes, and areas of one color that end before they begin. */
UNIT_TEST(errors_have_the_color_of_errors)
{
    static const char *const bad[4] = {
        "\xfc\xf5\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0", "\xfc\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0",
        "\xfc\xfd\xff\xff\xff\xff\xff\xfe\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"};

    for (unsigned i = 0; i < 4; i++)
        check_texel(VK_FORMAT_ASTC_6x5_UNORM_BLOCK, bad[i], 5, 4, 1, 0, 1, 1);
    check_texel(VK_FORMAT_BC7_UNORM_BLOCK, bad[3], 0, 0, 0, 0, 0, 0);
    check_texel(VK_FORMAT_BC6H_SFLOAT_BLOCK, "\x13\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0, 0,
                0, 0, 0, 0);
}

UNIT_TEST(any_bytes_have_values_of_their_format)
{
    enum { BLOCKS = 500 };
    uint64_t seed = 1, words[2];
    unsigned formats = 0;

    for (uint32_t f = 0; f < 300; f++) {
        const struct gen_format *texel = lap_texel_block_format((VkFormat)f);
        struct lap_texel_block block;
        double values[LAP_BLOCK_WIDTH_MOST][4];
        if (!texel)
            continue;
        formats++;
        CHECK(lap_texels_block((VkFormat)f, COLOR, &block) && block.width <= LAP_BLOCK_WIDTH_MOST);
        for (uint32_t i = 0; i < BLOCKS * block.height; i++) {
            words[0] = seed = seed * 6364136223846793005 + 1442695040888963407;
            words[1] = seed = seed * 6364136223846793005 + 1442695040888963407;
            words[0] = words[0] >> 32 | words[0] << 32;
            lap_texel_block_row((VkFormat)f, words, i % block.height, values);
            for (uint32_t v = 0; v < block.width * texel->count; v++) {
                const double value = values[v / texel->count][v % texel->count];
                const bool has_sign = texel->numeric == GEN_NUMERIC_SNORM || texel->numeric == GEN_NUMERIC_SFLOAT;
                const bool is_float = texel->numeric == GEN_NUMERIC_SFLOAT || texel->numeric == GEN_NUMERIC_UFLOAT;
                CHECK(!isnan(value) && (is_float || fabs(value) <= 1) && (has_sign || value >= 0));
            }
        }
    }
    CHECK_EQ_U64(formats, VK_FORMAT_ASTC_12x12_SRGB_BLOCK - VK_FORMAT_BC1_RGB_UNORM_BLOCK + 1);
    CHECK(!lap_texel_block_format(VK_FORMAT_ASTC_4x4_SFLOAT_BLOCK));
    CHECK(!lap_texel_block_format(VK_FORMAT_MAX_ENUM));
}

/* A picture of 5 x 6 texels is 2 x 2 blocks. */
UNIT_TEST(pictures_end_within_blocks)
{
    const struct lap_picture_options plain = {0}, alpha = {.channels = "a"}, red = {.channels = "r"};
    uint8_t bc1[32], row[15], want[15];
    struct lap_picture picture;

    for (unsigned i = 0; i < 4; i++) /* red with black rows, green, blue, white */
        memcpy(bc1 + 8 * i,
               (const char *[]){"\0\xf8\0\0\0\x55\0\x55", "\xe0\x07\0\0\0\0\0\0", "\x1f\0\0\0\0\0\0\0",
                                "\xff\xff\0\0\0\0\0\0"}[i],
               8);
    CHECK_EQ_INT(lap_picture_plan(VK_FORMAT_BC1_RGB_UNORM_BLOCK, COLOR, &plain, bc1, 5, 6, &picture), LAP_OK);
    CHECK(picture.kind == LAP_PNG_RGB8 && !picture.has_range && picture.width == 5 && picture.height == 6);
    for (uint32_t y = 0; y < 6; y++) {
        for (uint32_t x = 0; x < 5; x++)
            for (uint32_t c = 0; c < 3; c++)
                want[3 * x + c] = 255 * (y < 4 ? (x < 4 ? c == 0 && y % 2 == 0 : c == 1) : x > 3 || c == 2);
        lap_picture_row(&picture, y, row);
        CHECK(memcmp(row, want, sizeof row) == 0);
    }
    CHECK_EQ_INT(lap_picture_plan(VK_FORMAT_BC1_RGBA_UNORM_BLOCK, COLOR, &red, bc1, 5, 6, &picture), LAP_OK);
    lap_picture_row(&picture, 5, row);
    CHECK(picture.kind == LAP_PNG_GREY8 && memcmp(row, "\0\0\0\0\xff", 5) == 0);
    CHECK_EQ_INT(lap_picture_plan(VK_FORMAT_BC1_RGB_UNORM_BLOCK, COLOR, &alpha, bc1, 5, 6, &picture),
                 LAP_ERROR_UNSUPPORTED);
    CHECK_STR(lap_error_message(), "has no channel a");
}

/* Only texels of the picture count, not all of the block. */
UNIT_TEST(ranges_are_those_of_the_values)
{
    const struct lap_picture_options plain = {0}, of_two = {.has_range = true, .black = 0, .white = 2};
    const uint8_t eac[8] = {0x20, 0x10, 0x80};
    uint8_t bc6h[16] = {0};
    uint16_t grey[1];
    uint8_t row[3];
    struct lap_picture picture;

    CHECK_EQ_INT(lap_picture_plan(VK_FORMAT_EAC_R11_SNORM_BLOCK, COLOR, &plain, eac, 1, 1, &picture), LAP_OK);
    CHECK(picture.kind == LAP_PNG_GREY16 && picture.has_range && picture.black == -1 && picture.white == 1);
    lap_picture_row(&picture, 0, grey);
    CHECK_EQ_U64(grey[0], (unsigned)((1 + (32 * 8 + 16) / 1023.0) / 2 * 65535 + 0.5));
    /* One end, which all texels have: 480 of 1023 to 65504. */
    memcpy(bc6h, &(uint64_t){3 | UINT64_C(480) << 5}, 8);
    CHECK_EQ_INT(lap_picture_plan(VK_FORMAT_BC6H_UFLOAT_BLOCK, COLOR, &plain, bc6h, 1, 1, &picture), LAP_OK);
    CHECK(picture.encodes && picture.has_range && picture.black == 0 && picture.white == 1);
    CHECK_EQ_INT(lap_picture_plan(VK_FORMAT_BC6H_UFLOAT_BLOCK, COLOR, &of_two, bc6h, 1, 1, &picture), LAP_OK);
    CHECK(picture.white == 2);
    lap_picture_row(&picture, 0, row);
    CHECK(row[0] == lap_png_srgb8((0.5f + 559 / 2048.0f) / 2) && row[1] == 0);
}

UNIT_MAIN();
