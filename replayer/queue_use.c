/* SPDX-License-Identifier: MIT */
#include "replayer/queue_use.h"

#include <stdlib.h>

#include "base/map.h"
#include "codegen/support/block.h"
#include "codegen/support/dictionary.h"
#include "gen_ids.h"

struct use {
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_arena arena;
    struct lap_dec_source source;
    uint64_t device;
    struct replay_recorded_family *families;
    struct lap_map pools, command_buffers, queues; /* [index in the trace]: 1 + the family */
    struct replay_family_needs needs[REPLAY_MAX_FAMILIES];
    uint32_t *done; /* [blob]: families that it was looked at for; command buffers that are the same share one */
    uint64_t blob_count;
};

static enum lap_status put(struct lap_map *map, uint64_t index, uint64_t family)
{
    return lap_map_put(map, index, (void *)(uintptr_t)(family + 1), NULL);
}

/* REPLAY_MAX_FAMILIES: of another device, or not known. */
static uint32_t family_of(const struct lap_map *map, uint64_t index)
{
    uintptr_t family = (uintptr_t)lap_map_get(map, index);
    return family && family <= REPLAY_MAX_FAMILIES ? (uint32_t)family - 1 : REPLAY_MAX_FAMILIES;
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

/* Of the commands that name stages. */
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

static enum lap_status use_block(struct use *u, uint32_t family, uint64_t id)
{
    struct replay_family_needs *needs = &u->needs[family];
    VkQueueFlags flags = u->families[family].flags;
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    uint32_t command;
    enum lap_status status;

    if (id < u->blob_count && (u->done[id] >> family & 1))
        return LAP_OK;
    status = lap_reader_blob(u->reader, LAP_BLOB_BLOCK, id, &data, &bytes);
    if (status != LAP_OK)
        return status;
    if (id < u->blob_count)
        u->done[id] |= 1u << family;
    lap_block_init(&block, data, bytes, 0, &u->dictionary, &u->arena, &u->source);
    for (;;) {
        lap_arena_reset(&u->arena);
        status = lap_block_next(&block, &command, &args);
        if (status != LAP_OK)
            return status == LAP_END ? LAP_OK : status;
        replay_needs_kinds(needs, gen_command_queues[command]);
        replay_needs_stages(needs, command_stages(command, args.bytes), flags);
        needs->image_copies = needs->image_copies || copies_image_parts(command);
        needs->timestamps =
            needs->timestamps || command == GEN_vkCmdWriteTimestamp || command == GEN_vkCmdWriteTimestamp2;
    }
}

/* ---- packets ---- */

static void use_submit(struct use *u, const struct gen_args_vkQueueSubmit *args)
{
    uint32_t family = family_of(&u->queues, gen_u64_VkQueue(args->queue));
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; args->pSubmits && i < args->submitCount; i++)
        for (uint32_t j = 0; args->pSubmits[i].pWaitDstStageMask && j < args->pSubmits[i].waitSemaphoreCount; j++)
            stages |= args->pSubmits[i].pWaitDstStageMask[j];
    if (family < REPLAY_MAX_FAMILIES)
        replay_needs_stages(&u->needs[family], stages, u->families[family].flags);
}

static void use_submit2(struct use *u, const struct gen_args_vkQueueSubmit2 *args)
{
    uint32_t family = family_of(&u->queues, gen_u64_VkQueue(args->queue));
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; args->pSubmits && i < args->submitCount; i++) {
        const VkSubmitInfo2 *info = &args->pSubmits[i];
        for (uint32_t j = 0; info->pWaitSemaphoreInfos && j < info->waitSemaphoreInfoCount; j++)
            stages |= info->pWaitSemaphoreInfos[j].stageMask;
        for (uint32_t j = 0; info->pSignalSemaphoreInfos && j < info->signalSemaphoreInfoCount; j++)
            stages |= info->pSignalSemaphoreInfos[j].stageMask;
    }
    if (family < REPLAY_MAX_FAMILIES)
        replay_needs_stages(&u->needs[family], stages, u->families[family].flags);
}

/* What is done on the queue itself. A present is copied from there. */
static void use_queue(struct use *u, VkQueue queue, VkQueueFlags kinds)
{
    uint32_t family = family_of(&u->queues, gen_u64_VkQueue(queue));

    if (family < REPLAY_MAX_FAMILIES)
        replay_needs_kinds(&u->needs[family], kinds);
}

static enum lap_status use_buffers(struct use *u, const struct gen_args_vkAllocateCommandBuffers *args)
{
    const VkCommandBufferAllocateInfo *info = args->pAllocateInfo;
    uint32_t family = info ? family_of(&u->pools, gen_u64_VkCommandPool(info->commandPool)) : REPLAY_MAX_FAMILIES;
    enum lap_status status = LAP_OK;

