/* SPDX-License-Identifier: MIT */
/* Writers that never stop while the tracker compares, and other threads that change what is bound meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/process/sanitizers.h"
#include "memtrack/memtrack.h"
#include "tests/unit/unit.h"

/* After the writers' part comes the collecting thread's own word: what a thread wrote before it collects is in that
 * collect. */
enum {
    LINES = 512 * 1024,
    LINE = 64,
    RUNS = 256 * 1024,
    MEM = LINES * LINE + RUNS,
    ALL = MEM + 64,
    WRITERS = 3,
    FLAGS = LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT
};

static struct lap_memtrack *tracker;
static struct lap_mem *mem;
static unsigned char *store, *copy;
static atomic_bool stop;
static atomic_ullong written;

static enum lap_status receive(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    if (user) /* the objects that come and go have none */
        memcpy((unsigned char *)user + offset, data, bytes);
    return LAP_OK;
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* One word of each line, in an order that leaves no two stores close together: what is lost stays lost until the writer
 * has been everywhere else, and no gap between two changes covers it. */
static void *write_lines(void *unused)
{
    uint32_t at = 0, value = 1;
    if (LAP_THREAD_SANITIZER) /* to read what the program is writing is the tracker's trade, and a race by the letter */
        return NULL;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        *(volatile uint32_t *)(void *)(store + (size_t)at * LINE) = value++;
        at = (at + 324503) % LINES; /* odd: all lines come before any comes again */
        atomic_fetch_add_explicit(&written, 1, memory_order_relaxed);
    }
    return NULL;
}

/* Each of two writers has every other word, so that both are in every page and in every span. */
static void *write_words(void *which)
{
    uint32_t state = 77 + (uint32_t)(uintptr_t)which;
    volatile uint32_t *words = (volatile uint32_t *)(void *)(store + LINES * LINE);
    if (LAP_THREAD_SANITIZER)
        return NULL;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uint32_t at = next_random(&state) % (RUNS / 8) * 2 + (uint32_t)(uintptr_t)which;
        words[at] = state;
        if (state % 16 == 0) /* and runs, which span pages */
            for (uint32_t i = at; i < RUNS / 4 && i < at + 3000; i += 2)
                words[i]++;
        atomic_fetch_add_explicit(&written, 1, memory_order_relaxed);
    }
    return NULL;
}

static void *bind_and_unbind(void *unused)
{
    uint32_t state = 5;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        struct lap_memobj *object = NULL;
        struct lap_mem *other = NULL;
        CHECK_EQ_INT(lap_memobj_create(tracker, NULL, 5000, true, &object), LAP_OK);
        CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, next_random(&state) % (MEM - 5000), 5000), LAP_OK);
        CHECK(lap_memobj_place(object).aliased);
        CHECK_EQ_INT(lap_mem_create(tracker, 10000, FLAGS, &other), LAP_OK);
        if (state & 1)
            CHECK_EQ_INT(lap_memobj_bind(object, 1000, other, 0, 2000), LAP_OK);
        if (state & 2)
            lap_mem_destroy(&other);
        lap_memobj_destroy(&object);
        lap_mem_destroy(&other);
    }
    return NULL;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void write_and_collect(enum lap_watch_kind watch, const char *name)
{
    struct lap_memtrack_options options = {.watch = watch};
    struct lap_memobj *object = NULL;
    struct lap_collect_stats stats;
    pthread_t writers[WRITERS], binder;
    uint64_t collects = 0, emitted = 0;
    double start = seconds();
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    if (strcmp(lap_memtrack_watch_name(tracker), name) != 0) {
        lap_memtrack_destroy(&tracker);
        SKIP("this watch does not work here");
    }
    store = malloc(ALL); /* shares pages with others */
    copy = calloc(1, ALL);
    memset(store, 0, ALL);
    atomic_store(&stop, false);
    atomic_store(&written, 0);
    CHECK_EQ_INT(lap_mem_create(tracker, ALL, FLAGS, &mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, copy, ALL, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, 0, ALL), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, store, 0, ALL), LAP_OK);
    for (uintptr_t i = 0; i < WRITERS; i++)
        CHECK_EQ_INT(pthread_create(&writers[i], NULL, i < 2 ? write_words : write_lines, (void *)i), 0);
    CHECK_EQ_INT(pthread_create(&binder, NULL, bind_and_unbind, NULL), 0);
    while ((seconds() - start < 1 || collects < 4) && !unit_failed) { /* instrumented, a collect takes long */
        if (LAP_THREAD_SANITIZER)
            store[collects * 997 % MEM]++, atomic_fetch_add(&written, 1);
        memcpy(store + MEM, &collects, sizeof(collects));
        CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, receive, NULL, NULL, &stats), LAP_OK);
        CHECK(memcmp(copy + MEM, &collects, sizeof(collects)) == 0);
        emitted += stats.emitted_bytes;
        collects++;
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    pthread_join(binder, NULL);
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, receive, NULL, NULL, &stats), LAP_OK);
    CHECK(memcmp(copy, store, ALL) == 0);
    CHECK(collects > 2 && emitted > 0 && atomic_load(&written) > 2);
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, receive, NULL, NULL, &stats), LAP_OK);
    CHECK_EQ_U64(stats.emitted_bytes, 0);
    lap_memtrack_destroy(&tracker);
    free(store);
    free(copy);
}

UNIT_TEST(no_write_is_lost_while_others_write_compare)
{
    write_and_collect(LAP_WATCH_COMPARE, "compare");
}

UNIT_TEST(no_write_is_lost_while_others_write_pagemap)
{
    write_and_collect(LAP_WATCH_PAGEMAP, "pagemap");
}

UNIT_TEST(no_write_is_lost_while_others_write_mprotect)
{
    write_and_collect(LAP_WATCH_MPROTECT, "mprotect");
}

UNIT_MAIN();
