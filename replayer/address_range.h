/* SPDX-License-Identifier: MIT */
/*
 * address_range: where things lay in the recorded device's address space, and where they lie in this one's.
 *
 * A range is known from the moment when the program asked for the address of its owner, and alive until the owner is
 * destroyed. Ranges whose owner is gone are remembered for a while: words of memory that still name them may come to
 * mean something again (the recorded driver gives the address to another object), and hashes of memory were made with
 * them. No Vulkan in here. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_RANGE_H
#define LAP_REPLAYER_ADDRESS_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tree.h"

/* What an address belongs to. */
enum replay_address_kind { REPLAY_ADDRESS_BUFFER };

struct replay_address_range {
    struct lap_tree_node recorded, live; /* in the trees of the same names while in_recorded, in_live */
    enum replay_address_kind kind;
    uint64_t owner; /* its index in the trace */
    bool alive, in_recorded, in_live;
    struct replay_address_range *older, *newer; /* of those that are gone */
};

struct replay_address_space {
    struct lap_tree_node *recorded, *live;
    uint64_t recorded_begin, recorded_end; /* around all recorded ranges that were ever known, ends included */
    uint64_t live_begin, live_end;
    struct replay_address_range *oldest, *newest; /* of those that are gone */
    uint64_t alive_count, gone_count, order;
};

/* A zeroed space is empty. Frees all ranges, those that are alive too. */
void replay_address_space_finish(struct replay_address_space *space);

/* bytes > 0; neither end wraps around (LAP_ERROR_FORMAT when one does). Ranges may overlap: what memory is shared by,
 * say; the newest one is meant then. */
enum lap_status replay_address_add(struct replay_address_space *space, enum replay_address_kind kind, uint64_t owner,
                                   uint64_t recorded, uint64_t live, uint64_t bytes,
                                   struct replay_address_range **out_range) LAP_MUST_CHECK;
/* The owner is gone. The range is the space's from here on, to be freed when it pleases. */
void replay_address_end(struct replay_address_space *space, struct replay_address_range *range);

/* Where a recorded address is here: that of something that is alive, or the end of such. False: it is none. */
bool replay_address_to_live(const struct replay_address_space *space, uint64_t recorded, uint64_t *out_live);
/* Where what a recorded address lies in, or ends, begins. False: it is none. */
bool replay_address_begin_of(const struct replay_address_space *space, uint64_t recorded, uint64_t *out_begin);
/* The reverse, also for what is gone where nothing else lies now. */
bool replay_address_to_recorded(const struct replay_address_space *space, uint64_t live, uint64_t *out_recorded);
/* Whether a recorded word is an address, or was one before its owner was destroyed. */
bool replay_address_is_known(const struct replay_address_space *space, uint64_t recorded);

/* Quick answers for the many words that are none. */
static inline bool replay_address_may_be_recorded(const struct replay_address_space *space, uint64_t word)
{
    return word - space->recorded_begin <= space->recorded_end - space->recorded_begin && word != 0;
}
static inline bool replay_address_may_be_live(const struct replay_address_space *space, uint64_t word)
{
    return word - space->live_begin <= space->live_end - space->live_begin && word != 0;
}

/* Replaces the addresses in a run of bytes, looking at words of 8 bytes that begin at multiples of 4 of `data`: the
 * count of those that became others. */
uint64_t replay_address_replace_recorded(const struct replay_address_space *space, void *data, size_t bytes);
uint64_t replay_address_replace_live(const struct replay_address_space *space, void *data, size_t bytes);

#endif
