/* SPDX-License-Identifier: MIT */
/*
 * pipeline: what pipelines reach, from the code of their shaders: the descriptors that they store to, and memory that
 * no descriptor names. Draws and dispatches bring a pipeline and the bound sets together; most draws have nothing to do
 * here.
 */
#include <stdlib.h>
#include <string.h>

#include "codegen/support/conditions.h"
#include "gen_layer.h"
#include "layer/address.h"
#include "layer/records.h"
#include "layer/resource.h"
#include "layer/touched.h"

void layer_shader_module_finish(struct lap_object *object)
{
    free(((struct layer_shader_module *)object)->reach);
}

void layer_pipeline_finish(struct lap_object *object)
{
    free(((struct layer_pipeline *)object)->reach);
}

/* A copy when there is something to remember; NULL otherwise, and when out of memory (the recording stops). Where the
 * program did not enable addresses, code that can't be read has none either. */
static struct lap_spirv_reach *keep(const struct layer_device *dev, struct lap_spirv_reach reach)
{
    struct lap_spirv_reach *kept;
    reach.addresses &= dev->device_addresses;
    if (!lap_spirv_reach_any(&reach))
        return NULL;
    kept = malloc(sizeof *kept);
    if (kept)
        *kept = reach;
    else
        layer_stop("out of memory");
    return kept;
}

void hook_after_CreateShaderModule(struct layer_device *dev, VkDevice device,
                                   const VkShaderModuleCreateInfo *pCreateInfo, const VkAllocationCallbacks *pAllocator,
                                   VkShaderModule *pShaderModule, VkResult result)
{
    struct layer_shader_module *record = LAYER_GET(dev, VkShaderModule, *pShaderModule);
    struct lap_spirv_reach reach;
    if (!record || record->object.aliases || !layer_is_recording())
        return;
    lap_spirv_find_reach(pCreateInfo->pCode, pCreateInfo->codeSize / 4, &reach);
    record->reach = keep(dev, reach);
}

static void add_stage(struct layer_device *dev, const VkPipelineShaderStageCreateInfo *stage,
                      struct lap_spirv_reach *reach)
{
    const struct layer_shader_module *module = LAYER_GET(dev, VkShaderModule, stage->module);
    const VkShaderModuleCreateInfo *code = layer_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    struct lap_spirv_reach found;

    if (dev->device_addresses)
        layer_address_look(dev, stage->pSpecializationInfo);
    if (module) {
        if (module->reach)
            lap_spirv_reach_add(reach, module->reach);
    } else if (code) {
        lap_spirv_find_reach(code->pCode, code->codeSize / 4, &found);
        lap_spirv_reach_add(reach, &found);
    } else { /* only an identifier of code that the driver has */
        lap_spirv_reach_all(reach);
    }
}

static void set_pipeline(struct layer_device *dev, VkPipeline pipeline, const struct lap_spirv_reach *reach)
{
    struct layer_pipeline *record = LAYER_GET(dev, VkPipeline, pipeline);
    if (!record || record->object.aliases)
        return;
    record->reach = keep(dev, *reach);
    if (record->reach)
        atomic_store_explicit(&dev->shaders_reach, true, memory_order_relaxed);
}

void hook_after_CreateGraphicsPipelines(struct layer_device *dev, VkDevice device, VkPipelineCache pipelineCache,
                                        uint32_t createInfoCount, const VkGraphicsPipelineCreateInfo *pCreateInfos,
                                        const VkAllocationCallbacks *pAllocator, VkPipeline *pPipelines,
                                        VkResult result)
{
    for (uint32_t i = 0; i < createInfoCount && layer_is_recording(); i++) {
        const VkPipelineLibraryCreateInfoKHR *libraries =
            layer_chain_find(pCreateInfos[i].pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
        struct lap_spirv_reach reach = {0};
        for (uint32_t j = 0; cond_reads_stages(&pCreateInfos[i]) && j < pCreateInfos[i].stageCount; j++)
            add_stage(dev, &pCreateInfos[i].pStages[j], &reach);
        for (uint32_t j = 0; libraries && j < libraries->libraryCount; j++) {
            const struct layer_pipeline *library = LAYER_GET(dev, VkPipeline, libraries->pLibraries[j]);
            if (library && library->reach)
                lap_spirv_reach_add(&reach, library->reach);
        }
        set_pipeline(dev, pPipelines[i], &reach);
    }
}

void hook_after_CreateComputePipelines(struct layer_device *dev, VkDevice device, VkPipelineCache pipelineCache,
                                       uint32_t createInfoCount, const VkComputePipelineCreateInfo *pCreateInfos,
                                       const VkAllocationCallbacks *pAllocator, VkPipeline *pPipelines, VkResult result)
{
    for (uint32_t i = 0; i < createInfoCount && layer_is_recording(); i++) {
        struct lap_spirv_reach reach = {0};
        add_stage(dev, &pCreateInfos[i].stage, &reach);
        set_pipeline(dev, pPipelines[i], &reach);
    }
}

void hook_after_CmdBindPipeline(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                VkPipelineBindPoint pipelineBindPoint, VkPipeline pipeline)
{
    struct layer_bound *bound = layer_bound_at(cb, pipelineBindPoint);
    const struct layer_pipeline *record;
    if (cb->state != LAYER_CMDBUF_RECORDING)
        return;
    if (!bound) { /* ray tracing and what else there may be: nobody looked at its shaders */
        layer_touch_unknown(cb);
        return;
    }
    if (!atomic_load_explicit(&cb->device->shaders_reach, memory_order_relaxed))
        return;
    record = LAYER_GET(cb->device, VkPipeline, pipeline);
    bound->reach = record ? record->reach : NULL;
    bound->stale = bound->reach;
    if (bound->reach && bound->reach->addresses)
        layer_touch_unknown(cb);
}

/* ---- work ---- */

void hook_after_CmdDraw(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t vertexCount,
                        uint32_t instanceCount, uint32_t firstVertex, uint32_t firstInstance)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
}

void hook_after_CmdDrawIndexed(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t indexCount,
                               uint32_t instanceCount, uint32_t firstIndex, int32_t vertexOffset,
                               uint32_t firstInstance)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
}

void hook_after_CmdDrawMultiEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t drawCount,
                                const VkMultiDrawInfoEXT *pVertexInfo, uint32_t instanceCount, uint32_t firstInstance,
                                uint32_t stride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
}

void hook_after_CmdDrawMultiIndexedEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t drawCount,
                                       const VkMultiDrawIndexedInfoEXT *pIndexInfo, uint32_t instanceCount,
                                       uint32_t firstInstance, uint32_t stride, const int32_t *pVertexOffset)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
}

void hook_after_CmdDrawMeshTasksEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t groupCountX,
                                    uint32_t groupCountY, uint32_t groupCountZ)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
}

void hook_after_CmdDrawMeshTasksNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t taskCount,
                                   uint32_t firstTask)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
}

void hook_after_CmdDispatch(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t groupCountX,
                            uint32_t groupCountY, uint32_t groupCountZ)
{
    layer_touch_work(cb, LAYER_BIND_COMPUTE);
}

void hook_after_CmdDispatchBase(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t baseGroupX,
                                uint32_t baseGroupY, uint32_t baseGroupZ, uint32_t groupCountX, uint32_t groupCountY,
                                uint32_t groupCountZ)
{
    layer_touch_work(cb, LAYER_BIND_COMPUTE);
}
