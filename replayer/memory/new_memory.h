/* SPDX-License-Identifier: MIT */
/*
 * new_memory: initializes the memory of new objects. A driver's new memory mostly holds zeroes, and some programs read
 * bytes that they never wrote. A replay's blocks hold contents of earlier objects. So the replay zeroes bytes that no
 * earlier object of the program had used when the object was bound. It also zeroes memory that the program allocated as
 * zeroes (VK_EXT_zero_initialize_device_memory). docs/memory.md, "New memory". One thread.
 */
#ifndef LAP_REPLAYER_MEMORY_NEW_MEMORY_H
#define LAP_REPLAYER_MEMORY_NEW_MEMORY_H

#include "replayer/memory/overlay_buffer.h"

/* Reads information packets of vkAllocateMemory and vkFreeMemory; ignores others. */
void replay_new_memory_observe(struct replay *r);

/* Notes that an object is bound: from now on these bytes of the memory (its index in the trace) are used. */
enum replay_memory_contents replay_new_memory_bind(struct replay_device *dev, uint64_t memory, uint64_t offset,
                                                   uint64_t bytes);
/* Whether the program allocated the memory as zeroes. */
bool replay_new_memory_is_zeroed(const struct replay_device *dev, uint64_t memory);

/* Whether the replay must zero a new allocation of the driver for an object of such contents. */
bool replay_new_memory_is_stale(const struct replay *r, const struct replay_device *dev,
                                enum replay_memory_contents contents);

/* How many bytes from the begin of a place must be zeroed before an object of such contents uses it. 0: it holds
 * zeroes already, no program could see a difference, or --new-memory is leave. */
VkDeviceSize replay_new_memory_bytes(const struct replay *r, const struct replay_device *dev,
                                     const struct replay_memory_place *place, enum replay_memory_contents contents);

/* Zeroes so many bytes of a new place. With is_written it zeroes all of it, since updates have host writes as
 * differences to zeroes ("Fresh allocations" there). It takes effect before later submissions. own: a buffer over
 * the place, of at least so many bytes; created where there is none yet and the place is an allocation of its own
 * that is not host-visible; NULL: there is none. Where no buffer can be bound there, it warns once, or fails with
 * is_written. */
enum lap_status replay_new_memory_begin(struct replay *r, struct replay_device *dev,
                                        const struct replay_memory_place *place, enum replay_memory_contents contents,
                                        bool is_written, VkDeviceSize bytes,
                                        struct replay_overlay_buffer *own) LAP_MUST_CHECK;

/* Call it with the end of the planner. */
void replay_new_memory_finish(struct replay_device *dev);

#endif
