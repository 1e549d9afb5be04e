/* SPDX-License-Identifier: MIT */
#include "tools/common/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/process/sandbox.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "tools/common/tool.h"

/* Decoded structures are a few times larger than a body, and a body is at most as large as a blob. */
#define ARENA_LIMIT_BYTES ((size_t)1 << 30)

void lap_calls_enter_sandbox(void)
{
    struct lap_sandbox sandbox;
    lap_sandbox_enter(&(struct lap_sandbox_options){.folders = NULL}, &sandbox);
}

enum lap_status lap_calls_open(struct lap_calls *calls, const char *path)
{
    enum lap_status status;

    memset(calls, 0, sizeof *calls);
    lap_arena_init(&calls->arena, ARENA_LIMIT_BYTES);
    lap_arena_init(&calls->block_arena, ARENA_LIMIT_BYTES);
    status = lap_reader_open(path, NULL, &calls->reader);
    if (status == LAP_OK)
        status = lap_dictionary_init(&calls->dictionary, calls->reader);
    if (status != LAP_OK) {
        lap_calls_close(calls);
        return status;
    }
    calls->source = lap_dictionary_source(&calls->dictionary);
    return LAP_OK;
}

void lap_calls_close(struct lap_calls *calls)
{
    lap_dictionary_release(&calls->dictionary);
    if (calls->reader)
        lap_reader_close(&calls->reader);
    lap_arena_finish(&calls->arena);
    lap_arena_finish(&calls->block_arena);
    memset(calls, 0, sizeof *calls);
}

static enum lap_status fail_here(const struct lap_calls *calls, enum lap_status status)
{
    return lap_fail_context(status, "offset %" PRIu64 ", call %" PRIu64 " (%s, ticket %" PRIu64 ")",
                            calls->packet.file_offset, calls->index, calls->name, calls->packet.ticket);
}

enum lap_status lap_calls_next(struct lap_calls *calls)
{
    enum lap_status status = lap_reader_next(calls->reader, &calls->packet);
    struct lap_dec dec;

    if (status != LAP_OK)
        return status;
    calls->index = calls->next_index++;
    calls->name = lap_reader_command_name(calls->reader, calls->packet.command);
    if (!calls->name)
        calls->name = "?";
    calls->command = lap_dictionary_command(&calls->dictionary, calls->packet.command);
    if (!gen_decode_table[calls->command])
        calls->command = GEN_COMMAND_NONE;
    calls->has_result = false;
    if (calls->command == GEN_COMMAND_NONE)
        return LAP_OK;
    lap_arena_reset(&calls->arena);
    lap_dec_init(&dec, calls->packet.body, calls->packet.bytes, &calls->arena, &calls->source);
    gen_decode_table[calls->command](&dec, calls->args.bytes);
    calls->unknown_structs += dec.unknown_structs;
    if (dec.status != LAP_OK)
        return fail_here(calls, dec.status);
    if (dec.p != dec.end)
        return fail_here(calls, lap_fail(LAP_ERROR_FORMAT, "%zu bytes are left over", (size_t)(dec.end - dec.p)));
    calls->has_result = gen_command_infos[calls->command].has_result && !(calls->packet.flags & LAP_PACKET_ENTRY);
    return LAP_OK;
}

enum lap_status lap_calls_seek(struct lap_calls *calls, uint64_t ticket)
{
    calls->next_index = ticket - 1; /* tickets are dense (docs/format.md) */
    return lap_reader_seek(calls->reader, ticket);
}

enum lap_status lap_calls_block_begin(struct lap_calls *calls)
{
    const struct gen_args_lapilliBlock *args = (const void *)calls->args.bytes;
    const uint8_t *data;
    size_t bytes;
    enum lap_status status = lap_reader_blob(calls->reader, LAP_BLOB_BLOCK, args->block, &data, &bytes);

    if (status != LAP_OK)
        return fail_here(calls, status);
    lap_block_init(&calls->block, data, bytes, gen_u64_VkCommandBuffer(args->commandBuffer), &calls->dictionary,
                   &calls->block_arena, &calls->source);
    return LAP_OK;
}

enum lap_status lap_calls_block_next(struct lap_calls *calls)
{
    enum lap_status status;

