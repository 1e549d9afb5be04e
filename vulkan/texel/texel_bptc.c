/* SPDX-License-Identifier: MIT */
/* BC6H and BC7 (Khronos Data Format Specification, "BPTC Compressed Texture Image Formats"). */
#include "vulkan/texel/texel_families.h"

#include <stdlib.h>

#include "vulkan/texel/texel_values.h"

/* Which subset a texel belongs to, of 2 subsets: a bit of each texel, and of 3: two bits. */
static const uint16_t twos[64] = {
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8,
    0xff00, 0xfff0, 0xf000, 0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce, 0x088c, 0x3110,
    0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c, 0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696,
    0xa55a, 0x73ce, 0x13c8, 0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660, 0x0272, 0x04e4, 0x4e40, 0x2720,
    0xc936, 0x936c, 0x39c6, 0x639c, 0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22};
static const uint32_t threes[64] = {
    0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050,
    0xaa550000, 0xaa555500, 0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250,
    0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0, 0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500,
    0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200,
    0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50,
    0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600,
    0xaa444444, 0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000,
    0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254};
/* The texels whose index has a bit less: of the second subset of 2, and of the second and third of 3. */
static const uint8_t anchors_of_two[64] = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
                                           15, 2,  8,  2,  2,  8,  8,  15, 2,  8,  2,  2,  8,  8,  2,  2,
                                           15, 15, 6,  8,  2,  8,  15, 15, 2,  8,  2,  2,  2,  15, 15, 6,
                                           6,  2,  6,  8,  15, 15, 2,  2,  15, 15, 15, 15, 15, 2,  2,  15};
static const uint8_t second_anchors[64] = {
    3, 3,  15, 15, 8, 3,  15, 15, 8,  8, 6,  6, 6,  5,  3,  3,  3, 3,  8, 15, 3, 3, 6, 10, 5, 8,  8, 6,  8,  5,  15, 15,
    8, 15, 3,  5,  6, 10, 8,  15, 15, 3, 15, 5, 15, 15, 15, 15, 3, 15, 5, 5,  5, 8, 5, 10, 5, 10, 8, 13, 15, 12, 3,  3};
static const uint8_t third_anchors[64] = {15, 8, 8,  3,  15, 15, 3,  8,  15, 15, 15, 15, 15, 15, 15, 8,
                                          15, 8, 15, 3,  15, 8,  15, 8,  3,  15, 6,  10, 15, 15, 10, 8,
                                          15, 3, 15, 10, 10, 8,  9,  10, 6,  15, 8,  15, 3,  6,  6,  8,
                                          15, 3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3,  15, 15, 8};

/* Of an index of 2 to 4 bits, in 64ths. */
static int weight(uint32_t index, uint32_t bits)
{
    static const uint8_t weights[28] = {0, 21, 43, 64, 0,  9,  18, 27, 37, 46, 55, 64, 0,  4,
                                        9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64};

    return weights[(1u << bits) - 4 + index];
}

static uint32_t subset_of(uint32_t subsets, uint32_t shape, uint32_t texel)
{
    return subsets == 1 ? 0 : subsets == 2 ? twos[shape] >> texel & 1 : threes[shape] >> 2 * texel & 3;
}

static bool is_anchor(uint32_t subsets, uint32_t shape, uint32_t texel)
{
    return texel == 0 || (subsets == 2 && texel == anchors_of_two[shape]) ||
           (subsets == 3 && (texel == second_anchors[shape] || texel == third_anchors[shape]));
}

/* Reads a block from its lowest bit on. */
struct bits {
    const uint64_t *words;
    uint32_t at;
};

static uint32_t take(struct bits *bits, uint32_t count)
{
    const uint32_t value = lap_block_bits(bits->words, bits->at, count);

    bits->at += count;
    return value;
}

/* The indices of a row; `bits` is at the first index of the block. */
static void take_indices(struct bits bits, uint32_t subsets, uint32_t shape, uint32_t size, uint32_t y,
                         uint32_t indices[4])
{
    for (uint32_t i = 0; i < 4 * y + 4; i++)
        indices[i % 4] = take(&bits, is_anchor(subsets, shape, i) ? size - 1 : size);
}

