/* SPDX-License-Identifier: MIT */
/* Small mappings that are compared by choice, beside memory that is watched: docs/memory.md, "Small mappings". */
#include "tests/unit/memtrack.h"

#include <sys/mman.h>

enum { PAGE = 4096, SMALL = 4 * PAGE };

static void begin_small(void)
{
    struct lap_memtrack_options options = {.watch = kind, .small_bytes = SMALL};
    begin();
    lap_memtrack_destroy(&tracker);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, COHERENT | LAP_MEM_FRESH, &mem), LAP_OK);
}

/* Of bytes that are all `value`. */
static bool holds(unsigned copy, uint64_t begin, uint64_t end, unsigned char value)
{
    for (uint64_t i = begin; i < end; i++)
        if (copies[copy].bytes[i] != value)
            return false;
    return true;
}

static struct lap_memobj *read_object(unsigned copy, uint64_t offset, uint64_t bytes)
{
    struct lap_memobj *object = NULL;
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[copy], bytes, true, &object), LAP_OK);
    lap_memobj_only_read(object);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, offset, bytes), LAP_OK);
    return object;
}

static struct lap_watch_counts counts(void)
{
    return lap_memtrack_watch_counts(tracker, NULL);
}

RULE(a_small_mapping_is_compared_by_choice)
{
    struct lap_memobj *object;
    begin_small();
    object = read_object(0, 0, SMALL);
    map(0, SMALL);
    CHECK(!mem->watch->exact);
    CHECK_EQ_U64(counts().mappings, 1);
    CHECK_EQ_U64(counts().small, exact ? 1 : 0);
    CHECK_EQ_U64(counts().compared, 0); /* it could be watched */
    memset(store + 100, 7, 50);
    collect_range(object, 0, SMALL, false);
    CHECK_EQ_U64(stats.emitted_bytes, 50);
    store[SMALL - 1] = 9;
    lap_mem_unmap(mem);
    collect_range(object, 0, SMALL, false);
    CHECK(holds(0, 100, 150, 7) && copies[0].bytes[SMALL - 1] == 9);
    for (unsigned i = 0; i < 1000; i++) { /* for as long as it is mapped, too */
        map(0, SMALL);
        collect_range(object, 0, SMALL, false);
        lap_mem_unmap(mem);
    }
    CHECK_EQ_U64(counts().small, exact ? 1001 : 0);
    end();
}

RULE(a_larger_mapping_is_watched)
{
    begin_small();
    map(0, 4 * SMALL);
    CHECK_EQ_U64(counts().small, exact ? 1 : 0);
    lap_mem_unmap(mem);
    CHECK_EQ_INT(lap_mem_create(tracker, 2 * MEM, COHERENT, &mem), LAP_OK);
    free(store);
    store = calloc(1, 2 * MEM);
    map(0, 4 * SMALL + 1);
    CHECK_EQ_INT(mem->watch->exact, exact);
    CHECK_EQ_U64(counts().small, exact ? 1 : 0);
    end();
}

RULE(a_mapping_that_is_read_again_and_again_is_watched_at_last)
{
    struct lap_memobj *object;
    begin_small();
    object = read_object(0, 0, 2 * SMALL);
    map(0, 2 * SMALL);
    for (unsigned i = 0; i < 100; i++) {
        CHECK(i < 30 ? !mem->watch->exact : i < 40 || mem->watch->exact == exact);
        store[i] = (unsigned char)(i + 1);
        store[i * 300] = (unsigned char)(i + 1);
        collect_range(object, 0, 2 * SMALL, false);
        CHECK_EQ_INT(memcmp(copies[0].bytes, store, 2 * SMALL), 0);
    }
    CHECK(!exact || stats.scanned_bytes <= 3 * HOST_PAGE);
    end();
}

/* What work stores unannounced is not the host's, and comparing can't tell. */
RULE(a_mapping_is_watched_when_work_may_write_there)
{
    struct lap_memobj *first, *second;
    begin_small();
    first = read_object(0, 0, PAGE);
    map(0, SMALL);
    memset(store, 1, 2 * PAGE); /* nobody has looked for that yet */
    second = object_at(1, PAGE, PAGE);
    CHECK_EQ_INT(mem->watch->exact, exact);
    memset(store + PAGE / 2, 2, PAGE);
    collect_range(first, 0, PAGE, false);
    collect_range(second, 0, PAGE, false);
    CHECK(holds(0, 0, PAGE / 2, 1) && holds(0, PAGE / 2, PAGE, 2));
    CHECK(holds(1, 0, PAGE / 2, 2) && holds(1, PAGE / 2, PAGE, 1));
    lap_mem_unmap(mem);
    map(0, SMALL); /* it is there from the beginning now */
    CHECK_EQ_INT(mem->watch->exact, exact);
    lap_memobj_destroy(&second);
    lap_mem_unmap(mem);
    map(0, SMALL);
    CHECK(!mem->watch->exact);
    end();
}

