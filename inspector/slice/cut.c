/* SPDX-License-Identifier: MIT */
#include "inspector/slice/cut.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "gen_decode.h"
#include "gen_effects.h"
#include "gen_encode_block.h"
#include "inspector/slice/cut_contents.h"
#include "inspector/slice/cut_draw.h"
#include "inspector/slice/slice.h"
#include "trace/format/info.h"
#include "trace/write/writer.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

#define ARENA_BYTES ((size_t)1 << 30)
#define MOST_HOLES  UINT64_C(900000) /* less than a replay accepts */

struct place { /* of a blob's number in bytes that are copied */
    size_t from, to;
    uint64_t blob; /* new */
};

struct bytes {
    uint8_t *at;
    size_t count, capacity;
};

struct cut {
    const struct cut_options *options;
    struct cut_result *result;
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_dec_source plain, source; /* the latter notes the places of blob numbers */
    struct lap_arena arena;
    struct lap_writer *writer;
    struct slice *slice;
    struct cut_draw draw;
    const struct lap_dec *dec; /* the current decoder */
    struct place *places;
    size_t place_count, place_capacity;
    struct bytes body, block;
    uint64_t *blobs; /* [old number]: the new one */
    uint64_t blob_count;
    uint32_t *tickets; /* [old one]: the new one; 0: dropped */
    struct {
        uint64_t thread;
        struct lap_stream *stream;
    } * streams;
    size_t stream_count, stream_capacity;
    struct lap_packet packet;
    uint64_t last_aliased; /* of the source */
    uint64_t frame;        /* of the source */
    bool presented, began; /* in a frame before the part; the part */
    bool has_contents;     /* they are in front of the part already */
    struct {
        uint64_t commands, block, count, thread;
    } * again; /* recorded again there */
    size_t again_count, again_capacity;
    struct {
        struct lap_packet packet; /* without its body, which is part of the bytes */
        uint32_t command;
        size_t bytes;
    } * postponed; /* slice_is_postponed */
    size_t postponed_count, postponed_capacity;
    struct bytes postponed_bytes;
    uint64_t binds;
    uint64_t barrier; /* vkCmdPipelineBarrier in the dictionary; 0: it has none */
};

/* The writer has stopped, with a sentence. */
static enum lap_status stopped(void)
{
    return LAP_ERROR_IO;
}

/* ---- blobs ---- */

static enum lap_status copy_blob(struct cut *c, enum lap_blob_kind kind, uint64_t id, const uint8_t *data, size_t bytes,
                                 uint64_t *out)
{
    if (id < c->blob_count && c->blobs[id]) {
        *out = c->blobs[id];
        return LAP_OK;
    }
    *out = lap_writer_blob(c->writer, kind, data, bytes, NULL);
    if (!*out)
        return stopped();
    if (id < c->blob_count)
        c->blobs[id] = *out;
    return LAP_OK;
}

/* Runs during decoding: the number lies right before the decoder's place, in its shortest form. */
static enum lap_status note_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    struct cut *c = (struct cut *)((char *)user - offsetof(struct cut, dictionary));
    enum lap_status status = c->plain.blob(c->plain.user, id, out_data, out_bytes);
    struct place place;

    if (status != LAP_OK)
        return status;
    status = copy_blob(c, LAP_BLOB_DATA, id, *out_data, *out_bytes, &place.blob);
    if (status != LAP_OK)
        return status;
    place.to = (size_t)(c->dec->p - c->dec->base);
    place.from = place.to - 1;
    for (uint64_t left = id >> 7; left; left >>= 7)
        place.from--;
    if (!lap_array_grow(&c->places, sizeof *c->places, &c->place_capacity, c->place_count + 1))
        return lap_no_memory(NULL);
    c->places[c->place_count++] = place;
    return LAP_OK;
}

static enum lap_status append(struct bytes *to, const void *data, size_t bytes)
{
    if (!lap_array_grow(&to->at, 1, &to->capacity, to->count + bytes))
        return lap_no_memory(NULL);
    if (bytes)
        memcpy(to->at + to->count, data, bytes);
    to->count += bytes;
    return LAP_OK;
}

static enum lap_status append_number(struct bytes *to, uint64_t value)
{
    uint8_t bytes[LAP_WIRE_MAX_VARINT];
    return append(to, bytes, (size_t)(lap_at_u64(bytes, value) - bytes));
}

