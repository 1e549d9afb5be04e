/* SPDX-License-Identifier: MIT */
#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/heap_code.h"
#include "replayer/format/stencil_only.h"
#include "replayer/ray_tracing/ray_tracing.h"
#include "replayer/sync/deferred_destroy.h"
#include "vulkan/chain.h"

/* Caches begin empty: data of the recorded driver is useless to this one, and untrusted bytes must not reach it. */
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

/* The program's cache may have had the pipeline; the replay has to compile it. */
#define CACHE_FLAGS                                                                                                    \
    (VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT | VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT)

static void clear_cache_flags(VkPipelineCreateFlags *flags, const void **chain)
{
    *flags &= ~(VkPipelineCreateFlags)CACHE_FLAGS;
#ifdef VK_KHR_maintenance5
    /* This structure overrides the other flags; these bits have the same values in it. */
    static const VkStructureType type = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR;
    VkPipelineCreateFlags2CreateInfoKHR *flags2 =
        (VkPipelineCreateFlags2CreateInfoKHR *)(uintptr_t)lap_chain_find(*chain, type);
    if (!flags2)
        return;
    flags2->flags &= ~(VkPipelineCreateFlags2KHR)CACHE_FLAGS;
#ifdef VK_KHR_pipeline_binary
    flags2->flags &= ~VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR; /* no binaries are queried in a replay */
#endif
    if (!flags2->flags) { /* it must have some */
        *flags = 0;
        lap_chain_drop(chain, &type, 1);
    }
#endif
}

/* ---- code without a module ---- */

static bool has_code(const VkPipelineShaderStageCreateInfo *stage)
{
    const VkShaderModuleCreateInfo *chained =
        stage->module ? NULL : lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    return stage->module || (chained && chained->pCode && chained->codeSize);
}

/* Counts the stages without a module for which this device needs one. */
static enum lap_status count_bare(struct replay *r, const struct replay_device *dev,
                                  const VkPipelineShaderStageCreateInfo *stages, uint32_t count, uint32_t *bare)
{
    for (uint32_t i = 0; stages && i < count; i++) {
        if (!has_code(&stages[i]))
            return replay_fail(r, "a stage of a pipeline has no code");
        *bare += !stages[i].module && !dev->enabled.chained_code;
    }
    return LAP_OK;
}

/* ---- descriptor heaps ---- */

static enum lap_status adapt(struct replay *r, struct replay_device *dev, uint32_t command, void *args)
{
    return dev->descriptors.buffers ? replay_heaps_adapt_call(r, dev, command, args) : LAP_OK;
}

/* Pipelines that take descriptors from heaps have no layout; a driver uses that of others without a check. */
static bool lacks_layout(VkPipelineLayout layout, const void *chain)
{
#ifdef VK_EXT_descriptor_heap
    const VkPipelineCreateFlags2CreateInfoKHR *flags2 =
        layout ? NULL : lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    return !layout && !(flags2 && flags2->flags & VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT);
#else
    (void)chain;
    return !layout;
#endif
}

enum lap_status replay_CreateShaderModule(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkCreateShaderModule *args)
{
    enum lap_status status = adapt(r, dev, GEN_vkCreateShaderModule, args);
    VkShaderModule live = VK_NULL_HANDLE;
    VkResult result;

    if (status != LAP_OK)
        return status;
    result = dev->vk.CreateShaderModule(dev->live, args->pCreateInfo, NULL, &live);
    return result < 0 ? replay_result(r, result) : gen_keep_VkShaderModule(r, dev, args->pShaderModule, &live, 1);
}

/* ---- code in a chain ---- */

/* The layer puts the code of a stage into its chain where the program named an identifier or a binary. A device without
 * the features that allow this gets a module for as long as the call lasts. */
static enum lap_status make_module(struct replay *r, const struct replay_device *dev,
                                   VkPipelineShaderStageCreateInfo *stage)
{
    static const VkStructureType type = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    const VkShaderModuleCreateInfo *chained = lap_chain_find(stage->pNext, type);
    VkShaderModuleCreateInfo info;
    VkResult result;

    info = *chained;
    info.pNext = NULL;
    result = dev->vk.CreateShaderModule(dev->live, &info, NULL, &stage->module);
    if (result < 0)
        return replay_result(r, result);
    lap_chain_drop(&stage->pNext, &type, 1);
    return LAP_OK;
}

