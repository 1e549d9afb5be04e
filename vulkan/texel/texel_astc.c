/* SPDX-License-Identifier: MIT */
/* ASTC, its LDR profile (Khronos Data Format Specification, "ASTC Compressed Texture Image Formats"). */
#include "vulkan/texel/texel_families.h"

#include "vulkan/texel/texels.h"

#define MOST_WEIGHTS 64
#define MOST_VALUES  18

struct astc {
    const uint64_t *words;
    uint64_t reversed[2]; /* the bits the other way round: weights begin at the end */
    uint32_t width, height;
    bool srgb;
    struct grid {
        uint32_t width, height, planes, level; /* of weights: of its range */
    } grid;
    uint32_t second_plane; /* the channel that has weights of its own; 4: none */
    uint32_t parts, modes[4];
    uint8_t weights[MOST_WEIGHTS], values[MOST_VALUES];
};

static uint64_t reversed(uint64_t word)
{
    word = (word & 0x5555555555555555) << 1 | (word >> 1 & 0x5555555555555555);
    word = (word & 0x3333333333333333) << 2 | (word >> 2 & 0x3333333333333333);
    word = (word & 0x0f0f0f0f0f0f0f0f) << 4 | (word >> 4 & 0x0f0f0f0f0f0f0f0f);
    return __builtin_bswap64(word);
}

/* ---- sequences of integers: each has bits, and a trit or a quint ---- */

struct range {
    uint8_t trits, quints, bits;
};

/* By the number of values: 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256. */
static const struct range ranges[21] = {{0, 0, 1}, {1, 0, 0}, {0, 0, 2}, {0, 1, 0}, {1, 0, 1}, {0, 0, 3}, {0, 1, 1},
                                        {1, 0, 2}, {0, 0, 4}, {0, 1, 2}, {1, 0, 3}, {0, 0, 5}, {0, 1, 3}, {1, 0, 4},
                                        {0, 0, 6}, {0, 1, 4}, {1, 0, 5}, {0, 0, 7}, {0, 1, 5}, {1, 0, 6}, {0, 0, 8}};
#define LEAST_OF_VALUES 4
#define LEVELS          21

static uint32_t sequence_bits(uint32_t level, uint32_t count)
{
    const struct range *range = &ranges[level];

    return count * range->bits + (range->trits ? (8 * count + 4) / 5 : range->quints ? (7 * count + 2) / 3 : 0);
}

static void trits_of(uint32_t t, uint32_t trits[5])
{
    uint32_t c = t & 31;

    if ((t >> 2 & 7) == 7) {
        c = (t >> 5 & 7) << 2 | (t & 3);
        trits[4] = trits[3] = 2;
    } else if ((t >> 5 & 3) == 3) {
        trits[4] = 2;
        trits[3] = t >> 7 & 1;
    } else {
        trits[4] = t >> 7 & 1;
        trits[3] = t >> 5 & 3;
    }
    if ((c & 3) == 3) {
        trits[2] = 2;
        trits[1] = c >> 4 & 1;
        trits[0] = (c >> 3 & 1) << 1 | (c >> 2 & ~(c >> 3) & 1);
    } else if ((c >> 2 & 3) == 3) {
        trits[2] = trits[1] = 2;
        trits[0] = c & 3;
    } else {
        trits[2] = c >> 4 & 1;
        trits[1] = c >> 2 & 3;
        trits[0] = (c >> 1 & 1) << 1 | (c & ~(c >> 1) & 1);
    }
}

static void quints_of(uint32_t q, uint32_t quints[3])
{
    uint32_t c = q & 31;

    if ((q >> 1 & 3) == 3 && (q >> 5 & 3) == 0) {
        quints[2] = (q & 1) << 2 | (q >> 4 & ~q & 1) << 1 | (q >> 3 & ~q & 1);
        quints[1] = quints[0] = 4;
        return;
    }
    if ((q >> 1 & 3) == 3) {
        quints[2] = 4;
        c = (q >> 3 & 3) << 3 | (~(q >> 5) & 3) << 1 | (q & 1);
    } else {
        quints[2] = q >> 5 & 3;
    }
    if ((c & 7) == 5) {
        quints[1] = 4;
        quints[0] = c >> 3 & 3;
    } else {
        quints[1] = c >> 3 & 3;
        quints[0] = c & 7;
    }
}

