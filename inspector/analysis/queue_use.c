/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/queue_use.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"

struct queue_use {
    struct lap_arena arena;                        /* holds the values of all maps */
    struct lap_map devices;                        /* struct queue_family_use[QUEUE_USE_FAMILIES] */
    struct lap_map pools, command_buffers, queues; /* struct queue_family_use, of the family */
    struct lap_map blocks;                         /* struct queue_family_use, of the block's commands */
    uint64_t block;                                /* the current one */
    struct queue_family_use *block_use;
};

static enum lap_status need(struct queue_use *use, struct lap_map *map, uint64_t key, size_t count,
                            struct queue_family_use **out)
{
    *out = lap_map_get(map, key);
    if (*out)
        return LAP_OK;
    *out = lap_arena_zalloc(&use->arena, count, sizeof **out, _Alignof(struct queue_family_use));
    return *out ? lap_map_put(map, key, *out, NULL) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

static enum lap_status put_family(struct queue_use *use, struct lap_map *map, uint64_t index, VkDevice device,
                                  uint32_t family)
{
    struct queue_family_use *families;
    enum lap_status status;

    if (family >= QUEUE_USE_FAMILIES)
        return LAP_OK; /* an invalid trace: a replay refuses the device */
    status = need(use, &use->devices, gen_u64_VkDevice(device), QUEUE_USE_FAMILIES, &families);
    return status == LAP_OK ? lap_map_put(map, index, &families[family], NULL) : status;
}

static void add_kinds(struct queue_family_use *family, VkQueueFlags kinds)
{
    family->one_of |= lap_queue_kinds_set(kinds);
    if (!(kinds & LAP_QUEUE_KINDS))
        family->other |= kinds;
}

/* ---- commands ---- */

static VkPipelineStageFlags2 stages_of(const VkDependencyInfo *info)
{
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; info && info->pMemoryBarriers && i < info->memoryBarrierCount; i++)
        stages |= info->pMemoryBarriers[i].srcStageMask | info->pMemoryBarriers[i].dstStageMask;
    for (uint32_t i = 0; info && info->pBufferMemoryBarriers && i < info->bufferMemoryBarrierCount; i++)
        stages |= info->pBufferMemoryBarriers[i].srcStageMask | info->pBufferMemoryBarriers[i].dstStageMask;
    for (uint32_t i = 0; info && info->pImageMemoryBarriers && i < info->imageMemoryBarrierCount; i++)
        stages |= info->pImageMemoryBarriers[i].srcStageMask | info->pImageMemoryBarriers[i].dstStageMask;
    return stages;
}

static VkPipelineStageFlags2 stages_of_all(const VkDependencyInfo *infos, uint32_t count)
{
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; infos && i < count; i++)
        stages |= stages_of(&infos[i]);
    return stages;
}

/* The stages that a command uses. */
static VkPipelineStageFlags2 command_stages(uint32_t command, const void *raw)
{
    switch (command) {
    case GEN_vkCmdPipelineBarrier: {
        const struct gen_args_vkCmdPipelineBarrier *args = raw;
        return (VkPipelineStageFlags2)args->srcStageMask | args->dstStageMask;
    }
    case GEN_vkCmdWaitEvents: {
        const struct gen_args_vkCmdWaitEvents *args = raw;
        return (VkPipelineStageFlags2)args->srcStageMask | args->dstStageMask;
    }
    case GEN_vkCmdSetEvent:
        return ((const struct gen_args_vkCmdSetEvent *)raw)->stageMask;
    case GEN_vkCmdResetEvent:
        return ((const struct gen_args_vkCmdResetEvent *)raw)->stageMask;
    case GEN_vkCmdWriteTimestamp:
        return (VkPipelineStageFlags2)((const struct gen_args_vkCmdWriteTimestamp *)raw)->pipelineStage;
    case GEN_vkCmdPipelineBarrier2:
        return stages_of(((const struct gen_args_vkCmdPipelineBarrier2 *)raw)->pDependencyInfo);
    case GEN_vkCmdSetEvent2:
        return stages_of(((const struct gen_args_vkCmdSetEvent2 *)raw)->pDependencyInfo);
    case GEN_vkCmdWaitEvents2: {
        const struct gen_args_vkCmdWaitEvents2 *args = raw;
        return stages_of_all(args->pDependencyInfos, args->eventCount);
    }
    case GEN_vkCmdResetEvent2:
        return ((const struct gen_args_vkCmdResetEvent2 *)raw)->stageMask;
    case GEN_vkCmdWriteTimestamp2:
        return ((const struct gen_args_vkCmdWriteTimestamp2 *)raw)->stage;
    default:
        return 0;
    }
}

