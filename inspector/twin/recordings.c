/* SPDX-License-Identifier: MIT */
#include "inspector/twin/recordings.h"

#include <stdlib.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/pass.h"

#define MOST_LEVELS 64u /* of command buffers, one in another */

enum lap_status recordings_init(struct recordings *recordings, const struct lap_reader *trace)
{
    *recordings = (struct recordings){.all = NULL};
    lap_map_init(&recordings->blocks);
    lap_map_init(&recordings->held);
    lap_map_init(&recordings->allocations);
    lap_arena_init(&recordings->arena, 0);
    return position_contents_open(trace, &recordings->kinds);
}

void recordings_finish(struct recordings *recordings)
{
    if (!recordings->kinds)
        return;
    lap_map_finish(&recordings->blocks);
    lap_map_finish(&recordings->held);
    lap_map_finish(&recordings->allocations);
    lap_arena_finish(&recordings->arena);
    position_contents_close(&recordings->kinds);
    free(recordings->commands);
    free(recordings->executed);
    free(recordings->all);
}

/* ---- blocks ---- */

static enum lap_status begin_block(struct recordings *r, uint64_t blob)
{
    struct recorded_block *block = lap_arena_zalloc(&r->arena, 1, sizeof *block, _Alignof(struct recorded_block));

    if (!block || lap_map_put(&r->blocks, blob, block, NULL) != LAP_OK)
        return lap_no_memory("the recordings of command buffers");
    block->blob = blob;
    block->first_command = r->command_count;
    block->first_executed = r->executed_count;
    r->current = block;
    return LAP_OK;
}

/* False: the command does not matter. */
static bool kind_of(const struct recordings *r, uint32_t command, enum recorded_kind *out)
{
    enum lap_pass_step step = lap_pass_step_of(command);

    if (step == LAP_PASS_END || step == LAP_PASS_END_RENDERING) {
        *out = RECORDED_END_PASS;
        return true;
    }
    switch (command) {
    case GEN_vkCmdExecuteCommands:
        *out = RECORDED_EXECUTION;
        return true;
    case GEN_vkCmdBeginDebugUtilsLabelEXT:
    case GEN_vkCmdDebugMarkerBeginEXT:
        *out = RECORDED_BEGIN_LABEL;
        return true;
    case GEN_vkCmdEndDebugUtilsLabelEXT:
    case GEN_vkCmdDebugMarkerEndEXT:
        *out = RECORDED_END_LABEL;
        return true;
    default:
        break;
    }
    switch (position_contents_work(r->kinds, command)) {
    case POSITION_DRAW:
        *out = RECORDED_DRAW;
        return true;
    case POSITION_DISPATCH:
    case POSITION_TRACE:
    case POSITION_TRANSFER:
        *out = RECORDED_WORK;
        return true;
    case POSITION_OTHER:
        *out = RECORDED_OTHER;
        return true;
    case POSITION_PASS:
        *out = RECORDED_BEGIN_PASS;
        return true;
    case POSITION_STATE:
        break;
    }
    return false;
}

static enum lap_status add_executed(struct recordings *r, const struct gen_args_vkCmdExecuteCommands *args,
                                    uint32_t *out_count)
{
    uint32_t count = *out_count = args->pCommandBuffers ? args->commandBufferCount : 0;

    if (!lap_array_grow(&r->executed, sizeof *r->executed, &r->executed_capacity, r->executed_count + count))
        return lap_no_memory("the recordings of command buffers");
    for (uint32_t i = 0; i < count; i++)
        r->executed[r->executed_count++] = gen_u64_VkCommandBuffer(args->pCommandBuffers[i]);
    r->current->executed_count += count;
    return LAP_OK;
}

enum lap_status recordings_visit_in_block(struct recordings *r, const struct trace_call *call)
{
    struct recorded_command mine = {.number = call->index, .command = (uint16_t)call->command};
    enum recorded_kind kind;
    enum lap_status status = r->current && r->current->blob == call->block ? LAP_OK : begin_block(r, call->block);

