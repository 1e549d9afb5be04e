/* SPDX-License-Identifier: MIT */
/*
 * watch_pages: one word for each page of the address space, found without a lock, also in a signal handler. A tree of
 * three levels of tables, which are made when a page below them is first used and stay until the process ends: 16 KiB
 * for each 16 MiB of addresses in use (with pages of 4 KiB). They lie in mappings of their own: a handler that writes
 * to them must not fault, and a neighbour on the heap may be watched.
 */
#ifndef LAP_MEMTRACK_WATCH_PAGES_H
#define LAP_MEMTRACK_WATCH_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The word of a page (address / page size); NULL when it was not made. Any thread, any context. */
atomic_uint *lap_watch_page(uint64_t page);

/* The same; *out_count gets the number of consecutive words from there on. */
atomic_uint *lap_watch_page_run(uint64_t page, uint64_t *out_count);

/* Makes the words of pages [first, end). False when out of memory, or for page numbers of more than 36 bits. One
 * thread at a time. */
bool lap_watch_pages_make(uint64_t first, uint64_t end);

/* All words that are not 0. */
void lap_watch_pages_each(void (*visit)(uint64_t page, atomic_uint *word));

#endif
