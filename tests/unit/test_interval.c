/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "base/process/sanitizers.h"
#include "memtrack/interval.h"
#include "tests/unit/unit.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t random_below(uint64_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % limit;
}

static void check_is(const struct lap_interval *set, const uint64_t *expected, unsigned count)
{
    uint64_t begin, end, from = 0;
    unsigned found = 0;
    while (lap_interval_next(set, from, &begin, &end)) {
        if (found < count) {
            CHECK_EQ_U64(begin, expected[2 * found]);
            CHECK_EQ_U64(end, expected[2 * found + 1]);
        }
        found++;
        from = end;
    }
    CHECK_EQ_U64(found, count);
    CHECK_EQ_U64(set->count, count);
}

UNIT_TEST(ranges_that_touch_are_joined)
{
    struct lap_interval set = {0};
    CHECK(lap_interval_empty(&set));
    CHECK(lap_interval_add(&set, 10, 20));
    CHECK(lap_interval_add(&set, 30, 40));
    CHECK(lap_interval_add(&set, 41, 50));
    check_is(&set, (uint64_t[]){10, 20, 30, 40, 41, 50}, 3);
    CHECK(lap_interval_add(&set, 20, 30));
    check_is(&set, (uint64_t[]){10, 40, 41, 50}, 2);
    CHECK(lap_interval_add(&set, 0, UINT64_MAX));
    check_is(&set, (uint64_t[]){0, UINT64_MAX}, 1);
    CHECK(lap_interval_add(&set, 7, 7));
    CHECK(lap_interval_add(&set, 9, 3));
    check_is(&set, (uint64_t[]){0, UINT64_MAX}, 1);
    lap_interval_finish(&set);
}

UNIT_TEST(ends_middles_and_whole_ranges_are_removed)
{
    struct lap_interval set = {0};
    CHECK(lap_interval_remove(&set, 0, UINT64_MAX));
    CHECK(lap_interval_add(&set, 10, 100));
    CHECK(lap_interval_remove(&set, 40, 50));
    check_is(&set, (uint64_t[]){10, 40, 50, 100}, 2);
    CHECK(lap_interval_remove(&set, 0, 15));
    CHECK(lap_interval_remove(&set, 90, 200));
    check_is(&set, (uint64_t[]){15, 40, 50, 90}, 2);
    CHECK(lap_interval_remove(&set, 40, 50));
    check_is(&set, (uint64_t[]){15, 40, 50, 90}, 2);
    CHECK(lap_interval_remove(&set, 30, 60));
    check_is(&set, (uint64_t[]){15, 30, 60, 90}, 2);
    CHECK(lap_interval_remove(&set, 0, UINT64_MAX));
    check_is(&set, NULL, 0);
    CHECK(lap_interval_empty(&set));
    lap_interval_finish(&set);
}

UNIT_TEST(first_in_and_first_hole_cut_to_the_question)
{
    struct lap_interval set = {0};
    uint64_t begin = 0, end = 0;
    CHECK(lap_interval_add(&set, 10, 20) && lap_interval_add(&set, 30, 40));
    CHECK(lap_interval_first_in(&set, 15, 35, &begin, &end) && begin == 15 && end == 20);
    CHECK(lap_interval_first_in(&set, 20, 35, &begin, &end) && begin == 30 && end == 35);
    CHECK(!lap_interval_first_in(&set, 20, 30, &begin, &end));
    CHECK(lap_interval_first_hole(&set, 15, 35, &begin, &end) && begin == 20 && end == 30);
    CHECK(lap_interval_first_hole(&set, 0, 35, &begin, &end) && begin == 0 && end == 10);
    CHECK(lap_interval_first_hole(&set, 35, 60, &begin, &end) && begin == 40 && end == 60);
    CHECK(!lap_interval_first_hole(&set, 31, 40, &begin, &end));
    CHECK(lap_interval_intersects(&set, 19, 20) && !lap_interval_intersects(&set, 20, 30));
    lap_interval_finish(&set);
}