/* made: the number of stages whose modules are destroyed later. */
static enum lap_status make_modules(struct replay *r, const struct replay_device *dev,
                                    const VkPipelineShaderStageCreateInfo *stages, uint32_t count,
                                    VkShaderModule **made)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; stages && i < count && status == LAP_OK; i++) {
        VkPipelineShaderStageCreateInfo *stage = (VkPipelineShaderStageCreateInfo *)(uintptr_t)&stages[i];
        if (stage->module)
            continue;
        status = make_module(r, dev, stage);
        if (status == LAP_OK)
            *(*made)++ = stage->module;
    }
    return status;
}

static void destroy_modules(const struct replay_device *dev, const VkShaderModule *begin, const VkShaderModule *end)
{
    for (; begin != end; begin++)
        dev->vk.DestroyShaderModule(dev->live, *begin, NULL);
}

/* A call may have failed for some pipelines and created others. The pipelines that the program got are required; the
 * others may fail. */
static enum lap_status keep(struct replay *r, struct replay_device *dev, VkResult result, const VkPipeline *indices,
                            VkPipeline *live, uint32_t count)
{
    bool needed = false;
    for (uint32_t i = 0; i < count; i++)
        needed |= indices[i] && !live[i];
    return result < 0 && needed ? replay_result(r, result) : gen_keep_VkPipeline(r, dev, indices, live, count);
}

/* A pipeline that the program did not get may have no code, so it is left out. The base pipeline index of others may
 * name it, or a later one. */
static void move_base(VkPipelineCreateFlags *flags, int32_t *base, const uint32_t *places, uint32_t count)
{
    if (!(*flags & VK_PIPELINE_CREATE_DERIVATIVE_BIT) || *base < 0)
        return;
    if ((uint32_t)*base < count && places[*base] != UINT32_MAX) {
        *base = (int32_t)places[*base];
        return;
    }
    *base = -1;
    *flags &= ~(VkPipelineCreateFlags)VK_PIPELINE_CREATE_DERIVATIVE_BIT;
}

/* places[i]: the new index of pipeline i, or UINT32_MAX. Returns how many remain. */
static uint32_t place_given(VkPipeline *indices, uint32_t count, uint32_t *places)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        places[i] = indices[i] ? left : UINT32_MAX;
        if (indices[i])
            indices[left++] = indices[i];
    }
    return left;
}

static enum lap_status drop_graphics(struct replay *r, struct gen_args_vkCreateGraphicsPipelines *args)
{
    VkGraphicsPipelineCreateInfo *infos = (VkGraphicsPipelineCreateInfo *)(uintptr_t)args->pCreateInfos;
    uint32_t *places = replay_scratch(r, args->createInfoCount, sizeof *places), count = args->createInfoCount;

    if (!places)
        return replay_no_scratch(r);
    args->createInfoCount = place_given(args->pPipelines, count, places);
    for (uint32_t i = 0; i < count; i++) {
        if (places[i] == UINT32_MAX)
            continue;
        infos[places[i]] = infos[i];
        move_base(&infos[places[i]].flags, &infos[places[i]].basePipelineIndex, places, count);
    }
    return LAP_OK;
}

static enum lap_status drop_compute(struct replay *r, struct gen_args_vkCreateComputePipelines *args)
{
    VkComputePipelineCreateInfo *infos = (VkComputePipelineCreateInfo *)(uintptr_t)args->pCreateInfos;
    uint32_t *places = replay_scratch(r, args->createInfoCount, sizeof *places), count = args->createInfoCount;

    if (!places)
        return replay_no_scratch(r);
    args->createInfoCount = place_given(args->pPipelines, count, places);
    for (uint32_t i = 0; i < count; i++) {
        if (places[i] == UINT32_MAX)
            continue;
        infos[places[i]] = infos[i];
        move_base(&infos[places[i]].flags, &infos[places[i]].basePipelineIndex, places, count);
    }
    return LAP_OK;
}

