/* SPDX-License-Identifier: MIT */
#include "inspector/twin/weave.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/twin/weave_internal.h"
#include "vulkan/pass.h"

#define WEAVE_COMMANDS                                                                                                 \
    RECORDINGS_COMMANDS, GEN_vkCreateRenderPass, GEN_vkCreateRenderPass2, GEN_vkCreateBuffer, GEN_lapilliBindBuffer,   \
        GEN_lapilliBindImage, GEN_vkCreateQueryPool, GEN_vkCreateDevice, GEN_vkQueueSubmit, GEN_vkQueueSubmit2
#define PRIMARY_NUMBERS 3u /* frame, submit, command buffer */

/* ---- what is woven ---- */

struct weave_pass *weave_pass_of(struct weave *w, uint64_t number)
{
    for (size_t i = 0; i < w->pass_count; i++)
        if (w->passes[i].number == number)
            return &w->passes[i];
    return NULL;
}

static enum lap_status list_stop(struct weave *w, size_t number)
{
    const struct weave_stop *stop = &w->plan->stops[number];
    const struct position in = position_up_to(&stop->position, PRIMARY_NUMBERS);
    struct weave_primary *last = w->primary_count ? &w->primaries[w->primary_count - 1] : NULL;

    if (stop->begin.count && stop->render_pass && !weave_pass_of(w, stop->render_pass)) {
        if (!lap_array_grow(&w->passes, sizeof *w->passes, &w->pass_capacity, w->pass_count + 1))
            return lap_no_memory("command buffers with more in them");
        w->passes[w->pass_count++] = (struct weave_pass){.number = stop->render_pass};
    }
    if (last && weave_is_same(&last->position, &in)) {
        last->end = number + 1;
        return LAP_OK;
    }
    if (!lap_array_grow(&w->primaries, sizeof *w->primaries, &w->primary_capacity, w->primary_count + 1))
        return lap_no_memory("command buffers with more in them");
    w->primaries[w->primary_count++] = (struct weave_primary){.position = in, .first = number, .end = number + 1};
    return LAP_OK;
}

/* ---- the trace ---- */

static void take_largest(uint64_t *of, uint64_t number)
{
    *of = number > *of ? number : *of;
}

static void see_pass(struct weave *w, const struct trace_call *call, const VkRenderPass *handle)
{
    struct weave_pass *pass = handle ? weave_pass_of(w, gen_u64_VkRenderPass(*handle)) : NULL;

    if (handle)
        take_largest(&w->last_pass, gen_u64_VkRenderPass(*handle));
    if (pass)
        pass->ticket = call->packet->ticket;
}

static void see_buffer(struct weave *w, const VkBuffer *handle)
{
    if (handle)
        take_largest(&w->last_buffer, gen_u64_VkBuffer(*handle));
}

static void see_pool(struct weave *w, const VkQueryPool *handle)
{
    if (handle)
        take_largest(&w->last_pool, gen_u64_VkQueryPool(*handle));
}

static enum lap_status see_device(struct weave *w, const struct trace_call *call, const VkDevice *handle)
{
    if (!handle)
        return LAP_OK;
    if (!lap_array_grow(&w->devices, sizeof *w->devices, &w->device_capacity, w->device_count + 1))
        return lap_no_memory("command buffers with more in them");
    w->devices[w->device_count++] = (struct weave_device){gen_u64_VkDevice(*handle), call->packet->ticket};
    return LAP_OK;
}

