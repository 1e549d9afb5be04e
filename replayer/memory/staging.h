/* SPDX-License-Identifier: MIT */
/*
 * staging: replays host writes to memory that is not host-visible on the replay device. Copies gather in a ring of
 * host-visible memory. One batch of them is submitted before the next submission, on the same queue. docs/memory.md,
 * "What the host can't see", has the reason why this needs no further waits.
 *
 * A copy writes to a buffer: the trace's own, or one over the bytes of an image (struct replay_overlay_buffer,
 * overlay_buffer.h). Call replay_staging_settle before such a buffer is destroyed. One thread.
 */
#ifndef LAP_REPLAYER_MEMORY_STAGING_H
#define LAP_REPLAYER_MEMORY_STAGING_H

#include "replayer/core/replay.h"

/* The staging state of a buffer; begins zeroed. */
struct replay_staged {
    uint64_t batch;          /* the last one that has copies into it; 0: none */
    uint64_t group;          /* of its copies: those of one group may run in any order */
    VkDeviceSize begin, end; /* of the group's writes */
};

/* Copies bytes (data NULL: zeroes) into a buffer, before later submissions. Copies data at once. */
enum lap_status replay_staging_write(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                     VkBuffer buffer, VkDeviceSize offset, const void *data,
                                     size_t bytes) LAP_MUST_CHECK;

/* Zeroes bytes of memory for a new object, before all gathered copies, also those through other buffers. buffer:
 * over the memory; offset and bytes: multiples of 4. */
enum lap_status replay_staging_zero_new(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                        VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes) LAP_MUST_CHECK;

/* Orders later copies after earlier ones, also where they write the same bytes through different buffers. Copies to
 * one buffer are always in order. */
void replay_staging_order(struct replay_device *dev);

/* Submits the gathered copies, before work is submitted to this queue of the device (a live handle; an unknown one
 * counts as the main queue). */
enum lap_status replay_staging_flush(struct replay *r, struct replay_device *dev, VkQueue queue) LAP_MUST_CHECK;
/* The same for a command of the trace with its decoded arguments: before submits, and before host signals that let
 * the device go on. Notes that memory is in use. */
enum lap_status replay_staging_before(struct replay *r, struct replay_device *dev, uint32_t command,
                                      const void *args) LAP_MUST_CHECK;
/* Whether replay_staging_before does anything for the command (enum gen_command). */
bool replay_staging_is_settled_by(uint32_t command);

/* Call it before the buffer is destroyed or its memory is freed: drops its gathered copies, and waits for those
 * under way. If that fails, the next flush returns the failure. */
void replay_staging_settle(struct replay *r, struct replay_device *dev, struct replay_staged *staged, VkBuffer buffer);

struct replay_staging_stats {
    uint64_t batches, copies, bytes; /* bytes: copied and filled */
    uint64_t fresh_bytes;            /* zeroed for new objects */
    uint64_t waits;                  /* the host waited for a batch: no room, another queue, a signal by the host */
};
struct replay_staging_stats replay_staging_stats(const struct replay_device *dev);

/* Call it at the end of the device, when it is idle. */
void replay_staging_destroy(struct replay_device *dev);

#endif
