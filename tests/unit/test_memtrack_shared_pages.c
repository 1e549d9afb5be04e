/* SPDX-License-Identifier: MIT */
/* Memories that are made of the program's own pages, and have some of them in common. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/memtrack.h"

enum { PAGE = 4096, PAGES = 16 };

/* A memory over some of the pages, all of it one object. */
struct import {
    struct lap_mem *mem;
    struct lap_memobj *object;
    struct copy *copy;
    unsigned char *at;
    size_t bytes;
};

static unsigned char *pages;
static unsigned next_copy;

static void begin_pages(void)
{
    struct lap_memtrack_options options = {.watch = kind, .non_coherent_atom_bytes = 64, .coalesce_gap_bytes = 16};
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    memset(copies, 0, sizeof(copies));
    next_copy = 0;
    emit_budget = UINT32_MAX;
}

static void end_pages(void)
{
    lap_memtrack_destroy(&tracker);
    CHECK_EQ_INT(munmap(pages, PAGES * PAGE), 0);
}

static struct import import_as(uint32_t flags, size_t offset, size_t bytes)
{
    struct import made = {.copy = &copies[next_copy++ % 4], .at = pages + offset, .bytes = bytes};
    memset(made.copy, 0, sizeof(*made.copy));
    CHECK_EQ_INT(lap_mem_import(tracker, made.at, bytes, flags, &made.mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, made.copy, bytes, true, &made.object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(made.object, 0, made.mem, 0, bytes), LAP_OK);
    return made;
}

static struct import import(size_t first_page, size_t page_count)
{
    return import_as(COHERENT, first_page * PAGE, page_count * PAGE);
}

static void release(struct import *made)
{
    lap_memobj_destroy(&made->object);
    lap_mem_destroy(&made->mem);
}

/* The next collect sends this many bytes to it, and then its copy is right. */
static void expect(struct import *made, uint64_t bytes)
{
    uint64_t before = made->copy->received;
    collect_range(made->object, 0, made->bytes, false);
    CHECK_EQ_U64(made->copy->received - before, bytes);
    CHECK(memcmp(made->copy->bytes, made->at, made->bytes) == 0);
}

static void give_back(size_t first_page, size_t page_count)
{
    CHECK_EQ_INT(mprotect(pages + first_page * PAGE, page_count * PAGE, PROT_NONE), 0);
}

RULE(what_the_host_writes_goes_to_the_objects_of_both)
{
    struct import a, b, c;
    begin_pages();
    memset(pages + 3 * PAGE, 7, 100);
    a = import(0, 4);
    b = import(0, 4);
    c = import(2, 4);
    expect(&a, 100);
    expect(&b, 100);
    expect(&c, 100);
    pages[2 * PAGE + 5] = pages[4 * PAGE - 1] = pages[4 * PAGE] = pages[PAGE] = 1;
    expect(&c, 3);
    expect(&b, 3);
    expect(&a, 3);
    pages[4 * PAGE - 1] = 2;
    COLLECT_ALL();
    CHECK(memcmp(a.copy->bytes, a.at, a.bytes) == 0 && memcmp(c.copy->bytes, c.at, c.bytes) == 0);
    expect(&a, 0);
    expect(&b, 0);
    expect(&c, 0);
    end_pages();
}

RULE(what_the_device_writes_through_one_is_no_host_write_in_the_other)
{
    struct import a, b;
    begin_pages();
    a = import(0, 4);
    b = import(2, 4);
    memset(pages + 3 * PAGE, 7, 200);
    expect(&a, 200);
    expect(&b, 200);
    /* In b's bytes, and across the beginning of b in a's. */
    collect_range(b.object, PAGE + 50, 100, true);
    memset(pages + 3 * PAGE + 50, 8, 100);
    device_wrote(b.object, PAGE + 50, 100);
    collect_range(a.object, 2 * PAGE - 20, 40, true);
    memset(pages + 2 * PAGE - 20, 9, 40);
    device_wrote(a.object, 2 * PAGE - 20, 40);
    b.copy->received = a.copy->received = 0;
    COLLECT_ALL();
    CHECK_EQ_U64(a.copy->received, 0);
    CHECK_EQ_U64(b.copy->received, 0);
    pages[3 * PAGE + 60] = 10; /* the host's again */
    COLLECT_ALL();
    CHECK_EQ_U64(a.copy->received, 1);
    CHECK_EQ_U64(b.copy->received, 1);
    end_pages();
}

RULE(pages_that_were_given_back_are_left_alone)
{
    struct import a, b, c;
    begin_pages();
    a = import(0, 8);
    b = import(2, 2);
    c = import(6, 4);
    memset(pages, 3, 8 * PAGE);
    release(&a);
    give_back(0, 2);
    give_back(4, 2);
    expect(&b, 2 * PAGE);
    expect(&c, 2 * PAGE);
    pages[2 * PAGE] = pages[4 * PAGE - 1] = pages[6 * PAGE] = 4;
    COLLECT_ALL();
    expect(&b, 0);
    expect(&c, 0);
    release(&b);
    give_back(2, 2);
    pages[9 * PAGE] = 5;
    expect(&c, 1);
    release(&c);
    CHECK(tracker->pages == NULL && tracker->mems == NULL && tracker->views == NULL);
    end_pages();
}

RULE(what_is_known_of_pages_outlives_a_split)
{
    struct import a, b;
    struct lap_touched busy;
    begin_pages();
    a = import(0, 8);
    memset(pages + PAGE, 1, 4 * PAGE);
    collect_range(a.object, 0, PAGE, false); /* nothing is sent of what was written behind */
    collect_range(a.object, 2 * PAGE, 10, true);
    memset(pages + 2 * PAGE, 2, 10);
    device_wrote(a.object, 2 * PAGE, 10);
    lap_touched_init(&busy);
    CHECK(lap_touched_add(&busy, a.object, 6 * PAGE, 10, true));
    CHECK_EQ_INT(collect(&busy), LAP_OK);
    lap_memtrack_device_busy(tracker, &busy, false);
    pages[6 * PAGE] = 3; /* the device, halfway */
    pages[7 * PAGE] = 4;
    b = import_as(COHERENT, PAGE + 100, 6 * PAGE);
    CHECK_EQ_U64(lap_memobj_place(a.object).aliased, true);
    CHECK(lap_memobj_place(b.object).mem == b.mem);
    collect_range(b.object, 0, b.bytes, false);
    CHECK_EQ_U64(b.copy->bytes[0], 1);
    CHECK_EQ_U64(b.copy->bytes[PAGE - 100], 0); /* the device's are not sent */
    CHECK_EQ_U64(b.copy->bytes[5 * PAGE - 100], 0);
    CHECK_EQ_U64(b.copy->bytes[6 * PAGE - 100], 4);
    device_wrote(a.object, 6 * PAGE, 10);
    lap_memtrack_device_busy(tracker, NULL, true);
    lap_touched_finish(&busy);
    COLLECT_ALL();
    memset(a.copy->bytes + 2 * PAGE, 2, 10);
    a.copy->bytes[6 * PAGE] = 3;
    CHECK(memcmp(a.copy->bytes, pages, a.bytes) == 0);
    pages[PAGE + 99] = pages[PAGE + 100] = 9; /* on either side of the border, in one page */
    COLLECT_ALL();
    CHECK(memcmp(a.copy->bytes, pages, a.bytes) == 0);
    CHECK_EQ_U64(b.copy->bytes[0], 9);
    end_pages();
}

RULE(stores_before_a_split_are_found_after_it)
{
    struct import a, b, c;
    begin_pages();
    a = import(0, 8);
    for (unsigned i = 0; i < 8; i++)
        pages[i * PAGE + 40 * i] = 1;
    b = import(3, 2);
    pages[3 * PAGE + 1000] = pages[7 * PAGE + 1000] = 2;
    c = import(0, 8);
    expect(&b, 3);
    expect(&c, 10);
    expect(&a, 10);
    end_pages();
}

RULE(what_was_bound_through_freed_memory_gets_nothing)
{
    struct import a, b;
    begin_pages();
    a = import(0, 2);
    b = import(1, 2);
    lap_mem_destroy(&a.mem);
    CHECK(lap_memobj_place(a.object).mem == NULL);
    CHECK(!lap_memobj_place(b.object).aliased);
    memset(pages, 1, 3 * PAGE);
    COLLECT_ALL();
    CHECK_EQ_U64(a.copy->received, 0);
    CHECK_EQ_U64(b.copy->received, 2 * PAGE);
    end_pages();
}

RULE(an_object_is_found_in_each_memory_that_has_its_bytes)
{
    struct import a, b;
    uint64_t offset = 0, bytes = UINT64_MAX;
    begin_pages();
    a = import(0, 4);
    b = import(3, 4);
    CHECK(lap_memobj_find(a.object, a.mem, PAGE, 2 * PAGE, &offset, &bytes));
    CHECK(offset == PAGE && bytes == PAGE);
    offset = 0;
    bytes = UINT64_MAX;
    CHECK(lap_memobj_find(a.object, b.mem, 0, UINT64_MAX, &offset, &bytes));
    CHECK(offset == 3 * PAGE && bytes == PAGE);
    offset = 0;
    bytes = UINT64_MAX;
    CHECK(!lap_memobj_find(a.object, b.mem, PAGE, UINT64_MAX, &offset, &bytes));
    CHECK(b.mem->pointer == pages + 3 * PAGE);
    CHECK(lap_mem_mapped(b.mem));
    end_pages();
}

RULE(one_coherent_memory_makes_pages_coherent)
{
    struct import a, b;
    begin_pages();
    a = import_as(LAP_MEM_HOST_VISIBLE, 0, 4 * PAGE);
    pages[10] = pages[3 * PAGE] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(a.copy->received, 0);
    lap_mem_flush(a.mem, 0, UINT64_MAX);
    expect(&a, 2);
    b = import(2, 2);
    pages[11] = pages[3 * PAGE + 1] = 2;
    COLLECT_ALL();
    CHECK_EQ_U64(a.copy->received, 3);
    CHECK_EQ_U64(b.copy->received, 2);
    lap_mem_flush(a.mem, 0, PAGE);
    lap_mem_invalidate(a.mem, 2 * PAGE, 2 * PAGE);
    expect(&a, 1);
    end_pages();
}

RULE(pages_that_others_write_are_compared)
{
    struct import a, b;
    unsigned char *other;
    int fd = memfd_create("pages", MFD_CLOEXEC);
    begin_pages();
    CHECK(fd >= 0 && ftruncate(fd, 8 * PAGE) == 0);
    CHECK(mmap(pages, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == pages);
    other = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(other != MAP_FAILED);
    a = import(0, 8);
    pages[5] = 1;
    b = import_as(COHERENT | LAP_MEM_SHARED, 2 * PAGE, 2 * PAGE); /* only where it lies */
    other[2 * PAGE] = other[4 * PAGE - 1] = 2;
    expect(&b, 2);
    expect(&a, 3);
    lap_mem_share(a.mem);
    lap_mem_share(b.mem);
    other[0] = other[7 * PAGE] = 3;
    pages[7 * PAGE + 1] = 4;
    expect(&a, 3);
    release(&b);
    other[3 * PAGE] = 5;
    expect(&a, 1);
    munmap(other, 8 * PAGE);
    close(fd);
    end_pages();
}

/* ---- payloads ---- */

static struct import join(uint64_t key)
{
    struct import made = {.copy = &copies[next_copy++ % 4], .at = pages, .bytes = 8 * PAGE};
    memset(made.copy, 0, sizeof(*made.copy));
    CHECK_EQ_INT(lap_mem_join(tracker, key, made.bytes, COHERENT, &made.mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, made.copy, made.bytes, true, &made.object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(made.object, 0, made.mem, 0, made.bytes), LAP_OK);
    return made;
}

RULE(memories_of_one_payload_are_one)
{
    struct import a, b, c;
    unsigned char *other;
    int fd = memfd_create("pages", MFD_CLOEXEC);
    begin_pages();
    CHECK(fd >= 0 && ftruncate(fd, 8 * PAGE) == 0);
    CHECK(mmap(pages, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == pages);
    other = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(other != MAP_FAILED);
    a = join(5);
    b = join(5);
    c = join(6);
    CHECK(!lap_mem_mapped(a.mem));
    pages[10] = 1; /* somebody, before anything is mapped */
    lap_mem_point(a.mem, pages);
    CHECK(lap_mem_mapped(b.mem) && !lap_mem_mapped(c.mem));
    CHECK(b.mem->whole->pointer == pages);
    CHECK(lap_memobj_place(b.object).aliased && !lap_memobj_place(c.object).aliased);
    CHECK(lap_memobj_place(b.object).mem == b.mem);
    pages[PAGE] = 2;
    other[3 * PAGE] = 3;
    expect(&a, 3);
    expect(&b, 3);
    collect_range(b.object, 4 * PAGE, 100, true);
    memset(other + 4 * PAGE, 4, 100);
    device_wrote(b.object, 4 * PAGE, 100);
    COLLECT_ALL();
    CHECK_EQ_U64(a.copy->received, 3);
    lap_mem_point(b.mem, other); /* the first mapping ends */
    CHECK(a.mem->whole->pointer == other);
    CHECK(mprotect(pages, 8 * PAGE, PROT_NONE) == 0);
    other[5 * PAGE] = 5;
    lap_mem_point(a.mem, NULL);
    CHECK(!lap_mem_mapped(b.mem));
    other[6 * PAGE] = 6; /* another process, while nothing is mapped */
    collect_range(a.object, 4 * PAGE, 10, true);
    other[4 * PAGE] = 7;
    device_wrote(a.object, 4 * PAGE, 10);
    lap_mem_point(a.mem, other);
    COLLECT_ALL();
    CHECK_EQ_U64(a.copy->received, 5);
    CHECK_EQ_U64(b.copy->received, 5);
    CHECK(a.copy->bytes[5 * PAGE] == 5 && b.copy->bytes[6 * PAGE] == 6);
    release(&a);
    other[7 * PAGE] = 8;
    COLLECT_ALL();
    CHECK_EQ_U64(b.copy->received, 6);
    CHECK_EQ_U64(c.copy->received, 0);
    release(&b);
    release(&c);
    CHECK(tracker->mems == NULL && tracker->views == NULL);
    munmap(other, 8 * PAGE);
    close(fd);
    end_pages();
}

UNIT_TEST(what_is_no_memory_is_refused)
{
    struct lap_mem *none;
    kind = LAP_WATCH_COMPARE;
    begin_pages();
    CHECK_EQ_INT(lap_mem_import(tracker, NULL, PAGE, COHERENT, &none), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_mem_import(tracker, pages, 0, COHERENT, &none), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_mem_import(tracker, pages, UINT64_MAX, COHERENT, &none), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_mem_import(tracker, pages, PAGE, 0, &none), LAP_ERROR_ARGUMENT);
    CHECK(none == NULL);
    CHECK_EQ_INT(lap_mem_import(tracker, pages, PAGE, COHERENT, &none), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(none, pages, 0, PAGE), LAP_ERROR_ARGUMENT);
    lap_mem_unmap(none);
    CHECK(lap_mem_mapped(none));
    end_pages();
}

UNIT_MAIN();
