/* SPDX-License-Identifier: MIT */
#include "memtrack/interval.h"

#include <stdlib.h>

#define KEEP_NODES 64u /* an emptied set keeps an array up to this size */

typedef struct lap_interval_node node_t;

void lap_interval_finish(struct lap_interval *set)
{
    free(set->nodes);
    *set = (struct lap_interval){0};
}

void lap_interval_clear(struct lap_interval *set)
{
    if (set->capacity > KEEP_NODES) {
        lap_interval_finish(set);
        return;
    }
    set->root = set->free_list = set->count = 0;
    set->used = set->nodes ? 1 : 0;
}

/* Nodes are in use or on the free list, and node 0 is neither: used = 1 + count + length of the free list. So there is
 * room for one more when count + 2 <= capacity. */
bool lap_interval_reserve(struct lap_interval *set)
{
    uint64_t need = (uint64_t)set->count + 2, capacity = set->capacity ? set->capacity : 4;
    node_t *nodes;
    if (need <= set->capacity)
        return true;
    while (capacity < need)
        capacity *= 2;
    if (capacity > UINT32_MAX)
        return false;
    nodes = realloc(set->nodes, (size_t)capacity * sizeof(*nodes));
    if (!nodes)
        return false;
    if (!set->nodes) {
        set->used = 1;
        set->random = 0x9e3779b9u;
    }
    set->nodes = nodes;
    set->capacity = (uint32_t)capacity;
    return true;
}

static uint32_t node_new(struct lap_interval *set, uint64_t begin, uint64_t end)
{
    uint32_t index = set->free_list;
    if (index)
        set->free_list = set->nodes[index].left;
    else
        index = set->used++;
    set->random ^= set->random << 13;
    set->random ^= set->random >> 17;
    set->random ^= set->random << 5;
    set->nodes[index] = (node_t){.begin = begin, .end = end, .priority = set->random};
    set->count++;
    return index;
}

static void node_free(struct lap_interval *set, uint32_t index)
{
    set->nodes[index].left = set->free_list;
    set->free_list = index;
    set->count--;
}

static void subtree_free(struct lap_interval *set, uint32_t index)
{
    while (index) {
        uint32_t right = set->nodes[index].right;
        subtree_free(set, set->nodes[index].left);
        node_free(set, index);
        index = right;
    }
}

/* Left gets what begins before `key`. */
static void split(struct lap_interval *set, uint32_t root, uint64_t key, uint32_t *left, uint32_t *right)
{
    while (root) {
        node_t *node = &set->nodes[root];
        if (node->begin < key) {
            *left = root;
            left = &node->right;
            root = node->right;
        } else {
            *right = root;
            right = &node->left;
            root = node->left;
        }
    }
    *left = *right = 0;
}

/* Everything in `left` lies before everything in `right`. */
static uint32_t merge(struct lap_interval *set, uint32_t left, uint32_t right)
{
    uint32_t root = 0, *link = &root;
    while (left && right) {
        if (set->nodes[left].priority > set->nodes[right].priority) {
            *link = left;
            link = &set->nodes[left].right;
            left = *link;
        } else {
            *link = right;
            link = &set->nodes[right].left;
            right = *link;
        }
    }
    *link = left ? left : right;
    return root;
}

/* Takes the last node out of a subtree; 0 when it is empty. */
static uint32_t take_last(struct lap_interval *set, uint32_t *root)
{
    uint32_t *link = root, last;
    if (!*root)
        return 0;
    while (set->nodes[*link].right)
        link = &set->nodes[*link].right;
    last = *link;
    *link = set->nodes[last].left;
    set->nodes[last].left = 0;
    return last;
}

/* The first node that ends after `from`: ends are sorted as begins are. */
static uint32_t find_after(const struct lap_interval *set, uint64_t from)
{
    uint32_t found = 0, at = set->root;
    while (at) {
        if (set->nodes[at].end > from) {
            found = at;
            at = set->nodes[at].left;
        } else {
            at = set->nodes[at].right;
        }
    }
    return found;
}

