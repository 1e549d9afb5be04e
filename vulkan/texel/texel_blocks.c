/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/texel_blocks.h"

#include <string.h>

#include "vulkan/texel/texel_families.h"

typedef void (*row_fn)(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4]);

#define R(bits)                                                                                                        \
    1,                                                                                                                 \
    {                                                                                                                  \
        {                                                                                                              \
            'R', 0, bits                                                                                               \
        }                                                                                                              \
    }
#define RG(bits)                                                                                                       \
    2,                                                                                                                 \
    {                                                                                                                  \
        {'R', 0, bits},                                                                                                \
        {                                                                                                              \
            'G', 0, bits                                                                                               \
        }                                                                                                              \
    }
#define RGB(bits)                                                                                                      \
    3,                                                                                                                 \
    {                                                                                                                  \
        {'R', 0, bits}, {'G', 0, bits},                                                                                \
        {                                                                                                              \
            'B', 0, bits                                                                                               \
        }                                                                                                              \
    }
#define RGBA(bits)                                                                                                     \
    4,                                                                                                                 \
    {                                                                                                                  \
        {'R', 0, bits}, {'G', 0, bits}, {'B', 0, bits},                                                                \
        {                                                                                                              \
            'A', 0, bits                                                                                               \
        }                                                                                                              \
    }

/* Formats of one kind have consecutive numbers; of kinds with sRGB every second one is that. Bits are those that blocks
 * store of ends: what lies between two ends is finer. */
static const struct {
    VkFormat last;
    uint8_t bytes;
    row_fn row;
    struct gen_format texel, srgb;
} kinds[] = {
#define KIND(last, bytes, row, numeric, ...)                                                                           \
    {                                                                                                                  \
        last, bytes, row, {0, numeric, 0, false, __VA_ARGS__},                                                         \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
#define PAIR(last, bytes, row, ...)                                                                                    \
    {                                                                                                                  \
        last, bytes, row, {0, GEN_NUMERIC_UNORM, 0, false, __VA_ARGS__},                                               \
        {                                                                                                              \
            0, GEN_NUMERIC_SRGB, 0, false, __VA_ARGS__                                                                 \
        }                                                                                                              \
    }
    PAIR(VK_FORMAT_BC1_RGB_SRGB_BLOCK, 8, lap_bc_row, RGB(8)),
    PAIR(VK_FORMAT_BC1_RGBA_SRGB_BLOCK, 8, lap_bc_row, RGBA(8)),
    PAIR(VK_FORMAT_BC3_SRGB_BLOCK, 16, lap_bc_row, RGBA(8)),
    KIND(VK_FORMAT_BC4_UNORM_BLOCK, 8, lap_bc_row, GEN_NUMERIC_UNORM, R(8)),
    KIND(VK_FORMAT_BC4_SNORM_BLOCK, 8, lap_bc_row, GEN_NUMERIC_SNORM, R(8)),
    KIND(VK_FORMAT_BC5_UNORM_BLOCK, 16, lap_bc_row, GEN_NUMERIC_UNORM, RG(8)),
    KIND(VK_FORMAT_BC5_SNORM_BLOCK, 16, lap_bc_row, GEN_NUMERIC_SNORM, RG(8)),
    KIND(VK_FORMAT_BC6H_UFLOAT_BLOCK, 16, lap_bc6h_row, GEN_NUMERIC_UFLOAT, RGB(16)),
    KIND(VK_FORMAT_BC6H_SFLOAT_BLOCK, 16, lap_bc6h_row, GEN_NUMERIC_SFLOAT, RGB(16)),
    PAIR(VK_FORMAT_BC7_SRGB_BLOCK, 16, lap_bc7_row, RGBA(8)),
    PAIR(VK_FORMAT_ETC2_R8G8B8_SRGB_BLOCK, 8, lap_etc2_row, RGB(8)),
    PAIR(VK_FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK, 8, lap_etc2_row, RGBA(8)),
    PAIR(VK_FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK, 16, lap_etc2_row, RGBA(8)),
    KIND(VK_FORMAT_EAC_R11_UNORM_BLOCK, 8, lap_etc2_row, GEN_NUMERIC_UNORM, R(11)),
    KIND(VK_FORMAT_EAC_R11_SNORM_BLOCK, 8, lap_etc2_row, GEN_NUMERIC_SNORM, R(11)),
    KIND(VK_FORMAT_EAC_R11G11_UNORM_BLOCK, 16, lap_etc2_row, GEN_NUMERIC_UNORM, RG(11)),
    KIND(VK_FORMAT_EAC_R11G11_SNORM_BLOCK, 16, lap_etc2_row, GEN_NUMERIC_SNORM, RG(11)),
    PAIR(VK_FORMAT_ASTC_12x12_SRGB_BLOCK, 16, lap_astc_row, RGBA(8)),
};

/* The kind of a format between the first and the last. */
static size_t kind_of(VkFormat format)
{
    size_t i = 0;

    while (format > kinds[i].last)
        i++;
    return i;
}

const struct gen_format *lap_texel_block_format(VkFormat format)
{
    size_t kind;

    if (format < VK_FORMAT_BC1_RGB_UNORM_BLOCK || format > VK_FORMAT_ASTC_12x12_SRGB_BLOCK)
        return NULL;
    kind = kind_of(format);
    return kinds[kind].srgb.count && (kinds[kind].last - format) % 2 == 0 ? &kinds[kind].srgb : &kinds[kind].texel;
}

void lap_texel_block_row(VkFormat format, const void *block, uint32_t y, double out[LAP_BLOCK_WIDTH_MOST][4])
{
    const size_t kind = kind_of(format);
    uint64_t words[2] = {0, 0};

    memcpy(words, block, kinds[kind].bytes);
    kinds[kind].row(format, words, y, out);
}
