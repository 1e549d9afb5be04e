/* SPDX-License-Identifier: MIT */
/* The tracker, one rule of docs/memory.md at a time. */
#include <stdatomic.h>
#include <time.h>

#include "tests/unit/memtrack.h"

RULE(a_write_is_emitted_once)
{
    begin();
    object_at(0, 4096, 8192);
    map(0, UINT64_MAX);
    memcpy(store + 4096 + 100, "hello", 5);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 5);
    CHECK(memcmp(copies[0].bytes + 100, "hello", 5) == 0);
    CHECK_EQ_U64(stats.emitted_bytes, 5);
    CHECK_EQ_U64(stats.changed_bytes, 5);
    CHECK_EQ_U64(stats.spans, 1);
    CHECK_SCANNED(8192);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 5);
    CHECK_EQ_U64(stats.emitted_bytes, 0);
    end();
}

RULE(what_the_map_found_is_no_host_write)
{
    begin();
    memset(store, 0x55, MEM);
    object_at(0, 0, MEM);
    map(0, MEM);
    store[5000] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1);
    end();
}

RULE(fresh_memory_with_leftovers_counts_as_written)
{
    begin_with(COHERENT | LAP_MEM_FRESH, kind);
    struct lap_memobj *object = object_at(0, 0, MEM);
    memset(store + 100, 0x55, 1000);
    memset(store + 5000, 0x66, 10);
    device_wrote(object, 5000, 10);
    map(0, 8192);
    memset(store + 100, 0x55, 1000); /* the same values again: only the flag makes them known */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1000);
    CHECK(memcmp(copies[0].bytes, store, 5000) == 0);
    CHECK_EQ_U64(copies[0].bytes[5000], 0);
    lap_mem_unmap(mem);
    memset(store + 3000, 0x77, 50); /* by the device: only the first map is special */
    map(0, 8192);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1000);
    end();
}

RULE(pages_that_the_program_filled_count_as_written)
{
    begin_with(COHERENT | LAP_MEM_FILLED, kind);
    memset(store + 100, 0x55, 1000);
    memset(store + 5000, 0x66, 10);
    map(0, MEM);
    struct lap_memobj *object = object_at(0, 0, MEM);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1010);
    CHECK(memcmp(copies[0].bytes, store, MEM) == 0);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1010);
    memset(store + 5000, 0, 10); /* what was there is known, so zeroes are a change */
    store[9000] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1021);
    CHECK(memcmp(copies[0].bytes, store, MEM) == 0);
    device_wrote(object, 200, 10);
    object_at(1, 0, MEM); /* a new object gets it all, but for what the device wrote */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 1000 - 10 + 10 + 1);
    CHECK(memcmp(copies[1].bytes, store, 200) == 0 && copies[1].bytes[200] == 0);
    end();
}

RULE(pages_with_other_mappings_are_compared)
{
    const char *reason;
    begin_with(COHERENT | LAP_MEM_FILLED | LAP_MEM_SHARED, kind);
    object_at(0, 0, MEM);
    map(0, MEM);
    CHECK(mem->watch == &lap_watch_compare && mem->region == NULL);
    CHECK_EQ_U64(lap_memtrack_watch_counts(tracker, &reason).compared, exact ? 1 : 0);
    CHECK((reason != NULL) == exact);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 2 * MEM); /* at the map, and now */
    store[7000] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].bytes[7000], 1);
    end();
}

RULE(zero_memory_takes_no_shadow)
{
    begin();
    object_at(0, 0, MEM);
    map(0, MEM);
    COLLECT_ALL();
    CHECK_EQ_U64(mem->shadow.owned_pages, 0);
    CHECK(mem->shadow.leaves == NULL);
    store[4096 * 3] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(mem->shadow.owned_pages, 1);
    end();
}

RULE(an_unmapped_baseline_that_nobody_wrote_is_forgotten)
{
    begin();
    memset(store, 0x55, MEM);
    object_at(0, 0, MEM);
    map(0, MEM);
    CHECK_EQ_U64(mem->shadow.owned_pages, MEM / 4096);
    store[4096 * 3 + 7] = 1;
    lap_mem_unmap(mem);
    CHECK_EQ_U64(mem->shadow.owned_pages, 1);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1);
    CHECK_EQ_U64(copies[0].bytes[4096 * 3 + 7], 1);
    end();
}

