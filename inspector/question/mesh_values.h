/* SPDX-License-Identifier: MIT */
/*
 * mesh_values: edits with which a replay keeps the vertices of a draw: what its vertex shader writes for each of them,
 * and the bytes of buffers that the trace does not know, since the device wrote them. The trace ends with the draw's
 * submit. One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_MESH_VALUES_H
#define LAP_INSPECTOR_QUESTION_MESH_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "inspector/mesh/mesh.h"
#include "inspector/position/position.h"
#include "inspector/question/pipeline_code.h"
#include "inspector/spirv/instrument.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

enum mesh_sides { MESH_BOTH, MESH_IN, MESH_OUT };

struct mesh_wish {
    struct position at; /* of the draw; count 0: there is no wish */
    uint32_t draw;      /* of a command with several */
    bool has_instance;  /* else it is the first one */
    uint32_t instance;  /* InstanceIndex */
    enum mesh_sides sides;
};

/* Bytes of a buffer. */
struct mesh_range {
    uint64_t buffer, begin, end;
    const uint8_t *data; /* NULL: they come with the replay */
    uint64_t at;         /* in the results, then */
};

struct mesh_values {
    struct mesh_wish wish; /* with the exact position */
    uint16_t command;      /* enum gen_command */
    struct mesh mesh;
    struct pipeline_code of; /* the vertex shader */
    VkViewport viewport;     /* the first one; width 0: there is none */
    bool has_outputs;
    const char *why; /* there are none; NULL: they are not wanted */
    bool replays;    /* else all is known already, and nothing is to be replayed */
    struct instrument_code code;
    uint32_t most_invocations;
    uint64_t buffer, bytes; /* of the results: the region of the code at 0, and ranges */
    uint64_t shaded;        /* invocations that there were: more than most_invocations: some were not kept */
    struct mesh_range *ranges;
    size_t range_count, range_capacity;
    struct lap_map by_vertex; /* the words of the log of an invocation, by its vertex + 1 */
    struct lap_arena arena;
};

/* An edit of its own in front of it enables features (probe_plan.h). Fills a zeroed `out`, which is finished after any
 * outcome. LAP_ERROR_ARGUMENT: there is no such draw. LAP_ERROR_UNSUPPORTED: a sentence has the obstacle. */
enum lap_status edit_mesh(const struct lap_reader *trace, const struct mesh_wish *wish, struct lap_edits *edits,
                          struct mesh_values *out) LAP_MUST_CHECK;
void mesh_values_finish(struct mesh_values *values); /* also of a zeroed one */

/* ---- of the results, which are not trusted ---- */

/* Then the mesh is known. results: `bytes` of the buffer, that stay; NULL without a replay. */
enum lap_status mesh_values_take(struct mesh_values *values, const uint8_t *results) LAP_MUST_CHECK;

/* The words of all outputs of a vertex, in the order of code.results[first...] of the segment code.outputs. NULL: the
 * shader did not run for it, or did not come to its end. */
const uint32_t *mesh_output_of(const struct mesh_values *values, uint32_t vertex);

#endif
