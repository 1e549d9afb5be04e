/* SPDX-License-Identifier: MIT */
/* A file, its tail file and everything a reader gives out: trace/read/reader.h. The input is a trace; or 'T', a few
 * bytes that say how it is parted, and a trace of which the rest is in a tail file. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tail.h"
#include "trace/crash/tail.h"
#include "trace/read/reader.h"

/* Touches what was given out, so that a sanitizer sees what is not there. */
static uint64_t sum_of(const uint8_t *data, size_t bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum += data[i];
    return sum;
}

static volatile uint64_t sink;

/* Goes to a packet that was read, and compares. */
static void seek(struct lap_reader *reader, uint64_t ticket, uint64_t sum)
{
    struct lap_packet packet;

    FUZZ_CHECK(lap_reader_seek(reader, ticket) == LAP_OK && lap_reader_next(reader, &packet) == LAP_OK);
    FUZZ_CHECK(packet.ticket == ticket && sum_of(packet.body, packet.bytes) == sum);
}

static void read_all(const char *path, const struct lap_reader_options *options)
{
    struct lap_reader *reader = NULL;
    struct lap_packet packet;
    enum lap_status status = lap_reader_open(path, options, &reader);

    FUZZ_CHECK((status == LAP_OK) == (reader != NULL));
    if (!reader) {
        FUZZ_CHECK(lap_error_message()[0]);
        return;
    }
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    FUZZ_CHECK(summary->complete == !summary->stopped);
    sink += strlen(summary->info);
    for (int pass = 0; pass < 2; pass++) {
        uint64_t last = 0, middle_sum = 0, middle = summary->packets / 2 + 1;
        while ((status = lap_reader_next(reader, &packet)) == LAP_OK) {
            FUZZ_CHECK(packet.ticket == last + 1 && lap_reader_command_name(reader, packet.command));
            last = packet.ticket;
            sink += sum_of(packet.body, packet.bytes);
            if (last == middle)
                middle_sum = sum_of(packet.body, packet.bytes);
        }
        FUZZ_CHECK(status == LAP_END ? last == summary->packets : lap_error_message()[0]);
        for (uint64_t id = 0; id < 40 && id <= summary->blobs + 1; id++)
            for (unsigned kind = LAP_BLOB_DATA; kind <= LAP_BLOB_PACKET; kind++) {
                const uint8_t *data;
                size_t bytes;
                if (lap_reader_blob(reader, (enum lap_blob_kind)kind, id, &data, &bytes) == LAP_OK)
                    sink += sum_of(data, bytes);
            }
        if (last >= middle && !(options && options->ahead_bytes))
            seek(reader, middle, middle_sum);
        if (lap_reader_rewind(reader) != LAP_OK)
            break;
    }
    lap_reader_close(&reader);
}

/* What says how a trace is parted: 'T', how many chunks stand in the trace, and what is wrong with the rest. */
enum { TAIL_CHUNKS = 1, TAIL_NUMBER, TAIL_START, TAIL_ENTRY, TAIL_BYTE, TAIL_VALUE, TAIL_CUT, TAIL_BYTES };

/* Puts the chunks from `at` on into a ring, as a writer has them there that was killed. */
static size_t make_tail(const uint8_t *how, const uint8_t *trace, size_t bytes, size_t at, uint8_t *tail)
{
    uint64_t seed = lap_tail_seed(trace + 16), number = (uint64_t)how[TAIL_CHUNKS] + how[TAIL_NUMBER] % 3;
    size_t out = LAP_TAIL_HEADER_BYTES;

    tail_header(tail, trace, LAP_TAIL_HEADER_BYTES,
                LAP_TAIL_HEADER_BYTES + how[TAIL_START] / 16 * LAP_TAIL_ENTRY_ALIGN);
    for (unsigned i = 0; bytes - at >= LAP_CHUNK_HEADER_BYTES; i++) {
        struct lap_tail_entry entry = {.kind = LAP_TAIL_CHUNK, .number = number++};
        size_t stride;
        if (lap_chunk_header_load(trace + at, forge_seed(trace, bytes), &entry.header) != LAP_OK ||
            entry.header.stored_bytes > bytes - at - LAP_CHUNK_HEADER_BYTES)
            break;
        stride = lap_tail_entry_stride(entry.header.stored_bytes);
        memset(tail + out, 0, stride);
        memcpy(tail + out + LAP_TAIL_ENTRY_BYTES, trace + at + LAP_CHUNK_HEADER_BYTES, entry.header.stored_bytes);
        if (i == how[TAIL_ENTRY] && how[TAIL_BYTE] == 0)
            entry.kind = LAP_TAIL_WRAP;
        lap_tail_entry_store(tail + out, &entry, seed);
        if (i == how[TAIL_ENTRY])
            tail[out + how[TAIL_BYTE] % LAP_TAIL_ENTRY_BYTES] ^= how[TAIL_VALUE];
        out += stride;
        at += LAP_CHUNK_HEADER_BYTES + entry.header.stored_bytes;
    }
    return out - how[TAIL_CUT] % 64;
}

/* A trace of which a part is in its tail file, which is found by name. */
static void read_with_tail(const uint8_t *how, const uint8_t *trace, size_t bytes)
{
    size_t at = LAP_FILE_HEADER_BYTES, tail_bytes;
    uint8_t *tail;

    for (unsigned i = 0; i < how[TAIL_CHUNKS]; i++) {
        struct lap_chunk_header header;
        if (bytes < at || bytes - at < LAP_CHUNK_HEADER_BYTES ||
            lap_chunk_header_load(trace + at, forge_seed(trace, bytes), &header) != LAP_OK ||
            header.stored_bytes > bytes - at - LAP_CHUNK_HEADER_BYTES)
            return;
        at += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    }
    if (bytes < at)
        return;
    /* Each chunk has a header, and takes at most two entries' more than it has in the trace. */
    tail = malloc(LAP_TAIL_HEADER_BYTES + 5 * bytes + 1024);
    if (!tail)
        abort();
    tail_bytes = make_tail(how, trace, bytes, at, tail);
    read_all(tail_place(trace, at, tail, tail_bytes), NULL);
    free(tail);
    tail_remove();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct lap_reader_options small = {.memory_limit_bytes = 1 << 16, .ahead_bytes = 1 << 18};

    if (bytes >= TAIL_BYTES && data[0] == 'T') {
        read_with_tail(data, data + TAIL_BYTES, bytes - TAIL_BYTES);
        return 0;
    }
    read_all(forge_place(data, bytes), NULL);
    if (bytes % 4 == 0) /* with a thread that reads ahead, and little memory */
        read_all(forge_place(data, bytes), &small);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    if (bytes >= TAIL_BYTES && data[0] == 'T') {
        if (seed % 2)
            data[1 + seed / 2 % (TAIL_BYTES - 1)] = (uint8_t)(seed >> 24);
        else
            bytes = TAIL_BYTES + forge_mutator(data + TAIL_BYTES, bytes - TAIL_BYTES, capacity - TAIL_BYTES, seed);
        return bytes;
    }
    if (seed % 16 == 0 && bytes + TAIL_BYTES <= capacity) {
        memmove(data + TAIL_BYTES, data, bytes);
        memcpy(data, "T\2\0\0\377\0\0\0", TAIL_BYTES);
        return bytes + TAIL_BYTES;
    }
    return forge_mutator(data, bytes, capacity, seed);
}
