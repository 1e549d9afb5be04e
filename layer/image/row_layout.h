/* SPDX-License-Identifier: MIT */
/*
 * row_layout: the layout of the texels of a linear image, and the rows of a run of its bytes. Makes no driver calls:
 * the caller passes the pitches (vkGetImageSubresourceLayout).
 */
#ifndef LAP_LAYER_ROW_LAYOUT_H
#define LAP_LAYER_ROW_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* One subresource. Its row r of slice s begins slice_pitch * s + row_pitch * r bytes behind its offset. */
struct layer_rows {
    VkImageAspectFlags aspect;
    uint32_t mip_level, array_layer;
    uint64_t offset; /* in the object's bytes */
    uint64_t row_pitch, slice_pitch;
    uint64_t row_bytes;    /* without the padding behind each row */
    uint32_t rows, slices; /* rows of texel blocks in a slice; slices of a 3D image */
    /* Of a texel block; element_bytes 0: the format is not known, and row_bytes may have padding. */
    uint32_t block_width, block_height, element_bytes;
};

/* Fills in a subresource of a linear image. aspect is one bit: color, depth, stencil or a plane; base is added to the
 * layout's offset (planes of disjoint images). With whole_texels the row has all of a depth-stencil format's texels,
 * for layouts in which depth and stencil lie side by side. */
void layer_rows_describe(const VkImageCreateInfo *info, VkImageAspectFlags aspect, uint32_t mip_level,
                         uint32_t array_layer, const VkSubresourceLayout *layout, uint64_t base, bool whole_texels,
                         struct layer_rows *out);

/* Returns false to stop. */
typedef bool (*layer_row_fn)(void *context, const struct layer_rows *rows, uint32_t slice, uint32_t row,
                             uint64_t offset_in_row, const unsigned char *data, uint64_t bytes);

/* Calls visit for each part of [offset, offset + bytes) of the object that lies in a row of the subresource, in order;
 * data holds the bytes of the whole range. False when visit stopped it. */
bool layer_rows_split(const struct layer_rows *rows, uint64_t offset, const void *data, uint64_t bytes,
                      layer_row_fn visit, void *context);

#endif