/* ---- BC7 ---- */

static const struct bc7_mode {
    uint8_t subsets, shape, rotation, selection; /* the first is a number, the others are bits */
    uint8_t color, alpha;                        /* bits */
    bool ends_have_p, subsets_have_p;            /* lowest bits that all channels share */
    uint8_t first, second;                       /* bits of indices */
} bc7_modes[8] = {{3, 4, 0, 0, 4, 0, true, false, 3, 0},  {2, 6, 0, 0, 6, 0, false, true, 3, 0},
                  {3, 6, 0, 0, 5, 0, false, false, 2, 0}, {2, 6, 0, 0, 7, 0, true, false, 2, 0},
                  {1, 0, 2, 1, 5, 6, false, false, 2, 3}, {1, 0, 2, 0, 7, 8, false, false, 2, 2},
                  {1, 0, 0, 0, 7, 7, true, false, 4, 0},  {2, 6, 0, 0, 5, 5, true, false, 2, 0}};

static int in_eight(uint32_t value, uint32_t bits)
{
    return (int)((value << (8 - bits) | value >> (2 * bits - 8)) & 255);
}

static void take_ends(struct bits *bits, const struct bc7_mode *mode, int ends[6][4])
{
    const uint32_t count = 2u * mode->subsets, has_p = mode->ends_have_p || mode->subsets_have_p;
    uint32_t raw[6][4], p = 0;

    for (uint32_t c = 0; c < 4; c++)
        for (uint32_t i = 0; i < count; i++)
            raw[i][c] = take(bits, c < 3 ? mode->color : mode->alpha);
    for (uint32_t i = 0; i < count; i++) {
        if (mode->ends_have_p || (mode->subsets_have_p && i % 2 == 0))
            p = take(bits, 1);
        for (uint32_t c = 0; c < 4; c++) {
            const uint32_t size = (c < 3 ? mode->color : mode->alpha) + has_p;
            ends[i][c] = c == 3 && !mode->alpha ? 255 : in_eight(raw[i][c] << has_p | p, size);
        }
    }
}

void lap_bc7_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4])
{
    static const uint8_t rotated[4] = {3, 0, 1, 2}; /* the channel that changes places with alpha; 3: none */
    const uint32_t number = words[0] & 255 ? (uint32_t)__builtin_ctz((uint32_t)words[0] & 255) : 8;
    const struct bc7_mode *mode = &bc7_modes[number & 7];
    struct bits bits = {words, number + 1};
    uint32_t shape, rotation, selection, indices[2][4] = {{0}};
    int ends[6][4];

    (void)format;
    for (uint32_t x = 0; x < 4; x++)
        out[x][0] = out[x][1] = out[x][2] = out[x][3] = 0;
    if (number == 8) /* reserved */
        return;
    shape = take(&bits, mode->shape);
    rotation = take(&bits, mode->rotation);
    selection = take(&bits, mode->selection);
    take_ends(&bits, mode, ends);
    take_indices(bits, mode->subsets, shape, mode->first, y, indices[0]);
    bits.at += 16u * mode->first - mode->subsets;
    if (mode->second)
        take_indices(bits, 1, 0, mode->second, y, indices[1]);
    for (uint32_t x = 0; x < 4; x++) {
        const int *end = ends[2 * subset_of(mode->subsets, shape, 4 * y + x)];
        const int first = weight(indices[0][x], mode->first);
        const int second = mode->second ? weight(indices[1][x], mode->second) : first;
        for (uint32_t c = 0; c < 4; c++) {
            const int w = (c == 3) != (selection != 0) ? second : first;
            const uint32_t to = c == 3 ? rotated[rotation] : c == rotated[rotation] ? 3 : c;
            out[x][to] = ((end[c] * (64 - w) + end[4 + c] * w + 32) >> 6) / 255.0;
        }
    }
}

/* ---- BC6H ---- */

/* Where the bits of a block belong, in order, mode by mode: 4 bits: three times the end (w, x, y, z) and the channel; 4
 * bits: the lowest bit of it, and from bit 8 on how many; 0x1000: the highest bit comes first. */
