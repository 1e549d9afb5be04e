/* SPDX-License-Identifier: MIT */
/*
 * memtrack/watch_mprotect.c: two threads store to one page, one of them then takes what was written. The other thread's
 * handler may be anywhere meanwhile.
 *
 * A page's protection is a relaxed atomic here: the kernel's locks do not order it with the program's accesses. To make
 * a page read-only, the kernel waits for all processors.
 */
#include <stdatomic.h>
#include <sys/mman.h>

static int model_mprotect(void *begin, size_t bytes, int protection);
#define mprotect model_mprotect
#include "memtrack/watch_mprotect.c"
#include "memtrack/watch_pages.c"

#include "tests/model/model.h"

#define PAGE_BYTES UINT64_C(4096)
#define PAGE       (UINT64_C(1) << 20) /* its number: nothing lies there */

static atomic_uint protection_of_page;
static atomic_uint stored; /* relaxed: what the page holds */
static bool reported;

static int model_mprotect(void *begin, size_t bytes, int protection)
{
    MODEL_CHECK((uintptr_t)begin / PAGE_BYTES == PAGE && bytes == PAGE_BYTES);
    atomic_store_explicit(&protection_of_page, (unsigned)protection, memory_order_relaxed);
    if (!(protection & PROT_WRITE))
        model_see_everywhere(&protection_of_page);
    return 0;
}

/* A store of the program. */
static void store(void)
{
    while (!(atomic_load_explicit(&protection_of_page, memory_order_relaxed) & PROT_WRITE))
        MODEL_CHECK(is_ours(PAGE));
    atomic_fetch_add_explicit(&stored, 1, memory_order_relaxed);
}

static void begin(void)
{
    page_bytes = PAGE_BYTES;
    MODEL_CHECK(lap_watch_pages_make(PAGE, PAGE + 1));
    atomic_store(&stored, 0);
    MODEL_CHECK(rearm(PAGE, PAGE + 1));
    reported = false;
}

static void run(unsigned thread)
{
    uint64_t page = PAGE, first;
    store();
    if (thread != 0)
        return;
    while (next_written(&page, PAGE + 1, &first)) {
        rearm(first, page);
        reported = true;
    }
    MODEL_CHECK(reported); /* this thread's own store at least */
    store();
    page = PAGE;
    MODEL_CHECK(next_written(&page, PAGE + 1, &first));
}

static void end(void)
{
    MODEL_CHECK(atomic_load(lap_watch_page(PAGE)) & WRITTEN);
}

const struct model model = {.threads = 2, .begin = begin, .run = run, .end = end};
