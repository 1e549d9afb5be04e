/* SPDX-License-Identifier: MIT */
/* Lets the n-th allocation fail, for every n. A write is either in the replay's copy or somebody was told. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/process/sanitizers.h"
#include "memtrack/memtrack.h"
#include "tests/unit/unit.h"

#if LAP_ADDRESS_SANITIZER || LAP_THREAD_SANITIZER || !defined(__GLIBC__)

UNIT_TEST(every_allocation_may_fail)
{
    SKIP("malloc can't be replaced under a sanitizer, or without glibc");
}

#else

static long countdown = -1; /* allocations that still succeed; -1: all */
static bool failed_one;

static bool fails(void)
{
    if (countdown < 0)
        return false;
    if (countdown == 0)
        return failed_one = true;
    countdown--;
    return false;
}

extern void __libc_free(void *memory);
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

static atomic_long blocks; /* that are allocated */

static void *counted(void *memory)
{
    atomic_fetch_add(&blocks, memory != NULL);
    return memory;
}

/* For the libraries, too. */
#pragma GCC visibility push(default)

void *malloc(size_t bytes)
{
    return fails() ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *old, size_t bytes)
{
    if (fails())
        return NULL;
    return old ? __libc_realloc(old, bytes) : counted(__libc_malloc(bytes));
}

void free(void *memory)
{
    atomic_fetch_sub(&blocks, memory != NULL);
    __libc_free(memory);
}

#pragma GCC visibility pop

enum { MEM = 64 * 1024, FLAGS = LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT };

/* In pages of its own: one that is watched may hold nothing that an allocation stores to. */
static _Alignas(4096) unsigned char store[MEM];
static unsigned char copies[2][MEM];

static enum lap_status receive(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    memcpy((unsigned char *)user + offset, data, bytes);
    return LAP_OK;
}

/* A short life of a tracker. Returns whether every step was fine; then the copies must be right. */
static bool live(enum lap_watch_kind watch, struct lap_memtrack **tracker)
{
    struct lap_memtrack_options options = {.watch = watch};
    struct lap_mem *mem = NULL;
    struct lap_memobj *a = NULL, *b = NULL;
    struct lap_touched touched;
    bool ok = true;
    memset(store, 0, sizeof(store));
    memset(copies, 0, sizeof(copies));
    lap_touched_init(&touched);
    if (lap_memtrack_create(&options, tracker) != LAP_OK)
        return false;
    memset(store, 0x33, 5000);
    ok = ok && lap_mem_create(*tracker, MEM, FLAGS, &mem) == LAP_OK;
    ok = ok && lap_memobj_create(*tracker, copies[0], MEM, true, &a) == LAP_OK;
    ok = ok && lap_memobj_bind(a, 0, mem, 0, MEM) == LAP_OK;
    ok = ok && lap_mem_map(mem, store, 0, MEM) == LAP_OK;
    for (unsigned i = 0; ok && i < MEM; i += 512)
        memset(store + i, (int)(i / 512 + 1), 200);
    memset(store, 0x44, 5000);
    ok = ok && lap_touched_add(&touched, a, 100, 30000, false);
    ok = ok && lap_memtrack_collect(*tracker, &touched, receive, NULL, NULL, NULL) == LAP_OK;
    if (ok) {
        lap_touched_reset(&touched);
        ok = lap_touched_add(&touched, a, 40000, 50, true);
    }
    if (ok)
        lap_memtrack_device_wrote(*tracker, &touched);
    memset(store + 40000, 0x55, 50);
    store[60000] = 9;
    if (ok)
        lap_mem_unmap(mem);
    ok = ok && lap_memobj_create(*tracker, copies[1], MEM, true, &b) == LAP_OK;
    ok = ok && lap_memobj_bind(b, 0, mem, 0, MEM) == LAP_OK;
    if (ok)
        lap_memobj_unbind(a, 50000, 100);
    ok = ok && lap_memtrack_collect(*tracker, NULL, receive, NULL, NULL, NULL) == LAP_OK;
    lap_touched_finish(&touched);
    return ok;
}

/* The same for two imports, of which the second one makes three of the first one's pages. */
static bool live_twice(enum lap_watch_kind watch, struct lap_memtrack **tracker)
{
    struct lap_memtrack_options options = {.watch = watch};
    struct lap_mem *first = NULL, *second = NULL;
    struct lap_memobj *a = NULL, *b = NULL;
    bool ok = true;
    memset(store, 0, sizeof(store));
    memset(copies, 0, sizeof(copies));
    if (lap_memtrack_create(&options, tracker) != LAP_OK)
        return false;
    memset(store, 0x33, 5000);
    ok = ok && lap_mem_import(*tracker, store, MEM, FLAGS, &first) == LAP_OK;
    ok = ok && lap_memobj_create(*tracker, copies[0], MEM, true, &a) == LAP_OK;
    ok = ok && lap_memobj_bind(a, 0, first, 0, MEM) == LAP_OK;
    for (unsigned i = 0; ok && i < MEM; i += 512)
        memset(store + i, (int)(i / 512 + 1), 200);
    ok = ok && lap_memtrack_collect(*tracker, NULL, receive, NULL, NULL, NULL) == LAP_OK;
    store[20000] = 1;
    ok = ok && lap_mem_import(*tracker, store + 16384, 32768, FLAGS, &second) == LAP_OK;
    ok = ok && lap_memobj_create(*tracker, copies[1] + 16384, 32768, true, &b) == LAP_OK;
    ok = ok && lap_memobj_bind(b, 0, second, 0, 32768) == LAP_OK;
    store[16383] = store[16384] = store[49151] = store[49152] = 0x66;
    ok = ok && lap_memtrack_collect(*tracker, NULL, receive, NULL, NULL, NULL) == LAP_OK;
    if (ok) { /* what b was not given */
        memcpy(copies[1], store, 16384);
        memcpy(copies[1] + 49152, store + 49152, MEM - 49152);
    }
    lap_mem_destroy(&first);
    lap_mem_destroy(&second);
    return ok;
}