static bool copies_image_parts(uint32_t command)
{
    switch (command) {
    case GEN_vkCmdCopyImage:
    case GEN_vkCmdCopyImage2:
    case GEN_vkCmdCopyBufferToImage:
    case GEN_vkCmdCopyBufferToImage2:
    case GEN_vkCmdCopyImageToBuffer:
    case GEN_vkCmdCopyImageToBuffer2:
        return true;
    default:
        return false;
    }
}

/* The requirements of a block do not depend on the family it is recorded for. */
static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    struct queue_use *use = state;
    struct queue_family_use *block;

    if (call->block != use->block) {
        enum lap_status status = need(use, &use->blocks, call->block, 1, &use->block_use);
        if (status != LAP_OK)
            return status;
        use->block = call->block;
    }
    block = use->block_use;
    add_kinds(block, gen_command_queues[call->command]);
    block->stages |= command_stages(call->command, call->args);
    block->image_copies = block->image_copies || copies_image_parts(call->command);
    block->timestamps =
        block->timestamps || call->command == GEN_vkCmdWriteTimestamp || call->command == GEN_vkCmdWriteTimestamp2;
    return LAP_OK;
}

/* ---- packets ---- */

static void use_block(struct queue_use *use, const struct gen_args_lapilliBlock *args)
{
    struct queue_family_use *family = lap_map_get(&use->command_buffers, gen_u64_VkCommandBuffer(args->commandBuffer));
    const struct queue_family_use *block = lap_map_get(&use->blocks, args->block);

    if (!family || !block)
        return;
    family->one_of |= block->one_of;
    family->other |= block->other;
    family->stages |= block->stages;
    family->image_copies = family->image_copies || block->image_copies;
    family->timestamps = family->timestamps || block->timestamps;
}

static VkPipelineStageFlags2 submit_stages(const struct gen_args_vkQueueSubmit *args)
{
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; args->pSubmits && i < args->submitCount; i++)
        for (uint32_t j = 0; args->pSubmits[i].pWaitDstStageMask && j < args->pSubmits[i].waitSemaphoreCount; j++)
            stages |= args->pSubmits[i].pWaitDstStageMask[j];
    return stages;
}

static VkPipelineStageFlags2 submit2_stages(const struct gen_args_vkQueueSubmit2 *args)
{
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; args->pSubmits && i < args->submitCount; i++) {
        const VkSubmitInfo2 *info = &args->pSubmits[i];
        for (uint32_t j = 0; info->pWaitSemaphoreInfos && j < info->waitSemaphoreInfoCount; j++)
            stages |= info->pWaitSemaphoreInfos[j].stageMask;
        for (uint32_t j = 0; info->pSignalSemaphoreInfos && j < info->signalSemaphoreInfoCount; j++)
            stages |= info->pSignalSemaphoreInfos[j].stageMask;
    }
    return stages;
}

/* Adds the requirements of an operation on the queue itself. */
static void use_queue(struct queue_use *use, VkQueue queue, VkQueueFlags kinds, VkPipelineStageFlags2 stages)
{
    struct queue_family_use *family = lap_map_get(&use->queues, gen_u64_VkQueue(queue));

    if (!family)
        return;
    add_kinds(family, kinds);
    family->stages |= stages;
}

static enum lap_status use_buffers(struct queue_use *use, const struct gen_args_vkAllocateCommandBuffers *args)
{
    const VkCommandBufferAllocateInfo *info = args->pAllocateInfo;
    struct queue_family_use *family = info ? lap_map_get(&use->pools, gen_u64_VkCommandPool(info->commandPool)) : NULL;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; family && args->pCommandBuffers && i < info->commandBufferCount && status == LAP_OK; i++)
        status = lap_map_put(&use->command_buffers, gen_u64_VkCommandBuffer(args->pCommandBuffers[i]), family, NULL);
    return status;
}