RULE(unmap_keeps_what_was_written)
{
    begin();
    object_at(0, 0, MEM);
    map(0, MEM);
    memset(store + 10, 7, 100);
    lap_mem_unmap(mem);
    CHECK(!lap_mem_mapped(mem));
    memset(store, 9, MEM); /* not readable any more: nothing of this may be seen */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 100);
    CHECK_EQ_U64(copies[0].bytes[10], 7);
    CHECK_SCANNED(MEM); /* at unmap */
    lap_mem_unmap(mem); /* twice does no harm */
    end();
}

RULE(pending_survives_a_remap)
{
    begin();
    object_at(0, 0, MEM);
    map(0, MEM);
    memset(store + 10, 7, 100);
    lap_mem_unmap(mem);
    map(0, 4096);
    store[50] = 8;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 100);
    CHECK(memcmp(copies[0].bytes, store, 4096) == 0);
    lap_mem_unmap(mem);
    map(0, MEM);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 100);
    end();
}

RULE(what_the_device_changed_between_maps_is_no_host_write)
{
    struct lap_touched touched;
    begin();
    object_at(0, 0, MEM);
    map(0, MEM);
    memset(store + 10, 7, 100);
    lap_mem_unmap(mem);
    lap_touched_init(&touched);
    touched.everything = true; /* work that may write anywhere */
    CHECK_EQ_INT(collect(&touched), LAP_OK);
    CHECK_EQ_U64(copies[0].received, 100);
    memset(store + 50, 9, 20); /* the device, unannounced */
    map(0, MEM);
    object_at(1, 0, MEM);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 100);
    CHECK_EQ_U64(copies[1].received, 80);
    CHECK_EQ_U64(copies[1].bytes[49], 7);
    CHECK_EQ_U64(copies[1].bytes[50], 0);
    CHECK_EQ_U64(copies[1].bytes[70], 7);
    end();
}

static atomic_bool looked;

static void *unmap(void *memory)
{
    lap_mem_unmap(memory);
    CHECK(atomic_load(&looked));
    return NULL;
}

static uint64_t looked_bytes, looked_end;

static void look(void *context, uint64_t offset, const void *data, uint64_t bytes)
{
    struct timespec moment = {.tv_nsec = 20000000};
    pthread_t *thread = context;
    CHECK(data == store + 4096 + offset);
    CHECK(offset >= looked_end);
    looked_end = offset + bytes;
    looked_bytes += bytes;
    if (!thread)
        return;
    CHECK_EQ_INT(pthread_create(thread, NULL, unmap, mem), 0);
    nanosleep(&moment, NULL);
    atomic_store(&looked, true);
}

/* How many of the bytes are shown, and in which part of the range. */
static uint64_t look_at(struct lap_memobj *object, uint64_t offset, uint64_t bytes, uint64_t part_offset,
                        uint64_t part_bytes)
{
    uint64_t out_offset = 0, out_bytes = 0;
    looked_bytes = looked_end = 0;
    CHECK_EQ_INT(lap_memobj_look_device(object, offset, bytes, look, NULL, &out_offset, &out_bytes), part_bytes != 0);
    CHECK_EQ_U64(out_offset, part_offset);
    CHECK_EQ_U64(out_bytes, part_bytes);
    return looked_bytes;
}

static void device_writes(struct lap_memobj *object, uint64_t offset, uint64_t bytes)
{
    struct lap_touched touched;
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, object, offset, bytes, true));
    lap_memtrack_device_wrote(tracker, &touched);
    lap_touched_finish(&touched);
}

/* In the mapping: changes of which each is a word at 4096. */
static unsigned told, ends;
static uint32_t told_before, told_now;
static void tell(void *context, void *user, bool alone, uint64_t offset, const void *before, const void *now,
                 uint64_t bytes)
{
    ends += !user;
    if (!user)
        return;
    told++;
    CHECK(alone && offset == 4096 && bytes == 4);
    memcpy(&told_before, before, 4);
    memcpy(&told_now, now, 4);
}

/* A replay has the word before where no work of its own stores: of an earlier object's buffer, too. */
RULE(changes_are_told_as_a_replay_has_them)
{
    struct lap_touched touched;
    begin();
    object_at(0, 0, MEM);
    told = ends = 0;
    lap_memtrack_on_change(tracker, tell, NULL);
    lap_touched_init(&touched);
    touched.everything = true; /* work that may write anywhere */
    CHECK_EQ_INT(collect(&touched), LAP_OK);
    store[4096] = 7; /* it does, while the memory is not mapped */
    map(0, MEM);
    CHECK(told == 1 && ends == 2 && told_before == 0 && told_now == 7);
    store[4097] = 1;
    COLLECT_ALL();
    CHECK(told == 2 && ends == 3 && told_before == 7 && told_now == 263);
    lap_memtrack_on_change(tracker, NULL, NULL);
    store[4097] = 2;
    COLLECT_ALL();
    CHECK(told == 2 && ends == 3);
    lap_touched_finish(&touched);
    end();
}

