/* SPDX-License-Identifier: MIT */
/*
 * pipeline: the memory that pipelines access, from the code of their shaders: the descriptors that they store to, and
 * memory that no descriptor names. Draws and dispatches apply the pipeline's accesses to the bound sets; most draws
 * have nothing to do here.
 */
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/command/shader_access.h"
#include "layer/command/touched.h"
#include "layer/core/records.h"
#include "layer/memory/capture_address.h"
#include "layer/shader/code.h"
#include "vulkan/chain.h"
#include "vulkan/conditions.h"

void layer_shader_module_finish(struct lap_object *object)
{
    struct layer_shader_module *module = (struct layer_shader_module *)object;
    free(module->access);
    layer_code_release(module->code);
}

void layer_pipeline_finish(struct lap_object *object)
{
    struct layer_pipeline *pipeline = (struct layer_pipeline *)object;
    free(pipeline->access);
    free(pipeline->group_shaders);
    layer_origin_release(pipeline->origin);
}

/* As layer_shader_access_keep_bound, for any shaders. */
static struct lap_spirv_access *keep(const struct layer_device *dev, struct lap_spirv_access access)
{
    struct lap_spirv_access *copy;
    access.addresses &= dev->device_addresses;
    if (!lap_spirv_access_any(&access))
        return NULL;
    copy = malloc(sizeof *copy);
    if (copy)
        *copy = access;
    else
        layer_stop("out of memory");
    return copy;
}

struct lap_spirv_access *layer_shader_access_keep_bound(struct layer_device *dev, struct lap_spirv_access access)
{
    struct lap_spirv_access *copy = keep(dev, access);
    if (copy)
        atomic_store_explicit(&dev->code.accesses, true, memory_order_relaxed);
    return copy;
}

void hook_after_CreateShaderModule(struct layer_device *dev, VkDevice device,
                                   const VkShaderModuleCreateInfo *pCreateInfo, const VkAllocationCallbacks *pAllocator,
                                   VkShaderModule *pShaderModule, VkResult result)
{
    struct layer_shader_module *record = LAYER_GET(dev, VkShaderModule, *pShaderModule);
    struct lap_spirv_access access;
    if (!record || record->object.aliases || !layer_is_recording())
        return;
    lap_spirv_find_access(pCreateInfo->pCode, pCreateInfo->codeSize / 4, &access);
    record->access = keep(dev, access);
    if (dev->code.kept)
        record->code = layer_code_create(pCreateInfo->pCode, pCreateInfo->codeSize);
}

void layer_shader_access_add_stage(struct layer_device *dev, const VkPipelineShaderStageCreateInfo *stage,
                                   struct lap_spirv_access *access)
{
    const struct layer_shader_module *module = LAYER_GET(dev, VkShaderModule, stage->module);
    const VkShaderModuleCreateInfo *code = lap_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    struct lap_spirv_access found;

    if (dev->device_addresses)
        layer_address_check_constants(dev, stage->pSpecializationInfo);
    if (module) {
        if (module->access)
            lap_spirv_access_add(access, module->access);
    } else if (code) {
        lap_spirv_find_access(code->pCode, code->codeSize / 4, &found);
        lap_spirv_access_add(access, &found);
    } else { /* unknown code */
        lap_spirv_access_all(access);
    }
}

void layer_shader_access_set_pipeline(struct layer_device *dev, VkPipeline pipeline,
                                      const struct lap_spirv_access *access)
{
    struct layer_pipeline *record = LAYER_GET(dev, VkPipeline, pipeline);
    if (record && !record->object.aliases)
        record->access = layer_shader_access_keep_bound(dev, *access);
}

void layer_shader_access_add_libraries(struct layer_device *dev, const VkPipelineLibraryCreateInfoKHR *libraries,
                                       struct lap_spirv_access *access)
{
    for (uint32_t i = 0; libraries && i < libraries->libraryCount; i++) {
        const struct layer_pipeline *library = LAYER_GET(dev, VkPipeline, libraries->pLibraries[i]);
        if (library && library->access)
            lap_spirv_access_add(access, library->access);
    }
}

void layer_shader_access_of_graphics(struct layer_device *dev, VkPipeline pipeline,
                                     const VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineLibraryCreateInfoKHR *libraries =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    struct lap_spirv_access access = {0};
    for (uint32_t i = 0; cond_reads_stages(info) && i < info->stageCount; i++)
        layer_shader_access_add_stage(dev, &info->pStages[i], &access);
    layer_shader_access_add_libraries(dev, libraries, &access);
    layer_shader_access_set_pipeline(dev, pipeline, &access);
}

void layer_shader_access_of_compute(struct layer_device *dev, VkPipeline pipeline,
                                    const VkComputePipelineCreateInfo *info)
{
    struct lap_spirv_access access = {0};
    layer_shader_access_add_stage(dev, &info->stage, &access);
    layer_shader_access_set_pipeline(dev, pipeline, &access);
}

void hook_after_CmdBindPipeline(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                VkPipelineBindPoint pipelineBindPoint, VkPipeline pipeline)
{
    struct layer_bound *bound = layer_bound_at(cb, pipelineBindPoint);
    const struct layer_pipeline *record;
    if (cb->state != LAYER_CMDBUF_RECORDING)
        return;
    if (!bound) { /* of a later extension: its shaders were not analysed */
        layer_touch_unknown(cb);
        return;
    }
    if (!atomic_load_explicit(&cb->device->code.accesses, memory_order_relaxed))
        return;
    if (cb->shaders)
        layer_bound_shaders_end(cb, bound);
    record = LAYER_GET(cb->device, VkPipeline, pipeline);
    bound->access = record ? record->access : NULL;
    bound->stale = bound->access;
    if (bound->access && bound->access->addresses)
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

void hook_after_CmdDrawClusterHUAWEI(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t groupCountX,
                                     uint32_t groupCountY, uint32_t groupCountZ)
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
