/* SPDX-License-Identifier: MIT */
/*
 * bound_walk: visits the commands that a trace's submits run, each with the state that it finds bound. One pass over
 * the trace. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_BOUND_WALK_H
#define LAP_INSPECTOR_STATE_BOUND_WALK_H

#include <stdint.h>

#include "base/status.h"
#include "inspector/position/contents.h"
#include "inspector/position/position.h"
#include "inspector/state/bound.h"
#include "inspector/state/descriptors.h"
#include "trace/read/reader.h"

struct bound_visit { /* valid during the visit */
    struct position position;
    uint64_t ticket; /* of the submit */
    uint64_t command_buffer;
    uint64_t block;   /* the blob with the command, whose number there is the position's last one */
    uint32_t command; /* enum gen_command */
    enum position_work work;
    const void *args;
    const uint8_t *encoded; /* the command as it is in the block, with its number */
    size_t encoded_bytes;
    const struct bound *bound;             /* with the effects of the command itself */
    const struct descriptors *descriptors; /* at the submit; NULL: not wanted */
};

/* An error ends the walk. LAP_END ends the visits of commands, and the walk has not failed; visit_call goes on. */
typedef enum lap_status (*bound_visit_fn)(void *user, const struct bound_visit *visit);

struct bound_walk_options {
    const struct position *at;        /* only what is in there; not of a packet. NULL: all */
    uint64_t first_frame, last_frame; /* from 1 */
    bool work_only;                   /* only commands with work are visited */
    /* Visits each command, too, in front of its effects: `bound` is what it finds. NULL: not. */
    bound_visit_fn before;
    bool descriptors; /* of sets are followed, too */
    bool labels;      /* also those that are open in front of a command buffer, for which all before it are decoded */
    const struct position *until; /* visits nothing behind it; not of a packet. NULL: all */
    uint64_t last_ticket;         /* later packets are not seen; 0: all are */
    /* Visits calls, too, in front of the commands of a submit, also information packets. NULL: not. */
    trace_visit_fn visit_call; /* with `user` */
    const uint16_t *calls;     /* which ones: a list that ends with 0; NULL: all */
    /* Called now and then, with the packet that was read. NULL: not. */
    void (*progress)(void *user, const struct lap_packet *packet);
};

enum lap_status bound_walk(const struct lap_reader *trace, const struct bound_walk_options *options,
                           bound_visit_fn visit, void *user) LAP_MUST_CHECK;

#endif
