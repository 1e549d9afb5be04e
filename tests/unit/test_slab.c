/* SPDX-License-Identifier: MIT */
#include "base/slab.h"
#include "tests/unit/unit.h"

#define PIECES 1000u

UNIT_TEST(pieces_are_disjoint_and_aligned)
{
    struct lap_slab slab;
    lap_slab_init(&slab, 48);
    unsigned char *pieces[PIECES];
    for (unsigned i = 0; i < PIECES; i++) {
        pieces[i] = lap_slab_alloc(&slab);
        CHECK(pieces[i] && (uintptr_t)pieces[i] % _Alignof(max_align_t) == 0);
        if (!pieces[i])
            return;
        memset(pieces[i], (int)(i & 0xff), 48);
    }
    bool intact = true;
    for (unsigned i = 0; i < PIECES; i++)
        for (unsigned j = 0; j < 48; j++)
            intact &= pieces[i][j] == (unsigned char)(i & 0xff);
    CHECK(intact);
    lap_slab_finish(&slab);
}

UNIT_TEST(freed_pieces_are_reused)
{
    struct lap_slab slab;
    lap_slab_init(&slab, 32);
    void *first = lap_slab_alloc(&slab), *second = lap_slab_alloc(&slab);
    CHECK(first && second && first != second);
    lap_slab_free(&slab, first);
    lap_slab_free(&slab, NULL);
    CHECK(lap_slab_alloc(&slab) == first);
    lap_slab_free(&slab, second);
    lap_slab_free(&slab, first);
    CHECK(lap_slab_alloc(&slab) == first);
    CHECK(lap_slab_alloc(&slab) == second);
    /* Many that come and go one by one take no more blocks. */
    struct lap_slab_block *blocks = slab.blocks;
    for (unsigned i = 0; i < PIECES; i++)
        lap_slab_free(&slab, lap_slab_alloc(&slab));
    CHECK(slab.blocks == blocks);
    lap_slab_finish(&slab);
    lap_slab_finish(&slab);
    slab = (struct lap_slab){0};
    lap_slab_finish(&slab);
}

UNIT_MAIN();
