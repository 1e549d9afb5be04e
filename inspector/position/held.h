/* SPDX-License-Identifier: MIT */
/*
 * held: the recording that each command buffer holds at each packet; and the command buffers of submits. One thread.
 */
#ifndef LAP_INSPECTOR_POSITION_HELD_H
#define LAP_INSPECTOR_POSITION_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "inspector/analysis/trace_pass.h"

struct position_recording {
    uint64_t block;    /* blob */
    uint64_t ticket;   /* of the lapilliBlock */
    uint32_t commands; /* in it */
};

struct position_held {
    struct lap_map recordings; /* struct position_recording, by command buffer */
    struct lap_arena arena;
};

void position_held_init(struct position_held *held);
void position_held_finish(struct position_held *held);

/* A visited lapilliBlock. LAP_ERROR_MEMORY. */
enum lap_status position_held_record(struct position_held *held, const struct trace_call *call) LAP_MUST_CHECK;
/* NULL: it was not recorded. Valid until it is recorded again. */
const struct position_recording *position_held_of(const struct position_held *held, uint64_t command_buffer);

/* Of a visited vkQueueSubmit or vkQueueSubmit2. */
uint32_t position_submit_batches(const struct trace_call *call);
uint32_t position_submit_buffers(const struct trace_call *call, uint32_t batch);
/* Its number in the trace. */
uint64_t position_submit_buffer(const struct trace_call *call, uint32_t batch, uint32_t buffer);
uint64_t position_submit_queue(const struct trace_call *call);

#endif
