/* SPDX-License-Identifier: MIT */
/*
 * region: which bytes of an image a command writes that names texels. Only of linear images can that be known; others
 * are touched as a whole.
 */
#ifndef LAP_LAYER_REGION_H
#define LAP_LAYER_REGION_H

#include "layer/touched.h"

/* Texels of one level. layerCount may be VK_REMAINING_ARRAY_LAYERS; what lies outside of the image is left out. */
void layer_touch_region(struct layer_cmdbuf *cb, VkImage image, const VkImageSubresourceLayers *where,
                        VkOffset3D offset, VkExtent3D extent, enum layer_touch how);

/* All texels of some levels and layers are written. */
void layer_touch_subresources(struct layer_cmdbuf *cb, VkImage image, const VkImageSubresourceRange *range);

#endif
