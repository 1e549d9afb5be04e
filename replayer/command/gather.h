/* SPDX-License-Identifier: MIT */
/*
 * gather: decides which recorded command buffers may be played at the same time, and in which order. It makes no Vulkan
 * calls.
 *
 * Blocks are gathered as their packets come, and played together before the next packet that must follow them.
 * Constraints of the recorded order:
 *   - blocks of one command pool are played in order (pools are externally synchronized);
 *   - a primary command buffer comes after each secondary one that was recorded before it, and before each that was
 *     recorded after it: it may execute any of them;
 *   - a reset comes after the blocks of its pool. A reset of secondary command buffers also comes after primary ones;
 *   - every other barrier packet comes after all blocks before it (docs/ordering.md). One thread.
 */
#ifndef LAP_REPLAYER_COMMAND_GATHER_H
#define LAP_REPLAYER_COMMAND_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define REPLAY_GATHER_BLOCKS 1024u
#define REPLAY_GATHER_BYTES  ((size_t)32 << 20)

struct replay_gathered {
    uint64_t pool;
    size_t bytes; /* of the block: an estimate of the work */
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

/* One step of the playback: independent groups, the largest first. */
struct replay_gather_step {
    uint32_t group_count;
    struct replay_gather_group groups[REPLAY_GATHER_BLOCKS];
    uint32_t order[REPLAY_GATHER_BLOCKS];
};

/* Whether a block may join the gathered ones. If not, those are played first. */
bool replay_gather_may_add(const struct replay_gather *gather, const struct replay_gathered *block);
/* Adds the block, as number gather->count, unless replay_gather_may_add forbids it. */
void replay_gather_add(struct replay_gather *gather, const struct replay_gathered *block);

/* Whether a reset of a pool, or of a command buffer in it, may be played before the gathered blocks. secondary: it
 * may reset a secondary command buffer. */
bool replay_gather_may_reset(const struct replay_gather *gather, uint64_t pool, bool secondary);

/* There are two steps, 0 and then 1. Either may have no groups. Together they have every block once. */
void replay_gather_step(const struct replay_gather *gather, unsigned number, struct replay_gather_step *out);

#endif
