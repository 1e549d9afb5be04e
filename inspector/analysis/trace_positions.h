/* SPDX-License-Identifier: MIT */
/*
 * trace_positions: the positions of frames, submits and draws of a trace. A position is FRAME.SUBMIT.BUFFER.COMMAND:
 * the frame, the submit, the command buffer in it, the command in that. A part of trace_analysis.h.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_TRACE_POSITIONS_H
#define LAP_INSPECTOR_ANALYSIS_TRACE_POSITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "inspector/analysis/trace_pass.h"

/* The commands of a block, which is the contents of a command buffer. */
struct trace_block {
    uint32_t command_count;
    uint32_t draw_count, dispatch_count;
    size_t first_draw; /* in trace_positions.draws */
};

struct trace_buffer {
    uint64_t command_buffer; /* index in the trace */
    size_t block;            /* in trace_positions.blocks; SIZE_MAX: it was not recorded */
};

struct trace_submit {
    uint64_t ticket, frame;
    uint64_t queue; /* index in the trace */
    size_t first_buffer;
    uint32_t buffer_count;
};

struct trace_positions {
    const struct trace_submit *submits; /* in the order of their tickets, so those of a frame follow each other */
    const struct trace_buffer *buffers; /* of the submits, one after the other */
    const struct trace_block *blocks;
    const uint32_t *draws; /* of the blocks, one after the other: the indices of commands that draw or dispatch */
    size_t submit_count, buffer_count, block_count, draw_count;
    /* Executed by submits; secondary command buffers count where they are executed. */
    uint64_t draws_executed, dispatches_executed;
};

/* The part: NULL without memory; its visitor; its results so far. */
void *trace_positions_create(void);
void trace_positions_destroy(void *part);
void trace_positions_visitor(void *part, struct trace_visitor *out);
const struct trace_positions *trace_positions_found(const void *part);

#endif
