/* SPDX-License-Identifier: MIT */
#include "inspector/twin/twins.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_encode.h"
#include "gen_encode_block.h"

#define MOST_TWINS 200000u /* a trace where a replay's tables hold them has fewer */

enum lap_status twins_init(struct twins *twins, const struct lap_reader *trace, const struct recordings *recordings,
                           struct lap_edits *edits)
{
    enum lap_status status;

    *twins = (struct twins){.recordings = recordings,
                            .edits = edits,
                            .first_number = recordings->last_number + 1,
                            .number = recordings->last_number + 1};
    status = position_blocks_open(&twins->blocks, trace);
    if (status == LAP_OK)
        status = position_packet_open(&twins->packet, trace);
    recode_init(&twins->recode, &twins->blocks.dictionary);
    return status;
}

void twins_finish(struct twins *twins)
{
    if (!twins->edits)
        return;
    recode_finish(&twins->recode);
    position_packet_close(&twins->packet);
    position_blocks_close(&twins->blocks);
    free(twins->bytes);
}

/* ---- a block ---- */

void twins_begin(struct twins *twins)
{
    twins->byte_count = 0;
    twins->commands = 0;
}

enum lap_status twins_add(struct twins *twins, const uint8_t *data, size_t bytes, uint32_t commands)
{
    if (!lap_array_grow(&twins->bytes, 1, &twins->byte_capacity, twins->byte_count + bytes))
        return lap_no_memory("other command buffers");
    if (bytes)
        memcpy(twins->bytes + twins->byte_count, data, bytes);
    twins->byte_count += bytes;
    twins->commands += commands;
    return LAP_OK;
}

static enum lap_status encode_execution(struct twins *twins, uint32_t count, const uint64_t *buffers)
{
    struct lap_enc *enc = &twins->recode.enc;
    VkCommandBuffer *handles = calloc((size_t)count + 1, sizeof(VkCommandBuffer));
    uint32_t number = 0;
    enum lap_status status = handles ? recode_number(&twins->recode, GEN_vkCmdExecuteCommands, &number)
                                     : lap_no_memory("other command buffers");

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        handles[i] = gen_VkCommandBuffer(buffers[i]);
        recode_know(&twins->recode, GEN_HANDLE_VkCommandBuffer, buffers[i]);
    }
    if (status == LAP_OK && lap_enc_reserve(enc, LAP_WIRE_MAX_VARINT)) {
        lap_put_u64(enc, number);
        gen_encode_vkCmdExecuteCommands(enc, count, handles);
    }
    free(handles);
    return status;
}

enum lap_status twins_add_encoded(struct twins *twins, uint32_t commands)
{
    const struct lap_enc *enc = &twins->recode.enc;
    enum lap_status status = recode_status(&twins->recode);

    return status == LAP_OK ? twins_add(twins, enc->base, (size_t)(enc->p - enc->base), commands) : status;
}

enum lap_status twins_add_command(struct twins *twins, uint32_t command, const void *args)
{
    enum lap_status status;

    lap_enc_reset(&twins->recode.enc);
    status = recode_command(&twins->recode, command, args);
    return status == LAP_OK ? twins_add_encoded(twins, 1) : status;
}

enum lap_status twins_add_execution(struct twins *twins, uint32_t count, const uint64_t *buffers)
{
    enum lap_status status;

    lap_enc_reset(&twins->recode.enc);
    status = encode_execution(twins, count, buffers);
    return status == LAP_OK ? twins_add_encoded(twins, 1) : status;
}

/* The command buffers of the recording's next execution. */
static const uint64_t *next_executed(const struct lap_args *args, const uint64_t *executed, size_t *at,
                                     uint32_t *out_count)
{
    const struct gen_args_vkCmdExecuteCommands *execution = (const void *)args->bytes;
    const uint64_t *first = executed + *at;

    *out_count = execution->pCommandBuffers ? execution->commandBufferCount : 0;
    *at += *out_count;
    for (uint32_t i = 0; i < *out_count; i++)
        if (first[i] != gen_u64_VkCommandBuffer(execution->pCommandBuffers[i]))
            return first;
    return NULL; /* as they are */
}

