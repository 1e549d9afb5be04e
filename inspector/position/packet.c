/* SPDX-License-Identifier: MIT */
#include "inspector/position/packet.h"

#include <inttypes.h>

#include "gen_ids.h"
#include "gen_reflect.h"

#define ARENA_BYTES ((size_t)1 << 30)

enum lap_status position_packet_open(struct position_packet *at, const struct lap_reader *trace)
{
    enum lap_status status;

    *at = (struct position_packet){.reader = NULL};
    lap_arena_init(&at->arena, ARENA_BYTES);
    status = lap_reader_open_again(trace, NULL, &at->reader);
    if (status == LAP_OK)
        status = lap_dictionary_init(&at->dictionary, at->reader);
    at->source = lap_dictionary_source(&at->dictionary);
    return status;
}

void position_packet_close(struct position_packet *at)
{
    lap_dictionary_release(&at->dictionary);
    lap_arena_finish(&at->arena);
    if (at->reader)
        lap_reader_close(&at->reader);
}

static enum lap_status decode(struct position_packet *at)
{
    struct lap_dec dec;

    lap_arena_reset(&at->arena);
    lap_dec_init(&dec, at->packet.body, at->packet.bytes, &at->arena, &at->source);
    gen_decode_table[at->command](&dec, at->args.bytes);
    if (dec.status != LAP_OK)
        return dec.status;
    return dec.p == dec.end ? LAP_OK : lap_fail(LAP_ERROR_FORMAT, "%zu bytes are left over", (size_t)(dec.end - dec.p));
}

enum lap_status position_packet_read(struct position_packet *at, uint64_t ticket)
{
    enum lap_status status = lap_reader_seek(at->reader, ticket);

    if (status == LAP_OK)
        status = lap_reader_next(at->reader, &at->packet);
    if (status != LAP_OK)
        return status;
    at->name = lap_reader_command_name(at->reader, at->packet.command);
    at->command = lap_dictionary_command(&at->dictionary, at->packet.command);
    if (!gen_decode_table[at->command])
        at->command = GEN_COMMAND_NONE;
    at->has_result = gen_command_infos[at->command].has_result && !(at->packet.flags & LAP_PACKET_ENTRY);
    if (at->command == GEN_COMMAND_NONE)
        return LAP_OK;
    status = decode(at);
    if (status < 0)
        return lap_fail_context(status, "packet %" PRIu64 " (%s), offset %" PRIu64, ticket, at->name,
                                at->packet.file_offset);
    return status;
}
