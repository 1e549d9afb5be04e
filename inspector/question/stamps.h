/* SPDX-License-Identifier: MIT */
/*
 * stamps: edits with which a replay writes timestamps around the work of frames: command buffers, render passes, debug
 * labels and single commands (weave.h). Spans name what is between two timestamps. One thread.
 *
 * Timestamps are written when all commands in front of them are done, so spans do not overlap: what is on at the same
 * time as an earlier command counts from the end of that.
 */
#ifndef LAP_INSPECTOR_QUESTION_STAMPS_H
#define LAP_INSPECTOR_QUESTION_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/position/position.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct stamps_wish {
    uint64_t first_frame, last_frame; /* from 1; first_frame 0: there is no wish */
    bool draws;                       /* also single commands in render passes, and labels there */
    bool statistics;                  /* also queries of pipeline statistics */
};

enum stamp_kind {
    STAMP_COMMANDS, /* a command buffer of a submit */
    STAMP_PASS,
    STAMP_LABEL, /* up to its end, or that of the command buffer */
    STAMP_WORK   /* one command */
};

struct stamp_target { /* an attachment */
    const char *name; /* "color0" */
    uint64_t image;
    VkFormat format;
    uint32_t width, height; /* of the view; 0: not known */
};

#define STAMP_NONE UINT32_MAX

/* Those that are in it follow it. */
struct stamp_span {
    enum stamp_kind kind;
    unsigned depth;           /* 0: STAMP_COMMANDS */
    struct position position; /* of the command that begins it */
    struct position end;      /* of the one that ends it; count 0: the end of its command buffer does */
    uint16_t command;         /* enum gen_command; GEN_COMMAND_NONE of STAMP_COMMANDS */
    uint64_t queue;
    uint64_t pipeline;          /* of STAMP_WORK; 0: none */
    const char *name;           /* of a label; NULL: none */
    uint64_t draws, dispatches; /* in it; with traces of rays */
    struct stamp_target *targets;
    size_t target_count;
    uint32_t from, to;             /* queries of the timestamps */
    uint32_t statistics, counters; /* queries of the other pool, whose sum counts; STAMP_NONE: it has none */
};

struct stamps {
    struct stamps_wish wish; /* with the last frame that the trace has */
    struct stamp_span *spans;
    size_t count, capacity;
    uint64_t timestamps, statistics;       /* numbers of the pools; statistics 0: none */
    uint32_t timestamp_count, query_count; /* of the queries in them */
    const char **left_out;                 /* sentences */
    size_t left_out_count, left_out_capacity;
    struct lap_arena arena;
};

/* The counters of the statistics, in the order in which a query has them. */
extern const char *const stamp_statistics[];
#define STAMP_STATISTICS 11u

/* Devices of the trace get the feature that queries of pipeline statistics want. */
enum lap_status edit_enable_statistics(const struct lap_reader *trace, struct lap_edits *edits) LAP_MUST_CHECK;

/* Fills a zeroed `out`, which is finished after any outcome. The replay ends with the last frame of the wish, and the
 * pools live then. LAP_ERROR_ARGUMENT: there is no such frame, or it has too much work. LAP_ERROR_UNSUPPORTED: a
 * sentence has the obstacle. */
enum lap_status edit_stamps(const struct lap_reader *trace, const struct stamps_wish *wish, struct lap_edits *edits,
                            struct stamps *out) LAP_MUST_CHECK;
void stamps_finish(struct stamps *stamps); /* also of a zeroed one */

#endif
