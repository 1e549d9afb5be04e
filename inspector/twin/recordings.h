/* SPDX-License-Identifier: MIT */
/*
 * recordings: all recordings of command buffers in a trace, with the work in them. Recordings with equal commands share
 * a block. A visitor's state (inspector/analysis/trace_pass.h). One thread.
 */
#ifndef LAP_INSPECTOR_TWIN_RECORDINGS_H
#define LAP_INSPECTOR_TWIN_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/position/contents.h"

enum recorded_kind {
    RECORDED_DRAW,
    RECORDED_WORK,  /* a dispatch, a ray trace or a transfer */
    RECORDED_OTHER, /* other work */
    RECORDED_EXECUTION,
    RECORDED_BEGIN_PASS,
    RECORDED_END_PASS,
    RECORDED_BEGIN_LABEL,
    RECORDED_END_LABEL
};

struct recorded_command {
    uint32_t number; /* in the command buffer */
    uint16_t kind;   /* enum recorded_kind */
    uint16_t command;
    uint32_t executed; /* of an execution: how many command buffers */
};

struct recorded_block {
    uint64_t blob;
    size_t first_command, first_executed; /* in recordings.commands and .executed */
    size_t command_count, executed_count;
    uint64_t draws, works; /* recorded; works: with the draws */
    bool simultaneous;     /* it may be in several primary command buffers */
};

struct recording {
    uint64_t ticket; /* of its lapilliBlock */
    bool is_new;     /* edits have added that: it can't be replaced */
    uint64_t command_buffer;
    const struct recorded_block *block;
    struct recording **executed; /* block->executed_count; NULL: not recorded, or too many are in one another */
    unsigned level;              /* 0: it executes none; 1: it executes such, and so on */
    uint64_t draws, works;       /* with those of the executed ones */
    uint64_t submits;            /* that have run it; for users that count them */
    void *state;                 /* of the user; NULL at first */
};

struct recorded_allocation {
    uint64_t device, pool;
    VkCommandBufferLevel level;
};

struct recordings {
    struct recorded_command *commands; /* of the blocks: those that have a kind */
    uint64_t *executed;                /* of the blocks: command buffers */
    size_t command_count, command_capacity, executed_count, executed_capacity;
    struct recording **all; /* by ticket */
    size_t count, capacity;
    struct lap_map blocks;      /* by blob */
    struct lap_map held;        /* struct recording, by command buffer: the last one */
    struct lap_map allocations; /* by command buffer */
    uint64_t last_number;       /* the largest of a command buffer */
    struct position_contents *kinds;
    struct recorded_block *current;
    struct lap_arena arena;
};

enum lap_status recordings_init(struct recordings *recordings, const struct lap_reader *trace) LAP_MUST_CHECK;
void recordings_finish(struct recordings *recordings); /* also of a zeroed one */

/* For the list of a trace_visitor's commands. */
#define RECORDINGS_COMMANDS GEN_vkAllocateCommandBuffers, GEN_lapilliBlock
/* For visit and visit_in_block; other calls change nothing. */
enum lap_status recordings_visit(struct recordings *recordings, const struct trace_call *call) LAP_MUST_CHECK;
enum lap_status recordings_visit_in_block(struct recordings *recordings, const struct trace_call *call) LAP_MUST_CHECK;

/* The recording that the command buffer holds now; NULL: none. */
struct recording *recordings_held(const struct recordings *recordings, uint64_t command_buffer);
/* NULL: its allocation was not seen. */
const struct recorded_allocation *recordings_allocation(const struct recordings *recordings, uint64_t command_buffer);

#endif