/* from..to of data, with the new numbers of blobs. */
static enum lap_status append_renumbered(struct cut *c, struct bytes *out, const uint8_t *data, size_t from, size_t to)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < c->place_count && status == LAP_OK; i++) {
        const struct place *place = &c->places[i];
        if (place->from < from || place->to > to)
            continue; /* of another piece */
        status = append(out, data + from, place->from - from);
        if (status == LAP_OK)
            status = append_number(out, place->blob);
        from = place->to;
    }
    return status == LAP_OK ? append(out, data + from, to - from) : status;
}

/* ---- blocks ---- */

static enum lap_status unknown_structure(void)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "it has a structure that this build does not know");
}

static const struct slice_fences no_fences;

/* Appends a barrier between all commands before it and all after it, as the source's dictionary numbers it. */
static enum lap_status append_barrier(struct cut *c)
{
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    struct lap_enc enc;
    enum lap_status status = append_number(&c->block, c->barrier);

    lap_enc_init(&enc, NULL);
    gen_encode_vkCmdPipelineBarrier(&enc, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                                    &all, 0, NULL, 0, NULL);
    if (status == LAP_OK)
        status = enc.failed ? lap_no_memory(NULL) : append(&c->block, enc.base, (size_t)(enc.p - enc.base));
    lap_enc_finish(&enc);
    return status;
}

/* Copies a command buffer, with barriers at its ends, or only its first and last command. */
static enum lap_status copy_block(struct cut *c, uint64_t id, bool empty, struct slice_fences fences, uint64_t *out)
{
    bool whole = !empty && !fences.front && !fences.behind;
    size_t begun = 0, last = 0; /* where the first command ends, and where the last one begins */
    const uint8_t *data;
    size_t bytes, at = 0;
    struct lap_block block;
    struct lap_args args;
    uint32_t command;
    enum lap_status status;

    if (whole && id < c->blob_count && c->blobs[id]) {
        *out = c->blobs[id];
        return LAP_OK;
    }
    status = lap_reader_blob(c->reader, LAP_BLOB_BLOCK, id, &data, &bytes);
    if (status != LAP_OK)
        return status;
    c->block.count = c->place_count = 0;
    lap_block_init(&block, data, bytes, 0, &c->dictionary, &c->arena, empty ? &c->plain : &c->source);
    c->dec = &block.dec;
    for (;;) {
        lap_arena_reset(&c->arena);
        status = lap_block_next(&block, &command, &args);
        if (status != LAP_OK)
            break;
        if (block.dec.unknown_structs)
            return unknown_structure();
        if (empty && (command == GEN_vkBeginCommandBuffer || command == GEN_vkEndCommandBuffer))
            status = append(&c->block, data + at, (size_t)(block.dec.p - data) - at);
        if (status != LAP_OK)
            return status;
        last = at;
        at = (size_t)(block.dec.p - data);
        begun = begun ? begun : at;
    }
    if (status != LAP_END)
        return status;
    if (empty) {
        *out = lap_writer_blob(c->writer, LAP_BLOB_BLOCK, c->block.at, c->block.count, NULL);
        return *out ? LAP_OK : stopped();
    }
    if (whole) {
        status = append_renumbered(c, &c->block, data, 0, bytes);
        return status == LAP_OK ? copy_blob(c, LAP_BLOB_BLOCK, id, c->block.at, c->block.count, out) : status;
    }
    status = append_renumbered(c, &c->block, data, 0, begun);
    if (status == LAP_OK && fences.front)
        status = append_barrier(c);
    if (status == LAP_OK)
        status = append_renumbered(c, &c->block, data, begun, last);
    if (status == LAP_OK && fences.behind)
        status = append_barrier(c);
    if (status == LAP_OK)
        status = append_renumbered(c, &c->block, data, last, bytes);
    if (status != LAP_OK)
        return status;
    *out = lap_writer_blob(c->writer, LAP_BLOB_BLOCK, c->block.at, c->block.count, NULL);
    return *out ? LAP_OK : stopped();
}

/* Notes the dynamic rendering that another command buffer suspended, from the command on that began it. */
static enum lap_status see_suspended(struct cut *c, uint64_t id, uint32_t at)
{
    uint32_t command = 0;
    const uint8_t *data;
    size_t bytes;
    struct lap_block block;
    struct lap_args args;
    enum lap_status status = lap_reader_blob(c->reader, LAP_BLOB_BLOCK, id, &data, &bytes);

    if (status != LAP_OK)
        return status;
    lap_block_init(&block, data, bytes, 0, &c->dictionary, &c->arena, &c->plain);
    for (uint32_t i = 0; i <= at && status == LAP_OK; i++) {
        lap_arena_reset(&c->arena);
        status = lap_block_next(&block, &command, &args);
    }
    if (status == LAP_OK && block.dec.unknown_structs)
        status = unknown_structure();
    if (status == LAP_OK)
        status = scopes_see(&c->draw.scopes, &c->draw.recode, command, args.bytes);
    return status == LAP_OK ? scopes_see(&c->draw.scopes, &c->draw.recode, GEN_vkCmdEndRendering, NULL) : status;
}

