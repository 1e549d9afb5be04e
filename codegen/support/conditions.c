/* SPDX-License-Identifier: MIT */
#include "codegen/support/conditions.h"

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

void cond_enter_graphics_pipeline(struct lap_enc *enc, const VkGraphicsPipelineCreateInfo *info)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *library =
        find_in_chain(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    const VkPipelineLibraryCreateInfoKHR *linked = find_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    VkShaderStageFlags stages = 0;
    bool vertex_input, pre_rasterization, fragment_shader, fragment_output;
    uint32_t bits = 0;

    for (uint32_t i = 0; i < info->stageCount; i++)
        stages |= info->pStages[i].stage;
    if (library) {
        vertex_input = library->flags & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
        pre_rasterization = library->flags & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
        fragment_shader = library->flags & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
        fragment_output = library->flags & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    } else {
        /* A pipeline that only links libraries reads no state of its own. */
        bool own = !linked || linked->libraryCount == 0;
        vertex_input = pre_rasterization = fragment_shader = fragment_output = own;
    }
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
        if ((stages & VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT) && (stages & VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT))
            bits |= COND_TESSELLATION;
    }
    if ((fragment_shader || fragment_output) && rasterizes)
        bits |= COND_FRAGMENT;
    if (fragment_shader && rasterizes)
        bits |= COND_DEPTH_STENCIL;
    if (fragment_output && rasterizes)
        bits |= COND_COLOR_BLEND;
    /* With a render pass the specification also ignores state for attachments that the subpass lacks; programs that leave
     * such pointers dangling exist only in theory for color, but depth-stencil of a color-only subpass is common: the layer
     * clears these bits from what it knows of the render pass. */
    if (enc->scratch[COND_SCRATCH_PIPELINE + 1] & COND_DEPTH_STENCIL)
        bits &= ~(uint32_t)COND_DEPTH_STENCIL;
    if (enc->scratch[COND_SCRATCH_PIPELINE + 1] & COND_COLOR_BLEND)
        bits &= ~(uint32_t)COND_COLOR_BLEND;
    if (is_dynamic(dynamic, VK_DYNAMIC_STATE_VIEWPORT) || is_dynamic(dynamic, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT))
        bits |= COND_DYNAMIC_VIEWPORT;
    if (is_dynamic(dynamic, VK_DYNAMIC_STATE_SCISSOR) || is_dynamic(dynamic, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT))
        bits |= COND_DYNAMIC_SCISSOR;
    enc->scratch[COND_SCRATCH_PIPELINE] = bits;
}
