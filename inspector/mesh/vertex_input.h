/* SPDX-License-Identifier: MIT */
/*
 * vertex_input: how a draw takes vertices out of buffers: what the creation of its pipeline says, and the dynamic state
 * that is set. The facts see the trace's packets, and keep the pipelines that are gone, since command buffers name
 * such. Pipelines of libraries have the state of these. Shader objects have dynamic state alone. One thread.
 */
#ifndef LAP_INSPECTOR_MESH_VERTEX_INPUT_H
#define LAP_INSPECTOR_MESH_VERTEX_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/state/bound.h"

struct vertex_binding {
    uint32_t binding, stride;
    bool per_instance;
    uint32_t divisor; /* 0: all instances have the same element */
};

struct vertex_input {
    bool is_known; /* false: neither a pipeline whose creation was seen, nor shader objects */
    bool restarts; /* the largest index ends a strip */
    VkPrimitiveTopology topology;
    uint32_t patch_points; /* with patches: vertices of one */
    const VkVertexInputAttributeDescription *attributes;
    const struct vertex_binding *bindings;
    uint32_t attribute_count, binding_count;
};

struct vertex_inputs {
    struct lap_map pipelines;
    struct lap_arena arena;
};

void vertex_inputs_init(struct vertex_inputs *inputs);
void vertex_inputs_finish(struct vertex_inputs *inputs);

/* For the list of a trace_visitor's commands. */
#define VERTEX_INPUTS_COMMANDS GEN_vkCreateGraphicsPipelines
/* A visited call; any other one changes nothing. LAP_ERROR_MEMORY. */
enum lap_status vertex_inputs_see(struct vertex_inputs *inputs, const struct trace_call *call) LAP_MUST_CHECK;

/* *out leads into the arena, and into that of `inputs`. LAP_ERROR_MEMORY, or an error of a decoder. */
enum lap_status vertex_input_of(const struct vertex_inputs *inputs, const struct bound *bound, struct lap_arena *arena,
                                struct vertex_input *out) LAP_MUST_CHECK;

/* NULL: the attribute has none. */
const struct vertex_binding *vertex_binding_of(const struct vertex_input *input, uint32_t binding);

#endif
