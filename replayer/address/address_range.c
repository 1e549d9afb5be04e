/* SPDX-License-Identifier: MIT */
#include "replayer/address/address_range.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Number of ranges of destroyed owners to retain, besides twice the number of live ranges. */
#define MOST_GONE 4096u

#define OF_RECORDED(node)                                                                                              \
    ((struct replay_address_range *)((char *)(node)-offsetof(struct replay_address_range, recorded)))
#define OF_LIVE(node) ((struct replay_address_range *)((char *)(node)-offsetof(struct replay_address_range, live)))

/* ---- the ranges ---- */

static void leave_trees(struct replay_address_space *space, struct replay_address_range *range)
{
    if (range->in_recorded)
        lap_tree_remove(&space->recorded, &range->recorded);
    if (range->in_live)
        lap_tree_remove(&space->live, &range->live);
    range->in_recorded = range->in_live = false;
}

static void forget(struct replay_address_space *space, struct replay_address_range *range)
{
    leave_trees(space, range);
    if (range->older)
        range->older->newer = range->newer;
    else
        space->oldest = range->newer;
    if (range->newer)
        range->newer->older = range->older;
    else
        space->newest = range->older;
    space->gone_count--;
    free(range);
}

static void finish_tree(struct lap_tree_node *node)
{
    if (!node)
        return;
    finish_tree(node->left);
    finish_tree(node->right);
    free(OF_RECORDED(node));
}

void replay_address_space_finish(struct replay_address_space *space)
{
    while (space->oldest)
        forget(space, space->oldest);
    finish_tree(space->recorded); /* live ranges are in both trees */
    memset(space, 0, sizeof *space);
}

struct covering {
    uint64_t begin, end;
    bool live;
    struct replay_address_range *found;
};

static void find_covered(void *context, struct lap_tree_node *node)
{
    struct covering *covering = context;
    struct replay_address_range *range = covering->live ? OF_LIVE(node) : OF_RECORDED(node);

    if (!range->alive && node->begin >= covering->begin && node->end <= covering->end)
        covering->found = range;
}

/* Removes ranges of destroyed owners from a tree where the new range covers them: their addresses there are reused. */
static void take_over(struct replay_address_space *space, const struct replay_address_range *range)
{
    for (int live = 0; live < 2; live++) {
        const struct lap_tree_node *node = live ? &range->live : &range->recorded;
        struct covering covering = {node->begin, node->end, live, NULL};
        for (;;) {
            struct replay_address_range *old;
            covering.found = NULL;
            lap_tree_visit(live ? space->live : space->recorded, node->begin, node->end, find_covered, &covering);
            old = covering.found;
            if (!old)
                break;
            if (live ? !old->in_recorded : !old->in_live) {
                forget(space, old);
            } else if (live) {
                lap_tree_remove(&space->live, &old->live);
                old->in_live = false;
            } else {
                lap_tree_remove(&space->recorded, &old->recorded);
                old->in_recorded = false;
            }
        }
    }
}

static void widen(uint64_t *begin, uint64_t *end, const struct lap_tree_node *node, bool first)
{
    if (first || node->begin < *begin)
        *begin = node->begin;
    if (first || node->end > *end)
        *end = node->end;
}

enum lap_status replay_address_add(struct replay_address_space *space, enum replay_address_kind kind, uint64_t owner,
                                   uint64_t recorded, uint64_t live, uint64_t bytes,
                                   struct replay_address_range **out_range)
{
    struct replay_address_range *range;
    bool first = space->order == 0;

    *out_range = NULL;
    if (bytes == 0 || recorded == 0 || live == 0 || recorded > UINT64_MAX - bytes || live > UINT64_MAX - bytes)
        return lap_fail(LAP_ERROR_FORMAT, "an address range that can't be");
    range = calloc(1, sizeof *range);
    if (!range)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for an address");
    range->kind = kind;
    range->owner = owner;
    range->alive = range->in_recorded = range->in_live = true;
    range->recorded.begin = recorded;
    range->recorded.end = recorded + bytes;
    range->live.begin = live;
    range->live.end = live + bytes;
    range->recorded.order = range->live.order = ++space->order;
    take_over(space, range);
    lap_tree_insert(&space->recorded, &range->recorded);
    lap_tree_insert(&space->live, &range->live);
    widen(&space->recorded_begin, &space->recorded_end, &range->recorded, first);
    widen(&space->live_begin, &space->live_end, &range->live, first);
    space->alive_count++;
    *out_range = range;
    return LAP_OK;
}

