#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// SPDX-License-Identifier: MIT
// BC6H (Khronos Data Format Specification, "BPTC Compressed Texture Image Formats", "BC6H").
#include "blocks.glsl"
#include "bptc.glsl"

const uint SFLOAT = 1; // of KIND; 0: UFLOAT

// Where the bits of a block belong, in order, mode by mode: 4 bits: three times the end (w, x, y, z) and the channel; 4
// bits: the lowest bit of it, and from bit 8 on how many; 0x1000: the highest bit comes first.
uint pieces[236] = uint[236](
    0x0147, 0x0148, 0x014b, 0x0a00, 0x0a01, 0x0a02, 0x0503, 0x014a, 0x0407, 0x0504, 0x010b, 0x040a,
    0x0505, 0x011b, 0x0408, 0x0506, 0x012b, 0x0509, 0x013b, 0x0157, 0x014a, 0x015a, 0x0700, 0x010b,
    0x011b, 0x0148, 0x0701, 0x0158, 0x012b, 0x0147, 0x0702, 0x013b, 0x015b, 0x014b, 0x0603, 0x0407,
    0x0604, 0x040a, 0x0605, 0x0408, 0x0606, 0x0609, 0x0a00, 0x0a01, 0x0a02, 0x0503, 0x01a0, 0x0407,
    0x0404, 0x01a1, 0x010b, 0x040a, 0x0405, 0x01a2, 0x011b, 0x0408, 0x0506, 0x012b, 0x0509, 0x013b,
    0x0a00, 0x0a01, 0x0a02, 0x0403, 0x01a0, 0x014a, 0x0407, 0x0504, 0x01a1, 0x040a, 0x0405, 0x01a2,
    0x011b, 0x0408, 0x0406, 0x010b, 0x012b, 0x0409, 0x0147, 0x013b, 0x0a00, 0x0a01, 0x0a02, 0x0403,
    0x01a0, 0x0148, 0x0407, 0x0404, 0x01a1, 0x010b, 0x040a, 0x0505, 0x01a2, 0x0408, 0x0406, 0x011b,
    0x012b, 0x0409, 0x014b, 0x013b, 0x0900, 0x0148, 0x0901, 0x0147, 0x0902, 0x014b, 0x0503, 0x014a,
    0x0407, 0x0504, 0x010b, 0x040a, 0x0505, 0x011b, 0x0408, 0x0506, 0x012b, 0x0509, 0x013b, 0x0800,
    0x014a, 0x0148, 0x0801, 0x012b, 0x0147, 0x0802, 0x013b, 0x014b, 0x0603, 0x0407, 0x0504, 0x010b,
    0x040a, 0x0505, 0x011b, 0x0408, 0x0606, 0x0609, 0x0800, 0x010b, 0x0148, 0x0801, 0x0157, 0x0147,
    0x0802, 0x015a, 0x014b, 0x0503, 0x014a, 0x0407, 0x0604, 0x040a, 0x0505, 0x011b, 0x0408, 0x0506,
    0x012b, 0x0509, 0x013b, 0x0800, 0x011b, 0x0148, 0x0801, 0x0158, 0x0147, 0x0802, 0x015b, 0x014b,
    0x0503, 0x014a, 0x0407, 0x0504, 0x010b, 0x040a, 0x0605, 0x0408, 0x0506, 0x012b, 0x0509, 0x013b,
    0x0600, 0x014a, 0x010b, 0x011b, 0x0148, 0x0601, 0x0157, 0x0158, 0x012b, 0x0147, 0x0602, 0x015a,
    0x013b, 0x015b, 0x014b, 0x0603, 0x0407, 0x0604, 0x040a, 0x0605, 0x0408, 0x0606, 0x0609, 0x0a00,
    0x0a01, 0x0a02, 0x0a03, 0x0a04, 0x0a05, 0x0a00, 0x0a01, 0x0a02, 0x0903, 0x01a0, 0x0904, 0x01a1,
    0x0905, 0x01a2, 0x0a00, 0x0a01, 0x0a02, 0x0803, 0x12a0, 0x0804, 0x12a1, 0x0805, 0x12a2, 0x0a00,
    0x0a01, 0x0a02, 0x0403, 0x16a0, 0x0404, 0x16a1, 0x0405, 0x16a2);