/* Submits and primaries are in the same order. */
static void see_submit(struct weave *w, const struct trace_call *call)
{
    struct position at = {.count = PRIMARY_NUMBERS};

    w->submits = call->packet->frame + 1 == w->frame ? w->submits + 1 : 1;
    w->frame = call->packet->frame + 1;
    at.numbers[0] = w->frame;
    at.numbers[1] = w->submits;
    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++)
        for (uint32_t i = 0; i < position_submit_buffers(call, batch); i++) {
            struct recording *recording = recordings_held(&w->recordings, position_submit_buffer(call, batch, i));
            struct weave_primary *p = &w->primaries[w->next_primary];
            at.numbers[2]++;
            if (recording)
                recording->submits++;
            if (w->next_primary >= w->primary_count || !weave_is_same(&p->position, &at))
                continue;
            p->ticket = call->packet->ticket;
            p->batch = batch;
            p->buffer = i;
            p->recording = recording;
            w->next_primary++;
        }
}

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct weave *w = state;

    if (w->plan->probe_count && probes_see(&w->probes, call) != LAP_OK)
        return LAP_ERROR_MEMORY;
    switch (call->command) {
    case GEN_vkCreateRenderPass:
        see_pass(w, call, ((const struct gen_args_vkCreateRenderPass *)call->args)->pRenderPass);
        return LAP_OK;
    case GEN_vkCreateRenderPass2:
        see_pass(w, call, ((const struct gen_args_vkCreateRenderPass2 *)call->args)->pRenderPass);
        return LAP_OK;
    case GEN_vkCreateBuffer:
        see_buffer(w, ((const struct gen_args_vkCreateBuffer *)call->args)->pBuffer);
        return LAP_OK;
    case GEN_vkCreateQueryPool:
        see_pool(w, ((const struct gen_args_vkCreateQueryPool *)call->args)->pQueryPool);
        return LAP_OK;
    case GEN_vkCreateDevice:
        return see_device(w, call, ((const struct gen_args_vkCreateDevice *)call->args)->pDevice);
    case GEN_lapilliBindBuffer:
        take_largest(&w->last_memory,
                     gen_u64_VkDeviceMemory(((const struct gen_args_lapilliBindBuffer *)call->args)->memory));
        return LAP_OK;
    case GEN_lapilliBindImage:
        take_largest(&w->last_memory,
                     gen_u64_VkDeviceMemory(((const struct gen_args_lapilliBindImage *)call->args)->memory));
        return LAP_OK;
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        see_submit(w, call);
        return LAP_OK;
    default:
        return recordings_visit(&w->recordings, call);
    }
}

static enum lap_status see_in_block(void *state, const struct trace_call *call)
{
    return recordings_visit_in_block(&((struct weave *)state)->recordings, call);
}

static enum lap_status read_trace(struct weave *w)
{
    static const uint16_t commands[] = {WEAVE_COMMANDS, GEN_COMMAND_NONE},
                          more[] = {WEAVE_COMMANDS, PROBES_COMMANDS, GEN_COMMAND_NONE};
    const struct trace_visitor visitor = {
        .commands = w->plan->probe_count ? more : commands, .visit = see, .visit_in_block = see_in_block, .state = w};
    const struct position *last = &w->plan->stops[w->plan->stop_count - 1].position;
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = recordings_init(&w->recordings, w->trace);

    if (status == LAP_OK)
        status = trace_pass_run(w->trace, w->plan->ends ? last->numbers[0] : w->plan->last_frame, &visitor, 1);
    for (size_t i = 0; i < w->primary_count && status == LAP_OK; i++)
        if (!w->primaries[i].ticket)
            status = lap_fail(LAP_ERROR_ARGUMENT, "there is no command buffer %s",
                              position_text(&w->primaries[i].position, text));
        else if (!w->primaries[i].recording)
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "the command buffer %s can't be recorded differently",
                              position_text(&w->primaries[i].position, text));
    for (size_t i = 0; i < w->pass_count && status == LAP_OK; i++)
        if (!w->passes[i].ticket)
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "nothing creates VkRenderPass:%" PRIu64, w->passes[i].number);
    return status;
}

/* ---- new objects ---- */

static enum lap_status put_pass(struct weave *w, struct weave_pass *pass, enum piece piece)
{
    VkRenderPass handle = gen_VkRenderPass(++w->last_pass);
    void *args = w->twins.packet.args.bytes;
    enum lap_status status = position_packet_read(&w->twins.packet, pass->ticket);