void replay_address_end(struct replay_address_space *space, struct replay_address_range *range)
{
    range->alive = false;
    range->older = space->newest;
    if (space->newest)
        space->newest->newer = range;
    else
        space->oldest = range;
    space->newest = range;
    space->alive_count--;
    space->gone_count++;
    while (space->gone_count > MOST_GONE + 2 * space->alive_count)
        forget(space, space->oldest);
}

/* ---- lookup ---- */

struct search {
    bool live;
    const struct replay_address_range *best;
};

/* Live ranges precede dead ones, and structures precede the buffers in which the program has placed them. Then the
 * newest wins. */
static bool precedes(const struct replay_address_range *range, const struct replay_address_range *other)
{
    if (range->alive != other->alive)
        return range->alive;
    if (range->kind != other->kind)
        return range->kind == REPLAY_ADDRESS_STRUCTURE;
    return range->recorded.order > other->recorded.order;
}

static void consider(void *context, struct lap_tree_node *node)
{
    struct search *search = context;
    const struct replay_address_range *range = search->live ? OF_LIVE(node) : OF_RECORDED(node), *best = search->best;

    if (!best || precedes(range, best))
        search->best = range;
}

/* Of the ranges that contain `address`. */
static const struct replay_address_range *find(const struct replay_address_space *space, bool live, uint64_t address)
{
    struct search search = {.live = live};

    if (address != UINT64_MAX)
        lap_tree_visit(live ? space->live : space->recorded, address, address + 1, consider, &search);
    return search.best;
}

/* The live range that ends at `address`: programs also store the address one past the last byte. */
static const struct replay_address_range *find_ending(const struct replay_address_space *space, bool live,
                                                      uint64_t address)
{
    const struct replay_address_range *range = find(space, live, address - 1);
    const struct lap_tree_node *node = range ? (live ? &range->live : &range->recorded) : NULL;

    return range && range->alive && node->end == address ? range : NULL;
}

static const struct replay_address_range *find_recorded(const struct replay_address_space *space, uint64_t recorded)
{
    const struct replay_address_range *range;

    if (!replay_address_may_be_recorded(space, recorded))
        return NULL;
    range = find(space, false, recorded);
    return range && range->alive ? range : find_ending(space, false, recorded);
}

bool replay_address_to_live(const struct replay_address_space *space, uint64_t recorded, uint64_t *out_live)
{
    const struct replay_address_range *range = find_recorded(space, recorded);

    if (range)
        *out_live = range->live.begin + (recorded - range->recorded.begin);
    return range != NULL;
}

bool replay_address_begin_of(const struct replay_address_space *space, uint64_t recorded, uint64_t *out_begin)
{
    const struct replay_address_range *range = find_recorded(space, recorded);

    if (range)
        *out_begin = range->recorded.begin;
    return range != NULL;
}

bool replay_address_to_recorded(const struct replay_address_space *space, uint64_t live, uint64_t *out_recorded)
{
    const struct replay_address_range *range, *ending;

    if (!replay_address_may_be_live(space, live))
        return false;
    range = find(space, true, live);
    if (!range || !range->alive) {
        ending = find_ending(space, true, live);
        range = ending ? ending : range;
    }
    if (!range)
        return false;
    *out_recorded = range->recorded.begin + (live - range->live.begin);
    return true;
}

uint64_t replay_address_live_end(const struct replay_address_space *space, uint64_t live)
{
    const struct replay_address_range *range = replay_address_may_be_live(space, live) ? find(space, true, live) : NULL;

    return range && range->alive ? range->live.end : 0;
}

bool replay_address_is_known(const struct replay_address_space *space, uint64_t recorded)
{
    return replay_address_may_be_recorded(space, recorded) &&
           (find(space, false, recorded) || find_ending(space, false, recorded));
}

/* ---- replacement in bytes ---- */

static uint64_t replace(const struct replay_address_space *space, unsigned char *data, size_t bytes, bool live)
{
    uint64_t count = 0;

    for (size_t at = 0; bytes >= 8 && at <= bytes - 8; at += 4) {
        uint64_t word;
        memcpy(&word, data + at, 8);
        uint64_t found;
        if (live ? replay_address_to_recorded(space, word, &found) : replay_address_to_live(space, word, &found)) {
            memcpy(data + at, &found, 8);
            at += 4;
            count += found != word;
        }
    }
    return count;
}

uint64_t replay_address_replace_recorded(const struct replay_address_space *space, void *data, size_t bytes)
{
    return replace(space, data, bytes, false);
}

uint64_t replay_address_replace_live(const struct replay_address_space *space, void *data, size_t bytes)
{
    return replace(space, data, bytes, true);
}