RULE(shows_what_the_device_wrote_last)
{
    struct lap_touched busy;
    struct lap_memobj *object;
    begin();
    object = object_at(0, 4096, 100);
    CHECK_EQ_U64(look_at(object, 10, 20, 0, 0), 0); /* not mapped */
    CHECK_EQ_INT(lap_mem_map(mem, store + 4096, 4096, 90), LAP_OK);
    CHECK_EQ_U64(look_at(object, 10, 20, 10, 20), 0); /* nobody wrote */
    device_writes(object, 10, 20);
    CHECK_EQ_U64(look_at(object, 0, 100, 0, 90), 20);
    CHECK_EQ_U64(look_at(object, 15, 5, 15, 5), 5);
    CHECK_EQ_U64(look_at(object, 10, 0, 0, 0), 0);
    CHECK_EQ_U64(look_at(object, 95, UINT64_MAX, 0, 0), 0);
    store[4096 + 12]++; /* the host's, though nobody has looked yet */
    CHECK_EQ_U64(look_at(object, 10, 20, 10, 20), 19);
    lap_touched_init(&busy);
    CHECK(lap_touched_add(&busy, object, 20, 5, true));
    lap_memtrack_device_busy(tracker, &busy, true);
    lap_touched_finish(&busy);
    CHECK_EQ_U64(look_at(object, 10, 20, 10, 20), 14);
    end();
}

RULE(what_is_looked_at_stays_mapped)
{
    uint64_t offset, bytes;
    struct lap_memobj *object;
    pthread_t thread;
    begin();
    object = object_at(0, 4096, 100);
    CHECK_EQ_INT(lap_mem_map(mem, store + 4096, 4096, 90), LAP_OK);
    device_writes(object, 10, 20);
    looked_bytes = looked_end = 0;
    CHECK(lap_memobj_look_device(object, 10, 20, look, &thread, &offset, &bytes));
    CHECK_EQ_U64(looked_bytes, 20);
    pthread_join(thread, NULL);
    CHECK(!lap_memobj_look_device(object, 10, 20, look, NULL, &offset, &bytes));
    end();
}

RULE(reads_only_what_is_mapped)
{
    begin();
    /* Exactly as large as the mapping, so that a byte beside it is an error under a sanitizer; and odd in every way. */
    unsigned char *window = calloc(1, 9001);
    object_at(0, 0, MEM);
    CHECK_EQ_INT(lap_mem_map(mem, window, 4096 + 13, 9001), LAP_OK);
    window[0] = 1;
    window[9000] = 2;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    CHECK_EQ_U64(copies[0].bytes[4096 + 13], 1);
    CHECK_EQ_U64(copies[0].bytes[4096 + 13 + 9000], 2);
    lap_mem_unmap(mem);
    free(window);
    COLLECT_ALL();
    end();
}

RULE(only_touched_ranges_are_scanned_and_sent)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192), *b = object_at(1, 8192, 8192);
    map(0, MEM);
    store[10] = 1;
    store[5000] = 2;
    store[8192 + 10] = 3;
    collect_range(a, 0, 100, false);
    CHECK_SCANNED(100);
    CHECK_EQ_U64(copies[0].received, 1);
    CHECK_EQ_U64(copies[1].received, 0);
    collect_range(b, 0, UINT64_MAX, false);
    CHECK_EQ_U64(copies[1].received, 1);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    CHECK_EQ_U64(copies[1].received, 1);
    end();
}

RULE(pending_outside_the_touched_range_waits)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192);
    map(0, MEM);
    memset(store, 1, 8192);
    lap_mem_unmap(mem);
    collect_range(a, 100, 50, false);
    CHECK_EQ_U64(copies[0].received, 50);
    CHECK_EQ_U64(copies[0].bytes[99], 0);
    CHECK_EQ_U64(copies[0].bytes[100], 1);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 8192);
    CHECK(memcmp(copies[0].bytes, store, 8192) == 0);
    end();
}

/* Whatever changed between two ranges may be a store of the device that nobody announced. */
RULE(bytes_between_reads_wait_where_work_may_write)
{
    struct lap_touched touched;
    struct lap_memobj *object;
    begin();
    object = object_at(0, 0, MEM);
    map(0, MEM);
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, object, 0, 16, false) && lap_touched_add(&touched, object, 512, 16, false));
    store[4] = store[100] = store[520] = 1;
    CHECK_EQ_INT(collect(&touched), LAP_OK);
    CHECK_EQ_U64(copies[0].received, 2);
    CHECK(copies[0].bytes[4] == 1 && copies[0].bytes[520] == 1);
    collect_range(object, 100, 1, false);
    CHECK_EQ_U64(copies[0].received, 3);
    lap_touched_finish(&touched);
    end();
}

