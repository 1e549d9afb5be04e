/* SPDX-License-Identifier: MIT */
/* The generated decoder of every command: two bytes say which, the rest is its body. Decoded as tools do, with numbers
 * for handles, and as a replay does, with live ones. What comes out is walked and printed; with numbers, it is also
 * encoded again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_reflect.h"
#include "inspector/twin/recode.h"
#include "tests/fuzz/fuzz.h"
#include "tools/show/print.h"
#include "trace/format/decode.h"
#include "vulkan/block.h"

static FILE *nowhere;
static uint8_t blob_bytes[LAP_BLOB_MIN_BYTES * 4];

/* Of every size up to four times the smallest. */
static enum lap_status source_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    *out_data = blob_bytes;
    *out_bytes = LAP_BLOB_MIN_BYTES + id % (sizeof blob_bytes - LAP_BLOB_MIN_BYTES);
    return LAP_OK;
}

static enum lap_status source_handle(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    FUZZ_CHECK(type < GEN_HANDLE_COUNT && index != 0);
    *out = index % 4 == 3 ? 0 : index << 8;
    return index % 4 == 3 ? lap_fail(LAP_ERROR_REPLAY, "it is not alive") : LAP_OK;
}

static uint32_t source_struct_id(void *user, uint64_t number)
{
    return number < GEN_STRUCT_COUNT ? (uint32_t)number : 0;
}

static void print(uint32_t command, const void *args)
{
    struct lap_packet packet = {.ticket = 1, .command = command};
    struct lap_printer printer = {.out = nowhere};
    struct lap_line line = {.packet = &packet,
                            .name = gen_command_names[command],
                            .command = command,
                            .args = args,
                            .has_result = gen_command_infos[command].has_result};

    lap_print_text(&printer, &line);
    FUZZ_CHECK(lap_print_json(&printer, &line) == LAP_OK);
}

/* As the same file has it. What was not decoded is not there: bytes of which a driver reads nothing, for instance. */
static void encode_again(uint32_t command, const void *args)
{
    static uint32_t numbers[GEN_STRUCT_COUNT > GEN_COMMAND_COUNT ? GEN_STRUCT_COUNT : GEN_COMMAND_COUNT];
    const struct lap_dictionary dictionary = {
        .commands = numbers, .command_count = GEN_COMMAND_COUNT, .structs = numbers, .struct_count = GEN_STRUCT_COUNT};
    struct recode *recode = calloc(1, sizeof *recode);

    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        numbers[i] = i;
    if (recode) {
        recode_init(recode, &dictionary);
        enum lap_status status = recode_packet(recode, command, args);
        FUZZ_CHECK(status == LAP_OK || status == LAP_ERROR_FORMAT);
        recode_finish(recode);
    }
    free(recode);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    nowhere = fopen("/dev/null", "w");
    return nowhere ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct lap_dec_source kept = {.blob = source_blob, .struct_id = source_struct_id, .keeps_empty = true};
    static const struct lap_dec_source live = {
        .blob = source_blob, .handle = source_handle, .struct_id = source_struct_id};
    struct lap_arena arena;
    uint32_t command;

    if (bytes < 2)
        return 0;
    command = ((uint32_t)data[0] << 8 | data[1]) % GEN_COMMAND_COUNT;
    if (!gen_decode_table[command])
        return 0;
    for (int i = 0; i < 2; i++) {
        struct lap_args args;
        struct lap_dec dec;
        uint8_t *body = malloc(bytes - 1); /* of its own size, so that a step too far is seen */
        if (!body)
            return 0;
        memcpy(body, data + 2, bytes - 2);
        lap_arena_init(&arena, (size_t)256 << 20);
        lap_dec_init(&dec, body, bytes - 2, &arena, i ? &live : &kept);
        gen_decode_table[command](&dec, args.bytes);
        FUZZ_CHECK(dec.status == LAP_OK ? dec.depth == 0 : lap_error_message()[0] != 0);
        if (dec.status == LAP_OK)
            print(command, args.bytes);
        if (dec.status == LAP_OK && !i)
            encode_again(command, args.bytes);
        lap_arena_finish(&arena);
        free(body);
    }
    return 0;
}
