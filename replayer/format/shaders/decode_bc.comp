#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// SPDX-License-Identifier: MIT
// The formats BC1 to BC5 and BC7 (Khronos Data Format Specification, "S3TC", "RGTC" and "BPTC Compressed Texture Image Formats").
#include "blocks.glsl"
#include "bptc.glsl"

// KIND, as in block_format.c.
const uint BC1_RGB = 0, BC1_RGBA = 1, BC2 = 2, BC3 = 3, BC4_UNORM = 4, BC4_SNORM = 5, BC5_UNORM = 6, BC5_SNORM = 7,
           BC7 = 8;

// ---- BC1 to BC5 ----

// The nearest of 255 steps to a fraction of parts / (most * share).
uint steps(uint parts, uint most)
{
    return (parts * 510u + most) / (2u * most);
}

uvec3 mixed(uvec3 a, uvec3 b, uint of_a, uint of_b)
{
    uint all = of_a + of_b;
    uvec3 sum = a * of_a + b * of_b;
    return uvec3(steps(sum.r, 31u * all), steps(sum.g, 63u * all), steps(sum.b, 31u * all));
}

uvec3 parts_of_565(uint color)
{
    return uvec3(color >> 11 & 31u, color >> 5 & 63u, color & 31u);
}

void colors_of(uint from, bool may_be_three, out uvec4 colors[4])
{
    uint ends = words[from];
    uvec3 a = parts_of_565(ends & 0xffffu), b = parts_of_565(ends >> 16);
    colors[0] = uvec4(mixed(a, b, 1, 0), 255);
    colors[1] = uvec4(mixed(a, b, 0, 1), 255);
    if (!may_be_three || (ends & 0xffffu) > ends >> 16) {
        colors[2] = uvec4(mixed(a, b, 2, 1), 255);
        colors[3] = uvec4(mixed(a, b, 1, 2), 255);
    } else {
        colors[2] = uvec4(mixed(a, b, 1, 1), 255);
        colors[3] = uvec4(0, 0, 0, KIND == BC1_RGBA ? 0 : 255);
    }
}

// One of the 16 values of a block of 8 bytes: 8 bits, with a sign for SNORM.
int value_of(uint from, uint texel, bool is_signed)
{
    uint first = 16u + 3u * texel, index = bits_of(from, first, 3);
    int a = int(words[from] & 255u), b = int(words[from] >> 8 & 255u), least = 0, most = 255, shares, sum;
    if (is_signed) {
        a = max(a << 24 >> 24, -127);
        b = max(b << 24 >> 24, -127);
        least = -127;
        most = 127;
    }
    if (index < 2u)
        return index == 0u ? a : b;
    if (a <= b && index >= 6u)
        return index == 6u ? least : most;
    shares = a > b ? 7 : 5;
    sum = a * (shares + 1 - int(index)) + b * (int(index) - 1);
    return (2 * sum + (sum < 0 ? -shares : shares)) / (2 * shares);
}

void decode_bc1(uint from, uint alpha)
{
    uvec4 colors[4];
    colors_of(from, KIND == BC1_RGB || KIND == BC1_RGBA, colors);
    [[dont_unroll]] for (uint i = 0; i < 16; i++) {
        uvec4 color = colors[words[from + 1] >> 2 * i & 3u];
        if (KIND == BC2)
            color.a = (words[alpha + i / 8] >> 4 * (i % 8) & 15u) * 17u;
        if (KIND == BC3)
            color.a = uint(value_of(alpha, i, false));
        put(i % 4, i / 4, packed(color));
    }
}

void decode_bc4(uint from)
{
    [[dont_unroll]] for (uint y = 0; y < 4; y++) {
        uint word = 0;
        [[dont_unroll]] for (uint x = 0; x < 4; x++)
            word |= uint(value_of(from, 4 * y + x, KIND == BC4_SNORM) & 255) << 8 * x;
        put(0, y, word);
    }
}

void decode_bc5(uint from)
{
    [[dont_unroll]] for (uint y = 0; y < 4; y++)
        [[dont_unroll]] for (uint pair = 0; pair < 2; pair++) {
            uint word = 0;
            [[dont_unroll]] for (uint x = 0; x < 2; x++) {
                uint texel = 4 * y + 2 * pair + x;
                word |= uint(value_of(from, texel, KIND == BC5_SNORM) & 255) << 16 * x;
                word |= uint(value_of(from + 2, texel, KIND == BC5_SNORM) & 255) << (16 * x + 8);
            }
            put(pair, y, word);
        }
}

