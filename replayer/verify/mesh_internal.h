/* SPDX-License-Identifier: MIT */
/* Shared by mesh.c (tables and JSON) and mesh_obj.c. */
#ifndef LAP_REPLAYER_VERIFY_MESH_INTERNAL_H
#define LAP_REPLAYER_VERIFY_MESH_INTERNAL_H

#include "inspector/question/mesh_values.h"
#include "replayer/core/replay.h"

/* The scalars of an output: at most 4 are asked for of Position. */
double replay_mesh_number(const struct instrument_result *result, const uint32_t *words, uint32_t number);

/* The results of all outputs, and how many. */
static inline const struct instrument_result *replay_mesh_outputs(const struct mesh_values *v, uint32_t *out_count)
{
    const struct instrument_segment *segment = v->has_outputs ? &v->code.segments[v->code.outputs] : NULL;

    *out_count = segment ? segment->count : 0;
    return segment ? &v->code.results[segment->first] : NULL;
}

enum lap_status replay_print_mesh_obj(struct replay *r, const struct mesh_values *v) LAP_MUST_CHECK;

#endif
