/* SPDX-License-Identifier: MIT */
#include "replayer/sparse/sparse_pages.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

enum { SPAN = 4096 };

static char memories[3]; /* only their addresses count */

UNIT_TEST(a_range_lies_where_it_was_put_last)
{
    struct replay_sparse_pages pages = {0};
    struct replay_sparse_run run;

    CHECK(!replay_sparse_pages_find(&pages, 0, UINT64_MAX, &run));
    CHECK_EQ_INT(replay_sparse_pages_put(&pages, 100, 300, &memories[0], 1000), LAP_OK);
    CHECK(!replay_sparse_pages_find(&pages, 0, 100, &run));
    CHECK(!replay_sparse_pages_find(&pages, 400, 100, &run));
    CHECK(replay_sparse_pages_find(&pages, 0, 150, &run));
    CHECK(run.offset == 100 && run.bytes == 50 && run.memory == &memories[0] && run.memory_offset == 1000);
    CHECK(replay_sparse_pages_find(&pages, 150, 1000, &run));
    CHECK(run.offset == 150 && run.bytes == 250 && run.memory_offset == 1050);
    /* A piece in the middle leaves two. */
    CHECK_EQ_INT(replay_sparse_pages_put(&pages, 200, 100, &memories[1], 0), LAP_OK);
    CHECK_EQ_U64(pages.count, 3);
    CHECK(replay_sparse_pages_find(&pages, 150, 1000, &run) && run.bytes == 50 && run.memory_offset == 1050);
    CHECK(replay_sparse_pages_find(&pages, 200, 1000, &run) && run.memory == &memories[1] && run.bytes == 100);
    CHECK(replay_sparse_pages_find(&pages, 300, 1000, &run) && run.memory == &memories[0] && run.memory_offset == 1200);
    /* Nothing takes away; the rest of a run keeps its place. */
    CHECK_EQ_INT(replay_sparse_pages_put(&pages, 150, 100, NULL, 77), LAP_OK);
    CHECK(replay_sparse_pages_find(&pages, 150, 1000, &run) && run.offset == 250 && run.memory_offset == 50);
    replay_sparse_pages_drop(&pages, &memories[0]);
    CHECK_EQ_U64(pages.count, 1);
    CHECK(replay_sparse_pages_find(&pages, 0, UINT64_MAX, &run) && run.offset == 250 && run.bytes == 50);
    replay_sparse_pages_finish(&pages);
    CHECK_EQ_U64(pages.count, 0);
}

/* Against a model that knows each byte's place. */
UNIT_TEST(random_binds_agree_with_a_model)
{
    static const void *where[SPAN];
    static uint64_t offsets[SPAN];
    struct replay_sparse_pages pages = {0};
    unsigned seed = 5;

    memset(where, 0, sizeof where);
    srand(seed);
    for (unsigned step = 0; step < 2000; step++) {
        uint64_t offset = (unsigned)rand() % SPAN, bytes = (unsigned)rand() % (SPAN - offset);
        unsigned which = (unsigned)rand() % 4, place = (unsigned)rand() % 100000;
        void *memory = which < 3 ? &memories[which] : NULL;
        if (rand() % 50 == 0) {
            replay_sparse_pages_drop(&pages, &memories[0]);
            for (unsigned i = 0; i < SPAN; i++)
                where[i] = where[i] == &memories[0] ? NULL : where[i];
        }
        bytes = rand() % 2 ? bytes : bytes % 64;
        CHECK_EQ_INT(replay_sparse_pages_put(&pages, offset, bytes, memory, place), LAP_OK);
        for (uint64_t i = 0; i < bytes; i++) {
            where[offset + i] = memory;
            offsets[offset + i] = place + i;
        }
        for (uint64_t at = 0; at < SPAN;) {
            struct replay_sparse_run run = {.offset = SPAN};
            bool found = replay_sparse_pages_find(&pages, at, SPAN - at, &run);
            for (; at < run.offset; at++)
                if (where[at])
                    UNIT_FAIL("step %u: byte %" PRIu64 " is lost", step, at);
            for (uint64_t i = 0; found && i < run.bytes; i++, at++)
                if (where[at] != run.memory || offsets[at] != run.memory_offset + i)
                    UNIT_FAIL("step %u: byte %" PRIu64 " lies elsewhere", step, at);
        }
        for (size_t i = 1; i < pages.count; i++)
            CHECK(pages.runs[i - 1].offset + pages.runs[i - 1].bytes <= pages.runs[i].offset);
    }
    replay_sparse_pages_finish(&pages);
}

UNIT_TEST(ranges_of_whole_blocks_are_whole_blocks_where_blocks_are_no_larger)
{
    const struct replay_sparse_requirements large = {.bytes = 131072, .alignment = 65536},
                                            small = {.bytes = 102400, .alignment = 4096};
    const struct replay_sparse_requirements none = {0};

    CHECK(replay_sparse_blocks_fit(&large, &small));
    CHECK(replay_sparse_blocks_fit(&large, &large));
    CHECK(!replay_sparse_blocks_fit(&small, &large));
    CHECK(!replay_sparse_blocks_fit(&large, &none));
    CHECK(!replay_sparse_blocks_fit(&none, &large));
    /* 100 KiB end in the middle of a large block, and at the end of a small one. */
    CHECK_EQ_U64(replay_sparse_blocks_clip(&small, 65536, 65536), 102400 - 65536);
    CHECK_EQ_U64(replay_sparse_blocks_clip(&small, 0, 65536), 65536);
    CHECK_EQ_U64(replay_sparse_blocks_clip(&small, 131072, 65536), 0);
    CHECK_EQ_U64(replay_sparse_blocks_clip(&small, 4096, UINT64_MAX), 98304);
    CHECK_EQ_U64(replay_sparse_blocks_clip(&large, 0, 100), 65536);
}

UNIT_TEST(tiles_are_the_same_or_not)
{
    VkSparseImageMemoryRequirements a[2] = {
        {{VK_IMAGE_ASPECT_COLOR_BIT, {128, 128, 1}, 0}, 2, 65536, 1 << 20, 65536},
        {{VK_IMAGE_ASPECT_METADATA_BIT, {0, 0, 0}, 0}, 0, 4096, 2 << 20, 0},
    };
    VkSparseImageMemoryRequirements b[2];
    const struct replay_sparse_requirements recorded = {1 << 21, 65536, 2, a};
    struct replay_sparse_requirements here = {1 << 21, 65536, 2, b};

    memcpy(b, a, sizeof b);
    CHECK(replay_sparse_tiles_fit(&recorded, &here));
    b[0].formatProperties.imageGranularity.width = 256;
    CHECK(!replay_sparse_tiles_fit(&recorded, &here));
    memcpy(b, a, sizeof b);
    b[1].imageMipTailOffset += 4096;
    CHECK(!replay_sparse_tiles_fit(&recorded, &here));
    memcpy(b, a, sizeof b);
    here.aspect_count = 1;
    CHECK(!replay_sparse_tiles_fit(&recorded, &here));
    here.aspect_count = 2;
    here.bytes += 65536;
    CHECK(!replay_sparse_tiles_fit(&recorded, &here));
}

UNIT_MAIN();
