// SPDX-License-Identifier: MIT
// Decodes blocks of compressed texels (replayer/format/block_format.h). One buffer has the parameters, the blocks and the
// decoded texels. An invocation decodes one block. What includes this file defines decode(). Loops stay loops, so that
// the code is small: most programs decode few images.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 0;        // KIND, as in block_format.c.
layout(constant_id = 1) const uint WIDTH = 4;       // of a block, in texels
layout(constant_id = 2) const uint HEIGHT = 4;
layout(constant_id = 3) const uint BLOCK_WORDS = 4; // of a block
layout(constant_id = 4) const uint ROW_WORDS = 4;   // of a row of texels of a decoded block

const uint REGION_WORDS = 8;

layout(std430, set = 0, binding = 0) buffer Blocks {
    uint count;   // of blocks
    uint per_row; // invocations in a row of workgroups
    uint regions;
    uint unused;
    // Of each region: its first block, where its blocks begin, blocks from row to row and from slice to slice, columns
    // and rows of blocks, where its texels begin. Places are in words of this array.
    uint words[];
};

void decode(uint from);

uint texels_at, texels_pitch; // of the block that is decoded

// Texels of 32 bits, and of 64.
void put(uint x, uint y, uint texel)
{
    words[texels_at + y * texels_pitch + x] = texel;
}

void put2(uint x, uint y, uvec2 texel)
{
    words[texels_at + y * texels_pitch + 2 * x] = texel.x;
    words[texels_at + y * texels_pitch + 2 * x + 1] = texel.y;
}

uint packed(uvec4 color)
{
    return color.r | color.g << 8 | color.b << 16 | color.a << 24;
}

// `count` bits (1 to 31) from bit `first` of a block on.
uint bits_of(uint from, uint first, uint count)
{
    uint word = from + (first >> 5), shift = first & 31u;
    uint value = words[word] >> shift;
    if (shift + count > 32u)
        value |= words[word + 1u] << (32u - shift);
    return value & ((1u << count) - 1u);
}

void main()
{
    uint i = gl_GlobalInvocationID.y * per_row + gl_GlobalInvocationID.x, at = 0;
    if (gl_GlobalInvocationID.x >= per_row || i >= count)
        return;
    [[dont_unroll]] for (uint k = 1; k < regions && words[k * REGION_WORDS] <= i; k++)
        at = k * REGION_WORDS;
    uint columns = words[at + 4], rows = words[at + 5];
    i -= words[at];
    uint column = i % columns, row = i / columns % rows, slice = i / columns / rows;
    texels_pitch = columns * ROW_WORDS;
    texels_at = words[at + 6] + (slice * rows + row) * HEIGHT * texels_pitch + column * ROW_WORDS;
    decode(words[at + 1] + (slice * words[at + 3] + row * words[at + 2] + column) * BLOCK_WORDS);
}