    if (status != LAP_OK)
        return status;
    pass->twins[piece] = w->last_pass;
    if (w->twins.packet.command == GEN_vkCreateRenderPass) {
        struct gen_args_vkCreateRenderPass *create = args;
        pass_piece(create->pCreateInfo, piece);
        create->pRenderPass = &handle;
    } else {
        struct gen_args_vkCreateRenderPass2 *create = args;
        pass_piece2(create->pCreateInfo, piece);
        create->pRenderPass = &handle;
    }
    return twins_put_packet(&w->twins, pass->ticket, w->twins.packet.command, args);
}

/* The device of all command buffers, where it is made, and the packet with the first recording of them. */
static enum lap_status find_device(const struct weave *w, uint64_t *out_device, uint64_t *out_ticket,
                                   uint64_t *out_first)
{
    *out_device = 0;
    *out_first = UINT64_MAX;
    for (size_t i = 0; i < w->primary_count; i++) {
        const struct recording *recording = w->primaries[i].recording;
        const struct recorded_allocation *allocation = recordings_allocation(&w->recordings, recording->command_buffer);
        if (!allocation)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing allocates VkCommandBuffer:%" PRIu64,
                            recording->command_buffer);
        if (*out_device && allocation->device != *out_device)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "its command buffers are of several devices");
        *out_device = allocation->device;
        *out_first = recording->ticket < *out_first ? recording->ticket : *out_first;
    }
    for (size_t i = w->device_count; i-- > 0;)
        if (w->devices[i].number == *out_device) {
            *out_ticket = w->devices[i].ticket;
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing creates VkDevice:%" PRIu64, *out_device);
}

/* The buffer stands in front of all twins. */
static enum lap_status put_buffer(struct weave *w, uint64_t device, uint64_t ticket)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = w->plan->bytes,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              (w->plan->probe_count ? VK_BUFFER_USAGE_STORAGE_BUFFER_BIT : 0)};
    VkBuffer buffer = gen_VkBuffer(w->result->buffer = w->last_buffer + 1);
    const struct gen_args_vkCreateBuffer create = {
        .device = gen_VkDevice(device), .pCreateInfo = &info, .pBuffer = &buffer};
    const struct gen_args_lapilliBindBuffer bind = {.buffer = buffer,
                                                    .memory = gen_VkDeviceMemory(w->last_memory + 1),
                                                    .size = info.size,
                                                    .propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
    enum lap_status status = twins_put_packet(&w->twins, ticket, GEN_vkCreateBuffer, &create);

    return status == LAP_OK ? twins_put_packet(&w->twins, ticket, GEN_lapilliBindBuffer, &bind) : status;
}

/* A pool lives as long as its device. */
static enum lap_status put_pool(struct weave *w, uint64_t device, uint64_t device_ticket, VkQueryType type,
                                uint32_t count, uint64_t *out)
{
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = type,
                                        .queryCount = count,
                                        .pipelineStatistics =
                                            type == VK_QUERY_TYPE_PIPELINE_STATISTICS ? w->plan->statistics : 0};
    VkQueryPool pool = gen_VkQueryPool(*out = ++w->last_pool);
    const struct gen_args_vkCreateQueryPool create = {
        .device = gen_VkDevice(device), .pCreateInfo = &info, .pQueryPool = &pool};

    return twins_put_packet(&w->twins, device_ticket, GEN_vkCreateQueryPool, &create);
}

static enum lap_status put_objects(struct weave *w)
{
    uint64_t device, device_ticket = 0, first;
    enum lap_status status = find_device(w, &device, &device_ticket, &first);

    if (status == LAP_OK && w->plan->bytes)
        status = put_buffer(w, device, first);
    if (status == LAP_OK && w->plan->probe_count) {
        const struct probes_place place = {device, device_ticket, first, w->result->buffer, w->plan->probe_range};
        status = probes_put(&w->probes, &w->twins, &place);
    }
    if (status == LAP_OK && w->plan->timestamps)
        status =
            put_pool(w, device, device_ticket, VK_QUERY_TYPE_TIMESTAMP, w->plan->timestamps, &w->result->timestamps);
    if (status == LAP_OK && w->plan->queries)
        status = put_pool(w, device, device_ticket, VK_QUERY_TYPE_PIPELINE_STATISTICS, w->plan->queries,
                          &w->result->statistics);
    for (size_t i = 0; i < w->pass_count; i++)
        for (enum piece piece = PIECE_FIRST; piece < PIECES && status == LAP_OK; piece++)
            status = put_pass(w, &w->passes[i], piece);
    return status;
}
/* ---- command buffers ---- */

