/* SPDX-License-Identifier: MIT */
/* reference_check_internal: the state of reference_check.c, for its test. */
#ifndef LAP_REPLAYER_COMMAND_REFERENCE_CHECK_INTERNAL_H
#define LAP_REPLAYER_COMMAND_REFERENCE_CHECK_INTERNAL_H

#include "base/map.h"
#include "base/slab.h"
#include "replayer/core/replay.h"

struct block_reference {
    uint32_t type; /* enum gen_handle_type */
    uint64_t index;
};

/* The references of a block, each once. */
struct block_references {
    uint64_t block, users; /* without users it is freed */
    size_t count, capacity;
    struct block_reference *names;
};

/* The submitted work that has a command buffer: the number of the last submission (submission.h), and its queue. */
struct command_buffer_use {
    uint64_t number; /* 0: none */
    uint32_t queue;
    bool several; /* several queues have it at once */
};

struct replay_references {
    uint64_t since; /* the time of the reference, by replay.next_order: all referenced objects are older */
    uint64_t ends;  /* replay.ends when all of them were alive; command buffers only */
    uint64_t block; /* of a command buffer: its blob; 0: it is not recorded */
    struct command_buffer_use use;   /* of a command buffer */
    bool executes;                   /* it may execute others */
    struct block_references *shared; /* the block's; NULL: found when needed */
    uint32_t view_count;             /* of a framebuffer */
    uint64_t *views;                 /* points to `one` if that is enough */
    uint64_t one;
};

struct replay_reference_check {
    struct lap_slab references;      /* struct replay_references */
    struct lap_map block_references; /* struct block_names by block */
    uint64_t reference_count;        /* of all of them */
    uint32_t depth;                  /* of the nesting of secondary command buffers */
};

#endif