bool lap_interval_add(struct lap_interval *set, uint64_t begin, uint64_t end)
{
    uint32_t before, middle, after, last;
    if (begin >= end)
        return true;
    if (set->root) {
        uint32_t found = find_after(set, begin ? begin - 1 : 0); /* the first that touches or follows */
        if (found && set->nodes[found].begin <= begin && set->nodes[found].end >= end)
            return true;
        if (found && set->nodes[found].begin <= begin) { /* a scan grows ranges at their ends all the time */
            uint32_t next = find_after(set, set->nodes[found].end);
            if (!next || set->nodes[next].begin > end) {
                set->nodes[found].end = end;
                return true;
            }
        }
    }
    if (!lap_interval_reserve(set))
        return false;
    split(set, set->root, begin, &before, &after);
    if (end == UINT64_MAX) {
        middle = after;
        after = 0;
    } else {
        uint32_t rest = after;
        split(set, rest, end + 1, &middle, &after);
    }
    last = take_last(set, &before);
    if (last) {
        if (set->nodes[last].end >= begin) {
            begin = set->nodes[last].begin;
            if (set->nodes[last].end > end)
                end = set->nodes[last].end;
            node_free(set, last);
        } else {
            before = merge(set, before, last);
        }
    }
    last = take_last(set, &middle);
    if (last) {
        if (set->nodes[last].end > end)
            end = set->nodes[last].end;
        node_free(set, last);
        subtree_free(set, middle);
    }
    set->root = merge(set, merge(set, before, node_new(set, begin, end)), after);
    return true;
}

bool lap_interval_remove(struct lap_interval *set, uint64_t begin, uint64_t end)
{
    uint32_t before, middle, after, last;
    if (begin >= end || !lap_interval_intersects(set, begin, end))
        return true;
    if (!lap_interval_reserve(set))
        return false;
    split(set, set->root, begin, &before, &after);
    {
        uint32_t rest = after;
        split(set, rest, end, &middle, &after);
    }
    last = take_last(set, &middle);
    if (last) {
        subtree_free(set, middle);
        if (set->nodes[last].end > end) {
            set->nodes[last].begin = end;
            after = merge(set, last, after);
        } else {
            node_free(set, last);
        }
    }
    last = take_last(set, &before);
    if (last) {
        uint64_t old_end = set->nodes[last].end;
        if (old_end > begin)
            set->nodes[last].end = begin;
        before = merge(set, before, last);
        if (old_end > end)
            after = merge(set, node_new(set, end, old_end), after);
    }
    set->root = merge(set, before, after);
    if (!set->root)
        lap_interval_clear(set);
    return true;
}

bool lap_interval_next(const struct lap_interval *set, uint64_t from, uint64_t *out_begin, uint64_t *out_end)
{
    uint32_t found = find_after(set, from);
    if (!found)
        return false;
    *out_begin = set->nodes[found].begin;
    *out_end = set->nodes[found].end;
    return true;
}

bool lap_interval_first_in(const struct lap_interval *set, uint64_t begin, uint64_t end, uint64_t *out_begin,
                           uint64_t *out_end)
{
    uint64_t found_begin, found_end;
    if (begin >= end || !lap_interval_next(set, begin, &found_begin, &found_end) || found_begin >= end)
        return false;
    *out_begin = found_begin > begin ? found_begin : begin;
    *out_end = found_end < end ? found_end : end;
    return true;
}

bool lap_interval_first_hole(const struct lap_interval *set, uint64_t begin, uint64_t end, uint64_t *out_begin,
                             uint64_t *out_end)
{
    uint64_t found_begin, found_end;
    while (begin < end) {
        if (!lap_interval_next(set, begin, &found_begin, &found_end) || found_begin >= end) {
            *out_begin = begin;
            *out_end = end;
            return true;
        }
        if (found_begin > begin) {
            *out_begin = begin;
            *out_end = found_begin;
            return true;
        }
        begin = found_end;
    }
    return false;
}

bool lap_interval_intersects(const struct lap_interval *set, uint64_t begin, uint64_t end)
{
    uint64_t found_begin, found_end;
    return begin < end && lap_interval_next(set, begin, &found_begin, &found_end) && found_begin < end;
}

uint64_t lap_interval_bytes(const struct lap_interval *set)
{
    uint64_t bytes = 0, begin, end, from = 0;
    while (lap_interval_next(set, from, &begin, &end)) {
        bytes += end - begin;
        from = end;
    }
    return bytes;
}
