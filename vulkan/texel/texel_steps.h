/* SPDX-License-Identifier: MIT */
/*
 * texel_steps: the distance of texels, in steps between representable values of their format. Any thread.
 */
#ifndef LAP_VULKAN_TEXEL_TEXEL_STEPS_H
#define LAP_VULKAN_TEXEL_TEXEL_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* Whether each component of a differs from b's by at most so many steps. For normalized formats a step is the
 * smallest difference (1/255 for 8 bits), for floating point ones the next number. Integers, stencils, blocks and
 * unknown formats must be equal. `bytes` of texels in the packing of copies, of one aspect. */
bool lap_texel_steps_within(VkFormat format, VkImageAspectFlags aspect, const void *a, const void *b, size_t bytes,
                            uint32_t steps);

#endif
