/* SPDX-License-Identifier: MIT */
/*
 * memory_checks: what the device wrote into memory that the program can map, as hashes in the trace (capture --verify).
 * A check stands where the program learnt that the work is finished, or, where it could not see the bytes yet, at the
 * map or invalidate that shows them: in a replay they are then the same.
 */
#ifndef LAP_LAYER_MEMORY_CHECKS_H
#define LAP_LAYER_MEMORY_CHECKS_H

#include "layer/submit/submission.h"

/* A range that a finished submit wrote. What the host stored there since is left out. Under dev->submit_mutex, no
 * packet open. */
void layer_check_written(struct layer_device *dev, const struct layer_submission *submission,
                         const struct layer_written *written);

/* The range holds something that is not the same in every run. Under dev->submit_mutex. */
void layer_check_forget(struct layer_device *dev, const struct layer_written *written);

/* The program sees [offset, offset + bytes) of a memory as the device left it: after its packet of a map of coherent
 * memory, or of an invalidate. bytes may be VK_WHOLE_SIZE. Any thread, no packet open. */
void layer_check_visible(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize bytes);

/* Before the packet of a check: with capture --keep-bytes what it is of goes into the trace. */
void layer_check_bytes(struct layer_device *dev, const void *data, size_t bytes, uint64_t low, uint64_t high);

/* A check is in the trace: for what the trace says of itself. Any thread. */
void layer_check_count(enum lap_counter kind);

void layer_check_finish(struct layer_device *dev); /* frees what is remembered */

#endif
