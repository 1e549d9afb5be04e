/* SPDX-License-Identifier: MIT */
/*
 * pixels: from VkFormat to what lies in memory, for the uncompressed color formats that images are presented in.
 */
#ifndef LAP_CODEGEN_PIXELS_H
#define LAP_CODEGEN_PIXELS_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/png.h"

/* LAP_PIXEL_NONE for formats that are not known here. */
enum lap_pixel_layout lap_pixels_layout(VkFormat format);

/* Bytes of one pixel of a color format; 0 for formats that are not known here. */
size_t lap_pixels_bytes(VkFormat format);

/* XXH3-128 of pixels in rows without padding: what lapilliCheckPresent and lapilliCheckBuffer hold. */
void lap_pixels_hash(const void *data, size_t bytes, uint64_t *out_low, uint64_t *out_high);

#endif
