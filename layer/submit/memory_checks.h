/* SPDX-License-Identifier: MIT */
/*
 * memory_checks: hashes in the trace of device writes to memory that the program can map (capture --verify). A check is
 * placed where the program learnt that the work is finished, or, if it could not see the bytes yet, at the map or
 * invalidate that shows them. There a replay has the same bytes.
 */
#ifndef LAP_LAYER_MEMORY_CHECKS_H
#define LAP_LAYER_MEMORY_CHECKS_H

#include "layer/submit/submission.h"

/* A range that a finished submit wrote. Later host writes there are left out. Under dev->submit.mutex, no packet
 * open. */
void layer_check_written(struct layer_device *dev, const struct layer_submission *submission,
                         const struct layer_written *written);

/* The contents of the range differ between runs. Under dev->submit.mutex. */
void layer_check_forget(struct layer_device *dev, const struct layer_written *written);

/* The program sees [offset, offset + bytes) of a memory as the device left it: after its packet of a map of coherent
 * memory, or of an invalidate. bytes may be VK_WHOLE_SIZE. Any thread, no packet open. */
void layer_check_visible(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize bytes);

/* Before the packet of a check: with capture --keep-bytes, writes the hashed bytes into the trace. */
void layer_check_bytes(struct layer_device *dev, const void *data, size_t bytes, uint64_t low, uint64_t high);

/* Counts a check that was written, for the trace's info. Any thread. */
void layer_check_count(enum lap_counter kind);

void layer_check_finish(struct layer_device *dev); /* frees the pending ranges */

#endif
