/* SPDX-License-Identifier: MIT */
#include "base/process/process.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

_Atomic(atomic_int *) lap_process_page;
static atomic_bool refused; /* the kernel has no such pages, or no memory: each call asks the kernel then */

static atomic_int *make_page(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    atomic_int *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *known = NULL;
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        munmap(page, bytes);
        return NULL;
    }
    if (atomic_compare_exchange_strong(&lap_process_page, &known, page))
        return page;
    munmap(page, bytes); /* another thread was faster */
    return known;
}

int lap_process_ask(void)
{
    atomic_int *page = atomic_load(&lap_process_page);
    int number = getpid(), error = errno;
    if (!page && !atomic_load(&refused)) {
        page = make_page();
        if (!page)
            atomic_store(&refused, true);
    }
    if (page)
        atomic_store(page, number);
    errno = error;
    return number;
}
