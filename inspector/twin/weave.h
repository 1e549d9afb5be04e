/* SPDX-License-Identifier: MIT */
/*
 * weave: edits with which command buffers of submits do more, behind or in front of their commands: copy texels of
 * images, or bytes of buffers, into a buffer, write timestamps, begin and end queries, run with other code (probes.h).
 * Each such command buffer gets a twin (twins.h), in which secondary command buffers stand themselves. A render pass
 * with a copy of texels inside
 * is split there: it ends, and begins again with all attachments loaded. Render passes get twins for that, too, for the
 * first piece, those in the middle and the last one. One thread.
 *
 * The commands of a twin have other numbers than those that were recorded, so edits by position can't follow. Twins of
 * after.h keep the numbers.
 *
 * A query that is open where a render pass is split begins again behind the copy. So it counts only what comes behind
 * the last one.
 */
#ifndef LAP_INSPECTOR_TWIN_WEAVE_H
#define LAP_INSPECTOR_TWIN_WEAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "inspector/twin/probes.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

/* A copy as vkCmdCopyImageToBuffer makes it, without padding. */
struct weave_copy {
    uint64_t image;
    VkImageAspectFlagBits aspect;
    VkImageAspectFlags aspects; /* all of the image's format */
    VkImageLayout layout;       /* of all aspects, where the copy is made; in a render pass that of its subpass */
    uint32_t level, layer;      /* layer: of a volume the slice */
    bool is_volume;
    int32_t x, y;
    uint32_t width, height;
    uint64_t at; /* in the buffer: a multiple of 16 (of any texel's size, and of 4) */
};

/* Bytes of another buffer. */
struct weave_bytes {
    uint64_t buffer, offset, bytes;
    uint64_t at; /* in the buffer of the results */
};

enum weave_kind {
    WEAVE_COPIES,
    WEAVE_BYTES,     /* in no render pass: in front of the command that begins one */
    WEAVE_PROBE,     /* in front of a command, which runs with a probe */
    WEAVE_TIMESTAMP, /* when all commands in front of it are done */
    WEAVE_BEGIN_QUERY,
    WEAVE_END_QUERY, /* of pipeline statistics, in the same render pass, or both in none */
};

/* A place, and what is done there. */
struct weave_stop {
    enum weave_kind kind;
    struct position position; /* of a command in a command buffer of either level */
    bool before;              /* in front of the command, else behind it */
    struct position begin;    /* the command that begins the render pass that the copies split; count 0: none does. May
                                 be `position` itself: then the copies see what the pass loads or clears */
    uint64_t render_pass;     /* with begin: its number; 0: it is dynamic rendering */
    size_t first, count; /* of the copies, or the bytes; count: not 0. Of queries in the pool: as many as the render
                            pass has views. With a probe `first` is the number of its use */
};

/* Command buffers of one device. */
struct weave_plan {
    struct weave_stop *stops; /* in the order in which the replay comes to them */
    size_t stop_count;
    struct weave_copy *copies;
    size_t copy_count;
    const struct weave_bytes *buffer_bytes;
    const struct probe *probes;
    size_t probe_count;
    struct probe_use *uses;
    size_t use_count;
    uint64_t probe_range; /* the most bytes that a probe sees of the buffer; they fit in behind each use's place */
    uint64_t bytes;       /* of the buffer; 0: there are no copies or probes */
    bool ends; /* the trace ends with the submit of the last stop, and nothing behind its command buffer runs, but what
                  resumes its rendering */
    bool in_place;       /* command buffers that run once are recorded differently themselves, instead of a twin */
    uint64_t last_frame; /* the replay ends there; 0: with the trace */
    /* Pools of queries, which nothing destroys. Command buffers reset their own queries: for queues with graphics or
     * compute. */
    uint32_t timestamps, queries;
    VkQueryPipelineStatisticFlags statistics; /* of `queries` */
};

struct weave_result {
    uint64_t buffer;                 /* its number, for a replay that reads it */
    uint64_t timestamps, statistics; /* numbers of the pools; 0: none */
    uint64_t ticket;                 /* of the last submit that has a stop */
    uint32_t queries;                /* that are open where render passes are split */
};

/* LAP_ERROR_UNSUPPORTED: a sentence has the obstacle. LAP_ERROR_ARGUMENT: the trace has no such place. */
enum lap_status edit_weave(const struct lap_reader *trace, const struct weave_plan *plan, struct lap_edits *edits,
                           struct weave_result *result) LAP_MUST_CHECK;

#endif
