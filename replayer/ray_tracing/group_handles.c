/* SPDX-License-Identifier: MIT */
/* Shader group handles: the recorded ones, and those of this device. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/ray_tracing/internal.h"
#include "replayer/sync/deferred_destroy.h"
#include "vulkan/shader/ray_groups.h"

#define MOST_HANDLE_BYTES 256u
#define MOST_GROUPS       ((uint32_t)1 << 22)
#define STACK_ONE         65536u
#define STACK_DEPTH       4u /* assumed recursion of a shader whose recorded stack is 0 */

/* ---- buffers ---- */

enum lap_status replay_ray_tracing_buffer_make(struct replay *r, struct replay_device *dev, VkDeviceSize bytes,
                                               VkBufferUsageFlags usage, VkMemoryPropertyFlags wanted,
                                               struct replay_ray_tracing_buffer *out)
{
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = bytes,
                                 .usage = usage | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                          VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    VkBufferDeviceAddressInfo asked = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    struct replay_memory_needs needs;
    enum lap_status status;

    *out = (struct replay_ray_tracing_buffer){0};
    if (!dev->addresses.enabled || !dev->vk.GetBufferDeviceAddress)
        return replay_refuse(r, "binding tables are to be copied on a device without buffer addresses");
    status = replay_objects_reserve(r, 1);
    if (status != LAP_OK)
        return status;
    status = replay_result(r, dev->vk.CreateBuffer(dev->live, &create, NULL, &out->buffer));
    if (status != LAP_OK) {
        replay_objects_release(r, 1);
        return status;
    }
    replay_memory_buffer_needs(dev, out->buffer, &needs);
    needs.wanted = wanted;
    status = replay_memory_place_alloc(r, dev, &needs, &out->place);
    if (status == LAP_OK)
        status =
            replay_result(r, dev->vk.BindBufferMemory(dev->live, out->buffer, out->place.memory, out->place.offset));
    if (status != LAP_OK) {
        replay_ray_tracing_buffer_free(dev, out);
        return status;
    }
    asked.buffer = out->buffer;
    out->address = dev->vk.GetBufferDeviceAddress(dev->live, &asked);
    out->bytes = bytes;
    return LAP_OK;
}

enum lap_status replay_ray_tracing_buffer_write(struct replay *r, struct replay_device *dev,
                                                struct replay_ray_tracing_buffer *buffer, const void *data,
                                                size_t bytes)
{
    return buffer->place.host ? replay_memory_place_write(r, dev, &buffer->place, 0, data, bytes)
                              : replay_staging_write(r, dev, &buffer->staged, buffer->buffer, 0, data, bytes);
}

void replay_ray_tracing_buffer_free(struct replay_device *dev, struct replay_ray_tracing_buffer *buffer)
{
    if (buffer->staged.batch)
        replay_staging_settle(dev->rays.tracing->r, dev, &buffer->staged, buffer->buffer);
    if (buffer->buffer) {
        replay_destroy(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer->buffer));
        replay_objects_release(dev->rays.tracing->r, 1);
    }
    replay_memory_place_free(dev, &buffer->place);
    *buffer = (struct replay_ray_tracing_buffer){0};
}

/* ---- the device ---- */

static enum lap_status need_device(struct replay *r, struct replay_device *dev)
{
    struct replay_ray_tracing *rays = dev->rays.tracing;
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};

    if (rays && rays->properties.shaderGroupHandleSize)
        return LAP_OK;
    if (!rays) {
        rays = dev->rays.tracing = calloc(1, sizeof *rays);
        if (!rays)
            return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for ray tracing"));
        rays->r = r;
        rays->stack_factor = STACK_ONE;
        lap_map_init(&rays->groups);
        lap_map_init(&rays->copies);
    }
    rays->properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR;
    properties.pNext = &rays->properties;
    if (dev->instance->vk.GetPhysicalDeviceProperties2)
        dev->instance->vk.GetPhysicalDeviceProperties2(dev->gpu, &properties);
    rays->properties.pNext = NULL;
    if (rays->properties.shaderGroupHandleSize == 0 || rays->properties.shaderGroupHandleSize % 4 != 0 ||
        rays->properties.shaderGroupHandleSize > MOST_HANDLE_BYTES)
        return replay_refuse(r, "this device has shader group handles of %u bytes",
                             rays->properties.shaderGroupHandleSize);
    return LAP_OK;
}