static const uint16_t commands[] = {GEN_vkCreateCommandPool, GEN_vkAllocateCommandBuffers,
                                    GEN_lapilliBlock,        GEN_vkGetDeviceQueue,
                                    GEN_vkGetDeviceQueue2,   GEN_vkQueueBindSparse,
                                    GEN_vkQueuePresentKHR,   GEN_vkQueueSubmit,
                                    GEN_vkQueueSubmit2,      GEN_COMMAND_NONE};

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct queue_use *use = state;

    switch (call->command) {
    case GEN_vkCreateCommandPool: {
        const struct gen_args_vkCreateCommandPool *args = call->args;
        return args->pCreateInfo && args->pCommandPool
                   ? put_family(use, &use->pools, gen_u64_VkCommandPool(*args->pCommandPool), args->device,
                                args->pCreateInfo->queueFamilyIndex)
                   : LAP_OK;
    }
    case GEN_vkAllocateCommandBuffers:
        return use_buffers(use, call->args);
    case GEN_lapilliBlock:
        use_block(use, call->args);
        break;
    case GEN_vkGetDeviceQueue: {
        const struct gen_args_vkGetDeviceQueue *args = call->args;
        return args->pQueue
                   ? put_family(use, &use->queues, gen_u64_VkQueue(*args->pQueue), args->device, args->queueFamilyIndex)
                   : LAP_OK;
    }
    case GEN_vkGetDeviceQueue2: {
        const struct gen_args_vkGetDeviceQueue2 *args = call->args;
        return args->pQueue && args->pQueueInfo ? put_family(use, &use->queues, gen_u64_VkQueue(*args->pQueue),
                                                             args->device, args->pQueueInfo->queueFamilyIndex)
                                                : LAP_OK;
    }
    case GEN_vkQueueBindSparse:
        use_queue(use, ((const struct gen_args_vkQueueBindSparse *)call->args)->queue,
                  gen_command_queues[call->command], 0);
        break;
    case GEN_vkQueuePresentKHR: /* a replay copies from the image there */
        use_queue(use, ((const struct gen_args_vkQueuePresentKHR *)call->args)->queue,
                  VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 0);
        break;
    case GEN_vkQueueSubmit:
        use_queue(use, ((const struct gen_args_vkQueueSubmit *)call->args)->queue, 0, submit_stages(call->args));
        break;
    case GEN_vkQueueSubmit2:
        use_queue(use, ((const struct gen_args_vkQueueSubmit2 *)call->args)->queue, 0, submit2_stages(call->args));
        break;
    default:
        break;
    }
    return LAP_OK;
}

/* ---- the part ---- */

void *queue_use_create(void)
{
    struct queue_use *use = calloc(1, sizeof *use);

    if (!use)
        return NULL;
    lap_arena_init(&use->arena, 0);
    lap_map_init(&use->devices);
    lap_map_init(&use->pools);
    lap_map_init(&use->command_buffers);
    lap_map_init(&use->queues);
    lap_map_init(&use->blocks);
    return use;
}

void queue_use_destroy(void *part)
{
    struct queue_use *use = part;

    if (!use)
        return;
    lap_map_finish(&use->blocks);
    lap_map_finish(&use->queues);
    lap_map_finish(&use->command_buffers);
    lap_map_finish(&use->pools);
    lap_map_finish(&use->devices);
    lap_arena_finish(&use->arena);
    free(use);
}

void queue_use_visitor(void *part, struct trace_visitor *out)
{
    *out =
        (struct trace_visitor){.commands = commands, .visit = visit, .visit_in_block = visit_in_block, .state = part};
}

const struct queue_family_use *queue_use_of(const struct queue_use *use, uint64_t device, uint32_t family)
{
    const struct queue_family_use *families = lap_map_get(&use->devices, device);
    return families && family < QUEUE_USE_FAMILIES ? &families[family] : NULL;
}
