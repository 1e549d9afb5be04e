/* SPDX-License-Identifier: MIT */
/*
 * steps: how far apart texels are, counted in the values that their format can have. Any thread.
 */
#ifndef LAP_CODEGEN_STEPS_H
#define LAP_CODEGEN_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* Whether each component of a differs from b's by at most so many steps: of normalized formats 1/255 for 8 bits, of
 * floating point ones to the next number. Integers, stencils, blocks and formats that are not known here have to be the
 * same. `bytes` of texels as copies pack them, of one aspect. */
bool lap_steps_within(VkFormat format, VkImageAspectFlags aspect, const void *a, const void *b, size_t bytes,
                      uint32_t steps);

#endif
