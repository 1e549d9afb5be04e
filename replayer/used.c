/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "codegen/support/block.h"
#include "codegen/support/dictionary.h"
#include "gen_replay.h"
#include "replayer/match.h"

struct scan {
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_arena arena;
    struct lap_dec_source source;
    struct replay_used *used;
    bool *blocks; /* [blob]: read already; blobs are shared by command buffers that are the same */
    uint64_t block_count;
};

static enum lap_status scan_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    struct scan *scan = user;
    return lap_reader_blob(scan->reader, LAP_BLOB_DATA, id, out_data, out_bytes);
}

/* Called for every chained structure that a decoder meets. */
static uint32_t scan_struct(void *user, uint64_t number)
{
    struct scan *scan = user;
    uint32_t id = lap_dictionary_struct(&scan->dictionary, number);

    scan->used->structs[id] = true;
    return id;
}

static enum lap_status scan_block(struct scan *scan, uint64_t id)
{
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    uint32_t command;
    enum lap_status status;

    if (id < scan->block_count && scan->blocks[id])
        return LAP_OK;
    status = lap_reader_blob(scan->reader, LAP_BLOB_BLOCK, id, &data, &bytes);
    if (status != LAP_OK)
        return status;
    if (id < scan->block_count)
        scan->blocks[id] = true;
    lap_block_init(&block, data, bytes, 0, &scan->dictionary, &scan->arena, &scan->source);
    do {
        lap_arena_reset(&scan->arena);
        status = lap_block_next(&block, &command, &args);
        if (status == LAP_OK)
            scan->used->commands[command] = true;
    } while (status == LAP_OK);
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status scan_packet(struct scan *scan, const struct lap_packet *packet)
{
    uint32_t command = lap_dictionary_command(&scan->dictionary, packet->command);
    struct lap_args args;
    struct lap_dec dec;

    if (packet->flags & (LAP_PACKET_INFO | LAP_PACKET_FAILED) || !gen_replay_table[command].call ||
        !gen_decode_table[command] || lap_block_has(command) || command == GEN_vkCreateInstance ||
        command == GEN_vkCreateDevice)
        return LAP_OK;
    scan->used->commands[command] = true;
    lap_arena_reset(&scan->arena);
    lap_dec_init(&dec, packet->body, packet->bytes, &scan->arena, &scan->source);
    gen_decode_table[command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return dec.status;
    return command == GEN_lapilliBlock ? scan_block(scan, ((struct gen_args_lapilliBlock *)(void *)args.bytes)->block)
                                       : LAP_OK;
}

enum lap_status replay_find_used(const char *file, struct replay_used *out)
{
    struct scan scan = {.used = out};
    struct lap_packet packet;
    enum lap_status status = lap_reader_open(file, NULL, &scan.reader);

    memset(out, 0, sizeof *out);
    if (status != LAP_OK)
        return status;
    lap_arena_init(&scan.arena, (size_t)1 << 30);
    scan.source = (struct lap_dec_source){scan_blob, NULL, scan_struct, &scan};
    scan.block_count = lap_reader_summary(scan.reader)->blobs + 1;
    scan.blocks = calloc(scan.block_count, sizeof *scan.blocks);
    status =
        scan.blocks ? lap_dictionary_init(&scan.dictionary, scan.reader) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    while (status == LAP_OK && (status = lap_reader_next(scan.reader, &packet)) == LAP_OK)
        status = scan_packet(&scan, &packet);
    lap_dictionary_release(&scan.dictionary);
    lap_arena_finish(&scan.arena);
    free(scan.blocks);
    lap_reader_close(&scan.reader);
    return status == LAP_END ? LAP_OK : status;
}
