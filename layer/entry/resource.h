/* SPDX-License-Identifier: MIT */
/*
 * resource: buffers and images as memory tracking sees them. The user pointer of an object of memtrack
 * (lap_memobj_user) is its record, a struct layer_buffer or struct layer_image; both begin with a struct lap_object,
 * which has the type.
 */
#ifndef LAP_LAYER_ENTRY_RESOURCE_H
#define LAP_LAYER_ENTRY_RESOURCE_H

#include "layer/core/layer.h"

/* Fills in image->bytes and makes image->memobj where that can be done and has not been. */
void layer_image_track(struct layer_device *dev, struct layer_image *image);
/* Tracks a presentable image, which has no memory, so that work on it is known where parts of the run are recorded. */
void layer_image_track_presentable(struct layer_device *dev, struct layer_image *image);
/* A driver may free images of a retired swapchain, and give their handles to new images before the program destroys
 * the swapchain ("WSI Swapchain", vkCreateSwapchainKHR). Ends the record of such an image. Call it before a new record
 * is added for a handle that has one. */
void layer_swapchain_end_retired_image(struct layer_device *dev, VkImage handle);
/* Before the record is freed. */
void layer_image_untrack(struct layer_device *dev, struct layer_image *image);

#endif
