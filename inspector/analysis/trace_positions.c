/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/trace_positions.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"

enum kind { OTHER, DRAW, DISPATCH };

/* The contents of a command buffer. */
struct held {
    size_t block;
    uint64_t draws, dispatches; /* including executed secondary command buffers */
};

struct part {
    struct trace_positions found;
    struct trace_submit *submits;
    struct trace_buffer *buffers;
    struct trace_block *blocks;
    uint32_t *draws;
    size_t submit_capacity, buffer_capacity, block_capacity, draw_capacity;
    struct lap_map numbers; /* [blob]: 1 + the index in blocks */
    /* The secondary command buffers that the blocks execute, in order of blocks. */
    uint64_t *executed;
    size_t executed_count, executed_capacity;
    struct range {
        size_t first, count;
    } * ranges;
    size_t range_capacity;
    struct lap_map held; /* struct held, by command buffer */
    struct lap_arena arena;
    uint64_t blob; /* of the current block */
    uint8_t kinds[GEN_COMMAND_COUNT];
};

static enum lap_status begin_block(struct part *part, uint64_t blob)
{
    size_t count = part->found.block_count;

    if (!lap_array_grow(&part->blocks, sizeof *part->blocks, &part->block_capacity, count + 1) ||
        !lap_array_grow(&part->ranges, sizeof *part->ranges, &part->range_capacity, count + 1))
        return lap_no_memory("the positions of commands");
    part->found.blocks = part->blocks;
    part->blocks[count] = (struct trace_block){.first_draw = part->found.draw_count};
    part->ranges[count] = (struct range){part->executed_count, 0};
    part->blob = blob;
    part->found.block_count++;
    return lap_map_put(&part->numbers, blob, (void *)(uintptr_t)(count + 1), NULL);
}

static enum lap_status add_executed(struct part *part, const struct gen_args_vkCmdExecuteCommands *args)
{
    if (!args->pCommandBuffers)
        return LAP_OK;
    if (!lap_array_grow(&part->executed, sizeof *part->executed, &part->executed_capacity,
                        part->executed_count + args->commandBufferCount))
        return lap_no_memory("the positions of commands");
    for (uint32_t i = 0; i < args->commandBufferCount; i++)
        part->executed[part->executed_count++] = gen_u64_VkCommandBuffer(args->pCommandBuffers[i]);
    part->ranges[part->found.block_count - 1].count += args->commandBufferCount;
    return LAP_OK;
}

static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    struct part *part = state;
    struct trace_block *block;
    enum lap_status status = call->block == part->blob ? LAP_OK : begin_block(part, call->block);

    if (status != LAP_OK)
        return status;
    block = &part->blocks[part->found.block_count - 1];
    block->command_count++;
    if (call->command == GEN_vkCmdExecuteCommands)
        return add_executed(part, call->args);
    if (part->kinds[call->command] == OTHER)
        return LAP_OK;
    if (!lap_array_grow(&part->draws, sizeof *part->draws, &part->draw_capacity, part->found.draw_count + 1))
        return lap_no_memory("the positions of commands");
    part->found.draws = part->draws;
    part->draws[part->found.draw_count++] = call->index;
    if (part->kinds[call->command] == DRAW)
        block->draw_count++;
    else
        block->dispatch_count++;
    return LAP_OK;
}

/* Counts the secondary command buffers as they are now: they can't change before this one is recorded again. */
static enum lap_status hold_block(struct part *part, const struct gen_args_lapilliBlock *args)
{
    uint64_t index = gen_u64_VkCommandBuffer(args->commandBuffer);
    uintptr_t number = (uintptr_t)lap_map_get(&part->numbers, args->block);
    struct held *held = lap_map_get(&part->held, index), total;

    if (!number)
        return LAP_OK;
    total = (struct held){number - 1, part->blocks[number - 1].draw_count, part->blocks[number - 1].dispatch_count};
    for (size_t i = 0; i < part->ranges[number - 1].count; i++) {
        const struct held *other = lap_map_get(&part->held, part->executed[part->ranges[number - 1].first + i]);
        total.draws += other ? other->draws : 0;
        total.dispatches += other ? other->dispatches : 0;
    }
    if (!held) {
        held = lap_arena_zalloc(&part->arena, 1, sizeof *held, _Alignof(struct held));
        if (!held || lap_map_put(&part->held, index, held, NULL) != LAP_OK)
            return lap_no_memory("the positions of commands");
    }
    *held = total;
    return LAP_OK;
}

