/* SPDX-License-Identifier: MIT */
/*
 * fresh: what new objects hold. A driver's new memory mostly holds zeroes, and programs come to read of it what they
 * never wrote; a replay's blocks hold what was there before. So what was new at the recording when an object was bound
 * there begins as zeroes here: no earlier object of the program's had lain in those bytes of its memory. And memory
 * that was asked to begin as zeroes (VK_EXT_zero_initialize_device_memory) does, whatever the driver hands out.
 * docs/memory.md, "New memory". One thread.
 */
#ifndef LAP_REPLAYER_FRESH_H
#define LAP_REPLAYER_FRESH_H

#include "replayer/byte_buffer.h"

/* For information packets of vkAllocateMemory and vkFreeMemory; others are passed over. */
void replay_fresh_observe(struct replay *r);

/* An object is bound; from now on these bytes of the memory (its index in the trace) are used. */
enum replay_contents replay_fresh_bind(struct replay *r, uint64_t memory, uint64_t offset, uint64_t bytes);
/* The memory was asked to begin as zeroes. */
bool replay_fresh_is_zeroed(const struct replay *r, uint64_t memory);

/* Whether memory of the driver's for an object of such contents has to be zeroed as it comes. */
bool replay_fresh_is_stale(const struct replay *r, const struct replay_device *dev, enum replay_contents contents);

/* How much of a place has to be zeroed before an object of such contents is used there, from its beginning on: 0 where
 * it holds zeroes as it is, where nobody could tell, or where the user wants it left. */
VkDeviceSize replay_fresh_bytes(const struct replay *r, const struct replay_device *dev,
                                const struct replay_place *place, enum replay_contents contents);

/* Zeroes that much of a place in which there is nothing yet, or with is_written all of it: what the host writes is told
 * as a difference to zeroes ("Fresh allocations" there). In time for what is submitted from now on. own: a buffer over
 * the place, of at least so many bytes, which is made where none is there and the place is an allocation of its own
 * that the host can't see; NULL: there is none. Where no buffer can lie there, which is an error with is_written, a
 * warning says so once. */
enum lap_status replay_fresh_begin(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                   enum replay_contents contents, bool is_written, VkDeviceSize bytes,
                                   struct replay_byte_buffer *own) LAP_MUST_CHECK;

void replay_fresh_finish(struct replay *r);

#endif