// Of a mode: its number, its first piece, how many; subsets; bits of the first end, and of each channel of the others.
struct Mode {
    uint number, first, count, subsets, bits;
    uvec3 others;
};
Mode modes[14] = Mode[14](
    Mode(0, 0, 19, 2, 10, uvec3(5, 5, 5)),
    Mode(1, 19, 23, 2, 7, uvec3(6, 6, 6)),
    Mode(2, 42, 18, 2, 11, uvec3(5, 4, 4)),
    Mode(6, 60, 20, 2, 11, uvec3(4, 5, 4)),
    Mode(10, 80, 20, 2, 11, uvec3(4, 4, 5)),
    Mode(14, 100, 19, 2, 9, uvec3(5, 5, 5)),
    Mode(18, 119, 19, 2, 8, uvec3(6, 5, 5)),
    Mode(22, 138, 21, 2, 8, uvec3(5, 6, 5)),
    Mode(26, 159, 21, 2, 8, uvec3(5, 5, 6)),
    Mode(30, 180, 23, 2, 6, uvec3(6, 6, 6)),
    Mode(3, 203, 6, 1, 10, uvec3(10, 10, 10)),
    Mode(7, 209, 9, 1, 11, uvec3(9, 9, 9)),
    Mode(11, 218, 9, 1, 12, uvec3(8, 8, 8)),
    Mode(15, 227, 9, 1, 16, uvec3(4, 4, 4)));

int extended(uint value, uint bits)
{
    return int(value) << (32u - bits) >> (32u - bits);
}

int unquantized(int value, uint bits)
{
    if (KIND != SFLOAT) {
        if (bits >= 15u || value == 0)
            return value;
        return value == (1 << bits) - 1 ? 0xffff : (value << 16) + 0x8000 >> bits;
    }
    int size = abs(value);
    if (bits >= 16u || value == 0)
        return value;
    size = size >= (1 << (bits - 1u)) - 1 ? 0x7fff : (size << 15) + 0x4000 >> (bits - 1u);
    return value < 0 ? -size : size;
}

// Bits of a half float.
uint finished(int value)
{
    if (KIND != SFLOAT)
        return uint(value * 31 >> 6);
    return value < 0 ? 0x8000u | uint(-value * 31 >> 5) : uint(value * 31 >> 5);
}

void decode(uint from)
{
    uint number = words[from] & 31u, at = 5, m = 0;
    if ((number & 3u) < 2u) {
        number &= 3u;
        at = 2;
    }
    [[dont_unroll]] while (m < 14u && modes[m].number != number)
        m++;
    if (m == 14u) { // reserved
        [[dont_unroll]] for (uint i = 0; i < 16; i++)
            put2(i % 4, i / 4, uvec2(0, 0x3c000000u));
        return;
    }
    uvec3 raw[4] = uvec3[4](uvec3(0), uvec3(0), uvec3(0), uvec3(0));
    [[dont_unroll]] for (uint k = 0; k < modes[m].count; k++) {
        uint piece = pieces[modes[m].first + k], bits = piece >> 8 & 15u, value = bits_of(from, at, bits);
        if (piece >> 12 != 0u)
            value = bitfieldReverse(value) >> (32u - bits);
        raw[(piece & 15u) / 3u][(piece & 15u) % 3u] |= value << (piece >> 4 & 15u);
        at += bits;
    }
    uint subsets = modes[m].subsets, bits = modes[m].bits, shape = subsets == 2u ? bits_of(from, at, 5) : 0u;
    at += subsets == 2u ? 5u : 0u;
    bool is_delta = number != 30u && number != 3u;
    ivec3 ends[4];
    [[dont_unroll]] for (uint channel = 0; channel < 3; channel++)
        [[dont_unroll]] for (uint e = 0; e < 4; e++) {
            uint value = raw[e][channel];
            if (is_delta && e > 0u)
                value = raw[0][channel] + uint(extended(value, modes[m].others[channel])) & (1u << bits) - 1u;
            ends[e][channel] = unquantized(KIND == SFLOAT ? extended(value, bits) : int(value), bits);
        }
    uint index_bits = subsets == 2u ? 3u : 4u;
    [[dont_unroll]] for (uint i = 0; i < 16; i++) {
        uint count = is_anchor(subsets, shape, i) ? index_bits - 1u : index_bits, s = 2u * subset_of(subsets, shape, i);
        int w = int(weight(bits_of(from, at, count), index_bits));
        ivec3 color = ends[s] * (64 - w) + ends[s + 1u] * w + 32 >> 6;
        at += count;
        put2(i % 4, i / 4, uvec2(finished(color.r) | finished(color.g) << 16, finished(color.b) | 0x3c000000u));
    }
}
