/* SPDX-License-Identifier: MIT */
#include "layer/shader/stages.h"

#include <string.h>

#include "vulkan/chain.h"

static const VkShaderModuleCreateInfo *chained_code(const VkPipelineShaderStageCreateInfo *stage)
{
    return lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
}

/* ---- lookup of known code ---- */

#ifdef VK_KHR_pipeline_binary

static struct layer_code *code_of_stage(const struct layer_origin *origin, VkShaderStageFlagBits stage)
{
    for (uint32_t i = 0; origin && i < origin->stage_count; i++)
        if (origin->stages[i].stage == stage)
            return origin->stages[i].code;
    return NULL;
}

static const VkPipelineBinaryInfoKHR *binaries_of(const void *chain)
{
    const VkPipelineBinaryInfoKHR *info = lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR);
    return info && info->binaryCount ? info : NULL;
}

/* Each binary of a pipeline has the origin of the whole. */
static struct layer_code *from_binaries(struct layer_device *dev, const VkPipelineBinaryInfoKHR *info,
                                        VkShaderStageFlagBits stage)
{
    for (uint32_t i = 0; i < info->binaryCount; i++) {
        const struct layer_pipeline_binary *record = LAYER_GET(dev, VkPipelineBinaryKHR, info->pPipelineBinaries[i]);
        struct layer_code *code = record ? code_of_stage(record->origin, stage) : NULL;
        if (code)
            return code;
    }
    return NULL;
}

bool layer_stages_are_captured(VkPipelineCreateFlags flags, const void *chain)
{
    const VkPipelineCreateFlags2CreateInfoKHR *flags2 =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    return flags2 && flags2->flags & VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR;
}

#else

bool layer_stages_are_captured(VkPipelineCreateFlags flags, const void *chain)
{
    return false;
}

#endif

static struct layer_code *from_identifier(const struct layer_device *dev, const VkPipelineShaderStageCreateInfo *stage)
{
    const VkPipelineShaderStageModuleIdentifierCreateInfoEXT *info =
        lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
    const struct layer_origin *origin =
        info ? layer_code_find(dev, LAYER_CODE_MODULE_IDENTIFIER, info->pIdentifier, info->identifierSize) : NULL;
    return origin ? origin->stages[0].code : NULL;
}

/* ---- stages to record ---- */

/* False: out of memory. */
static bool substitute(struct lap_arena *arena, VkPipelineShaderStageCreateInfo *stage, const struct layer_code *code)
{
    VkShaderModuleCreateInfo *info = lap_arena_zalloc(arena, 1, sizeof *info, _Alignof(VkShaderModuleCreateInfo));
    size_t bytes;

    if (!info)
        return false;
    info->sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info->pNext = stage->pNext;
    info->pCode = layer_code_words(code, &bytes);
    info->codeSize = bytes;
    stage->pNext = info; /* in front of another one, which a driver that has binaries ignores */
    stage->module = VK_NULL_HANDLE;
    return true;
}

enum layer_stages layer_stages_find_code(struct layer_device *dev, struct lap_arena *arena, const void *chain,
                                         uint32_t count, const VkPipelineShaderStageCreateInfo *stages,
                                         const VkPipelineShaderStageCreateInfo **out_stages)
{
    VkPipelineShaderStageCreateInfo *copies = NULL;
#ifdef VK_KHR_pipeline_binary
    const VkPipelineBinaryInfoKHR *binaries = binaries_of(chain);
#endif

    *out_stages = stages;
    for (uint32_t i = 0; i < count; i++) {
        const bool bare = !stages[i].module && !chained_code(&stages[i]);
        const struct layer_code *code = NULL;
#ifdef VK_KHR_pipeline_binary
        if (binaries)
            code = from_binaries(dev, binaries, stages[i].stage);
#endif
        if (!code && bare)
            code = from_identifier(dev, &stages[i]);
        if (!code && bare)
            return LAYER_STAGES_UNKNOWN;
        if (!code)
            continue;
        if (!copies) {
            copies = lap_arena_zalloc(arena, count, sizeof *copies, _Alignof(VkPipelineShaderStageCreateInfo));
            if (!copies)
                return LAYER_STAGES_NO_MEMORY;
            memcpy(copies, stages, count * sizeof *copies);
        }
        if (!substitute(arena, &copies[i], code))
            return LAYER_STAGES_NO_MEMORY;
    }
    if (copies)
        *out_stages = copies;
    return copies ? LAYER_STAGES_COPIED : LAYER_STAGES_AS_GIVEN;
}

struct layer_origin *layer_stages_origin(struct layer_device *dev, uint32_t count,
                                         const VkPipelineShaderStageCreateInfo *stages)
{
    struct layer_origin *origin = layer_origin_create(count);

    for (uint32_t i = 0; origin && i < count; i++) {
        const struct layer_shader_module *module = LAYER_GET(dev, VkShaderModule, stages[i].module);
        const VkShaderModuleCreateInfo *code = chained_code(&stages[i]);
        origin->stages[i].stage = stages[i].stage;
        if (module)
            origin->stages[i].code = layer_code_share(module->code);
        else if (code)
            origin->stages[i].code = layer_code_create(code->pCode, code->codeSize);
    }
    return origin;
}
