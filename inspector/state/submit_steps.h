/* SPDX-License-Identifier: MIT */
/*
 * submit_steps: effects of commands on objects, in the order of submission. A visitor of the pass notes the steps of
 * each block once; each submit gives the steps of its command buffers, with those of the secondary ones that they
 * execute. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_SUBMIT_STEPS_H
#define LAP_INSPECTOR_STATE_SUBMIT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/position/find.h"

/* Where a step is executed; valid during the call. */
struct submit_where {
    struct submit_where *outer; /* of a secondary command buffer: the place of its execution; else NULL */
    uint32_t buffer;            /* which one of the submit, or of the outer command; from 1, as in positions */
    uint32_t command;           /* in it, from 0 */
    void *note;                 /* the caller's, of this execution of the command buffer; at first NULL */
};

/* False: no more steps. */
typedef bool (*submit_step_fn)(void *user, const void *what, struct submit_where *where);

struct submit_steps {
    struct lap_arena *arena;
    struct lap_map blocks, commands;
    struct submit_step_list *block; /* that is visited */
    uint64_t block_number;
    uint32_t executed;
    const struct position_found *end; /* NULL: none */
};

/* The arena is the caller's, and outlives it. */
void submit_steps_init(struct submit_steps *steps, struct lap_arena *arena);
void submit_steps_finish(struct submit_steps *steps);

/* At a command of a block. `what` is the caller's, and outlives the steps. */
enum lap_status submit_steps_add(struct submit_steps *steps, const struct trace_call *call,
                                 const void *what) LAP_MUST_CHECK;
/* At a visited vkCmdExecuteCommands; of any other command nothing happens. */
enum lap_status submit_steps_execute(struct submit_steps *steps, const struct trace_call *call) LAP_MUST_CHECK;
/* At a visited lapilliBlock. */
enum lap_status submit_steps_record(struct submit_steps *steps, const struct trace_call *call) LAP_MUST_CHECK;

/* At a visited vkQueueSubmit or vkQueueSubmit2. If steps->end is in this submit, nothing behind it is given. False:
 * command buffers are nested too deep, or are too many to be followed, and the rest was not given. */
bool submit_steps_give(struct submit_steps *steps, const struct trace_call *call, submit_step_fn give,
                       void *user) LAP_MUST_CHECK;

#endif
