/* SPDX-License-Identifier: MIT */
/* The state of the memory planner. Only files of this folder include it. */
#ifndef LAP_REPLAYER_MEMORY_MEMORY_INTERNAL_H
#define LAP_REPLAYER_MEMORY_MEMORY_INTERNAL_H

#include "replayer/memory/memory.h"
#include "replayer/memory/overlay_buffer.h"
#include "replayer/memory/staging.h"

struct replay_memory_planner {
    struct replay *r;
    struct replay_memory_block_list *block_lists; /* memory.c */
    VkDeviceSize atom, granularity;
    uint32_t allocation_limit;
    bool has_requirements2;
    struct replay_memory_stats stats;
    struct replay_memory_use deferred; /* included in stats: of objects that ended while work was under way */
    struct lap_readback readback;
    struct replay_staging *staging;       /* staging.c; NULL until something is staged */
    struct replay_new_memory *new_memory; /* new_memory.c; NULL until memory is bound */
};

/* An allocation that objects share. */
struct replay_memory_block {
    VkDeviceMemory memory;
    VkDeviceSize bytes;
    uint32_t type;
    uint8_t *host;
    struct replay_overlay_buffer whole; /* over it, to zero memory that is not host-visible */
    bool has_no_buffer;                 /* no buffer can be bound to it */
};

#endif
