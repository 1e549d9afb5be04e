/* SPDX-License-Identifier: MIT */
#include "replayer/command/command_pool.h"

#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/acceleration/build_scratch.h"
#include "replayer/command/command_events.h"
#include "replayer/command/reference_check.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/format/gpu_convert.h"
#include "replayer/ray_tracing/ray_tracing.h"
#include "replayer/resource/push_descriptors.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/submission.h"

struct command_pool {
    struct replay_children buffers;
    uint32_t family;      /* as recorded */
    bool has_secondary;   /* or had one */
    uint64_t submitted[]; /* for each queue of the device, the last submission with command buffers of this pool:
                             submission.h */
};

/* The pool's record; NULL: no such pool. */
static struct command_pool *pool_of(struct replay *r, uint64_t index)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandPool, index);
    return object ? object->record : NULL;
}

uint64_t replay_command_buffer_pool(struct replay *r, VkCommandBuffer command_buffer, bool *out_secondary)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(command_buffer));
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);

    *out_secondary = object && object->secondary;
    return object ? object->parent : 0;
}

bool replay_command_pool_has_secondary(struct replay *r, uint64_t index)
{
    const struct command_pool *pool = pool_of(r, index);
    return pool && pool->has_secondary;
}

void replay_command_pool_use(struct replay *r, uint64_t index, uint32_t queue, uint64_t number)
{
    struct command_pool *pool = pool_of(r, index);

    if (pool)
        pool->submitted[queue] = number;
}

enum lap_status replay_command_pool_await(struct replay *r, struct replay_device *dev, uint64_t index)
{
    const struct command_pool *pool = pool_of(r, index);
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; pool && i < dev->queues.count && status == LAP_OK; i++)
        status = replay_submission_await(r, dev, i, pool->submitted[i], "command buffers of a pool that are in use");
    return status;
}

uint32_t replay_command_buffer_family(struct replay *r, VkCommandBuffer command_buffer)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(command_buffer));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
    struct command_pool *pool = object ? pool_of(r, object->parent) : NULL;

    return pool ? pool->family : UINT32_MAX;
}

enum lap_status replay_CreateCommandPool(struct replay *r, struct replay_device *dev,
                                         struct gen_args_vkCreateCommandPool *args)
{
    uint64_t index = gen_u64_VkCommandPool(*args->pCommandPool);
    VkCommandPool live = VK_NULL_HANDLE;
    struct command_pool *pool;
    enum lap_status status;
    VkResult result;

    result = dev->vk.CreateCommandPool(dev->live, args->pCreateInfo, NULL, &live);
    if (result < 0)
        return replay_result(r, result);
    status = gen_keep_VkCommandPool(r, dev, args->pCommandPool, &live, 1);
    if (status != LAP_OK || index == 0)
        return status;
    pool = calloc(1, sizeof *pool + dev->queues.count * sizeof *pool->submitted);
    if (!pool)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a command pool");
    pool->family = dev->queues.families_differ ? r->at.mapped_family : args->pCreateInfo->queueFamilyIndex;
    replay_object_get(r, GEN_HANDLE_VkCommandPool, index)->record = pool;
    return LAP_OK;
}

/* Whether modules may have something for single command buffers. */
static bool has_parts(const struct replay_device *dev)
{
    return dev->formats.converter || dev->rays.build_scratch || dev->sync.events || dev->descriptors.push ||
           dev->descriptors.buffers || dev->rays.tracing;
}

enum lap_status replay_DestroyCommandPool(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkDestroyCommandPool *args)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool(args->commandPool));
    struct command_pool *pool = pool_of(r, index);

    replay_destroy(dev, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool(args->commandPool));
    for (uint64_t i = 0; pool && has_parts(dev) && i < pool->buffers.count; i++) {
        struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, pool->buffers.indices[i]);
        replay_format_converter_forget(dev, gen_VkCommandBuffer(object ? object->live : 0));
        replay_build_scratch_forget(dev, gen_VkCommandBuffer(object ? object->live : 0));
        replay_push_descriptors_forget(dev, gen_VkCommandBuffer(object ? object->live : 0));
        replay_descriptor_buffers_forget(r, dev, gen_VkCommandBuffer(object ? object->live : 0));
        replay_ray_tracing_forget(dev, gen_VkCommandBuffer(object ? object->live : 0));
        replay_command_events_forget(r, dev, gen_VkCommandBuffer(object ? object->live : 0));
    }
    if (pool) {
        replay_children_clear(r, &pool->buffers, GEN_HANDLE_VkCommandBuffer);
        replay_children_finish(&pool->buffers);
        free(pool);
    }
    replay_object_remove(r, GEN_HANDLE_VkCommandPool, index);
    return LAP_OK;
}

enum lap_status replay_AllocateCommandBuffers(struct replay *r, struct replay_device *dev,
                                              struct gen_args_vkAllocateCommandBuffers *args)
{
    const VkCommandBufferAllocateInfo *info = args->pAllocateInfo;
    uint64_t pool_index = replay_object_index(r, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool(info->commandPool));
    struct command_pool *pool = pool_of(r, pool_index);
    VkCommandBuffer *live = replay_scratch(r, info->commandBufferCount, sizeof *live);
    enum lap_status status;
    VkResult result;

