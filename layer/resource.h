/* SPDX-License-Identifier: MIT */
/*
 * resource: buffers and images as memory tracking sees them. The user pointer of an object of memtrack
 * (lap_memobj_user) is its record, a struct layer_buffer or struct layer_image; both begin with a struct lap_object,
 * whose type tells which.
 *
 * The bytes of a disjoint image are those of its planes in order, each at the offset that layer_image_planes gives.
 */
#ifndef LAP_LAYER_RESOURCE_H
#define LAP_LAYER_RESOURCE_H

#include "layer/layer.h"

#define LAYER_MAX_PLANES 3u

struct layer_image_planes {
    uint32_t count; /* 1 unless the image is disjoint */
    VkDeviceSize offsets[LAYER_MAX_PLANES], bytes[LAYER_MAX_PLANES];
};

/* The first structure of a type in a pNext chain; NULL when there is none. */
const void *layer_chain_find(const void *chain, VkStructureType type);

/* Asks the driver how many bytes the image needs. Not for images that take their memory from a swapchain. */
void layer_image_planes(struct layer_device *dev, const struct layer_image *image, struct layer_image_planes *out);

/* Fills in image->bytes and makes image->memobj where that can be done and has not been. */
void layer_image_track(struct layer_device *dev, struct layer_image *image);

/* Behind the packet that gave the object memory, or some more. */
void layer_life_begin(struct layer_life *life, VkDeviceSize bytes, VkMemoryPropertyFlags memory_flags);

/* What a call of memory tracking returned. Out of memory ends the recording; the rest is the program's own mistake. */
void layer_tracking_result(enum lap_status status);

#endif
