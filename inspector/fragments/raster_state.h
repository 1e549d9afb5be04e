/* SPDX-License-Identifier: MIT */
/*
 * raster_state: the fixed-function state that a draw finds: what the creation of its pipeline says, and the dynamic
 * state that is set. The facts see the trace's packets, and keep the pipelines that are gone, since command buffers
 * name such. Pipelines of libraries have the state of these. Shader objects have dynamic state alone. One thread.
 */
#ifndef LAP_INSPECTOR_FRAGMENTS_RASTER_STATE_H
#define LAP_INSPECTOR_FRAGMENTS_RASTER_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/state/bound.h"

#define RASTER_MOST_VIEWPORTS 16u
#define RASTER_MOST_TARGETS   8u

/* Of pre-rasterization. */
struct raster_shape {
    uint32_t viewport_count, scissor_count; /* at most RASTER_MOST_VIEWPORTS */
    VkViewport viewports[RASTER_MOST_VIEWPORTS];
    VkRect2D scissors[RASTER_MOST_VIEWPORTS];
    bool discards, clamps_depth, has_clamp_range, biases_depth;
    float clamp_range[2]; /* has_clamp_range: in the place of the viewport's */
    VkCullModeFlags cull;
    VkFrontFace front;
    VkPolygonMode polygon;
};

/* Of depth and stencil. */
struct raster_tests {
    bool depth, writes_depth, bounds, stencil;
    VkCompareOp compare;
    float least, most;         /* depth bounds */
    VkStencilOpState faces[2]; /* front, back */
};

struct raster_target {
    VkPipelineColorBlendAttachmentState blend;
    bool is_off; /* by VK_EXT_color_write_enable */
};

/* Of the fragments' output. */
struct raster_output {
    VkSampleCountFlagBits samples;
    uint32_t sample_mask; /* of the first 32 samples */
    bool shades_samples, alpha_to_coverage, alpha_to_one, has_logic_op;
    VkLogicOp logic_op;
    uint32_t target_count; /* at most RASTER_MOST_TARGETS */
    struct raster_target targets[RASTER_MOST_TARGETS];
};

struct raster_state {
    bool is_known; /* false: neither a pipeline whose creation was seen, nor shader objects */
    bool shades;   /* it has a fragment shader */
    VkPrimitiveTopology topology;
    struct raster_shape shape;
    struct raster_tests tests;
    struct raster_output output;
};

struct raster_facts {
    struct lap_map pipelines;
    struct lap_arena arena;
};

void raster_facts_init(struct raster_facts *facts);
void raster_facts_finish(struct raster_facts *facts);

/* For the list of a trace_visitor's commands. */
#define RASTER_FACTS_COMMANDS GEN_vkCreateGraphicsPipelines
/* A visited call; any other one changes nothing. LAP_ERROR_MEMORY. */
enum lap_status raster_facts_see(struct raster_facts *facts, const struct trace_call *call) LAP_MUST_CHECK;

/* arena: for decoding. LAP_ERROR_MEMORY, or an error of a decoder. */
enum lap_status raster_state_of(const struct raster_facts *facts, const struct bound *bound, struct lap_arena *arena,
                                struct raster_state *out) LAP_MUST_CHECK;

#endif