static enum lap_status see_in_front(struct cut *c, unsigned number)
{
    uint64_t block;
    uint32_t command;
    return slice_is_suspended(c->slice, number, &block, &command) ? see_suspended(c, block, command) : LAP_OK;
}

/* Its arguments are gone then, if it executes others. *executed: how many the command buffer has executed. */
static enum lap_status see_command(struct cut *c, unsigned number, uint32_t command, const struct lap_args *args,
                                   uint32_t *executed)
{
    enum lap_status status = scopes_see(&c->draw.scopes, &c->draw.recode, command, args->bytes);
    enum slice_leaves leaves;
    uint64_t block = 0;
    uint32_t count, begin = 0;

    if (status != LAP_OK || command != GEN_vkCmdExecuteCommands)
        return status;
    count = ((const struct gen_args_vkCmdExecuteCommands *)(const void *)args->bytes)->commandBufferCount;
    leaves = slice_leaves_executed(c->slice, number, *executed, count, &block, &begin);
    *executed += count;
    if (leaves != SLICE_LEAVES_AS_IT_WAS)
        scopes_resume(&c->draw.scopes);
    return leaves == SLICE_LEAVES_SUSPENDED ? see_suspended(c, block, begin) : LAP_OK;
}

/* A command buffer up to the command with which the part ends. */
static enum lap_status cut_block(struct cut *c, unsigned number, uint64_t *out, uint32_t *out_commands)
{
    const struct position_place *place = &c->options->draw->places[number];
    bool inner = number + 1 < c->options->draw->place_count; /* its last command executes a cut one, too */
    bool anew = cut_draw_replaces(&c->draw, number);
    const struct lap_enc *end = &c->draw.recode.enc;
    const uint8_t *data;
    size_t bytes, last = 0;
    struct lap_block block;
    struct lap_args args;
    uint32_t command, executed = 0;
    enum lap_status status = lap_reader_blob(c->reader, LAP_BLOB_BLOCK, place->block, &data, &bytes);

    if (status != LAP_OK)
        return status;
    c->block.count = c->place_count = 0;
    scopes_finish(&c->draw.scopes);
    status = see_in_front(c, number);
    if (status != LAP_OK)
        return status;
    lap_block_init(&block, data, bytes, 0, &c->dictionary, &c->arena, &c->source);
    c->dec = &block.dec;
    for (uint32_t i = 0; i <= place->command; i++) {
        last = (size_t)(block.dec.p - data);
        lap_arena_reset(&c->arena);
        status = lap_block_next(&block, &command, &args);
        if (status == LAP_OK && block.dec.unknown_structs)
            status = unknown_structure();
        if (status == LAP_OK && !(inner && i == place->command))
            status = see_command(c, number, command, &args, &executed);
        if (status != LAP_OK)
            return status;
    }
    status = cut_draw_end(&c->draw, number, args.bytes, out_commands);
    if (status == LAP_OK)
        status = append_renumbered(c, &c->block, data, 0, anew ? last : (size_t)(block.dec.p - data));
    if (status == LAP_OK)
        status = append(&c->block, end->base, (size_t)(end->p - end->base));
    if (status != LAP_OK)
        return status;
    *out_commands += place->command + !anew;
    *out = lap_writer_blob(c->writer, LAP_BLOB_BLOCK, c->block.at, c->block.count, NULL);
    return *out ? LAP_OK : stopped();
}

/* ---- packets ---- */

static void count_check(struct cut *c, uint32_t command)
{
    static const enum lap_counter counters[GEN_CHECK_KINDS] = {[GEN_CHECK_PRESENTS] = LAP_COUNTER_PRESENT_CHECKS,
                                                               [GEN_CHECK_BUFFERS] = LAP_COUNTER_BUFFER_CHECKS,
                                                               [GEN_CHECK_IMAGES] = LAP_COUNTER_IMAGE_CHECKS};
    enum gen_check kind = (enum gen_check)gen_command_checks[command];

    if (kind != GEN_CHECK_NONE)
        lap_writer_count(c->writer, counters[kind], 1);
}

