/* SPDX-License-Identifier: MIT */
/*
 * page_pool: storage for shadow pages. Pages come in blocks of 64, each allocated with one call to the kernel: a page
 * fault for each page would cost more than its use. A pool that grows takes eight blocks at once, as one huge page
 * where the kernel has them. One thread at a time.
 */
#ifndef LAP_MEMTRACK_PAGE_POOL_H
#define LAP_MEMTRACK_PAGE_POOL_H

#include <stdint.h>

#define LAP_POOL_PAGE 4096u

struct lap_page_block;

struct lap_page_pool {
    struct lap_page_block *blocks; /* those with a free page; zeroed is empty */
    uint64_t block_count;          /* all of them */
};

/* A page of zeroes, aligned to its size. NULL when out of memory. */
void *lap_page_pool_take(struct lap_page_pool *pool);
/* page: one that was taken. */
void lap_page_pool_give(struct lap_page_pool *pool, void *page);
/* Frees what is left; all pages were given back. */
void lap_page_pool_finish(struct lap_page_pool *pool);

#endif
