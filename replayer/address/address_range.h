/* SPDX-License-Identifier: MIT */
/*
 * address_range: maps ranges of the recorded device's address space to those of the replay device.
 *
 * A range begins when the program queries the address of its owner, and is alive until the owner is destroyed. Ranges
 * of destroyed owners stay for a while: stale words in memory may become valid again (when the recorded driver reuses
 * the address), and recorded hashes of memory include such words. It makes no Vulkan calls. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_ADDRESS_RANGE_H
#define LAP_REPLAYER_ADDRESS_ADDRESS_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tree.h"

/* The type of an address's owner. An acceleration structure has one address, which may lie in a buffer's range. */
enum replay_address_kind { REPLAY_ADDRESS_BUFFER, REPLAY_ADDRESS_STRUCTURE };

struct replay_address_range {
    struct lap_tree_node recorded, live; /* nodes of the trees of the same names while in_recorded, in_live */
    enum replay_address_kind kind;
    uint64_t owner; /* its index in the trace */
    bool alive, in_recorded, in_live;
    struct replay_address_range *older, *newer; /* of the ranges of destroyed owners */
};

struct replay_address_space {
    struct lap_tree_node *recorded, *live;
    uint64_t recorded_begin, recorded_end; /* around all recorded ranges so far, ends included */
    uint64_t live_begin, live_end;
    struct replay_address_range *oldest, *newest; /* of the ranges of destroyed owners */
    uint64_t alive_count, gone_count, order;
};

/* Frees all ranges, also live ones. A zeroed space is empty. */
void replay_address_space_finish(struct replay_address_space *space);

/* bytes > 0; LAP_ERROR_FORMAT where an end wraps around. Ranges may overlap, for example of buffers that share
 * memory; structures count before buffers then, and the newest one before the others. */
enum lap_status replay_address_add(struct replay_address_space *space, enum replay_address_kind kind, uint64_t owner,
                                   uint64_t recorded, uint64_t live, uint64_t bytes,
                                   struct replay_address_range **out_range) LAP_MUST_CHECK;
/* Ends a range with its owner. The space frees it later. */
void replay_address_end(struct replay_address_space *space, struct replay_address_range *range);

/* The live address for a recorded one in a live range, or at its end. False: no live range has it. */
bool replay_address_to_live(const struct replay_address_space *space, uint64_t recorded, uint64_t *out_live);
/* The begin of the live range that contains a recorded address, or ends there. False: there is none. */
bool replay_address_begin_of(const struct replay_address_space *space, uint64_t recorded, uint64_t *out_begin);
/* The reverse, also for ended ranges where no live range overlaps. */
bool replay_address_to_recorded(const struct replay_address_space *space, uint64_t live, uint64_t *out_recorded);
/* The end of the range, of those whose owner is alive, that has a live address; 0: none has it. */
uint64_t replay_address_live_end(const struct replay_address_space *space, uint64_t live);
/* Whether a recorded word is an address of a live or ended range. */
bool replay_address_is_known(const struct replay_address_space *space, uint64_t recorded);

/* Quick tests for the many words that are no addresses. */
static inline bool replay_address_may_be_recorded(const struct replay_address_space *space, uint64_t word)
{
    return word - space->recorded_begin <= space->recorded_end - space->recorded_begin && word != 0;
}
static inline bool replay_address_may_be_live(const struct replay_address_space *space, uint64_t word)
{
    return word - space->live_begin <= space->live_end - space->live_begin && word != 0;
}

/* Replaces the addresses in a run of bytes. Tests all words of 8 bytes at multiples of 4 from `data`. Returns how
 * many changed. */
uint64_t replay_address_replace_recorded(const struct replay_address_space *space, void *data, size_t bytes);
uint64_t replay_address_replace_live(const struct replay_address_space *space, void *data, size_t bytes);

#endif