static void count_packet(struct cut *c, uint32_t command, const struct lap_args *args, bool empty)
{
    struct lap_writer *w = c->writer;

    count_check(c, command);
    switch (command) {
    case GEN_lapilliBlock:
        lap_writer_count(w, LAP_COUNTER_BLOCKS_RECORDED, 1);
        lap_writer_count(w, LAP_COUNTER_COMMANDS,
                         empty ? 2 : ((const struct gen_args_lapilliBlock *)(const void *)args->bytes)->commandCount);
        break;
    case GEN_lapilliUpdateBuffer:
    case GEN_lapilliUpdateImage:
    case GEN_lapilliUpdateBufferSpans:
    case GEN_lapilliUpdateImageSpans:
        lap_writer_count(w, LAP_COUNTER_UPDATES, 1);
        lap_writer_count(w, LAP_COUNTER_UPDATE_BYTES, c->packet.bytes);
        break;
    case GEN_lapilliBindBuffer:
    case GEN_lapilliBindImage:
        lap_writer_count(w, LAP_COUNTER_BINDS, 1);
        c->binds++;
        break;
    default:
        if (strncmp(gen_command_names[command], "vk", 2) == 0)
            lap_writer_count(w, LAP_COUNTER_CALLS, 1);
        break;
    }
}

static enum lap_status make_body(struct cut *c, uint32_t command, struct lap_args *args, bool empty)
{
    struct slice_fences fences = empty || !c->barrier ? no_fences : slice_fences_of(c->slice, c->packet.ticket);
    enum lap_status status = LAP_OK;

    c->body.count = 0;
    if (command == GEN_lapilliBlock) {
        struct gen_args_lapilliBlock a = *(const struct gen_args_lapilliBlock *)(const void *)args->bytes;
        uint64_t block = 0;
        if (a.commandCount <= 2)
            fences = no_fences;
        status = copy_block(c, a.block, empty, fences, &block);
        if (status == LAP_OK)
            status = append_number(&c->body, gen_u64_VkCommandBuffer(a.commandBuffer));
        if (status == LAP_OK)
            status = append_number(&c->body, block);
        return status == LAP_OK ? append_number(&c->body, empty ? 2 : a.commandCount + fences.front + fences.behind)
                                : status;
    }
    if (command == GEN_lapilliResult) {
        const struct gen_args_lapilliResult *a = (const void *)args->bytes;
        status = append_number(&c->body, c->tickets[a->ticket]);
        return status == LAP_OK
                   ? append_number(&c->body, (uint64_t)((int64_t)a->result << 1) ^ (uint64_t)((int64_t)a->result >> 63))
                   : status;
    }
    if (c->options->draw && c->packet.ticket == c->options->draw->ticket) {
        const struct lap_enc *enc = &c->draw.recode.enc;
        status = cut_draw_submit(&c->draw, command, args->bytes);
        return status == LAP_OK ? append(&c->body, enc->base, (size_t)(enc->p - enc->base)) : status;
    }
    return append_renumbered(c, &c->body, c->packet.body, 0, c->packet.bytes);
}

static struct lap_stream *stream_of(struct cut *c, uint64_t thread)
{
    size_t i = 0;

    while (i < c->stream_count && c->streams[i].thread != thread)
        i++;
    if (i == c->stream_count) {
        if (!lap_array_grow(&c->streams, sizeof *c->streams, &c->stream_capacity, i + 1))
            return NULL;
        c->streams[i].thread = thread;
        c->streams[i].stream = lap_writer_stream(c->writer, thread);
        if (!c->streams[i].stream)
            return NULL;
        c->stream_count++;
    }
    return c->streams[i].stream;
}

/* A packet of the body that is made, with the number of its command in the file. */
static enum lap_status put_packet(struct cut *c, uint32_t number, uint32_t flags, uint64_t *out_ticket)
{
    struct lap_stream *stream = stream_of(c, c->packet.thread_id);
    struct lap_enc *enc = stream ? lap_packet_begin(stream, number, flags, NULL, out_ticket) : NULL;

    if (!enc)
        return stopped();
    lap_enc_raw(enc, c->body.at, c->body.count);
    lap_packet_end(stream);
    c->result->packets = *out_ticket;
    return LAP_OK;
}

static enum lap_status put_new_packet(struct cut *c, uint32_t command, enum lap_counter counter)
{
    uint32_t number;
    uint64_t ticket;
    enum lap_status status = recode_number(&c->draw.recode, command, &number);

    if (status == LAP_OK)
        status = put_packet(c, number, gen_command_flags[command], &ticket);
    if (status == LAP_OK)
        lap_writer_count(c->writer, counter, 1);
    return status;
}