static bool device_writes(struct lap_memtrack *tracker, struct lap_memobj *object, unsigned begin, unsigned end)
{
    struct lap_touched touched;
    bool ok = true;
    lap_touched_init(&touched);
    for (unsigned i = begin; ok && i < end; i += 1000) {
        ok = lap_touched_add(&touched, object, i, 300, true);
        memset(store + i, (int)(i / 1000 + 1), 300);
    }
    if (ok)
        lap_memtrack_device_wrote(tracker, &touched);
    lap_touched_finish(&touched);
    return ok;
}

/* An object inherits what the device wrote while the memory was mapped, and while it was not. */
static bool live_on(enum lap_watch_kind watch, struct lap_memtrack **tracker)
{
    struct lap_memtrack_options options = {.watch = watch};
    struct lap_mem *mem = NULL;
    struct lap_memobj *a = NULL, *b = NULL;
    uint64_t offset = 0, bytes = 0;
    bool ok = true;
    memset(store, 0, sizeof(store));
    memset(copies, 0, sizeof(copies));
    if (lap_memtrack_create(&options, tracker) != LAP_OK)
        return false;
    ok = ok && lap_mem_create(*tracker, MEM, FLAGS, &mem) == LAP_OK;
    ok = ok && lap_memobj_create(*tracker, copies[0], MEM, true, &a) == LAP_OK;
    ok = ok && lap_memobj_bind(a, 0, mem, 0, MEM) == LAP_OK;
    ok = ok && lap_mem_map(mem, store, 0, MEM) == LAP_OK;
    ok = ok && device_writes(*tracker, a, 500, 30000);
    if (ok)
        lap_mem_unmap(mem);
    ok = ok && device_writes(*tracker, a, 10000, 50000);
    ok = ok && lap_memobj_create(*tracker, copies[1], MEM, true, &b) == LAP_OK;
    lap_memobj_destroy(&a);
    ok = ok && lap_memobj_bind(b, 0, mem, 0, MEM) == LAP_OK;
    if (ok && lap_mem_has_unread(mem, &offset, &bytes))
        lap_mem_show(mem, store + offset, offset, bytes);
    ok = ok && lap_memtrack_collect(*tracker, NULL, receive, NULL, NULL, NULL) == LAP_OK;
    if (ok) /* the device wrote it there, too */
        memcpy(copies[0], store, MEM);
    return ok;
}

static void sweep(enum lap_watch_kind watch, bool (*live_a_life)(enum lap_watch_kind, struct lap_memtrack **))
{
    bool ok = false;
    long n = 0;
    do {
        struct lap_memtrack *tracker = NULL;
        long first_blocks = blocks;
        failed_one = false;
        countdown = n++;
        ok = live_a_life(watch, &tracker);
        countdown = -1;
        if (ok) {
            memset(store + 50000, 0, 100);
            memset(copies[0] + 50000, 0, 100);
            CHECK(memcmp(copies[0], store, MEM) == 0);
            memset(copies[1] + 50000, 0, 100);
            CHECK(memcmp(copies[1], store, MEM) == 0);
        }
        lap_memtrack_destroy(&tracker);
        CHECK_EQ_INT(blocks, first_blocks);
    } while (failed_one && n < 5000 && !unit_failed);
    CHECK(ok);
    CHECK(n > 20); /* something did fail on the way */
}

UNIT_TEST(every_allocation_may_fail_compare)
{
    sweep(LAP_WATCH_COMPARE, live);
    sweep(LAP_WATCH_COMPARE, live_twice);
    sweep(LAP_WATCH_COMPARE, live_on);
}

UNIT_TEST(every_allocation_may_fail_pagemap)
{
    sweep(LAP_WATCH_PAGEMAP, live);
    sweep(LAP_WATCH_PAGEMAP, live_twice);
    sweep(LAP_WATCH_PAGEMAP, live_on);
}

UNIT_TEST(every_allocation_may_fail_mprotect)
{
    sweep(LAP_WATCH_MPROTECT, live);
    sweep(LAP_WATCH_MPROTECT, live_twice);
    sweep(LAP_WATCH_MPROTECT, live_on);
}

#endif

UNIT_MAIN();