static const uint16_t pieces[236] = {
    0x0147, 0x0148, 0x014b, 0x0a00, 0x0a01, 0x0a02, 0x0503, 0x014a, 0x0407, 0x0504, 0x010b, 0x040a, 0x0505, 0x011b,
    0x0408, 0x0506, 0x012b, 0x0509, 0x013b, 0x0157, 0x014a, 0x015a, 0x0700, 0x010b, 0x011b, 0x0148, 0x0701, 0x0158,
    0x012b, 0x0147, 0x0702, 0x013b, 0x015b, 0x014b, 0x0603, 0x0407, 0x0604, 0x040a, 0x0605, 0x0408, 0x0606, 0x0609,
    0x0a00, 0x0a01, 0x0a02, 0x0503, 0x01a0, 0x0407, 0x0404, 0x01a1, 0x010b, 0x040a, 0x0405, 0x01a2, 0x011b, 0x0408,
    0x0506, 0x012b, 0x0509, 0x013b, 0x0a00, 0x0a01, 0x0a02, 0x0403, 0x01a0, 0x014a, 0x0407, 0x0504, 0x01a1, 0x040a,
    0x0405, 0x01a2, 0x011b, 0x0408, 0x0406, 0x010b, 0x012b, 0x0409, 0x0147, 0x013b, 0x0a00, 0x0a01, 0x0a02, 0x0403,
    0x01a0, 0x0148, 0x0407, 0x0404, 0x01a1, 0x010b, 0x040a, 0x0505, 0x01a2, 0x0408, 0x0406, 0x011b, 0x012b, 0x0409,
    0x014b, 0x013b, 0x0900, 0x0148, 0x0901, 0x0147, 0x0902, 0x014b, 0x0503, 0x014a, 0x0407, 0x0504, 0x010b, 0x040a,
    0x0505, 0x011b, 0x0408, 0x0506, 0x012b, 0x0509, 0x013b, 0x0800, 0x014a, 0x0148, 0x0801, 0x012b, 0x0147, 0x0802,
    0x013b, 0x014b, 0x0603, 0x0407, 0x0504, 0x010b, 0x040a, 0x0505, 0x011b, 0x0408, 0x0606, 0x0609, 0x0800, 0x010b,
    0x0148, 0x0801, 0x0157, 0x0147, 0x0802, 0x015a, 0x014b, 0x0503, 0x014a, 0x0407, 0x0604, 0x040a, 0x0505, 0x011b,
    0x0408, 0x0506, 0x012b, 0x0509, 0x013b, 0x0800, 0x011b, 0x0148, 0x0801, 0x0158, 0x0147, 0x0802, 0x015b, 0x014b,
    0x0503, 0x014a, 0x0407, 0x0504, 0x010b, 0x040a, 0x0605, 0x0408, 0x0506, 0x012b, 0x0509, 0x013b, 0x0600, 0x014a,
    0x010b, 0x011b, 0x0148, 0x0601, 0x0157, 0x0158, 0x012b, 0x0147, 0x0602, 0x015a, 0x013b, 0x015b, 0x014b, 0x0603,
    0x0407, 0x0604, 0x040a, 0x0605, 0x0408, 0x0606, 0x0609, 0x0a00, 0x0a01, 0x0a02, 0x0a03, 0x0a04, 0x0a05, 0x0a00,
    0x0a01, 0x0a02, 0x0903, 0x01a0, 0x0904, 0x01a1, 0x0905, 0x01a2, 0x0a00, 0x0a01, 0x0a02, 0x0803, 0x12a0, 0x0804,
    0x12a1, 0x0805, 0x12a2, 0x0a00, 0x0a01, 0x0a02, 0x0403, 0x16a0, 0x0404, 0x16a1, 0x0405, 0x16a2};

