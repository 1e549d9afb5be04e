/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/texel_values.h"

#include <math.h>
#include <string.h>

#include "vulkan/texel/texels.h"

const struct gen_format *lap_texel_format(VkFormat format, VkImageAspectFlags aspect)
{
    static const struct gen_format stencil = {VK_FORMAT_S8_UINT, GEN_NUMERIC_UINT, 1, false, 1, {{'S', 0, 8}}};
    size_t first = 0, end = GEN_FORMAT_COUNT;

    if (!aspect || aspect & (aspect - 1) || !(lap_texels_aspects(format) & aspect))
        return NULL;
    if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT)
        return &stencil;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (gen_formats[middle].format < (int32_t)format)
            first = middle + 1;
        else
            end = middle;
    }
    return first < GEN_FORMAT_COUNT && gen_formats[first].format == (int32_t)format ? &gen_formats[first] : NULL;
}

/* Bits of a little-endian texel. */
static uint64_t bits_of(const unsigned char *texel, unsigned lowest, unsigned bits)
{
    uint64_t word = 0;

    memcpy(&word, texel + lowest / 8, (lowest % 8 + bits + 7) / 8);
    word >>= lowest % 8;
    return bits < 64 ? word & ((UINT64_C(1) << bits) - 1) : word;
}

static int64_t with_sign(uint64_t value, unsigned bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

double lap_texel_small_float(uint64_t value, unsigned bits)
{
    const unsigned mantissa_bits = bits == 16 ? 10 : bits - 5;
    const uint64_t mantissa = value & ((UINT64_C(1) << mantissa_bits) - 1), exponent = value >> mantissa_bits & 31;
    double result;

    if (exponent == 31)
        result = mantissa ? (double)NAN : (double)INFINITY;
    else
        result = ldexp((double)(exponent ? mantissa | UINT64_C(1) << mantissa_bits : mantissa),
                       (int)(exponent ? exponent : 1) - 15 - (int)mantissa_bits);
    return bits == 16 && value >> 15 ? -result : result;
}

static double float_of(uint64_t value, unsigned bits)
{
    const uint32_t word = (uint32_t)value;
    double wide;
    float narrow;

    if (bits < 32)
        return lap_texel_small_float(value, bits);
    memcpy(&wide, &value, sizeof wide);
    memcpy(&narrow, &word, sizeof narrow);
    return bits == 32 ? (double)narrow : wide;
}

static double value_of(enum gen_numeric numeric, uint64_t value, unsigned bits)
{
    switch (numeric) {
    case GEN_NUMERIC_UNORM:
    case GEN_NUMERIC_SRGB:
        return (double)value / (double)((UINT64_C(1) << bits) - 1);
    case GEN_NUMERIC_SNORM:
        return fmax((double)with_sign(value, bits) / (double)((UINT64_C(1) << (bits - 1)) - 1), -1);
    case GEN_NUMERIC_USCALED:
    case GEN_NUMERIC_UINT:
        return (double)value;
    case GEN_NUMERIC_SSCALED:
    case GEN_NUMERIC_SINT:
        return (double)with_sign(value, bits);
    case GEN_NUMERIC_SFIXED5:
        return (double)with_sign(value, bits) / 32;
    case GEN_NUMERIC_SFLOAT:
    case GEN_NUMERIC_UFLOAT:
        break;
    }
    return float_of(value, bits);
}

void lap_texel_values(const struct gen_format *format, const void *texel, double out[4])
{
    for (unsigned i = 0; i < format->count; i++) {
        const struct gen_format_component *c = &format->components[i];
        const uint64_t value = bits_of(texel, c->lowest, c->bits);
        if (format->exponent)
            out[i] = ldexp((double)value, (int)bits_of(texel, 27, 5) - 15 - (int)c->bits);
        else
            out[i] = value_of((enum gen_numeric)format->numeric, value, c->bits);
    }
}
