/* SPDX-License-Identifier: MIT */
/*
 * pool: gives out ranges of a few large blocks. Makes no Vulkan calls: a block is whatever the owner's functions make.
 *
 * Two-level segregated fit (Masmano and others, 2004): free ranges lie in lists by size, sixteen lists for each power
 * of two, so that both allocation and release take constant time and a range that is given out wastes at most a
 * sixteenth by the choice of its list. Neighbouring free ranges become one. One empty block is kept, further ones are
 * given back, so a pool shrinks when its objects die. One thread.
 */
#ifndef LAP_REPLAYER_POOL_H
#define LAP_REPLAYER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct replay_pool_options {
    uint64_t granule_bytes;     /* a power of two: offsets and sizes are multiples of it */
    uint64_t first_block_bytes; /* blocks double in size from this ... */
    uint64_t max_block_bytes;   /* ... to this, except for a single allocation that needs more */
    /* Makes a block; LAP_ERROR_MEMORY makes the pool try smaller ones. Offset 0 of a block has every alignment. */
    enum lap_status (*create_block)(void *user, uint64_t bytes, void **out_block);
    void (*destroy_block)(void *user, void *block);
    /* How large a block had best be of which need_bytes are wanted at once; pool_bytes: of all blocks so far. At least
     * need_bytes and at most max_block_bytes are taken. NULL: they double. */
    uint64_t (*choose_block)(void *user, uint64_t need_bytes, uint64_t pool_bytes);
    void *user;
};

struct replay_pool;
struct replay_pool_chunk;

struct replay_pool_range {
    struct replay_pool_chunk *chunk; /* the pool's own; NULL: nothing */
    void *block;                     /* what create_block made */
    uint64_t offset, bytes;          /* bytes: what was asked for, rounded up to granules */
    uint64_t used_bytes;             /* so many from its first on may have been given out before */
};

struct replay_pool_stats {
    uint64_t blocks, block_bytes; /* held */
    uint64_t ranges, used_bytes;  /* given out */
};

enum lap_status replay_pool_create(const struct replay_pool_options *options,
                                   struct replay_pool **out_pool) LAP_MUST_CHECK;
/* Destroys all blocks, whether or not something in them is still in use. */
void replay_pool_destroy(struct replay_pool **pool);

/* bytes > 0; align is a power of two. On failure *out_range is zeroed: LAP_ERROR_MEMORY, or what create_block returned.
 */
enum lap_status replay_pool_alloc(struct replay_pool *pool, uint64_t bytes, uint64_t align,
                                  struct replay_pool_range *out_range) LAP_MUST_CHECK;
/* Whether that needs no further block. */
bool replay_pool_has_room(const struct replay_pool *pool, uint64_t bytes, uint64_t align);
/* Zeroes *range; does nothing for a zeroed one. */
void replay_pool_free(struct replay_pool *pool, struct replay_pool_range *range);

struct replay_pool_stats replay_pool_stats(const struct replay_pool *pool);
uint64_t replay_pool_largest_free(const struct replay_pool *pool); /* bytes of the largest free range */
/* Gives the empty block back that is kept. */
void replay_pool_trim(struct replay_pool *pool);

/* Destroys all blocks now, though something in them is in use still: that is given back later, and nothing is given out
 * any more. The figures have no blocks from then on. */
void replay_pool_abandon(struct replay_pool *pool);

/* Walks everything: neighbours join up, no two free ones touch, lists and bitmaps agree, sums are right. For tests. */
bool replay_pool_valid(const struct replay_pool *pool);

#endif
