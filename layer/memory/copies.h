/* SPDX-License-Identifier: MIT */
/*
 * copies: device memory of the layer. Commands in the program's command buffers copy data there that a part of the run
 * may need later (layer/command/build_inputs.h). It is allocated in chunks, each a buffer with a device address. Empty
 * chunks are freed. Any thread.
 */
#ifndef LAP_LAYER_COPIES_H
#define LAP_LAYER_COPIES_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#define LAYER_COPY_ALIGNMENT 256u

struct layer_device;

struct layer_copy_chunk {
    struct layer_copy_chunk *next;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceAddress address;
    VkDeviceSize bytes, memory_bytes;
    VkBufferUsageFlags usage;
    uint32_t shown_type; /* of its memory, as programs see it */
    struct layer_copy_span {
        VkDeviceSize offset, bytes;
    } * free; /* by offset; no two are adjacent */
    uint32_t free_count, free_capacity;
    bool in_trace; /* layer/part/state_structures.c */
};

/* A range of a chunk; bytes 0: none. */
struct layer_copy {
    struct layer_copy_chunk *chunk;
    VkDeviceSize offset, bytes;
};

/* bytes > 0. False: there is no memory. */
bool layer_copies_take(struct layer_device *dev, VkDeviceSize bytes, struct layer_copy *out);
/* No work uses it any more. */
void layer_copies_give(struct layer_device *dev, struct layer_copy *copy);

void layer_copies_init(struct layer_device *dev);
/* All objects of the device are destroyed, but not the device. */
void layer_copies_finish(struct layer_device *dev);

#endif
