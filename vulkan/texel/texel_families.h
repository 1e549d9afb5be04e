/* SPDX-License-Identifier: MIT */
/*
 * texel_families: how texel_blocks decodes the formats of each family. A function gives one row of a block, as
 * lap_texel_block_row does. Blocks are words, the first bit lowest; blocks of 8 bytes are one word and a 0.
 */
#ifndef LAP_VULKAN_TEXEL_TEXEL_FAMILIES_H
#define LAP_VULKAN_TEXEL_TEXEL_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

void lap_bc_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4]); /* BC1 to BC5 */
void lap_bc6h_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4]);
void lap_bc7_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4]);
void lap_etc2_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4]); /* and EAC */
void lap_astc_row(VkFormat format, const uint64_t words[2], uint32_t y, double (*out)[4]);

/* At most 32 bits of a block. Those behind its end are 0. */
static inline uint32_t lap_block_bits(const uint64_t words[2], uint32_t first, uint32_t count)
{
    uint64_t value;

    if (first >= 128)
        return 0;
    value = words[first / 64] >> first % 64;
    if (first < 64 && first + count > 64)
        value |= words[1] << (64 - first);
    return (uint32_t)(value & ((UINT64_C(1) << count) - 1));
}

static inline int lap_block_clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

#endif
