/* SPDX-License-Identifier: MIT */
/* seeds --reduce TRACE NEW FRAMES: the first frames of a recorded trace, as small as can be, for tests/fuzz/corpus.
 * seeds OUT TRACE...: what fuzzing begins with: OUT/trace has the traces, OUT/decoder some bodies of each command in
 * them, OUT/calls traces that end with some of their calls in flight. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gen_ids.h"
#include "tests/fuzz/forge.h"
#include "tests/fuzz/tail.h"
#include "tools/common/calls.h"
#include "trace/crash/in_flight.h"
#include "vulkan/block.h"

#define BODIES 3u /* of a command */

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t capacity)
{
    return bytes; /* nothing is mutated here */
}

static struct forge_bytes load(const char *path)
{
    struct forge_bytes file = {NULL, 0};
    FILE *in = fopen(path, "rb");
    long bytes;

    if (!in || fseek(in, 0, SEEK_END) != 0 || (bytes = ftell(in)) < 0)
        goto fail;
    rewind(in);
    file.bytes = (size_t)bytes;
    file.data = malloc(file.bytes + 1);
    if (!file.data || fread(file.data, 1, file.bytes, in) != file.bytes)
        goto fail;
    fclose(in);
    return file;
fail:
    perror(path);
    exit(1);
}

static void store(const char *path, const void *data, size_t bytes)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, bytes, out) != bytes || fclose(out) != 0) {
        perror(path);
        exit(1);
    }
}

static bool named[GEN_STRUCT_COUNT]; /* by chains in the trace */

static uint32_t note_struct(void *user, uint64_t number)
{
    if (number < GEN_STRUCT_COUNT)
        named[number] = true;
    return lap_dictionary_struct(user, number);
}

/* Marks the structures that chains in the trace have. */
static void find_structs(const char *path)
{
    struct lap_calls calls;
    enum lap_status status = lap_calls_open(&calls, path);

    calls.source.struct_id = note_struct;
    while (status == LAP_OK && (status = lap_calls_next(&calls)) == LAP_OK)
        if (calls.command == GEN_lapilliBlock && lap_calls_block_begin(&calls) == LAP_OK)
            while (lap_calls_block_next(&calls) == LAP_OK)
                continue;
    if (status != LAP_END) {
        fprintf(stderr, "%s: %s\n", path, lap_error_message());
        exit(1);
    }
    lap_calls_close(&calls);
}

static int reduce(const char *from, const char *to, unsigned frames)
{
    struct forge_bytes file = load(from);
    struct forge forge;
    size_t capacity = 2 * file.bytes + (16u << 20), bytes;
    uint8_t *out = malloc(capacity);

    find_structs(from);
    if (!out || !forge_load(&forge, file.data, file.bytes))
        return 1;
    forge_blank(&forge, named, GEN_STRUCT_COUNT);
    forge_keep_frames(&forge, frames);
    bytes = forge_store(&forge, out, capacity);
    if (!bytes)
        return 1;
    store(to, out, bytes);
    forge_finish(&forge);
    free(out);
    free(file.data);
    return 0;
}

/* Compressed chunks would keep mutations out. */
static void unpack(const char *from, const char *to)
{
    struct forge_bytes file = load(from);
    struct forge forge;
    size_t capacity = 8u << 20, bytes;
    uint8_t *out = malloc(capacity);

    if (!out || !forge_load(&forge, file.data, file.bytes) || !(bytes = forge_store(&forge, out, capacity)))
        exit(1);
    store(to, out, bytes);
    forge_finish(&forge);
    free(out);
    free(file.data);
}

static unsigned bodies[GEN_COMMAND_COUNT];

static void store_body(const char *folder, uint32_t command, const void *body, size_t bytes)
{
    char path[4096];
    uint8_t *seed;

    if (command == GEN_COMMAND_NONE || bodies[command] == BODIES || bytes > 8192)
        return;
    seed = malloc(bytes + 2);
    if (!seed)
        exit(1);
    seed[0] = (uint8_t)(command >> 8);
    seed[1] = (uint8_t)command;
    memcpy(seed + 2, body, bytes);
    snprintf(path, sizeof path, "%s/decoder/%s-%u", folder, gen_command_names[command], bodies[command]++);
    store(path, seed, bytes + 2);
    free(seed);
}

static void store_bodies(const char *folder, const char *path)
{
    struct lap_calls calls;
    enum lap_status status = lap_calls_open(&calls, path);

    while (status == LAP_OK && (status = lap_calls_next(&calls)) == LAP_OK) {
        store_body(folder, calls.command, calls.packet.body, calls.packet.bytes);
        if (calls.command != GEN_lapilliBlock || lap_calls_block_begin(&calls) != LAP_OK)
            continue;
        for (;;) {
            struct lap_dec at = calls.block.dec;
            (void)lap_get_u64(&at); /* the command */
            if (lap_calls_block_next(&calls) != LAP_OK)
                break;
            store_body(folder, calls.block_command, at.p, (size_t)(calls.block.dec.p - at.p));
        }
    }
    lap_calls_close(&calls);
}