static enum lap_status begin_submit(struct part *part, const struct trace_call *call, VkQueue queue)
{
    if (!lap_array_grow(&part->submits, sizeof *part->submits, &part->submit_capacity, part->found.submit_count + 1))
        return lap_no_memory("the positions of commands");
    part->found.submits = part->submits;
    part->submits[part->found.submit_count++] = (struct trace_submit){.ticket = call->packet->ticket,
                                                                      .frame = call->packet->frame,
                                                                      .queue = gen_u64_VkQueue(queue),
                                                                      .first_buffer = part->found.buffer_count};
    return LAP_OK;
}

static enum lap_status add_buffer(struct part *part, VkCommandBuffer command_buffer)
{
    uint64_t index = gen_u64_VkCommandBuffer(command_buffer);
    const struct held *held = lap_map_get(&part->held, index);

    if (!lap_array_grow(&part->buffers, sizeof *part->buffers, &part->buffer_capacity, part->found.buffer_count + 1))
        return lap_no_memory("the positions of commands");
    part->found.buffers = part->buffers;
    part->buffers[part->found.buffer_count++] = (struct trace_buffer){index, held ? held->block : SIZE_MAX};
    part->submits[part->found.submit_count - 1].buffer_count++;
    part->found.draws_executed += held ? held->draws : 0;
    part->found.dispatches_executed += held ? held->dispatches : 0;
    return LAP_OK;
}

static enum lap_status add_submit(struct part *part, const struct trace_call *call)
{
    const struct gen_args_vkQueueSubmit *args = call->args;
    enum lap_status status = begin_submit(part, call, args->queue);

    for (uint32_t i = 0; args->pSubmits && i < args->submitCount; i++)
        for (uint32_t j = 0;
             args->pSubmits[i].pCommandBuffers && j < args->pSubmits[i].commandBufferCount && status == LAP_OK; j++)
            status = add_buffer(part, args->pSubmits[i].pCommandBuffers[j]);
    return status;
}

static enum lap_status add_submit2(struct part *part, const struct trace_call *call)
{
    const struct gen_args_vkQueueSubmit2 *args = call->args;
    enum lap_status status = begin_submit(part, call, args->queue);

    for (uint32_t i = 0; args->pSubmits && i < args->submitCount; i++)
        for (uint32_t j = 0;
             args->pSubmits[i].pCommandBufferInfos && j < args->pSubmits[i].commandBufferInfoCount && status == LAP_OK;
             j++)
            status = add_buffer(part, args->pSubmits[i].pCommandBufferInfos[j].commandBuffer);
    return status;
}

static const uint16_t commands[] = {GEN_lapilliBlock, GEN_vkQueueSubmit, GEN_vkQueueSubmit2, GEN_COMMAND_NONE};

static enum lap_status visit(void *state, const struct trace_call *call)
{
    if (call->command == GEN_lapilliBlock)
        return hold_block(state, call->args);
    return call->command == GEN_vkQueueSubmit ? add_submit(state, call) : add_submit2(state, call);
}

void *trace_positions_create(void)
{
    struct part *part = calloc(1, sizeof *part);

    if (!part)
        return NULL;
    lap_map_init(&part->numbers);
    lap_map_init(&part->held);
    lap_arena_init(&part->arena, 0);
    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++)
        part->kinds[i] = strncmp(gen_command_names[i], "vkCmdDraw", 9) == 0        ? DRAW
                         : strncmp(gen_command_names[i], "vkCmdDispatch", 13) == 0 ? DISPATCH
                                                                                   : OTHER;
    return part;
}

void trace_positions_destroy(void *state)
{
    struct part *part = state;

    if (!part)
        return;
    lap_map_finish(&part->numbers);
    lap_map_finish(&part->held);
    lap_arena_finish(&part->arena);
    free(part->submits);
    free(part->buffers);
    free(part->blocks);
    free(part->draws);
    free(part->executed);
    free(part->ranges);
    free(part);
}

void trace_positions_visitor(void *part, struct trace_visitor *out)
{
    *out =
        (struct trace_visitor){.commands = commands, .visit = visit, .visit_in_block = visit_in_block, .state = part};
}

const struct trace_positions *trace_positions_found(const void *part)
{
    return &((const struct part *)part)->found;
}
