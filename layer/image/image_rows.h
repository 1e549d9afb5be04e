/* SPDX-License-Identifier: MIT */
/*
 * image_rows: the driver's layout of the rows of all subresources of a linear image, and of the planes of a disjoint
 * one. The bytes of a disjoint image are those of its planes in order.
 */
#ifndef LAP_LAYER_IMAGE_ROWS_H
#define LAP_LAYER_IMAGE_ROWS_H

#include "layer/core/layer.h"
#include "layer/image/row_layout.h"

#define LAYER_MAX_PLANES 4u /* memory planes may be more than those of a format */

struct layer_image_planes {
    uint32_t count; /* 1 unless the image is disjoint */
    VkDeviceSize offsets[LAYER_MAX_PLANES], bytes[LAYER_MAX_PLANES];
};

struct layer_image_rows {
    const struct layer_image *image; /* NULL: none is described */
    struct layer_rows *rows;
    size_t count, capacity;
};

/* Zeroed storage is empty. False when out of memory; then nothing is described. */
bool layer_image_rows_describe(struct layer_image_rows *out, struct layer_device *dev, const struct layer_image *image);
/* One subresource of a color format, or a plane of one. False for depth and stencil. */
bool layer_image_rows_of(struct layer_device *dev, const struct layer_image *image, VkImageAspectFlags aspect,
                         uint32_t level, uint32_t array_layer, struct layer_rows *out);
void layer_image_rows_finish(struct layer_image_rows *rows);

/* Asks the driver how many bytes the image needs. Not for images that take their memory from a swapchain. */
void layer_image_planes(struct layer_device *dev, const struct layer_image *image, struct layer_image_planes *out);

#endif