    if (status == LAP_OK && call->command == GEN_vkBeginCommandBuffer) {
        const VkCommandBufferBeginInfo *info = ((const struct gen_args_vkBeginCommandBuffer *)call->args)->pBeginInfo;
        r->current->simultaneous = info && info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    }
    if (status != LAP_OK || !kind_of(r, call->command, &kind))
        return status;
    mine.kind = (uint16_t)kind;
    if (kind == RECORDED_EXECUTION)
        status = add_executed(r, call->args, &mine.executed);
    if (!lap_array_grow(&r->commands, sizeof *r->commands, &r->command_capacity, r->command_count + 1))
        return lap_no_memory("the recordings of command buffers");
    r->commands[r->command_count++] = mine;
    r->current->command_count++;
    r->current->draws += kind == RECORDED_DRAW;
    r->current->works += kind == RECORDED_DRAW || kind == RECORDED_WORK;
    return status;
}

/* ---- packets ---- */

static enum lap_status allocate(struct recordings *r, const struct gen_args_vkAllocateCommandBuffers *args)
{
    const VkCommandBufferAllocateInfo *info = args->pAllocateInfo;

    for (uint32_t i = 0; info && args->pCommandBuffers && i < info->commandBufferCount; i++) {
        uint64_t number = gen_u64_VkCommandBuffer(args->pCommandBuffers[i]);
        struct recorded_allocation *allocation =
            lap_arena_alloc(&r->arena, sizeof *allocation, _Alignof(struct recorded_allocation));
        if (!allocation || (number && lap_map_put(&r->allocations, number, allocation, NULL) != LAP_OK))
            return lap_no_memory("the recordings of command buffers");
        *allocation = (struct recorded_allocation){gen_u64_VkDevice(args->device),
                                                   gen_u64_VkCommandPool(info->commandPool), info->level};
        r->last_number = number > r->last_number ? number : r->last_number;
    }
    return LAP_OK;
}

static enum lap_status record(struct recordings *r, const struct gen_args_lapilliBlock *args,
                              const struct lap_packet *packet)
{
    uint64_t number = gen_u64_VkCommandBuffer(args->commandBuffer);
    const struct recorded_block *block = lap_map_get(&r->blocks, args->block);
    struct recording *recording;

    if (!block)
        return LAP_OK;
    recording = lap_arena_alloc(&r->arena, sizeof *recording, _Alignof(struct recording));
    if (!recording || !lap_array_grow(&r->all, sizeof(struct recording *), &r->capacity, r->count + 1))
        return lap_no_memory("the recordings of command buffers");
    *recording = (struct recording){.ticket = packet->ticket,
                                    .is_new = packet->is_new,
                                    .command_buffer = number,
                                    .block = block,
                                    .draws = block->draws,
                                    .works = block->works};
    if (block->executed_count)
        recording->executed = lap_arena_alloc(&r->arena, block->executed_count * sizeof(struct recording *),
                                              _Alignof(struct recording *));
    if (block->executed_count && !recording->executed)
        return lap_no_memory("the recordings of command buffers");
    for (size_t i = 0; i < block->executed_count; i++) {
        struct recording *inner = recordings_held(r, r->executed[block->first_executed + i]);
        recording->executed[i] = inner && inner->level < MOST_LEVELS ? inner : NULL;
        if (!recording->executed[i])
            continue;
        recording->draws += inner->draws;
        recording->works += inner->works;
        recording->level = inner->level >= recording->level ? inner->level + 1 : recording->level;
    }
    r->all[r->count++] = recording;
    return lap_map_put(&r->held, number, recording, NULL) == LAP_OK
               ? LAP_OK
               : lap_no_memory("the recordings of command buffers");
}

enum lap_status recordings_visit(struct recordings *recordings, const struct trace_call *call)
{
    if (call->command == GEN_vkAllocateCommandBuffers)
        return allocate(recordings, call->args);
    return call->command == GEN_lapilliBlock ? record(recordings, call->args, call->packet) : LAP_OK;
}

struct recording *recordings_held(const struct recordings *recordings, uint64_t command_buffer)
{
    return lap_map_get(&recordings->held, command_buffer);
}

const struct recorded_allocation *recordings_allocation(const struct recordings *recordings, uint64_t command_buffer)
{
    return lap_map_get(&recordings->allocations, command_buffer);
}
