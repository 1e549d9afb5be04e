/* SPDX-License-Identifier: MIT */
/*
 * suballocator: allocates ranges of a few large blocks. It makes no Vulkan calls: its owner's functions create and
 * destroy blocks.
 *
 * Two-level segregated fit (Masmano and others, 2004): free ranges lie in lists by size, sixteen lists for each power
 * of two, so both allocation and release take constant time, and the choice of the list wastes at most a sixteenth of a
 * range. Neighbouring free ranges merge. The suballocator retains one empty block and destroys further ones, so it
 * shrinks when objects end. One thread.
 */
#ifndef LAP_REPLAYER_MEMORY_POOL_H
#define LAP_REPLAYER_MEMORY_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct replay_suballocator_options {
    uint64_t granule_bytes;   /* a power of two: offsets and sizes are multiples of it */
    uint64_t max_block_bytes; /* except for a single range that needs more */
    /* Creates a block; after LAP_ERROR_MEMORY the suballocator tries smaller ones. Offset 0 of a block has every
     * alignment. */
    enum lap_status (*create_block)(void *user, uint64_t bytes, void **out_block);
    void (*destroy_block)(void *user, void *block);
    /* The best size for a new block, for a range of need_bytes; held_bytes: of all blocks so far. The result is
     * clamped to need_bytes and max_block_bytes. */
    uint64_t (*choose_block_bytes)(void *user, uint64_t need_bytes, uint64_t held_bytes);
    void *user;
};

struct replay_suballocator;
struct replay_suballocator_chunk;

struct replay_suballocator_range {
    struct replay_suballocator_chunk *chunk; /* the suballocator's own; NULL: nothing */
    void *block;                             /* of create_block */
    uint64_t offset, bytes;                  /* bytes: the request, rounded up to granules */
    uint64_t used_bytes;                     /* the first bytes of the range that may have been in use before */
};

struct replay_suballocator_stats {
    uint64_t blocks, block_bytes; /* held */
    uint64_t ranges, used_bytes;  /* allocated */
};

enum lap_status replay_suballocator_create(const struct replay_suballocator_options *options,
                                           struct replay_suballocator **out_pool) LAP_MUST_CHECK;
/* Destroys all blocks, also those in use. */
void replay_suballocator_destroy(struct replay_suballocator **suballocator);

/* bytes > 0; align is a power of two. On failure *out_range is zeroed: LAP_ERROR_MEMORY, or the status of
 * create_block. */
enum lap_status replay_suballocator_alloc(struct replay_suballocator *suballocator, uint64_t bytes, uint64_t align,
                                          struct replay_suballocator_range *out_range) LAP_MUST_CHECK;
/* Zeroes *range; does nothing for a zeroed one. */
void replay_suballocator_free(struct replay_suballocator *suballocator, struct replay_suballocator_range *range);

struct replay_suballocator_stats replay_suballocator_stats(const struct replay_suballocator *suballocator);
uint64_t
replay_suballocator_largest_free(const struct replay_suballocator *suballocator); /* bytes of the largest free range */
/* Destroys the retained empty block. */
void replay_suballocator_trim(struct replay_suballocator *suballocator);

/* Whether all invariants hold: ranges are adjacent, no two free ones touch, lists and bitmaps agree, sums are right.
 * For tests. */
bool replay_suballocator_valid(const struct replay_suballocator *suballocator);

#endif
