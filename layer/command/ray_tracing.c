/* SPDX-License-Identifier: MIT */
/*
 * ray_tracing: ray tracing pipelines, and the commands that trace rays.
 *
 * A program copies shader group handles, bytes of the driver, into binding tables of its own. The layer asks the
 * driver for all handles of a new pipeline and records them (lapilliShaderGroups), so that a replay knows them where it
 * meets them.
 */
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/command/shader_access.h"
#include "layer/command/touched.h"
#include "layer/shader/stages.h"
#include "vulkan/chain.h"
#include "vulkan/shader/ray_groups.h"

/* ---- pipelines ---- */

static VkPhysicalDeviceRayTracingPipelinePropertiesKHR properties_of(const struct layer_device *dev)
{
    const struct layer_physical_device *gpu = dev->physical_device;
    VkPhysicalDeviceRayTracingPipelinePropertiesKHR rays = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &rays};

    if (dev->instance->vk.GetPhysicalDeviceProperties2)
        dev->instance->vk.GetPhysicalDeviceProperties2(gen_VkPhysicalDevice(gpu->object.handle), &properties);
    return rays;
}

static VkFlags64 flags_of(const VkRayTracingPipelineCreateInfoKHR *info)
{
#ifdef VK_KHR_maintenance5
    const VkPipelineCreateFlags2CreateInfoKHR *flags =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    if (flags)
        return flags->flags;
#endif
    return info->flags;
}

/* Groups of libraries follow the pipeline's own. False: out of memory. */
static bool note_groups(struct layer_device *dev, const VkRayTracingPipelineCreateInfoKHR *info,
                        struct layer_pipeline *pipeline)
{
    const VkPipelineLibraryCreateInfoKHR *libraries = info->pLibraryInfo;
    uint32_t count = info->groupCount, at = 0;

    for (uint32_t i = 0; libraries && i < libraries->libraryCount; i++) {
        const struct layer_pipeline *library = LAYER_GET(dev, VkPipeline, libraries->pLibraries[i]);
        count += library ? library->group_count : 0;
    }
    pipeline->group_shaders = count ? calloc(count, 1) : NULL;
    if (!pipeline->group_shaders)
        return count == 0;
    pipeline->group_count = count;
    while (at < info->groupCount) {
        pipeline->group_shaders[at] = lap_ray_group_shaders(&info->pGroups[at]);
        at++;
    }
    for (uint32_t i = 0; libraries && i < libraries->libraryCount; i++) {
        const struct layer_pipeline *library = LAYER_GET(dev, VkPipeline, libraries->pLibraries[i]);
        if (library && library->group_count) {
            memcpy(pipeline->group_shaders + at, library->group_shaders, library->group_count);
            at += library->group_count;
        }
    }
    return true;
}

static void get_stack_sizes(struct layer_device *dev, VkPipeline pipeline, const struct layer_pipeline *record,
                            uint32_t *out)
{
    for (uint32_t i = 0; i < record->group_count; i++)
        for (uint32_t shader = 0; shader < LAP_RAY_GROUP_SHADERS; shader++)
            if (record->group_shaders[i] >> shader & 1)
                *out++ = (uint32_t)dev->vk.GetRayTracingShaderGroupStackSizeKHR(dev->handle, pipeline, i,
                                                                                (VkShaderGroupShaderKHR)shader);
}

static void record_groups(struct layer_device *dev, VkPipeline pipeline, const struct layer_pipeline *record,
                          bool with_stack)
{
    const VkPhysicalDeviceRayTracingPipelinePropertiesKHR rays = properties_of(dev);
    const uint32_t count = record->group_count,
                   sizes = with_stack ? (uint32_t)lap_ray_shader_count(record->group_shaders, count) : 0;
    const size_t bytes = (size_t)rays.shaderGroupHandleSize * count;
    void *handles = calloc(1, bytes + 1);
    uint32_t *stack = calloc((size_t)sizes + 1, sizeof *stack);
    struct lap_enc *enc;

    if (!handles || !stack) {
        layer_stop("out of memory");
    } else if (bytes && dev->vk.GetRayTracingShaderGroupHandlesKHR(dev->handle, pipeline, 0, count, bytes, handles) ==
                            VK_SUCCESS) {
        if (with_stack)
            get_stack_sizes(dev, pipeline, record, stack);
        enc = layer_packet_begin(&dev->tables, GEN_lapilliShaderGroups, 0);
        if (enc) {
            gen_encode_lapilliShaderGroups(enc, dev->handle, pipeline, rays.shaderGroupHandleSize,
                                           rays.shaderGroupHandleAlignment, rays.shaderGroupBaseAlignment, count, bytes,
                                           handles, sizes, stack);
            layer_packet_end();
        }
    }
    free(handles);
    free(stack);
}

static void note_pipeline(struct layer_device *dev, const VkRayTracingPipelineCreateInfoKHR *info, VkPipeline pipeline)
{
    struct layer_pipeline *record = LAYER_GET(dev, VkPipeline, pipeline);
    struct lap_spirv_access access = {0};

    if (!record || !layer_is_recording())
        return;
    for (uint32_t i = 0; i < info->stageCount; i++)
        layer_shader_access_add_stage(dev, &info->pStages[i], &access);
    layer_shader_access_add_libraries(dev, info->pLibraryInfo, &access);
    layer_shader_access_set_pipeline(dev, pipeline, &access);
    if (!record->object.aliases && !note_groups(dev, info, record))
        layer_stop("out of memory");
    /* The handles of a library are among those of the pipelines that it is linked into. */
    if (!(flags_of(info) & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR))
        record_groups(dev, pipeline, record, lap_ray_stack_is_dynamic(info));
}

