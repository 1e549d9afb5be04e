/* SPDX-License-Identifier: MIT */
/* Checks the capabilities that shaders declare and the sizes of their workgroups and subgroups. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_reflect.h"
#include "replayer/device/limits_internal.h"
#include "vulkan/chain.h"
#include "vulkan/shader/spirv.h"

/* The data of a module that its pipelines need. */
struct shader {
    bool has_size;
    struct lap_spirv_size size[3];
};

static bool allows(const struct limits_look *look, const struct gen_enable *enable)
{
    if (enable->version)
        return look->api_version >= enable->version;
    if (enable->extension)
        return look->report->extensions[enable->extension - 1];
    if (enable->feature)
        return look->report->features[enable->feature - 1];
    /* VkPhysicalDeviceVulkan11Properties and VkPhysicalDeviceSubgroupProperties have different layouts. */
    if (enable->property == GEN_STRUCT_VkPhysicalDeviceVulkan11Properties &&
        enable->offset == offsetof(VkPhysicalDeviceVulkan11Properties, subgroupSupportedOperations))
        return (look->limits->subgroup.supportedOperations & enable->bits) != 0;
    return true; /* of floats: each mode that a shader declares is checked by itself */
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
                  "a shader declares capability %" PRIu32 ", which this build does not know", number);
}

static enum lap_status look_at_words(const struct limits_look *look, uint64_t module, const void *words, size_t bytes)
{
    struct lap_spirv_module found;
    struct shader *declared;
    void *old = NULL;

    if (!lap_spirv_read(words, bytes / 4, &found))
        return LAP_OK;
    for (uint32_t i = 0; i < found.capability_count; i++)
        look_at_capability(look, found.capabilities[i]);
    if (!module)
        return LAP_OK;
    declared = malloc(sizeof *declared);
    if (!declared || lap_map_put(&look->limits->modules, module, declared, &old) != LAP_OK) {
        free(declared);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for limits");
    }
    free(old);
    declared->has_size = found.has_size;
    memcpy(declared->size, found.size, sizeof declared->size);
    return LAP_OK;
}

static uint32_t specialized(const struct lap_spirv_size *size, const VkSpecializationInfo *info)
{
    uint32_t value = size->value;

    for (uint32_t i = 0; info && info->pMapEntries && info->pData && i < info->mapEntryCount; i++) {
        const VkSpecializationMapEntry *entry = &info->pMapEntries[i];
        if (entry->constantID == size->constant && size->constant != LAP_SPIRV_UNSPECIALIZED &&
            entry->size == sizeof value && entry->offset <= info->dataSize &&
            info->dataSize - entry->offset >= sizeof value)
            memcpy(&value, (const char *)info->pData + entry->offset, sizeof value);
    }
    return value;
}

static void look_at_workgroups(const struct limits_look *look, const VkPipelineShaderStageCreateInfo *stage)
{
    const struct shader *shader = lap_map_get(&look->limits->modules, gen_u64_VkShaderModule(stage->module));
    uint64_t invocations = 1;

    if (!shader || !shader->has_size)
        return;
    for (int i = 0; i < 3; i++) {
        uint32_t size = specialized(&shader->size[i], stage->pSpecializationInfo);
        limits_exceeds(look, "maxComputeWorkGroupSize", "a size of workgroups", size,
                       look->gpu->maxComputeWorkGroupSize[i]);
        invocations = invocations > UINT32_MAX ? invocations : invocations * size;
    }
    LIMITS_EXCEEDS(look, maxComputeWorkGroupInvocations, "the number of invocations of a workgroup", invocations);
}

static enum lap_status look_at_stage(const struct limits_look *look, const VkPipelineShaderStageCreateInfo *stage)
{
    const VkShaderModuleCreateInfo *code = lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *required =
        lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    const VkPhysicalDeviceSubgroupSizeControlProperties *sizes = &look->limits->subgroup_sizes;

    if (stage->stage == VK_SHADER_STAGE_COMPUTE_BIT)
        look_at_workgroups(look, stage);
    if (required && sizes->maxSubgroupSize &&
        (required->requiredSubgroupSize < sizes->minSubgroupSize ||
         required->requiredSubgroupSize > sizes->maxSubgroupSize))
        limits_report(look, REPLAY_AREA_SHADER, REPLAY_MAY_FAIL, "subgroups",
                      "a stage requires subgroups of %" PRIu32 " invocations, the GPU has %" PRIu32 " to %" PRIu32,
                      required->requiredSubgroupSize, sizes->minSubgroupSize, sizes->maxSubgroupSize);
    return code ? look_at_words(look, 0, code->pCode, code->codeSize) : LAP_OK;
}

static enum lap_status look_at_stages(const struct limits_look *look, const VkGraphicsPipelineCreateInfo *info)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < info->stageCount && info->pStages && status == LAP_OK; i++)
        status = look_at_stage(look, &info->pStages[i]);
    return status;
}

enum lap_status limits_look_at_code(const struct limits_look *look, const void *raw)
{
    enum lap_status status = LAP_OK;

    switch (look->place->command) {
    case GEN_vkCreateShaderModule: {
        const struct gen_args_vkCreateShaderModule *args = raw;
        if (args->pCreateInfo && args->pShaderModule)
            return look_at_words(look, gen_u64_VkShaderModule(*args->pShaderModule), args->pCreateInfo->pCode,
                                 args->pCreateInfo->codeSize);
        break;
    }
#ifdef VK_EXT_shader_object
    case GEN_vkCreateShadersEXT: {
        const struct gen_args_vkCreateShadersEXT *args = raw;
        for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos && status == LAP_OK; i++)
            if (args->pCreateInfos[i].codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
                status = look_at_words(look, 0, args->pCreateInfos[i].pCode, args->pCreateInfos[i].codeSize);
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
            status = look_at_stages(look, &args->pCreateInfos[i]);
        break;
    }
    default:
        break;
    }
    return status;
}
