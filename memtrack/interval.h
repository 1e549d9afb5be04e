/* SPDX-License-Identifier: MIT */
/*
 * interval: a set of bytes kept as sorted, disjoint ranges [begin, end) that do not touch each other.
 *
 * The ranges lie in leaves of at most LAP_INTERVAL_LEAF, one behind the other. To find one costs O(log n), and nothing
 * where it is at or next to the one that was found last: scans and walks go through a set in ascending order. A change
 * moves the ranges behind it in its leaf; one in LAP_INTERVAL_LEAF / 2 moves the list of leaves. Many changes at once
 * write the leaves that they concern anew, in one pass. One thread at a time. A zeroed struct is an empty set that owns
 * nothing.
 */
#ifndef LAP_MEMTRACK_INTERVAL_H
#define LAP_MEMTRACK_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAP_INTERVAL_LEAF 64u /* ranges */

struct lap_interval_leaves; /* interval.c */

struct lap_interval {
    struct lap_interval_leaves *leaves; /* NULL: nothing was added yet */
    uint32_t count;                     /* ranges in the set */
};

void lap_interval_finish(struct lap_interval *set);

/* Forgets all ranges; keeps room for a few. */
void lap_interval_clear(struct lap_interval *set);

/* Both return false when out of memory, with the set unchanged. Empty ranges (begin >= end) change nothing. Removing
 * from the middle of a range makes two; other removals need no memory. */
bool lap_interval_add(struct lap_interval *set, uint64_t begin, uint64_t end);
bool lap_interval_remove(struct lap_interval *set, uint64_t begin, uint64_t end);

struct lap_span {
    uint64_t begin, end;
};

/* Ranges that are not empty and overlap no other, in ascending order, as they lie in [begin, end): each has a byte
 * there. `shift` moves them then, modulo 2^64. */
struct lap_spans {
    const struct lap_span *at;
    size_t count;
    uint64_t begin, end, shift;
};

/* The same for many ranges. When out of memory, a part of them may have been added or removed. */
bool lap_interval_add_all(struct lap_interval *set, const struct lap_spans *spans);
bool lap_interval_remove_all(struct lap_interval *set, const struct lap_spans *spans);

/* The first range that ends after `from`, whole (it may begin before `from`). False: there is none. */
bool lap_interval_next(const struct lap_interval *set, uint64_t from, uint64_t *out_begin, uint64_t *out_end);

/* The first part of [begin, end) that is not in the set. */
bool lap_interval_first_hole(const struct lap_interval *set, uint64_t begin, uint64_t end, uint64_t *out_begin,
                             uint64_t *out_end);

static inline bool lap_interval_empty(const struct lap_interval *set)
{
    return set->count == 0;
}

/* The first part of the set inside [begin, end). To walk an intersection, go on with begin = *out_end. */
static inline bool lap_interval_first_in(const struct lap_interval *set, uint64_t begin, uint64_t end,
                                         uint64_t *out_begin, uint64_t *out_end)
{
    uint64_t found_begin, found_end;
    if (begin >= end || lap_interval_empty(set) || !lap_interval_next(set, begin, &found_begin, &found_end) ||
        found_begin >= end)
        return false;
    *out_begin = found_begin > begin ? found_begin : begin;
    *out_end = found_end < end ? found_end : end;
    return true;
}

static inline bool lap_interval_intersects(const struct lap_interval *set, uint64_t begin, uint64_t end)
{
    uint64_t found_begin, found_end;
    return lap_interval_first_in(set, begin, end, &found_begin, &found_end);
}

#endif
