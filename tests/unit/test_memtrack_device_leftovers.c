/* SPDX-License-Identifier: MIT */
/* What the device wrote for objects that are gone, and who gets it: one test a rule (docs/memory.md, "Bind"). */
#include "tests/unit/memtrack.h"

/* Work that writes the range of the object ends, and the program learns of it. `at`: where in the memory. The device
 * stores behind the watch, as far as a test can: what it wrote is no news when it is compared. */
static void device_fills(struct lap_memobj *object, uint64_t offset, uint64_t bytes, uint64_t at, int value)
{
    collect_range(object, offset, bytes, true);
    memset(store + at, value, bytes);
    device_wrote(object, offset, bytes);
}

static bool holds(unsigned copy, uint64_t begin, uint64_t end, int value)
{
    for (uint64_t i = begin; i < end; i++)
        if (copies[copy].bytes[i] != value)
            return false;
    return true;
}

static void unmap(void)
{
    lap_mem_unmap(mem);
}

RULE(a_new_object_gets_what_the_device_wrote_for_one_that_is_gone)
{
    begin();
    struct lap_memobj *first = object_at(0, 1000, 9000), *second;
    map(0, MEM);
    device_fills(first, 0, 8000, 1000, 7);
    store[9500] = 5; /* the host, behind it */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1);
    lap_memobj_destroy(&first);
    second = object_at(1, 4000, 7000);
    CHECK(second);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 5000 + 1);
    CHECK(holds(1, 0, 5000, 7));
    CHECK_EQ_U64(copies[1].bytes[5500], 5);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 5000 + 1);
    end();
}

/* Mapped for a time, and when the work ended; or never before the next object is there. */
RULE(what_is_not_mapped_comes_with_the_next_map)
{
    begin();
    for (unsigned before = 0; before < 2; before++) {
        struct lap_memobj *first = object_at(0, 0, 8192), *second;
        copies[1] = (struct copy){.received = 0};
        if (before)
            map(0, MEM);
        device_fills(first, 0, 8192, 0, 3 + (int)before);
        if (before)
            unmap();
        lap_memobj_destroy(&first);
        second = object_at(1, 4096, 8192);
        COLLECT_ALL();
        map(0, MEM);
        COLLECT_ALL();
        CHECK_EQ_U64(copies[1].received, 4096);
        CHECK(holds(1, 0, 4096, 3 + (int)before));
        unmap();
        lap_memobj_destroy(&second);
    }
    end();
}

RULE(what_is_owed_can_be_shown_without_a_map)
{
    begin();
    struct lap_memobj *first = object_at(0, 0, 20000), *second;
    uint64_t offset = 0, bytes = 0;
    device_fills(first, 100, 100, 100, 1);
    device_fills(first, 10000, 5000, 10000, 2);
    lap_memobj_destroy(&first);
    CHECK(!lap_mem_has_unread(mem, &offset, &bytes)); /* to nobody */
    second = object_at(1, 0, 12000);
    CHECK(lap_mem_has_unread(mem, &offset, &bytes));
    CHECK_EQ_U64(offset, 100);
    CHECK_EQ_U64(bytes, 12000 - 100);
    map(0, 50);
    CHECK(!lap_mem_has_unread(mem, &offset, &bytes)); /* nothing can be shown now */
    lap_mem_show(mem, store, 0, MEM);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 0);
    unmap();
    lap_mem_show(mem, store + offset, offset, bytes);
    CHECK(!lap_mem_mapped(mem));
    CHECK(!lap_mem_has_unread(mem, &offset, &bytes));
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 100 + 2000);
    CHECK(holds(1, 100, 200, 1) && holds(1, 10000, 12000, 2));
    lap_memobj_destroy(&second);
    end();
}

