/* SPDX-License-Identifier: MIT */
/* ETC2 and EAC (Khronos Data Format Specification, "ETC2 Compressed Texture Image Formats"). Bits are numbered as
 * there: the first byte of a word is highest. Texels go down, and then to the right. */
#include "vulkan/texel/texel_families.h"

static uint32_t field(uint64_t bits, int lowest, int count)
{
    return (uint32_t)(bits >> lowest & ((UINT64_C(1) << count) - 1));
}

static int widened(uint32_t value, int bits)
{
    return (int)(value << (8 - bits) | value >> (2 * bits - 8));
}

static void put(double out[4], const int color[3], int add)
{
    for (int c = 0; c < 3; c++)
        out[c] = lap_block_clamp(color[c] + add, 0, 255) / 255.0;
}

/* ---- blocks of two colors, of which each colors some texels ---- */

struct paints {
    int colors[4][3], add[4];
};

static void set_paint(struct paints *paints, int index, const uint32_t color[3], int add)
{
    for (int c = 0; c < 3; c++)
        paints->colors[index][c] = widened(color[c], 4);
    paints->add[index] = add;
}

static const int distances[8] = {3, 6, 11, 16, 23, 32, 41, 64};

static void t_paints(uint64_t bits, struct paints *paints)
{
    const uint32_t a[3] = {field(bits, 59, 2) << 2 | field(bits, 56, 2), field(bits, 52, 4), field(bits, 48, 4)};
    const uint32_t b[3] = {field(bits, 44, 4), field(bits, 40, 4), field(bits, 36, 4)};
    const int distance = distances[field(bits, 34, 2) << 1 | field(bits, 32, 1)];

    set_paint(paints, 0, a, 0);
    set_paint(paints, 1, b, distance);
    set_paint(paints, 2, b, 0);
    set_paint(paints, 3, b, -distance);
}

static void h_paints(uint64_t bits, struct paints *paints)
{
    const uint32_t a[3] = {field(bits, 59, 4), field(bits, 56, 3) << 1 | field(bits, 52, 1),
                           field(bits, 51, 1) << 3 | field(bits, 47, 3)};
    const uint32_t b[3] = {field(bits, 43, 4), field(bits, 39, 4), field(bits, 35, 4)};
    const bool order = (a[0] << 8 | a[1] << 4 | a[2]) >= (b[0] << 8 | b[1] << 4 | b[2]); /* says the lowest bit */
    const int distance = distances[field(bits, 34, 1) << 2 | field(bits, 32, 1) << 1 | order];

    set_paint(paints, 0, a, distance);
    set_paint(paints, 1, a, -distance);
    set_paint(paints, 2, b, distance);
    set_paint(paints, 3, b, -distance);
}

/* ---- blocks of planes ---- */

static void planar_row(uint64_t bits, uint32_t y, double (*out)[4])
{
    const int origin[3] = {widened(field(bits, 57, 6), 6), widened(field(bits, 56, 1) << 6 | field(bits, 49, 6), 7),
                           widened(field(bits, 48, 1) << 5 | field(bits, 43, 2) << 3 | field(bits, 39, 3), 6)};
    const int across[3] = {widened(field(bits, 34, 5) << 1 | field(bits, 32, 1), 6), widened(field(bits, 25, 7), 7),
                           widened(field(bits, 19, 6), 6)};
    const int down[3] = {widened(field(bits, 13, 6), 6), widened(field(bits, 6, 7), 7), widened(field(bits, 0, 6), 6)};

    for (int x = 0; x < 4; x++) {
        int color[3];
        for (int c = 0; c < 3; c++)
            color[c] = (x * (across[c] - origin[c]) + (int)y * (down[c] - origin[c]) + 4 * origin[c] + 2) /
                       4; /* below 0 is 0 */
        put(out[x], color, 0);
    }
}

/* ---- colors ---- */

/* What a block is, and the colors of its halves. */
enum mode { HALVES, T, H, PLANAR };

static enum mode mode_of(uint64_t bits, bool differs, int halves[2][3])
{
    static const enum mode outside[3] = {T, H, PLANAR};

    for (int c = 0; c < 3; c++) {
        const int at = 56 - 8 * c, first = (int)field(bits, at + 3, 5), offset = (int)field(bits, at, 3);
        const int second = first + (offset < 4 ? offset : offset - 8);
        if (!differs) {
            halves[0][c] = widened(field(bits, at + 4, 4), 4);
            halves[1][c] = widened(field(bits, at, 4), 4);
            continue;
        }
        if (second < 0 || second > 31)
            return outside[c];
        halves[0][c] = widened((uint32_t)first, 5);
        halves[1][c] = widened((uint32_t)second, 5);
    }
    return HALVES;
}