RULE(what_the_device_left_is_inherited_in_a_small_mapping)
{
    struct lap_memobj *written, *heir;
    begin_small();
    written = object_at(0, 0, PAGE);
    collect_range(written, 0, PAGE, true);
    memset(store, 5, PAGE); /* by the device */
    device_wrote(written, 0, PAGE);
    lap_memobj_destroy(&written);
    map(0, SMALL); /* what it left is the device's, so this is watched */
    CHECK_EQ_INT(mem->watch->exact, exact);
    heir = read_object(1, 0, PAGE);
    collect_range(heir, 0, PAGE, false);
    CHECK(holds(1, 0, PAGE, 5));
    lap_mem_unmap(mem);
    map(0, SMALL); /* by now it counts as the host's */
    CHECK(!mem->watch->exact);
    store[17] = 6;
    collect_range(heir, 0, PAGE, false);
    CHECK_EQ_U64(copies[1].bytes[17], 6);
    CHECK_EQ_U64(stats.emitted_bytes, 1);
    end();
}

RULE(aliases_in_a_small_mapping_both_get_the_write)
{
    struct lap_memobj *one, *other;
    begin_small();
    one = read_object(0, 0, PAGE);
    other = read_object(1, 100, PAGE);
    map(0, SMALL);
    memset(store + 200, 3, 40);
    collect_range(one, 0, PAGE, false);
    collect_range(other, 0, PAGE, false);
    CHECK(holds(0, 200, 240, 3) && holds(1, 100, 140, 3));
    end();
}

/* In one page: what is stored to either is found, however often the other one's is taken. */
RULE(small_and_watched_memory_share_a_page)
{
    struct lap_mem *large;
    struct lap_memobj *small_object, *large_object = NULL;
    unsigned char *pages = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin_small();
    CHECK_EQ_INT(lap_mem_create(tracker, 24 * PAGE, COHERENT, &large), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[1], MEM, true, &large_object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(large_object, 0, large, 0, MEM), LAP_OK);
    small_object = read_object(0, 0, 1000);
    CHECK_EQ_INT(lap_mem_map(mem, pages + 1000, 0, 1000), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(large, pages + 2000, 0, 24 * PAGE), LAP_OK);
    CHECK(!mem->watch->exact && large->watch->exact == exact);
    for (unsigned i = 1; i < 200; i++) {
        pages[1000 + i] = (unsigned char)i;
        pages[2000 + i] = (unsigned char)i;
        if (i % 2)
            collect_range(small_object, 0, 1000, false);
        if (i % 3)
            collect_range(large_object, 0, MEM, false);
    }
    COLLECT_ALL();
    CHECK_EQ_INT(memcmp(copies[0].bytes, pages + 1000, 1000), 0);
    CHECK_EQ_INT(memcmp(copies[1].bytes, pages + 2000, MEM), 0);
    end();
    munmap(pages, 32 * PAGE);
}

RULE(flushes_of_a_small_mapping_count)
{
    struct lap_memobj *object;
    begin_small();
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, LAP_MEM_HOST_VISIBLE | LAP_MEM_FRESH, &mem), LAP_OK);
    object = read_object(0, 0, 2 * SMALL);
    map(0, 2 * SMALL);
    for (unsigned i = 0; i < 300; i++) { /* it becomes watched on the way */
        store[i] = (unsigned char)(i + 1);
        store[SMALL + i] = 1;
        lap_mem_flush(mem, 0, SMALL);
        collect_range(object, 0, 2 * SMALL, false);
        CHECK_EQ_U64(copies[0].bytes[i], (unsigned char)(i + 1));
        CHECK_EQ_U64(copies[0].bytes[SMALL + i], 0); /* never flushed */
    }
    CHECK_EQ_INT(mem->watch->exact, exact);
    end();
}

/* What was stored and never flushed is what the memory holds when it is mapped again, and watched then. */
RULE(stores_that_were_never_flushed_are_known_when_the_next_mapping_is_watched)
{
    struct lap_memobj *object;
    begin_small();
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, LAP_MEM_HOST_VISIBLE, &mem), LAP_OK);
    memset(store, 3, PAGE);
    map(0, SMALL);
    store[20] = 1;
    lap_mem_flush(mem, 0, PAGE); /* the host's, so the page stays known */
    store[10] = 0;
    lap_mem_unmap(mem);
    object = object_at(0, 0, PAGE);
    map(0, SMALL);
    CHECK_EQ_INT(mem->watch->exact, exact);
    store[10] = 3;
    lap_mem_flush(mem, 0, PAGE);
    collect_range(object, 0, PAGE, false);
    CHECK_EQ_U64(copies[0].bytes[10], 3);
    end();
}

UNIT_MAIN();
