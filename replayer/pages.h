/* SPDX-License-Identifier: MIT */
/*
 * pages: where the parts of a sparse buffer lie, and whether blocks and tiles of the recorded machine are those of this
 * one. Makes no Vulkan calls, and does not know what a memory is. One thread.
 */
#ifndef LAP_REPLAYER_PAGES_H
#define LAP_REPLAYER_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/status.h"

/* Bytes of the object that lie side by side in one memory. */
struct replay_run {
    uint64_t offset, bytes;
    void *memory;
    uint64_t memory_offset;
};

/* Sorted by offset, without overlaps; zeroed is empty. */
struct replay_pages {
    struct replay_run *runs;
    size_t count, capacity;
};

/* The range lies there from now on (memory NULL: nowhere), wherever it was before. offset + bytes must not overflow. On
 * LAP_ERROR_MEMORY all is as it was. */
enum lap_status replay_pages_put(struct replay_pages *pages, uint64_t offset, uint64_t bytes, void *memory,
                                 uint64_t memory_offset) LAP_MUST_CHECK;
/* This memory is gone. */
void replay_pages_drop(struct replay_pages *pages, const void *memory);
/* The first part of the range that lies somewhere, as a run of its own; false when none does. */
bool replay_pages_find(const struct replay_pages *pages, uint64_t offset, uint64_t bytes, struct replay_run *out_run);
void replay_pages_finish(struct replay_pages *pages);

/* ---- blocks and tiles ---- */

/* What a driver says of a sparse object. */
struct replay_blocks {
    VkDeviceSize bytes, alignment; /* VkMemoryRequirements */
    uint32_t aspect_count;
    const VkSparseImageMemoryRequirements *aspects;
};

/* Whether ranges of whole blocks of a recorded buffer are whole blocks here. */
bool replay_blocks_fit(const struct replay_blocks *recorded, const struct replay_blocks *here);
/* Whether a recorded image's tiles, mip tail and size are the same here. */
bool replay_tiles_fit(const struct replay_blocks *recorded, const struct replay_blocks *here);
/* A recorded range of a buffer whose blocks fit, as whole blocks of this host: the end of the buffer may lie elsewhere.
 * Returns the bytes; 0 where the buffer has ended before. */
VkDeviceSize replay_blocks_clip(const struct replay_blocks *here, VkDeviceSize offset, VkDeviceSize bytes);

#endif