/* More than one batch of them, in bytes that several objects have. */
RULE(thousands_of_small_stores_reach_every_object_there)
{
    struct lap_touched touched;
    struct lap_memobj *objects[3];
    begin();
    objects[0] = object_at(0, 0, MEM);
    objects[1] = object_at(1, 4096 + 8, 30000);
    objects[2] = object_at(2, 20000, MEM - 20000);
    map(0, MEM);
    lap_touched_init(&touched);
    for (unsigned round = 1; round < 4; round++) {
        for (unsigned i = 0; i < MEM; i += 36)
            memset(store + i, (int)round, 3);
        for (unsigned i = 0; round < 3 && i < MEM; i += 36)
            CHECK(lap_touched_add(&touched, objects[0], i, 3, round == 2));
        CHECK_EQ_INT(collect(round < 3 ? &touched : NULL), LAP_OK);
        CHECK_EQ_INT(memcmp(copies[0].bytes, store, MEM), 0);
        if (round == 2)
            lap_memtrack_device_wrote(tracker, &touched);
        lap_touched_reset(&touched);
    }
    CHECK_EQ_INT(memcmp(copies[1].bytes, store + 4096 + 8, 30000), 0);
    CHECK_EQ_INT(memcmp(copies[2].bytes, store + 20000, MEM - 20000), 0);
    lap_touched_finish(&touched);
    end();
}

RULE(no_byte_is_scanned_twice_in_one_collect)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192), *b = object_at(1, 4096, 8192); /* overlap by a page */
    struct lap_touched touched;
    map(0, MEM);
    lap_touched_init(&touched);
    for (unsigned i = 0; i < 500; i++) {
        CHECK(lap_touched_add(&touched, a, i % 50 * 100, 150, false));
        CHECK(lap_touched_add(&touched, b, i % 10 * 100, 150, i % 2));
    }
    CHECK_EQ_INT(collect(&touched), LAP_OK);
    CHECK_SCANNED(4096 + 1050);
    lap_touched_finish(&touched);
    end();
}

RULE(everything_scans_where_objects_are)
{
    begin();
    struct lap_touched touched;
    object_at(0, 1000, 1000);
    object_at(1, 1500, 1000);
    object_at(2, 2500, 100);
    object_at(3, 60000, 10);
    map(1200, 50000);
    store[100] = store[1100] = store[1300] = store[2400] = store[30000] = 1;
    lap_touched_init(&touched);
    touched.everything = true;
    CHECK_EQ_INT(collect(&touched), LAP_OK);
    CHECK_SCANNED(1400);
    CHECK_EQ_U64(copies[0].received, 1);
    CHECK_EQ_U64(copies[1].received, 1);
    CHECK_EQ_U64(copies[0].bytes[300], 1);
    CHECK_EQ_U64(copies[1].bytes[900], 1);
    end();
}

RULE(aliases_both_get_the_write)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192), *b = object_at(1, 4096, 8192);
    struct lap_memobj_place place = lap_memobj_place(b);
    CHECK(place.mem == mem && place.offset == 4096 && place.aliased);
    map(0, MEM);
    memset(store + 4000, 5, 200);
    collect_range(a, 0, UINT64_MAX, false);
    CHECK_EQ_U64(copies[0].received, 200);
    CHECK_EQ_U64(copies[1].received, 0);
    collect_range(b, 0, UINT64_MAX, false);
    CHECK_EQ_U64(copies[1].received, 104);
    CHECK(memcmp(copies[1].bytes, store + 4096, 8192) == 0);
    lap_memobj_destroy(&a);
    CHECK(!lap_memobj_place(b).aliased);
    end();
}

RULE(an_object_shares_with_aliases_and_with_what_the_device_left)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192), *b = object_at(1, 8192, 4096), *c;
    map(0, MEM);
    device_wrote(a, 4096, 100);
    memset(store + 8192, 5, 4096);
    COLLECT_ALL();
    CHECK(!lap_memobj_shares(a)); /* what it holds the device wrote for itself */
    CHECK(!lap_memobj_shares(b));
    c = object_at(2, 8000, 300);
    CHECK(lap_memobj_shares(a) && lap_memobj_shares(b) && lap_memobj_shares(c));
    lap_memobj_destroy(&a);
    lap_memobj_destroy(&b);
    lap_memobj_destroy(&c);
    b = object_at(1, 8192, 4096); /* what the host left is sent again */
    CHECK(!lap_memobj_shares(b));
    a = object_at(0, 4195, 100);
    CHECK(lap_memobj_shares(a));
    end();
}

