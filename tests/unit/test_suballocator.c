/* SPDX-License-Identifier: MIT */
#include "replayer/memory/suballocator.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#define MIB ((uint64_t)1 << 20)

/* Blocks are counted, and optionally refused above a size. */
struct owner {
    uint64_t blocks, made, bytes, refused_above;
    uint64_t next_bytes, max_bytes; /* of blocks: they double */
    enum lap_status failure;
};

struct block {
    uint64_t bytes;
};

static enum lap_status create_block(void *user, uint64_t bytes, void **out_block)
{
    struct owner *owner = user;
    struct block *block;

    if (owner->refused_above && bytes > owner->refused_above)
        return lap_fail(owner->failure, "refused");
    block = malloc(sizeof *block);
    if (!block)
        return LAP_ERROR_MEMORY;
    block->bytes = bytes;
    owner->blocks++;
    owner->made++;
    owner->bytes += bytes;
    *out_block = block;
    return LAP_OK;
}

static void destroy_block(void *user, void *opaque)
{
    struct owner *owner = user;
    struct block *block = opaque;
    owner->blocks--;
    owner->bytes -= block->bytes;
    free(block);
}

static uint64_t choose_block_bytes(void *user, uint64_t need_bytes, uint64_t held_bytes)
{
    struct owner *owner = user;
    uint64_t bytes = owner->next_bytes > need_bytes ? owner->next_bytes : need_bytes;

    if (bytes == owner->next_bytes && bytes < owner->max_bytes)
        owner->next_bytes *= 2;
    return bytes;
}

static struct replay_suballocator *create_suballocator(struct owner *owner, uint64_t granule, uint64_t first,
                                                       uint64_t max)
{
    struct replay_suballocator_options options = {granule, max, create_block, destroy_block, choose_block_bytes, owner};
    struct replay_suballocator *suballocator = NULL;

    owner->next_bytes = first;
    owner->max_bytes = max;
    CHECK_EQ_INT(replay_suballocator_create(&options, &suballocator), LAP_OK);
    return suballocator;
}

static uint64_t random_state = 1;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Between 1 and 2^max_bits, small ones as often as large ones. */
static uint64_t random_size(unsigned max_bits)
{
    return 1 + random_u64() % ((uint64_t)1 << (1 + random_u64() % max_bits));
}

static bool overlap(const struct replay_suballocator_range *a, const struct replay_suballocator_range *b)
{
    return a->block == b->block && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

UNIT_TEST(wrong_options_are_refused)
{
    struct owner owner = {0};
    struct replay_suballocator_options options = {64, MIB, create_block, destroy_block, choose_block_bytes, &owner};
    struct replay_suballocator *suballocator;

    options.granule_bytes = 0;
    CHECK_EQ_INT(replay_suballocator_create(&options, &suballocator), LAP_ERROR_ARGUMENT);
    options.granule_bytes = 96;
    CHECK_EQ_INT(replay_suballocator_create(&options, &suballocator), LAP_ERROR_ARGUMENT);
    options.granule_bytes = 64;
    options.max_block_bytes = 32;
    CHECK_EQ_INT(replay_suballocator_create(&options, &suballocator), LAP_ERROR_ARGUMENT);
    CHECK(suballocator == NULL);
    replay_suballocator_destroy(&suballocator);
}

UNIT_TEST(ranges_are_aligned_and_inside_their_block)
{
    struct owner owner = {0};
    struct replay_suballocator *suballocator = create_suballocator(&owner, 64, MIB, 8 * MIB);
    struct replay_suballocator_range ranges[32];

    for (unsigned i = 0; i < 32; i++) {
        uint64_t align = (uint64_t)1 << (i % 18);
        CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 1000 + i, align, &ranges[i]), LAP_OK);
        CHECK_EQ_U64(ranges[i].offset % align, 0);
        CHECK_EQ_U64(ranges[i].offset % 64, 0);
        CHECK_EQ_U64(ranges[i].bytes, (1000 + i + 63) / 64 * 64);
        CHECK(ranges[i].offset + ranges[i].bytes <= ((struct block *)ranges[i].block)->bytes);
        for (unsigned j = 0; j < i; j++)
            CHECK(!overlap(&ranges[i], &ranges[j]));
    }
    CHECK(replay_suballocator_valid(suballocator));
    CHECK_EQ_U64(replay_suballocator_stats(suballocator).ranges, 32);
    for (unsigned i = 0; i < 32; i++)
        replay_suballocator_free(suballocator, &ranges[i]);
    CHECK(ranges[0].chunk == NULL);
    replay_suballocator_free(suballocator, &ranges[0]); /* a zeroed one is nothing */
    CHECK(replay_suballocator_valid(suballocator));
    CHECK_EQ_U64(replay_suballocator_stats(suballocator).used_bytes, 0);
    replay_suballocator_destroy(&suballocator);
    CHECK_EQ_U64(owner.blocks, 0);
}

