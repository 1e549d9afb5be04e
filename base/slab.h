/* SPDX-License-Identifier: MIT */
/*
 * slab: pieces of memory of one size, for records that come and go by the thousand. Freed pieces are reused, last
 * first; all memory is freed at once, at the end. One thread at a time.
 */
#ifndef LAP_BASE_SLAB_H
#define LAP_BASE_SLAB_H

#include <stddef.h>

struct lap_slab_block;

struct lap_slab {
    void *free; /* each piece begins with a pointer to the next */
    size_t piece_bytes;
    struct lap_slab_block *blocks;
};

/* piece_bytes: at least a pointer's, and a multiple of the pieces' alignment, at most max_align_t's. */
void lap_slab_init(struct lap_slab *slab, size_t piece_bytes);
void lap_slab_finish(struct lap_slab *slab); /* also for a zeroed one */

void *lap_slab_alloc_slow(struct lap_slab *slab);

/* Uninitialised; NULL without memory. */
static inline void *lap_slab_alloc(struct lap_slab *slab)
{
    void *piece = slab->free;
    if (__builtin_expect(piece == NULL, 0))
        return lap_slab_alloc_slow(slab);
    slab->free = *(void **)piece;
    return piece;
}

/* piece: of this slab, or NULL. */
static inline void lap_slab_free(struct lap_slab *slab, void *piece)
{
    if (!piece)
        return;
    *(void **)piece = slab->free;
    slab->free = piece;
}

#endif