/* So many bits again and again, from the highest of `to` bits down. */
static uint32_t repeated(uint32_t m, uint32_t bits, uint32_t to)
{
    uint32_t value = 0;

    for (int shift = (int)(to - bits); shift > -(int)bits; shift -= (int)bits)
        value |= shift >= 0 ? m << shift : m >> -shift;
    return value;
}

/* An end's value with its bits `m` and its trit or quint `d`, in 8 bits. x: the bits but the lowest. */
static uint32_t value_of(const struct range *range, uint32_t m, uint32_t d)
{
    static const uint8_t trit_factors[6] = {204, 93, 44, 22, 11, 5}, quint_factors[5] = {113, 54, 26, 13, 6};
    const uint32_t x = m >> 1, sign = m & 1 ? 0x1ff : 0;
    uint32_t sum;

    if (!range->trits && !range->quints)
        return repeated(m, range->bits, 8);
    if (range->trits) {
        const uint32_t spread[6] = {0, x * 0x116, x * 0x85, x * 0x41, x << 5 | x >> 2, x << 4 | x >> 4};
        sum = d * trit_factors[range->bits - 1] + spread[range->bits - 1];
    } else {
        const uint32_t spread[5] = {0, x * 0x10c, x << 7 | x << 1 | x >> 1, x << 6 | x >> 1, x << 5 | x >> 3};
        sum = d * quint_factors[range->bits - 1] + spread[range->bits - 1];
    }
    return (sign & 0x80) | (sum ^ sign) >> 2;
}

/* The same of a weight, in 64ths. */
static uint32_t weight_of(const struct range *range, uint32_t m, uint32_t d)
{
    static const uint8_t of_trit[3] = {0, 32, 63}, of_quint[5] = {0, 16, 32, 47, 63};
    static const uint8_t trit_factors[3] = {50, 23, 11}, quint_factors[2] = {28, 13};
    static const uint8_t trit_spreads[3] = {0, 0x45, 0x21}, quint_spreads[2] = {0, 0x42};
    const uint32_t sign = m & 1 ? 0x7f : 0;
    uint32_t value, sum;

    if (!range->trits && !range->quints) {
        value = repeated(m, range->bits, 6);
    } else if (!range->bits) {
        value = range->trits ? of_trit[d] : of_quint[d];
    } else {
        sum = range->trits ? d * trit_factors[range->bits - 1] + (m >> 1) * trit_spreads[range->bits - 1]
                           : d * quint_factors[range->bits - 1] + (m >> 1) * quint_spreads[range->bits - 1];
        value = (sign & 0x20) | (sum ^ sign) >> 2;
    }
    return value > 32 ? value + 1 : value;
}

static void read_sequence(const uint64_t words[2], uint32_t level, uint32_t at, uint32_t count, uint8_t *out,
                          uint32_t (*meaning)(const struct range *range, uint32_t m, uint32_t d))
{
    static const uint8_t trit_bits[5] = {2, 2, 1, 2, 1}, quint_bits[5] = {3, 2, 2}, none[5] = {0};
    const struct range *range = &ranges[level];
    const uint32_t group = range->trits ? 5 : range->quints ? 3 : 1;
    const uint8_t *digit_bits = range->trits ? trit_bits : range->quints ? quint_bits : none;

    for (uint32_t first = 0; first < count; first += group) {
        uint32_t m[5], digits[5] = {0}, packed = 0, bits = 0;
        const uint32_t here = count - first < group ? count - first : group;
        for (uint32_t k = 0; k < here; k++) {
            m[k] = lap_block_bits(words, at, range->bits);
            packed |= lap_block_bits(words, at + range->bits, digit_bits[k]) << bits;
            bits += digit_bits[k];
            at += range->bits + digit_bits[k];
        }
        if (range->trits)
            trits_of(packed, digits);
        else if (range->quints)
            quints_of(packed, digits);
        for (uint32_t k = 0; k < here; k++)
            out[first + k] = (uint8_t)meaning(range, m[k], digits[k]);
    }
}

/* ---- ends of colors ---- */

/* How many values the ends of a part have. */
static uint32_t values_of(uint32_t mode)
{
    return 2 * ((mode >> 2) + 1);
}

