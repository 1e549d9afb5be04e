/* SPDX-License-Identifier: MIT */
/*
 * pixels: from VkFormat to what lies in memory, for the uncompressed color formats that images are presented in.
 */
#ifndef LAP_CODEGEN_PIXELS_H
#define LAP_CODEGEN_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/png.h"

/* LAP_PIXEL_NONE for formats that are not known here. */
enum lap_pixel_layout lap_pixels_layout(VkFormat format);

/* Bytes of one pixel of a color format; 0 for formats that are not known here. */
size_t lap_pixels_bytes(VkFormat format);

/* Whether a copy that converts (vkCmdBlitImage) reads linear values from an image of this format: sRGB ones are
 * decoded, and what floating point images hold is linear, as in a picture file (base/png.h). */
bool lap_pixels_are_linear(VkFormat format);

/* XXH3-128 of pixels in rows without padding: what lapilliCheckPresent and lapilliCheckBuffer hold. */
void lap_pixels_hash(const void *data, size_t bytes, uint64_t *out_low, uint64_t *out_high);

#endif