/* Every answer against a plain array of bytes. */
UNIT_TEST(ranges_agree_with_a_bitmap)
{
    enum { SIZE = 700 };
    static bool model[SIZE];
    struct lap_interval set = {0};
    memset(model, 0, sizeof(model));
    for (unsigned step = 0; step < 60000 && !unit_failed; step++) {
        uint64_t begin = random_below(SIZE), end = begin + random_below(step % 7 == 0 ? 200 : 9);
        uint64_t from, to;
        bool add = random_below(2) != 0, covered;
        unsigned ranges = 0;
        if (end > SIZE)
            end = SIZE;
        CHECK(add ? lap_interval_add(&set, begin, end) : lap_interval_remove(&set, begin, end));
        if (begin < end)
            memset(model + begin, add, end - begin);
        if (random_below(1000) == 0) {
            lap_interval_clear(&set);
            memset(model, 0, sizeof(model));
        }
        from = random_below(SIZE);
        covered = lap_interval_first_in(&set, from, SIZE, &begin, &end);
        for (to = from; to < SIZE && !model[to]; to++)
            ;
        CHECK_EQ_INT(covered, to < SIZE);
        if (covered) {
            CHECK_EQ_U64(begin, to);
            while (to < SIZE && model[to])
                to++;
            CHECK_EQ_U64(end, to);
        }
        covered = lap_interval_first_hole(&set, from, SIZE, &begin, &end);
        for (to = from; to < SIZE && model[to]; to++)
            ;
        CHECK_EQ_INT(covered, to < SIZE);
        if (covered) {
            CHECK_EQ_U64(begin, to);
            while (to < SIZE && !model[to])
                to++;
            CHECK_EQ_U64(end, to);
        }
        for (unsigned i = 0; i < SIZE; i++)
            ranges += model[i] && (i == 0 || !model[i - 1]);
        CHECK_EQ_U64(set.count, ranges);
    }
    lap_interval_finish(&set);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A million ranges in random order take a second or so; anything quadratic would take hours. */
UNIT_TEST(a_million_ranges_are_held)
{
    enum { COUNT = 1000000 };
    struct lap_interval set = {0};
    double start = seconds();
    uint64_t begin = 0, end = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t slot = i * 611953 % COUNT; /* coprime: every slot once */
        if (!lap_interval_add(&set, slot * 10, slot * 10 + 5)) {
            CHECK(false);
            break;
        }
    }
    CHECK_EQ_U64(set.count, COUNT);
    for (uint64_t i = 0; i < COUNT; i += 1000) {
        CHECK(lap_interval_first_in(&set, i * 10 + 2, i * 10 + 30, &begin, &end));
        CHECK(begin == i * 10 + 2 && end == i * 10 + 5);
    }
    for (uint64_t i = 0; i < COUNT; i++)
        CHECK(lap_interval_remove(&set, (i * 350377 % COUNT) * 10, (i * 350377 % COUNT) * 10 + 5));
    CHECK(lap_interval_empty(&set));
    CHECK(seconds() - start < 60);
    lap_interval_finish(&set);
}

/* Of the heap. Counted where it is the C library's; 0 elsewhere. */
static uint64_t heap_bytes(void)
{
#if LAP_ADDRESS_SANITIZER || !defined(__GLIBC__)
    return 0;
#else
    return mallinfo2().uordblks + mallinfo2().hblkhd;
#endif
}

