/* SPDX-License-Identifier: MIT */
#include "replayer/format/texel_convert.h"

#include <string.h>

#define D24_MAX 0xffffffu

enum depth { DEPTH_NONE, DEPTH_16, DEPTH_24, DEPTH_32 };

static enum depth depth_of(VkFormat format)
{
    switch ((int)format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_D16_UNORM_S8_UINT:
        return DEPTH_16;
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D24_UNORM_S8_UINT:
        return DEPTH_24;
    case VK_FORMAT_D32_SFLOAT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return DEPTH_32;
    default:
        return DEPTH_NONE;
    }
}

/* Whether blue is the first component in memory, or in the low bits. */
static bool is_blue_first(VkFormat format)
{
    return (format >= VK_FORMAT_B8G8R8A8_UNORM && format <= VK_FORMAT_B8G8R8A8_SRGB) ||
           (format >= VK_FORMAT_A2R10G10B10_UNORM_PACK32 && format <= VK_FORMAT_A2R10G10B10_SINT_PACK32) ||
           format == VK_FORMAT_R5G6B5_UNORM_PACK16;
}

enum replay_format_conversion replay_format_conversion(VkFormat from, VkFormat to, VkImageAspectFlags aspect)
{
    static const enum replay_format_conversion depths[4][4] = {
        [DEPTH_16] = {[DEPTH_24] = REPLAY_CONVERT_D16_TO_D24, [DEPTH_32] = REPLAY_CONVERT_D16_TO_D32},
        [DEPTH_24] = {[DEPTH_16] = REPLAY_CONVERT_D24_TO_D16, [DEPTH_32] = REPLAY_CONVERT_D24_TO_D32},
        [DEPTH_32] = {[DEPTH_16] = REPLAY_CONVERT_D32_TO_D16, [DEPTH_24] = REPLAY_CONVERT_D32_TO_D24},
    };

    if (from == to)
        return REPLAY_CONVERT_NONE;
    if (depth_of(from))
        return aspect == VK_IMAGE_ASPECT_DEPTH_BIT ? depths[depth_of(from)][depth_of(to)] : REPLAY_CONVERT_NONE;
    if (is_blue_first(from) == is_blue_first(to))
        return REPLAY_CONVERT_NONE;
    return from >= VK_FORMAT_A2R10G10B10_UNORM_PACK32 ? REPLAY_CONVERT_2101010
           : from >= VK_FORMAT_R8G8B8A8_UNORM         ? REPLAY_CONVERT_8888
                                                      : REPLAY_CONVERT_565;
}

struct replay_texel_bytes replay_format_conversion_bytes(enum replay_format_conversion conversion)
{
    static const struct replay_texel_bytes bytes[REPLAY_CONVERT_COUNT] = {
        [REPLAY_CONVERT_8888] = {4, 4},       [REPLAY_CONVERT_2101010] = {4, 4},
        [REPLAY_CONVERT_565] = {2, 2},        [REPLAY_CONVERT_D24_TO_D32] = {4, 4},
        [REPLAY_CONVERT_D32_TO_D24] = {4, 4}, [REPLAY_CONVERT_D16_TO_D24] = {2, 4},
        [REPLAY_CONVERT_D24_TO_D16] = {4, 2}, [REPLAY_CONVERT_D16_TO_D32] = {2, 4},
        [REPLAY_CONVERT_D32_TO_D16] = {4, 2},
    };
    return bytes[conversion];
}

bool replay_format_conversion_rounds(enum replay_format_conversion conversion)
{
    return conversion >= REPLAY_CONVERT_D24_TO_D32;
}

/* ---- depths: integer arithmetic, since devices round floats differently; shaders/convert.comp does the same ---- */

/* Index of the highest set bit. */
static uint32_t highest_bit(uint32_t value)
{
    return 31u - (uint32_t)__builtin_clz(value);
}

