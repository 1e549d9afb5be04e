/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/queue_use.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/analysis/command_queues.h"

struct queue_use {
    struct lap_arena arena;                        /* holds the values of all maps */
    struct lap_map devices;                        /* struct queue_family_use[QUEUE_USE_FAMILIES] */
    struct lap_map pools, command_buffers, queues; /* struct queue_family_use, of the family */
    struct lap_map named;  /* uint64_t, by command_queues_named: command_queues_of_created; those of 0 are left out */
    struct lap_map blocks; /* struct queue_family_use, of the block's commands */
    uint64_t block;        /* the current one */
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

static uint64_t sets_named(const struct queue_use *use, uint64_t key)
{
    const uint64_t *sets = key ? lap_map_get(&use->named, key) : NULL;
    return sets ? *sets : 0;
}

static enum lap_status see_created(struct queue_use *use, const struct trace_call *call)
{
    uint64_t key = command_queues_named(call->command, call->args), *sets;
    uint64_t wanted = key ? command_queues_of_created(call->command, call->args) : 0;

    if (!wanted)
        return LAP_OK;
    sets = lap_arena_zalloc(&use->arena, 1, sizeof *sets, _Alignof(uint64_t));
    if (!sets)
        return lap_no_memory("use of queues");
    *sets = wanted;
    return lap_map_put(&use->named, key, sets, NULL);
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
    block->by_arguments |= command_queues_of_arguments(
        call->command, call->args, sets_named(use, command_queues_named(call->command, call->args)));
    block->stages |= command_queues_stages(call->command, call->args);
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
    family->by_arguments |= block->by_arguments;
    family->stages |= block->stages;
    family->image_copies = family->image_copies || block->image_copies;
    family->timestamps = family->timestamps || block->timestamps;
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

static const uint16_t commands[] = {GEN_vkCreateQueryPool,   GEN_vkCreateDescriptorUpdateTemplate,
                                    GEN_vkCreateCommandPool, GEN_vkAllocateCommandBuffers,
                                    GEN_lapilliBlock,        GEN_vkGetDeviceQueue,
                                    GEN_vkGetDeviceQueue2,   GEN_vkQueueBindSparse,
                                    GEN_vkQueuePresentKHR,   GEN_vkQueueSubmit,
                                    GEN_vkQueueSubmit2,      GEN_COMMAND_NONE};

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct queue_use *use = state;

    switch (call->command) {
    case GEN_vkCreateQueryPool:
    case GEN_vkCreateDescriptorUpdateTemplate:
        return see_created(use, call);
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
    case GEN_vkQueueSubmit: {
        const struct gen_args_vkQueueSubmit *args = call->args;
        use_queue(use, args->queue, 0, command_queues_submit_stages(args->pSubmits, args->submitCount));
        break;
    }
    case GEN_vkQueueSubmit2: {
        const struct gen_args_vkQueueSubmit2 *args = call->args;
        use_queue(use, args->queue, 0, command_queues_submit2_stages(args->pSubmits, args->submitCount));
        break;
    }
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
    lap_map_init(&use->named);
    lap_map_init(&use->blocks);
    return use;
}

void queue_use_destroy(void *part)
{
    struct queue_use *use = part;

    if (!use)
        return;
    lap_map_finish(&use->blocks);
    lap_map_finish(&use->named);
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
