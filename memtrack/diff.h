/* SPDX-License-Identifier: MIT */
/*
 * diff: where two buffers of equal size differ. Pure functions, any thread.
 */
#ifndef LAP_MEMTRACK_DIFF_H
#define LAP_MEMTRACK_DIFF_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the first span at or after `from` in which a and b differ: its first and last byte differ, and runs of equal
 * bytes shorter than `gap` are part of it (gap 0 or 1: none are). False when the rest is equal. To go on, pass *out_end
 * as `from`. Equal data is read at about the speed of memcmp. */
bool lap_diff_next(const void *a, const void *b, size_t bytes, size_t from, size_t gap, size_t *out_begin,
                   size_t *out_end);

/* The same by blocks of 64 bytes, counted from a: the first run of blocks at or after `from` (a multiple of 64) each of
 * which differs somewhere. It may end with a last block that is shorter, and that one may be equal. */
bool lap_diff_next_blocks(const void *a, const void *b, size_t bytes, size_t from, size_t *out_begin, size_t *out_end);

bool lap_diff_is_zero(const void *data, size_t bytes);

#endif
