/* SPDX-License-Identifier: MIT */
/*
 * resource: what a replay knows about its buffers and images (replay_object.record). buffer.c and image.c make the
 * records, update.c, swapchain.c and verify.c use them.
 */
#ifndef LAP_REPLAYER_RESOURCE_H
#define LAP_REPLAYER_RESOURCE_H

#include "replayer/memory.h"

struct replay_buffer {
    VkDeviceSize bytes; /* as created */
    struct replay_place place;
};

#define REPLAY_MAX_PLANES 3

struct replay_image {
    VkImageCreateInfo info;                        /* as given to the driver; pointers cleared */
    struct replay_place places[REPLAY_MAX_PLANES]; /* [0] unless disjoint */
    bool bound;
    bool of_swapchain; /* the image belongs to a virtual swapchain: neither image nor memory are this record's */
};

/* The record of a live buffer or image; NULL when there is none. *out_index (may be NULL): its index in the trace. */
struct replay_buffer *replay_buffer_of(struct replay *r, VkBuffer buffer, uint64_t *out_index);
struct replay_image *replay_image_of(struct replay *r, VkImage image, uint64_t *out_index);

/* Takes the structures of these types out of a pNext chain; head is where the chain hangs (the decoder's own memory).
 */
void replay_chain_drop(const void **head, const VkStructureType *types, size_t count);
/* The structure of a type in a chain; NULL when there is none. */
const void *replay_chain_find(const void *chain, VkStructureType type);

#endif
