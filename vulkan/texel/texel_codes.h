/* SPDX-License-Identifier: MIT */
/*
 * texel_codes: the reverse of texel_values: the bits of texels' components for values that a shader writes
 * ("Fixed-Point Data Conversions", "Floating-Point Format Conversions"). Devices may round differently, so two of them
 * may be a step apart. Any thread.
 */
#ifndef LAP_VULKAN_TEXEL_TEXEL_CODES_H
#define LAP_VULKAN_TEXEL_TEXEL_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "gen_formats.h"

/* The bits of a component, in a texel of format->bytes. */
uint64_t lap_texel_code(const struct gen_format *format, unsigned component, const void *texel);
void lap_texel_put_code(const struct gen_format *format, unsigned component, uint64_t code, void *texel);

/* Whether values are integers. Then a code is the lowest bits of the value. */
bool lap_texel_has_integers(const struct gen_format *format);

/* The code for a value, the nearest one; linear, where the format is sRGB. format: none with integers or with an
 * exponent for all. */
uint64_t lap_texel_code_of(const struct gen_format *format, unsigned component, double value);

/* How many steps of the format are between two codes. */
uint64_t lap_texel_steps_between(const struct gen_format *format, unsigned component, uint64_t code, uint64_t other);

#endif
