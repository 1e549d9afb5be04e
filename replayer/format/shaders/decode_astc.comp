#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// SPDX-License-Identifier: MIT
// ASTC, its LDR profile (Khronos Data Format Specification, "ASTC Compressed Texture Image Formats").
#include "blocks.glsl"

const uint SRGB = 1;              // of KIND; 0: UNORM
const uint MAGENTA = 0xffff00ffu; // of blocks with errors

uint block[4], reversed[4]; // the second with its bits the other way round: weights begin at the end
uint weight_values[64];
uint color_values[18];

uint block_bits(uint first, uint count)
{
    uint word = first >> 5, shift = first & 31u;
    if (count == 0u)
        return 0u;
    uint value = block[word] >> shift;
    if (shift + count > 32u && word < 3u)
        value |= block[word + 1u] << (32u - shift);
    return value & ((1u << count) - 1u);
}

uint reversed_bits(uint first, uint count)
{
    uint word = first >> 5, shift = first & 31u;
    if (count == 0u || word > 3u)
        return 0u;
    uint value = reversed[word] >> shift;
    if (shift + count > 32u && word < 3u)
        value |= reversed[word + 1u] << (32u - shift);
    return value & ((1u << count) - 1u);
}

uint bits_at(bool of_weights, uint first, uint count)
{
    return of_weights ? reversed_bits(first, count) : block_bits(first, count);
}

// ---- sequences of integers: each has bits, and a trit or a quint ----

struct Range { uint trits, quints, bits; };

// By the number of values: 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256.
Range range_of(uint level)
{
    const uint kinds[21] = uint[21](1, 0x100, 2, 0x10, 0x101, 3, 0x11, 0x102, 4, 0x12, 0x103, 5, 0x13, 0x104, 6, 0x14, 0x105, 7, 0x15, 0x106, 8);
    return Range(kinds[level] >> 8, kinds[level] >> 4 & 15u, kinds[level] & 15u);
}

uint sequence_bits(Range range, uint count)
{
    return count * range.bits + (range.trits != 0u ? (8u * count + 4u) / 5u : range.quints != 0u ? (7u * count + 2u) / 3u : 0u);
}

void trits_of(uint t, out uint trits[5])
{
    uint c;
    if ((t >> 2 & 7u) == 7u) {
        c = (t >> 5 & 7u) << 2 | (t & 3u);
        trits[4] = trits[3] = 2;
    } else {
        c = t & 31u;
        if ((t >> 5 & 3u) == 3u) {
            trits[4] = 2;
            trits[3] = t >> 7 & 1u;
        } else {
            trits[4] = t >> 7 & 1u;
            trits[3] = t >> 5 & 3u;
        }
    }
    if ((c & 3u) == 3u) {
        trits[2] = 2;
        trits[1] = c >> 4 & 1u;
        trits[0] = (c >> 3 & 1u) << 1 | (c >> 2 & ~(c >> 3) & 1u);
    } else if ((c >> 2 & 3u) == 3u) {
        trits[2] = trits[1] = 2;
        trits[0] = c & 3u;
    } else {
        trits[2] = c >> 4 & 1u;
        trits[1] = c >> 2 & 3u;
        trits[0] = (c >> 1 & 1u) << 1 | (c & ~(c >> 1) & 1u);
    }
}

void quints_of(uint q, out uint quints[3])
{
    uint c;
    if ((q >> 1 & 3u) == 3u && (q >> 5 & 3u) == 0u) {
        quints[2] = (q & 1u) << 2 | (q >> 4 & ~q & 1u) << 1 | (q >> 3 & ~q & 1u);
        quints[1] = quints[0] = 4;
        return;
    }
    if ((q >> 1 & 3u) == 3u) {
        quints[2] = 4;
        c = (q >> 3 & 3u) << 3 | (~(q >> 5) & 3u) << 1 | (q & 1u);
    } else {
        quints[2] = q >> 5 & 3u;
        c = q & 31u;
    }
    if ((c & 7u) == 5u) {
        quints[1] = 4;
        quints[0] = c >> 3 & 3u;
    } else {
        quints[1] = c >> 3 & 3u;
        quints[0] = c & 7u;
    }
}