/* Where a command buffer is recorded that is cut: another one, which is allocated before. */
static enum lap_status put_cut_block(struct cut *c, unsigned number)
{
    const struct lap_enc *enc = &c->draw.recode.enc;
    uint64_t block = 0;
    uint32_t commands = 0;
    enum lap_status status = cut_draw_allocate(&c->draw, number);

    c->body.count = 0;
    if (status == LAP_OK)
        status = append(&c->body, enc->base, (size_t)(enc->p - enc->base));
    if (status == LAP_OK)
        status = put_new_packet(c, GEN_vkAllocateCommandBuffers, LAP_COUNTER_CALLS);
    if (status == LAP_OK)
        status = cut_block(c, number, &block, &commands);
    c->body.count = 0;
    if (status == LAP_OK)
        status = append_number(&c->body, c->draw.buffers[number].number);
    if (status == LAP_OK)
        status = append_number(&c->body, block);
    if (status == LAP_OK)
        status = append_number(&c->body, commands);
    if (status == LAP_OK)
        status = put_new_packet(c, GEN_lapilliBlock, LAP_COUNTER_BLOCKS_RECORDED);
    if (status == LAP_OK)
        lap_writer_count(c->writer, LAP_COUNTER_COMMANDS, commands);
    return status;
}

/* A secondary command buffer may belong to only one primary at a time. If the original one executes some and stays for
 * earlier submits, the cut ones are recorded behind these submits, which are complete when the program submits it
 * again. */
static bool are_cut_late(const struct cut *c)
{
    const struct position_found *draw = c->options->draw;
    bool late = false;

    for (unsigned i = 0; i < draw->place_count; i++)
        late |= slice_executes(c->slice, draw->places[i].recorded);
    return late;
}

/* Inner ones first. */
static enum lap_status put_cut_blocks(struct cut *c, bool before_submit)
{
    const struct position_found *draw = c->options->draw;
    enum lap_status status = LAP_OK;

    if (!draw || (before_submit && c->packet.ticket != draw->ticket) || are_cut_late(c) != before_submit)
        return LAP_OK;
    for (unsigned i = draw->place_count; i-- > 0 && status == LAP_OK;)
        if (before_submit || draw->places[i].recorded == c->packet.ticket)
            status = put_cut_block(c, i);
    return status;
}

static enum lap_status postpone(struct cut *c, uint32_t command, struct lap_args *args)
{
    enum lap_status status = make_body(c, command, args, false);

    if (status == LAP_OK)
        status = append(&c->postponed_bytes, c->body.at, c->body.count);
    if (status != LAP_OK)
        return status;
    if (!lap_array_grow(&c->postponed, sizeof *c->postponed, &c->postponed_capacity, c->postponed_count + 1))
        return lap_no_memory(NULL);
    c->postponed[c->postponed_count].packet = c->packet;
    c->postponed[c->postponed_count].command = command;
    c->postponed[c->postponed_count++].bytes = c->body.count;
    return LAP_OK;
}

/* Where the part begins. */
static enum lap_status put_postponed(struct cut *c)
{
    const struct lap_packet now = c->packet;
    enum lap_status status = LAP_OK;
    size_t at = 0;

    for (size_t i = 0; c->began && i < c->postponed_count && status == LAP_OK; i++) {
        uint64_t ticket;
        c->packet = c->postponed[i].packet;
        c->body.count = 0;
        status = append(&c->body, c->postponed_bytes.at + at, c->postponed[i].bytes);
        at += c->postponed[i].bytes;
        if (status == LAP_OK)
            status = put_packet(c, c->packet.command, c->packet.flags, &ticket);
        if (status == LAP_OK)
            count_packet(c, c->postponed[i].command, NULL, false);
    }
    c->postponed_count = c->began ? 0 : c->postponed_count;
    c->packet = now;
    return status;
}

static enum lap_status write_packet(struct cut *c, uint32_t command, struct lap_args *args, bool empty)
{
    enum lap_status status = make_body(c, command, args, empty);
    uint64_t ticket;

    if (status == LAP_OK)
        status = put_packet(c, c->packet.command, c->packet.flags, &ticket);
    if (status != LAP_OK)
        return status;
    c->tickets[c->packet.ticket] = (uint32_t)ticket;
    count_packet(c, command, args, empty);
    if (c->packet.ticket <= c->last_aliased)
        lap_writer_note_ticket(c->writer, LAP_COUNTER_LAST_ALIASED);
    return LAP_OK;
}

