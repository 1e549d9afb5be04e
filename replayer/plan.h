/* SPDX-License-Identifier: MIT */
/*
 * plan: which objects share a block, decided before they are there. It is known when each one begins and ends; objects
 * that get a block between them are a *cell*. A block is as large as all objects of its cell together and lasts from
 * the first one's beginning to the last one's end, so what a plan wastes at any moment is a sum, and the plan is made
 * by cutting cells in two until that is little at every moment. Knows no Vulkan and no trace. docs/memory.md, "Blocks
 * and lifetimes", has the argument. One thread.
 */
#ifndef LAP_REPLAYER_PLAN_H
#define LAP_REPLAYER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define REPLAY_CELL_UNKNOWN 0u         /* it is not known when the object ends, or too late */
#define REPLAY_CELL_ALONE   UINT32_MAX /* it shares with nobody */

/* Where less than this is alive, a part of this may be empty, rather than the same part of what is alive. */
#define REPLAY_FLOOR_BYTES ((uint64_t)1 << 20)
/* No block is larger, and what is larger than half of one lies alone. */
#define REPLAY_MAX_BLOCK_BYTES ((uint64_t)64 << 20)

/* Times are tickets. Steps are rows of events in which little comes and goes: one every so many bytes. */
struct replay_plan_step {
    uint64_t time; /* when it begins; it ends where the next one begins */
    uint64_t low;  /* the least that is alive in it, in bytes */
};

struct replay_plan_item {
    uint64_t begin, end; /* time; end: when it is there no more; UINT64_MAX: never */
    uint64_t bytes;
    uint64_t recorded_bytes, index; /* the caller's: which object it is */
    uint32_t cell;
    uint8_t sort;  /* items of different sorts share no cell */
    uint8_t kind;  /* the caller's */
    bool wanted;   /* to be planned; what was planned has a cell, or REPLAY_CELL_ALONE from the first */
    bool expected; /* the end is what somebody says */
};

struct replay_cell {
    uint64_t begin, end; /* of its first and its last item */
    uint64_t known_end;  /* of the last one whose end is not expected */
    uint64_t bytes;
    uint32_t items;
    uint32_t expected; /* items whose end is */
    uint32_t sort;
    uint32_t number; /* counted from 1 */
};

struct replay_cells {
    struct replay_cell *at; /* by number; those that are over may be missing */
    uint32_t count, capacity;
    uint32_t made; /* so far: the last one's number */
};

/* NULL: it was dropped. */
struct replay_cell *replay_cells_find(const struct replay_cells *cells, uint32_t number);
/* Drops those that have ended at the time: all of their items, as is known. */
void replay_cells_drop(struct replay_cells *cells, uint64_t time);

/* Puts all items that are wanted and have no cell into new ones; what items have cells already counts as it is. Steps
 * are in order, at least one, none of them later than any of those items. most: how many cells there may be at once,
 * and items that share none; where that does not suffice more is wasted. Items stay in their order. */
enum lap_status replay_plan(const struct replay_plan_step *steps, uint32_t step_count, struct replay_plan_item *items,
                            size_t item_count, uint32_t most, struct replay_cells *cells) LAP_MUST_CHECK;

#endif
