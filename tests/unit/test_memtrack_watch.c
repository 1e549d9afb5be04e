/* SPDX-License-Identifier: MIT */
/* The tracker and its write watches. */
#include "tests/unit/memtrack.h"

UNIT_TEST(a_watch_says_what_it_is)
{
    static const char *const names[] = {
        [LAP_WATCH_PAGEMAP] = "pagemap", [LAP_WATCH_MPROTECT] = "mprotect", [LAP_WATCH_COMPARE] = "compare"};
    struct lap_memtrack_options options = {.watch = (enum lap_watch_kind)77};
    for (unsigned i = LAP_WATCH_PAGEMAP; i <= LAP_WATCH_COMPARE; i++) {
        bool works;
        begin_with(COHERENT, (enum lap_watch_kind)i);
        works = strcmp(lap_memtrack_watch_name(tracker), names[i]) == 0;
        CHECK(works || strcmp(lap_memtrack_watch_name(tracker), "compare") == 0);
        CHECK(strstr(lap_memtrack_watch_reason(tracker), works ? "asked for" : names[i]) != NULL);
        end();
    }
    /* It breaks read(2), so it has to be asked for. */
    begin_with(COHERENT, LAP_WATCH_AUTO);
    CHECK(strcmp(lap_memtrack_watch_name(tracker), "mprotect") != 0);
    end();
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_ERROR_ARGUMENT);
    CHECK(tracker == NULL);
    lap_memtrack_destroy(&tracker);
}

/* ---- a watch that is told what was written ---- */

static struct {
    unsigned char *begin;
    size_t bytes;
    bool dirty[MEM / 4096 + 1];
    unsigned armed, reported;
    bool broken;
} told;

static enum lap_status told_arm(void *context, void *begin, size_t bytes, void **out_region)
{
    CHECK(context == &told);
    if (told.broken)
        return LAP_ERROR_UNSUPPORTED;
    told.begin = begin;
    told.bytes = bytes;
    told.armed++;
    *out_region = &told;
    return LAP_OK;
}

static enum lap_status told_take(void *region, const void *begin, size_t bytes, lap_watch_report_fn report,
                                 void *context)
{
    size_t first = (size_t)((const unsigned char *)begin - told.begin);
    CHECK(region == &told);
    for (size_t page = first / 4096; page * 4096 < first + bytes; page++) {
        size_t page_end = (page + 1) * 4096 < told.bytes ? (page + 1) * 4096 : told.bytes;
        if (!told.dirty[page])
            continue;
        told.dirty[page] = false;
        told.reported++;
        report(context, told.begin + page * 4096, page_end - page * 4096);
    }
    return told.broken ? LAP_ERROR_IO : LAP_OK;
}

static void told_disarm(void *region)
{
    told.armed--;
}

static const struct lap_watch_ops told_ops = {
    .name = "told", .exact = true, .arm = told_arm, .take = told_take, .disarm = told_disarm};

static void begin_told(void)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_AUTO};
    memset(&told, 0, sizeof(told));
    kind = LAP_WATCH_COMPARE;
    begin();
    lap_memtrack_destroy(&tracker);
    CHECK_EQ_INT(lap_memtrack_create_watched(&options, &told_ops, &told, "for a test", &tracker), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, COHERENT, &mem), LAP_OK);
}

static void poke(size_t at, unsigned char value)
{
    store[at] = value;
    told.dirty[at / 4096] = true;
}

UNIT_TEST(a_watch_narrows_what_is_read)
{
    begin_told();
    struct lap_memobj *a = object_at(0, 0, 8192);
    CHECK_STR(lap_memtrack_watch_name(tracker), "told");
    map(0, MEM);
    CHECK_EQ_U64(told.armed, 1);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 0);
    poke(10, 1);
    poke(3000, 2);
    collect_range(a, 0, 100, false); /* the page is taken; its far part is remembered */
    CHECK_EQ_U64(stats.scanned_bytes, 100);
    CHECK_EQ_U64(copies[0].received, 1);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 4096 - 100);
    CHECK_EQ_U64(copies[0].received, 2);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 0);
    poke(8000, 3);
    poke(20000, 4);
    lap_mem_unmap(mem);
    CHECK_EQ_U64(told.armed, 0);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 8192);
    CHECK_EQ_U64(copies[0].received, 3);
    end();
}

UNIT_TEST(a_watch_that_fails_means_comparing)
{
    begin_told();
    object_at(0, 0, MEM);
    map(0, MEM);
    store[5000] = 1; /* the watch knows nothing, and says that it failed */
    told.broken = true;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1);
    lap_mem_unmap(mem);
    map(0, MEM); /* can't be armed */
    store[6000] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    CHECK_EQ_U64(told.armed, 0);
    end();
}

UNIT_MAIN();
