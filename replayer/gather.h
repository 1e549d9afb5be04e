/* SPDX-License-Identifier: MIT */
/*
 * gather: which recorded command buffers may be played at the same time, and in which order. No Vulkan here.
 *
 * Blocks are gathered as their packets come, and played together when a packet comes that has to stand behind them.
 * What must be kept of the recorded order:
 *   - blocks of one command pool follow each other (pools are externally synchronized);
 *   - a primary command buffer stands behind each secondary one that was recorded before it, and before each that is
 *     recorded after it: it may execute any of them;
 *   - a reset stands behind the blocks of its pool, and one that reaches secondary command buffers behind primary
 *     ones, too;
 *   - every other packet of class barrier stands behind all blocks before it (docs/ordering.md).
 * One thread.
 */
#ifndef LAP_REPLAYER_GATHER_H
#define LAP_REPLAYER_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define REPLAY_GATHER_BLOCKS 1024u
#define REPLAY_GATHER_BYTES  ((size_t)32 << 20)

struct replay_gathered {
    uint64_t pool;
    size_t bytes; /* of the block: a measure of the work */
    bool secondary;
};

struct replay_gather {
    uint32_t count, secondaries; /* the secondary ones come first */
    size_t bytes;
    struct replay_gathered blocks[REPLAY_GATHER_BLOCKS];
};

/* Blocks of one pool: order[first] to order[first + count - 1] are their numbers, as they were gathered. */
struct replay_gather_group {
    uint32_t first, count;
    size_t bytes;
};

/* What is played in one step: groups that need nothing of each other, the largest first. */
struct replay_gather_step {
    uint32_t group_count;
    struct replay_gather_group groups[REPLAY_GATHER_BLOCKS];
    uint32_t order[REPLAY_GATHER_BLOCKS];
};

/* Whether a block may join those that are gathered; if not, they have to be played first. */
bool replay_gather_may_add(const struct replay_gather *gather, const struct replay_gathered *block);
/* Its number is gather->count before the call. May it not be added, it is not. */
void replay_gather_add(struct replay_gather *gather, const struct replay_gathered *block);

/* Whether a reset of a pool, or of a command buffer in it, may be played before what is gathered. secondary: what it
 * resets may be a secondary command buffer. */
bool replay_gather_may_reset(const struct replay_gather *gather, uint64_t pool, bool secondary);

/* There are two steps, 0 and 1, one after the other; either may have no groups. Both together have every block once. */
void replay_gather_step(const struct replay_gather *gather, unsigned number, struct replay_gather_step *out);

#endif