/* A replay puts them into one memory: sent, it would be sent for nothing. */
RULE(an_alias_that_is_alive_has_it_already)
{
    begin();
    struct lap_memobj *first = object_at(0, 0, 12288), *alias = object_at(1, 4096, 4096), *second;
    map(0, MEM);
    device_fills(first, 0, 12288, 0, 7);
    lap_memobj_destroy(&first);
    second = object_at(2, 0, 12288);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 0);
    CHECK_EQ_U64(copies[2].received, 8192);
    CHECK(holds(2, 0, 4096, 7) && holds(2, 4096, 8192, 0) && holds(2, 8192, 12288, 7));
    lap_memobj_destroy(&second);
    lap_memobj_destroy(&alias);
    second = object_at(3, 4096, 4096); /* the last one that had it is gone */
    COLLECT_ALL();
    CHECK(holds(3, 0, 4096, 7));
    end();
}

/* What a replay has for an image is not what it has for a buffer in the same bytes. */
RULE(an_image_in_the_same_bytes_changes_nothing)
{
    begin();
    struct lap_memobj *image = NULL, *buffer = NULL;
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[0], 8192, false, &image), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(image, 0, mem, 0, 8192), LAP_OK);
    map(0, MEM);
    device_fills(image, 0, 8192, 0, 255);
    buffer = object_at(1, 0, 4096);
    memset(store, 255, 100); /* by the host: it can't be told from what is there */
    COLLECT_ALL();
    CHECK(holds(1, 0, 100, 255));
    CHECK_EQ_U64(copies[0].received, 0);
    lap_memobj_destroy(&buffer);
    end();
}

RULE(pages_of_sparse_objects_keep_what_they_hold)
{
    begin();
    struct lap_memobj *first = object_at(0, 0, 4096), *page = NULL, *plain;
    map(0, MEM);
    store[4096] = 1;
    device_fills(first, 0, 4096, 0, 7);
    lap_memobj_destroy(&first);
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[1], 8192, true, &page), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind_sparse(page, 0, mem, 0, 8192), LAP_OK);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 1); /* the host's */
    /* A piece that falls in two is as sparse as it was. */
    lap_memobj_unbind(page, 1000, 1000);
    plain = object_at(2, 0, 8192); /* lies apart from the pages */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[2].received, 4096 + 1);
    CHECK(holds(2, 0, 4096, 7));
    lap_memobj_destroy(&plain);
    end();
}

/* Two jobs write the same bytes, and one of them has ended. */
RULE(what_work_under_way_writes_is_not_inherited)
{
    begin();
    struct lap_memobj *first = object_at(0, 0, 4096), *image = NULL, *second;
    struct lap_touched under_way;
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[1], 2048, false, &image), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(image, 0, mem, 0, 2048), LAP_OK);
    map(0, MEM);
    lap_touched_init(&under_way);
    CHECK(lap_touched_add(&under_way, image, 0, 2048, true));
    collect_range(first, 0, 4096, true);
    CHECK_EQ_INT(collect(&under_way), LAP_OK);
    lap_memtrack_device_busy(tracker, &under_way, false);
    memset(store, 7, 4096);
    device_wrote(first, 0, 4096);
    lap_memtrack_device_busy(tracker, &under_way, true);
    lap_memobj_destroy(&first);
    second = object_at(2, 0, 4096);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[2].received, 2048);
    CHECK(holds(2, 2048, 4096, 7));
    /* Nor when it has not ended so far, and nothing else has. */
    lap_memobj_destroy(&second);
    collect_range(image, 0, 2048, true);
    lap_memtrack_device_busy(tracker, NULL, true);
    second = object_at(3, 0, 2048);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[3].received, 0);
    lap_memobj_destroy(&second);
    lap_touched_finish(&under_way);
    end();
}

