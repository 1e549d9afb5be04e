/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "memtrack/diff.h"
#include "tests/unit/unit.h"

static uint64_t seed = 42;

static unsigned random_below(unsigned limit)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % limit;
}

/* One byte at a time, as the header says it. */
static bool plain_next(const unsigned char *a, const unsigned char *b, size_t bytes, size_t from, size_t gap,
                       size_t *out_begin, size_t *out_end)
{
    while (from < bytes && a[from] == b[from])
        from++;
    if (from == bytes)
        return false;
    *out_begin = from;
    *out_end = from + 1;
    for (size_t at = from + 1; at < bytes; at++) {
        if (a[at] == b[at])
            continue;
        if (at - *out_end >= (gap ? gap : 1))
            break;
        *out_end = at + 1;
    }
    return true;
}

UNIT_TEST(equal_buffers_have_no_difference)
{
    unsigned char a[300] = {1, 2, 3}, b[300] = {1, 2, 3};
    size_t begin, end;
    for (size_t bytes = 0; bytes <= sizeof(a); bytes++)
        CHECK(!lap_diff_next(a, b, bytes, 0, 8, &begin, &end));
}

UNIT_TEST(each_single_byte_is_found)
{
    unsigned char a[300] = {0}, b[300] = {0};
    for (size_t at = 0; at < sizeof(a); at++) {
        size_t begin = 0, end = 0;
        a[at] = 0x80;
        CHECK(lap_diff_next(a, b, sizeof(a), 0, 8, &begin, &end));
        CHECK_EQ_U64(begin, at);
        CHECK_EQ_U64(end, at + 1);
        CHECK(!lap_diff_next(a, b, sizeof(a), end, 8, &begin, &end));
        CHECK(!lap_diff_next(a, b, at, 0, 8, &begin, &end));
        a[at] = 0;
    }
}

UNIT_TEST(gaps_shorter_than_asked_are_joined)
{
    unsigned char a[100] = {0}, b[100] = {0};
    size_t begin, end;
    a[10] = a[15] = 1; /* four equal bytes between */
    CHECK(lap_diff_next(a, b, 100, 0, 5, &begin, &end) && begin == 10 && end == 16);
    CHECK(lap_diff_next(a, b, 100, 0, 4, &begin, &end) && begin == 10 && end == 11);
    CHECK(lap_diff_next(a, b, 100, end, 4, &begin, &end) && begin == 15 && end == 16);
}

UNIT_TEST(differences_agree_with_a_plain_loop)
{
    static const size_t gaps[] = {0, 1, 2, 3, 6, 7, 8, 9, 14, 15, 16, 31, 32, 64, 100};
    unsigned char a[520], b[520];
    for (unsigned step = 0; step < 40000 && !unit_failed; step++) {
        size_t bytes = random_below(sizeof(a)), shift = random_below(8), gap = gaps[random_below(15)], from = 0;
        unsigned density = random_below(3) ? random_below(60) + 1 : 2;
        if (bytes + shift > sizeof(a))
            bytes = sizeof(a) - shift;
        for (size_t i = 0; i < sizeof(a); i++) {
            b[i] = (unsigned char)random_below(4);
            a[i] = random_below(density) ? b[i] : (unsigned char)(b[i] + 1 + random_below(255));
        }
        if (step % 4 == 0) /* one byte of each word, most of the time */
            for (size_t i = 0; i + 8 <= sizeof(a); i += 8) {
                memcpy(a + i, b + i, 8);
                if (random_below(30))
                    a[i + random_below(8)] ^= (unsigned char)(1 + random_below(255));
            }
        for (;;) {
            size_t begin = 1, end = 1, plain_begin = 2, plain_end = 2;
            bool found = lap_diff_next(a + shift, b + shift, bytes, from, gap, &begin, &end);
            CHECK_EQ_INT(found, plain_next(a + shift, b + shift, bytes, from, gap, &plain_begin, &plain_end));
            if (!found || unit_failed)
                break;
            CHECK_EQ_U64(begin, plain_begin);
            CHECK_EQ_U64(end, plain_end);
            from = end;
        }
    }
}

/* Every difference lies in a run, in each whole block of a run there is one, and runs ascend apart. */
static void check_blocks(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    size_t begin, end = 0, before = 0;
    while (lap_diff_next_blocks(a, b, bytes, end, &begin, &end)) {
        CHECK(begin % 64 == 0 && begin >= before && begin < end && end <= bytes && (end % 64 == 0 || end == bytes));
        CHECK(memcmp(a + before, b + before, begin - before) == 0);
        for (size_t at = begin; at + 64 <= end; at += 64)
            CHECK(memcmp(a + at, b + at, 64) != 0);
        before = end;
    }
    CHECK(memcmp(a + before, b + before, bytes - before) == 0);
}

UNIT_TEST(blocks_hold_all_differences)
{
    static unsigned char a[5000], b[5000];
    for (unsigned step = 0; step < 3000; step++) {
        size_t bytes = random_below(sizeof(a) - 8), shift = random_below(8);
        memcpy(a, b, sizeof(a));
        for (unsigned changes = random_below(12); changes; changes--) {
            size_t at = random_below(sizeof(a)), length = random_below(step % 2 ? 3 : 400);
            memset(a + at, (int)step | 1, length < sizeof(a) - at ? length : sizeof(a) - at);
        }
        check_blocks(a + shift, b + shift, bytes);
    }
}

UNIT_TEST(zeroes_are_known)
{
    unsigned char data[200] = {0};
    for (size_t bytes = 0; bytes <= sizeof(data); bytes++)
        CHECK(lap_diff_is_zero(data, bytes));
    for (size_t at = 0; at < sizeof(data); at++) {
        data[at] = 1;
        CHECK(!lap_diff_is_zero(data, sizeof(data)));
        CHECK(lap_diff_is_zero(data, at));
        data[at] = 0;
    }
}

UNIT_MAIN();