    if (!pool)
        return replay_absent(r, "commandPool");
    if (!live)
        return replay_no_scratch(r);
    result = dev->vk.AllocateCommandBuffers(dev->live, info, live);
    if (result < 0)
        return replay_result(r, result);
    status = gen_keep_VkCommandBuffer(r, dev, args->pCommandBuffers, live, info->commandBufferCount);
    pool->has_secondary |= info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    for (uint32_t i = 0; i < info->commandBufferCount && status == LAP_OK; i++) {
        uint64_t index = gen_u64_VkCommandBuffer(args->pCommandBuffers[i]);
        struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
        if (object)
            object->secondary = info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY;
        status = replay_children_add(r, &pool->buffers, GEN_HANDLE_VkCommandBuffer, index, pool_index);
    }
    return status;
}

static void free_commands(struct replay *r, struct replay_device *dev, const struct replay_deferred *object)
{
    VkCommandBuffer commands = gen_VkCommandBuffer(object->live);

    (void)r;
    dev->vk.FreeCommandBuffers(dev->live, gen_VkCommandPool(object->data), 1, &commands);
}

static void free_later(struct replay_device *dev, VkCommandPool pool, VkCommandBuffer commands)
{
    if (commands)
        replay_deferred_destroy_add(dev, (struct replay_deferred){.destroy = free_commands,
                                                                  .type = GEN_HANDLE_VkCommandBuffer,
                                                                  .live = gen_u64_VkCommandBuffer(commands),
                                                                  .data = gen_u64_VkCommandPool(pool)});
}

enum lap_status replay_FreeCommandBuffers(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkFreeCommandBuffers *args)
{
    uint64_t pool_index = replay_object_index(r, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool(args->commandPool));
    struct command_pool *pool = pool_of(r, pool_index);
    enum lap_status status = pool ? LAP_OK : replay_absent(r, "commandPool");
    uint64_t checked = 0;
    bool busy;

    for (uint32_t i = 0; i < args->commandBufferCount && status == LAP_OK; i++)
        status = replay_children_check(
            r, &pool->buffers, GEN_HANDLE_VkCommandBuffer,
            replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(args->pCommandBuffers[i])),
            &checked);
    if (status != LAP_OK)
        return status;
    busy = dev->busy;
    if (!busy)
        dev->vk.FreeCommandBuffers(dev->live, args->commandPool, args->commandBufferCount, args->pCommandBuffers);
    for (uint32_t i = 0; i < args->commandBufferCount; i++) {
        if (busy)
            free_later(dev, args->commandPool, args->pCommandBuffers[i]);
        replay_format_converter_forget(dev, args->pCommandBuffers[i]);
        replay_build_scratch_forget(dev, args->pCommandBuffers[i]);
        replay_push_descriptors_forget(dev, args->pCommandBuffers[i]);
        replay_descriptor_buffers_forget(r, dev, args->pCommandBuffers[i]);
        replay_ray_tracing_forget(dev, args->pCommandBuffers[i]);
        replay_command_events_forget(r, dev, args->pCommandBuffers[i]);
        replay_children_remove(
            r, &pool->buffers, GEN_HANDLE_VkCommandBuffer,
            replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(args->pCommandBuffers[i])));
    }
    return LAP_OK;
}

enum lap_status replay_BeginCommandBuffer(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkBeginCommandBuffer *args)
{
    const VkCommandBufferInheritanceInfo *inherited = args->pBeginInfo->pInheritanceInfo;
    bool secondary = false;
    VkResult result;

    if (!inherited || dev->descriptors.buffers)
        (void)replay_command_buffer_pool(r, args->commandBuffer, &secondary);
    if (secondary && !inherited)
        return replay_absent(r, "pInheritanceInfo");
    if (secondary && dev->descriptors.buffers) {
        enum lap_status status = replay_descriptor_buffers_inherit(r, dev, inherited);
        if (status != LAP_OK)
            return status;
    }
    result = dev->vk.BeginCommandBuffer(args->commandBuffer, args->pBeginInfo);
    return replay_result(r, result);
}

enum lap_status replay_ResetCommandBuffer(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkResetCommandBuffer *args)
{
    enum lap_status status = replay_reference_check_begin(r, dev, args->commandBuffer);

    return status == LAP_OK ? replay_result(r, dev->vk.ResetCommandBuffer(args->commandBuffer, args->flags)) : status;
}

enum lap_status replay_ResetCommandPool(struct replay *r, struct replay_device *dev,
                                        struct gen_args_vkResetCommandPool *args)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandPool, gen_u64_VkCommandPool(args->commandPool));
    enum lap_status status = replay_command_pool_await(r, dev, index);

    return status == LAP_OK ? replay_result(r, dev->vk.ResetCommandPool(dev->live, args->commandPool, args->flags))
                            : status;
}
