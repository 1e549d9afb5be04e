/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/texel_codes.h"

#include <math.h>
#include <string.h>

static uint64_t ones(unsigned bits)
{
    return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

/* Bytes of a little-endian texel that have the component. */
static size_t bytes_of(const struct gen_format_component *c)
{
    return (c->lowest % 8u + c->bits + 7u) / 8u;
}

uint64_t lap_texel_code(const struct gen_format *format, unsigned component, const void *texel)
{
    const struct gen_format_component *c = &format->components[component];
    uint64_t word = 0;

    memcpy(&word, (const unsigned char *)texel + c->lowest / 8, bytes_of(c));
    return word >> c->lowest % 8 & ones(c->bits);
}

void lap_texel_put_code(const struct gen_format *format, unsigned component, uint64_t code, void *texel)
{
    const struct gen_format_component *c = &format->components[component];
    unsigned char *at = (unsigned char *)texel + c->lowest / 8;
    uint64_t word = 0;

    memcpy(&word, at, bytes_of(c));
    word &= ~(ones(c->bits) << c->lowest % 8);
    word |= (code & ones(c->bits)) << c->lowest % 8;
    memcpy(at, &word, bytes_of(c));
}

bool lap_texel_has_integers(const struct gen_format *format)
{
    return format->numeric == GEN_NUMERIC_UINT || format->numeric == GEN_NUMERIC_SINT;
}

static double between(double least, double most, double value)
{
    return isnan(value) ? fmax(least, 0) : fmin(fmax(value, least), most);
}

static double to_srgb(double linear)
{
    return linear <= 0.0031308 ? linear * 12.92 : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}

/* 5 bits of exponent; with a sign if it is one of 16 bits. */
static uint64_t small_float(double value, unsigned bits)
{
    const unsigned mantissa_bits = bits == 16 ? 10 : bits - 5;
    const uint64_t infinity = UINT64_C(31) << mantissa_bits, sign = bits == 16 && signbit(value) ? 1u << 15 : 0;
    const double size = fabs(value);
    uint64_t code;
    int exponent;

    if (isnan(value))
        return infinity | 1;
    if (bits < 16 && value <= 0)
        return 0;
    if (isinf(value) || size >= 0x1p16)
        return infinity | sign;
    exponent = size >= 0x1p-14 ? ilogb(size) : -14;
    code = (uint64_t)nearbyint(ldexp(size, (int)mantissa_bits - exponent));
    code += (uint64_t)(exponent + 14) << mantissa_bits;
    return (code < infinity ? code : infinity) | sign;
}

static uint64_t float_code(double value, unsigned bits)
{
    const float narrow = (float)value;
    uint32_t word;
    uint64_t code;

    if (bits < 32)
        return small_float(value, bits);
    memcpy(&word, &narrow, sizeof word);
    memcpy(&code, &value, sizeof code);
    return bits == 32 ? word : code;
}

uint64_t lap_texel_code_of(const struct gen_format *format, unsigned component, double value)
{
    const struct gen_format_component *c = &format->components[component];

    switch ((enum gen_numeric)format->numeric) {
    case GEN_NUMERIC_SRGB:
        if (c->channel != 'A')
            value = to_srgb(between(0, 1, value));
        return (uint64_t)nearbyint(between(0, 1, value) * (double)ones(c->bits));
    case GEN_NUMERIC_UNORM:
        return (uint64_t)nearbyint(between(0, 1, value) * (double)ones(c->bits));
    case GEN_NUMERIC_SNORM:
        return (uint64_t)(int64_t)nearbyint(between(-1, 1, value) * (double)ones(c->bits - 1u)) & ones(c->bits);
    case GEN_NUMERIC_SFLOAT:
    case GEN_NUMERIC_UFLOAT:
        return float_code(value, c->bits);
    case GEN_NUMERIC_USCALED:
    case GEN_NUMERIC_SSCALED:
    case GEN_NUMERIC_UINT:
    case GEN_NUMERIC_SINT:
    case GEN_NUMERIC_SFIXED5:
        break;
    }
    return 0;
}

/* In the order of the values. */
static int64_t place(const struct gen_format *format, unsigned bits, uint64_t code)
{
    const uint64_t sign = UINT64_C(1) << (bits - 1);

    switch ((enum gen_numeric)format->numeric) {
    case GEN_NUMERIC_SNORM:
    case GEN_NUMERIC_SSCALED:
    case GEN_NUMERIC_SINT:
    case GEN_NUMERIC_SFIXED5:
        return (int64_t)(code << (64 - bits)) >> (64 - bits);
    case GEN_NUMERIC_SFLOAT:
        return code & sign ? -(int64_t)(code & ~sign) : (int64_t)code;
    default:
        return (int64_t)code;
    }
}

uint64_t lap_texel_steps_between(const struct gen_format *format, unsigned component, uint64_t code, uint64_t other)
{
    const unsigned bits = format->components[component].bits;
    const int64_t a = place(format, bits, code), b = place(format, bits, other);

    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}