UNIT_TEST(what_can_not_be_given_out_is_refused)
{
    struct owner owner = {0};
    struct replay_suballocator *suballocator = create_suballocator(&owner, 64, MIB, MIB);
    struct replay_suballocator_range range;

    CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 0, 1, &range), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(replay_suballocator_alloc(suballocator, UINT64_MAX, 1, &range), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 1, 3, &range), LAP_ERROR_ARGUMENT);
    CHECK(range.chunk == NULL);
    replay_suballocator_destroy(&suballocator);
}

UNIT_TEST(blocks_grow_and_large_ranges_get_their_own)
{
    struct owner owner = {0};
    struct replay_suballocator *suballocator = create_suballocator(&owner, 64, MIB, 4 * MIB);
    struct replay_suballocator_range ranges[4], large;

    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 900 * 1024, 1, &ranges[i]), LAP_OK);
    CHECK_EQ_U64(owner.blocks, 3); /* 1 + 2 + 4 MiB hold 1 + 2 + 1 of them */
    CHECK_EQ_U64(owner.bytes, 7 * MIB);
    CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 20 * MIB + 1, 4096, &large), LAP_OK);
    CHECK_EQ_U64(owner.bytes, 27 * MIB + 64);
    replay_suballocator_free(suballocator, &large);
    for (int i = 0; i < 4; i++)
        replay_suballocator_free(suballocator, &ranges[i]);
    CHECK_EQ_U64(owner.blocks, 1);
    CHECK(replay_suballocator_valid(suballocator));
    replay_suballocator_destroy(&suballocator);
}

UNIT_TEST(an_empty_block_is_used_again)
{
    struct owner owner = {0};
    struct replay_suballocator *suballocator = create_suballocator(&owner, 256, MIB, MIB);
    struct replay_suballocator_range range;

    for (int i = 0; i < 1000; i++) {
        CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 1 + random_size(19), 256, &range), LAP_OK);
        replay_suballocator_free(suballocator, &range);
    }
    CHECK_EQ_U64(owner.made, 1);
    replay_suballocator_destroy(&suballocator);
}

UNIT_TEST(smaller_blocks_are_tried_when_memory_is_short)
{
    struct owner owner = {.refused_above = 300 * 1024, .failure = LAP_ERROR_MEMORY};
    struct replay_suballocator *suballocator = create_suballocator(&owner, 64, MIB, 4 * MIB);
    struct replay_suballocator_range range, other;

    CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 1000, 1, &range), LAP_OK);
    CHECK_EQ_U64(owner.bytes, 256 * 1024);
    CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 290 * 1024, 1, &other), LAP_OK);
    replay_suballocator_free(suballocator, &other);
    CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 400 * 1024, 1, &other), LAP_ERROR_MEMORY);
    CHECK(other.chunk == NULL);
    CHECK(replay_suballocator_valid(suballocator));
    owner.failure = LAP_ERROR_REPLAY;
    owner.refused_above = 1;
    CHECK_EQ_INT(replay_suballocator_alloc(suballocator, 400 * 1024, 1, &other), LAP_ERROR_REPLAY);
    replay_suballocator_free(suballocator, &range);
    CHECK(replay_suballocator_valid(suballocator));
    replay_suballocator_destroy(&suballocator);
    CHECK_EQ_U64(owner.blocks, 0);
}

