/* SPDX-License-Identifier: MIT */
/* heap_sort: qsort_r of glibc, for C libraries without it. Equal elements end up in any order. It takes no
 * memory, and no input is slow. Any thread. */
#ifndef LAP_BASE_HEAP_SORT_H
#define LAP_BASE_HEAP_SORT_H

#include <stddef.h>

void lap_heap_sort(void *elements, size_t count, size_t bytes, int (*compare)(const void *, const void *, void *),
                   void *context);

#endif