RULE(an_alias_is_served_before_the_device_writes)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192);
    object_at(1, 4096, 8192);
    map(0, MEM);
    memset(store, 5, 12288);
    collect_range(a, 0, 6000, true);
    CHECK_EQ_U64(copies[0].received, 6000);
    CHECK_EQ_U64(copies[1].received, 6000 - 4096);
    end();
}

RULE(a_new_object_gets_what_the_host_wrote_earlier)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192);
    memset(store, 0x55, MEM);
    map(0, MEM);
    memset(store + 1000, 5, 100);
    memset(store + 20000, 6, 100); /* where no object is yet */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 100);
    lap_memobj_destroy(&a);
    CHECK(a == NULL);
    object_at(1, 500, 8192);
    object_at(2, 20050, 8192);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 100);
    CHECK_EQ_U64(copies[1].bytes[500], 5);
    CHECK_EQ_U64(copies[2].received, 50);
    lap_mem_unmap(mem);
    object_at(3, 0, MEM);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[3].received, 200);
    end();
}

RULE(new_memory_starts_from_nothing)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192);
    map(0, MEM);
    memset(store, 5, 100);
    lap_mem_destroy(&mem);
    CHECK(mem == NULL);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 0);
    CHECK(lap_memobj_place(a).mem == NULL);
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, COHERENT, &mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(a, 0, mem, 0, 8192), LAP_OK);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 0);
    map(0, MEM);
    store[0] = 6;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1);
    end();
}

RULE(device_writes_are_no_host_writes_but_their_neighbours_are)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192);
    map(0, MEM);
    memset(store, 1, 300);
    collect_range(a, 0, 300, false);
    memset(store + 100, 9, 100);   /* device */
    store[99] = 2, store[200] = 3; /* host */
    device_wrote(a, 100, 100);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 302);
    CHECK_EQ_U64(copies[0].bytes[99], 2);
    CHECK_EQ_U64(copies[0].bytes[100], 1); /* the replay's own device does that */
    CHECK_EQ_U64(copies[0].bytes[200], 3);
    CHECK(!lap_interval_intersects(&mem->written, 100, 200));
    object_at(1, 0, 8192);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[1].received, 200);
    end();
}

static void device_busy(struct lap_memobj *object, uint64_t offset, uint64_t bytes)
{
    struct lap_touched touched;
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, object, offset, bytes, true));
    lap_memtrack_device_busy(tracker, &touched, true);
    lap_touched_finish(&touched);
}

RULE(what_the_device_is_writing_is_left_alone_until_it_has_finished)
{
    struct lap_memobj *object;
    begin();
    object = object_at(0, 0, 8192);
    map(0, MEM);
    collect_range(object, 100, 100, true);
    device_busy(object, 100, 100);
    memset(store + 100, 7, 50); /* half of it has been stored so far */
    store[99] = 1;
    store[200] = 2;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    CHECK_EQ_INT(copies[0].bytes[99], 1);
    CHECK_EQ_INT(copies[0].bytes[200], 2);
    memset(store + 100, 7, 100);
    device_wrote(object, 100, 100);
    lap_memtrack_device_busy(tracker, NULL, true);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    store[150] = 9; /* the host's again */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 3);
    CHECK_EQ_INT(copies[0].bytes[150], 9);
    end();
}

RULE(a_device_write_beats_what_is_pending)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192);
    object_at(1, 50, 1000);
    map(0, MEM);
    memset(store, 1, 300);
    lap_mem_unmap(mem);
    memset(store + 100, 9, 100);
    device_wrote(a, 100, 100); /* while it is not mapped */
    map(0, MEM);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 200);
    CHECK_EQ_U64(copies[0].bytes[100], 0);
    CHECK_EQ_U64(copies[1].received, 150);
    store[150] = 4; /* and the host after that */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 201);
    CHECK_EQ_U64(copies[0].bytes[150], 4);
    end();
}

RULE(a_gap_that_the_device_owns_is_not_sent)
{
    begin();
    struct lap_memobj *a = object_at(0, 0, 8192);
    map(0, MEM);
    collect_range(a, 4, 4, true); /* in flight: the program does not know yet */
    store[3] = store[8] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    device_wrote(a, 4, 4);
    store[3] = store[8] = 2;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 4);
    store[103] = store[108] = 1; /* nobody's gap is joined */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 10);
    end();
}