enum lap_status twins_make(struct twins *twins, const struct recording *recording, const uint32_t *dropped,
                           size_t dropped_count, const uint64_t *executed)
{
    const struct lap_dec *dec = &twins->blocks.block.dec;
    const uint32_t *dropped_end = dropped + dropped_count;
    struct lap_args args;
    uint32_t command, number = 0, copied = 0, count = 0;
    size_t at = 0;
    enum lap_status status = position_blocks_begin(&twins->blocks, recording->block->blob, 0);
    const uint8_t *from = dec->p; /* of what is not copied yet */

    twins_begin(twins);
    for (; status == LAP_OK; number++) {
        const uint8_t *here = dec->p;
        bool drop = dropped < dropped_end && *dropped == number;
        const uint64_t *others = NULL;
        status = position_blocks_next(&twins->blocks, &command, &args);
        if (status == LAP_OK && executed && command == GEN_vkCmdExecuteCommands)
            others = next_executed(&args, executed, &at, &count);
        dropped += drop;
        if (status != LAP_OK || (!drop && !others))
            continue;
        status = twins_add(twins, from, (size_t)(here - from), number - copied);
        if (status == LAP_OK && others)
            status = twins_add_execution(twins, count, others);
        from = dec->p;
        copied = number + 1;
    }
    return status == LAP_END ? twins_add(twins, from, (size_t)(dec->p - from), number - 1 - copied) : status;
}

/* ---- edits ---- */

static enum lap_status add_edit(struct twins *twins, uint64_t ticket, enum lap_edit_kind kind, uint32_t command,
                                const uint8_t *body, size_t bytes)
{
    struct lap_edit edit = {
        .ticket = ticket, .kind = kind, .flags = gen_command_flags[command], .body = body, .bytes = bytes};
    enum lap_status status = recode_number(&twins->recode, command, &edit.command);

    return status == LAP_OK ? lap_edits_add(twins->edits, &edit) : status;
}

enum lap_status twins_add_packet(struct twins *twins, uint64_t ticket, enum lap_edit_kind kind, uint32_t command)
{
    const struct lap_enc *enc = &twins->recode.enc;
    enum lap_status status = recode_status(&twins->recode);

    return status == LAP_OK ? add_edit(twins, ticket, kind, command, enc->base, (size_t)(enc->p - enc->base)) : status;
}

enum lap_status twins_put_packet(struct twins *twins, uint64_t ticket, uint32_t command, const void *args)
{
    enum lap_status status = recode_packet(&twins->recode, command, args);

    return status == LAP_OK ? twins_add_packet(twins, ticket, LAP_EDIT_BEHIND, command) : status;
}

static enum lap_status add_block(struct twins *twins, const struct recording *recording, uint64_t command_buffer,
                                 enum lap_edit_kind kind)
{
    uint8_t body[3 * LAP_WIRE_MAX_VARINT], *end;
    uint64_t blob;
    enum lap_status status = lap_edits_blob(twins->edits, LAP_BLOB_BLOCK, twins->bytes, twins->byte_count, &blob);

    if (status != LAP_OK)
        return status;
    end = lap_at_u64(body, command_buffer);
    end = lap_at_u64(end, blob);
    end = lap_at_u64(end, twins->commands);
    return add_edit(twins, recording->ticket, kind, GEN_lapilliBlock, body, (size_t)(end - body));
}

enum lap_status twins_replace(struct twins *twins, const struct recording *recording)
{
    return add_block(twins, recording, recording->command_buffer, LAP_EDIT_INSTEAD);
}

enum lap_status twins_put(struct twins *twins, const struct recording *recording, uint64_t *out)
{
    const struct recorded_allocation *allocation = recordings_allocation(twins->recordings, recording->command_buffer);
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandBufferCount = 1};
    VkCommandBuffer commands = gen_VkCommandBuffer(twins->number);
    enum lap_status status;

    if (!allocation)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing allocates VkCommandBuffer:%" PRIu64, recording->command_buffer);
    if (twins->number - twins->first_number >= MOST_TWINS)
        return lap_fail(LAP_ERROR_LIMIT, "more than %u command buffers would be recorded twice", MOST_TWINS);
    info.commandPool = gen_VkCommandPool(allocation->pool);
    info.level = allocation->level;
    recode_know(&twins->recode, GEN_HANDLE_VkDevice, allocation->device);
    recode_know(&twins->recode, GEN_HANDLE_VkCommandPool, allocation->pool);
    recode_know(&twins->recode, GEN_HANDLE_VkCommandBuffer, twins->number);
    lap_enc_reset(&twins->recode.enc);
    gen_encode_vkAllocateCommandBuffers(&twins->recode.enc, gen_VkDevice(allocation->device), &info, &commands,
                                        VK_SUCCESS);
    status = twins_add_packet(twins, recording->ticket, LAP_EDIT_BEHIND, GEN_vkAllocateCommandBuffers);
    if (status == LAP_OK)
        status = add_block(twins, recording, twins->number, LAP_EDIT_BEHIND);
    *out = twins->number++;
    return status;
}