// A value with its bits `m` and its trit or quint `d`, in 8 bits.
uint color_of(Range range, uint m, uint d)
{
    uint b = range.bits, x = m >> 1, spread, factor;
    if (range.trits == 0u && range.quints == 0u) {
        uint value = m << (8u - b);
        value |= value >> b;
        value |= value >> 2u * b;
        return value | value >> 4u * b;
    }
    if (range.trits != 0u) {
        const uint factors[6] = uint[6](204, 93, 44, 22, 11, 5);
        factor = factors[b - 1u];
        spread = b == 1u ? 0u : b == 2u ? x * 0x116u : b == 3u ? x * 0x85u : b == 4u ? x * 0x41u : b == 5u ? x << 5 | x >> 2 : x << 4 | x >> 4;
    } else {
        const uint factors[5] = uint[5](113, 54, 26, 13, 6);
        factor = factors[b - 1u];
        spread = b == 1u ? 0u : b == 2u ? x * 0x10cu : b == 3u ? x << 7 | x << 1 | x >> 1 : b == 4u ? x << 6 | x >> 1 : x << 5 | x >> 3;
    }
    uint sign = (m & 1u) != 0u ? 0x1ffu : 0u, t = d * factor + spread ^ sign;
    return sign & 0x80u | t >> 2;
}

// The same in 64ths.
uint weight_of(Range range, uint m, uint d)
{
    uint b = range.bits, x = m >> 1, value;
    if (range.trits == 0u && range.quints == 0u) {
        value = m << (6u - b);
        value |= value >> b;
        value |= value >> 2u * b;
        if (b == 1u)
            value |= value >> 4u;
    } else if (b == 0u) {
        value = range.trits != 0u ? (d == 0u ? 0u : d == 1u ? 32u : 63u) : (d == 0u ? 0u : d == 1u ? 16u : d == 2u ? 32u : d == 3u ? 47u : 63u);
    } else {
        uint factor, spread;
        if (range.trits != 0u) {
            factor = b == 1u ? 50u : b == 2u ? 23u : 11u;
            spread = b == 1u ? 0u : b == 2u ? x * 0x45u : x * 0x21u;
        } else {
            factor = b == 1u ? 28u : 13u;
            spread = b == 1u ? 0u : x * 0x42u;
        }
        uint sign = (m & 1u) != 0u ? 0x7fu : 0u, t = d * factor + spread ^ sign;
        value = sign & 0x20u | t >> 2;
    }
    return value > 32u ? value + 1u : value;
}

void read_sequence(bool of_weights, Range range, uint at, uint count)
{
    const uint trit_bits[5] = uint[5](2, 2, 1, 2, 1), quint_bits[3] = uint[3](3, 2, 2);
    uint group = range.trits != 0u ? 5u : range.quints != 0u ? 3u : 1u;
    [[dont_unroll]] for (uint first = 0; first < count; first += group) {
        uint m[5], digits[5], packed_digits = 0, digit_bits = 0;
        [[dont_unroll]] for (uint k = 0; k < group && first + k < count; k++) {
            uint more = range.trits != 0u ? trit_bits[k] : range.quints != 0u ? quint_bits[k] : 0u;
            m[k] = bits_at(of_weights, at, range.bits);
            packed_digits |= bits_at(of_weights, at + range.bits, more) << digit_bits;
            digit_bits += more;
            at += range.bits + more;
        }
        if (range.trits != 0u)
            trits_of(packed_digits, digits);
        else if (range.quints != 0u) {
            uint quints[3];
            quints_of(packed_digits, quints);
            [[dont_unroll]] for (uint k = 0; k < 3; k++)
                digits[k] = quints[k];
        }
        [[dont_unroll]] for (uint k = 0; k < group && first + k < count; k++)
            if (of_weights)
                weight_values[first + k] = weight_of(range, m[k], digits[k]);
            else
                color_values[first + k] = color_of(range, m[k], digits[k]);
    }
}

// ---- ends of colors ----

ivec4 contracted(ivec4 color)
{
    return ivec4(color.r + color.b >> 1, color.g + color.b >> 1, color.b, color.a);
}

// Moves a bit from an offset to its base.
void transfer(inout ivec4 offset, inout ivec4 base)
{
    base = base >> 1 | offset & 0x80;
    offset = offset >> 1 & 0x3f;
    offset -= (offset & 0x20) << 1;
}

