/* SPDX-License-Identifier: MIT */
/*
 * sparse: objects to which vkQueueBindSparse binds memory, page by page (docs/memory.md, "Sparse objects in a replay").
 * Each memory of the program in such binds has a memory of the same size in the replay, so that sharing, rebinding and
 * contents of pages are as recorded. Objects with other blocks or tiles on the replay device have memory of their own
 * for all of their bytes. One thread.
 */
#ifndef LAP_REPLAYER_SPARSE_SPARSE_H
#define LAP_REPLAYER_SPARSE_SPARSE_H

#include "replayer/memory/resource.h"

/* Call it at the end of the object; also for NULL. */
void replay_sparse_destroy(struct replay *r, struct replay_sparse **sparse);
/* Frees all remaining memory. Call it at the end of the device. */
void replay_sparse_finish(struct replay *r, struct replay_device *dev);

/* The creation time of a memory of the program, by replay.next_order; 0: unknown. */
uint64_t replay_sparse_memory_order(const struct replay_device *dev, uint64_t index);

/* Whether the replay has bound memory to some of the object; also for NULL. */
bool replay_sparse_is_bound(const struct replay_sparse *sparse);

/* Whether bytes of a buffer are in sparse pages, and not in its place. */
bool replay_sparse_has_pages(const struct replay_buffer *buffer);
/* *out_data: a copy that is valid until the next packet. Unbound bytes read as zeroes. */
enum lap_status replay_sparse_read(struct replay *r, struct replay_device *dev, const struct replay_buffer *buffer,
                                   VkDeviceSize offset, size_t bytes, const void **out_data) LAP_MUST_CHECK;

/* Replays a host write to a sparse or other buffer. */
enum lap_status replay_buffer_write(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                    struct replay_buffer *record, VkDeviceSize offset, const void *data,
                                    size_t bytes) LAP_MUST_CHECK;

#endif
