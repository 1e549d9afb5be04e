/* SPDX-License-Identifier: MIT */
/*
 * texel_blocks: the values of the texels in the blocks of compressed formats: BC1 to BC7, ETC2, EAC, and the LDR
 * profile of ASTC, as the Khronos Data Format Specification defines them. Any bytes of a block have values: those that
 * the specification reserves have the color that it gives to errors. Any thread.
 */
#ifndef LAP_VULKAN_TEXEL_TEXEL_BLOCKS_H
#define LAP_VULKAN_TEXEL_TEXEL_BLOCKS_H

#include <vulkan/vulkan.h>

#include "gen_formats.h"

#define LAP_BLOCK_WIDTH_MOST 12

/* What a texel of these formats has: its components do not lie anywhere. NULL: the format is none of them. */
const struct gen_format *lap_texel_block_format(VkFormat format);

/* The texels of one row of a block, 0 at the top: their values in the order of the components. sRGB values stay
 * encoded, from 0 to 1. format: one that lap_texel_block_format knows; y: less than the height of its blocks. */
void lap_texel_block_row(VkFormat format, const void *block, uint32_t y, double out[LAP_BLOCK_WIDTH_MOST][4]);

#endif
