/* SPDX-License-Identifier: MIT */
/*
 * recode-check TRACE [DIR]: decodes each packet, and each command of each block, and encodes it again. Prints how many
 * there are, how many came out byte by byte as they were, and how many this build does not know; then for each other
 * one its place and name. In DIR it leaves the code of each shader, as HASH.spv. The exit status is 1 if the trace
 * can't be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "inspector/edit/shader_code.h"
#include "inspector/twin/recode.h"
#include "trace/format/hash.h"
#include "trace/read/reader.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

static struct lap_dictionary dictionary;
static struct recode recode;
static struct lap_arena arena;
static uint64_t packets, commands, same, unknown;

static void compare(const struct lap_packet *packet, uint32_t index, uint32_t command, enum lap_status status,
                    const uint8_t *data, size_t bytes)
{
    size_t got = (size_t)(recode.enc.p - recode.enc.base), at = 0;

    if (status == LAP_OK && got == bytes && (!bytes || memcmp(recode.enc.base, data, bytes) == 0)) {
        same++;
        return;
    }
    while (at < got && at < bytes && recode.enc.base[at] == data[at])
        at++;
    printf("#%" PRIu64 ".%" PRIu32 " %s", packet->ticket, index, gen_command_names[command]);
    if (status == LAP_OK)
        printf(": %zu bytes, was %zu; the first difference is at %zu\n", got, bytes, at);
    else
        printf(": %s\n", lap_error_message());
}

static enum lap_status check_block(const struct lap_packet *packet, uint64_t id)
{
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data, *from;
    size_t bytes;
    uint32_t command;
    enum lap_status status = lap_reader_blob(dictionary.reader, LAP_BLOB_BLOCK, id, &data, &bytes);

    if (status != LAP_OK)
        return status;
    recode_forget(&recode);
    lap_block_init(&block, data, bytes, 0, &dictionary, &arena, &recode.source);
    for (;;) {
        lap_arena_reset(&arena);
        block.dec.unknown_structs = 0;
        from = block.dec.p;
        status = lap_block_next(&block, &command, &args);
        if (status != LAP_OK)
            return status == LAP_END || status == LAP_ERROR_UNSUPPORTED ? LAP_OK : status;
        commands++;
        if (block.dec.unknown_structs) {
            unknown++;
            continue;
        }
        lap_enc_reset(&recode.enc);
        status = recode_command(&recode, command, args.bytes);
        compare(packet, block.index - 1, command, status, from, (size_t)(block.dec.p - from));
    }
}

static enum lap_status check_packet(const struct lap_packet *packet)
{
    uint32_t command = lap_dictionary_command(&dictionary, packet->command);
    struct lap_args args;
    enum lap_status status;

    packets++;
    if (!gen_decode_table[command]) {
        unknown++;
        return LAP_OK;
    }
    lap_arena_reset(&arena);
    status = recode_decode(&recode, packet, &arena, command, args.bytes);
    if (status == LAP_ERROR_UNSUPPORTED) {
        unknown++;
        return LAP_OK;
    }
    if (status != LAP_OK)
        return status;
    status = recode_packet(&recode, command, args.bytes);
    compare(packet, 0, command, status, packet->body, packet->bytes);
    return command == GEN_lapilliBlock
               ? check_block(packet, ((const struct gen_args_lapilliBlock *)(const void *)args.bytes)->block)
               : LAP_OK;
}

static enum lap_status write_code(void *folder, struct lap_arena *unused, const uint32_t **words, size_t *bytes)
{
    char path[4096];
    FILE *file;
    size_t written;

    snprintf(path, sizeof path, "%s/%016" PRIx64 ".spv", (const char *)folder, lap_hash64(*words, *bytes));
    file = fopen(path, "wb");
    written = file ? fwrite(*words, 1, *bytes, file) : 0;
    return file && fclose(file) == 0 && written == *bytes ? LAP_OK
                                                          : lap_fail(LAP_ERROR_IO, "%s can't be written", path);
}

int main(int argc, char **argv)
{
    struct lap_reader_options options = {0};
    struct lap_reader *reader = NULL;
    struct shader_code_result codes;
    struct lap_packet packet;
    enum lap_status status;

    if (argc != 2 && argc != 3)
        return 2;
    lap_arena_init(&arena, (size_t)1 << 30);
    status = lap_reader_open(argv[1], &options, &reader);
    if (status == LAP_OK)
        status = lap_dictionary_init(&dictionary, reader);
    if (status == LAP_OK)
        recode_init(&recode, &dictionary);
    while (status == LAP_OK) {
        status = lap_reader_next(reader, &packet);
        if (status == LAP_OK)
            status = check_packet(&packet);
    }
    if (status == LAP_END && argc == 3 && edit_shader_code(reader, write_code, argv[2], NULL, &codes) != LAP_OK)
        status = LAP_ERROR_IO;
    printf("%" PRIu64 " packets, %" PRIu64 " commands, %" PRIu64 " same, %" PRIu64 " unknown\n", packets, commands,
           same, unknown);
    if (status != LAP_END)
        fprintf(stderr, "recode-check: %s\n", lap_error_message());
    recode_finish(&recode);
    lap_dictionary_release(&dictionary);
    lap_arena_finish(&arena);
    if (reader)
        lap_reader_close(&reader);
    return status != LAP_END;
}