static bool gave_all(const VkPipeline *indices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!indices[i])
            return false;
    return true;
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

/* The stages of a pipeline that neither is nor uses a pipeline library; 0 for others. */
static VkShaderStageFlags whole_stages(const VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineLibraryCreateInfoKHR *linked =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    VkShaderStageFlags stages = 0;

    if (lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT) ||
        (linked && linked->libraryCount))
        return 0;
    for (uint32_t i = 0; info->pStages && i < info->stageCount; i++)
        stages |= info->pStages[i].stage;
    return stages;
}

/* Returns a state structure that the driver would read and that is NULL (VkGraphicsPipelineCreateInfo, "Valid Usage").
 * A program may omit a structure if all of its state is dynamic. Extensions keep adding dynamic states, so this accepts
 * NULL if any relevant state is dynamic. It does not check depth, stencil and blend state, which depend on the
 * subpass. */
static const char *absent_state(const VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineRenderingCreateInfo *rendering =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
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

/* A trace has no attachments where all of their state is dynamic, and their number may be any. Drivers look all the
 * same. */
static enum lap_status fill_blend(struct replay *r, const struct replay_device *dev,
                                  const VkPipelineColorBlendStateCreateInfo *info)
{
    VkPipelineColorBlendStateCreateInfo *blend = (VkPipelineColorBlendStateCreateInfo *)(uintptr_t)info;
    const uint32_t most = dev->instance->properties.limits.maxColorAttachments;

    if (!blend || blend->pAttachments || !blend->attachmentCount)
        return LAP_OK;
    if (blend->attachmentCount > most)
        blend->attachmentCount = most;
    blend->pAttachments = replay_scratch(r, blend->attachmentCount, sizeof *blend->pAttachments);
    return blend->pAttachments ? LAP_OK : replay_no_scratch(r);
}

enum lap_status replay_CreateGraphicsPipelines(struct replay *r, struct replay_device *dev,
                                               struct gen_args_vkCreateGraphicsPipelines *args)
{
    VkGraphicsPipelineCreateInfo *infos = (VkGraphicsPipelineCreateInfo *)(uintptr_t)args->pCreateInfos;
    VkPipeline *live = replay_scratch(r, args->createInfoCount, sizeof *live);
    VkShaderModule *made = NULL, *made_end;
    enum lap_status status = LAP_OK;
    uint32_t bare = 0;
    VkResult result;

    if (!gave_any(args->pPipelines, args->createInfoCount))
        return LAP_OK;
    if (!live)
        return replay_no_scratch(r);
    if (!gave_all(args->pPipelines, args->createInfoCount))
        status = drop_graphics(r, args);
    if (status == LAP_OK)
        status = adapt(r, dev, GEN_vkCreateGraphicsPipelines, args);
    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++) {
        const char *absent = absent_state(&infos[i]);
        if (absent)
            return replay_absent(r, absent);
        status = fill_blend(r, dev, infos[i].pColorBlendState);
        if (status != LAP_OK)
            return status;
        clear_cache_flags(&infos[i].flags, &infos[i].pNext);
        if (dev->formats.stencils_differ)
            replay_format_stencil_pipeline(r, &infos[i]);
        for (uint32_t j = 0; dev->addresses.translated && infos[i].pStages && j < infos[i].stageCount; j++) {
            status = replay_address_constants(r, dev, infos[i].pStages[j].pSpecializationInfo);
            if (status != LAP_OK)
                return status;
        }
        status = count_bare(r, dev, infos[i].pStages, infos[i].stageCount, &bare);
        if (status != LAP_OK)
            return status;
    }
    if (bare && !(made = replay_scratch(r, bare, sizeof *made)))
        return replay_no_scratch(r);
    made_end = made;
    for (uint32_t i = 0; bare && i < args->createInfoCount && status == LAP_OK; i++)
        status = make_modules(r, dev, infos[i].pStages, infos[i].stageCount, &made_end);
    if (status != LAP_OK) {
        destroy_modules(dev, made, made_end);
        return status;
    }
    result = dev->vk.CreateGraphicsPipelines(dev->live, args->pipelineCache, args->createInfoCount, infos, NULL, live);
    destroy_modules(dev, made, made_end);
    return keep(r, dev, result, args->pPipelines, live, args->createInfoCount);
}