// False: ends of the HDR profile.
bool ends_of(uint mode, uint first, out ivec4 low, out ivec4 high)
{
    int v[8];
    [[dont_unroll]] for (uint i = 0; i < 8u; i++)
        v[i] = first + i < 18u ? int(color_values[first + i]) : 0;
    ivec4 even = ivec4(v[0], v[2], v[4], v[6]), odd = ivec4(v[1], v[3], v[5], v[7]);
    switch (mode) {
    case 0:
        low = ivec4(v[0], v[0], v[0], 255);
        high = ivec4(v[1], v[1], v[1], 255);
        break;
    case 1: {
        int a = v[0] >> 2 | v[1] & 0xc0, b = min(a + (v[1] & 0x3f), 255);
        low = ivec4(a, a, a, 255);
        high = ivec4(b, b, b, 255);
        break;
    }
    case 4:
        low = ivec4(v[0], v[0], v[0], v[2]);
        high = ivec4(v[1], v[1], v[1], v[3]);
        break;
    case 5: {
        transfer(odd, even);
        low = ivec4(even.xxx, even.y);
        high = ivec4(even.xxx + odd.x, even.y + odd.y);
        break;
    }
    case 6:
    case 10:
        high = ivec4(v[0], v[1], v[2], mode == 6u ? 255 : v[5]);
        low = ivec4(high.rgb * v[3] >> 8, mode == 6u ? 255 : v[4]);
        break;
    case 8:
    case 12:
        if (mode == 8u)
            even.a = odd.a = 255;
        low = even;
        high = odd;
        if (odd.r + odd.g + odd.b < even.r + even.g + even.b) {
            low = contracted(odd);
            high = contracted(even);
        }
        break;
    case 9:
    case 13:
        transfer(odd, even);
        if (mode == 9u) {
            even.a = 255;
            odd.a = 0;
        }
        low = even;
        high = even + odd;
        if (odd.r + odd.g + odd.b < 0) {
            low = contracted(even + odd);
            high = contracted(even);
        }
        break;
    default:
        low = high = ivec4(0);
        return false;
    }
    low = clamp(low, 0, 255);
    high = clamp(high, 0, 255);
    return true;
}

// ---- partitions ----

uint hash52(uint p)
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

uint part_of(uint seed, uint count, uvec2 at)
{
    if (WIDTH * HEIGHT < 31u)
        at <<= 1u;
    uint n = hash52(seed + (count - 1u) * 1024u);
    uint thirds = count == 3u ? 6u : 5u, second = (seed & 2u) != 0u ? 4u : 5u;
    uint odd = (seed & 1u) != 0u ? second : thirds, even = (seed & 1u) != 0u ? thirds : second;
    uint s[8];
    [[dont_unroll]] for (uint i = 0; i < 8; i++) {
        s[i] = n >> 4 * i & 15u;
        s[i] = s[i] * s[i] >> (i % 2u == 0u ? odd : even);
    }
    uint a = s[0] * at.x + s[1] * at.y + (n >> 14) & 63u, b = s[2] * at.x + s[3] * at.y + (n >> 10) & 63u;
    uint c = count < 3u ? 0u : s[4] * at.x + s[5] * at.y + (n >> 6) & 63u, d = count < 4u ? 0u : s[6] * at.x + s[7] * at.y + (n >> 2) & 63u;
    return a >= b && a >= c && a >= d ? 0u : b >= c && b >= d ? 1u : c >= d ? 2u : 3u;
}

// ---- blocks ----

void fill(uint color)
{
    [[dont_unroll]] for (uint i = 0; i < WIDTH * HEIGHT; i++)
        put(i % WIDTH, i / WIDTH, color);
}

struct Grid {
    uint width, height, planes, level;
};

// False: the mode is reserved.
bool grid_of(uint mode, out Grid grid)
{
    uint a = mode >> 5 & 3u, b = mode >> 7 & 3u, r = mode >> 4 & 1u, high = mode >> 9 & 1u;
    grid.planes = (mode >> 10 & 1u) + 1u;
    if ((mode & 3u) != 0u) {
        r |= (mode & 3u) << 1;
        switch (mode >> 2 & 3u) {
        case 0:
            grid.width = b + 4u;
            grid.height = a + 2u;
            break;
        case 1:
            grid.width = b + 8u;
            grid.height = a + 2u;
            break;
        case 2:
            grid.width = a + 2u;
            grid.height = b + 8u;
            break;
        default:
            grid.width = (b & 2u) == 0u ? a + 2u : (b & 1u) + 2u;
            grid.height = (b & 2u) == 0u ? (b & 1u) + 6u : a + 2u;
            break;
        }
    } else {
        r |= (mode >> 2 & 3u) << 1;
        switch (b) {
        case 0:
            grid.width = 12;
            grid.height = a + 2u;
            break;
        case 1:
            grid.width = a + 2u;
            grid.height = 12;
            break;
        case 2:
            grid.width = a + 6u;
            grid.height = (mode >> 9 & 3u) + 6u;
            grid.planes = 1;
            high = 0;
            break;
        default:
            grid.width = a == 0u ? 6u : 10u;
            grid.height = a == 0u ? 10u : 6u;
            if (a > 1u)
                return false;
            break;
        }
    }
    grid.level = r - 2u + 6u * high;
    return r >= 2u && grid.width <= WIDTH && grid.height <= HEIGHT;
}

// Of 65536 steps, in 8 bits.
uint rounded(uint value)
{
    return KIND == SRGB ? value >> 8 : (value * 255u + 32767u) / 65535u;
}

uint weight_at(Grid grid, uint plane, uint x, uint y)
{
    uint i = min(y * grid.width + x, grid.width * grid.height - 1u);
    return weight_values[i * grid.planes + plane];
}

