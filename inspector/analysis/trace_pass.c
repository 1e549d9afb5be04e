/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/trace_pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

#define ARENA_BYTES  ((size_t)1 << 30) /* decoded structures are a few times larger than their encoding */
#define PACKET_BYTES 64u               /* overhead of a packet beside its body */

struct trace_pass {
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_dec_source source;
    struct lap_arena arena;
    uint64_t last_frame;
    struct trace_visitor visitors[TRACE_PASS_VISITORS];
    unsigned visitor_count;
    /* Masks with a bit for each visitor. */
    uint32_t active, block_visitors, head_visitors, informed, of_failed;
    uint32_t wanted[GEN_COMMAND_COUNT]; /* [command]: its visitors */
    uint32_t *wanted_numbers;           /* [number of the command in the file]: its active visitors */
    bool has_last_ticket;
    bool *blocks; /* [blob]: visited */
    uint64_t block_count;
    uint64_t bytes; /* of the packets so far */
    struct lap_packet packet;
    bool began;
    enum lap_status status;
};

/* ---- visitors ---- */

static void enter(struct trace_pass *pass, const struct trace_visitor *visitor, unsigned number)
{
    uint32_t bit = 1u << number;

    pass->visitors[number] = *visitor;
    pass->active |= bit;
    pass->block_visitors |= visitor->visit_in_block ? bit : 0;
    pass->head_visitors |= visitor->see_packet ? bit : 0;
    pass->informed |= visitor->information ? bit : 0;
    pass->of_failed |= visitor->failed ? bit : 0;
    pass->has_last_ticket = pass->has_last_ticket || visitor->last_ticket;
    for (uint32_t i = 0; visitor->visit && i < GEN_COMMAND_COUNT; i++)
        pass->wanted[i] |= visitor->all_commands ? bit : 0;
    for (const uint16_t *command = visitor->commands; visitor->visit && command && *command; command++)
        pass->wanted[*command] |= bit;
}

/* Fills the table that each packet is looked up in, by the file's command number. */
static void find_wanted(struct trace_pass *pass)
{
    for (uint32_t i = 0; i < pass->dictionary.command_count; i++) {
        uint32_t command = pass->dictionary.commands[i];
        uint32_t may = gen_command_flags[command] & LAP_PACKET_INFO ? pass->informed : UINT32_MAX;
        pass->wanted_numbers[i] = gen_decode_table[command] ? pass->wanted[command] & pass->active & may : 0;
        if (command == GEN_lapilliBlock)
            pass->wanted_numbers[i] |= pass->block_visitors & pass->active;
    }
}

static void leave(struct trace_pass *pass, uint32_t visitors)
{
    if (!(pass->active & visitors))
        return;
    pass->active &= ~visitors;
    find_wanted(pass);
}

static void leave_behind(struct trace_pass *pass)
{
    for (unsigned i = 0; i < pass->visitor_count; i++)
        if (pass->visitors[i].last_ticket && pass->packet.ticket > pass->visitors[i].last_ticket)
            leave(pass, 1u << i);
}

static enum lap_status visit(struct trace_pass *pass, uint32_t visitors, const struct trace_call *call)
{
    for (visitors &= pass->active; visitors; visitors &= visitors - 1) {
        unsigned number = (unsigned)__builtin_ctz(visitors);
        const struct trace_visitor *visitor = &pass->visitors[number];
        enum lap_status status = (call->block ? visitor->visit_in_block : visitor->visit)(visitor->state, call);
        if (status == LAP_END)
            leave(pass, 1u << number);
        else if (status != LAP_OK)
            return status;
    }
    return LAP_OK;
}

/* ---- commands ---- */

static enum lap_status visit_block(struct trace_pass *pass, uint64_t id)
{
    struct trace_call call = {.packet = &pass->packet, .block = id, .pass = pass};
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    enum lap_status status;

