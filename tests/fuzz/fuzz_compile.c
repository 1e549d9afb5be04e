/* SPDX-License-Identifier: MIT */
/* lapilli compile: a trace is refused with a sentence, or becomes a program that verifies, and whose packets decode. */
#include <stdlib.h>

#include "inspector/program/build.h"
#include "inspector/program/packets.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_packets.h"
#include "vm/verify.h"

static enum lap_status get(void *user, uint32_t number, const uint8_t **out_data)
{
    struct lap_vm_resource_bytes *bytes = user;
    return bytes->get(bytes->user, number, out_data);
}

static void advance(void *user)
{
    (void)user;
}

static void play(struct program_build *build)
{
    struct lap_vm_resource_bytes bytes = program_build_resources(build);
    const struct program_resources resources = {.get = get, .advance = advance, .user = &bytes};
    struct program_packets *packets;
    struct lap_reader *reader;

    FUZZ_CHECK(lap_vm_verify(program_built(build), UINT64_MAX) == LAP_OK);
    FUZZ_CHECK(program_packets_create(program_built(build), &resources, &packets) == LAP_OK);
    if (lap_reader_open_made(program_packets_maker(packets), &reader) == LAP_OK) {
        (void)fuzz_read_packets(reader); /* it may end as a replay of the trace does */
        lap_reader_close(&reader);
    }
    program_packets_destroy(&packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct program_build_result result;
    struct program_build *build = NULL;
    struct lap_reader *trace = NULL;
    const struct program_build_options options = {.initial_last = bytes % 64};
    enum lap_status status = lap_reader_open(forge_place(data, bytes), NULL, &trace);

    if (status == LAP_OK)
        status = program_build(trace, &options, &build, &result);
    if (status == LAP_OK)
        play(build);
    else
        FUZZ_CHECK(status < 0 && lap_error_message()[0]);
    program_build_destroy(&build);
    if (trace)
        lap_reader_close(&trace);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    return forge_mutator(data, bytes, capacity, seed);
}