void replay_ray_tracing_note_buffer(struct replay_device *dev, VkDeviceSize bytes)
{
    if (bytes > dev->rays.largest_table_buffer)
        dev->rays.largest_table_buffer = bytes;
}

/* ---- pipelines ---- */

/* Sorts pairs by their first words, as the shader compares them. */
static int by_recorded(const void *a, const void *b, void *words)
{
    const uint32_t *x = a, *y = b;

    for (uint32_t i = 0; i < *(const uint32_t *)words; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static enum lap_status sort_pairs(struct replay *r, const struct replay_device *dev, const unsigned char *recorded,
                                  const unsigned char *live, struct replay_ray_tracing_groups *groups)
{
    uint32_t from = groups->recorded_bytes, to = dev->rays.tracing->properties.shaderGroupHandleSize, words = from / 4;
    size_t pair = from + to;

    groups->pairs = calloc(groups->count, pair);
    if (!groups->pairs)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for shader groups"));
    for (uint32_t i = 0; i < groups->count; i++) {
        memcpy(groups->pairs + i * pair, recorded + (size_t)i * from, from);
        memcpy(groups->pairs + i * pair + from, live + (size_t)i * to, to);
    }
    qsort_r(groups->pairs, groups->count, pair, by_recorded, &words);
    return LAP_OK;
}

enum lap_status replay_ray_tracing_need_pairs(struct replay *r, struct replay_device *dev,
                                              struct replay_ray_tracing_groups *groups)
{
    size_t bytes =
        (size_t)groups->count * (groups->recorded_bytes + dev->rays.tracing->properties.shaderGroupHandleSize);
    enum lap_status status = LAP_OK;

    if (groups->buffer.buffer)
        return LAP_OK;
    status = replay_ray_tracing_buffer_make(r, dev, bytes, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, &groups->buffer);
    if (status == LAP_OK)
        status = replay_ray_tracing_buffer_write(r, dev, &groups->buffer, groups->pairs, bytes);
    if (status != LAP_OK)
        replay_ray_tracing_buffer_free(dev, &groups->buffer);
    return status;
}

static void free_groups(struct replay_device *dev, struct replay_ray_tracing_groups *groups)
{
    replay_ray_tracing_buffer_free(dev, &groups->buffer);
    free(groups->pairs);
    free(groups->shaders);
    free(groups);
}

static struct replay_ray_tracing_groups *groups_of(const struct replay_device *dev, VkPipeline pipeline)
{
    return dev->rays.tracing && pipeline ? lap_map_get(&dev->rays.tracing->groups, gen_u64_VkPipeline(pipeline)) : NULL;
}

enum lap_status replay_ray_tracing_check(struct replay *r, struct replay_device *dev,
                                         const VkRayTracingPipelineCreateInfoKHR *info)
{
    enum lap_status status = need_device(r, dev);

    if (status == LAP_OK && info->maxPipelineRayRecursionDepth > dev->rays.tracing->properties.maxRayRecursionDepth)
        return replay_refuse(r, "rays call rays to a depth of %u, the GPU allows %u",
                             info->maxPipelineRayRecursionDepth, dev->rays.tracing->properties.maxRayRecursionDepth);
    return status;
}

/* The groups of libraries follow the pipeline's own. */
static bool note_shaders(const struct replay_device *dev, const VkRayTracingPipelineCreateInfoKHR *info,
                         struct replay_ray_tracing_groups *groups)
{
    const VkPipelineLibraryCreateInfoKHR *libraries = info->pLibraryInfo;
    uint32_t at = 0;

    groups->shaders = calloc(1, (size_t)groups->made + 1);
    if (!groups->shaders)
        return false;
    while (at < info->groupCount) {
        groups->shaders[at] = lap_ray_group_shaders(&info->pGroups[at]);
        at++;
    }
    for (uint32_t i = 0; libraries && i < libraries->libraryCount; i++) {
        const struct replay_ray_tracing_groups *library = groups_of(dev, libraries->pLibraries[i]);
        if (library) {
            memcpy(groups->shaders + at, library->shaders, library->made);
            at += library->made;
        }
    }
    return true;
}

enum lap_status replay_ray_tracing_created(struct replay *r, struct replay_device *dev, VkPipeline pipeline,
                                           const VkRayTracingPipelineCreateInfoKHR *info, VkFlags64 flags)
{
    const VkPipelineLibraryCreateInfoKHR *libraries = info->pLibraryInfo;
    struct replay_ray_tracing_groups *groups;
    uint64_t count = info->groupCount;
    enum lap_status status = need_device(r, dev);
    void *old = NULL;

    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; libraries && i < libraries->libraryCount; i++) {
        const struct replay_ray_tracing_groups *library = groups_of(dev, libraries->pLibraries[i]);
        count += library ? library->made : 0;
    }
    if (count > MOST_GROUPS)
        return replay_fail(r, "a pipeline of %" PRIu64 " shader groups", count);
    replay_ray_tracing_forget_pipeline(dev, pipeline);
    groups = calloc(1, sizeof *groups);
    if (!groups)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for shader groups"));
    groups->made = (uint32_t)count;
    groups->library = flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    if (!note_shaders(dev, info, groups)) {
        free(groups);
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for shader groups"));
    }
    status = lap_map_put(&dev->rays.tracing->groups, gen_u64_VkPipeline(pipeline), groups, &old);
    if (status != LAP_OK) {
        free_groups(dev, groups);
        return replay_place(r, status);
    }
    dev->rays.tracing->pipelines += !groups->library;
    return LAP_OK;
}

static bool divides(uint32_t alignment, uint32_t recorded)
{
    return alignment < 2 || (recorded != 0 && recorded % alignment == 0);
}

/* A driver does not check that a pipeline has the queried groups. */
static enum lap_status check_groups(struct replay *r, const struct gen_args_lapilliShaderGroups *args,
                                    const struct replay_ray_tracing_groups *groups)
{
    if (!groups || groups->library || groups->pairs)
        return replay_fail(r, "shader group handles of an object that is no ray-tracing pipeline, or has them already");
    if (args->handleSize == 0 || args->handleSize % 4 != 0 || args->handleSize > MOST_HANDLE_BYTES ||
        args->groupCount == 0 || args->groupCount > groups->made ||
        args->dataSize != (uint64_t)args->handleSize * args->groupCount || !args->pHandles)
        return replay_fail(r, "%u shader group handles of %u bytes, in %zu bytes, for a pipeline of %u groups",
                           args->groupCount, args->handleSize, args->dataSize, groups->made);
    if (args->stackSizeCount &&
        (!args->pStackSizes || args->stackSizeCount != lap_ray_shader_count(groups->shaders, args->groupCount)))
        return replay_fail(r, "%u sizes of stack for shaders of %u groups", args->stackSizeCount, args->groupCount);
    return LAP_OK;
}

/* Programs multiply the stack sizes of shaders by their recursion depths, which the trace does not have. So a sum is
 * multiplied by the largest growth of all shaders (replay_ray_tracing_stack_size). */
static void compare_stacks(struct replay_device *dev, const struct gen_args_lapilliShaderGroups *args,
                           const struct replay_ray_tracing_groups *groups)
{
    struct replay_ray_tracing *rays = dev->rays.tracing;
    const uint32_t *recorded = args->pStackSizes;
    uint64_t most = 0;

    if (!args->stackSizeCount || !dev->vk.GetRayTracingShaderGroupStackSizeKHR)
        return;
    for (uint32_t i = 0; i < args->groupCount; i++)
        for (uint32_t shader = 0; shader < LAP_RAY_GROUP_SHADERS; shader++) {
            uint64_t live, factor;
            if (!(groups->shaders[i] >> shader & 1))
                continue;
            live = dev->vk.GetRayTracingShaderGroupStackSizeKHR(dev->live, args->pipeline, i,
                                                                (VkShaderGroupShaderKHR)shader);
            live = live < UINT32_MAX ? live : UINT32_MAX;
            if (!*recorded && live > most)
                most = live;
            factor = *recorded ? (live * STACK_ONE + *recorded - 1) / *recorded : 0;
            if (factor > rays->stack_factor)
                rays->stack_factor = factor;
            recorded++;
        }
    if (most * STACK_DEPTH > rays->stack_more)
        rays->stack_more = most * STACK_DEPTH;
}

uint32_t replay_ray_tracing_stack_size(const struct replay_device *dev, uint32_t recorded)
{
    const struct replay_ray_tracing *rays = dev->rays.tracing;
    uint64_t factor = rays->stack_factor < (uint64_t)UINT32_MAX ? rays->stack_factor : UINT32_MAX;
    uint64_t bytes = (recorded * factor + STACK_ONE - 1) / STACK_ONE + rays->stack_more;

    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

enum lap_status replay_lapilliShaderGroups(struct replay *r, struct replay_device *dev,
                                           struct gen_args_lapilliShaderGroups *args)
{
    struct replay_ray_tracing_groups *groups = groups_of(dev, args->pipeline);
    struct replay_ray_tracing *rays = dev->rays.tracing;
    enum lap_status status = check_groups(r, args, groups);
    unsigned char *live;
    size_t bytes;

    if (status != LAP_OK)
        return status;
    if (!dev->vk.GetRayTracingShaderGroupHandlesKHR)
        return replay_missing(r, GEN_vkGetRayTracingShaderGroupHandlesKHR);
    bytes = (size_t)rays->properties.shaderGroupHandleSize * args->groupCount;
    live = replay_scratch(r, bytes, 1);
    if (!live)
        return replay_no_scratch(r);
    status = replay_result(
        r, dev->vk.GetRayTracingShaderGroupHandlesKHR(dev->live, args->pipeline, 0, args->groupCount, bytes, live));
    if (status != LAP_OK)
        return status;
    groups->count = args->groupCount;
    groups->recorded_bytes = args->handleSize;
    groups->differ = bytes != args->dataSize || memcmp(live, args->pHandles, bytes) != 0;
    groups->stricter = !divides(rays->properties.shaderGroupHandleAlignment, args->handleAlignment) ||
                       !divides(rays->properties.shaderGroupBaseAlignment, args->baseAlignment);
    rays->pipelines_that_differ += groups->differ;
    compare_stacks(dev, args, groups);
    return sort_pairs(r, dev, args->pHandles, live, groups);
}

void replay_ray_tracing_forget_pipeline(struct replay_device *dev, VkPipeline pipeline)
{
    struct replay_ray_tracing_groups *groups =
        dev->rays.tracing ? lap_map_remove(&dev->rays.tracing->groups, gen_u64_VkPipeline(pipeline)) : NULL;
    if (groups)
        free_groups(dev, groups);
}

static void end_groups(void *dev, uint64_t pipeline, void *groups)
{
    free_groups(dev, groups);
}

void replay_ray_tracing_finish(struct replay *r, struct replay_device *dev)
{
    struct replay_ray_tracing *rays = dev->rays.tracing;

    if (!rays)
        return;
    replay_ray_tracing_copies_finish(dev);
    lap_map_each(&rays->groups, end_groups, dev);
    lap_map_finish(&rays->groups);
    lap_map_finish(&rays->copies);
    if (rays->pipelines)
        lap_log(r->log, LAP_LOG_INFO,
                "ray-tracing pipelines: %" PRIu64 ", of which %" PRIu64
                " have other group handles on this GPU; binding tables were copied for %" PRIu64 " commands",
                rays->pipelines, rays->pipelines_that_differ, rays->copied);
    free(rays);
    dev->rays.tracing = NULL;
}