static void set(int color[4], int r, int g, int b, int a)
{
    color[0] = lap_block_clamp(r, 0, 255);
    color[1] = lap_block_clamp(g, 0, 255);
    color[2] = lap_block_clamp(b, 0, 255);
    color[3] = lap_block_clamp(a, 0, 255);
}

static void set_contracted(int color[4], int r, int g, int b, int a)
{
    set(color, (r + b) >> 1, (g + b) >> 1, b, a);
}

/* Moves a bit from each offset to its base. */
static void transfer(int v[8])
{
    for (int i = 0; i < 8; i += 2) {
        v[i] = v[i] >> 1 | (v[i + 1] & 0x80);
        v[i + 1] = v[i + 1] >> 1 & 0x3f;
        v[i + 1] -= (v[i + 1] & 0x20) << 1;
    }
}

static void direct_ends(const int v[8], bool has_alpha, int low[4], int high[4])
{
    const int a = has_alpha ? v[6] : 255, b = has_alpha ? v[7] : 255;

    if (v[1] + v[3] + v[5] >= v[0] + v[2] + v[4]) {
        set(low, v[0], v[2], v[4], a);
        set(high, v[1], v[3], v[5], b);
    } else {
        set_contracted(low, v[1], v[3], v[5], b);
        set_contracted(high, v[0], v[2], v[4], a);
    }
}

static void offset_ends(int v[8], bool has_alpha, int low[4], int high[4])
{
    int a, b;

    transfer(v);
    a = has_alpha ? v[6] : 255;
    b = has_alpha ? v[6] + v[7] : 255;
    if (v[1] + v[3] + v[5] >= 0) {
        set(low, v[0], v[2], v[4], a);
        set(high, v[0] + v[1], v[2] + v[3], v[4] + v[5], b);
    } else {
        set_contracted(low, v[0] + v[1], v[2] + v[3], v[4] + v[5], b);
        set_contracted(high, v[0], v[2], v[4], a);
    }
}

/* False: ends of the HDR profile. */
static bool ends_of(uint32_t mode, const uint8_t *values, int low[4], int high[4])
{
    int v[8] = {0}, sum;

    for (uint32_t i = 0; i < values_of(mode); i++)
        v[i] = values[i];
    switch (mode) {
    case 0:
        set(low, v[0], v[0], v[0], 255);
        set(high, v[1], v[1], v[1], 255);
        return true;
    case 1:
        sum = v[0] >> 2 | (v[1] & 0xc0);
        set(low, sum, sum, sum, 255);
        sum += v[1] & 0x3f;
        set(high, sum, sum, sum, 255);
        return true;
    case 4:
        set(low, v[0], v[0], v[0], v[2]);
        set(high, v[1], v[1], v[1], v[3]);
        return true;
    case 5:
        transfer(v);
        sum = v[0] + v[1];
        set(low, v[0], v[0], v[0], v[2]);
        set(high, sum, sum, sum, v[2] + v[3]);
        return true;
    case 6:
    case 10:
        set(low, v[0] * v[3] >> 8, v[1] * v[3] >> 8, v[2] * v[3] >> 8, mode == 6 ? 255 : v[4]);
        set(high, v[0], v[1], v[2], mode == 6 ? 255 : v[5]);
        return true;
    case 8:
    case 12:
        direct_ends(v, mode == 12, low, high);
        return true;
    case 9:
    case 13:
        offset_ends(v, mode == 13, low, high);
        return true;
    default:
        return false;
    }
}

/* ---- partitions ---- */

static uint32_t hash52(uint32_t p)
{
    p ^= p >> 15;
    p -= p << 17;
    p += p << 7;
    p += p << 4;
    p ^= p >> 5;
    p += p << 16;
    p ^= p >> 7;
    p ^= p >> 3;
    p ^= p << 6;
    return p ^ p >> 17;
}

static uint32_t part_of(const struct astc *b, uint32_t x, uint32_t y)
{
    const uint32_t seed = lap_block_bits(b->words, 13, 10), n = hash52(seed + (b->parts - 1) * 1024);
    const uint32_t small = b->width * b->height < 31, by_seed = seed & 2 ? 4 : 5, by_parts = b->parts == 3 ? 6 : 5;
    uint32_t places[4], best = 0;

    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t s = n >> 8 * i & 15, t = n >> (8 * i + 4) & 15;
        const uint32_t across = s * s >> (seed & 1 ? by_seed : by_parts),
                       down = t * t >> (seed & 1 ? by_parts : by_seed);
        places[i] = (across * (x << small) + down * (y << small) + (n >> (14 - 4 * i))) & 63;
        if (i < b->parts && places[i] > places[best])
            best = i;
    }
    return best;
}