/* A block that passes is noted. */
static enum lap_status note_again(struct cut *c, const struct gen_args_lapilliBlock *a)
{
    if (!lap_array_grow(&c->again, sizeof *c->again, &c->again_capacity, c->again_count + 1))
        return lap_no_memory(NULL);
    c->again[c->again_count].commands = gen_u64_VkCommandBuffer(a->commandBuffer);
    c->again[c->again_count].block = a->block;
    c->again[c->again_count].count = a->commandCount;
    c->again[c->again_count++].thread = c->packet.thread_id;
    return LAP_OK;
}

static enum lap_status copy_packet(struct cut *c)
{
    enum slice_fate fate = slice_fate_of(c->slice, c->packet.ticket);
    uint32_t command = lap_dictionary_command(&c->dictionary, c->packet.command);
    bool before = c->packet.ticket < c->options->first;
    struct lap_args args;
    struct lap_dec dec;

    if (before) {
        c->result->packets_before++;
        c->result->commands[command].before++;
    }
    if (fate == SLICE_DROPPED && command)
        return LAP_OK;
    if (!command || !gen_decode_table[command])
        return lap_fail(LAP_ERROR_UNSUPPORTED, "this build does not know %s",
                        lap_reader_command_name(c->reader, c->packet.command));
    c->place_count = 0;
    lap_arena_reset(&c->arena);
    lap_dec_init(&dec, c->packet.body, c->packet.bytes, &c->arena, &c->source);
    c->dec = &dec;
    gen_decode_table[command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return dec.status;
    if (dec.unknown_structs)
        return unknown_structure();
    if (command == GEN_lapilliResult) {
        uint64_t of = ((const struct gen_args_lapilliResult *)(const void *)args.bytes)->ticket;
        if (of >= c->packet.ticket || !c->tickets[of])
            return LAP_OK;
    }
    if (before) {
        c->result->packets_kept++;
        c->result->commands[command].kept++;
    }
    c->result->emptied += fate == SLICE_EMPTIED;
    if (slice_records_again(c->slice, c->packet.ticket) && note_again(c, (const void *)args.bytes) != LAP_OK)
        return LAP_ERROR_MEMORY;
    c->presented |= before && gen_effects[command].does == GEN_EFFECT_PRESENTS;
    if (c->options->draw) {
        enum lap_status status = cut_draw_see(&c->draw, command, args.bytes);
        if (status != LAP_OK)
            return status;
    }
    if (slice_is_postponed(c->slice, c->packet.ticket))
        return postpone(c, command, &args);
    return write_packet(c, command, &args, fate == SLICE_EMPTIED);
}

static void note_first_frame(struct cut *c)
{
    char note[64];

    if (!c->began) /* the part has no packets */
        c->frame = c->options->first_frame;
    snprintf(note, sizeof note, "{\"trimmed_first_frame\": %" PRIu64 "}", c->result->first_frame);
    lap_writer_info(c->writer, note);
}

/* Frames before the part are those of presents that stay. */
static void begin_frame(struct cut *c)
{
    bool before = c->packet.ticket < c->options->first;

    if (c->presented && (!before || c->packet.frame > c->frame)) {
        lap_writer_frame(c->writer);
        c->result->first_frame++;
        c->presented = false;
    }
    if (before)
        c->frame = c->packet.frame;
    else if (!c->began)
        c->frame = c->options->first_frame;
    c->began = !before;
    for (; !before && c->packet.frame > c->frame; c->frame++)
        lap_writer_frame(c->writer);
}

static uint32_t number_of_blocks(const struct cut *c)
{
    uint32_t i = 0;

    while (lap_dictionary_command(&c->dictionary, i) != GEN_lapilliBlock)
        i++; /* there were some */
    return i;
}

static enum lap_status record_again(void *user)
{
    struct cut *c = user;
    enum lap_status status = LAP_OK;
    uint64_t block = 0, ticket;