    lap_arena_reset(&calls->block_arena);
    status = lap_block_next(&calls->block, &calls->block_command, &calls->block_args);
    return status < 0 ? fail_here(calls, status) : status;
}

bool lap_calls_in_flight(struct lap_calls *calls, const struct lap_in_flight *call)
{
    VkCommandBuffer command_buffer = gen_VkCommandBuffer(call->command_buffer);
    struct lap_dec dec;

    calls->has_result = false;
    calls->name = lap_reader_command_name(calls->reader, call->command);
    calls->command = lap_dictionary_command(&calls->dictionary, call->command);
    if (!gen_decode_table[calls->command])
        calls->command = GEN_COMMAND_NONE;
    if (calls->command == GEN_COMMAND_NONE || call->flags & LAP_IN_FLIGHT_BARE)
        return false;
    lap_arena_reset(&calls->arena);
    lap_dec_init(&dec, call->body, call->bytes, &calls->arena, &calls->source);
    gen_decode_table[calls->command](&dec, calls->args.bytes);
    if (dec.status != LAP_OK || dec.p != dec.end)
        return false;
    if (call->flags & LAP_IN_FLIGHT_COMMAND && lap_block_has(calls->command))
        memcpy(calls->args.bytes, &command_buffer, sizeof command_buffer);
    return true;
}

static const char *sentence(enum lap_status status)
{
    return lap_error_message()[0] ? lap_error_message() : lap_status_text(status);
}

int lap_calls_report_open(const char *program, const char *path, enum lap_status status)
{
    const char *text = sentence(status);

    /* Some of the reader's messages contain the path. */
    if (strstr(text, path))
        fprintf(stderr, "%s: %s\n", program, text);
    else
        fprintf(stderr, "%s: %s: %s\n", program, path, text);
    return status == LAP_ERROR_MEMORY ? LAP_TOOL_FAILED : LAP_TOOL_NO_TRACE;
}

int lap_calls_report_end(const char *program, const char *path, const struct lap_reader *reader, enum lap_status status)
{
    const struct lap_reader_summary *summary = lap_reader_summary(reader);

    if (status < 0) {
        fprintf(stderr, "%s: %s: %s\n", program, path, sentence(status));
        if (status == LAP_ERROR_ARGUMENT)
            return LAP_TOOL_USAGE;
        /* Exceeded limits and unknown content are faults of the file. */
        return status == LAP_ERROR_MEMORY || status == LAP_ERROR_IO ? LAP_TOOL_FAILED : LAP_TOOL_INCOMPLETE;
    }
    if (summary->repaired)
        fprintf(stderr, "%s: %s: %s\n", program, path, summary->repaired);
    if (!summary->complete) {
        fprintf(stderr, "%s: %s: the trace is incomplete: %s\n", program, path,
                summary->stopped ? summary->stopped : "no reason");
        return LAP_TOOL_INCOMPLETE;
    }
    return LAP_TOOL_OK;
}

static int end(const char *program, const char *path, const struct lap_reader *trace, enum lap_status status)
{
    int code = lap_tool_end_output(program, LAP_TOOL_OK);

    return code == LAP_TOOL_OK && !ferror(stdout) ? lap_calls_report_end(program, path, trace, status) : code;
}

int lap_read_trace(const char *program, const char *path,
                   enum lap_status (*show)(void *user, const struct lap_reader *trace), void *user)
{
    struct lap_reader *trace;
    enum lap_status status = lap_reader_open(path, NULL, &trace);
    int code;

    if (status != LAP_OK)
        return lap_calls_report_open(program, path, status);
    code = end(program, path, trace, show(user, trace));
    lap_reader_close(&trace);
    return code;
}

int lap_read_calls(const char *program, const char *path, enum lap_status (*show)(void *user, struct lap_calls *calls),
                   void *user)
{
    struct lap_calls calls;
    enum lap_status status = lap_calls_open(&calls, path);
    int code;

    if (status != LAP_OK)
        return lap_calls_report_open(program, path, status);
    code = end(program, path, calls.reader, show(user, &calls));
    lap_calls_close(&calls);
    return code;
}
