/* SPDX-License-Identifier: MIT */
#include "base/slab.h"

#include <stdlib.h>

#define BLOCK_PIECES 64u

struct lap_slab_block {
    struct lap_slab_block *next;
    _Alignas(max_align_t) unsigned char pieces[];
};

void lap_slab_init(struct lap_slab *slab, size_t piece_bytes)
{
    *slab = (struct lap_slab){.piece_bytes = piece_bytes};
}

void lap_slab_finish(struct lap_slab *slab)
{
    while (slab->blocks) {
        struct lap_slab_block *next = slab->blocks->next;
        free(slab->blocks);
        slab->blocks = next;
    }
    slab->free = NULL;
}

void *lap_slab_alloc_slow(struct lap_slab *slab)
{
    struct lap_slab_block *block = malloc(sizeof(*block) + BLOCK_PIECES * slab->piece_bytes);
    if (!block)
        return NULL;
    block->next = slab->blocks;
    slab->blocks = block;
    for (unsigned i = BLOCK_PIECES; i-- > 0;)
        lap_slab_free(slab, block->pieces + i * slab->piece_bytes);
    return lap_slab_alloc(slab);
}
