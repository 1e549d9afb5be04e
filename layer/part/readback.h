/* SPDX-License-Identifier: MIT */
/*
 * readback: contents of buffers and images of a device, copied to the host with the layer's own commands and written as
 * packets. Pieces of a few MiB, two of them at a time: the device copies one while the other one is written. The
 * staging buffers are freed at the end. Objects must live until the next flush.
 *
 * Under verify.mutex and submit.mutex of the device, no packet open.
 */
#ifndef LAP_LAYER_PART_READBACK_H
#define LAP_LAYER_PART_READBACK_H

#include <time.h>

#include "layer/core/layer.h"
#include "vulkan/readback.h"
#include "vulkan/unchecked.h"

/* May change a piece before it is written. */
typedef void (*layer_readback_edit_fn)(void *user, void *data, size_t bytes);

/* A piece of a buffer or of an image, on its way. */
struct layer_readback_slot {
    struct lap_readback readback;
    bool pending;
    VkBuffer buffer; /* or */
    const struct layer_image *image;
    const void *object; /* its object, for the count of unreadable objects */
    layer_readback_edit_fn edit;
    void *user;
    VkImageLayout layout;
    struct lap_texel_region region;
    uint64_t offset, bytes;
};

struct layer_readback {
    struct layer_device *dev;
    struct lap_readback_queue at; /* its semaphores apply to the first piece only. No queue: no piece can be read */
    VkQueueFlags flags;
    struct layer_readback_slot slots[2];
    unsigned next;
    const void *lost;                      /* the last object of which a piece could not be read */
    uint64_t left_out;                     /* objects whose contents are lost */
    uint32_t reasons[LAP_UNCHECKED_COUNT]; /* the same, by reason */
    uint64_t bytes;                        /* written so far */
    struct timespec said;
};

/* LAP_ERROR_MEMORY; call layer_readback_finish in any case. */
enum lap_status layer_readback_init(struct layer_readback *r, struct layer_device *dev) LAP_MUST_CHECK;
/* Whether or not all was flushed: nothing is in flight afterwards. */
void layer_readback_finish(struct layer_readback *r);

/* Unreadable contents are counted, and are no error. LAP_ERROR_MEMORY: some contents are missing. */
enum lap_status layer_readback_buffer(struct layer_readback *r, const struct layer_buffer *buffer) LAP_MUST_CHECK;
/* A range of a buffer with transfer source usage. edit may be NULL. object: counted if the range can't be read. */
enum lap_status layer_readback_range(struct layer_readback *r, const void *object, VkBuffer buffer, VkDeviceSize offset,
                                     VkDeviceSize bytes, layer_readback_edit_fn edit, void *user) LAP_MUST_CHECK;
/* readable: its usage allows it. */
enum lap_status layer_readback_image(struct layer_readback *r, const struct layer_image *image,
                                     bool readable) LAP_MUST_CHECK;
/* Waits for the pending pieces, and writes them. */
enum lap_status layer_readback_flush(struct layer_readback *r) LAP_MUST_CHECK;

/* Whether a level of an image has contents that may matter. */
bool layer_readback_matters(const struct layer_image *image);

/* The layout of all aspects of a level of a layer; undefined: they differ. The image has a state. */
VkImageLayout layer_readback_layout(const struct layer_image *image, uint32_t level, uint32_t array_layer);
/* Whether images have defined contents in this layout. */
bool layer_readback_is_known(VkImageLayout layout);

#endif
