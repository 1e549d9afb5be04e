/* SPDX-License-Identifier: MIT */
/*
 * pixels: the memory layout of VkFormats, for the uncompressed color formats of presented images.
 */
#ifndef LAP_VULKAN_TEXEL_PIXELS_H
#define LAP_VULKAN_TEXEL_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/file/png.h"

/* LAP_PIXEL_NONE: unknown format. */
enum lap_pixel_layout lap_pixels_layout(VkFormat format);

/* Bytes of one pixel of a color format; 0: unknown format. */
size_t lap_pixels_bytes(VkFormat format);

/* The first format of a family: color formats with the same components in the same order, of which each has a
 * counterpart in another order: R8G8B8A8_*, B8G8R8A8_* and so on. The formats of a family differ in their numeric
 * types, in the same order in all families. A compressed format is in one with the format of the same blocks in sRGB,
 * if there is one. VK_FORMAT_UNDEFINED: the format is in no family. out_count (may be NULL): the size of the family. */
VkFormat lap_pixels_family(VkFormat format, uint32_t *out_count);

/* The entry of a format in the list of formats that a replay may have to substitute (docs/format.md, "INFO"): the
 * first one of its family, or a depth and stencil format itself. VK_FORMAT_UNDEFINED: it is never substituted. */
VkFormat lap_pixels_substitutable(VkFormat format);

/* Whether a copy that converts (vkCmdBlitImage) reads linear values from an image of this format. The copy decodes
 * sRGB formats; floating point images contain linear values, as in a picture file (base/file/png.h). */
bool lap_pixels_are_linear(VkFormat format);

/* XXH3-128 of pixels in rows without padding: the hash in lapilliCheckPresent and lapilliCheckBuffer. */
void lap_pixels_hash(const void *data, size_t bytes, uint64_t *out_low, uint64_t *out_high);

#endif