    if (family == REPLAY_MAX_FAMILIES || !args->pCommandBuffers)
        return LAP_OK;
    for (uint32_t i = 0; i < info->commandBufferCount && status == LAP_OK; i++)
        status = put(&u->command_buffers, gen_u64_VkCommandBuffer(args->pCommandBuffers[i]), family);
    return status;
}

static enum lap_status use_args(struct use *u, uint32_t command, const void *raw)
{
    switch (command) {
    case GEN_vkCreateCommandPool: {
        const struct gen_args_vkCreateCommandPool *args = raw;
        return gen_u64_VkDevice(args->device) == u->device && args->pCreateInfo && args->pCommandPool
                   ? put(&u->pools, gen_u64_VkCommandPool(*args->pCommandPool), args->pCreateInfo->queueFamilyIndex)
                   : LAP_OK;
    }
    case GEN_vkAllocateCommandBuffers:
        return use_buffers(u, raw);
    case GEN_lapilliBlock: {
        const struct gen_args_lapilliBlock *args = raw;
        uint32_t family = family_of(&u->command_buffers, gen_u64_VkCommandBuffer(args->commandBuffer));
        return family < REPLAY_MAX_FAMILIES ? use_block(u, family, args->block) : LAP_OK;
    }
    case GEN_vkGetDeviceQueue: {
        const struct gen_args_vkGetDeviceQueue *args = raw;
        return gen_u64_VkDevice(args->device) == u->device && args->pQueue
                   ? put(&u->queues, gen_u64_VkQueue(*args->pQueue), args->queueFamilyIndex)
                   : LAP_OK;
    }
    case GEN_vkGetDeviceQueue2: {
        const struct gen_args_vkGetDeviceQueue2 *args = raw;
        return gen_u64_VkDevice(args->device) == u->device && args->pQueue && args->pQueueInfo
                   ? put(&u->queues, gen_u64_VkQueue(*args->pQueue), args->pQueueInfo->queueFamilyIndex)
                   : LAP_OK;
    }
    case GEN_vkQueueBindSparse:
        use_queue(u, ((const struct gen_args_vkQueueBindSparse *)raw)->queue, gen_command_queues[command]);
        break;
    case GEN_vkQueuePresentKHR:
        use_queue(u, ((const struct gen_args_vkQueuePresentKHR *)raw)->queue,
                  VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT);
        break;
    case GEN_vkQueueSubmit:
        use_submit(u, raw);
        break;
    case GEN_vkQueueSubmit2:
        use_submit2(u, raw);
        break;
    default:
        break;
    }
    return LAP_OK;
}

static bool is_wanted(uint32_t command)
{
    switch (command) {
    case GEN_vkCreateCommandPool:
    case GEN_vkAllocateCommandBuffers:
    case GEN_lapilliBlock:
    case GEN_vkGetDeviceQueue:
    case GEN_vkGetDeviceQueue2:
    case GEN_vkQueueBindSparse:
    case GEN_vkQueuePresentKHR:
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        return true;
    default:
        return false;
    }
}

static enum lap_status use_packet(struct use *u, const struct lap_packet *packet)
{
    uint32_t command = lap_dictionary_command(&u->dictionary, packet->command);
    struct lap_args args;
    struct lap_dec dec;

    if (packet->flags & LAP_PACKET_FAILED || !is_wanted(command))
        return LAP_OK;
    lap_arena_reset(&u->arena);
    lap_dec_init(&dec, packet->body, packet->bytes, &u->arena, &u->source);
    gen_decode_table[command](&dec, args.bytes);
    return dec.status == LAP_OK ? use_args(u, command, args.bytes) : dec.status;
}

enum lap_status replay_find_queue_use(const struct lap_reader *trace, uint64_t device,
                                      struct replay_recorded_family families[REPLAY_MAX_FAMILIES])
{
    struct use use = {.device = device, .families = families};
    struct lap_packet packet;
    enum lap_status status = lap_reader_open_again(trace, NULL, &use.reader);

    if (status != LAP_OK)
        return status;
    lap_arena_init(&use.arena, (size_t)1 << 30);
    lap_map_init(&use.pools);
    lap_map_init(&use.command_buffers);
    lap_map_init(&use.queues);
    use.blob_count = lap_reader_summary(use.reader)->blobs + 1;
    use.done = calloc(use.blob_count, sizeof *use.done);
    status = use.done ? lap_dictionary_init(&use.dictionary, use.reader) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    use.source = lap_dictionary_source(&use.dictionary);
    while (status == LAP_OK && (status = lap_reader_next(use.reader, &packet)) == LAP_OK)
        status = use_packet(&use, &packet);
    if (status == LAP_END) {
        for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++)
            families[i].needs = use.needs[i];
        status = LAP_OK;
    }
    free(use.done);
    lap_map_finish(&use.queues);
    lap_map_finish(&use.command_buffers);
    lap_map_finish(&use.pools);
    lap_dictionary_release(&use.dictionary);
    lap_arena_finish(&use.arena);
    lap_reader_close(&use.reader);
    return status;
}
