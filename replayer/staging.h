/* SPDX-License-Identifier: MIT */
/*
 * staging: what the host wrote into memory that this host can't see. Copies gather, in a ring of memory that the host
 * can see, and are handed over as one batch in front of the next submission, on its own queue. docs/memory.md, "What
 * the host can't see", says why that is in time, and why nothing else has to be waited for.
 *
 * A copy goes through a buffer: the trace's own one, or one that is made over the bytes of an image (struct
 * replay_byte_buffer, byte_buffer.h). Who destroys such a buffer settles it first. One thread.
 */
#ifndef LAP_REPLAYER_STAGING_H
#define LAP_REPLAYER_STAGING_H

#include "replayer/context.h"

/* What staging knows of a buffer; begins zeroed. */
struct replay_staged {
    uint64_t batch;          /* the last one that has copies into it; 0: none */
    uint64_t group;          /* of its copies: those of one group may run in any order */
    VkDeviceSize begin, end; /* of what the group writes */
};

/* Copies bytes (data NULL: zeroes) into a buffer, in time for what is submitted from now on. data is taken over. */
enum lap_status replay_stage(struct replay *r, struct replay_device *dev, struct replay_staged *staged, VkBuffer buffer,
                             VkDeviceSize offset, const void *data, size_t bytes) LAP_MUST_CHECK;

/* Zeroes bytes of memory in which nothing lies yet but what comes to be there: before all that is gathered, also where
 * that goes there through other buffers. buffer: over the memory; offset and bytes: multiples of 4. */
enum lap_status replay_stage_fresh(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                   VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes) LAP_MUST_CHECK;

/* What is staged from now on comes after what was staged before, also where it goes to the same bytes through other
 * buffers: within one buffer this needs no telling. */
void replay_staging_order(struct replay_device *dev);

/* Before work is submitted to a queue of the device (a live handle; one that is unknown counts as the main queue): what
 * was gathered comes first. */
enum lap_status replay_staging_flush(struct replay *r, struct replay_device *dev, VkQueue queue) LAP_MUST_CHECK;
/* The same for a command of the trace and its decoded arguments: what it submits is what memory is in use for, and what
 * the host lets go on by it finds the bytes in place. */
enum lap_status replay_staging_before(struct replay *r, struct replay_device *dev, uint32_t command,
                                      const void *args) LAP_MUST_CHECK;
/* Whether that does anything before the command (enum gen_command). */
bool replay_staging_is_settled_by(uint32_t command);

/* Before the buffer is destroyed or its memory is freed: what was gathered for it is dropped, what is under way is
 * waited for. */
void replay_staging_settle(struct replay *r, struct replay_device *dev, struct replay_staged *staged, VkBuffer buffer);

/* Nothing is gathered, and nothing is under way: no copy will write to an object's memory. Never waits. */
bool replay_staging_is_idle(struct replay_device *dev);

struct replay_staging_stats {
    uint64_t batches, copies, bytes; /* bytes: copied and filled */
    uint64_t fresh_bytes;            /* zeroed where new objects lie */
    uint64_t waits;                  /* the host waited for a batch: no room, another queue, a signal by the host */
};
struct replay_staging_stats replay_staging_stats(const struct replay_device *dev);

/* With the device, when it is idle. */
void replay_staging_destroy(struct replay_device *dev);

#endif