/* As many bytes of a range as may hold what was there before, against a map of what was given out. */
UNIT_TEST(what_was_given_out_before_is_known)
{
    static struct replay_suballocator_range ranges[64];
    static bool used[MIB / 64];
    struct owner owner = {0};
    struct replay_suballocator *suballocator = create_suballocator(&owner, 64, MIB, MIB);

    memset(used, 0, sizeof used);
    random_state = 99;
    for (unsigned round = 0; round < 4000; round++) {
        struct replay_suballocator_range *range = &ranges[random_u64() % 64];
        uint64_t first, fresh = 0;
        if (range->chunk)
            replay_suballocator_free(suballocator, range);
        if (random_u64() % 3 == 0)
            continue;
        CHECK_EQ_INT(
            replay_suballocator_alloc(suballocator, random_size(13), (uint64_t)1 << (6 + random_u64() % 5), range),
            LAP_OK);
        CHECK_EQ_U64(owner.made, 1);
        CHECK(range->used_bytes <= range->bytes);
        first = range->offset / 64;
        for (uint64_t i = 0; i < range->bytes / 64; i++) {
            CHECK(!used[first + i] || i < range->used_bytes / 64);
            fresh += !used[first + i];
            used[first + i] = true;
        }
        /* What nobody had is not all counted as used: only the gaps that alignment left. */
        CHECK(fresh * 64 <= range->bytes - range->used_bytes + 1024 * 2);
    }
    for (unsigned i = 0; i < 64; i++)
        replay_suballocator_free(suballocator, &ranges[i]);
    replay_suballocator_destroy(&suballocator);
}

#define SLOTS 600

UNIT_TEST(random_churn_keeps_everything_apart)
{
    static struct replay_suballocator_range ranges[SLOTS];
    struct owner owner = {0};
    struct replay_suballocator *suballocator = create_suballocator(&owner, 64, 256 * 1024, 4 * MIB);
    uint64_t live = 0, peak = 0, peak_held = 0;

    random_state = 12345;
    for (int step = 0; step < 60000; step++) {
        struct replay_suballocator_range *range = &ranges[random_u64() % SLOTS];
        if (range->chunk) {
            live -= range->bytes;
            replay_suballocator_free(suballocator, range);
        } else {
            uint64_t align = (uint64_t)1 << random_u64() % 14;
            CHECK_EQ_INT(replay_suballocator_alloc(suballocator, random_size(18), align, range), LAP_OK);
            CHECK_EQ_U64(range->offset % align, 0);
            live += range->bytes;
        }
        if (live > peak)
            peak = live;
        if (owner.bytes > peak_held)
            peak_held = owner.bytes;
        if (step % 1000 == 0) {
            CHECK(replay_suballocator_valid(suballocator));
            for (int i = 0; i < SLOTS; i++)
                for (int j = 0; j < i; j++)
                    CHECK(!ranges[i].chunk || !ranges[j].chunk || !overlap(&ranges[i], &ranges[j]));
        }
    }
    CHECK_EQ_U64(replay_suballocator_stats(suballocator).used_bytes, live);
    /* Sizes over five decades and alignments up to 8 KiB: at most half as much again as was ever in use, and an empty
     * block. */
    if (peak_held > peak + peak / 2 + 4 * MIB)
        CHECK_EQ_U64(peak_held, peak);
    for (int i = 0; i < SLOTS; i++)
        replay_suballocator_free(suballocator, &ranges[i]);
    CHECK_EQ_U64(replay_suballocator_stats(suballocator).ranges, 0);
    CHECK_EQ_U64(owner.blocks, 1);
    CHECK(replay_suballocator_valid(suballocator));
    replay_suballocator_destroy(&suballocator);
    CHECK_EQ_U64(owner.blocks, 0);
}

UNIT_MAIN();