/* ---- blocks ---- */

/* False: the mode is reserved. */
static bool find_grid(struct astc *b)
{
    const uint32_t mode = (uint32_t)b->words[0] & 2047, a = mode >> 5 & 3, c = mode >> 7 & 3;
    uint32_t high = mode >> 9 & 1, r = mode >> 4 & 1;
    struct grid *grid = &b->grid;

    grid->planes = (mode >> 10 & 1) + 1;
    if (mode & 3) {
        const struct grid grids[4] = {{c + 4, a + 2, 0, 0},
                                      {c + 8, a + 2, 0, 0},
                                      {a + 2, c + 8, 0, 0},
                                      {c & 2 ? (c & 1) + 2 : a + 2, c & 2 ? a + 2 : (c & 1) + 6, 0, 0}};
        r |= (mode & 3) << 1;
        grid->width = grids[mode >> 2 & 3].width;
        grid->height = grids[mode >> 2 & 3].height;
    } else {
        const struct grid grids[4] = {
            {12, a + 2, 0, 0}, {a + 2, 12, 0, 0}, {a + 6, (mode >> 9 & 3) + 6, 0, 0}, {a ? 10 : 6, a ? 6 : 10, 0, 0}};
        r |= (mode >> 2 & 3) << 1;
        grid->width = grids[c].width;
        grid->height = grids[c].height;
        if (c == 2) {
            grid->planes = 1;
            high = 0;
        } else if (c == 3 && a > 1) {
            return false;
        }
    }
    grid->level = r - 2 + 6 * high;
    return r >= 2 && grid->width <= b->width && grid->height <= b->height;
}

/* The modes of the parts' ends. Returns how many of their bits lie below the weights, which end at `below`. */
static uint32_t find_modes(struct astc *b, uint32_t below)
{
    const uint32_t more = 3 * b->parts - 4;
    uint32_t field = lap_block_bits(b->words, 23, 6);

    if (b->parts == 1 || (field & 3) == 0) {
        for (uint32_t i = 0; i < b->parts; i++)
            b->modes[i] = b->parts == 1 ? lap_block_bits(b->words, 13, 4) : field >> 2;
        return 0;
    }
    field |= lap_block_bits(b->words, below - more, more) << 6;
    for (uint32_t i = 0; i < b->parts; i++)
        b->modes[i] = ((field & 3) - 1 + (field >> (2 + i) & 1)) << 2 | (field >> (2 + b->parts + 2 * i) & 3);
    return more;
}

/* False: the block is an error. */
static bool read_block(struct astc *b)
{
    uint32_t weights, below, values = 0, first, level = LEVELS - 1;

    if (!find_grid(b))
        return false;
    b->parts = ((uint32_t)b->words[0] >> 11 & 3) + 1;
    weights = b->grid.width * b->grid.height * b->grid.planes;
    below = 128 - sequence_bits(b->grid.level, weights);
    if (weights > MOST_WEIGHTS || below > 128 - 24 || below < 128 - 96 || (b->parts == 4 && b->grid.planes == 2))
        return false;
    read_sequence(b->reversed, b->grid.level, 0, weights, b->weights, weight_of);
    below -= find_modes(b, below);
    b->second_plane = 4;
    if (b->grid.planes == 2) {
        below -= 2;
        b->second_plane = lap_block_bits(b->words, below, 2);
    }
    for (uint32_t i = 0; i < b->parts; i++)
        values += values_of(b->modes[i]);
    first = b->parts == 1 ? 17 : 29;
    while (level >= LEAST_OF_VALUES && first + sequence_bits(level, values) > below)
        level--;
    if (values > MOST_VALUES || level < LEAST_OF_VALUES)
        return false;
    read_sequence(b->words, level, first, values, b->values, value_of);
    return true;
}

static uint32_t weight_at(const struct astc *b, uint32_t plane, uint32_t x, uint32_t y)
{
    /* The grid ends where its weight counts for nothing. */
    const uint32_t i = y * b->grid.width + x, last = b->grid.width * b->grid.height - 1;

    return b->weights[(i < last ? i : last) * b->grid.planes + plane];
}

