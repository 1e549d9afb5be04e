/* SPDX-License-Identifier: MIT */
/*
 * resource: the records of buffers and images (replay_object.record). buffer.c and image.c create them;
 * alias_placement.c, host_update.c, swapchain.c and verify.c use them.
 */
#ifndef LAP_REPLAYER_MEMORY_RESOURCE_H
#define LAP_REPLAYER_MEMORY_RESOURCE_H

#include "replayer/memory/overlay_buffer.h"

struct replay_sparse;           /* sparse.c */
struct replay_buffer_addresses; /* address.c */

#define REPLAY_MAX_ROUNDED 8

struct replay_buffer {
    VkDeviceSize bytes; /* as created */
    struct replay_memory_place place;
    struct replay_staged staged;
    bool holds_descriptors;       /* its usage says that it is a descriptor buffer */
    bool at_address;              /* created with its recorded address: needs memory at a recorded address, too */
    struct replay_sparse *sparse; /* NULL unless vkQueueBindSparse gives it memory */
    struct replay_buffer_addresses *addresses; /* its address, and those in its contents; NULL: none */
    /* Bytes with depths of another precision than recorded (format_copies.h). */
    uint32_t rounded_count;
    struct {
        VkDeviceSize begin, end;
    } rounded[REPLAY_MAX_ROUNDED];
};

#define REPLAY_MAX_PLANES 3

struct replay_image {
    VkImageCreateInfo info;                                /* as the driver got it; pointers cleared */
    VkFormat recorded_format;                              /* info.format substitutes it (format.h) */
    struct replay_memory_place places[REPLAY_MAX_PLANES];  /* [0] unless disjoint */
    struct replay_overlay_buffer bytes[REPLAY_MAX_PLANES]; /* over the place, where that is not host-visible */
    bool bound;
    struct replay_sparse *sparse; /* as in replay_buffer */
    bool of_swapchain;            /* the image belongs to a virtual swapchain, which owns image and memory */
    struct replay_staged staged;  /* of what the host did with the image (staging_image.h) */
};

static inline uint32_t replay_image_layers(const struct replay_image *record, const VkImageSubresourceLayers *layers)
{
    return layers->layerCount == VK_REMAINING_ARRAY_LAYERS ? record->info.arrayLayers - layers->baseArrayLayer
                                                           : layers->layerCount;
}

/* The record of a live buffer or image; NULL when there is none. *out_index (may be NULL): its index in the trace. */
struct replay_buffer *replay_buffer_of(struct replay *r, VkBuffer buffer, uint64_t *out_index);
struct replay_image *replay_image_of(struct replay *r, VkImage image, uint64_t *out_index);

/* Marks bytes that --verify does not compare. Beyond REPLAY_MAX_ROUNDED runs, neighbouring runs merge, with the
 * bytes between them. */
void replay_buffer_rounded(struct replay_buffer *buffer, VkDeviceSize offset, VkDeviceSize bytes);
bool replay_buffer_is_rounded(const struct replay_buffer *buffer, VkDeviceSize offset, VkDeviceSize bytes);

/* Adds the object with a zeroed record (of a buffer: except the unused elements of rounded). On failure nothing
 * changes, and the caller keeps the driver's object. */
enum lap_status replay_buffer_add(struct replay *r, struct replay_device *dev, uint64_t index, VkBuffer buffer,
                                  struct replay_buffer **out_record) LAP_MUST_CHECK;
enum lap_status replay_image_add(struct replay *r, struct replay_device *dev, uint64_t index, VkImage image,
                                 struct replay_image **out_record) LAP_MUST_CHECK;
/* The record of an object that is removed from its table, or NULL. */
void replay_buffer_free(struct replay *r, struct replay_buffer *record);
void replay_image_free(struct replay *r, struct replay_image *record);

/* Whether all families of the replay device share the image (replay_share_image). */
bool replay_shares_image(struct replay *r, const struct replay_device *dev, VkImage image);

#endif
