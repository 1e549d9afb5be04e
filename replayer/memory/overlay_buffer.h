/* SPDX-License-Identifier: MIT */
/*
 * overlay_buffer: a buffer of the replay's own over memory of another object, to copy bytes that the host can't see:
 * rows of linear images, pages of sparse buffers, allocations of alias groups. One thread.
 */
#ifndef LAP_REPLAYER_MEMORY_OVERLAY_BUFFER_H
#define LAP_REPLAYER_MEMORY_OVERLAY_BUFFER_H

#include "replayer/memory/memory.h"
#include "replayer/memory/staging.h"

/* Begins zeroed. */
struct replay_overlay_buffer {
    VkBuffer buffer;
    VkDeviceSize skip; /* the offset of the place in it */
    struct replay_staged staged;
};
/* Creates the buffer if there is none yet. LAP_ERROR_REPLAY where the driver can't. */
enum lap_status replay_overlay_buffer_need(struct replay *r, struct replay_device *dev,
                                           const struct replay_memory_place *place,
                                           struct replay_overlay_buffer *bytes) LAP_MUST_CHECK;
void replay_overlay_buffer_destroy(struct replay *r, struct replay_device *dev, struct replay_overlay_buffer *bytes);

#endif