static uint32_t texel_weight(const struct astc *b, uint32_t plane, uint32_t x, uint32_t y)
{
    const uint32_t cs = (1024 + b->width / 2) / (b->width - 1) * x, ct = (1024 + b->height / 2) / (b->height - 1) * y;
    const uint32_t gs = (cs * (b->grid.width - 1) + 32) >> 6, gt = (ct * (b->grid.height - 1) + 32) >> 6;
    const uint32_t s = gs >> 4, t = gt >> 4, fs = gs & 15, ft = gt & 15, both = (fs * ft + 8) >> 4;

    return (weight_at(b, plane, s, t) * (16 - fs - ft + both) + weight_at(b, plane, s + 1, t) * (fs - both) +
            weight_at(b, plane, s, t + 1) * (ft - both) + weight_at(b, plane, s + 1, t + 1) * both + 8) >>
           4;
}

/* Of 65536 steps: 8 bits with sRGB, otherwise a half float, rounded to zero. */
static double finished(const struct astc *b, uint32_t channel, uint32_t value)
{
    uint32_t rest = 0;

    if (b->srgb && channel < 3)
        return (value >> 8) / 255.0;
    if (value == 65535)
        return 1;
    while (value >> rest > 2047)
        rest++;
    return (value >> rest << rest) / 65536.0;
}

static void set_error(double out[4])
{
    out[0] = out[2] = out[3] = 1;
    out[1] = 0;
}

/* A block of one color. False: it is an error. */
static bool color_row(const struct astc *b, double (*out)[4])
{
    const uint64_t low = b->words[0];
    const uint32_t least_s = low >> 12 & 8191, most_s = low >> 25 & 8191, least_t = low >> 38 & 8191,
                   most_t = low >> 51;

    if ((low >> 9 & 7) != 6) /* of the HDR profile, or reserved */
        return false;
    if (low >> 12 != UINT64_MAX >> 12 && (least_s >= most_s || least_t >= most_t))
        return false;
    for (uint32_t x = 0; x < b->width; x++)
        for (uint32_t c = 0; c < 4; c++)
            out[x][c] = finished(b, c, b->words[1] >> 16 * c & 0xffff);
    return true;
}

static void texel_of(const struct astc *b, const int low[4], const int high[4], uint32_t x, uint32_t y, double out[4])
{
    const uint32_t first = texel_weight(b, 0, x, y), second = b->second_plane < 4 ? texel_weight(b, 1, x, y) : 0;

    for (uint32_t c = 0; c < 4; c++) {
        const uint32_t w = c == b->second_plane ? second : first, l = (uint32_t)low[c], h = (uint32_t)high[c];
        const bool is_8_bits = b->srgb && c < 3;
        const uint32_t from = l << 8 | (is_8_bits ? 0x80 : l), to = h << 8 | (is_8_bits ? 0x80 : h);
        out[c] = finished(b, c, (from * (64 - w) + to * w + 32) >> 6);
    }
}

/* False: the whole block is an error. */
static bool block_row(struct astc *b, uint32_t y, double (*out)[4])
{
    int low[4][4], high[4][4];
    bool is_known[4];

    if (!read_block(b))
        return false;
    for (uint32_t i = 0, first = 0; i < b->parts; first += values_of(b->modes[i++]))
        is_known[i] = ends_of(b->modes[i], b->values + first, low[i], high[i]);
    for (uint32_t x = 0; x < b->width; x++) {
        const uint32_t part = b->parts == 1 ? 0 : part_of(b, x, y);
        if (is_known[part])
            texel_of(b, low[part], high[part], x, y, out[x]);
        else
            set_error(out[x]);
    }
    return true;
}

void lap_astc_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4])
{
    struct astc b = {.words = words, .reversed = {reversed(words[1]), reversed(words[0])}};
    struct lap_texel_block block = {0};
    bool is_good;

    (void)lap_texels_block(format, VK_IMAGE_ASPECT_COLOR_BIT, &block);
    b.width = block.width;
    b.height = block.height;
    b.srgb = (format - VK_FORMAT_ASTC_4x4_UNORM_BLOCK) % 2 == 1;
    is_good = (words[0] & 511) == 508 ? color_row(&b, out) : block_row(&b, y, out);
    for (uint32_t x = 0; x < b.width && !is_good; x++)
        set_error(out[x]);
}
