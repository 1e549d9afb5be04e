/* SPDX-License-Identifier: MIT */
/*
 * tree: an ordered tree of ranges that may overlap, linked through nodes inside the caller's structs. A treap by
 * (begin, order), with the largest end of each subtree. One thread at a time. It never allocates.
 */
#ifndef LAP_BASE_TREE_H
#define LAP_BASE_TREE_H

#include <stdint.h>

struct lap_tree_node {
    uint64_t begin, end; /* set by the caller before insertion, and constant while in the tree */
    uint64_t order;      /* orders nodes with equal begin; unique in the tree */
    uint64_t max_end;
    struct lap_tree_node *left, *right;
    uint32_t priority;
};

void lap_tree_insert(struct lap_tree_node **root, struct lap_tree_node *node); /* O(log n) */
void lap_tree_remove(struct lap_tree_node **root, struct lap_tree_node *node); /* O(log n); node is in the tree */

/* Of the nodes that overlap [begin, end), the one that begins first; NULL when none does. O(log n). */
struct lap_tree_node *lap_tree_first(struct lap_tree_node *root, uint64_t begin, uint64_t end);

/* Calls visit for every node that overlaps [begin, end), by (begin, order). visit must not change the tree.
 * O(log n + hits). */
void lap_tree_visit(struct lap_tree_node *root, uint64_t begin, uint64_t end,
                    void (*visit)(void *context, struct lap_tree_node *node), void *context);

#endif