    for (size_t i = 0; i < c->again_count && status == LAP_OK; i++) {
        struct lap_stream *stream = stream_of(c, c->again[i].thread);
        struct lap_enc *enc;
        status = copy_block(c, c->again[i].block, false, no_fences, &block);
        c->body.count = 0;
        if (status == LAP_OK)
            status = append_number(&c->body, c->again[i].commands);
        if (status == LAP_OK)
            status = append_number(&c->body, block);
        if (status == LAP_OK)
            status = append_number(&c->body, c->again[i].count);
        if (status != LAP_OK)
            return status;
        enc = stream ? lap_packet_begin(stream, number_of_blocks(c), gen_command_flags[GEN_lapilliBlock], NULL, &ticket)
                     : NULL;
        if (!enc)
            return stopped();
        lap_enc_raw(enc, c->body.at, c->body.count);
        lap_packet_end(stream);
        lap_writer_count(c->writer, LAP_COUNTER_BLOCKS_RECORDED, 1);
        lap_writer_count(c->writer, LAP_COUNTER_COMMANDS, c->again[i].count);
    }
    return status;
}

/* Of the command buffers that are recorded again, each once. */
static size_t find_pools(const struct cut *c, uint64_t *out)
{
    size_t count = 0, k;

    for (size_t i = 0; i < c->again_count; i++) {
        uint64_t pool =
            slice_parent_of(c->slice, GEN_HANDLE_VkCommandBuffer, c->again[i].commands, GEN_HANDLE_VkCommandPool);
        for (k = 0; k < count && out[k] != pool; k++)
            ;
        if (pool && k == count)
            out[count++] = pool;
    }
    return count;
}

/* Once, in front of the part's first packet. */
static enum lap_status write_contents(struct cut *c)
{
    struct cut_again again = {.record = record_again, .user = c};
    struct lap_stream *stream;
    enum lap_status status;
    uint64_t *pools;

    if (!c->result->contents_taken || c->has_contents || !c->began)
        return LAP_OK;
    c->has_contents = true;
    lap_writer_info(c->writer, "{\"trimmed_contents\": true}"); /* a replay's images need a usage for them */
    stream = stream_of(c, c->packet.thread_id);
    pools = calloc(c->again_count + 1, sizeof *pools);
    if (!pools)
        return lap_no_memory(NULL);
    again.pools = pools;
    again.count = find_pools(c, pools);
    status = stream ? cut_write_contents(c->writer, stream, &c->dictionary, c->slice, c->options->contents, &again)
                    : stopped();
    free(pools);
    return status;
}

static enum lap_status copy_packets(struct cut *c)
{
    enum lap_status status = LAP_OK;
    uint64_t all = c->options->last, ends = 0;

    c->result->first_frame = 1;
    while (status == LAP_OK) {
        status = lap_reader_next(c->reader, &c->packet);
        if (status == LAP_OK && c->packet.ticket > all)
            status = LAP_END;
        if (status != LAP_OK)
            break;
        begin_frame(c);
        if (c->options->progress && c->packet.ticket % 4096 == 0)
            c->options->progress(c->options->user, all + c->packet.ticket, all * 2);
        status = write_contents(c);
        if (status == LAP_OK)
            status = put_cut_blocks(c, true);
        if (status == LAP_OK)
            status = put_postponed(c);
        if (status == LAP_OK)
            status = copy_packet(c);
        if (status == LAP_OK)
            status = put_cut_blocks(c, false);
        if (status < 0)
            return lap_fail_context(status, "frame %" PRIu64 ", packet %" PRIu64, c->packet.frame + 1,
                                    c->packet.ticket);
    }
    if (status == LAP_END)
        note_first_frame(c);
    for (; (ends = lap_reader_frame_end(c->reader, c->frame)) != UINT64_MAX && ends <= all; c->frame++)
        lap_writer_frame(c->writer);
    c->result->frames = c->result->first_frame - 1 + c->frame - c->options->first_frame;
    return status == LAP_END ? LAP_OK : status;
}

/* ---- the whole ---- */

/* Member by member where all of them are too large for a chunk. */
static enum lap_status copy_info(struct cut *c)
{
    const char *text = lap_reader_summary(c->reader)->info;
    bool fits = strlen(text) < LAP_INFO_MAX_BYTES;
    cJSON *all = NULL;
    enum lap_status status = lap_info_parse(text, strlen(text), &all);

    if (status != LAP_OK)
        return status;
    if (fits && all->child)
        lap_writer_info(c->writer, text);
    for (cJSON *member = fits ? NULL : all->child; member && status == LAP_OK; member = member->next) {
        cJSON *one = cJSON_CreateObject();
        char *json = NULL;
        if (one && cJSON_AddItemReferenceToObject(one, member->string, member))
            json = cJSON_PrintUnformatted(one);
        if (json)
            lap_writer_info(c->writer, json);
        else
            status = lap_no_memory(NULL);
        cJSON_free(json);
        cJSON_Delete(one);
    }
    cJSON_Delete(all);
    if (status == LAP_OK && c->options->note)
        lap_writer_info(c->writer, c->options->note);
    return status;
}

static const char **names_of(const struct lap_reader *reader, uint32_t count,
                             const char *(*name)(const struct lap_reader *, uint64_t))
{
    const char **names = calloc(count + 1u, sizeof *names);

    for (uint32_t i = 0; names && i < count; i++)
        names[i] = name(reader, i);
    return names;
}

static enum lap_status open_writer(struct cut *c, int fd, const char *name)
{
    uint32_t commands = lap_reader_command_count(c->reader), structs = lap_reader_struct_count(c->reader),
             types = lap_reader_handle_type_count(c->reader);
    const char **command_names = names_of(c->reader, commands, lap_reader_command_name),
               **struct_names = names_of(c->reader, structs, lap_reader_struct_name),
               **type_names = names_of(c->reader, types, lap_reader_handle_type_name);
    const struct lap_writer_options options = {.names.commands = {command_names, commands},
                                               .names.structs = {struct_names, structs},
                                               .names.handle_types = {type_names, types},
                                               .packer = c->options->packer,
                                               .queue_bytes = LAP_WRITER_NO_QUEUE};
    enum lap_status status = lap_no_memory(NULL);

