/* SPDX-License-Identifier: MIT */
/*
 * image_rows: where the rows of all subresources of a linear image lie, as its driver says.
 */
#ifndef LAP_LAYER_IMAGE_ROWS_H
#define LAP_LAYER_IMAGE_ROWS_H

#include "layer/layer.h"
#include "layer/rows.h"

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

#endif
