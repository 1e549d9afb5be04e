/* SPDX-License-Identifier: MIT */
/*
 * sparse: objects that vkQueueBindSparse gives their memory, page by page (docs/memory.md, "Sparse objects in a
 * replay"). For each memory of the program that such binds name there is one here, of the same size, so that the same
 * pages are shared, come back and keep their contents as they did. Objects whose blocks or tiles are others on this
 * host have memory of their own for all of their bytes. One thread.
 */
#ifndef LAP_REPLAYER_SPARSE_H
#define LAP_REPLAYER_SPARSE_H

#include "replayer/resource.h"

/* With the object that it is of; also for none. */
void replay_sparse_destroy(struct replay *r, struct replay_sparse **sparse);
/* With the device: all memory that the trace did not free. */
void replay_sparse_finish(struct replay *r, struct replay_device *dev);

/* When a memory of the program came to be known, by replay.next_order; 0: it is not. */
uint64_t replay_sparse_memory_order(const struct replay_device *dev, uint64_t index);

/* Whether bytes of a buffer lie in pages (pages), and not in its place. */
bool replay_sparse_has_pages(const struct replay_buffer *buffer);
/* What the host wrote goes to the pages that lie there by the binds that were submitted so far, whether or not the
 * queue has got to them. */
enum lap_status replay_sparse_write(struct replay *r, struct replay_device *dev, const struct replay_buffer *buffer,
                                    VkDeviceSize offset, const void *data, size_t bytes) LAP_MUST_CHECK;
/* *out_data: a copy that is valid until the next packet. What is bound nowhere reads as zeroes. */
enum lap_status replay_sparse_read(struct replay *r, struct replay_device *dev, const struct replay_buffer *buffer,
                                   VkDeviceSize offset, size_t bytes, const void **out_data) LAP_MUST_CHECK;

#endif
