/* SPDX-License-Identifier: MIT */
/*
 * sparse: buffers and images whose memory vkQueueBindSparse binds, page by page. Memory tracking adds a page when the
 * call that binds it is recorded (docs/memory.md, "Sparse objects").
 *
 * The bytes of a sparse image are those of its opaque binding space, and behind them its tiles: aspect by aspect, layer
 * by layer, level by level, each grid in the order x, y, z. Such an offset only identifies a tile.
 */
#ifndef LAP_LAYER_SPARSE_H
#define LAP_LAYER_SPARSE_H

#include "layer/core/layer.h"

/* After the packet of their creation: records the driver's sparse requirements. */
void layer_sparse_created_buffer(struct layer_device *dev, struct layer_buffer *buffer);
void layer_sparse_created_image(struct layer_device *dev, struct layer_image *image);
/* How many bytes the tiles of an image take; 0 unless it is partially resident. */
VkDeviceSize layer_sparse_tile_bytes(struct layer_device *dev, const struct layer_image *image);

/* In front of the packet of a vkQueueBindSparse: reports memory that is bound for the first time. After it: updates the
 * places. Both under dev->submit.mutex, and in this order (docs/ordering.md). */
void layer_sparse_announce(struct layer_device *dev, const VkBindSparseInfo *info);
void layer_sparse_bind(struct layer_device *dev, const VkBindSparseInfo *info);

/* The binds of an object's current pages, in memory that is still allocated, for a part of the run. image: NULL for a
 * buffer. False: out of memory. Under dev->submit.mutex; layer_sparse_binds_finish frees the lists. */
struct layer_sparse_binds {
    VkSparseMemoryBind *ranges;
    VkSparseImageMemoryBind *tiles;
    uint32_t range_count, range_capacity, tile_count, tile_capacity;
};
bool layer_sparse_binds_of(struct layer_device *dev, const struct layer_image *image,
                           const struct layer_sparse_pages *pages, struct layer_sparse_binds *out);
void layer_sparse_binds_finish(struct layer_sparse_binds *binds);

/* In front of the packet of a vkFreeMemory. */
void layer_sparse_freed(struct layer_device *dev, const struct layer_memory *memory);

#endif