RULE(spans_join_across_pages)
{
    begin();
    object_at(0, 0, MEM);
    map(0, MEM);
    memset(store + 1000, 1, 10000);
    store[4096] = store[8191] = 0;
    COLLECT_ALL();
    CHECK_EQ_U64(stats.spans, 1);
    CHECK_EQ_U64(stats.emitted_bytes, 10000);
    CHECK(memcmp(copies[0].bytes, store, MEM) == 0);
    end();
}

RULE(non_coherent_memory_counts_what_is_flushed)
{
    begin_with(LAP_MEM_HOST_VISIBLE, kind);
    object_at(0, 0, MEM);
    map(0, MEM);
    memset(store, 1, 1000);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 0);
    CHECK_SCANNED(0);
    lap_mem_flush(mem, 128, 64);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 64);
    CHECK_SCANNED(64);
    lap_mem_flush(mem, 200, 1); /* whole atoms */
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 128);
    lap_mem_flush(mem, 960, UINT64_MAX);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 168);
    lap_mem_unmap(mem);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 168);
    lap_mem_flush(mem, 0, UINT64_MAX); /* not mapped: nothing to read */
    end();
}

RULE(invalidate_brings_device_data_and_keeps_flushed_host_data)
{
    begin_with(LAP_MEM_HOST_VISIBLE, kind);
    object_at(0, 0, MEM);
    map(0, MEM);
    memset(store, 1, 256);
    lap_mem_flush(mem, 0, 256);
    memset(store + 64, 9, 64); /* device */
    memset(store + 512, 9, 64);
    lap_mem_invalidate(mem, 0, UINT64_MAX);
    lap_mem_flush(mem, 0, UINT64_MAX);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 192);
    CHECK_EQ_U64(copies[0].bytes[63], 1);
    CHECK_EQ_U64(copies[0].bytes[64], 0);
    CHECK_EQ_U64(copies[0].bytes[512], 0);
    end();
}

RULE(flush_and_invalidate_change_nothing_on_coherent_memory)
{
    begin();
    object_at(0, 0, MEM);
    map(0, MEM);
    store[0] = 1;
    lap_mem_flush(mem, 0, 64);
    store[1] = 2;
    lap_mem_invalidate(mem, 0, UINT64_MAX);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    end();
}

RULE(optimal_images_are_never_sent)
{
    begin();
    struct lap_memobj *image = NULL;
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[0], 8192, false, &image), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(image, 0, mem, 0, 8192), LAP_OK);
    map(0, MEM);
    memset(store, 1, 100);
    COLLECT_ALL();
    CHECK_SCANNED(0); /* nor read */
    collect_range(image, 0, UINT64_MAX, false);
    CHECK_SCANNED(0);
    object_at(1, 50, 100);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 0);
    CHECK_EQ_U64(copies[1].received, 50);
    CHECK_EQ_U64(image->pending.count, 0);
    end();
}

RULE(a_buffer_under_an_image_is_served_before_the_device_writes_the_image)
{
    begin();
    struct lap_memobj *image = NULL;
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[0], 8192, false, &image), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(image, 0, mem, 0, 8192), LAP_OK);
    object_at(1, 4096, 1000);
    map(0, MEM);
    memset(store, 1, 8192);
    collect_range(image, 0, UINT64_MAX, true);
    CHECK_SCANNED(1000);
    CHECK_EQ_U64(copies[0].received, 0);
    CHECK_EQ_U64(copies[1].received, 1000);
    end();
}

RULE(what_emit_refused_stays_pending)
{
    begin();
    object_at(0, 0, 8192);
    object_at(1, 8192, 8192);
    map(0, MEM);
    store[0] = store[1000] = store[2000] = store[8192] = 1;
    emit_budget = 2;
    CHECK_EQ_INT(collect(NULL), LAP_ERROR_IO);
    CHECK_EQ_U64(copies[0].received, 2);
    CHECK_EQ_U64(stats.spans, 2);
    emit_budget = 100;
    store[1] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 4);
    CHECK_EQ_U64(copies[1].received, 1);
    CHECK(memcmp(copies[0].bytes, store, 8192) == 0);
    end();
}

