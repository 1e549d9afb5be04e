/* SPDX-License-Identifier: MIT */
/*
 * pipeline_binary: the driver's compiled code that the program handles (VK_KHR_pipeline_binary).
 *
 * A trace has no binaries: pipelines that are created with them are recorded with the code of the pipeline that they
 * came from (pipeline.c). Binaries of an earlier run are of no use, since the layer does not know their code. So keys
 * differ in each run, and a program that looks its binaries up by key, or compares the global key, compiles anew.
 * Unknown data still gets VK_PIPELINE_BINARY_MISSING_KHR.
 */
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/core/records.h"
#include "layer/shader/stages.h"
#include "vulkan/chain.h"
#include "vulkan/conditions.h"

void layer_pipeline_binary_finish(struct lap_object *object)
{
    layer_origin_release(((struct layer_pipeline_binary *)object)->origin);
}

#ifdef VK_KHR_pipeline_binary

/* ---- where binaries come from ---- */

static struct layer_origin *origin_of_data(const struct layer_device *dev, const VkPipelineBinaryDataKHR *data)
{
    return layer_origin_share(layer_code_find(dev, LAYER_CODE_PIPELINE_BINARY, data->pData, data->dataSize));
}

/* The stages of a create info in the chain of VkPipelineCreateInfoKHR; UINT32_MAX: of a kind that is not looked at. */
static uint32_t stages_of(const VkBaseInStructure *info, const VkPipelineShaderStageCreateInfo **out_stages)
{
    const VkGraphicsPipelineCreateInfo *graphics = (const void *)info;

    *out_stages = NULL;
    if (info && info->sType == VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO) {
        *out_stages = &((const VkComputePipelineCreateInfo *)info)->stage;
        return 1;
    }
    if (!info || info->sType != VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO)
        return UINT32_MAX;
    *out_stages = graphics->pStages;
    return cond_reads_stages(graphics) ? graphics->stageCount : 0;
}

/* Of a pipeline that the driver may have in a cache of its own. NULL: not known. */
static struct layer_origin *origin_of_info(struct layer_device *dev, const VkPipelineCreateInfoKHR *info)
{
    const VkBaseInStructure *create = info->pNext;
    const VkPipelineShaderStageCreateInfo *stages, *found;
    uint32_t count = stages_of(create, &stages);
    struct layer_origin *origin = NULL;
    enum layer_stages state;
    struct lap_arena arena;

    if (count == UINT32_MAX)
        return NULL;
    lap_arena_init(&arena, 0);
    state = layer_stages_find_code(dev, &arena, NULL, count, stages, &found);
    if (state == LAYER_STAGES_AS_GIVEN || state == LAYER_STAGES_COPIED)
        origin = layer_stages_origin(dev, count, found);
    lap_arena_finish(&arena);
    return origin;
}

/* Of the binary number i. */
static struct layer_origin *origin_of(struct layer_device *dev, const VkPipelineBinaryCreateInfoKHR *info, uint32_t i)
{
    const struct layer_pipeline *pipeline;

    if (info->pKeysAndDataInfo)
        return i < info->pKeysAndDataInfo->binaryCount
                   ? origin_of_data(dev, &info->pKeysAndDataInfo->pPipelineBinaryData[i])
                   : NULL;
    if (info->pPipelineCreateInfo)
        return origin_of_info(dev, info->pPipelineCreateInfo);
    pipeline = LAYER_GET(dev, VkPipeline, info->pipeline);
    return pipeline ? layer_origin_share(pipeline->origin) : NULL;
}

static bool are_known(struct layer_device *dev, const VkPipelineBinaryCreateInfoKHR *info)
{
    uint32_t count = info->pKeysAndDataInfo ? info->pKeysAndDataInfo->binaryCount : 1;

    for (uint32_t i = 0; i < count; i++) {
        struct layer_origin *origin = origin_of(dev, info, i);
        layer_origin_release(origin);
        if (!origin)
            return false;
    }
    return true;
}

/* ---- commands ---- */

static VkResult create(struct layer_device *dev, const VkPipelineBinaryCreateInfoKHR *info,
                       const VkAllocationCallbacks *allocator, VkPipelineBinaryHandlesInfoKHR *binaries)
{
    if (layer_is_recording() && !are_known(dev, info)) {
        for (uint32_t i = 0; binaries->pPipelineBinaries && i < binaries->pipelineBinaryCount; i++)
            binaries->pPipelineBinaries[i] = VK_NULL_HANDLE;
        return VK_PIPELINE_BINARY_MISSING_KHR;
    }
    return dev->vk.CreatePipelineBinariesKHR(dev->handle, info, allocator, binaries);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreatePipelineBinariesKHR(VkDevice device,
                                                                 const VkPipelineBinaryCreateInfoKHR *pCreateInfo,
                                                                 const VkAllocationCallbacks *pAllocator,
                                                                 VkPipelineBinaryHandlesInfoKHR *pBinaries)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = create(dev, pCreateInfo, pAllocator, pBinaries);

    const bool made = (result == VK_SUCCESS || result == VK_INCOMPLETE) && pBinaries->pPipelineBinaries;
    for (uint32_t i = 0; made && i < pBinaries->pipelineBinaryCount; i++) {
        struct layer_pipeline_binary *record =
            pBinaries->pPipelineBinaries[i] ? LAYER_ADD(dev, VkPipelineBinaryKHR, pBinaries->pPipelineBinaries[i])
                                            : NULL;
        if (record && !record->object.aliases && layer_is_recording())
            record->origin = origin_of(dev, pCreateInfo, i);
    }
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkCreatePipelineBinariesKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkCreatePipelineBinariesKHR(enc, device, pCreateInfo, pAllocator, pBinaries, result);
        layer_packet_end();
    }
    return result;
}

void hook_after_GetPipelineKeyKHR(struct layer_device *dev, VkDevice device,
                                  const VkPipelineCreateInfoKHR *pPipelineCreateInfo,
                                  VkPipelineBinaryKeyKHR *pPipelineKey, VkResult result)
{
    for (uint32_t i = 0; dev->code.kept && i < pPipelineKey->keySize && i < sizeof dev->code.key_salt; i++)
        pPipelineKey->key[i] ^= dev->code.key_salt[i];
}

void hook_after_GetPipelineBinaryDataKHR(struct layer_device *dev, VkDevice device,
                                         const VkPipelineBinaryDataInfoKHR *pInfo,
                                         VkPipelineBinaryKeyKHR *pPipelineBinaryKey, size_t *pPipelineBinaryDataSize,
                                         void *pPipelineBinaryData, VkResult result)
{
    const struct layer_pipeline_binary *record = LAYER_GET(dev, VkPipelineBinaryKHR, pInfo->pipelineBinary);
    if (pPipelineBinaryData && result == VK_SUCCESS && record && layer_is_recording())
        layer_code_note(dev, LAYER_CODE_PIPELINE_BINARY, pPipelineBinaryData, *pPipelineBinaryDataSize, record->origin);
}

#endif
