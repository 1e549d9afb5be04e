/* SPDX-License-Identifier: MIT */
/*
 * playback_order: decides which recorded command buffers may be played at the same time, and in which order. It makes
 * no Vulkan calls.
 *
 * Blocks are gathered as their packets come, and played together before the next packet that must follow them.
 * Constraints of the recorded order:
 *   - blocks of one command pool are played in order (pools are externally synchronized);
 *   - a primary command buffer comes after each secondary one that was recorded before it, and before each that was
 *     recorded after it: it may execute any of them;
 *   - a reset comes after the blocks of its pool. A reset of secondary command buffers also comes after primary ones;
 *   - every other barrier packet comes after all blocks before it (docs/ordering.md). One thread.
 */
#ifndef LAP_REPLAYER_COMMAND_PLAYBACK_ORDER_H
#define LAP_REPLAYER_COMMAND_PLAYBACK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define REPLAY_ORDER_BLOCKS 1024u
#define REPLAY_ORDER_BYTES  ((size_t)32 << 20)

struct replay_ordered_block {
    uint64_t pool;
    size_t bytes; /* of the block: an estimate of the work */
    bool secondary;
};

struct replay_order {
    uint32_t count, secondaries; /* the secondary ones come first */
    size_t bytes;
    struct replay_ordered_block blocks[REPLAY_ORDER_BLOCKS];
};

/* Blocks of one pool: order[first] to order[first + count - 1] are their numbers, as they were gathered. */
struct replay_order_group {
    uint32_t first, count;
    size_t bytes;
};

/* One step of the playback: independent groups, the largest first. */
struct replay_order_step {
    uint32_t group_count;
    struct replay_order_group groups[REPLAY_ORDER_BLOCKS];
    uint32_t order[REPLAY_ORDER_BLOCKS];
};

/* Whether a block may join the gathered ones. If not, those are played first. */
bool replay_order_may_add(const struct replay_order *gather, const struct replay_ordered_block *block);
/* Adds the block, as number gather->count, unless replay_order_may_add forbids it. */
void replay_order_add(struct replay_order *gather, const struct replay_ordered_block *block);

/* Whether a reset of a pool, or of a command buffer in it, may be played before the gathered blocks. secondary: it
 * may reset a secondary command buffer. */
bool replay_order_may_reset(const struct replay_order *gather, uint64_t pool, bool secondary);

/* There are two steps, 0 and then 1. Either may have no groups. Together they have every block once. */
void replay_order_step(const struct replay_order *gather, unsigned number, struct replay_order_step *out);

#endif
