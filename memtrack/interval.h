/* SPDX-License-Identifier: MIT */
/*
 * interval: a set of bytes kept as sorted, disjoint ranges [begin, end) that do not touch each other.
 *
 * A treap in one array: every operation costs O(log n + ranges removed). One thread at a time. A zeroed struct is an
 * empty set that owns nothing.
 */
#ifndef LAP_MEMTRACK_INTERVAL_H
#define LAP_MEMTRACK_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

struct lap_interval_node {
    uint64_t begin, end;
    uint32_t left, right, priority; /* children are indices into the array, 0: none */
};

struct lap_interval {
    struct lap_interval_node *nodes; /* [0] is never used */
    uint32_t root, free_list;        /* indices; the free list is linked by `left` */
    uint32_t count;                  /* ranges in the set */
    uint32_t used, capacity;         /* of nodes: handed out at least once, allocated */
    uint32_t random;
};

void lap_interval_finish(struct lap_interval *set);

/* Forgets all ranges; keeps a small array for reuse and gives a large one back. */
void lap_interval_clear(struct lap_interval *set);

/* After it returned true, the next call of add or remove can't fail. */
bool lap_interval_reserve(struct lap_interval *set);

/* Both return false when out of memory, with the set unchanged. Empty ranges (begin >= end) change nothing. Either may
 * need one new node: removing from the middle of a range makes two. */
bool lap_interval_add(struct lap_interval *set, uint64_t begin, uint64_t end);
bool lap_interval_remove(struct lap_interval *set, uint64_t begin, uint64_t end);

/* The first range that ends after `from`, whole (it may begin before `from`). False: there is none. */
bool lap_interval_next(const struct lap_interval *set, uint64_t from, uint64_t *out_begin, uint64_t *out_end);

/* The first part of the set inside [begin, end). To walk an intersection, go on with begin = *out_end. */
bool lap_interval_first_in(const struct lap_interval *set, uint64_t begin, uint64_t end, uint64_t *out_begin,
                           uint64_t *out_end);

/* The first part of [begin, end) that is not in the set. */
bool lap_interval_first_hole(const struct lap_interval *set, uint64_t begin, uint64_t end, uint64_t *out_begin,
                             uint64_t *out_end);

bool lap_interval_intersects(const struct lap_interval *set, uint64_t begin, uint64_t end);
uint64_t lap_interval_bytes(const struct lap_interval *set); /* O(n) */

static inline bool lap_interval_empty(const struct lap_interval *set)
{
    return set->root == 0;
}

#endif