/* ---- calls in flight ---- */

static void add_call(uint8_t *list, size_t *used, uint64_t command, unsigned flags, const uint8_t *body, size_t bytes)
{
    uint8_t *head = list + *used;

    memset(head, 0, TAIL_CALL_HEAD);
    head[TAIL_CALL_COMMAND] = (uint8_t)command;
    head[TAIL_CALL_COMMAND + 1] = (uint8_t)(command >> 8);
    head[TAIL_CALL_FLAGS] = (uint8_t)flags;
    head[TAIL_CALL_SIGNAL] = flags & LAP_IN_FLIGHT_GUILTY ? 11 : 0;
    head[TAIL_CALL_COMMAND_BUFFER] = 1;
    head[TAIL_CALL_BYTES] = (uint8_t)bytes;
    head[TAIL_CALL_BYTES + 1] = (uint8_t)(bytes >> 8);
    if (bytes)
        memcpy(head + TAIL_CALL_HEAD, body, bytes);
    *used += TAIL_CALL_HEAD + bytes;
}

#define MOST_CALLS 24u
#define MOST_BODY  512u

/* Every seventh call of a trace, and a command of every block, as though they had not returned. */
static size_t list_calls(const char *path, uint8_t *list)
{
    struct lap_calls calls;
    enum lap_status status = lap_calls_open(&calls, path);
    size_t used = 0;
    unsigned count = 0;

    for (unsigned i = 0; status == LAP_OK && count < MOST_CALLS && (status = lap_calls_next(&calls)) == LAP_OK; i++) {
        if (calls.command == GEN_lapilliBlock && lap_calls_block_begin(&calls) == LAP_OK &&
            lap_calls_block_next(&calls) == LAP_OK) {
            struct lap_dec at = calls.block.dec;
            uint64_t command = lap_get_u64(&at);
            if (lap_calls_block_next(&calls) == LAP_OK && (size_t)(calls.block.dec.p - at.p) <= MOST_BODY) {
                add_call(list, &used, command, LAP_IN_FLIGHT_COMMAND, at.p, (size_t)(calls.block.dec.p - at.p));
                count++;
            }
        } else if (i % 7 == 0 && calls.packet.bytes <= MOST_BODY) {
            add_call(list, &used, calls.packet.command, i % 2 ? 0 : LAP_IN_FLIGHT_GUILTY, calls.packet.body,
                     calls.packet.bytes);
            count++;
        }
    }
    add_call(list, &used, 1, LAP_IN_FLIGHT_BARE, NULL, 0);
    lap_calls_close(&calls);
    return used;
}

/* 'F' or 'N': tests/fuzz/tail.h. */
static void store_calls(const char *path, const char *unpacked, const char *to, char kind)
{
    struct forge_bytes trace = load(unpacked);
    uint8_t *input = malloc(TAIL_LIST_AT + (MOST_CALLS + 1) * (TAIL_CALL_HEAD + MOST_BODY) + trace.bytes);
    size_t used;

    if (!input)
        exit(1);
    used = list_calls(path, input + TAIL_LIST_AT);
    input[0] = (uint8_t)kind;
    input[1] = (uint8_t)used;
    input[2] = (uint8_t)(used >> 8);
    memcpy(input + TAIL_LIST_AT + used, trace.data, trace.bytes);
    store(to, input, TAIL_LIST_AT + used + trace.bytes);
    free(input);
    free(trace.data);
}

int main(int argc, char **argv)
{
    static const char *const folders[] = {"trace", "decoder", "calls"};
    char path[4096], other[4096];

    if (argc == 5 && strcmp(argv[1], "--reduce") == 0)
        return reduce(argv[2], argv[3], (unsigned)atoi(argv[4]));
    if (argc < 3) {
        fprintf(stderr, "usage: seeds --reduce TRACE NEW FRAMES | seeds OUT TRACE...\n");
        return 2;
    }
    mkdir(argv[1], 0777);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", argv[1], folders[i]);
        mkdir(path, 0777);
    }
    for (int i = 2; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        snprintf(path, sizeof path, "%s/trace/%s", argv[1], slash ? slash + 1 : argv[i]);
        unpack(argv[i], path);
        snprintf(other, sizeof other, "%s/calls/%s", argv[1], slash ? slash + 1 : argv[i]);
        store_calls(argv[i], path, other, 'F');
        snprintf(other, sizeof other, "%s/calls/notes-%s", argv[1], slash ? slash + 1 : argv[i]);
        store_calls(argv[i], path, other, 'N');
        store_bodies(argv[1], argv[i]);
    }
    return 0;
}