/* Punch-through: bit 33 says that all is opaque, and colors always differ by offsets. */
static void color_row(uint64_t bits, uint32_t y, bool punches, double (*out)[4])
{
    static const int modifiers[8][2] = {{2, 8}, {5, 17}, {9, 29}, {13, 42}, {18, 60}, {24, 80}, {33, 106}, {47, 183}};
    const bool opaque = !punches || field(bits, 33, 1);
    int halves[2][3];
    struct paints paints;
    const enum mode mode = mode_of(bits, punches || field(bits, 33, 1), halves);

    if (mode == PLANAR)
        planar_row(bits, y, out);
    else if (mode == T)
        t_paints(bits, &paints);
    else if (mode == H)
        h_paints(bits, &paints);
    for (uint32_t x = 0; x < 4; x++) {
        const int texel = (int)(4 * x + y), half = field(bits, 32, 1) ? y / 2 : x / 2;
        const uint32_t index = field(bits, 16 + texel, 1) << 1 | field(bits, texel, 1);
        const int table = (int)field(bits, half ? 34 : 37, 3);
        const int size = !opaque && index == 0 ? 0 : modifiers[table][index & 1];
        out[x][3] = 1;
        if (mode == PLANAR)
            continue;
        if (!opaque && index == 2)
            out[x][0] = out[x][1] = out[x][2] = out[x][3] = 0;
        else if (mode == HALVES)
            put(out[x], halves[half], index > 1 ? -size : size);
        else
            put(out[x], paints.colors[index], paints.add[index]);
    }
}

/* ---- EAC ---- */

/* Four values of each table are -x, the other four x - 1. */
static const int8_t eac_modifiers[16][4] = {{3, 6, 9, 15}, {3, 7, 10, 13}, {2, 5, 8, 13}, {2, 4, 6, 13},
                                            {3, 6, 8, 12}, {3, 7, 9, 11},  {4, 7, 8, 11}, {3, 5, 8, 11},
                                            {2, 6, 8, 10}, {2, 5, 8, 10},  {2, 4, 8, 10}, {2, 5, 7, 10},
                                            {3, 4, 7, 10}, {1, 2, 3, 10},  {4, 6, 8, 9},  {3, 5, 7, 9}};

static int eac_modifier(uint64_t bits, uint32_t x, uint32_t y)
{
    const uint32_t index = field(bits, 45 - 3 * (int)(4 * x + y), 3);
    const int size = eac_modifiers[field(bits, 48, 4)][index & 3];

    return index < 4 ? -size : size - 1;
}

static void alpha_row(uint64_t bits, uint32_t y, double (*out)[4])
{
    for (uint32_t x = 0; x < 4; x++) {
        const int value = (int)field(bits, 56, 8) + eac_modifier(bits, x, y) * (int)field(bits, 52, 4);
        out[x][3] = lap_block_clamp(value, 0, 255) / 255.0;
    }
}

static void eleven_row(uint64_t bits, uint32_t y, bool is_signed, int component, double (*out)[4])
{
    const int base = (int)field(bits, 56, 8), scale = (int)field(bits, 52, 4);

    for (uint32_t x = 0; x < 4; x++) {
        const int modifier = eac_modifier(bits, x, y), add = scale ? modifier * scale * 8 : modifier;
        if (is_signed)
            out[x][component] =
                lap_block_clamp(lap_block_clamp((int8_t)base, -127, 127) * 8 + add, -1023, 1023) / 1023.0;
        else
            out[x][component] = lap_block_clamp(base * 8 + 4 + add, 0, 2047) / 2047.0;
    }
}

void lap_etc2_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4])
{
    const uint64_t first = __builtin_bswap64(words[0]), second = __builtin_bswap64(words[1]);

    switch (format) {
    case VK_FORMAT_EAC_R11G11_UNORM_BLOCK:
    case VK_FORMAT_EAC_R11G11_SNORM_BLOCK:
        eleven_row(second, y, format == VK_FORMAT_EAC_R11G11_SNORM_BLOCK, 1, out);
        eleven_row(first, y, format == VK_FORMAT_EAC_R11G11_SNORM_BLOCK, 0, out);
        break;
    case VK_FORMAT_EAC_R11_UNORM_BLOCK:
    case VK_FORMAT_EAC_R11_SNORM_BLOCK:
        eleven_row(first, y, format == VK_FORMAT_EAC_R11_SNORM_BLOCK, 0, out);
        break;
    case VK_FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK:
    case VK_FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK:
        color_row(second, y, false, out);
        alpha_row(first, y, out);
        break;
    default:
        color_row(first, y, format >= VK_FORMAT_ETC2_R8G8B8A1_UNORM_BLOCK, out);
        break;
    }
}
