/* SPDX-License-Identifier: MIT */
/* Pipelines, passes and the shaders in them. */
#include <inttypes.h>
#include <string.h>

#include "gen_reflect.h"
#include "replayer/limits_internal.h"
#include "replayer/resource.h"
#include "replayer/shader.h"

/* What is kept of a module for the pipelines that use it. */
struct limits_shader {
    bool has_size, in_subgroups;
    struct replay_shader_size size[3];
};

/* ---- what shaders declare ---- */

static bool allows(const struct limits_look *look, const struct gen_enable *enable)
{
    const void *properties = NULL;
    uint32_t value;

    if (enable->version)
        return look->api_version >= enable->version;
    if (enable->extension)
        return look->report->extensions[enable->extension - 1];
    if (enable->feature)
        return look->report->features[enable->feature - 1];
    /* Vulkan 1.1's structure of all its properties is laid out otherwise than that of subgroups alone. */
    if (enable->property == GEN_STRUCT_VkPhysicalDeviceVulkan11Properties &&
        enable->offset == offsetof(VkPhysicalDeviceVulkan11Properties, subgroupSupportedOperations))
        properties = &look->limits->subgroup.supportedOperations;
    if (!properties)
        return true; /* of floats: a matter of modes that shaders ask for one by one */
    memcpy(&value, properties, sizeof value);
    return (value & enable->bits) != 0;
}

static bool is_of_subgroups(uint32_t capability)
{
    return capability >= 61 && capability <= 68; /* GroupNonUniform to GroupNonUniformQuad */
}

static void look_at_capability(const struct limits_look *look, uint32_t number)
{
    for (uint32_t i = 0; i < GEN_CAPABILITY_COUNT; i++) {
        const struct gen_capability *capability = &gen_capabilities[i];
        if (capability->number != number)
            continue;
        for (uint32_t j = 0; j < capability->count; j++)
            if (allows(look, &gen_enables[capability->first + j]))
                return;
        limits_report(look, REPLAY_AREA_SHADER, REPLAY_MAY_FAIL, capability->name,
                      "a shader declares this capability, which the device is not made with");
        return;
    }
    limits_report(look, REPLAY_AREA_SHADER, REPLAY_MAY_FAIL, "unknown",
                  "a shader declares capability %" PRIu32 ", which nobody knows here", number);
}

static enum lap_status look_at_code(const struct limits_look *look, uint64_t module, const void *code, size_t bytes)
{
    struct replay_shader shader;
    struct limits_shader *kept;

    if (!replay_shader_read(code, bytes / 4, &shader))
        return LAP_OK;
    for (uint32_t i = 0; i < shader.capability_count; i++)
        look_at_capability(look, shader.capabilities[i]);
    kept = module ? limits_keep(&look->limits->modules, module, sizeof *kept) : NULL;
    if (!kept)
        return module ? limits_no_memory() : LAP_OK;
    for (uint32_t i = 0; i < shader.capability_count; i++)
        kept->in_subgroups = kept->in_subgroups || is_of_subgroups(shader.capabilities[i]);
    kept->has_size = shader.has_size;
    memcpy(kept->size, shader.size, sizeof kept->size);
    return LAP_OK;
}

/* ---- workgroups ---- */

static uint32_t specialized(const struct replay_shader_size *size, const VkSpecializationInfo *info)
{
    uint32_t value = size->value;

    for (uint32_t i = 0; info && info->pMapEntries && info->pData && i < info->mapEntryCount; i++) {
        const VkSpecializationMapEntry *entry = &info->pMapEntries[i];
        if (entry->constantID == size->constant && size->constant != REPLAY_NOT_SPECIALIZED &&
            entry->size == sizeof value && entry->offset <= info->dataSize &&
            info->dataSize - entry->offset >= sizeof value)
            memcpy(&value, (const char *)info->pData + entry->offset, sizeof value);
    }
    return value;
}