    if (command_names && struct_names && type_names)
        status = lap_writer_create_in(fd, name, &options, &c->writer);
    free(command_names);
    free(struct_names);
    free(type_names);
    return status;
}

static enum lap_status copy_all(struct cut *c)
{
    enum lap_status status = copy_info(c);

    if (status == LAP_OK)
        status = copy_packets(c);
    if (status == LAP_OK) {
        const struct lap_reader_summary *source = lap_reader_summary(c->reader);
        lap_writer_count(c->writer, LAP_COUNTER_ALIASED_BINDS,
                         c->binds < source->counters[LAP_COUNTER_ALIASED_BINDS]
                             ? c->binds
                             : source->counters[LAP_COUNTER_ALIASED_BINDS]);
        lap_writer_finish(c->writer);
        if (lap_writer_frames(c->writer) < c->result->frames)
            status = stopped();
    }
    return status;
}

enum lap_status cut_write(const struct lap_reader *trace, int fd, const char *name, const struct cut_options *options,
                          struct cut_result *out)
{
    struct cut c = {.options = options, .result = out};
    bool taken = false;
    enum lap_status status = options->contents
                                 ? slice_find_with_contents(trace, options->first, options->last, options->contents,
                                                            options->progress, options->user, &c.slice)
                                 : slice_find(trace, options->first, options->last, options->draw, options->progress,
                                              options->user, &c.slice);

    *out = (struct cut_result){.packets = 0};
    if (status == LAP_OK)
        slice_count_contents(c.slice, &out->contents_wanted, &out->contents_taken);
    lap_arena_init(&c.arena, ARENA_BYTES);
    if (status == LAP_OK && slice_holes(c.slice) > MOST_HOLES)
        status = lap_fail(LAP_ERROR_LIMIT,
                          "of the objects before the part so many are left out (%" PRIu64
                          ") that no replay would take the numbers of the others",
                          slice_holes(c.slice));
    if (status == LAP_OK)
        status = lap_reader_open_again(trace, NULL, &c.reader);
    if (status == LAP_OK)
        status = lap_dictionary_init(&c.dictionary, c.reader);
    if (status == LAP_OK) {
        if (options->draw)
            cut_draw_init(&c.draw, options->draw, &c.dictionary,
                          slice_next_number(c.slice, GEN_HANDLE_VkCommandBuffer));
        c.plain = c.source = lap_dictionary_source(&c.dictionary);
        c.source.blob = note_blob;
        for (uint32_t i = 0; i < c.dictionary.command_count; i++)
            if (lap_dictionary_command(&c.dictionary, i) == GEN_vkCmdPipelineBarrier)
                c.barrier = i;
        c.last_aliased = lap_reader_summary(c.reader)->counters[LAP_COUNTER_LAST_ALIASED];
        c.blob_count = lap_reader_summary(c.reader)->blobs + 1;
        c.blobs = calloc((size_t)c.blob_count, sizeof *c.blobs);
        c.tickets = calloc((size_t)options->last + 1, sizeof *c.tickets);
        taken = c.blobs && c.tickets;
        status = taken ? open_writer(&c, fd, name) : lap_no_memory(NULL);
    }
    if (status == LAP_OK)
        status = copy_all(&c);
    if (!taken)
        close(fd);
    lap_writer_destroy(&c.writer);
    slice_destroy(&c.slice);
    cut_draw_finish(&c.draw);
    lap_dictionary_release(&c.dictionary);
    lap_arena_finish(&c.arena);
    if (c.reader)
        lap_reader_close(&c.reader);
    free(c.places);
    free(c.body.at);
    free(c.block.at);
    free(c.blobs);
    free(c.tickets);
    free(c.streams);
    free(c.again);
    free(c.postponed);
    free(c.postponed_bytes.at);
    return status;
}
