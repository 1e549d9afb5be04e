/* SPDX-License-Identifier: MIT */
/* Replay programs as text: each is refused with a sentence, or makes packets that decode. What is written again is read
 * as the same program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/support/block.h"
#include "inspector/edit/recode.h"
#include "inspector/program/packets.h"
#include "tests/fuzz/fuzz.h"
#include "vm/text.h"
#include "vm/verify.h"

#define RESOURCE_BYTES 4096u
#define MOST_PACKETS   2000u

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

static const struct lap_vm_program *running;
static uint8_t resource[RESOURCE_BYTES];

static enum lap_status get(void *user, uint32_t number, const uint8_t **out_data)
{
    (void)user;
    *out_data = resource;
    return running->resources[number].bytes <= sizeof resource ? LAP_OK
                                                               : lap_fail(LAP_ERROR_LIMIT, "a resource is too large");
}

static void advance(void *user)
{
    (void)user;
}

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

static void read_all(struct lap_reader *reader)
{
    struct lap_dictionary dictionary;
    struct recode *recode = calloc(1, sizeof *recode);
    struct lap_arena arena;
    struct lap_packet packet;
    enum lap_status status = lap_dictionary_init(&dictionary, reader);

    FUZZ_CHECK(recode && status == LAP_OK);
    recode_init(recode, &dictionary);
    lap_arena_init(&arena, (size_t)1 << 28);
    for (unsigned i = 0; i < MOST_PACKETS && (status = lap_reader_next(reader, &packet)) == LAP_OK; i++) {
        struct lap_args args;
        uint32_t command = lap_dictionary_command(&dictionary, packet.command);

        lap_arena_reset(&arena);
        status = recode_decode(recode, &packet, &arena, command, args.bytes);
        FUZZ_CHECK(status != LAP_ERROR_FORMAT);
        if (status == LAP_OK && command == GEN_lapilliBlock)
            check_block(&dictionary, recode, &arena,
                        ((const struct gen_args_lapilliBlock *)(const void *)args.bytes)->block);
    }
    if (status != LAP_OK && status != LAP_END)
        FUZZ_CHECK(lap_error_message()[0]);
    recode_finish(recode);
    free(recode);
    lap_dictionary_release(&dictionary);
    lap_arena_finish(&arena);
}

static void run(const struct lap_vm_program *program)
{
    const struct program_resources resources = {get, advance, NULL};
    struct program_packets *packets;
    struct lap_reader *reader;

    running = program;
    if (program_packets_create(program, &resources, &packets) != LAP_OK) {
        FUZZ_CHECK(lap_error_message()[0]);
        return;
    }
    if (lap_reader_open_made(program_packets_maker(packets), &reader) == LAP_OK) {
        read_all(reader);
        lap_reader_close(&reader);
    }
    program_packets_destroy(&packets);
}

static bool is_same(const struct lap_vm_program *a, const struct lap_vm_program *b)
{
    return a->count == b->count && a->initial == b->initial && a->constant_bytes == b->constant_bytes &&
           (!a->count || memcmp(a->code, b->code, a->count * sizeof *a->code) == 0) &&
           (!a->constant_bytes || memcmp(a->constants, b->constants, a->constant_bytes) == 0) &&
           a->volatile_bytes == b->volatile_bytes && a->resource_count == b->resource_count &&
           a->label_count == b->label_count && strcmp(a->info, b->info) == 0;
}

static void check_text(const struct lap_vm_program *program)
{
    struct lap_vm_program again;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes), *in;

    if (!out)
        return;
    FUZZ_CHECK(lap_vm_text_write(program, out) == LAP_OK);
    (void)fclose(out);
    in = fmemopen(text, bytes, "r");
    FUZZ_CHECK(in && lap_vm_text_read(in, &again) == LAP_OK && is_same(program, &again));
    lap_vm_text_release(&again);
    (void)fclose(in);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct lap_vm_program program;
    FILE *in = bytes ? fmemopen((void *)(uintptr_t)data, bytes, "r") : NULL;

    if (!in)
        return 0;
    if (lap_vm_text_read(in, &program) == LAP_OK) {
        if (program.constant_bytes < 1u << 20)
            check_text(&program);
        if (lap_vm_verify(&program, 1u << 24) == LAP_OK)
            run(&program);
        else
            FUZZ_CHECK(lap_error_message()[0]);
    } else {
        FUZZ_CHECK(lap_error_message()[0]);
    }
    lap_vm_text_release(&program);
    (void)fclose(in);
    return 0;
}
