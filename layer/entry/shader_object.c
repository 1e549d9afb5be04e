/* SPDX-License-Identifier: MIT */
/*
 * shader_object: shaders that are created without a pipeline (VK_EXT_shader_object).
 *
 * Of a shader that the program creates from a binary, the trace has the code that the binary came from: only the
 * recorded driver understands the binary. The layer does not know the code of a binary from an earlier run, so it
 * reports the binary as incompatible; the program then has to pass the code.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "gen_layer.h"
#include "layer/command/shader_access.h"
#include "layer/memory/capture_address.h"
#include "layer/shader/code.h"
#include "vulkan/chain.h"

#ifdef VK_EXT_shader_object

static bool is_binary(const VkShaderCreateInfoEXT *info)
{
    return info->codeType == VK_SHADER_CODE_TYPE_BINARY_EXT;
}

/* The origin of the binary of a create info; NULL: not known. */
static struct layer_origin *known(const struct layer_device *dev, const VkShaderCreateInfoEXT *info)
{
    return layer_code_find(dev, LAYER_CODE_SHADER_BINARY, info->pCode, info->codeSize);
}

/* The code type, code, entry point and constants are those of the shader that the binary came from; the program has to
 * pass everything else again. False: out of memory. */
static bool as_code(struct lap_arena *arena, const struct layer_origin *origin, VkShaderCreateInfoEXT *info)
{
    const struct layer_origin_stage *stage = &origin->stages[0];
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *subgroups;

    info->codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT;
    info->pCode = layer_code_words(stage->code, &info->codeSize);
    info->pName = stage->name;
    info->pSpecializationInfo = stage->specialization.mapEntryCount ? &stage->specialization : NULL;
    if (!stage->subgroup_size ||
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO))
        return true;
    subgroups = lap_arena_zalloc(arena, 1, sizeof *subgroups, _Alignof(VkBaseInStructure));
    if (!subgroups)
        return false;
    subgroups->sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroups->pNext = (void *)(uintptr_t)info->pNext;
    subgroups->requiredSubgroupSize = stage->subgroup_size;
    info->pNext = subgroups;
    return true;
}

/* The create infos as they are recorded; the program's own where there is no binary among them that is known. NULL: out
 * of memory. */
static const VkShaderCreateInfoEXT *recorded_infos(const struct layer_device *dev, struct lap_arena *arena,
                                                   uint32_t count, const VkShaderCreateInfoEXT *infos)
{
    VkShaderCreateInfoEXT *copies = NULL;

    for (uint32_t i = 0; i < count; i++) {
        const struct layer_origin *origin = is_binary(&infos[i]) ? known(dev, &infos[i]) : NULL;
        if (!origin)
            continue;
        if (!copies) {
            copies = lap_arena_zalloc(arena, count, sizeof *copies, _Alignof(VkShaderCreateInfoEXT));
            if (!copies)
                return NULL;
            memcpy(copies, infos, count * sizeof *copies);
        }
        if (!as_code(arena, origin, &copies[i]))
            return NULL;
    }
    return copies ? copies : infos;
}

static struct layer_origin *origin_of(const VkShaderCreateInfoEXT *info)
{
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *subgroups =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    struct layer_origin *origin = layer_origin_create(1);

    if (!origin)
        return NULL;
    origin->stages[0].stage = info->stage;
    origin->stages[0].code = layer_code_create(info->pCode, info->codeSize);
    origin->stages[0].subgroup_size = subgroups ? subgroups->requiredSubgroupSize : 0;
    if (origin->stages[0].code && layer_origin_set_name(&origin->stages[0], info->pName) &&
        layer_origin_set_specialization(&origin->stages[0], info->pSpecializationInfo))
        return origin;
    layer_origin_release(origin);
    return NULL;
}

/* Fills in the record. given: the program's create info; recorded: that of the trace. */
static void look_at(struct layer_device *dev, VkShaderEXT shader, const VkShaderCreateInfoEXT *given,
                    const VkShaderCreateInfoEXT *recorded)
{
    struct layer_shader *record = LAYER_GET(dev, VkShaderEXT, shader);
    struct lap_spirv_access access;

    if (!record || record->object.aliases)
        return;
    record->origin = is_binary(given) ? layer_origin_share(known(dev, given)) : origin_of(given);
    if (dev->device_addresses)
        layer_address_check_constants(dev, recorded->pSpecializationInfo);
    lap_spirv_find_access(recorded->pCode, recorded->codeSize / 4, &access);
    record->access = layer_shader_access_keep_bound(dev, access);
}

/* Calls the driver for all in front of the first binary that is not known. The specification has the shaders created in
 * order, and the first null one shows the program which one failed. */
static VkResult create(struct layer_device *dev, uint32_t count, const VkShaderCreateInfoEXT *infos,
                       const VkAllocationCallbacks *allocator, VkShaderEXT *shaders)
{
    uint32_t good = 0;
    VkResult result = VK_SUCCESS;

    while (good < count && !(is_binary(&infos[good]) && !known(dev, &infos[good])))
        good++;
    if (good)
        result = dev->vk.CreateShadersEXT(dev->handle, good, infos, allocator, shaders);
    for (uint32_t i = good; i < count; i++)
        shaders[i] = VK_NULL_HANDLE;
    return result == VK_SUCCESS && good < count ? VK_INCOMPATIBLE_SHADER_BINARY_EXT : result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateShadersEXT(VkDevice device, uint32_t createInfoCount,
                                                        const VkShaderCreateInfoEXT *pCreateInfos,
                                                        const VkAllocationCallbacks *pAllocator, VkShaderEXT *pShaders)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const VkShaderCreateInfoEXT *recorded;
    struct lap_arena arena;
    bool any = false;
    VkResult result;

    if (!layer_is_recording())
        result = dev->vk.CreateShadersEXT(device, createInfoCount, pCreateInfos, pAllocator, pShaders);
    else
        result = create(dev, createInfoCount, pCreateInfos, pAllocator, pShaders);
    for (uint32_t i = 0; i < createInfoCount; i++)
        if (pShaders[i])
            any |= LAYER_ADD(dev, VkShaderEXT, pShaders[i]) != NULL;
    if (!layer_is_recording())
        return result;
    lap_arena_init(&arena, 0);
    recorded = recorded_infos(dev, &arena, createInfoCount, pCreateInfos);
    if (!recorded) {
        layer_stop("out of memory");
        lap_arena_finish(&arena);
        return result;
    }
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkCreateShadersEXT, result < 0 && !any ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkCreateShadersEXT(enc, device, createInfoCount, recorded, pAllocator, pShaders, result);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < createInfoCount; i++)
        if (pShaders[i])
            look_at(dev, pShaders[i], &pCreateInfos[i], &recorded[i]);
    lap_arena_finish(&arena);
    return result;
}

void hook_after_GetShaderBinaryDataEXT(struct layer_device *dev, VkDevice device, VkShaderEXT shader, size_t *pDataSize,
                                       void *pData, VkResult result)
{
    const struct layer_shader *record = LAYER_GET(dev, VkShaderEXT, shader);
    if (pData && result == VK_SUCCESS && record && layer_is_recording())
        layer_code_note(dev, LAYER_CODE_SHADER_BINARY, pData, *pDataSize, record->origin);
}

#endif
