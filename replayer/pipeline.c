/* SPDX-License-Identifier: MIT */
#include "gen_replay.h"
#include "replayer/address.h"
#include "replayer/player.h"
#include "replayer/resource.h"
#include "replayer/stencil.h"

/* Caches begin empty: what was in the recorded machine's is of no use to this driver, and must not come from a file. */
enum lap_status replay_CreatePipelineCache(struct replay *r, struct replay_device *dev,
                                           struct gen_args_vkCreatePipelineCache *args)
{
    VkPipelineCacheCreateInfo info = *args->pCreateInfo;
    VkPipelineCache live = VK_NULL_HANDLE;
    VkResult result;

    info.pNext = NULL;
    info.initialDataSize = 0;
    info.pInitialData = NULL;
    result = dev->vk.CreatePipelineCache(dev->live, &info, NULL, &live);
    return result < 0 ? replay_result(r, result) : gen_keep_VkPipelineCache(r, dev, args->pPipelineCache, &live, 1);
}

/* A pipeline that a warm cache gave the program has to be compiled here. */
#define CACHE_FLAGS                                                                                                    \
    (VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT | VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT)

static void clear_cache_flags(VkPipelineCreateFlags *flags, const void *chain)
{
    *flags &= ~(VkPipelineCreateFlags)CACHE_FLAGS;
#ifdef VK_KHR_maintenance5
    /* With this structure the other flags are ignored; these bits have the same values in it. */
    VkPipelineCreateFlags2CreateInfoKHR *flags2 = (VkPipelineCreateFlags2CreateInfoKHR *)(uintptr_t)replay_chain_find(
        chain, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    if (flags2)
        flags2->flags &= ~(VkPipelineCreateFlags2KHR)CACHE_FLAGS;
#endif
}

/* The program may have had good pipelines from a call that failed for others: what it got must come, the rest may fail.
 */
static enum lap_status keep(struct replay *r, struct replay_device *dev, VkResult result, const VkPipeline *indices,
                            VkPipeline *live, uint32_t count)
{
    bool needed = false;
    for (uint32_t i = 0; i < count; i++)
        needed |= indices[i] && !live[i];
    return result < 0 && needed ? replay_result(r, result) : gen_keep_VkPipeline(r, dev, indices, live, count);
}

static bool gave_any(const VkPipeline *indices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (indices[i])
            return true;
    return false;
}

static bool is_dynamic(const VkGraphicsPipelineCreateInfo *info, VkDynamicState state)
{
    const VkPipelineDynamicStateCreateInfo *dynamic = info->pDynamicState;
    for (uint32_t i = 0; dynamic && i < dynamic->dynamicStateCount; i++)
        if (dynamic->pDynamicStates[i] == state)
            return true;
    return false;
}

/* The stages of a pipeline that is no part of a library and is made of none; 0 for others. */
static VkShaderStageFlags whole_stages(const VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineLibraryCreateInfoKHR *linked =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    VkShaderStageFlags stages = 0;

    if (replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT) ||
        (linked && linked->libraryCount))
        return 0;
    for (uint32_t i = 0; info->pStages && i < info->stageCount; i++)
        stages |= info->pStages[i].stage;
    return stages;
}

/* VkGraphicsPipelineCreateInfo, "Valid Usage": which states drivers look at is said in words there. A program may leave
 * a state out where all that is in it is dynamic: what that is grows with extensions, so where anything is dynamic that
 * could be meant, null is let pass. What the subpass decides (depth, stencil, blending) is not known here. */
static const char *absent_state(const VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineRenderingCreateInfo *rendering =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    const VkShaderStageFlags stages = whole_stages(info), tessellation = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT |
                                                                         VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    const VkPipelineViewportStateCreateInfo *viewports = info->pViewportState;
    const VkPipelineRasterizationStateCreateInfo *rasterization = info->pRasterizationState;

    if (info->stageCount && !info->pStages)
        return "pStages";
    if (!stages)
        return NULL;
    if (stages & VK_SHADER_STAGE_VERTEX_BIT) {
        if (!info->pVertexInputState && !is_dynamic(info, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT))
            return "pVertexInputState";
        if (!info->pInputAssemblyState && !info->pDynamicState)
            return "pInputAssemblyState";
    }
    if ((stages & tessellation) == tessellation && !info->pTessellationState && !info->pDynamicState)
        return "pTessellationState";
    if (rasterization && rasterization->rasterizerDiscardEnable)
        viewports = NULL;
    if (viewports && viewports->viewportCount && !viewports->pViewports &&
        !is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT) && !is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT))
        return "pViewports";
    if (viewports && viewports->scissorCount && !viewports->pScissors && !is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR) &&
        !is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT))
        return "pScissors";
    if (!info->renderPass && rendering && rendering->colorAttachmentCount && !rendering->pColorAttachmentFormats)
        return "pColorAttachmentFormats";
    if (info->pDynamicState)
        return NULL;
    if (!rasterization)
        return "pRasterizationState";
    if (rasterization->rasterizerDiscardEnable)
        return NULL;
    return !info->pViewportState ? "pViewportState" : !info->pMultisampleState ? "pMultisampleState" : NULL;
}

enum lap_status replay_CreateGraphicsPipelines(struct replay *r, struct replay_device *dev,
                                               struct gen_args_vkCreateGraphicsPipelines *args)
{
    VkGraphicsPipelineCreateInfo *infos = (VkGraphicsPipelineCreateInfo *)(uintptr_t)args->pCreateInfos;
    VkPipeline *live = replay_scratch(r, args->createInfoCount, sizeof *live);
    enum lap_status status = LAP_OK;
    VkResult result;

    if (!gave_any(args->pPipelines, args->createInfoCount))
        return LAP_OK;
    if (!live)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < args->createInfoCount; i++) {
        const char *absent = absent_state(&infos[i]);
        if (absent)
            return replay_absent(r, absent);
        clear_cache_flags(&infos[i].flags, infos[i].pNext);
        if (dev->stencils_differ)
            replay_stencil_pipeline(r, &infos[i]);
        for (uint32_t j = 0; dev->translates_addresses && infos[i].pStages && j < infos[i].stageCount; j++) {
            status = replay_address_constants(r, dev, infos[i].pStages[j].pSpecializationInfo);
            if (status != LAP_OK)
                return status;
        }
    }
    result = dev->vk.CreateGraphicsPipelines(dev->live, args->pipelineCache, args->createInfoCount, infos, NULL, live);
    return keep(r, dev, result, args->pPipelines, live, args->createInfoCount);
}

enum lap_status replay_CreateComputePipelines(struct replay *r, struct replay_device *dev,
                                              struct gen_args_vkCreateComputePipelines *args)
{
    VkComputePipelineCreateInfo *infos = (VkComputePipelineCreateInfo *)(uintptr_t)args->pCreateInfos;
    VkPipeline *live = replay_scratch(r, args->createInfoCount, sizeof *live);
    enum lap_status status = LAP_OK;
    VkResult result;

    if (!gave_any(args->pPipelines, args->createInfoCount))
        return LAP_OK;
    if (!live)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < args->createInfoCount; i++) {
        clear_cache_flags(&infos[i].flags, infos[i].pNext);
        if (dev->translates_addresses)
            status = replay_address_constants(r, dev, infos[i].stage.pSpecializationInfo);
        if (status != LAP_OK)
            return status;
    }
    result = dev->vk.CreateComputePipelines(dev->live, args->pipelineCache, args->createInfoCount, infos, NULL, live);
    return keep(r, dev, result, args->pPipelines, live, args->createInfoCount);
}
