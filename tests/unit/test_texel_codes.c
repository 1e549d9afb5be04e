/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/texel_codes.h"

#include <math.h>

#include "tests/unit/unit.h"
#include "vulkan/texel/texel_values.h"

/* A finite value of each code has this very code again. Of sRGB formats values stay encoded. */
static void check_all_codes(const struct gen_format *format, unsigned component)
{
    const unsigned bits = format->components[component].bits;
    unsigned char texel[32] = {0};
    double values[4];

    for (uint64_t code = 0; code < UINT64_C(1) << bits; code++) {
        uint64_t again;
        lap_texel_put_code(format, component, code, texel);
        CHECK_EQ_U64(lap_texel_code(format, component, texel), code);
        lap_texel_values(format, texel, values);
        if (!isfinite(values[component]))
            continue;
        again = lap_texel_code_of(format, component, values[component]);
        if (format->numeric == GEN_NUMERIC_SNORM && code == UINT64_C(1) << (bits - 1))
            CHECK_EQ_U64(again, code + 1); /* two codes are -1 */
        else
            CHECK_EQ_U64(again, code);
    }
}

UNIT_TEST(codes_are_the_reverse_of_values)
{
    unsigned checked = 0;

    for (size_t i = 0; i < GEN_FORMAT_COUNT; i++) {
        const struct gen_format *format = &gen_formats[i];
        bool has_codes =
            !format->exponent && (format->numeric == GEN_NUMERIC_UNORM || format->numeric == GEN_NUMERIC_SNORM ||
                                  format->numeric == GEN_NUMERIC_SFLOAT || format->numeric == GEN_NUMERIC_UFLOAT);
        for (unsigned k = 0; k < format->count && has_codes; k++)
            if (format->components[k].bits <= 16) {
                check_all_codes(format, k);
                checked++;
            }
    }
    CHECK(checked > 40);
}

static uint64_t code(VkFormat format, double value)
{
    return lap_texel_code_of(lap_texel_format(format, VK_IMAGE_ASPECT_COLOR_BIT), 0, value);
}

UNIT_TEST(values_are_rounded_and_clamped)
{
    CHECK_EQ_U64(code(VK_FORMAT_R8_UNORM, 0.4), 102);
    CHECK_EQ_U64(code(VK_FORMAT_R8_UNORM, 7), 255);
    CHECK_EQ_U64(code(VK_FORMAT_R8_UNORM, -7), 0);
    CHECK_EQ_U64(code(VK_FORMAT_R8_UNORM, (double)NAN), 0);
    CHECK_EQ_U64(code(VK_FORMAT_R8_SNORM, -7), 0x81);
    CHECK_EQ_U64(code(VK_FORMAT_R8_SRGB, 0.5), 188);
    CHECK_EQ_U64(code(VK_FORMAT_R8_SRGB, 0.001), 3);
    CHECK_EQ_U64(code(VK_FORMAT_R16_SFLOAT, 1e9), 0x7c00);
    CHECK_EQ_U64(code(VK_FORMAT_R16_SFLOAT, -65519.0), 0xfbff);
    CHECK_EQ_U64(code(VK_FORMAT_R16_SFLOAT, 65520.0), 0x7c00);
    CHECK_EQ_U64(code(VK_FORMAT_B10G11R11_UFLOAT_PACK32, -1), 0);
    CHECK_EQ_U64(code(VK_FORMAT_R32_SFLOAT, 1.5), 0x3fc00000);
    /* The alpha of sRGB is linear. */
    CHECK_EQ_U64(lap_texel_code_of(lap_texel_format(VK_FORMAT_R8G8B8A8_SRGB, VK_IMAGE_ASPECT_COLOR_BIT), 3, 0.5), 128);
}

UNIT_TEST(steps_are_counted_over_zero)
{
    const struct gen_format *half = lap_texel_format(VK_FORMAT_R16_SFLOAT, VK_IMAGE_ASPECT_COLOR_BIT);
    const struct gen_format *snorm = lap_texel_format(VK_FORMAT_R8_SNORM, VK_IMAGE_ASPECT_COLOR_BIT);

    CHECK_EQ_U64(lap_texel_steps_between(half, 0, 0x8001, 0x0001), 2);
    CHECK_EQ_U64(lap_texel_steps_between(snorm, 0, 0xff, 0x01), 2);
    CHECK_EQ_U64(lap_texel_steps_between(snorm, 0, 0x7f, 0x81), 254);
}

UNIT_MAIN();
