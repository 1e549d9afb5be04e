#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// SPDX-License-Identifier: MIT
// ETC2 and EAC (Khronos Data Format Specification, "ETC2 Compressed Texture Image Formats").
#include "blocks.glsl"

// KIND, as in block_format.c. Those of EAC give normalized numbers of 16 bits, or half floats.
const uint ETC2_RGB = 0, ETC2_RGBA1 = 1, ETC2_RGBA8 = 2, EAC_UNORM = 3, EAC_SNORM = 4, EAC_UNORM_HALF = 5, EAC_SNORM_HALF = 6, EAC2_UNORM = 7,
           EAC2_SNORM = 8, EAC2_UNORM_HALF = 9, EAC2_SNORM_HALF = 10;

const int modifiers[16] = int[16](2, 8, 5, 17, 9, 29, 13, 42, 18, 60, 24, 80, 33, 106, 47, 183);
const int distances[8] = int[8](3, 6, 11, 16, 23, 32, 41, 64);
const int eac_modifiers[64] = int[64]( // and the other four of a table are -x - 1
    3, 6, 9, 15, 3, 7, 10, 13, 2, 5, 8, 13, 2, 4, 6, 13, 3, 6, 8, 12, 3, 7, 9, 11, 4, 7, 8, 11, 3, 5, 8, 11,
    2, 6, 8, 10, 2, 5, 8, 10, 2, 4, 8, 10, 2, 5, 7, 10, 3, 4, 7, 10, 1, 2, 3, 10, 4, 6, 8, 9, 3, 5, 7, 9);

