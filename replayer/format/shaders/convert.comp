#version 450
// SPDX-License-Identifier: MIT
// Texels of one format as those of another (replayer/format/texel_convert.h, whose host functions compute the same). One buffer has
// the parameters, what is read and what is written. An invocation does one word of texels of 32 bits, or two texels of
// 16 bits.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint CONVERSION = 0;

layout(std430, set = 0, binding = 0) buffer Texels {
    uint count;     // of invocations that have something to do
    uint from, to;  // where the texels begin, in words
    uint per_row;   // invocations in a row of workgroups
    uint words[];
};

// enum replay_format_conversion
const uint SWAP_8888 = 1, SWAP_2101010 = 2, SWAP_565 = 3, D24_TO_D32 = 4, D32_TO_D24 = 5, D16_TO_D24 = 6, D24_TO_D16 = 7,
           D16_TO_D32 = 8, D32_TO_D16 = 9;
const uint D24_MAX = 0xffffffu;

uint d24_to_d32(uint depth)
{
    depth &= D24_MAX;
    if (depth == 0)
        return 0;
    uint top = uint(findMSB(depth));
    return ((top + 103) << 23) + (depth << (23 - top)) - (1u << 23) + 1;
}

uint d16_to_d32(uint depth)
{
    uint digits = depth << 16 | depth;
    if (depth == 0)
        return 0;
    uint top = uint(findMSB(digits)), mantissa;
    if (top > 23)
        mantissa = (digits >> (top - 23)) + (digits >> (top - 24) & 1);
    else
        mantissa = digits << (23 - top);
    return ((top + 95) << 23) + mantissa - (1u << 23);
}

uint d32_to_unorm(uint bits, uint most)
{
    uint exponent = bits >> 23;
    if (bits >> 31 != 0 || bits > 0x7f800000u || exponent < 102)
        return 0;
    if (exponent >= 127)
        return most;
    uint shift = 150 - exponent; // 24 to 48
    uint high, low, carry;
    umulExtended((bits & 0x7fffffu) | 0x800000u, most, high, low);
    if (shift <= 32) {
        low = uaddCarry(low, 1u << (shift - 1), carry);
        high += carry;
        return shift == 32 ? high : high << (32 - shift) | low >> shift;
    }
    return (high + (1u << (shift - 33))) >> (shift - 32);
}

uint d16_to_d24(uint depth)
{
    return depth * 256 + (depth + 128) / 257;
}

uint d24_to_d16(uint depth)
{
    uint high, low, carry;
    umulExtended(depth & D24_MAX, 0xffffu, high, low);
    low = uaddCarry(low, D24_MAX / 2, carry);
    high += carry;
    uint quotient = high << 8 | low >> 24, rest = low & D24_MAX;
    return quotient + (quotient + rest >= D24_MAX ? 1 : 0);
}

uint swapped_565(uint texels)
{
    return (texels & 0x07e007e0u) | (texels & 0x001f001fu) << 11 | (texels >> 11 & 0x001f001fu);
}

void main()
{
    uint i = gl_GlobalInvocationID.y * per_row + gl_GlobalInvocationID.x;
    if (gl_GlobalInvocationID.x >= per_row || i >= count)
        return;
    if (CONVERSION == D16_TO_D24 || CONVERSION == D16_TO_D32) {
        uint pair = words[from + i];
        uint a = pair & 0xffffu, b = pair >> 16;
        words[to + 2 * i] = CONVERSION == D16_TO_D24 ? d16_to_d24(a) : d16_to_d32(a);
        words[to + 2 * i + 1] = CONVERSION == D16_TO_D24 ? d16_to_d24(b) : d16_to_d32(b);
        return;
    }
    if (CONVERSION == D24_TO_D16 || CONVERSION == D32_TO_D16) {
        uint a = words[from + 2 * i], b = words[from + 2 * i + 1];
        if (CONVERSION == D24_TO_D16)
            words[to + i] = d24_to_d16(a) | d24_to_d16(b) << 16;
        else
            words[to + i] = d32_to_unorm(a, 0xffffu) | d32_to_unorm(b, 0xffffu) << 16;
        return;
    }
    uint word = words[from + i];
    if (CONVERSION == SWAP_8888)
        word = (word & 0xff00ff00u) | (word & 0xffu) << 16 | (word >> 16 & 0xffu);
    else if (CONVERSION == SWAP_2101010)
        word = (word & 0xc00ffc00u) | (word & 0x3ffu) << 20 | (word >> 20 & 0x3ffu);
    else if (CONVERSION == SWAP_565)
        word = swapped_565(word);
    else if (CONVERSION == D24_TO_D32)
        word = d24_to_d32(word);
    else if (CONVERSION == D32_TO_D24)
        word = d32_to_unorm(word, D24_MAX);
    words[to + i] = word;
}
