/* SPDX-License-Identifier: MIT */
#include "vulkan/conditions.h"

#include "gen_ids.h"
#include "vulkan/chain.h"

/* pDepthStencilState and pColorBlendState are ignored where the subpass has no such attachments. */
static uint32_t attachments_of(const struct lap_enc *enc, const VkGraphicsPipelineCreateInfo *info, bool knows_formats)
{
    const uint32_t both = COND_HAS_COLOR | COND_HAS_DEPTH_STENCIL;
    if (info->renderPass) {
        const struct cond_render_pass *pass = enc->objects ? lap_map_get(enc->objects->maps[GEN_HANDLE_VkRenderPass],
                                                                         gen_u64_VkRenderPass(info->renderPass))
                                                           : NULL;
        return pass && info->subpass < pass->subpass_count ? pass->attachments[info->subpass] : both;
    }
    const VkPipelineRenderingCreateInfo *rendering =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    if (!knows_formats) /* a library part with the fragment shader need not have the formats */
        return both;
    if (!rendering)
        return 0;
    return (rendering->colorAttachmentCount ? COND_HAS_COLOR : 0u) |
           (rendering->depthAttachmentFormat || rendering->stencilAttachmentFormat ? COND_HAS_DEPTH_STENCIL : 0u);
}

/* The parts of a pipeline that a structure describes (VK_EXT_graphics_pipeline_library). */
static VkGraphicsPipelineLibraryFlagsEXT parts_of(const VkGraphicsPipelineCreateInfo *info)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *library =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    const VkPipelineLibraryCreateInfoKHR *linked =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    if (library)
        return library->flags;
    /* A pipeline that only links libraries reads no state of its own. */
    return linked && linked->libraryCount ? 0 : ~(VkGraphicsPipelineLibraryFlagsEXT)0;
}

bool cond_reads_stages(const VkGraphicsPipelineCreateInfo *info)
{
    return info->stageCount && (parts_of(info) & (VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT |
                                                  VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT));
}

/* The state that is dynamic, as bits. */
static uint32_t dynamic_bits(const struct lap_enc *enc, const VkPipelineDynamicStateCreateInfo *dynamic)
{
    uint32_t bits = 0, blend = 0;

    for (uint32_t i = 0; dynamic && i < dynamic->dynamicStateCount; i++) {
        switch ((uint32_t)dynamic->pDynamicStates[i]) {
        case VK_DYNAMIC_STATE_VIEWPORT:
        case VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT:
            bits |= COND_DYNAMIC_VIEWPORT;
            break;
        case VK_DYNAMIC_STATE_SCISSOR:
        case VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT:
            bits |= COND_DYNAMIC_SCISSOR;
            break;
        case VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE:
            bits |= COND_DYNAMIC_DISCARD;
            break;
        case VK_DYNAMIC_STATE_VERTEX_INPUT_EXT:
            bits |= COND_DYNAMIC_VERTEX_INPUT;
            break;
        case VK_DYNAMIC_STATE_SAMPLE_MASK_EXT:
            bits |= COND_DYNAMIC_SAMPLE_MASK;
            break;
        case VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT:
            blend |= 1;
            break;
        case VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT:
            blend |= 2;
            break;
        case VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT:
            blend |= 4;
            break;
        case VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT:
            blend |= 8;
            break;
        case VK_DYNAMIC_STATE_DISCARD_RECTANGLE_EXT:
            bits |= COND_DYNAMIC_RECTANGLES;
            break;
        case VK_DYNAMIC_STATE_VIEWPORT_W_SCALING_NV:
            bits |= COND_DYNAMIC_W_SCALING;
            break;
        case VK_DYNAMIC_STATE_EXCLUSIVE_SCISSOR_NV:
            bits |= COND_DYNAMIC_EXCLUSIVE_SCISSOR;
            break;
        case VK_DYNAMIC_STATE_VIEWPORT_SHADING_RATE_PALETTE_NV:
            bits |= COND_DYNAMIC_PALETTE;
            break;
        case VK_DYNAMIC_STATE_COVERAGE_MODULATION_TABLE_NV:
            bits |= COND_DYNAMIC_COVERAGE_TABLE;
            break;
        default:
            break;
        }
    }
    if (!enc->objects || !enc->objects->blends_coherently)
        blend |= 8;
    return blend == 15 ? bits | COND_DYNAMIC_BLEND : bits;
}

void cond_enter_graphics_pipeline(struct lap_enc *enc, const VkGraphicsPipelineCreateInfo *info)
{
    if (enc->decoded) {
        enc->scratch[COND_SCRATCH_PIPELINE] = COND_EVERYTHING;
        return;
    }
    const VkGraphicsPipelineLibraryFlagsEXT parts = parts_of(info);
    const bool vertex_input = parts & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
    const bool pre_rasterization = parts & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    const bool fragment_shader = parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
    const bool fragment_output = parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    const bool reads_stages = cond_reads_stages(info);
    VkShaderStageFlags stages = 0;
    const uint32_t dynamic = dynamic_bits(enc, info->pDynamicState);
    uint32_t bits = dynamic | (reads_stages ? COND_STAGES : 0),
             attachments = attachments_of(enc, info, fragment_output);

    for (uint32_t i = 0; reads_stages && i < info->stageCount; i++)
        stages |= info->pStages[i].stage;
    bool mesh = stages & (VK_SHADER_STAGE_MESH_BIT_EXT | VK_SHADER_STAGE_TASK_BIT_EXT);
    /* rasterizerDiscardEnable: "pViewportState, pMultisampleState, ... are ignored" unless it is dynamic. */
    bool rasterizes = !pre_rasterization || (dynamic & COND_DYNAMIC_DISCARD) ||
                      (info->pRasterizationState && !info->pRasterizationState->rasterizerDiscardEnable);

    if (vertex_input && !mesh) {
        bits |= COND_INPUT_ASSEMBLY;
        if (!(dynamic & COND_DYNAMIC_VERTEX_INPUT))
            bits |= COND_VERTEX_INPUT;
    }
    if (pre_rasterization) {
        bits |= COND_PRE_RASTERIZATION;
        if (rasterizes)
            bits |= COND_RASTERIZATION;
        if ((stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) &&
            (stages & VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT))
            bits |= COND_TESSELLATION;
    }
    if ((fragment_shader || fragment_output) && rasterizes)
        bits |= COND_FRAGMENT;
    if (fragment_shader && rasterizes && (attachments & COND_HAS_DEPTH_STENCIL))
        bits |= COND_DEPTH_STENCIL;
    if (fragment_output && rasterizes && (attachments & COND_HAS_COLOR))
        bits |= COND_COLOR_BLEND;
    if (fragment_output && !info->renderPass)
        bits |= COND_ATTACHMENT_FORMATS;
    else
        bits |= COND_NO_SAMPLE_COUNTS;
    if ((pre_rasterization || fragment_shader || fragment_output) && !info->renderPass)
        bits |= COND_VIEW_MASK;
    if (!fragment_output)
        bits |= COND_NO_LOCATIONS;
    enc->scratch[COND_SCRATCH_PIPELINE] = bits;
}

void cond_enter_command_buffer(struct lap_enc *enc, const VkCommandBufferBeginInfo *info)
{
    enc->scratch[COND_SCRATCH_INHERITS_FORMATS] =
        enc->decoded ||
        (enc->scratch[COND_SCRATCH_SECONDARY] && (info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) &&
         info->pInheritanceInfo && !info->pInheritanceInfo->renderPass);
}