static const struct bc6h_mode {
    uint8_t number, first, count, subsets; /* its pieces: the first, how many */
    uint8_t bits, others[3];               /* of the first end, and of each channel of the others */
} bc6h_modes[14] = {{0, 0, 19, 2, 10, {5, 5, 5}},   {1, 19, 23, 2, 7, {6, 6, 6}},     {2, 42, 18, 2, 11, {5, 4, 4}},
                    {6, 60, 20, 2, 11, {4, 5, 4}},  {10, 80, 20, 2, 11, {4, 4, 5}},   {14, 100, 19, 2, 9, {5, 5, 5}},
                    {18, 119, 19, 2, 8, {6, 5, 5}}, {22, 138, 21, 2, 8, {5, 6, 5}},   {26, 159, 21, 2, 8, {5, 5, 6}},
                    {30, 180, 23, 2, 6, {6, 6, 6}}, {3, 203, 6, 1, 10, {10, 10, 10}}, {7, 209, 9, 1, 11, {9, 9, 9}},
                    {11, 218, 9, 1, 12, {8, 8, 8}}, {15, 227, 9, 1, 16, {4, 4, 4}}};

static int extended(uint32_t value, uint32_t bits)
{
    return (int)(value << (32 - bits)) >> (32 - bits);
}

static uint32_t turned_round(uint32_t value, uint32_t bits)
{
    uint32_t result = 0;

    for (uint32_t i = 0; i < bits; i++)
        result |= (value >> i & 1) << (bits - 1 - i);
    return result;
}

static int unquantized(uint32_t value, uint32_t bits, bool is_signed)
{
    const int number = is_signed ? extended(value, bits) : (int)value;
    int size = abs(number);

    if (number == 0 || bits >= (is_signed ? 16 : 15))
        return number;
    if (!is_signed)
        return number == (1 << bits) - 1 ? 0xffff : ((number << 16) + 0x8000) >> bits;
    size = size >= (1 << (bits - 1)) - 1 ? 0x7fff : ((size << 15) + 0x4000) >> (bits - 1);
    return number < 0 ? -size : size;
}

static double finished(int value, bool is_signed)
{
    const int half = is_signed ? abs(value) * 31 >> 5 : value * 31 >> 6;

    return lap_texel_small_float((uint64_t)half | (value < 0 ? 0x8000u : 0), 16);
}

static void take_hdr_ends(struct bits *bits, const struct bc6h_mode *mode, bool is_signed, int ends[4][3])
{
    const bool is_delta = mode->number != 30 && mode->number != 3;
    uint32_t raw[4][3] = {{0}};

    for (uint32_t k = mode->first; k < (uint32_t)mode->first + mode->count; k++) {
        const uint32_t count = pieces[k] >> 8 & 15, to = pieces[k] & 15, value = take(bits, count);
        raw[to / 3][to % 3] |= (pieces[k] >> 12 ? turned_round(value, count) : value) << (pieces[k] >> 4 & 15);
    }
    for (uint32_t e = 0; e < 4; e++)
        for (uint32_t c = 0; c < 3; c++) {
            if (is_delta && e > 0)
                raw[e][c] = (raw[0][c] + (uint32_t)extended(raw[e][c], mode->others[c])) & ((1u << mode->bits) - 1);
            ends[e][c] = unquantized(raw[e][c], mode->bits, is_signed);
        }
}

void lap_bc6h_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4])
{
    const bool is_signed = format == VK_FORMAT_BC6H_SFLOAT_BLOCK, is_short = (words[0] & 2) == 0;
    const uint32_t number = words[0] & (is_short ? 3 : 31);
    struct bits bits = {words, is_short ? 2 : 5};
    const struct bc6h_mode *mode = bc6h_modes;
    uint32_t shape, indices[4], size;
    int ends[4][3];

    for (uint32_t x = 0; x < 4; x++)
        out[x][0] = out[x][1] = out[x][2] = 0;
    while (mode->number != number)
        if (++mode == bc6h_modes + 14) /* reserved */
            return;
    take_hdr_ends(&bits, mode, is_signed, ends);
    shape = mode->subsets == 2 ? take(&bits, 5) : 0;
    size = mode->subsets == 2 ? 3 : 4;
    take_indices(bits, mode->subsets, shape, size, y, indices);
    for (uint32_t x = 0; x < 4; x++) {
        const uint32_t s = 2 * subset_of(mode->subsets, shape, 4 * y + x);
        const int w = weight(indices[x], size);
        for (uint32_t c = 0; c < 3; c++)
            out[x][c] = finished((ends[s][c] * (64 - w) + ends[s + 1][c] * w + 32) >> 6, is_signed);
    }
}
