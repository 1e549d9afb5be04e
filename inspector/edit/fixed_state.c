/* SPDX-License-Identifier: MIT */
#include "inspector/edit/fixed_state.h"

#include "gen_decode.h"
#include "inspector/twin/rewrite.h"
#include "vulkan/chain.h"

/* What decoders gave may change. */
#define CHANGEABLE(type, pointer) ((type *)(uintptr_t)(pointer))

/* A pipeline that a driver's binary stands for. */
static bool is_binary(const void *chain)
{
#ifdef VK_KHR_pipeline_binary
    const VkPipelineBinaryInfoKHR *info = lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR);
    return info && info->binaryCount;
#else
    return false;
#endif
}

typedef bool (*change_pipeline_fn)(VkGraphicsPipelineCreateInfo *info);

static bool change_pipelines(const struct gen_args_vkCreateGraphicsPipelines *args, change_pipeline_fn change,
                             struct fixed_state_result *result)
{
    bool any = false;

    for (uint32_t i = 0; args->pCreateInfos && i < args->createInfoCount; i++) {
        VkGraphicsPipelineCreateInfo *info = CHANGEABLE(VkGraphicsPipelineCreateInfo, &args->pCreateInfos[i]);
        bool changes = !is_binary(info->pNext) && change(info);
        result->unchanged += is_binary(info->pNext);
        result->pipelines += changes;
        any |= changes;
    }
    return any;
}

/* ---- wireframe ---- */

/* What may become triangles: mesh, tessellation and geometry shaders say only in their code. */
static bool may_have_triangles(const VkGraphicsPipelineCreateInfo *info)
{
    VkShaderStageFlags stages = 0;

    for (uint32_t i = 0; info->pStages && i < info->stageCount; i++)
        stages |= info->pStages[i].stage;
    if (!info->pInputAssemblyState ||
        stages & ~(VkShaderStageFlags)(VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT))
        return true;
    switch (info->pInputAssemblyState->topology) {
    case VK_PRIMITIVE_TOPOLOGY_POINT_LIST:
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
        return false;
    default:
        return true;
    }
}

static bool draw_lines(VkGraphicsPipelineCreateInfo *info)
{
    VkPipelineRasterizationStateCreateInfo *state =
        CHANGEABLE(VkPipelineRasterizationStateCreateInfo, info->pRasterizationState);

    if (!state || state->polygonMode != VK_POLYGON_MODE_FILL || !may_have_triangles(info))
        return false;
    state->polygonMode = VK_POLYGON_MODE_LINE;
    return true;
}

static bool wants_lines(const void *user, uint32_t command)
{
    return command == GEN_vkCreateDevice || command == GEN_vkCreateGraphicsPipelines ||
           command == GEN_vkCmdSetPolygonModeEXT;
}

static enum lap_status see_lines(void *user, const struct rewrite_call *call, bool *out_changed)
{
    struct fixed_state_result *result = user;

    switch (call->command) {
    case GEN_vkCreateDevice:
        return rewrite_enable_feature(call, offsetof(VkPhysicalDeviceFeatures, fillModeNonSolid), out_changed);
    case GEN_vkCreateGraphicsPipelines:
        *out_changed = change_pipelines(call->args, draw_lines, result);
        return LAP_OK;
    default: {
        struct gen_args_vkCmdSetPolygonModeEXT *set = call->args;
        *out_changed = set->polygonMode == VK_POLYGON_MODE_FILL;
        if (*out_changed)
            set->polygonMode = VK_POLYGON_MODE_LINE;
        result->commands += *out_changed;
        return LAP_OK;
    }
    }
}

enum lap_status edit_wireframe(const struct lap_reader *trace, struct lap_edits *edits, struct fixed_state_result *out)
{
    const struct rewrite_visitor visitor = {.wants = wants_lines, .visit = see_lines, .blocks = true, .user = out};

    *out = (struct fixed_state_result){.pipelines = 0};
    return rewrite_trace(trace, &visitor, edits);
}

/* ---- a pixel ---- */

static bool shrink_viewports(const VkViewport *viewports, uint32_t count)
{
    for (uint32_t i = 0; viewports && i < count; i++) {
        VkViewport *viewport = CHANGEABLE(VkViewport, &viewports[i]);
        bool is_flipped = viewport->height < 0;
        viewport->x = 0;
        viewport->y = is_flipped ? 1 : 0;
        viewport->width = 1;
        viewport->height = is_flipped ? -1 : 1;
    }
    return viewports && count;
}

static bool shrink_scissors(const VkRect2D *scissors, uint32_t count)
{
    for (uint32_t i = 0; scissors && i < count; i++)
        *CHANGEABLE(VkRect2D, &scissors[i]) = (VkRect2D){.extent = {1, 1}};
    return scissors && count;
}

static bool draw_a_pixel(VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineViewportStateCreateInfo *state = info->pViewportState;
    bool any = state && shrink_viewports(state->pViewports, state->viewportCount);
    return (state && shrink_scissors(state->pScissors, state->scissorCount)) || any;
}

static bool wants_places(const void *user, uint32_t command)
{
    return command == GEN_vkCreateGraphicsPipelines || command == GEN_vkCmdSetViewport ||
           command == GEN_vkCmdSetViewportWithCount || command == GEN_vkCmdSetScissor ||
           command == GEN_vkCmdSetScissorWithCount;
}

static enum lap_status see_places(void *user, const struct rewrite_call *call, bool *out_changed)
{
    struct fixed_state_result *result = user;

    switch (call->command) {
    case GEN_vkCreateGraphicsPipelines:
        *out_changed = change_pipelines(call->args, draw_a_pixel, result);
        return LAP_OK;
    case GEN_vkCmdSetViewport: {
        const struct gen_args_vkCmdSetViewport *set = call->args;
        *out_changed = shrink_viewports(set->pViewports, set->viewportCount);
        break;
    }
    case GEN_vkCmdSetViewportWithCount: {
        const struct gen_args_vkCmdSetViewportWithCount *set = call->args;
        *out_changed = shrink_viewports(set->pViewports, set->viewportCount);
        break;
    }
    case GEN_vkCmdSetScissor: {
        const struct gen_args_vkCmdSetScissor *set = call->args;
        *out_changed = shrink_scissors(set->pScissors, set->scissorCount);
        break;
    }
    default: {
        const struct gen_args_vkCmdSetScissorWithCount *set = call->args;
        *out_changed = shrink_scissors(set->pScissors, set->scissorCount);
        break;
    }
    }
    result->commands += *out_changed;
    return LAP_OK;
}

enum lap_status edit_tiny_viewport(const struct lap_reader *trace, struct lap_edits *edits,
                                   struct fixed_state_result *out)
{
    const struct rewrite_visitor visitor = {.wants = wants_places, .visit = see_places, .blocks = true, .user = out};

    *out = (struct fixed_state_result){.pipelines = 0};
    return rewrite_trace(trace, &visitor, edits);
}
