/* SPDX-License-Identifier: MIT */
#include "memtrack/memtrack.h"
#include "tests/unit/unit.h"

static struct lap_memtrack *tracker;
static struct lap_memobj *a, *b;

static void begin(void)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE};
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, NULL, 1000, true, &a), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, NULL, 1000, true, &b), LAP_OK);
}

static void check_range(const struct lap_touched *touched, size_t index, const struct lap_memobj *object,
                        uint64_t offset, uint64_t bytes, bool written)
{
    CHECK(index < touched->count);
    if (index >= touched->count)
        return;
    CHECK(touched->ranges[index].object == object);
    CHECK_EQ_U64(touched->ranges[index].offset, offset);
    CHECK_EQ_U64(touched->ranges[index].bytes, bytes);
    CHECK_EQ_INT(touched->ranges[index].written, written);
}

UNIT_TEST(clamps_to_the_object)
{
    struct lap_touched touched;
    begin();
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, a, 900, UINT64_MAX, false));
    CHECK(lap_touched_add(&touched, b, 990, 20, true));
    CHECK(lap_touched_add(&touched, b, 1000, 1, true));
    CHECK(lap_touched_add(&touched, b, UINT64_MAX, UINT64_MAX, true));
    CHECK(lap_touched_add(&touched, b, 5, 0, true));
    CHECK_EQ_U64(touched.count, 2);
    check_range(&touched, 0, a, 900, 100, false);
    check_range(&touched, 1, b, 990, 10, true);
    lap_touched_finish(&touched);
    lap_memtrack_destroy(&tracker);
}

UNIT_TEST(seal_sorts_merges_and_keeps_written_apart)
{
    struct lap_touched touched;
    begin();
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, b, 500, 10, false));
    CHECK(lap_touched_add(&touched, a, 50, 50, true));
    CHECK(lap_touched_add(&touched, a, 200, 10, false));
    CHECK(lap_touched_add(&touched, a, 90, 10, false));
    CHECK(lap_touched_add(&touched, a, 0, 100, false));
    CHECK(lap_touched_add(&touched, b, 495, 5, false));
    lap_touched_seal(&touched);
    CHECK_EQ_U64(touched.count, 4);
    check_range(&touched, 0, a, 0, 100, false);
    check_range(&touched, 1, a, 200, 10, false);
    check_range(&touched, 2, a, 50, 50, true);
    check_range(&touched, 3, b, 495, 15, false);
    lap_touched_finish(&touched);
    lap_memtrack_destroy(&tracker);
}

UNIT_TEST(many_draws_of_the_same_ranges_stay_small)
{
    struct lap_touched touched;
    begin();
    lap_touched_init(&touched);
    for (unsigned draw = 0; draw < 100000; draw++)
        CHECK(lap_touched_add(&touched, draw & 1 ? a : b, draw % 10 * 100, 50, false));
    CHECK(touched.capacity <= 64);
    lap_touched_seal(&touched);
    CHECK_EQ_U64(touched.count, 10);
    lap_touched_finish(&touched);
    lap_memtrack_destroy(&tracker);
}

UNIT_TEST(append_takes_ranges_and_everything)
{
    struct lap_touched touched, more;
    begin();
    lap_touched_init(&touched);
    lap_touched_init(&more);
    CHECK(lap_touched_add(&more, a, 0, 10, false));
    CHECK(lap_touched_append(&touched, &more));
    CHECK(!touched.everything);
    more.everything = true;
    CHECK(lap_touched_append(&touched, &more));
    CHECK(touched.everything);
    CHECK_EQ_U64(touched.count, 1);
    lap_touched_reset(&touched);
    CHECK(touched.count == 0 && !touched.everything);
    lap_touched_finish(&touched);
    lap_touched_finish(&more);
    lap_memtrack_destroy(&tracker);
}

UNIT_MAIN();
