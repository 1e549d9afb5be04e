/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "tests/unit/unit.h"

UNIT_TEST(memory_is_aligned_and_disjoint)
{
    struct lap_arena arena;
    lap_arena_init(&arena, 0);
    unsigned char *at[500];
    size_t sizes[500];
    for (size_t i = 0; i < 500; i++) {
        size_t align = (size_t)1 << (i % 7);
        sizes[i] = 1 + i * 37 % 3000;
        at[i] = lap_arena_alloc(&arena, sizes[i], align);
        CHECK(at[i] && ((uintptr_t)at[i] & (align - 1)) == 0);
        if (!at[i])
            return;
        memset(at[i], (int)(i & 0xff), sizes[i]);
    }
    bool intact = true;
    for (size_t i = 0; i < 500; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            intact &= at[i][j] == (unsigned char)(i & 0xff);
    CHECK(intact);
    lap_arena_finish(&arena);
}

UNIT_TEST(a_reset_reuses_the_memory)
{
    struct lap_arena arena;
    lap_arena_init(&arena, 0);
    for (int i = 0; i < 1000; i++)
        CHECK(lap_arena_alloc(&arena, 1000, 8));
    CHECK(lap_arena_used_bytes(&arena) >= 1000000);
    lap_arena_reset(&arena);
    CHECK_EQ_U64(lap_arena_used_bytes(&arena), 0);
    void *first = lap_arena_alloc(&arena, 100, 8);
    lap_arena_reset(&arena);
    CHECK(first && lap_arena_alloc(&arena, 100, 8) == first);
    lap_arena_finish(&arena);
}

UNIT_TEST(a_huge_request_is_freed_by_a_reset)
{
    struct lap_arena arena;
    lap_arena_init(&arena, 0);
    unsigned char *small = lap_arena_alloc(&arena, 10, 1);
    unsigned char *huge = lap_arena_alloc(&arena, 8u << 20, 64);
    CHECK(small && huge);
    if (huge)
        huge[(8u << 20) - 1] = 1;
    lap_arena_reset(&arena);
    CHECK(lap_arena_alloc(&arena, 10, 1));
    lap_arena_finish(&arena);
}

UNIT_TEST(sizes_that_no_memory_has_are_refused)
{
    struct lap_arena arena;
    lap_arena_init(&arena, 0);
    CHECK(lap_arena_alloc(&arena, 1, 1));
    for (size_t bytes = SIZE_MAX - 16; bytes > SIZE_MAX - 17; bytes++) /* up to SIZE_MAX, and no further */
        CHECK(!lap_arena_alloc(&arena, bytes, 8));
    CHECK(!lap_arena_alloc(&arena, PTRDIFF_MAX, 8));
    unsigned char *next = lap_arena_alloc(&arena, 1, 1);
    CHECK(next && (uintptr_t)lap_arena_alloc(&arena, 8, 8) == (uintptr_t)next + 8);
    lap_arena_finish(&arena);
}

UNIT_TEST(a_request_beyond_the_limit_is_refused)
{
    struct lap_arena arena;
    lap_arena_init(&arena, 1000);
    CHECK(lap_arena_alloc(&arena, 600, 1));
    CHECK(!lap_arena_alloc(&arena, 600, 1));
    CHECK(!lap_arena_is_full(&arena, 400) && lap_arena_is_full(&arena, 401));
    CHECK(lap_arena_alloc(&arena, 400, 1));
    CHECK(!lap_arena_alloc(&arena, 1, 1));
    CHECK(lap_arena_is_full(&arena, 1) && lap_arena_is_full(&arena, SIZE_MAX));
    CHECK(lap_arena_used_bytes(&arena) <= 1000);
    lap_arena_reset(&arena);
    CHECK(lap_arena_alloc(&arena, 1000, 1));
    CHECK(!lap_arena_alloc(&arena, 1, 1));
    CHECK(!lap_arena_alloc(&arena, SIZE_MAX, 1));
    lap_arena_finish(&arena);
    lap_arena_init(&arena, 100);
    CHECK(!lap_arena_alloc(&arena, 101, 64));
    lap_arena_finish(&arena);
}

UNIT_TEST(products_that_overflow_are_refused)
{
    struct lap_arena arena;
    lap_arena_init(&arena, 0);
    CHECK(!lap_arena_is_full(&arena, SIZE_MAX)); /* without a limit it never is */
    CHECK(!lap_arena_zalloc(&arena, SIZE_MAX / 2, 3, 8));
    CHECK(!lap_arena_alloc(&arena, SIZE_MAX, 1));
    CHECK(!lap_arena_alloc(&arena, SIZE_MAX - 200, 64));
    unsigned char *zeroed = lap_arena_alloc(&arena, 64, 1);
    memset(zeroed, 0xff, 64);
    lap_arena_reset(&arena);
    zeroed = lap_arena_zalloc(&arena, 8, 8, 1);
    bool zero = zeroed != NULL;
    for (int i = 0; zero && i < 64; i++)
        zero = zeroed[i] == 0;
    CHECK(zero);
    lap_arena_finish(&arena);
}

UNIT_TEST(finish_accepts_what_was_never_set_up)
{
    struct lap_arena arena;
    memset(&arena, 0, sizeof(arena));
    lap_arena_finish(&arena);
    lap_arena_finish(&arena);
    CHECK(lap_arena_alloc(&arena, 0, 1) != NULL);
    CHECK(lap_arena_alloc(&arena, 5, 1) != NULL);
    lap_arena_finish(&arena);
}

UNIT_MAIN();
