/* SPDX-License-Identifier: MIT */
/* What a collect asks the watch for, of many memories at once: docs/memory.md, "Write watch". */
#include "tests/unit/memtrack.h"

#include <sys/mman.h>

enum { PAGE = 4096, PLACES = 48, PLACE = 3 * PAGE, STRIDE = 8 * PAGE, ARENA = PLACES * STRIDE };

/* Memories in one piece of the address space, with pages between them that are nobody's. */
static struct place {
    struct lap_mem *mem;
    struct lap_memobj *object;
    unsigned char *at, copy[PLACE];
} places[PLACES];
static unsigned char *arena;
static uint32_t state;

static uint32_t random_below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static enum lap_status receive(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    const struct place *place = user;
    CHECK(offset + bytes <= PLACE);
    memcpy(((struct place *)user)->copy + offset, data, bytes);
    return place->object ? LAP_OK : LAP_ERROR_ARGUMENT;
}

/* off: how far from a page's begin the memories lie, so that two have a page in common. */
static void begin_places(uint64_t stride, uint64_t off)
{
    struct lap_memtrack_options options = {.watch = kind};
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    arena = mmap(NULL, ARENA + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(arena != MAP_FAILED);
    memset(arena, 0, ARENA);
    memset(places, 0, sizeof(places));
    state = 1;
    for (unsigned i = 0; i < PLACES; i++) {
        struct place *place = &places[i * 7 % PLACES]; /* in no order */
        place->at = arena + i * stride + off;
        CHECK_EQ_INT(lap_mem_create(tracker, PLACE, COHERENT, &place->mem), LAP_OK);
        CHECK_EQ_INT(lap_memobj_create(tracker, place, PLACE, true, &place->object), LAP_OK);
        CHECK_EQ_INT(lap_memobj_bind(place->object, 0, place->mem, 0, PLACE), LAP_OK);
        CHECK_EQ_INT(lap_mem_map(place->mem, place->at, 0, PLACE), LAP_OK);
    }
}

static void end_places(void)
{
    lap_memtrack_destroy(&tracker);
    munmap(arena, ARENA + PAGE);
}

/* Those of which one in `of` is left out. */
static void collect_places(uint32_t of)
{
    struct lap_touched touched;
    lap_touched_init(&touched);
    for (unsigned i = 0; i < PLACES; i++)
        if (random_below(of))
            CHECK(lap_touched_add(&touched, places[i].object, random_below(2) * PAGE, UINT64_MAX, false));
    CHECK_EQ_INT(lap_memtrack_collect(tracker, &touched, receive, NULL, NULL, &stats), LAP_OK);
    lap_touched_finish(&touched);
}

static void check_places(void)
{
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, receive, NULL, NULL, &stats), LAP_OK);
    for (unsigned i = 0; i < PLACES; i++)
        CHECK_EQ_INT(memcmp(places[i].copy, places[i].at, PLACE), 0);
}

static void store_and_collect(void)
{
    for (unsigned round = 0; round < 300; round++) {
        for (unsigned stores = random_below(20); stores; stores--)
            places[random_below(PLACES)].at[random_below(PLACE)] = (unsigned char)random_below(256);
        arena[random_below(PLACES) * STRIDE + 5 * PAGE]++; /* what is between them, at times */
        collect_places(4);
        if (round % 50 == 0)
            check_places();
    }
    check_places();
}

RULE(stores_to_many_memories_are_found_at_once)
{
    begin_places(STRIDE, 0);
    store_and_collect();
    end_places();
}

RULE(the_same_where_they_touch_each_other)
{
    begin_places(PLACE, 0);
    store_and_collect();
    end_places();
}

RULE(the_same_where_they_share_pages)
{
    begin_places(PLACE, 1000);
    store_and_collect();
    end_places();
}

/* Each page that was stored to is found once: what one collect passes over is kept for the next. */
RULE(a_collect_reads_what_was_stored)
{
    if (!exact)
        SKIP("it reads all that is mapped");
    begin_places(STRIDE, 0);
    check_places();
    for (unsigned i = 0; i < PLACES; i++)
        places[i].at[PAGE + 1] = 1;
    collect_places(2);
    CHECK(stats.scanned_bytes <= PLACES * HOST_PAGE);
    check_places();
    CHECK(stats.scanned_bytes <= PLACES * HOST_PAGE);
    check_places();
    CHECK_EQ_U64(stats.scanned_bytes, 0);
    end_places();
}

static unsigned takes, taken_ranges;

static void count_take(struct lap_watch_range *ranges, size_t count, lap_watch_report_fn report)
{
    takes++;
    taken_ranges += (unsigned)count;
    lap_watch_pagemap.take_many(ranges, count, report);
}

UNIT_TEST(a_collect_asks_once)
{
    struct lap_watch_ops counting = lap_watch_pagemap;
    const char *missing = prepare(LAP_WATCH_PAGEMAP, "pagemap");
    if (missing)
        SKIP(missing);
    counting.take_many = count_take;
    begin_places(STRIDE, 0);
    tracker->watch = &counting;
    takes = taken_ranges = 0;
    for (unsigned i = 0; i < PLACES; i++)
        places[i].at[0] = 3;
    check_places();
    CHECK_EQ_U64(takes, 1);
    CHECK_EQ_U64(taken_ranges, PLACES);
    tracker->watch = &lap_watch_pagemap;
    end_places();
}

/* A driver that unmaps early: something else lies there, which nobody watches. */
RULE(memory_that_is_not_watched_any_more_is_compared)
{
    begin_places(STRIDE, 0);
    check_places();
    for (unsigned i = 3; i < PLACES; i += 9) {
        CHECK(mmap(places[i].at, PLACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
              places[i].at);
        if (kind != LAP_WATCH_MPROTECT)
            memset(places[i].at, 7, PLACE);
        places[i + 1].at[17] = 8;
    }
    for (unsigned i = 3; kind != LAP_WATCH_MPROTECT && i < PLACES; i += 9) {
        places[i].at[PAGE] = 9;
        check_places();
    }
    end_places();
}

UNIT_MAIN();