static void look_at_workgroups(const struct limits_look *look, const VkPipelineShaderStageCreateInfo *stage)
{
    const struct limits_shader *shader = lap_map_get(&look->limits->modules, gen_u64_VkShaderModule(stage->module));
    uint64_t invocations = 1;

    if (!shader || !shader->has_size || stage->stage != VK_SHADER_STAGE_COMPUTE_BIT)
        return;
    for (int i = 0; i < 3; i++) {
        uint32_t size = specialized(&shader->size[i], stage->pSpecializationInfo);
        limits_exceeds(look, "maxComputeWorkGroupSize", "a size of workgroups", size,
                       look->gpu->maxComputeWorkGroupSize[i]);
        invocations = invocations > UINT32_MAX ? invocations : invocations * size;
    }
    LIMITS_EXCEEDS(look, maxComputeWorkGroupInvocations, "the number of invocations of a workgroup", invocations);
}

static void look_at_subgroups(const struct limits_look *look, const VkPipelineShaderStageCreateInfo *stage)
{
    const struct limits_shader *shader = lap_map_get(&look->limits->modules, gen_u64_VkShaderModule(stage->module));
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *required =
        replay_chain_find(stage->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    const VkPhysicalDeviceSubgroupSizeControlProperties *sizes = &look->limits->subgroup_sizes;

    if (shader && shader->in_subgroups && !(look->limits->subgroup.supportedStages & stage->stage))
        limits_report(look, REPLAY_AREA_SHADER, REPLAY_MAY_FAIL, "subgroups",
                      "the GPU has no operations of subgroups in stage %#x", (unsigned)stage->stage);
    if (required && sizes->maxSubgroupSize &&
        (required->requiredSubgroupSize < sizes->minSubgroupSize ||
         required->requiredSubgroupSize > sizes->maxSubgroupSize))
        limits_report(look, REPLAY_AREA_SHADER, REPLAY_MAY_FAIL, "subgroups",
                      "a stage requires subgroups of %" PRIu32 " invocations, the GPU has %" PRIu32 " to %" PRIu32,
                      required->requiredSubgroupSize, sizes->minSubgroupSize, sizes->maxSubgroupSize);
}

static enum lap_status look_at_stage(const struct limits_look *look, const VkPipelineShaderStageCreateInfo *stage)
{
    const VkShaderModuleCreateInfo *code = replay_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);

    look_at_workgroups(look, stage);
    look_at_subgroups(look, stage);
    return code ? look_at_code(look, 0, code->pCode, code->codeSize) : LAP_OK;
}

/* ---- graphics ---- */

static void look_at_vertices(const struct limits_look *look, const VkPipelineVertexInputStateCreateInfo *info)
{
    LIMITS_EXCEEDS(look, maxVertexInputBindings, "the number of bindings of a pipeline",
                   info->vertexBindingDescriptionCount);
    LIMITS_EXCEEDS(look, maxVertexInputAttributes, "the number of attributes of a pipeline",
                   info->vertexAttributeDescriptionCount);
    for (uint32_t i = 0; i < info->vertexBindingDescriptionCount && info->pVertexBindingDescriptions; i++) {
        LIMITS_EXCEEDS(look, maxVertexInputBindings, "one more than a binding's number",
                       (uint64_t)info->pVertexBindingDescriptions[i].binding + 1);
        LIMITS_EXCEEDS(look, maxVertexInputBindingStride, "the stride of a binding",
                       info->pVertexBindingDescriptions[i].stride);
    }
    for (uint32_t i = 0; i < info->vertexAttributeDescriptionCount && info->pVertexAttributeDescriptions; i++) {
        LIMITS_EXCEEDS(look, maxVertexInputAttributes, "one more than an attribute's location",
                       (uint64_t)info->pVertexAttributeDescriptions[i].location + 1);
        LIMITS_EXCEEDS(look, maxVertexInputAttributeOffset, "the offset of an attribute",
                       info->pVertexAttributeDescriptions[i].offset);
    }
}

static bool is_second_source(VkBlendFactor factor)
{
    return factor >= VK_BLEND_FACTOR_SRC1_COLOR && factor <= VK_BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA;
}

