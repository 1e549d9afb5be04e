/* SPDX-License-Identifier: MIT */
/*
 * lifetime: when the buffers and images of a trace end, known before they begin. Makes no Vulkan calls and reads no
 * trace: facts.c tells it what happens, in ticket order, and the planner (blocks.c) asks it which objects may share
 * blocks.
 *
 * A *run* is a row of packets that do nothing but destroy: nobody uses an object between the run's first packet and the
 * one that destroys it, so all that a run destroys ends when it begins. A *period* is a row of runs in which small
 * objects end that had no more than an eighth of what was left alive (of REPLAY_FLOOR_BYTES, where that is more) until
 * the last run began.
 * Objects that end in one period share blocks, so blocks end with the period, and what is empty in them by then is
 * little compared with what lives. docs/memory.md, "Blocks and lifetimes", has the argument. One thread.
 */
#ifndef LAP_REPLAYER_LIFETIME_H
#define LAP_REPLAYER_LIFETIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define REPLAY_PERIOD_UNKNOWN 0u
#define REPLAY_PERIOD_NEVER   UINT32_MAX /* it is alive at the end of the trace */

/* Where less than this is alive, a quarter of this may be empty, rather than a quarter of what is alive. */
#define REPLAY_FLOOR_BYTES ((uint64_t)1 << 20)

/* Objects of less than this share blocks when there are many allocations of `limit` that there can be: twice as much
 * with each sixteenth of them. */
#define REPLAY_SMALL_BYTES ((uint64_t)64 << 10)
static inline uint64_t replay_small_bytes(uint64_t allocations, uint64_t limit)
{
    return REPLAY_SMALL_BYTES << 16 * (allocations < limit ? allocations : limit) / limit;
}

/* Objects are told apart by what is known of where they will lie: the kind, and the first four property flags of the
 * memory that the program asked for (device local, visible, coherent, cached). */
#define REPLAY_SORTS 32u
static inline unsigned replay_sort(unsigned kind, uint32_t property_flags)
{
    return kind << 4 | (property_flags & 15);
}

struct replay_period {
    uint64_t first_ticket, last_ticket; /* where its first and its last run begin */
    uint64_t low_bytes;                 /* the least that was alive after a run of it */
    uint64_t low_ticket;
    uint64_t low_before_bytes, low_before_ticket; /* the same without the last run */
    uint64_t bytes;                               /* of small objects that end in it */
    uint64_t sort_bytes[REPLAY_SORTS];            /* the same for each sort */
};

struct replay_lifetimes;
enum lap_status replay_lifetimes_create(struct replay_lifetimes **out_lifetimes) LAP_MUST_CHECK;
void replay_lifetimes_destroy(struct replay_lifetimes **lifetimes);

/* ---- what happens: kind 0 is buffers, 1 images; index as in the trace. LAP_ERROR_MEMORY: what is known stays. ---- */

/* Memory for one more part of an object, as large as it was at capture. property_flags: that the program asked for;
 * those of the first part count. */
enum lap_status replay_lifetimes_bind(struct replay_lifetimes *lifetimes, unsigned kind, uint64_t index, uint64_t bytes,
                                      uint32_t property_flags) LAP_MUST_CHECK;
enum lap_status replay_lifetimes_end(struct replay_lifetimes *lifetimes, unsigned kind, uint64_t index,
                                     uint64_t ticket) LAP_MUST_CHECK;
/* Something else than a destruction: it ends the run. */
enum lap_status replay_lifetimes_use(struct replay_lifetimes *lifetimes) LAP_MUST_CHECK;
/* The end of what is looked at for now, or (all) for good: what is known may be asked for, and what is told later does
 * not change it. */
enum lap_status replay_lifetimes_seal(struct replay_lifetimes *lifetimes, bool all) LAP_MUST_CHECK;
/* Whether the command with this name does nothing but destroy. */
bool replay_is_destruction(const char *command);

/* ---- afterwards ---- */

/* In which the object ends, counted from 1; REPLAY_PERIOD_UNKNOWN for what was never bound, or ends later than was
 * told.
 */
uint32_t replay_lifetimes_period(const struct replay_lifetimes *lifetimes, unsigned kind, uint64_t index);
/* NULL: REPLAY_PERIOD_UNKNOWN, or none. */
const struct replay_period *replay_lifetimes_get(const struct replay_lifetimes *lifetimes, uint32_t period);
/* How many there are, REPLAY_PERIOD_NEVER aside. */
uint32_t replay_lifetimes_count(const struct replay_lifetimes *lifetimes);
/* The least that will be alive, in bytes as they were at capture, between the ticket and the last run of the period;
 * UINT64_MAX where it does not fall. */
uint64_t replay_lifetimes_low(const struct replay_lifetimes *lifetimes, uint64_t ticket, uint32_t period);

#endif