enum lap_status replay_CreateComputePipelines(struct replay *r, struct replay_device *dev,
                                              struct gen_args_vkCreateComputePipelines *args)
{
    VkComputePipelineCreateInfo *infos = (VkComputePipelineCreateInfo *)(uintptr_t)args->pCreateInfos;
    VkPipeline *live = replay_scratch(r, args->createInfoCount, sizeof *live);
    VkShaderModule *made = NULL, *made_end;
    enum lap_status status = LAP_OK;
    uint32_t bare = 0;
    VkResult result;

    if (!gave_any(args->pPipelines, args->createInfoCount))
        return LAP_OK;
    if (!live)
        return replay_no_scratch(r);
    if (!gave_all(args->pPipelines, args->createInfoCount))
        status = drop_compute(r, args);
    if (status == LAP_OK)
        status = adapt(r, dev, GEN_vkCreateComputePipelines, args);
    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++) {
        clear_cache_flags(&infos[i].flags, &infos[i].pNext);
        if (lacks_layout(infos[i].layout, infos[i].pNext))
            return replay_absent(r, "layout");
        if (dev->addresses.translated)
            status = replay_address_constants(r, dev, infos[i].stage.pSpecializationInfo);
        if (status == LAP_OK)
            status = count_bare(r, dev, &infos[i].stage, 1, &bare);
        if (status != LAP_OK)
            return status;
    }
    if (bare && !(made = replay_scratch(r, bare, sizeof *made)))
        return replay_no_scratch(r);
    made_end = made;
    for (uint32_t i = 0; bare && i < args->createInfoCount && status == LAP_OK; i++)
        status = make_modules(r, dev, &infos[i].stage, 1, &made_end);
    if (status != LAP_OK) {
        destroy_modules(dev, made, made_end);
        return status;
    }
    result = dev->vk.CreateComputePipelines(dev->live, args->pipelineCache, args->createInfoCount, infos, NULL, live);
    destroy_modules(dev, made, made_end);
    return keep(r, dev, result, args->pPipelines, live, args->createInfoCount);
}

/* ---- ray tracing ---- */

static bool is_stage(uint32_t index, uint32_t count)
{
    return index < count || index == VK_SHADER_UNUSED_KHR;
}

/* Checks data that a driver uses as pointers or indices without a check. */
static enum lap_status check_rays(struct replay *r, const VkRayTracingPipelineCreateInfoKHR *info, VkFlags64 flags)
{
    bool linked = info->pLibraryInfo && info->pLibraryInfo->libraryCount;

    if ((flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR || linked) && !info->pLibraryInterface)
        return replay_absent(r, "pLibraryInterface");
    if (info->stageCount && !info->pStages)
        return replay_absent(r, "pStages");
    if (info->groupCount && !info->pGroups)
        return replay_absent(r, "pGroups");
    for (uint32_t i = 0; i < info->groupCount; i++) {
        const VkRayTracingShaderGroupCreateInfoKHR *group = &info->pGroups[i];
        bool general = group->type == VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR;
        if (!is_stage(group->generalShader, info->stageCount) || !is_stage(group->closestHitShader, info->stageCount) ||
            !is_stage(group->anyHitShader, info->stageCount) ||
            !is_stage(group->intersectionShader, info->stageCount) ||
            (general && group->generalShader == VK_SHADER_UNUSED_KHR))
            return replay_invalid(r, "shader group %u names a stage that the pipeline does not have", i);
    }
    return LAP_OK;
}

/* Handles need not be the recorded ones: ray_tracing.h. */
#define HANDLE_FLAGS ((VkPipelineCreateFlags)VK_PIPELINE_CREATE_RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY_BIT_KHR)

static VkFlags64 clear_handle_flags(VkRayTracingPipelineCreateInfoKHR *info)
{
    info->flags &= ~HANDLE_FLAGS;
#ifdef VK_KHR_maintenance5
    VkPipelineCreateFlags2CreateInfoKHR *flags2 = (VkPipelineCreateFlags2CreateInfoKHR *)(uintptr_t)lap_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    if (flags2)
        return flags2->flags &= ~(VkPipelineCreateFlags2KHR)HANDLE_FLAGS;
#endif
    return info->flags;
}

