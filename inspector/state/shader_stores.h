/* SPDX-License-Identifier: MIT */
/*
 * shader_stores: the descriptors and addresses that the shaders of pipelines and of shader objects store to, by their
 * code. The module sees the trace's packets. Code that a trace does not have (binaries, identifiers) may store
 * anywhere. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_SHADER_STORES_H
#define LAP_INSPECTOR_STATE_SHADER_STORES_H

#include "base/arena.h"
#include "base/map.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/state/bound.h"
#include "vulkan/shader/spirv.h"

struct shader_stores {
    struct lap_map modules, pipelines, objects; /* struct lap_spirv_access, by number in the trace */
    struct lap_arena arena;
};

void shader_stores_init(struct shader_stores *stores);
void shader_stores_finish(struct shader_stores *stores);

/* The calls that it sees, for the list of a trace_visitor's commands: ends with 0. */
extern const uint16_t shader_stores_commands[];
/* A visited call; any other one changes nothing. LAP_ERROR_MEMORY. */
enum lap_status shader_stores_see(struct shader_stores *stores, const struct trace_call *call) LAP_MUST_CHECK;

/* Of the pipeline or the shader objects that are bound at a point; everything, if nothing is known. */
void shader_stores_of_bound(const struct shader_stores *stores, const struct bound *bound, enum bound_point point,
                            struct lap_spirv_access *out);

#endif
