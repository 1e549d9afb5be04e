/* SPDX-License-Identifier: MIT */
/*
 * lifetime: when the buffers and images of a trace end, known before they begin. Makes no Vulkan calls and reads no
 * trace: facts.c tells it what happens, in ticket order, and the planner (blocks.c) asks it which objects may share
 * a block: plan.h decides that, for each device by itself (course.h).
 *
 * A *run* is a row of packets that do nothing but destroy: nobody uses an object between the run's first packet and the
 * one that destroys it, so all that a run destroys ends when it begins. docs/memory.md, "Blocks and lifetimes", has the
 * argument.
 *
 * Lives may also be *expected*: a trace says of its long ones when they begin and end, which nobody has looked up.
 * These are planned first, all at once. But nobody relies on them: what was expected and is not told takes room that
 * nobody uses, and a cell has ended only when the ends of all its objects were told. One thread.
 */
#ifndef LAP_REPLAYER_LIFETIME_H
#define LAP_REPLAYER_LIFETIME_H

#include "replayer/plan.h"

/* Objects of less than this share blocks when there are many allocations of `limit` that there can be: twice as much
 * with each sixteenth of them. */
#define REPLAY_SMALL_BYTES ((uint64_t)64 << 10)
static inline uint64_t replay_small_bytes(uint64_t allocations, uint64_t limit)
{
    return REPLAY_SMALL_BYTES << 16 * (allocations < limit ? allocations : limit) / limit;
}

#define REPLAY_MOST_ALLOCATIONS 4096u

/* As long as there are so few allocations, each object has its own, unless so many have come and gone. */
#define REPLAY_FEW_ALLOCATIONS 256u
#define REPLAY_FEW_CHANGES     1024u

/* Of `limit` allocations that there can be, those for cells and for what lies alone as far as that is known. The latter
 * has no more than a quarter. */
static inline uint32_t replay_most_planned(uint32_t limit)
{
    return limit / 32 * 27;
}

/* What an object is reckoned to take in a block. Its alignment is not recorded, and some drivers say sizes that are no
 * multiples of it. */
static inline uint64_t replay_planned_bytes(uint64_t recorded_bytes)
{
    return (recorded_bytes + 63) & ~(uint64_t)63;
}

/* Objects are told apart by what is known of where they will lie: the kind, and the first four property flags of the
 * memory that the program asked for (device local, visible, coherent, cached). */
#define REPLAY_SORTS 32u
static inline unsigned replay_sort(unsigned kind, uint32_t property_flags)
{
    return (kind & 1) << 4 | (property_flags & 15);
}

/* Objects that share memory count as one, a group, whose index is its number (alias.h). */
enum replay_life_kind { REPLAY_LIFE_BUFFER, REPLAY_LIFE_IMAGE, REPLAY_LIFE_GROUP, REPLAY_LIFE_KINDS };

struct replay_lifetimes;
/* limit: of allocations, on each device. */
enum lap_status replay_lifetimes_create(uint32_t limit, struct replay_lifetimes **out_lifetimes) LAP_MUST_CHECK;
void replay_lifetimes_destroy(struct replay_lifetimes **lifetimes);

/* ---- what happens: kind as in enum replay_life_kind; device, index as in the trace. LAP_ERROR_MEMORY: what is known
 * stays. ---- */

/* Before anything else is told: an object of which it is said that it will get so much memory at the first ticket, and
 * end at the second. */
struct replay_expected_life {
    uint64_t device;
    unsigned kind;
    uint32_t property_flags;
    uint64_t index, bytes, begin, end;
};
enum lap_status replay_lifetimes_expect(struct replay_lifetimes *lifetimes,
                                        const struct replay_expected_life *life) LAP_MUST_CHECK;
/* Memory for one more part of an object, as large as it was at capture. device, property_flags: that the program asked
 * for; those of the first part count. */
enum lap_status replay_lifetimes_bind(struct replay_lifetimes *lifetimes, uint64_t device, unsigned kind,
                                      uint64_t index, uint64_t bytes, uint32_t property_flags,
                                      uint64_t ticket) LAP_MUST_CHECK;
enum lap_status replay_lifetimes_end(struct replay_lifetimes *lifetimes, unsigned kind, uint64_t index,
                                     uint64_t ticket) LAP_MUST_CHECK;
/* Something else than a destruction: it ends the run. */
enum lap_status replay_lifetimes_use(struct replay_lifetimes *lifetimes) LAP_MUST_CHECK;
/* The end of what is looked at for now, or (all) for good: what is known may be asked for, and what is told later does
 * not change it. now: the ticket up to which the replay has come, whose objects have their places. */
enum lap_status replay_lifetimes_seal(struct replay_lifetimes *lifetimes, bool all, uint64_t now) LAP_MUST_CHECK;
/* Whether the command with this name does nothing but destroy. */
bool replay_is_destruction(const char *command);

/* ---- afterwards ---- */

/* Whether the object's end was told. */
bool replay_lifetimes_has_ended(const struct replay_lifetimes *lifetimes, unsigned kind, uint64_t index);
/* The object's cell of those that the device has, counted from 1; REPLAY_CELL_ALONE, or REPLAY_CELL_UNKNOWN for what
 * was never bound there, ends later than was told, or had begun before that was known. */
uint32_t replay_lifetimes_cell(const struct replay_lifetimes *lifetimes, uint64_t device, unsigned kind,
                               uint64_t index);
/* What it is reckoned to take, of what has a cell. */
uint64_t replay_lifetimes_bytes(const struct replay_lifetimes *lifetimes, unsigned kind, uint64_t index);
/* cell: as replay_lifetimes_cell said, and neither of the other two. Until more is told. NULL: it was over when the
 * replay was last heard of. */
const struct replay_cell *replay_lifetimes_get(const struct replay_lifetimes *lifetimes, uint64_t device,
                                               uint32_t cell);
/* Of how many cells the last end that was only expected has been told so far. */
uint64_t replay_lifetimes_settled(const struct replay_lifetimes *lifetimes);

#endif
