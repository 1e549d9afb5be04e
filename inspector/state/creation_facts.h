/* SPDX-License-Identifier: MIT */
/*
 * creation_facts: the facts of creations that commands of command buffers depend on: layouts of pipelines and
 * descriptor sets, dynamic state, attachments. The module sees the trace's packets. It keeps the facts of objects that
 * are gone, since command buffers name such objects. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_CREATION_FACTS_H
#define LAP_INSPECTOR_STATE_CREATION_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/state/dynamic_states.h"
#include "vulkan/pass_layouts.h"

struct fact_pipeline {
    uint64_t layout;              /* VkPipelineLayout; 0: none */
    struct dynamic_mask dynamic;  /* with that of its libraries */
    VkPrimitiveTopology topology; /* or its library's; VK_PRIMITIVE_TOPOLOGY_MAX_ENUM: it has none */
};

struct fact_set_layout {
    uint64_t hash;          /* of its creation data: equal for layouts that are defined identically */
    uint64_t dynamic_count; /* of the descriptors with dynamic offsets */
};

struct fact_pipeline_layout {
    uint64_t push_hash; /* of the ranges of push constants, and of the flags */
    uint32_t set_count;
    const struct fact_set_layout *sets;
};

struct fact_view {
    uint64_t image;
    VkFormat format;
    VkImageSubresourceRange range;
};

struct fact_framebuffer {
    uint32_t view_count;
    const uint64_t *views;
    uint32_t width, height, layers;
};

struct fact_subpass {
    uint32_t color_count, input_count;
    const uint32_t *colors, *inputs; /* numbers of attachments; VK_ATTACHMENT_UNUSED */
    const uint32_t *resolves;        /* of the colors; NULL: none */
    uint32_t depth;
    uint32_t view_mask; /* 0: no multiview */
};

struct fact_render_pass {
    uint32_t attachment_count, subpass_count;
    const VkFormat *formats;
    const VkImageLayout *layouts; /* the final ones; of the stencil where that has one of its own: stencil_layouts */
    const VkImageLayout *stencil_layouts;
    const struct lap_pass_layouts *inside; /* in the first subpass (vulkan/pass_layouts.h) */
    const VkAttachmentLoadOp *loads, *stencil_loads;
    const struct fact_subpass *subpasses;
};

struct creation_facts {
    struct dynamic_states states;
    struct lap_map maps[6]; /* by kind of object */
    struct lap_arena arena;
};

void creation_facts_init(struct creation_facts *facts);
void creation_facts_finish(struct creation_facts *facts);

/* For the list of a trace_visitor's commands. */
#define CREATION_FACTS_COMMANDS                                                                                        \
    GEN_vkCreateDescriptorSetLayout, GEN_vkCreatePipelineLayout, GEN_vkCreateGraphicsPipelines,                        \
        GEN_vkCreateComputePipelines, GEN_vkCreateRayTracingPipelinesKHR, GEN_vkCreateRayTracingPipelinesNV,           \
        GEN_vkCreateImageView, GEN_vkCreateFramebuffer, GEN_vkCreateRenderPass, GEN_vkCreateRenderPass2
/* A visited call; any other one changes nothing. */
enum lap_status creation_facts_see(struct creation_facts *facts, const struct trace_call *call) LAP_MUST_CHECK;

/* By the object's number in the trace. NULL: its creation was not seen. */
const struct fact_pipeline *fact_of_pipeline(const struct creation_facts *facts, uint64_t pipeline);
const struct fact_pipeline_layout *fact_of_pipeline_layout(const struct creation_facts *facts, uint64_t layout);
const struct fact_view *fact_of_view(const struct creation_facts *facts, uint64_t view);
const struct fact_framebuffer *fact_of_framebuffer(const struct creation_facts *facts, uint64_t framebuffer);
const struct fact_render_pass *fact_of_render_pass(const struct creation_facts *facts, uint64_t render_pass);

/* Whether two pipeline layouts are compatible for a set (the specification's "Pipeline Layout Compatibility"). False
 * where one of them is not known. */
bool facts_are_compatible(const struct creation_facts *facts, uint64_t layout, uint64_t other, uint32_t set);

#endif