    if (!(pass->block_visitors & pass->active) || (id < pass->block_count && pass->blocks[id]))
        return LAP_OK;
    status = lap_reader_blob(pass->reader, LAP_BLOB_BLOCK, id, &data, &bytes);
    if (status != LAP_OK)
        return status;
    if (id < pass->block_count)
        pass->blocks[id] = true;
    call.args = args.bytes;
    lap_block_init(&block, data, bytes, 0, &pass->dictionary, &pass->arena, &pass->source);
    while (pass->block_visitors & pass->active) {
        lap_arena_reset(&pass->arena);
        call.index = block.index;
        status = lap_block_next(&block, &call.command, &args);
        if (status == LAP_OK)
            status = visit(pass, pass->block_visitors, &call);
        if (status != LAP_OK)
            break;
    }
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status visit_packet(struct trace_pass *pass, uint32_t visitors)
{
    struct trace_call call = {.packet = &pass->packet, .pass = pass};
    struct lap_args args;
    struct lap_dec dec;
    enum lap_status status = LAP_OK;

    call.command = lap_dictionary_command(&pass->dictionary, pass->packet.command);
    lap_arena_reset(&pass->arena);
    lap_dec_init(&dec, pass->packet.body, pass->packet.bytes, &pass->arena, &pass->source);
    gen_decode_table[call.command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return dec.status;
    if (dec.p != dec.end)
        return lap_fail(LAP_ERROR_FORMAT, "%zu bytes are left over", (size_t)(dec.end - dec.p));
    call.args = args.bytes;
    if (call.command == GEN_lapilliBlock && !(pass->packet.flags & LAP_PACKET_FAILED)) {
        /* A copy, since decoding the block's commands reuses the arena. */
        struct gen_args_lapilliBlock block = *(const struct gen_args_lapilliBlock *)(const void *)args.bytes;
        status = visit_block(pass, block.block);
        visitors &= pass->wanted[GEN_lapilliBlock];
    }
    return status == LAP_OK ? visit(pass, visitors, &call) : status;
}

static enum lap_status next_packet(struct trace_pass *pass)
{
    enum lap_status status = LAP_OK;
    uint32_t visitors;

    if (!pass->began || !lap_reader_run(pass->reader, &pass->packet))
        status = lap_reader_next(pass->reader, &pass->packet);
    pass->began = status == LAP_OK;
    if (status != LAP_OK)
        return status;
    if (pass->last_frame && pass->packet.frame >= pass->last_frame)
        return LAP_END;
    pass->bytes += pass->packet.bytes + PACKET_BYTES;
    if (pass->has_last_ticket)
        leave_behind(pass);
    for (uint32_t left = pass->head_visitors & pass->active; left; left &= left - 1) {
        const struct trace_visitor *visitor = &pass->visitors[__builtin_ctz(left)];
        visitor->see_packet(visitor->state, &pass->packet);
    }
    visitors = pass->packet.command < pass->dictionary.command_count ? pass->wanted_numbers[pass->packet.command] : 0;
    if (pass->packet.flags & LAP_PACKET_FAILED)
        visitors &= pass->of_failed;
    if (pass->packet.flags & LAP_PACKET_INFO)
        visitors &= pass->informed;
    status = visitors ? visit_packet(pass, visitors) : LAP_OK;
    if (status < 0) {
        const char *name = lap_reader_command_name(pass->reader, pass->packet.command);
        return lap_fail_context(status, "frame %" PRIu64 ", packet %" PRIu64 " (%s), offset %" PRIu64,
                                pass->packet.frame + 1, pass->packet.ticket, name ? name : "?",
                                pass->packet.file_offset);
    }
    return status == LAP_OK && !pass->active ? LAP_END : status;
}

void trace_call_decoder(const struct trace_call *call, struct lap_dec *out)
{
    lap_dec_init(out, call->packet->body, call->packet->bytes, &call->pass->arena, &call->pass->source);
}

/* ---- passes ---- */

enum lap_status trace_pass_open(const struct lap_reader *trace, uint64_t last_frame,
                                const struct trace_visitor *visitors, unsigned count, struct trace_pass **out)
{
    struct trace_pass *pass = *out = calloc(1, sizeof *pass);
    enum lap_status status;

    if (!pass)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    lap_arena_init(&pass->arena, ARENA_BYTES);
    pass->last_frame = last_frame;
    pass->visitor_count = count;
    for (unsigned i = 0; i < count && i < TRACE_PASS_VISITORS; i++)
        enter(pass, &visitors[i], i);
    status = count <= TRACE_PASS_VISITORS ? lap_reader_open_again(trace, NULL, &pass->reader)
                                          : lap_fail(LAP_ERROR_ARGUMENT, "%u visitors are too many", count);
    if (status == LAP_OK)
        status = lap_dictionary_init(&pass->dictionary, pass->reader);
    if (status == LAP_OK) {
        pass->source = lap_dictionary_source(&pass->dictionary);
        pass->block_count = lap_reader_summary(pass->reader)->blobs + 1;
        pass->blocks = calloc(pass->block_count, sizeof *pass->blocks);
        pass->wanted_numbers = calloc(pass->dictionary.command_count + 1, sizeof *pass->wanted_numbers);
        if (!pass->blocks || !pass->wanted_numbers)
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    if (status == LAP_OK)
        find_wanted(pass);
    else
        trace_pass_close(out);
    return status;
}

void trace_pass_close(struct trace_pass **pass)
{
    struct trace_pass *p = *pass;

    if (!p)
        return;
    lap_dictionary_release(&p->dictionary);
    lap_arena_finish(&p->arena);
    free(p->blocks);
    free(p->wanted_numbers);
    if (p->reader)
        lap_reader_close(&p->reader);
    free(p);
    *pass = NULL;
}

enum lap_status trace_pass_advance(struct trace_pass *pass, uint64_t bytes)
{
    while (pass->status == LAP_OK && pass->bytes <= bytes)
        pass->status = pass->active ? next_packet(pass) : LAP_END;
    return pass->status;
}

const struct lap_packet *trace_pass_packet(const struct trace_pass *pass)
{
    return &pass->packet;
}

enum lap_status trace_pass_run(const struct lap_reader *trace, uint64_t last_frame,
                               const struct trace_visitor *visitors, unsigned count)
{
    struct trace_pass *pass;
    enum lap_status status = trace_pass_open(trace, last_frame, visitors, count, &pass);

    while (status == LAP_OK)
        status = trace_pass_advance(pass, UINT64_MAX);
    trace_pass_close(&pass);
    return status == LAP_END ? LAP_OK : status;
}