static enum lap_status add_block(struct weave *w, const struct recording *recording, unsigned depth);

static enum lap_status add_executed(struct weave *w, const struct recording *recording, size_t *at,
                                    const struct gen_args_vkCmdExecuteCommands *args, unsigned depth)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCommandBuffers && i < args->commandBufferCount && status == LAP_OK; i++, ++*at) {
        if (*at >= recording->block->executed_count || !recording->executed[*at] ||
            w->now.count + 2 > POSITION_MOST_NUMBERS)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "VkCommandBuffer:%" PRIu64 ", which it executes, is not known",
                            gen_u64_VkCommandBuffer(args->pCommandBuffers[i]));
        w->now.numbers[w->now.count++] = i + 1;
        status = add_block(w, recording->executed[*at], depth + 1);
        w->now.count--;
    }
    return status;
}

/* A subpass where command buffers are not executed any more. */
static enum lap_status add_subpass(struct weave *w, uint32_t command, struct lap_args *args)
{
    if (command == GEN_vkCmdNextSubpass)
        ((struct gen_args_vkCmdNextSubpass *)(void *)args->bytes)->contents = VK_SUBPASS_CONTENTS_INLINE;
    else
        ((VkSubpassBeginInfo *)(uintptr_t)((struct gen_args_vkCmdNextSubpass2 *)(void *)args->bytes)->pSubpassBeginInfo)
            ->contents = VK_SUBPASS_CONTENTS_INLINE;
    return weave_put(w, command, args->bytes);
}

static enum lap_status add_command(struct weave *w, const struct recording *recording, unsigned depth, uint32_t command,
                                   struct lap_args *args, const uint8_t *from, size_t bytes, size_t *executed)
{
    enum lap_status status = LAP_OK;

    switch (lap_pass_step_of(command)) {
    case LAP_PASS_BEGIN:
    case LAP_PASS_BEGIN_RENDERING:
        return weave_begin_pass(w, command, args);
    case LAP_PASS_NEXT:
        return add_subpass(w, command, args);
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        weave_forget_pass(w);
        break;
    case LAP_PASS_NONE:
        if (command == GEN_vkCmdExecuteCommands)
            return add_executed(w, recording, executed, (const void *)args->bytes, depth);
        if (depth && (command == GEN_vkBeginCommandBuffer || command == GEN_vkEndCommandBuffer))
            return LAP_OK;
        status = weave_see_command(w, command, args->bytes, from, bytes);
        break;
    }
    return status == LAP_OK ? twins_add(&w->twins, from, bytes, 1) : status;
}

/* Secondary command buffers begin without state and leave none, so they may stand in the primary one themselves. */
static enum lap_status add_block(struct weave *w, const struct recording *recording, unsigned depth)
{
    struct position_blocks *blocks = &w->inner[depth];
    struct lap_args args;
    size_t executed = 0;
    enum lap_status status = blocks->reader ? LAP_OK : position_blocks_open(blocks, w->trace);