static enum lap_status prepare_rays(struct replay *r, struct replay_device *dev,
                                    VkRayTracingPipelineCreateInfoKHR *info, VkFlags64 *out_flags)
{
    enum lap_status status;
    uint32_t bare = 0;

    (void)clear_handle_flags(info);
    clear_cache_flags(&info->flags, &info->pNext);
    *out_flags = clear_handle_flags(info);
    if (lacks_layout(info->layout, info->pNext))
        return replay_absent(r, "layout");
    status = check_rays(r, info, *out_flags);
    if (status == LAP_OK)
        status = replay_ray_tracing_check(r, dev, info);
    if (status == LAP_OK)
        status = count_bare(r, dev, info->pStages, info->stageCount, &bare);
    for (uint32_t i = 0; dev->addresses.translated && i < info->stageCount && status == LAP_OK; i++)
        status = replay_address_constants(r, dev, info->pStages[i].pSpecializationInfo);
    return status;
}

enum lap_status replay_CreateRayTracingPipelinesKHR(struct replay *r, struct replay_device *dev,
                                                    struct gen_args_vkCreateRayTracingPipelinesKHR *args)
{
    VkRayTracingPipelineCreateInfoKHR *infos = (VkRayTracingPipelineCreateInfoKHR *)(uintptr_t)args->pCreateInfos;
    VkPipeline *live = replay_scratch(r, args->createInfoCount, sizeof *live);
    VkFlags64 *flags = replay_scratch(r, args->createInfoCount, sizeof *flags);
    VkShaderModule *made = NULL, *made_end;
    enum lap_status status = LAP_OK;
    uint32_t bare = 0;
    VkResult result;

    if (!gave_any(args->pPipelines, args->createInfoCount))
        return LAP_OK;
    if (!live || !flags)
        return replay_no_scratch(r);
    if (!dev->vk.CreateRayTracingPipelinesKHR)
        return replay_missing(r, GEN_vkCreateRayTracingPipelinesKHR);
    status = adapt(r, dev, GEN_vkCreateRayTracingPipelinesKHR, args);
    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++) {
        status = prepare_rays(r, dev, &infos[i], &flags[i]);
        if (status == LAP_OK)
            status = count_bare(r, dev, infos[i].pStages, infos[i].stageCount, &bare);
    }
    if (status != LAP_OK)
        return status;
    if (bare && !(made = replay_scratch(r, bare, sizeof *made)))
        return replay_no_scratch(r);
    made_end = made;
    for (uint32_t i = 0; bare && i < args->createInfoCount && status == LAP_OK; i++)
        status = make_modules(r, dev, infos[i].pStages, infos[i].stageCount, &made_end);
    if (status != LAP_OK) {
        destroy_modules(dev, made, made_end);
        return status;
    }
    result = dev->vk.CreateRayTracingPipelinesKHR(dev->live, VK_NULL_HANDLE, args->pipelineCache, args->createInfoCount,
                                                  infos, NULL, live);
    destroy_modules(dev, made, made_end);
    status = keep(r, dev, result, args->pPipelines, live, args->createInfoCount);
    for (uint32_t i = 0; i < args->createInfoCount && status == LAP_OK; i++)
        if (args->pPipelines[i])
            status = replay_ray_tracing_created(r, dev, live[i], &infos[i], flags[i]);
    return status;
}

enum lap_status replay_end_VkPipeline(struct replay *r, struct replay_device *dev, uint64_t index,
                                      struct replay_object *object)
{
    if (__builtin_expect(dev->rays.tracing != NULL, 0))
        replay_ray_tracing_forget_pipeline(dev, gen_VkPipeline(object->live));
    if (__builtin_expect(dev->busy, 0))
        replay_deferred_destroy_handle(dev, GEN_HANDLE_VkPipeline, object->live);
    else
        dev->vk.DestroyPipeline(dev->live, gen_VkPipeline(object->live), NULL);
    replay_object_end(r, GEN_HANDLE_VkPipeline, index, object);
    return LAP_OK;
}
