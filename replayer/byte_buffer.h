/* SPDX-License-Identifier: MIT */
/*
 * byte_buffer: a buffer of the replay's own over memory that holds something else, so that bytes there can be copied
 * where the host can't see them: rows of linear images, pages of sparse buffers, what an alias group shares. One
 * thread.
 */
#ifndef LAP_REPLAYER_BYTE_BUFFER_H
#define LAP_REPLAYER_BYTE_BUFFER_H

#include "replayer/memory.h"
#include "replayer/staging.h"

/* Begins zeroed. */
struct replay_byte_buffer {
    VkBuffer buffer;
    VkDeviceSize skip; /* where the place begins in it */
    struct replay_staged staged;
};
/* LAP_ERROR_REPLAY where the driver has no such buffer. */
enum lap_status replay_byte_buffer_need(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                        struct replay_byte_buffer *bytes) LAP_MUST_CHECK;
void replay_byte_buffer_destroy(struct replay *r, struct replay_device *dev, struct replay_byte_buffer *bytes);

#endif