RULE(sparse_pieces_lie_anywhere)
{
    begin();
    struct lap_mem *other = NULL;
    unsigned char *other_store = calloc(1, MEM);
    struct lap_memobj *object = NULL;
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, COHERENT, &other), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[0], 10000, true, &object), LAP_OK);
    CHECK(lap_memobj_place(object).mem == NULL);
    CHECK_EQ_INT(lap_memobj_bind(object, 4096, mem, 0, 4096), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, other, 8192, 4096), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 8192, mem, 16384, 4096), LAP_OK); /* the object ends at 10000 */
    CHECK(lap_memobj_place(object).mem == other && lap_memobj_place(object).offset == 8192);
    map(0, MEM);
    CHECK_EQ_INT(lap_mem_map(other, other_store, 0, MEM), LAP_OK);
    memset(store, 1, MEM);
    memset(other_store, 2, MEM);
    collect_range(object, 4000, 200, false);
    CHECK_EQ_U64(copies[0].received, 200);
    CHECK(copies[0].bytes[4095] == 2 && copies[0].bytes[4096] == 1);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 10000);
    /* A piece in the middle of another replaces just that. */
    CHECK_EQ_INT(lap_memobj_bind(object, 5000, other, 5000, 100), LAP_OK);
    store[4] = 3, store[4000] = 4, store[904] = 5; /* object 4100, 8096; 5000 is elsewhere now */
    other_store[5000] = 6;
    COLLECT_ALL();
    CHECK(copies[0].bytes[4100] == 3 && copies[0].bytes[8096] == 4 && copies[0].bytes[5000] == 6);
    CHECK_EQ_U64(copies[0].received, 10000 + 2 + 100);
    lap_memobj_unbind(object, 4200, 10);
    store[104] = store[100] = store[114] = 7;
    COLLECT_ALL();
    CHECK(copies[0].bytes[4200] == 1 && copies[0].bytes[4196] == 7 && copies[0].bytes[4210] == 7);
    lap_mem_destroy(&other);
    lap_memobj_unbind(object, 0, UINT64_MAX);
    CHECK(object->pieces == NULL && mem->pieces == NULL);
    free(other_store);
    end();
}

RULE(parts_are_found_by_the_memory_that_they_lie_in)
{
    begin();
    struct lap_mem *other = NULL;
    struct lap_memobj *object = NULL;
    uint64_t offset = 0, bytes = UINT64_MAX;
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, COHERENT, &other), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[0], 10000, true, &object), LAP_OK);
    CHECK(!lap_memobj_find(object, mem, 0, MEM, &offset, &bytes));
    CHECK_EQ_INT(lap_memobj_bind(object, 4096, mem, 0, 4096), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, other, 8192, 4096), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 8192, mem, 16384, 4096), LAP_OK);
    CHECK(lap_memobj_find(object, mem, 0, MEM, &offset, &bytes) && offset == 4096 && bytes == 4096);
    offset = 5000, bytes = 10000;
    CHECK(lap_memobj_find(object, mem, 4000, 16484, &offset, &bytes) && offset == 8096 && bytes == 96);
    offset = 8192, bytes = 10000;
    CHECK(lap_memobj_find(object, mem, 4000, 16484, &offset, &bytes) && offset == 8192 && bytes == 100);
    offset = 0, bytes = 100;
    CHECK(!lap_memobj_find(object, mem, 0, MEM, &offset, &bytes));
    CHECK(lap_memobj_find(object, other, 0, MEM, &offset, &bytes) && offset == 0 && bytes == 100);
    lap_mem_destroy(&other);
    end();
}

/* The device writes where the object lay when the work was submitted, and the host where it lies now. */
RULE(a_kept_place_is_the_devices_and_the_new_one_the_hosts)
{
    begin();
    struct lap_memobj *object = NULL, *kept = NULL;
    struct lap_touched written;
    lap_touched_init(&written);
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[0], 8192, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind_sparse(object, 0, mem, 0, 8192), LAP_OK);
    map(0, MEM);
    CHECK_EQ_INT(lap_memobj_keep(object, 4096, 4096, &kept), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind_sparse(object, 4096, mem, 16384, 4096), LAP_OK);
    CHECK(lap_memobj_place(kept).mem == mem && lap_memobj_place(kept).offset == 4096);
    CHECK(lap_touched_add(&written, kept, 0, UINT64_MAX, true));
    lap_memtrack_device_busy(tracker, &written, false);
    memset(store + 4096, 9, 4096); /* by the device */
    store[16384 + 100] = 5;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1);
    CHECK_EQ_U64(copies[0].bytes[4196], 5);
    lap_memtrack_device_wrote(tracker, &written);
    lap_memtrack_device_busy(tracker, NULL, true);
    lap_memobj_destroy(&kept);
    store[16384 + 200] = 6;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    /* Back again: what the device wrote there is nothing that the host wrote. */
    CHECK_EQ_INT(lap_memobj_bind_sparse(object, 4096, mem, 4096, 4096), LAP_OK);
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    store[4096] = 7;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 3);
    CHECK_EQ_U64(copies[0].bytes[4096], 7);
    lap_touched_finish(&written);
    end();
}