/* Whoever writes before the memory is mapped has the last word. */
RULE(what_is_overwritten_is_owed_no_more)
{
    begin();
    struct lap_memobj *first = object_at(0, 0, 8192), *second;
    uint64_t offset, bytes;
    device_fills(first, 0, 8192, 0, 7);
    lap_memobj_destroy(&first);
    second = object_at(1, 0, 8192);
    device_fills(second, 0, 4096, 0, 8); /* so does the replay's device */
    CHECK(lap_mem_has_unread(mem, &offset, &bytes) && offset == 4096 && bytes == 4096);
    collect_range(second, 4096, 2048, true); /* has yet to end */
    CHECK(lap_mem_has_unread(mem, &offset, &bytes) && offset == 6144 && bytes == 2048);
    map(0, MEM);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 2048);
    CHECK(holds(1, 6144, 8192, 7));
    end();
}

/* Buffers that are read back are mapped again and again. */
RULE(what_the_device_writes_for_an_object_that_lives_is_not_sent)
{
    begin();
    struct lap_memobj *object = object_at(0, 0, 8192);
    for (int i = 1; i < 4; i++) {
        device_fills(object, 0, 8192, 0, i);
        map(0, MEM);
        COLLECT_ALL();
        unmap();
    }
    CHECK_EQ_U64(copies[0].received, 0);
    end();
}

/* The host stores what is there already: after the object that the device wrote it for is gone that makes a difference.
 */
RULE(equal_stores_count_for_a_new_object)
{
    for (unsigned flags = LAP_MEM_HOST_VISIBLE; flags <= COHERENT; flags += LAP_MEM_HOST_COHERENT) {
        begin_with(flags, kind);
        struct lap_memobj *first = object_at(0, 0, 4096), *second;
        map(0, MEM);
        device_fills(first, 0, 4096, 0, 7);
        lap_memobj_destroy(&first);
        second = object_at(1, 0, 4096);
        memset(store, 7, 100);
        lap_mem_flush(mem, 0, 100);
        collect_range(second, 0, 100, false);
        CHECK(holds(1, 0, 100, 7));
        end();
    }
}

/* Without coherence the mapping may hold something older. */
RULE(an_invalidate_shows_what_the_device_wrote)
{
    begin_with(LAP_MEM_HOST_VISIBLE, kind);
    struct lap_memobj *first = object_at(0, 0, 8192), *second;
    uint64_t offset, bytes;
    map(0, MEM);
    memset(store, 1, 8192);
    lap_mem_flush(mem, 0, 8192);
    collect_range(first, 0, 8192, true);
    device_wrote(first, 0, 8192); /* which the host does not see */
    lap_memobj_destroy(&first);
    second = object_at(1, 0, 8192);
    COLLECT_ALL();
    CHECK(holds(1, 0, 8192, 1)); /* for lack of something better */
    memset(store, 7, 4096);
    lap_mem_invalidate(mem, 0, 4096);
    COLLECT_ALL();
    CHECK(holds(1, 0, 4096, 7) && holds(1, 4096, 8192, 1));
    unmap();
    CHECK(lap_mem_has_unread(mem, &offset, &bytes) && offset == 4096 && bytes == 4096);
    memset(store + 4096, 8, 4096);
    lap_mem_show(mem, store + 4096, 4096, 4096);
    COLLECT_ALL();
    CHECK(holds(1, 0, 4096, 7) && holds(1, 4096, 8192, 8));
    /* What was invalidated while the object lived is known. */
    map(0, MEM);
    collect_range(second, 0, 4096, true);
    device_wrote(second, 0, 4096);
    memset(store, 9, 4096);
    lap_mem_invalidate(mem, 0, 4096);
    lap_memobj_destroy(&second);
    second = object_at(2, 0, 4096);
    COLLECT_ALL();
    CHECK(holds(2, 0, 4096, 9));
    unmap();
    CHECK(!lap_mem_has_unread(mem, &offset, &bytes));
    end();
}