/* However it was filled and emptied, a set takes memory for what it has, and no quadratic time. */
UNIT_TEST(memory_follows_the_number_of_ranges)
{
    enum { COUNT = 1000000 };
    /* Ascending, as scans add them, from both ends inwards, and out of the middle of one range. */
    for (unsigned way = 0; way < 3; way++) {
        struct lap_interval set = {0};
        double start = seconds();
        const uint64_t before = heap_bytes();
        if (way == 2)
            CHECK(lap_interval_add(&set, 0, COUNT * 4 + 1));
        for (uint64_t i = 0; i < COUNT; i++) {
            uint64_t at = way == 1 ? (i & 1 ? 10000000 - i * 4 : i * 4) : i * 4;
            CHECK(way == 2 ? lap_interval_remove(&set, at + 2, at + 4) : lap_interval_add(&set, at, at + 2));
        }
        CHECK_EQ_U64(set.count, way == 2 ? COUNT + 1 : COUNT);
        CHECK(heap_bytes() - before < 48ull * COUNT);
        for (uint64_t i = 0; i < COUNT; i++) /* one of 64 stays */
            if (i % 64)
                CHECK(lap_interval_remove(&set, way == 1 && i & 1 ? 10000000 - i * 4 : i * 4,
                                          (way == 1 && i & 1 ? 10000000 - i * 4 : i * 4) + 2));
        CHECK(set.count <= COUNT / 64 + 2);
        CHECK(heap_bytes() - before < 8ull * COUNT);
        CHECK(lap_interval_remove(&set, 0, UINT64_MAX));
        CHECK(heap_bytes() - before < 4096);
        CHECK(seconds() - start < 60);
        lap_interval_finish(&set);
    }
}

/* Ascending ranges with gaps below `gap`. Returns where they end. */
static uint64_t random_spans(struct lap_span *spans, size_t count, uint64_t at, uint64_t gap)
{
    for (size_t i = 0; i < count; i++) {
        spans[i].begin = at + random_below(gap);
        spans[i].end = at = spans[i].begin + 1 + random_below(6);
    }
    return at;
}

static void check_same(const struct lap_interval *a, const struct lap_interval *b)
{
    uint64_t begin = 0, end = 0, other_begin = 0, other_end = 0;
    CHECK_EQ_U64(a->count, b->count);
    while (lap_interval_next(a, end, &begin, &end) && !unit_failed) {
        CHECK(lap_interval_next(b, other_end, &other_begin, &other_end));
        CHECK(begin == other_begin && end == other_end);
    }
    CHECK(!lap_interval_next(b, other_end, &other_begin, &other_end));
}

/* Dense and sparse ones, in sets with fewer and many more ranges, of which the first and the last are cut. */
UNIT_TEST(many_changes_at_once_are_the_same_one_by_one)
{
    enum { MOST = 1500 };
    static struct lap_span at[MOST];
    struct lap_interval set = {0}, model = {0};
    for (unsigned step = 0; step < 12000 && !unit_failed; step++) {
        struct lap_spans spans = {at, 1 + random_below(step % 5 ? 40 : MOST), 0, UINT64_MAX, 0};
        uint64_t end = random_spans(at, spans.count, random_below(step % 3 ? 30000 : 10), 1 + random_below(12));
        bool add = random_below(2) != 0, good = true;
        if (step % 2) {
            spans.begin = at[0].end - 1;
            spans.end = at[spans.count - 1].begin + 1;
        }
        if (step % 4 > 1 && spans.begin)
            spans.shift = random_below(2) ? random_below(500) : 0 - random_below(spans.begin);
        CHECK(add ? lap_interval_add_all(&set, &spans) : lap_interval_remove_all(&set, &spans));
        for (size_t i = 0; i < spans.count; i++) {
            uint64_t from = (at[i].begin > spans.begin ? at[i].begin : spans.begin) + spans.shift;
            uint64_t to = (at[i].end < spans.end ? at[i].end : spans.end) + spans.shift;
            good &= add ? lap_interval_add(&model, from, to) : lap_interval_remove(&model, from, to);
        }
        if (step % 7 == 0) /* whatever leaves there are now */
            for (unsigned i = 0; i < 5; i++) {
                uint64_t from = random_below(end), to = from + random_below(50);
                good &= lap_interval_remove(&set, from, to) && lap_interval_remove(&model, from, to);
            }
        CHECK(good);
        check_same(&set, &model);
    }
    CHECK(set.count > 100);
    lap_interval_finish(&set);
    lap_interval_finish(&model);
}

UNIT_MAIN();