uint texel_weight(Grid grid, uint plane, uint x, uint y)
{
    uint s = (1024u + WIDTH / 2u) / (WIDTH - 1u) * x, t = (1024u + HEIGHT / 2u) / (HEIGHT - 1u) * y;
    s = s * (grid.width - 1u) + 32u >> 6;
    t = t * (grid.height - 1u) + 32u >> 6;
    uint fs = s & 15u, ft = t & 15u, both = fs * ft + 8u >> 4;
    s >>= 4;
    t >>= 4;
    uint sum = weight_at(grid, plane, s, t) * (16u - fs - ft + both) + weight_at(grid, plane, s, t + 1u) * (ft - both) + 8u;
    // The grid ends where its weight counts for nothing.
    sum += weight_at(grid, plane, s + 1u, t) * (fs - both) + weight_at(grid, plane, s + 1u, t + 1u) * both;
    return sum >> 4;
}

void decode(uint from)
{
    [[dont_unroll]] for (uint i = 0; i < 4; i++) {
        block[i] = words[from + i];
        reversed[3 - i] = bitfieldReverse(block[i]);
    }
    uint mode = block[0] & 2047u;
    if ((mode & 511u) == 508u) { // one color
        bool is_ldr = (mode & 512u) == 0u;
        uint color = 0;
        [[dont_unroll]] for (uint i = 0; i < 4; i++)
            color |= rounded(block[2 + i / 2] >> 16 * (i % 2) & 0xffffu) << 8 * i;
        fill(is_ldr ? color : MAGENTA);
        return;
    }
    Grid grid;
    if (!grid_of(mode, grid)) {
        fill(MAGENTA);
        return;
    }
    Range range = range_of(grid.level);
    uint weights = grid.width * grid.height * grid.planes, weight_bits = sequence_bits(range, weights), parts = (block[0] >> 11 & 3u) + 1u;
    if (weights > 64u || weight_bits < 24u || weight_bits > 96u || (parts == 4u && grid.planes == 2u)) {
        fill(MAGENTA);
        return;
    }
    read_sequence(true, range, 0, weights);

    // Modes of the ends, for each part. What does not fit in front lies below the weights.
    uint modes[4], values = 0, colors_at = parts == 1u ? 17u : 29u, below = 128u - weight_bits;
    if (parts == 1u)
        modes[0] = block_bits(13, 4);
    else {
        uint field = block_bits(23, 6);
        if ((field & 3u) == 0u)
            modes = uint[4](field >> 2, field >> 2, field >> 2, field >> 2);
        else {
            uint more = 3u * parts - 4u;
            below -= more;
            field |= block_bits(below, more) << 6;
            [[dont_unroll]] for (uint i = 0; i < parts; i++)
                modes[i] = ((field & 3u) - 1u + (field >> 2u + i & 1u)) << 2 | (field >> 2u + parts + 2u * i & 3u);
        }
    }
    [[dont_unroll]] for (uint i = 0; i < parts; i++)
        values += 2u * ((modes[i] >> 2) + 1u);
    uint plane_of = 4;
    if (grid.planes == 2u) {
        below -= 2u;
        plane_of = block_bits(below, 2);
    }
    int level = 20;
    [[dont_unroll]] while (level >= 4 && sequence_bits(range_of(uint(level)), values) + colors_at > below)
        level--;
    if (values > 18u || below < colors_at || level < 4) {
        fill(MAGENTA);
        return;
    }
    read_sequence(false, range_of(uint(level)), colors_at, values);
    ivec4 low[4], high[4];
    bool is_known[4];
    [[dont_unroll]] for (uint i = 0, first = 0; i < parts; i++) {
        is_known[i] = ends_of(modes[i], first, low[i], high[i]);
        first += 2u * ((modes[i] >> 2) + 1u);
    }
    [[dont_unroll]] for (uint y = 0; y < HEIGHT; y++)
        [[dont_unroll]] for (uint x = 0; x < WIDTH; x++) {
            uint p = parts == 1u ? 0u : part_of(block_bits(13, 10), parts, uvec2(x, y)), color = 0;
            uvec4 w = uvec4(texel_weight(grid, 0, x, y));
            if (plane_of < 4u)
                w[plane_of] = texel_weight(grid, 1, x, y);
            [[dont_unroll]] for (uint i = 0; i < 4; i++) {
                uint a = uint(low[p][i]), b = uint(high[p][i]);
                a = a << 8 | (KIND == SRGB ? 0x80u : a);
                b = b << 8 | (KIND == SRGB ? 0x80u : b);
                color |= rounded(a * (64u - w[i]) + b * w[i] + 32u >> 6) << 8 * i;
            }
            put(x, y, is_known[p] ? color : MAGENTA);
        }
}