/* It may be that nothing shows it before the next map, which shows the host's view only. */
RULE(a_map_without_coherence_shows_what_the_host_sees)
{
    begin_with(LAP_MEM_HOST_VISIBLE, kind);
    struct lap_memobj *first = object_at(0, 0, 4096), *second;
    device_fills(first, 0, 4096, 0, 5);
    lap_memobj_destroy(&first);
    second = object_at(1, 0, 4096);
    map(0, MEM);
    collect_range(second, 0, 4096, false);
    CHECK(holds(1, 0, 4096, 5));
    memset(store + 100, 6, 10);
    lap_mem_invalidate(mem, 0, 4096);
    collect_range(second, 0, 4096, false);
    CHECK(holds(1, 100, 110, 6) && holds(1, 110, 4096, 5));
    end();
}

/* The pages of two memories: where a second one begins, what is known of the first falls in two. */
RULE(parts_take_along_what_the_device_left)
{
    begin();
    unsigned char *pages = aligned_alloc(4096, 16384);
    struct lap_mem *whole = NULL, *rest = NULL;
    struct lap_memobj *objects[2] = {NULL}, *next[2] = {NULL};
    struct lap_touched written;
    memset(pages, 0, 16384);
    lap_touched_init(&written);
    CHECK_EQ_INT(lap_mem_import(tracker, pages, 16384, LAP_MEM_HOST_VISIBLE, &whole), LAP_OK);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQ_INT(lap_memobj_create(tracker, &copies[0], 8192, true, &objects[i]), LAP_OK);
        CHECK_EQ_INT(lap_memobj_bind(objects[i], 0, whole, i * 8192, 8192), LAP_OK);
        CHECK(lap_touched_add(&written, objects[i], 0, UINT64_MAX, true));
        CHECK_EQ_INT(lap_memobj_create(tracker, &copies[1 + i], 8192, true, &next[i]), LAP_OK);
    }
    CHECK_EQ_INT(collect(&written), LAP_OK);
    lap_memtrack_device_wrote(tracker, &written);
    lap_memobj_destroy(&objects[0]);
    CHECK_EQ_INT(lap_memobj_bind(next[0], 0, whole, 0, 8192), LAP_OK);
    CHECK_EQ_INT(lap_mem_import(tracker, pages + 4096, 12288, LAP_MEM_HOST_VISIBLE, &rest), LAP_OK);
    lap_memobj_destroy(&objects[1]);
    CHECK_EQ_INT(lap_memobj_bind(next[1], 0, whole, 8192, 8192), LAP_OK);
    memset(pages, 7, 16384); /* comes into sight */
    lap_mem_invalidate(whole, 0, UINT64_MAX);
    COLLECT_ALL();
    CHECK(holds(1, 0, 8192, 7) && holds(2, 0, 8192, 7));
    CHECK_EQ_U64(copies[0].received, 0);
    lap_touched_finish(&written);
    lap_mem_destroy(&rest);
    lap_mem_destroy(&whole);
    free(pages);
    end();
}

/* Another memory over the same pages is coherent, and so are they. */
RULE(pages_that_become_coherent_show_what_is_owed)
{
    begin();
    unsigned char *pages = aligned_alloc(4096, 8192);
    struct lap_mem *first = NULL, *coherent = NULL;
    struct lap_memobj *object = NULL, *next = NULL;
    memset(pages, 0, 8192);
    CHECK_EQ_INT(lap_mem_import(tracker, pages, 8192, LAP_MEM_HOST_VISIBLE, &first), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[0], 8192, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[1], 4096, true, &next), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, first, 0, 8192), LAP_OK);
    collect_range(object, 0, 8192, true);
    device_wrote(object, 0, 8192);
    lap_memobj_destroy(&object);
    CHECK_EQ_INT(lap_memobj_bind(next, 0, first, 0, 4096), LAP_OK);
    memset(pages, 7, 8192);
    CHECK_EQ_INT(lap_mem_import(tracker, pages, 8192, COHERENT, &coherent), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[2], 4096, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, coherent, 4096, 4096), LAP_OK);
    COLLECT_ALL();
    CHECK(holds(1, 0, 4096, 7) && holds(2, 0, 4096, 7));
    lap_mem_destroy(&coherent);
    lap_mem_destroy(&first);
    free(pages);
    end();
}

UNIT_MAIN();