// ---- BC7 ----

// Of each mode: subsets, bits of the shape, rotation, index selection, color, alpha; p-bits of each end, of each subset; bits of
// the first and of the second indices.
uint modes[80] = uint[80](3, 4, 0, 0, 4, 0, 1, 0, 3, 0, 2, 6, 0, 0, 6, 0, 0, 1, 3, 0, 3, 6, 0, 0, 5, 0, 0, 0, 2, 0, 2, 6, 0, 0, 7,
                                0, 1, 0, 2, 0, 1, 0, 2, 1, 5, 6, 0, 0, 2, 3, 1, 0, 2, 0, 7, 8, 0, 0, 2, 2, 1, 0, 0, 0, 7, 7, 1, 0, 4, 0,
                                2, 6, 0, 0, 5, 5, 1, 0, 2, 0);

uint at_bit; // of the block that is read

uint take(uint from, uint count)
{
    uint value = count == 0u ? 0u : bits_of(from, at_bit, count);
    at_bit += count;
    return value;
}

void decode_bc7(uint from)
{
    uint mode = uint(findLSB(words[from] & 255u)), m = 10u * mode;
    if ((words[from] & 255u) == 0u) {
        [[dont_unroll]] for (uint i = 0; i < 16; i++)
            put(i % 4, i / 4, 0);
        return;
    }
    at_bit = mode + 1u;
    uint subsets = modes[m], shape = take(from, modes[m + 1]), rotation = take(from, modes[m + 2]), selection = take(from, modes[m + 3]);
    uint color_bits = modes[m + 4], alpha_bits = modes[m + 5];
    uvec4 ends[6];
    [[dont_unroll]] for (uint channel = 0; channel < 3; channel++)
        [[dont_unroll]] for (uint i = 0; i < 2u * subsets; i++)
            ends[i][channel] = take(from, color_bits);
    [[dont_unroll]] for (uint i = 0; i < 2u * subsets; i++)
        ends[i].a = take(from, alpha_bits);
    uint shared_bits = modes[m + 6] + modes[m + 7];
    if (shared_bits != 0u) {
        uint p = 0;
        [[dont_unroll]] for (uint i = 0; i < 2u * subsets; i++) {
            if (modes[m + 6] != 0u || i % 2u == 0u)
                p = take(from, 1);
            ends[i] = ends[i] << 1u | p;
        }
        color_bits++;
        alpha_bits += alpha_bits != 0u ? 1u : 0u;
    }
    [[dont_unroll]] for (uint i = 0; i < 2u * subsets; i++) {
        ends[i].rgb = ends[i].rgb << (8u - color_bits);
        ends[i].rgb |= ends[i].rgb >> color_bits;
        if (alpha_bits != 0u) {
            ends[i].a = ends[i].a << (8u - alpha_bits);
            ends[i].a |= ends[i].a >> alpha_bits;
        } else
            ends[i].a = 255u;
    }
    uint first_bits = modes[m + 8], second_bits = modes[m + 9], second_at = at_bit + 16u * first_bits - subsets;
    [[dont_unroll]] for (uint i = 0; i < 16; i++) {
        uint s = 2u * subset_of(subsets, shape, i), bits = first_bits;
        uint w = weight(take(from, is_anchor(subsets, shape, i) ? bits - 1u : bits), bits), v = w;
        if (second_bits != 0u) {
            uint count = i == 0u ? second_bits - 1u : second_bits;
            v = weight(bits_of(from, second_at, count), second_bits);
            second_at += count;
        }
        uvec4 share = selection == 0u ? uvec4(w, w, w, v) : uvec4(v, v, v, w);
        uvec4 color = (ends[s] * (64u - share) + ends[s + 1u] * share + 32u) >> 6u;
        if (rotation == 1u)
            color = color.agbr;
        else if (rotation == 2u)
            color = color.rabg;
        else if (rotation == 3u)
            color = color.rgab;
        put(i % 4, i / 4, packed(color));
    }
}

void decode(uint from)
{
    switch (KIND) {
    case BC1_RGB:
    case BC1_RGBA:
        decode_bc1(from, from);
        break;
    case BC2:
    case BC3:
        decode_bc1(from + 2, from);
        break;
    case BC4_UNORM:
    case BC4_SNORM:
        decode_bc4(from);
        break;
    case BC5_UNORM:
    case BC5_SNORM:
        decode_bc5(from);
        break;
    case BC7:
        decode_bc7(from);
        break;
    }
}
