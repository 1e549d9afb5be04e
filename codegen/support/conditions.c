/* SPDX-License-Identifier: MIT */
#include "codegen/support/conditions.h"

#include "gen_ids.h"

static const void *find_in_chain(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s; s = s->pNext)
        if (s->sType == type)
            return s;
    return NULL;
}

static bool is_dynamic(const VkPipelineDynamicStateCreateInfo *dynamic, VkDynamicState state)
{
    for (uint32_t i = 0; dynamic && i < dynamic->dynamicStateCount; i++)
        if (dynamic->pDynamicStates[i] == state)
            return true;
    return false;
}

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
        find_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    if (!knows_formats) /* the part of a library with the fragment shader need not */
        return both;
    if (!rendering)
        return 0;
    return (rendering->colorAttachmentCount ? COND_HAS_COLOR : 0u) |
           (rendering->depthAttachmentFormat || rendering->stencilAttachmentFormat ? COND_HAS_DEPTH_STENCIL : 0u);
}

/* Which parts of a pipeline a structure describes (VK_EXT_graphics_pipeline_library). */
static VkGraphicsPipelineLibraryFlagsEXT parts_of(const VkGraphicsPipelineCreateInfo *info)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *library =
        find_in_chain(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    const VkPipelineLibraryCreateInfoKHR *linked =
        find_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
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

void cond_enter_graphics_pipeline(struct lap_enc *enc, const VkGraphicsPipelineCreateInfo *info)
{
    const VkGraphicsPipelineLibraryFlagsEXT parts = parts_of(info);
    const bool vertex_input = parts & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
    const bool pre_rasterization = parts & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    const bool fragment_shader = parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
    const bool fragment_output = parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    const bool reads_stages = cond_reads_stages(info);
    VkShaderStageFlags stages = 0;
    uint32_t bits = reads_stages ? COND_STAGES : 0, attachments = attachments_of(enc, info, fragment_output);

    for (uint32_t i = 0; reads_stages && i < info->stageCount; i++)
        stages |= info->pStages[i].stage;
    const VkPipelineDynamicStateCreateInfo *dynamic = info->pDynamicState;
    bool mesh = stages & (VK_SHADER_STAGE_MESH_BIT_EXT | VK_SHADER_STAGE_TASK_BIT_EXT);
    /* rasterizerDiscardEnable: "pViewportState, pMultisampleState, ... are ignored" unless it is dynamic. */
    bool rasterizes = !pre_rasterization || is_dynamic(dynamic, VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE) ||
                      (info->pRasterizationState && !info->pRasterizationState->rasterizerDiscardEnable);

    if (vertex_input && !mesh) {
        bits |= COND_INPUT_ASSEMBLY;
        if (!is_dynamic(dynamic, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT))
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
    if (is_dynamic(dynamic, VK_DYNAMIC_STATE_VIEWPORT) || is_dynamic(dynamic, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT))
        bits |= COND_DYNAMIC_VIEWPORT;
    if (is_dynamic(dynamic, VK_DYNAMIC_STATE_SCISSOR) || is_dynamic(dynamic, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT))
        bits |= COND_DYNAMIC_SCISSOR;
    if (fragment_output && !info->renderPass)
        bits |= COND_ATTACHMENT_FORMATS;
    if (is_dynamic(dynamic, VK_DYNAMIC_STATE_SAMPLE_MASK_EXT))
        bits |= COND_DYNAMIC_SAMPLE_MASK;
    if (is_dynamic(dynamic, VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT) &&
        is_dynamic(dynamic, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT) &&
        is_dynamic(dynamic, VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT) &&
        is_dynamic(dynamic, VK_DYNAMIC_STATE_COLOR_BLEND_ADVANCED_EXT))
        bits |= COND_DYNAMIC_BLEND;
    enc->scratch[COND_SCRATCH_PIPELINE] = bits;
}

void cond_enter_command_buffer(struct lap_enc *enc, const VkCommandBufferBeginInfo *info)
{
    enc->scratch[COND_SCRATCH_INHERITS_FORMATS] = enc->scratch[COND_SCRATCH_SECONDARY] &&
                                                  (info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) &&
                                                  info->pInheritanceInfo && !info->pInheritanceInfo->renderPass;
}