/* The float nearest to depth / 0xffffff = depth * 2^-24 * (1 + 2^-24 + ...). The second term is between half and one
 * unit in the last place. */
static uint32_t d24_to_d32(uint32_t depth)
{
    uint32_t top;

    depth &= D24_MAX;
    if (!depth)
        return 0;
    top = highest_bit(depth);
    return ((top + 103) << 23) + (depth << (23 - top)) - (1u << 23) + 1;
}

/* The float nearest to depth / 0xffff. Its binary digits repeat those of depth. */
static uint32_t d16_to_d32(uint32_t depth)
{
    uint32_t digits = depth << 16 | depth, top, mantissa;

    if (!depth)
        return 0;
    top = highest_bit(digits);
    mantissa = top > 23 ? (digits >> (top - 23)) + (digits >> (top - 24) & 1) : digits << (23 - top);
    return ((top + 95) << 23) + mantissa - (1u << 23);
}

/* The integer nearest to the float times `most`. */
static uint32_t d32_to_unorm(uint32_t bits, uint32_t most)
{
    uint32_t exponent = bits >> 23, shift;

    if (bits >> 31 || bits > 0x7f800000u || exponent < 102) /* negative, NaN, or less than 2^-25 */
        return 0;
    if (exponent >= 127)
        return most;
    shift = 150 - exponent;
    return (uint32_t)(((uint64_t)((bits & 0x7fffffu) | 0x800000u) * most + ((uint64_t)1 << (shift - 1))) >> shift);
}

static uint32_t d16_to_d24(uint32_t depth)
{
    return depth * 256 + (depth + 128) / 257; /* 0xffffff / 0xffff = 256 + 1 / 257 */
}

static uint32_t d24_to_d16(uint32_t depth)
{
    uint64_t scaled = (uint64_t)(depth & D24_MAX) * 0xffffu + D24_MAX / 2;
    uint32_t quotient = (uint32_t)(scaled >> 24), rest = (uint32_t)(scaled & D24_MAX);
    return quotient + (quotient + rest >= D24_MAX); /* divided by 2^24 - 1 */
}

static uint32_t convert_one(enum replay_format_conversion conversion, uint32_t texel)
{
    switch (conversion) {
    case REPLAY_CONVERT_8888:
        return (texel & 0xff00ff00u) | (texel & 0xffu) << 16 | (texel >> 16 & 0xffu);
    case REPLAY_CONVERT_2101010:
        return (texel & 0xc00ffc00u) | (texel & 0x3ffu) << 20 | (texel >> 20 & 0x3ffu);
    case REPLAY_CONVERT_565:
        return (texel & 0x7e0u) | (texel & 0x1fu) << 11 | (texel >> 11 & 0x1fu);
    case REPLAY_CONVERT_D24_TO_D32:
        return d24_to_d32(texel);
    case REPLAY_CONVERT_D32_TO_D24:
        return d32_to_unorm(texel, D24_MAX);
    case REPLAY_CONVERT_D16_TO_D24:
        return d16_to_d24(texel);
    case REPLAY_CONVERT_D24_TO_D16:
        return d24_to_d16(texel);
    case REPLAY_CONVERT_D16_TO_D32:
        return d16_to_d32(texel);
    case REPLAY_CONVERT_D32_TO_D16:
        return d32_to_unorm(texel, 0xffffu);
    default:
        return texel;
    }
}

void replay_format_convert(enum replay_format_conversion conversion, const void *from, void *to, size_t texels)
{
    struct replay_texel_bytes bytes = replay_format_conversion_bytes(conversion);
    const uint8_t *source = from;
    uint8_t *target = to;

    for (size_t i = 0; i < texels && conversion != REPLAY_CONVERT_NONE; i++) {
        uint32_t texel = 0;
        memcpy(&texel, source + i * bytes.from, bytes.from); /* little-endian, like the trace */
        texel = convert_one(conversion, texel);
        memcpy(target + i * bytes.to, &texel, bytes.to);
    }
}
