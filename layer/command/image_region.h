/* SPDX-License-Identifier: MIT */
/*
 * image_region: the bytes of an image behind written texels: of a command, of a view, or of a rectangle of an
 * attachment. This is known for linear images only; others are touched as a whole.
 */
#ifndef LAP_LAYER_IMAGE_REGION_H
#define LAP_LAYER_IMAGE_REGION_H

#include "layer/command/touched.h"

/* Texels of one level. layerCount may be VK_REMAINING_ARRAY_LAYERS; texels outside of the image are left out. */
void layer_touch_region(struct layer_cmdbuf *cb, VkImage image, const VkImageSubresourceLayers *where,
                        VkOffset3D offset, VkExtent3D extent, enum layer_touch how);

/* All texels of some levels and layers are written. */
void layer_touch_subresources(struct layer_cmdbuf *cb, VkImage image, const VkImageSubresourceRange *range);

/* The texels of a view. If they are not known, all of the image, and not checked. `how` is one of the writes. The image
 * has a memobj; false when out of memory. */
bool layer_region_add_view(struct layer_device *dev, struct layer_touched *touched, const struct layer_image *image,
                           const struct layer_view_range *view, enum layer_touch how);

/* The same for a rectangle of the view's first level, in `layer_count` layers from number first_layer of the view on.
 */
bool layer_region_add_area(struct layer_device *dev, struct layer_touched *touched, const struct layer_image *image,
                           const struct layer_view_range *view, uint32_t first_layer, uint32_t layer_count,
                           const VkRect2D *area, enum layer_touch how);

#endif
