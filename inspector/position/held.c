/* SPDX-License-Identifier: MIT */
#include "inspector/position/held.h"

#include "gen_decode.h"
#include "gen_ids.h"

void position_held_init(struct position_held *held)
{
    lap_map_init(&held->recordings);
    lap_arena_init(&held->arena, 0);
}

void position_held_finish(struct position_held *held)
{
    lap_map_finish(&held->recordings);
    lap_arena_finish(&held->arena);
}

enum lap_status position_held_record(struct position_held *held, const struct trace_call *call)
{
    const struct gen_args_lapilliBlock *args = call->args;
    uint64_t index = gen_u64_VkCommandBuffer(args->commandBuffer);
    struct position_recording *recording = lap_map_get(&held->recordings, index);

    if (!recording) {
        recording = lap_arena_zalloc(&held->arena, 1, sizeof *recording, _Alignof(struct position_recording));
        if (!recording || lap_map_put(&held->recordings, index, recording, NULL) != LAP_OK)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for the positions of commands");
    }
    *recording = (struct position_recording){args->block, call->packet->ticket, args->commandCount};
    return LAP_OK;
}

const struct position_recording *position_held_of(const struct position_held *held, uint64_t command_buffer)
{
    return lap_map_get(&held->recordings, command_buffer);
}

uint32_t position_submit_batches(const struct trace_call *call)
{
    if (call->command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *args = call->args;
        return args->pSubmits ? args->submitCount : 0;
    }
    const struct gen_args_vkQueueSubmit2 *args = call->args;
    return args->pSubmits ? args->submitCount : 0;
}

uint32_t position_submit_buffers(const struct trace_call *call, uint32_t batch)
{
    if (call->command == GEN_vkQueueSubmit) {
        const VkSubmitInfo *info = &((const struct gen_args_vkQueueSubmit *)call->args)->pSubmits[batch];
        return info->pCommandBuffers ? info->commandBufferCount : 0;
    }
    const VkSubmitInfo2 *info = &((const struct gen_args_vkQueueSubmit2 *)call->args)->pSubmits[batch];
    return info->pCommandBufferInfos ? info->commandBufferInfoCount : 0;
}

uint64_t position_submit_buffer(const struct trace_call *call, uint32_t batch, uint32_t buffer)
{
    if (call->command == GEN_vkQueueSubmit)
        return gen_u64_VkCommandBuffer(
            ((const struct gen_args_vkQueueSubmit *)call->args)->pSubmits[batch].pCommandBuffers[buffer]);
    return gen_u64_VkCommandBuffer(((const struct gen_args_vkQueueSubmit2 *)call->args)
                                       ->pSubmits[batch]
                                       .pCommandBufferInfos[buffer]
                                       .commandBuffer);
}

uint64_t position_submit_queue(const struct trace_call *call)
{
    return gen_u64_VkQueue(call->command == GEN_vkQueueSubmit
                               ? ((const struct gen_args_vkQueueSubmit *)call->args)->queue
                               : ((const struct gen_args_vkQueueSubmit2 *)call->args)->queue);
}