static void look_at_blending(const struct limits_look *look, const VkPipelineColorBlendStateCreateInfo *info)
{
    for (uint32_t i = 0; i < info->attachmentCount && info->pAttachments; i++) {
        const VkPipelineColorBlendAttachmentState *a = &info->pAttachments[i];
        if (a->blendEnable && (is_second_source(a->srcColorBlendFactor) || is_second_source(a->dstColorBlendFactor) ||
                               is_second_source(a->srcAlphaBlendFactor) || is_second_source(a->dstAlphaBlendFactor)))
            LIMITS_EXCEEDS(look, maxFragmentDualSrcAttachments, "the number of attachments of blends of two sources",
                           (uint64_t)i + 1);
    }
}

static void look_at_colors(const struct limits_look *look, uint32_t count)
{
    LIMITS_EXCEEDS(look, maxColorAttachments, "the number of color attachments", count);
    LIMITS_EXCEEDS(look, maxFragmentOutputAttachments, "the number of color attachments", count);
}

static enum lap_status look_at_graphics(const struct limits_look *look, const VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineRenderingCreateInfo *rendering =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    enum lap_status status = LAP_OK;

    if (info->pVertexInputState)
        look_at_vertices(look, info->pVertexInputState);
    if (info->pTessellationState)
        LIMITS_EXCEEDS(look, maxTessellationPatchSize, "the number of a patch's points",
                       info->pTessellationState->patchControlPoints);
    if (info->pMultisampleState && info->pMultisampleState->pSampleMask)
        LIMITS_EXCEEDS(look, maxSampleMaskWords, "the number of words of a sample mask",
                       ((uint64_t)info->pMultisampleState->rasterizationSamples + 31) / 32);
    if (info->pColorBlendState)
        look_at_blending(look, info->pColorBlendState);
    if (rendering)
        look_at_colors(look, rendering->colorAttachmentCount);
    for (uint32_t i = 0; i < info->stageCount && info->pStages && status == LAP_OK; i++)
        status = look_at_stage(look, &info->pStages[i]);
    return status;
}

enum lap_status limits_look_at_pipelines(struct limits_look *look, const void *raw)
{
    enum lap_status status = LAP_OK;

    switch (look->command) {
    case GEN_vkCreateShaderModule: {
        const struct gen_args_vkCreateShaderModule *args = raw;
        if (args->pCreateInfo && args->pShaderModule)
            return look_at_code(look, gen_u64_VkShaderModule(*args->pShaderModule), args->pCreateInfo->pCode,
                                args->pCreateInfo->codeSize);
        break;
    }
#ifdef VK_EXT_shader_object
    case GEN_vkCreateShadersEXT: {
        const struct gen_args_vkCreateShadersEXT *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos && status == LAP_OK; i++)
            if (args->pCreateInfos[i].codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
                status = look_at_code(look, 0, args->pCreateInfos[i].pCode, args->pCreateInfos[i].codeSize);
        break;
    }
#endif
    case GEN_vkCreateComputePipelines: {
        const struct gen_args_vkCreateComputePipelines *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos && status == LAP_OK; i++)
            status = look_at_stage(look, &args->pCreateInfos[i].stage);
        break;
    }
    case GEN_vkCreateGraphicsPipelines: {
        const struct gen_args_vkCreateGraphicsPipelines *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos && status == LAP_OK; i++)
            status = look_at_graphics(look, &args->pCreateInfos[i]);
        break;
    }
    case GEN_vkCreateRenderPass: {
        const struct gen_args_vkCreateRenderPass *args = raw;
        for (uint32_t i = 0; args->pCreateInfo && args->pCreateInfo->pSubpasses && i < args->pCreateInfo->subpassCount;
             i++)
            look_at_colors(look, args->pCreateInfo->pSubpasses[i].colorAttachmentCount);
        break;
    }
    case GEN_vkCreateRenderPass2: {
        const struct gen_args_vkCreateRenderPass2 *args = raw;
        for (uint32_t i = 0; args->pCreateInfo && args->pCreateInfo->pSubpasses && i < args->pCreateInfo->subpassCount;
             i++)
            look_at_colors(look, args->pCreateInfo->pSubpasses[i].colorAttachmentCount);
        break;
    }
    case GEN_vkCmdBeginRendering: {
        const struct gen_args_vkCmdBeginRendering *args = raw;
        if (args->pRenderingInfo)
            look_at_colors(look, args->pRenderingInfo->colorAttachmentCount);
        break;
    }
    default:
        break;
    }
    return status;
}