    if (status == LAP_OK)
        status = position_blocks_begin(blocks, recording->block->blob, 0);
    w->now.count++;
    for (uint32_t number = 0; status == LAP_OK; number++) {
        const uint8_t *from = blocks->block.dec.p;
        uint32_t command;
        status = position_blocks_next(blocks, &command, &args);
        w->now.numbers[w->now.count - 1] = number;
        if (status == LAP_OK)
            status = weave_put_stops(w, true);
        if (status == LAP_OK)
            status =
                add_command(w, recording, depth, command, &args, from, (size_t)(blocks->block.dec.p - from), &executed);
        if (status == LAP_OK && !depth && command == GEN_vkBeginCommandBuffer) {
            status = weave_begin_stops(w);
        }
        if (status == LAP_OK && w->use) {
            status = probes_restore(&w->probes, &w->twins, w->use);
            w->use = NULL;
        }
        if (status == LAP_OK)
            status = weave_put_stops(w, false);
    }
    w->now.count--;
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status put_twin(struct weave *w, struct weave_primary *primary)
{
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;

    w->now = primary->position;
    w->next = primary->first;
    w->end = primary->end;
    w->suspends = false;
    twins_begin(&w->twins);
    status = add_block(w, primary->recording, 0);
    weave_forget_pass(w);
    if (status == LAP_OK && w->next < w->end)
        status = lap_fail(LAP_ERROR_ARGUMENT, "%s is no command that is run there",
                          position_text(&w->plan->stops[w->next].position, text));
    if (status != LAP_OK)
        return status;
    primary->suspends = w->suspends;
    primary->in_place = w->plan->in_place && primary->recording->submits == 1 && !primary->recording->is_new;
    return primary->in_place ? twins_replace(&w->twins, primary->recording)
                             : twins_put(&w->twins, primary->recording, &primary->twin);
}

/* Gives submits their twins: primaries of one follow each other. */
static enum lap_status put_submits(struct weave *w)
{
    struct twins_use *uses = calloc(w->primary_count, sizeof *uses);
    enum lap_status status = uses ? LAP_OK : lap_no_memory("command buffers with more in them");

    for (size_t first = 0, end; first < w->primary_count && status == LAP_OK; first = end) {
        size_t count = 0;
        for (end = first; end < w->primary_count && w->primaries[end].ticket == w->primaries[first].ticket; end++)
            if (!w->primaries[end].in_place)
                uses[count++] = (struct twins_use){.ticket = w->primaries[end].ticket,
                                                   .batch = w->primaries[end].batch,
                                                   .buffer = w->primaries[end].buffer,
                                                   .number = w->primaries[end].twin};
        if (count)
            status = twins_submit(&w->twins, uses, count,
                                  w->plan->ends && end == w->primary_count && !w->primaries[end - 1].suspends);
    }
    free(uses);
    return status;
}

static enum lap_status add_edits(struct weave *w)
{
    enum lap_status status = twins_init(&w->twins, w->trace, &w->recordings, w->edits);

    if (status == LAP_OK)
        status = put_objects(w);
    for (size_t i = 0; i < w->primary_count && status == LAP_OK; i++)
        status = put_twin(w, &w->primaries[i]);
    if (status == LAP_OK)
        status = put_submits(w);
    w->result->ticket = w->primaries[w->primary_count - 1].ticket;
    if (status == LAP_OK && w->plan->ends)
        lap_edits_end_at(w->edits, w->result->ticket);
    return status;
}

static void finish(struct weave *w)
{
    twins_finish(&w->twins);
    probes_finish(&w->probes);
    recordings_finish(&w->recordings);
    for (unsigned i = 0; i < POSITION_MOST_NUMBERS; i++)
        if (w->inner[i].reader)
            position_blocks_close(&w->inner[i]);
    lap_arena_finish(&w->arena);
    free(w->passes);
    free(w->primaries);
    free(w->devices);
    free(w->begun);
    free(w->resume.data);
    free(w->resume_last.data);
    free(w->again.data);
    free(w);
}

enum lap_status edit_weave(const struct lap_reader *trace, const struct weave_plan *plan, struct lap_edits *edits,
                           struct weave_result *result)
{
    struct weave *w = calloc(1, sizeof *w);
    enum lap_status status = w ? LAP_OK : lap_no_memory("command buffers with more in them");

    *result = (struct weave_result){.buffer = 0};
    if (!w)
        return status;
    w->trace = trace;
    w->plan = plan;
    w->edits = edits;
    w->result = result;
    lap_arena_init(&w->arena, 0);
    status = probes_init(&w->probes, plan->probes, plan->probe_count);
    for (size_t i = 0; i < plan->stop_count && status == LAP_OK; i++)
        status = list_stop(w, i);
    if (status == LAP_OK)
        status = read_trace(w);
    if (status == LAP_OK)
        status = add_edits(w);
    finish(w);
    return status;
}
