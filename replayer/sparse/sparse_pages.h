/* SPDX-License-Identifier: MIT */
/*
 * sparse_pages: maps the parts of a sparse buffer to memory, and compares blocks and tiles of the recorded device with
 * those of the replay device. It makes no Vulkan calls, and treats memory as opaque. One thread.
 */
#ifndef LAP_REPLAYER_SPARSE_SPARSE_PAGES_H
#define LAP_REPLAYER_SPARSE_SPARSE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/status.h"

/* Bytes of the object that are contiguous in one memory. */
struct replay_sparse_run {
    uint64_t offset, bytes;
    void *memory;
    uint64_t memory_offset;
};

/* Sorted by offset, without overlaps; zeroed is empty. */
struct replay_sparse_pages {
    struct replay_sparse_run *runs;
    size_t count, capacity;
};

/* Binds a range (memory NULL: unbinds it), and replaces earlier binds. offset + bytes must not overflow.
 * LAP_ERROR_MEMORY changes nothing. */
enum lap_status replay_sparse_pages_put(struct replay_sparse_pages *pages, uint64_t offset, uint64_t bytes,
                                        void *memory, uint64_t memory_offset) LAP_MUST_CHECK;
/* Unbinds a freed memory. */
void replay_sparse_pages_drop(struct replay_sparse_pages *pages, const void *memory);
/* The first bound part of the range, as a run of its own; false: none is bound. */
bool replay_sparse_pages_find(const struct replay_sparse_pages *pages, uint64_t offset, uint64_t bytes,
                              struct replay_sparse_run *out_run);
void replay_sparse_pages_finish(struct replay_sparse_pages *pages);

/* ---- blocks and tiles ---- */

/* A driver's requirements for a sparse object. */
struct replay_sparse_requirements {
    VkDeviceSize bytes, alignment; /* VkMemoryRequirements */
    uint32_t aspect_count;
    const VkSparseImageMemoryRequirements *aspects;
};

/* Whether ranges of whole blocks of a recorded buffer are whole blocks on the replay device. */
bool replay_sparse_blocks_fit(const struct replay_sparse_requirements *recorded,
                              const struct replay_sparse_requirements *actual);
/* Whether a recorded image has the same tiles, mip tail and size on the replay device. */
bool replay_sparse_tiles_fit(const struct replay_sparse_requirements *recorded,
                             const struct replay_sparse_requirements *actual);
/* Rounds a recorded range of a buffer whose blocks fit to whole blocks on the replay device, where the buffer may
 * have another size. Returns the bytes; 0 where the range is behind the end of the buffer. */
VkDeviceSize replay_sparse_blocks_clip(const struct replay_sparse_requirements *actual, VkDeviceSize offset,
                                       VkDeviceSize bytes);

#endif
