/* SPDX-License-Identifier: MIT */
/*
 * texel_values: the values of texels' components ("Numeric Format" in the specification), for all formats whose blocks
 * are single texels of one plane. Any thread.
 */
#ifndef LAP_VULKAN_TEXEL_TEXEL_VALUES_H
#define LAP_VULKAN_TEXEL_TEXEL_VALUES_H

#include <vulkan/vulkan.h>

#include "gen_formats.h"

/* How texels of one aspect lie in the packing of copies; NULL: the format has no such aspect, or other blocks. */
const struct gen_format *lap_texel_format(VkFormat format, VkImageAspectFlags aspect);

/* The values of a texel, in the order of format->components. sRGB values stay encoded, from 0 to 1. Integers of 64 bits
 * are rounded. */
void lap_texel_values(const struct gen_format *format, const void *texel, double out[4]);

/* A float of 16 bits, with a sign; of 11 or 10 bits, without one. All have 5 bits of exponent. */
double lap_texel_small_float(uint64_t value, unsigned bits);

#endif
