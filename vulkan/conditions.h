/* SPDX-License-Identifier: MIT */
/*
 * conditions: which members of a structure a driver reads. vk.xml lacks this information, so overrides.toml refers to
 * these functions. A pointer that the specification calls ignored may have any value, and a recorder must not follow
 * it.
 */
#ifndef LAP_VULKAN_CONDITIONS_H
#define LAP_VULKAN_CONDITIONS_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

#include "base/object.h"
#include "trace/format/encode.h"

/* lap_enc.scratch: context that a structure (or the layer) passes to its members. */
enum {
    COND_SCRATCH_SECONDARY = 0,
    COND_SCRATCH_PIPELINE = 1,
    COND_SCRATCH_INHERITS_FORMATS = 2,
    COND_SCRATCH_SUB_LAYERS = 3,
    COND_SCRATCH_OPERATING_POINTS = 4
};

enum {
    COND_VERTEX_INPUT = 1,
    COND_INPUT_ASSEMBLY = 2,
    COND_TESSELLATION = 4,
    COND_PRE_RASTERIZATION = 8,
    COND_RASTERIZATION = 16,
    COND_FRAGMENT = 32,
    COND_DEPTH_STENCIL = 64,
    COND_COLOR_BLEND = 128,
    COND_DYNAMIC_VIEWPORT = 256,
    COND_DYNAMIC_SCISSOR = 512,
    COND_STAGES = 1024,
    COND_ATTACHMENT_FORMATS = 2048, /* of dynamic rendering */
    COND_DYNAMIC_SAMPLE_MASK = 4096,
    COND_DYNAMIC_BLEND = 8192, /* dynamic state covers all blend state of the attachments */
    COND_DYNAMIC_DISCARD = 1 << 14,
    COND_DYNAMIC_VERTEX_INPUT = 1 << 15,
    COND_DYNAMIC_RECTANGLES = 1 << 16,
    COND_DYNAMIC_W_SCALING = 1 << 17,
    COND_DYNAMIC_EXCLUSIVE_SCISSOR = 1 << 18,
    COND_DYNAMIC_PALETTE = 1 << 19,
    COND_DYNAMIC_COVERAGE_TABLE = 1 << 20,
    COND_VIEW_MASK = 1 << 21, /* of dynamic rendering */
    /* The structures are in other chains, too, where all is read. */
    COND_NO_SAMPLE_COUNTS = 1 << 22,
    COND_NO_LOCATIONS = 1 << 23,
    COND_EVERYTHING = COND_VERTEX_INPUT | COND_INPUT_ASSEMBLY | COND_TESSELLATION | COND_PRE_RASTERIZATION |
                      COND_RASTERIZATION | COND_FRAGMENT | COND_DEPTH_STENCIL | COND_COLOR_BLEND | COND_STAGES |
                      COND_ATTACHMENT_FORMATS | COND_VIEW_MASK
};

/* VkWriteDescriptorSet, "Valid Usage": the array that each type reads. */
static inline bool cond_descriptor_is_image(VkDescriptorType type)
{
    switch (type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
    case VK_DESCRIPTOR_TYPE_SAMPLE_WEIGHT_IMAGE_QCOM:
    case VK_DESCRIPTOR_TYPE_BLOCK_MATCH_IMAGE_QCOM:
        return true;
    default:
        return false;
    }
}

static inline bool cond_descriptor_is_buffer(VkDescriptorType type)
{
    return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
           type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

static inline bool cond_descriptor_is_texel_buffer(VkDescriptorType type)
{
    return type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER || type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
}

static inline bool cond_descriptor_has_sampler(VkDescriptorType type)
{
    return type == VK_DESCRIPTOR_TYPE_SAMPLER || type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
}

/* The data of a render pass that its pipelines depend on: the head of the recorder's record of a VkRenderPass. */
struct cond_render_pass {
    struct lap_object object;
    uint32_t subpass_count;
    uint8_t *attachments; /* [subpass]: COND_HAS_COLOR | COND_HAS_DEPTH_STENCIL */
};
enum { COND_HAS_COLOR = 1, COND_HAS_DEPTH_STENCIL = 2 };

/* Whether the driver reads pStages. */
bool cond_reads_stages(const VkGraphicsPipelineCreateInfo *info);

/* Sets scratch[COND_SCRATCH_PIPELINE] for VkGraphicsPipelineCreateInfo and the structures that it points to. */
void cond_enter_graphics_pipeline(struct lap_enc *enc, const VkGraphicsPipelineCreateInfo *info);

/* Sets scratch[COND_SCRATCH_INHERITS_FORMATS] for the structures that VkCommandBufferBeginInfo points to. */
void cond_enter_command_buffer(struct lap_enc *enc, const VkCommandBufferBeginInfo *info);

#endif
