/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/read_packets.h"

#include <stdlib.h>

#include "gen_decode.h"
#include "inspector/twin/recode.h"
#include "tests/fuzz/fuzz.h"
#include "vulkan/block.h"

#define MOST_PACKETS 2000u

static void check_block(struct lap_dictionary *dictionary, struct recode *recode, struct lap_arena *arena, uint64_t id)
{
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    uint32_t command;
    enum lap_status status = lap_reader_blob(dictionary->reader, LAP_BLOB_BLOCK, id, &data, &bytes);

    FUZZ_CHECK(status == LAP_OK);
    lap_block_init(&block, data, bytes, 0, dictionary, arena, &recode->source);
    while (status == LAP_OK) {
        lap_arena_reset(arena);
        status = lap_block_next(&block, &command, &args);
    }
    FUZZ_CHECK(status != LAP_ERROR_FORMAT);
}

enum lap_status fuzz_read_packets(struct lap_reader *reader)
{
    struct lap_dictionary dictionary;
    struct recode *recode = calloc(1, sizeof *recode);
    struct lap_arena arena;
    struct lap_packet packet;
    uint64_t ticket = 0;
    enum lap_status last = LAP_OK, status = lap_dictionary_init(&dictionary, reader);

    FUZZ_CHECK(recode && status == LAP_OK);
    recode_init(recode, &dictionary);
    lap_arena_init(&arena, (size_t)1 << 28);
    for (unsigned i = 0; i < MOST_PACKETS && (status = last = lap_reader_next(reader, &packet)) == LAP_OK; i++) {
        struct lap_args args;
        uint32_t command = lap_dictionary_command(&dictionary, packet.command);

        FUZZ_CHECK(packet.ticket >= ticket);
        ticket = packet.ticket;
        lap_arena_reset(&arena);
        status = recode_decode(recode, &packet, &arena, command, args.bytes);
        FUZZ_CHECK(status != LAP_ERROR_FORMAT);
        if (status == LAP_OK && command == GEN_lapilliBlock)
            check_block(&dictionary, recode, &arena,
                        ((const struct gen_args_lapilliBlock *)(const void *)args.bytes)->block);
    }
    if (status != LAP_OK && status != LAP_END)
        FUZZ_CHECK(lap_error_message()[0]);
    if (last < 0)
        FUZZ_CHECK(lap_reader_next(reader, &packet) == last);
    recode_finish(recode);
    free(recode);
    lap_dictionary_release(&dictionary);
    lap_arena_finish(&arena);
    return last;
}
