/* SPDX-License-Identifier: MIT */
/*
 * Shader groups.
 *
 *   groups=N   before each ray-tracing pipeline, N others like it are made, and they go after it. Where a driver counts
 *              its shader group handles, the handles are others then
 *   handles=BYTES  handles are longer: zeroes and the driver's own. The driver does not understand tables with them, so
 *              what is recorded so is right in a replay alone
 */
#include "tests/layers/shape/shape.h"
#include <stdlib.h>
#include <string.h>

static uint64_t before, longer;

static bool read_word(const char *name, const char *value)
{
    if (!strcmp(name, "handles"))
        return shape_read_number(value, &longer);
    return !strcmp(name, "groups") && shape_read_number(value, &before);
}

static uint32_t real_bytes(VkPhysicalDevice gpu)
{
    VkPhysicalDeviceRayTracingPipelinePropertiesKHR rays = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &rays};

    chain_instance_of(gpu)->next.GetPhysicalDeviceProperties2(gpu, &properties);
    return rays.shaderGroupHandleSize;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetRayTracingShaderGroupHandlesKHR(VkDevice handle, VkPipeline pipeline,
                                                                         uint32_t first, uint32_t count, size_t bytes,
                                                                         void *out)
{
    const struct shape_device *device = shape_device_of(handle);
    uint32_t real = real_bytes(device->chain.gpu);
    VkResult result = VK_SUCCESS;

    if (!longer)
        return device->chain.next.GetRayTracingShaderGroupHandlesKHR(handle, pipeline, first, count, bytes, out);
    memset(out, 0, bytes);
    for (uint32_t i = 0; i < count && (i + 1) * longer <= bytes && longer >= real && result >= 0; i++)
        result = device->chain.next.GetRayTracingShaderGroupHandlesKHR(handle, pipeline, first + i, 1, real,
                                                                       (char *)out + (i + 1) * longer - real);
    return result;
}

static void destroy(const struct shape_device *device, VkDevice handle, uint32_t count, VkPipeline *pipelines)
{
    for (uint32_t i = 0; pipelines && i < count; i++)
        if (pipelines[i])
            device->chain.next.DestroyPipeline(handle, pipelines[i], NULL);
    free(pipelines);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateRayTracingPipelinesKHR(VkDevice handle, VkDeferredOperationKHR operation,
                                                                   VkPipelineCache cache, uint32_t count,
                                                                   const VkRayTracingPipelineCreateInfoKHR *infos,
                                                                   const VkAllocationCallbacks *allocator,
                                                                   VkPipeline *out)
{
    const struct shape_device *device = shape_device_of(handle);
    uint32_t all = (uint32_t)before * count;
    VkPipeline *pipelines = all ? calloc(all, sizeof(VkPipeline)) : NULL;
    VkResult result;

    for (uint32_t i = 0; pipelines && i < all; i += count)
        (void)device->chain.next.CreateRayTracingPipelinesKHR(handle, VK_NULL_HANDLE, cache, count, infos, NULL,
                                                              pipelines + i);
    result = device->chain.next.CreateRayTracingPipelinesKHR(handle, operation, cache, count, infos, allocator, out);
    destroy(device, handle, all, pipelines);
    return result;
}

static const struct chain_function functions[] = {
    CHAIN_OWN(CreateRayTracingPipelinesKHR),
    CHAIN_OWN(GetRayTracingShaderGroupHandlesKHR),
    CHAIN_END,
};
const struct shape_topic shape_groups = {.read_word = read_word, .functions = functions};