// Blocks have their first byte on top.
uint on_top(uint word)
{
    return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

uvec3 of_4_bits(uvec3 color)
{
    return color * 17u;
}

uint painted(ivec3 color, uint alpha)
{
    return packed(uvec4(clamp(color, 0, 255), alpha));
}

int of_planar(int origin, int across, int down, ivec2 at)
{
    return at.x * (across - origin) + at.y * (down - origin) + 4 * origin + 2 >> 2;
}

ivec3 planar(uint high, uint low, ivec2 at)
{
    ivec3 origin = ivec3(high >> 25 & 63u, (high >> 24 & 1u) << 6 | (high >> 17 & 63u),
                         (high >> 16 & 1u) << 5 | (high >> 11 & 3u) << 3 | (high >> 7 & 7u));
    ivec3 across = ivec3((high >> 2 & 31u) << 1 | (high & 1u), low >> 25 & 127u, low >> 19 & 63u);
    ivec3 down = ivec3(low >> 13 & 63u, low >> 6 & 127u, low & 63u);
    const ivec3 left = ivec3(2, 1, 2), right = ivec3(4, 6, 4);
    origin = origin << left | origin >> right;
    across = across << left | across >> right;
    down = down << left | down >> right;
    return ivec3(of_planar(origin.r, across.r, down.r, at), of_planar(origin.g, across.g, down.g, at), of_planar(origin.b, across.b, down.b, at));
}

// alpha: of each texel, with ETC2_RGBA8.
void decode_color(uint from, uint alpha[16])
{
    uint high = on_top(words[from]), low = on_top(words[from + 1]);
    bool opaque = KIND != ETC2_RGBA1 || (high & 2u) != 0u, differs = KIND == ETC2_RGBA1 || (high & 2u) != 0u;
    uvec3 first = uvec3(high >> 27 & 31u, high >> 19 & 31u, high >> 11 & 31u);
    ivec3 second = ivec3(first) + (ivec3(high >> 24 & 7u, high >> 16 & 7u, high >> 8 & 7u) << 29 >> 29);
    bvec3 outside = bvec3(second.r < 0 || second.r > 31, second.g < 0 || second.g > 31, second.b < 0 || second.b > 31);
    ivec3 paints[4];
    bool has_paints = differs && (outside.r || outside.g), is_planar = differs && !has_paints && outside.b;
    ivec3 ends[2];

    if (has_paints) {
        ivec3 a, b;
        int d;
        if (outside.r) {
            a = ivec3(of_4_bits(uvec3((high >> 27 & 3u) << 2 | (high >> 24 & 3u), high >> 20 & 15u, high >> 16 & 15u)));
            b = ivec3(of_4_bits(uvec3(high >> 12 & 15u, high >> 8 & 15u, high >> 4 & 15u)));
            d = distances[(high >> 2 & 3u) << 1 | (high & 1u)];
            paints = ivec3[4](a, b + d, b, b - d);
        } else {
            uvec3 p = uvec3(high >> 27 & 15u, (high >> 24 & 7u) << 1 | (high >> 20 & 1u), (high >> 19 & 1u) << 3 | (high >> 15 & 7u));
            uvec3 q = uvec3(high >> 11 & 15u, high >> 7 & 15u, high >> 3 & 15u);
            uint order = (p.r << 8 | p.g << 4 | p.b) >= (q.r << 8 | q.g << 4 | q.b) ? 1u : 0u;
            a = ivec3(of_4_bits(p));
            b = ivec3(of_4_bits(q));
            d = distances[(high >> 2 & 1u) << 2 | (high & 1u) << 1 | order];
            paints = ivec3[4](a + d, a - d, b + d, b - d);
        }
    } else if (differs) {
        ends[0] = ivec3(first << 3u | first >> 2u);
        ends[1] = second << 3 | second >> 2;
    } else {
        ends[0] = ivec3(of_4_bits(uvec3(high >> 28, high >> 20 & 15u, high >> 12 & 15u)));
        ends[1] = ivec3(of_4_bits(uvec3(high >> 24 & 15u, high >> 16 & 15u, high >> 8 & 15u)));
    }
    [[dont_unroll]] for (uint i = 0; i < 16; i++) {
        uint x = i / 4, y = i % 4, index = (low >> (16 + i) & 1u) << 1 | (low >> i & 1u), a = KIND == ETC2_RGBA8 ? alpha[i] : 255u;
        if (is_planar)
            put(x, y, painted(planar(high, low, ivec2(x, y)), a));
        else if (!opaque && index == 2u)
            put(x, y, 0u);
        else if (has_paints)
            put(x, y, painted(paints[index], a));
        else {
            uint half_of = (high & 1u) != 0u ? y / 2 : x / 2, table = half_of == 0u ? high >> 5 & 7u : high >> 2 & 7u;
            int size = !opaque && index == 0u ? 0 : modifiers[2u * table + (index & 1u)];
            put(x, y, painted(ends[half_of] + (index > 1u ? -size : size), a));
        }
    }
}

// Of texel i, from the top down and then to the right.
int eac_modifier(uint high, uint low, uint i)
{
    uint first = 45u - 3u * i;
    uint index = (first >= 32u ? high >> (first - 32u) : first > 29u ? high << (32u - first) | low >> first : low >> first) & 7u;
    int size = eac_modifiers[4u * (high >> 16 & 15u) + (index & 3u)];
    return index < 4u ? -size : size - 1;
}

void decode_alpha(uint from, out uint alpha[16])
{
    uint high = on_top(words[from]), low = on_top(words[from + 1]);
    [[dont_unroll]] for (uint i = 0; i < 16; i++)
        alpha[i] = uint(clamp(int(high >> 24) + eac_modifier(high, low, i) * int(high >> 20 & 15u), 0, 255));
}

uint eac_value(uint from, uint i)
{
    uint high = on_top(words[from]), low = on_top(words[from + 1]);
    int modifier = eac_modifier(high, low, i), scale = int(high >> 20 & 15u);
    bool is_signed = KIND == EAC_SNORM || KIND == EAC_SNORM_HALF || KIND == EAC2_SNORM || KIND == EAC2_SNORM_HALF;
    bool is_half = KIND == EAC_UNORM_HALF || KIND == EAC_SNORM_HALF || KIND == EAC2_UNORM_HALF || KIND == EAC2_SNORM_HALF;
    int base = is_signed ? max(int(high) >> 24, -127) * 8 : int(high >> 24) * 8 + 4;
    int value = base + (scale == 0 ? modifier : modifier * scale * 8);
    if (is_signed) {
        value = clamp(value, -1023, 1023);
        if (is_half)
            return packHalf2x16(vec2(float(value) / 1023.0, 0));
        int size = abs(value) << 5 | abs(value) >> 5;
        return uint(value < 0 ? -size : size) & 0xffffu;
    }
    value = clamp(value, 0, 2047);
    return is_half ? packHalf2x16(vec2(float(value) / 2047.0, 0)) : uint(value << 5 | value >> 6);
}

void decode(uint from)
{
    uint alpha[16];
    if (KIND <= ETC2_RGBA8) {
        if (KIND == ETC2_RGBA8)
            decode_alpha(from, alpha);
        decode_color(KIND == ETC2_RGBA8 ? from + 2 : from, alpha);
    } else if (KIND <= EAC_SNORM_HALF) {
        [[dont_unroll]] for (uint i = 0; i < 16; i += 2)
            put(i % 4 / 2, i / 4, eac_value(from, i % 4 * 4 + i / 4) | eac_value(from, (i + 1) % 4 * 4 + i / 4) << 16);
    } else {
        [[dont_unroll]] for (uint i = 0; i < 16; i++)
            put(i % 4, i / 4, eac_value(from, i % 4 * 4 + i / 4) | eac_value(from + 2, i % 4 * 4 + i / 4) << 16);
    }
}