/* A call to create pipelines. */
struct call {
    struct layer_device *dev;
    uint32_t count;
    const VkRayTracingPipelineCreateInfoKHR *infos; /* as they are to be recorded */
    struct lap_arena arena;                         /* of changed infos, if the device keeps code */
};

/* If the program refers to code that the driver has, the code itself is recorded (layer/shader/stages.h). False: some
 * code is not known. */
static bool find_code(struct call *call)
{
    VkRayTracingPipelineCreateInfoKHR *copies = NULL;

    for (uint32_t i = 0; i < call->count; i++) {
        const VkRayTracingPipelineCreateInfoKHR *info = &call->infos[i];
        const VkPipelineShaderStageCreateInfo *found;
        switch (layer_stages_find_code(call->dev, &call->arena, info->pNext, info->stageCount, info->pStages, &found)) {
        case LAYER_STAGES_UNKNOWN:
            return false;
        case LAYER_STAGES_NO_MEMORY:
            layer_stop("out of memory");
            return true;
        case LAYER_STAGES_COPIED:
            if (!copies)
                copies = lap_arena_alloc(&call->arena, call->count * sizeof *copies, 8);
            if (!copies) {
                layer_stop("out of memory");
                return true;
            }
            if (call->infos != copies)
                memcpy(copies, call->infos, call->count * sizeof *copies);
            call->infos = copies;
            copies[i].pStages = found;
            break;
        default:
            break;
        }
    }
    return true;
}

static void keep_origin(struct layer_device *dev, const VkRayTracingPipelineCreateInfoKHR *info, VkPipeline pipeline)
{
    struct layer_pipeline *record = LAYER_GET(dev, VkPipeline, pipeline);

    if (record && !record->object.aliases && layer_stages_are_captured(info->flags, info->pNext))
        record->origin = layer_stages_origin(dev, info->stageCount, info->pStages);
}

/* A driver may always decide not to defer, and so does the layer: pipelines and their handles exist when the call
 * returns, and no parameter is read later. */
VKAPI_ATTR VkResult VKAPI_CALL capture_CreateRayTracingPipelinesKHR(
    VkDevice device, VkDeferredOperationKHR deferredOperation, VkPipelineCache pipelineCache, uint32_t createInfoCount,
    const VkRayTracingPipelineCreateInfoKHR *pCreateInfos, const VkAllocationCallbacks *pAllocator,
    VkPipeline *pPipelines)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct call call = {.dev = dev, .count = createInfoCount, .infos = pCreateInfos};
    const bool keeps_code = dev->code.kept && layer_is_recording();
    VkResult result = VK_PIPELINE_COMPILE_REQUIRED_EXT;
    struct lap_enc *enc;
    bool any = false;

    if (keeps_code)
        lap_arena_init(&call.arena, 0);
    if (!keeps_code || find_code(&call))
        result = dev->vk.CreateRayTracingPipelinesKHR(device, VK_NULL_HANDLE, pipelineCache, createInfoCount,
                                                      pCreateInfos, pAllocator, pPipelines);
    else
        memset(pPipelines, 0, createInfoCount * sizeof *pPipelines);
    for (uint32_t i = 0; i < createInfoCount; i++)
        if (pPipelines[i])
            any |= LAYER_ADD(dev, VkPipeline, pPipelines[i]) != NULL;
    enc = layer_packet_begin(&dev->tables, GEN_vkCreateRayTracingPipelinesKHR,
                             result < 0 && !any ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkCreateRayTracingPipelinesKHR(enc, device, deferredOperation, pipelineCache, createInfoCount,
                                                  call.infos, pAllocator, pPipelines, result);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < createInfoCount; i++) {
        if (pPipelines[i])
            note_pipeline(dev, &call.infos[i], pPipelines[i]);
        if (pPipelines[i] && keeps_code)
            keep_origin(dev, &call.infos[i], pPipelines[i]);
    }
    if (keeps_code)
        lap_arena_finish(&call.arena);
    return deferredOperation && result == VK_SUCCESS ? VK_OPERATION_NOT_DEFERRED_KHR : result;
}

/* ---- commands ---- */

/* Binding tables are named by address, and their records may name more. */
static void trace(struct layer_cmdbuf *cb)
{
    layer_touch_work(cb, LAYER_BIND_RAYS);
    layer_touch_unknown(cb);
}

void hook_after_CmdTraceRaysKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                const VkStridedDeviceAddressRegionKHR *pRaygenShaderBindingTable,
                                const VkStridedDeviceAddressRegionKHR *pMissShaderBindingTable,
                                const VkStridedDeviceAddressRegionKHR *pHitShaderBindingTable,
                                const VkStridedDeviceAddressRegionKHR *pCallableShaderBindingTable, uint32_t width,
                                uint32_t height, uint32_t depth)
{
    trace(cb);
}

void hook_after_CmdTraceRaysIndirectKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                        const VkStridedDeviceAddressRegionKHR *pRaygenShaderBindingTable,
                                        const VkStridedDeviceAddressRegionKHR *pMissShaderBindingTable,
                                        const VkStridedDeviceAddressRegionKHR *pHitShaderBindingTable,
                                        const VkStridedDeviceAddressRegionKHR *pCallableShaderBindingTable,
                                        VkDeviceAddress indirectDeviceAddress)
{
    trace(cb);
}

void hook_after_CmdTraceRaysIndirect2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                         VkDeviceAddress indirectDeviceAddress)
{
    trace(cb);
}
