/* SPDX-License-Identifier: MIT */
/* BC1 to BC5 (Khronos Data Format Specification, "S3TC" and "RGTC Compressed Texture Image Formats"). The values
 * between two ends are not rounded. */
#include "vulkan/texel/texel_families.h"

/* So many shares of each of two colors of 5, 6 and 5 bits. */
static void mix(uint32_t a, uint32_t b, int of_a, int of_b, double out[4])
{
    static const int lowest[3] = {11, 5, 0}, most[3] = {31, 63, 31};

    for (int c = 0; c < 3; c++) {
        const int sum =
            (int)(a >> lowest[c] & (uint32_t)most[c]) * of_a + (int)(b >> lowest[c] & (uint32_t)most[c]) * of_b;
        out[c] = (double)sum / (most[c] * (of_a + of_b));
    }
    out[3] = 1;
}

static void color_row(uint64_t word, uint32_t y, bool may_be_three, bool has_alpha, double (*out)[4])
{
    const uint32_t a = word & 0xffff, b = word >> 16 & 0xffff;
    const bool three = may_be_three && a <= b;

    for (uint32_t x = 0; x < 4; x++)
        switch (word >> (32 + 8 * y + 2 * x) & 3) {
        case 0:
            mix(a, b, 1, 0, out[x]);
            break;
        case 1:
            mix(a, b, 0, 1, out[x]);
            break;
        case 2:
            mix(a, b, three ? 1 : 2, 1, out[x]);
            break;
        default:
            if (three)
                out[x][0] = out[x][1] = out[x][2] = 0, out[x][3] = has_alpha ? 0 : 1;
            else
                mix(a, b, 1, 2, out[x]);
            break;
        }
}

/* One of the values of 8 bytes. */
static double value_of(uint64_t word, uint32_t texel, bool is_signed)
{
    const uint32_t index = word >> (16 + 3 * texel) & 7;
    int a = word & 255, b = word >> 8 & 255, shares;
    const int most = is_signed ? 127 : 255;

    if (is_signed) {
        a = lap_block_clamp((int8_t)a, -127, 127);
        b = lap_block_clamp((int8_t)b, -127, 127);
    }
    if (index < 2)
        return (double)(index ? b : a) / most;
    if (a <= b && index >= 6)
        return index == 7 ? 1 : is_signed ? -1 : 0;
    shares = a > b ? 7 : 5;
    return (double)(a * (shares + 1 - (int)index) + b * ((int)index - 1)) / (shares * most);
}

static void value_row(uint64_t word, uint32_t y, bool is_signed, int component, double (*out)[4])
{
    for (uint32_t x = 0; x < 4; x++)
        out[x][component] = value_of(word, 4 * y + x, is_signed);
}

void lap_bc_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4])
{
    switch (format) {
    case VK_FORMAT_BC4_UNORM_BLOCK:
    case VK_FORMAT_BC4_SNORM_BLOCK:
        value_row(words[0], y, format == VK_FORMAT_BC4_SNORM_BLOCK, 0, out);
        break;
    case VK_FORMAT_BC5_UNORM_BLOCK:
    case VK_FORMAT_BC5_SNORM_BLOCK:
        value_row(words[0], y, format == VK_FORMAT_BC5_SNORM_BLOCK, 0, out);
        value_row(words[1], y, format == VK_FORMAT_BC5_SNORM_BLOCK, 1, out);
        break;
    case VK_FORMAT_BC2_UNORM_BLOCK:
    case VK_FORMAT_BC2_SRGB_BLOCK:
        color_row(words[1], y, false, false, out);
        for (uint32_t x = 0; x < 4; x++)
            out[x][3] = (double)(words[0] >> (16 * y + 4 * x) & 15) / 15;
        break;
    case VK_FORMAT_BC3_UNORM_BLOCK:
    case VK_FORMAT_BC3_SRGB_BLOCK:
        color_row(words[1], y, false, false, out);
        value_row(words[0], y, false, 3, out);
        break;
    default:
        color_row(words[0], y, true, format >= VK_FORMAT_BC1_RGBA_UNORM_BLOCK, out);
        break;
    }
}
