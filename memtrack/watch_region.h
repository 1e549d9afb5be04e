/* SPDX-License-Identifier: MIT */
/*
 * watch_region: the ranges of addresses that one back end watches. They need not be page-aligned, several may lie in
 * one page, and they may overlap (one piece of host memory imported twice). A page is taken for all of them: the result
 * of one take() is kept for the others. Under the back end's mutex.
 */
#ifndef LAP_MEMTRACK_WATCH_REGION_H
#define LAP_MEMTRACK_WATCH_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tree.h"
#include "memtrack/interval.h"
#include "memtrack/watch.h"

struct lap_watch_region {
    struct lap_tree_node node; /* [begin, end): addresses */
    struct lap_interval taken; /* found by a take() of another region in the same page */
    void *asked;               /* during a take: the context of reports about this region; NULL: it is not requested */
    int process;               /* a child of fork() has a copy, and nothing is watched there */
    bool all;                  /* there was no memory for it: all of the region may have been written */
    bool plain;                /* pages without storage hold zeroes, and are stored to only through the region */
    uint16_t *counts;          /* the back end's own; freed with the region */
};

struct lap_watch_regions {
    struct lap_tree_node *tree;
    uint64_t next_order;
};

/* NULL when out of memory, with a sentence. It isn't in the set yet. */
struct lap_watch_region *lap_watch_region_create(const void *begin, size_t bytes);
void lap_watch_region_destroy(struct lap_watch_region *region);
bool lap_watch_region_inherited(const struct lap_watch_region *region);
void lap_watch_region_insert(struct lap_watch_regions *regions, struct lap_watch_region *region);
void lap_watch_region_remove(struct lap_watch_regions *regions, struct lap_watch_region *region);

uint64_t lap_watch_page_bytes(void);
static inline uint64_t lap_watch_page_floor(uint64_t address, uint64_t page)
{
    return address & ~(page - 1);
}
static inline uint64_t lap_watch_page_ceil(uint64_t address, uint64_t page)
{
    return (address + page - 1) & ~(page - 1);
}

/* The first run of whole pages inside [*at, end) in which no region of the set lies; *at is moved behind it. False:
 * there is none. Both are page-aligned. For a region that is not in the set. */
bool lap_watch_region_own_pages(const struct lap_watch_regions *regions, uint64_t *at, uint64_t end,
                                uint64_t *out_begin, uint64_t *out_end);

/* Pages [begin, end) were written and are armed again: reports the requested parts of regions and keeps the others for
 * later. */
void lap_watch_region_found(struct lap_watch_regions *regions, uint64_t begin, uint64_t end,
                            lap_watch_report_fn report);

/* Reports the written ranges that takes of other regions kept for this one in [begin, end). */
void lap_watch_region_left(struct lap_watch_region *region, uint64_t begin, uint64_t end, lap_watch_report_fn report,
                           void *report_context);

#endif
