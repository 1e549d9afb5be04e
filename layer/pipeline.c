/* SPDX-License-Identifier: MIT */
/*
 * pipeline: which descriptors pipelines store to, from the code of their shaders. Draws and dispatches bring a pipeline
 * and the bound sets together; most draws have nothing to do here.
 */
#include <stdlib.h>
#include <string.h>

#include "codegen/support/conditions.h"
#include "gen_layer.h"
#include "layer/records.h"
#include "layer/resource.h"
#include "layer/touched.h"

void layer_shader_module_finish(struct lap_object *object)
{
    free(((struct layer_shader_module *)object)->writes);
}

void layer_pipeline_finish(struct lap_object *object)
{
    free(((struct layer_pipeline *)object)->writes);
}

/* A copy when something is written; NULL otherwise, and when out of memory (the recording stops). */
static struct lap_spirv_writes *keep(const struct lap_spirv_writes *writes)
{
    struct lap_spirv_writes *kept;
    if (!lap_spirv_writes_any(writes))
        return NULL;
    kept = malloc(sizeof *kept);
    if (kept)
        *kept = *writes;
    else
        layer_stop("out of memory");
    return kept;
}

void hook_after_CreateShaderModule(struct layer_device *dev, VkDevice device,
                                   const VkShaderModuleCreateInfo *pCreateInfo, const VkAllocationCallbacks *pAllocator,
                                   VkShaderModule *pShaderModule, VkResult result)
{
    struct layer_shader_module *record = LAYER_GET(dev, VkShaderModule, *pShaderModule);
    struct lap_spirv_writes writes;
    if (!record || record->object.aliases || !layer_is_recording())
        return;
    lap_spirv_find_writes(pCreateInfo->pCode, pCreateInfo->codeSize / 4, &writes);
    record->writes = keep(&writes);
}

static void add(struct lap_spirv_writes *to, const struct lap_spirv_writes *more)
{
    for (uint32_t i = 0; more && i < LAP_SPIRV_SETS; i++)
        to->sets[i] |= more->sets[i];
}

static void add_stage(struct layer_device *dev, const VkPipelineShaderStageCreateInfo *stage,
                      struct lap_spirv_writes *writes)
{
    const struct layer_shader_module *module = LAYER_GET(dev, VkShaderModule, stage->module);
    const VkShaderModuleCreateInfo *code = layer_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    struct lap_spirv_writes found;

    if (module) {
        add(writes, module->writes);
    } else if (code) {
        lap_spirv_find_writes(code->pCode, code->codeSize / 4, &found);
        add(writes, &found);
    } else { /* only an identifier of code that the driver has */
        memset(writes, 0xff, sizeof *writes);
    }
}

static void set_pipeline(struct layer_device *dev, VkPipeline pipeline, const struct lap_spirv_writes *writes)
{
    struct layer_pipeline *record = LAYER_GET(dev, VkPipeline, pipeline);
    if (!record || record->object.aliases)
        return;
    record->writes = keep(writes);
    if (record->writes)
        atomic_store_explicit(&dev->shaders_write, true, memory_order_relaxed);
}

void hook_after_CreateGraphicsPipelines(struct layer_device *dev, VkDevice device, VkPipelineCache pipelineCache,
                                        uint32_t createInfoCount, const VkGraphicsPipelineCreateInfo *pCreateInfos,
                                        const VkAllocationCallbacks *pAllocator, VkPipeline *pPipelines,
                                        VkResult result)
{
    for (uint32_t i = 0; i < createInfoCount && layer_is_recording(); i++) {
        const VkPipelineLibraryCreateInfoKHR *libraries =
            layer_chain_find(pCreateInfos[i].pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
        struct lap_spirv_writes writes = {0};
        for (uint32_t j = 0; cond_reads_stages(&pCreateInfos[i]) && j < pCreateInfos[i].stageCount; j++)
            add_stage(dev, &pCreateInfos[i].pStages[j], &writes);
        for (uint32_t j = 0; libraries && j < libraries->libraryCount; j++) {
            const struct layer_pipeline *library = LAYER_GET(dev, VkPipeline, libraries->pLibraries[j]);
            add(&writes, library ? library->writes : NULL);
        }
        set_pipeline(dev, pPipelines[i], &writes);
    }
}

void hook_after_CreateComputePipelines(struct layer_device *dev, VkDevice device, VkPipelineCache pipelineCache,
                                       uint32_t createInfoCount, const VkComputePipelineCreateInfo *pCreateInfos,
                                       const VkAllocationCallbacks *pAllocator, VkPipeline *pPipelines, VkResult result)
{
    for (uint32_t i = 0; i < createInfoCount && layer_is_recording(); i++) {
        struct lap_spirv_writes writes = {0};
        add_stage(dev, &pCreateInfos[i].stage, &writes);
        set_pipeline(dev, pPipelines[i], &writes);
    }
}

void hook_after_CmdBindPipeline(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                VkPipelineBindPoint pipelineBindPoint, VkPipeline pipeline)
{
    struct layer_bound *bound = layer_bound_at(cb, pipelineBindPoint);
    const struct layer_pipeline *record;
    if (!bound || cb->state != LAYER_CMDBUF_RECORDING)
        return;
    if (!atomic_load_explicit(&cb->device->shaders_write, memory_order_relaxed))
        return;
    record = LAYER_GET(cb->device, VkPipeline, pipeline);
    bound->writes = record ? record->writes : NULL;
    bound->stale = bound->writes;
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