struct large {
    unsigned char *bytes;
    uint64_t received, most;
};

static enum lap_status take_large(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    struct large *large = user;
    memcpy(large->bytes + offset, data, bytes);
    large->received += bytes;
    large->most = bytes > large->most ? bytes : large->most;
    return LAP_OK;
}

RULE(large_spans_come_in_pieces)
{
    enum { BIG = 5 << 20 };
    struct lap_memtrack_options options = {.watch = kind};
    struct large large = {.bytes = calloc(1, BIG)};
    unsigned char *big = calloc(1, BIG);
    struct lap_memobj *object = NULL;
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(tracker, BIG, COHERENT, &mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, &large, BIG, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, 0, BIG), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, big, 0, BIG), LAP_OK);
    for (unsigned i = 100; i < BIG; i++)
        big[i] = (unsigned char)(i * 7 + i / 4096) | 1;
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, take_large, NULL, NULL, NULL), LAP_OK);
    CHECK_EQ_U64(large.received, BIG - 100);
    CHECK(large.most > 4096 && large.most <= LAP_EMIT_BYTES);
    CHECK(memcmp(large.bytes, big, BIG) == 0);
    lap_memtrack_destroy(&tracker);
    free(big);
    free(large.bytes);
}

RULE(misuse_is_refused)
{
    begin();
    struct lap_mem *device_only = NULL;
    struct lap_memobj *object = object_at(0, 0, 8192);
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, 0, &device_only), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(device_only, store, 0, MEM), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_mem_map(mem, NULL, 0, MEM), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_mem_map(mem, store, MEM, 1), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_mem_map(mem, store, 0, 0), LAP_ERROR_ARGUMENT);
    map(0, MEM);
    CHECK_EQ_INT(lap_mem_map(mem, store, 0, MEM), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, MEM - 100, 8192), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_memobj_bind(object, 9000, mem, 0, 1), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, UINT64_MAX, 1), LAP_ERROR_ARGUMENT);
    store[0] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1); /* still where it was */
    CHECK(lap_memobj_user(object) == &copies[0]);
    end();
}

/* Tens of thousands of objects in one memory: cost by what changed, not by what exists. */
RULE(many_objects_in_one_memory)
{
    enum { COUNT = 30000, EACH = 256, BIG = COUNT * EACH };
    struct lap_memtrack_options options = {.watch = kind};
    /* No other data in its pages, which would be written, too. */
    unsigned char *big = aligned_alloc(HOST_PAGE, (BIG + HOST_PAGE - 1) / HOST_PAGE * HOST_PAGE);
    struct lap_memobj **objects = calloc(COUNT, sizeof(struct lap_memobj *));
    memset(big, 0, BIG);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(tracker, BIG, COHERENT, &mem), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, big, 0, BIG), LAP_OK);
    memset(copies, 0, sizeof(copies));
    emit_budget = UINT32_MAX;
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK_EQ_INT(lap_memobj_create(tracker, &copies[i % 4], EACH, true, &objects[i]), LAP_OK);
        CHECK_EQ_INT(lap_memobj_bind(objects[i], 0, mem, i * EACH, EACH), LAP_OK);
    }
    for (unsigned round = 1; round < 4; round++) {
        for (unsigned i = 0; i < COUNT; i++)
            big[i * EACH + 7] = (unsigned char)round;
        COLLECT_ALL();
        CHECK_EQ_U64(stats.spans, COUNT);
        CHECK_EQ_U64(stats.emitted_bytes, COUNT);
    }
    for (unsigned frame = 0; frame < 10; frame++) { /* a few in each frame: no more than their pages are read */
        for (unsigned i = 0; i < 5; i++)
            big[(frame * 1777 + i * 6007) % COUNT * EACH + 9] = (unsigned char)(frame + 1);
        COLLECT_ALL();
        CHECK_EQ_U64(stats.spans, 5);
        CHECK_EQ_U64(stats.emitted_bytes, 5);
        CHECK(!exact || stats.scanned_bytes <= 5 * HOST_PAGE);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned victim = (unsigned)((uint64_t)i * 7919 % COUNT);
        lap_memobj_destroy(&objects[victim]);
    }
    CHECK(mem->pieces == NULL);
    lap_memtrack_destroy(&tracker);
    free(objects);
    free(big);
}

UNIT_MAIN();