/* The same commands in a new command buffer. */
static enum lap_status copy(struct twins *twins, const struct recording *recording, uint64_t *out)
{
    uint64_t *executed = NULL;
    enum lap_status status = twins_copy_executed(twins, recording, &executed);

    if (status == LAP_OK)
        status = twins_make(twins, recording, NULL, 0, executed);
    free(executed);
    return status == LAP_OK ? twins_put(twins, recording, out) : status;
}

enum lap_status twins_copy_executed(struct twins *twins, const struct recording *recording, uint64_t **out)
{
    size_t count = recording->block->executed_count;
    uint64_t *executed = *out = calloc(count + 1, sizeof *executed);
    enum lap_status status = executed ? LAP_OK : lap_no_memory("other command buffers");

    for (size_t i = 0; i < count && status == LAP_OK; i++) {
        const struct recording *inner = recording->executed[i];
        executed[i] = twins->recordings->executed[recording->block->first_executed + i];
        if (inner && !inner->block->simultaneous)
            status = copy(twins, inner, &executed[i]);
    }
    return status;
}

/* ---- submits ---- */

static void shorten_chain(const void *chain, uint32_t buffers)
{
    for (const VkBaseInStructure *c = chain; c; c = c->pNext)
        if (c->sType == VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO) {
            VkDeviceGroupSubmitInfo *info = (VkDeviceGroupSubmitInfo *)(uintptr_t)c;
            if (info->commandBufferCount > buffers)
                info->commandBufferCount = buffers;
        }
}

void twins_shorten(uint32_t command, void *args, uint32_t batch, uint32_t buffer)
{
    if (command == GEN_vkQueueSubmit) {
        struct gen_args_vkQueueSubmit *a = args;
        VkSubmitInfo *info = (VkSubmitInfo *)(uintptr_t)&a->pSubmits[batch];
        a->submitCount = batch + 1;
        info->commandBufferCount = buffer + 1;
        shorten_chain(info->pNext, buffer + 1);
    } else {
        struct gen_args_vkQueueSubmit2 *a = args;
        a->submitCount = batch + 1;
        ((VkSubmitInfo2 *)(uintptr_t)&a->pSubmits[batch])->commandBufferInfoCount = buffer + 1;
    }
}

/* Puts other command buffers into decoded parameters: the decoder's memory, so we may change it. */
static void put_buffers(uint32_t command, const void *args, const struct twins_use *use)
{
    VkCommandBuffer buffer = gen_VkCommandBuffer(use->number);

    if (command == GEN_vkQueueSubmit) {
        const VkSubmitInfo *info = &((const struct gen_args_vkQueueSubmit *)args)->pSubmits[use->batch];
        ((VkCommandBuffer *)(uintptr_t)info->pCommandBuffers)[use->buffer] = buffer;
    } else {
        const VkSubmitInfo2 *info = &((const struct gen_args_vkQueueSubmit2 *)args)->pSubmits[use->batch];
        ((VkCommandBufferSubmitInfo *)(uintptr_t)info->pCommandBufferInfos)[use->buffer].commandBuffer = buffer;
    }
}

enum lap_status twins_submit(struct twins *twins, const struct twins_use *uses, size_t count, bool ends)
{
    void *args = twins->packet.args.bytes;
    struct lap_enc *enc = &twins->recode.enc;
    enum lap_status status = position_packet_read(&twins->packet, uses->ticket);
    uint32_t command = twins->packet.command;

    if (status != LAP_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        put_buffers(command, args, &uses[i]);
    if (ends)
        twins_shorten(command, args, uses[count - 1].batch, uses[count - 1].buffer);
    lap_enc_reset(enc);
    recode_know_all(&twins->recode, command, args);
    if (command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *a = args;
        gen_encode_vkQueueSubmit(enc, a->queue, a->submitCount, a->pSubmits, a->fence);
    } else {
        const struct gen_args_vkQueueSubmit2 *a = args;
        gen_encode_vkQueueSubmit2(enc, a->queue, a->submitCount, a->pSubmits, a->fence);
    }
    return twins_add_packet(twins, uses->ticket, LAP_EDIT_INSTEAD, command);
}
