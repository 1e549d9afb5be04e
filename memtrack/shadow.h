/* SPDX-License-Identifier: MIT */
/*
 * shadow: the last known bytes of one memory, as sparse copies of 4 KiB pages of the memory's offset space. A page that
 * is all zero takes no storage. One thread at a time.
 */
#ifndef LAP_MEMTRACK_SHADOW_H
#define LAP_MEMTRACK_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrack/page_pool.h"

#define LAP_SHADOW_PAGE LAP_POOL_PAGE

struct lap_shadow_leaf;

struct lap_shadow {
    struct lap_shadow_leaf **leaves; /* NULL until a page is owned; a NULL leaf is all zero */
    struct lap_page_pool *pool;
    uint64_t bytes; /* of the memory */
    uint64_t owned_pages;
};

/* The pool outlives the shadow, and is used by the same thread. */
void lap_shadow_init(struct lap_shadow *shadow, uint64_t bytes, struct lap_page_pool *pool);
void lap_shadow_finish(struct lap_shadow *shadow);

/* The 4096 bytes of a page (offset / LAP_SHADOW_PAGE); never NULL. Valid until the page changes hands: own, drop. */
const unsigned char *lap_shadow_page(const struct lap_shadow *shadow, uint64_t page);

/* The same for writing; makes the page take storage. NULL when out of memory. */
unsigned char *lap_shadow_own(struct lap_shadow *shadow, uint64_t page);

/* Makes pages [first, end) zero again and gives their storage back. */
void lap_shadow_drop(struct lap_shadow *shadow, uint64_t first, uint64_t end);

/* Moves *page to the first page in [*page, end) that takes storage. False: there is none. */
bool lap_shadow_next_owned(const struct lap_shadow *shadow, uint64_t *page, uint64_t end);

void lap_shadow_read(const struct lap_shadow *shadow, uint64_t offset, void *to, size_t bytes);

#endif
