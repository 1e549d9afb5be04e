/* SPDX-License-Identifier: MIT */
/*
 * forge: traces in memory that can be changed anywhere and still have good hashes, tickets and epochs, as somebody
 * would make them who wants a reader or a replay to fail. What a fuzzer mutates. One thread.
 */
#ifndef LAP_TESTS_FUZZ_FORGE_H
#define LAP_TESTS_FUZZ_FORGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct forge_bytes {
    uint8_t *data;
    size_t bytes;
};

struct forge_packet {
    uint32_t command, flags;
    uint64_t thread;
    bool ends_frame; /* a frame mark stands behind it */
    struct forge_bytes body;
};

struct forge_blob {
    uint8_t kind;
    struct forge_bytes data;
};

struct forge {
    struct forge_bytes dictionary; /* the payload of its chunk, unpacked */
    struct forge_bytes info;       /* JSON */
    uint32_t command_count;        /* of the dictionary */
    struct forge_packet *packets;
    size_t packet_count;
    struct forge_blob *blobs;
    size_t blob_count;
};

/* A line on the stderr that the process began with: libFuzzer closes it. */
void forge_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A file in memory with these bytes; the path is good until the next call. */
const char *forge_place(const void *data, size_t bytes);

/* Takes a trace apart, as far as a reader reads it. False: it can't be opened. *forge is to be finished in any case. */
bool forge_load(struct forge *forge, const void *data, size_t bytes);
void forge_finish(struct forge *forge);

/* What the hashes of a trace's chunks begin with (lap_file_seed); 0 where the bytes begin with no header. */
uint64_t forge_seed(const uint8_t *trace, size_t bytes);

/* The trace as a whole file: only the dictionary is packed. Returns its size; 0 when it is larger than `capacity`. */
size_t forge_store(const struct forge *forge, uint8_t *out, size_t capacity);

/* Structures [number] that are not `used` lose their names: most of a small trace is names. */
void forge_blank(struct forge *forge, const bool *used, size_t count);

/* Leaves out what comes behind so many frames; blobs stay. */
void forge_keep_frames(struct forge *forge, unsigned frames);

/* Changes something: bytes, calls, their order, what a number says. */
void forge_mutate(struct forge *forge, unsigned seed);

/* ---- chunk by chunk, without understanding what they hold ---- */

/* Makes the hashes of all chunks good again, of the blobs in them too, up to the first thing that is no chunk. */
void forge_repair(uint8_t *data, size_t bytes);

/* Changes the file's bytes somewhere and repairs it; sizes in headers stay right, most of the time. */
size_t forge_mutate_file(uint8_t *data, size_t bytes, size_t capacity, unsigned seed);

/* What a target has as LLVMFuzzerCustomMutator: some of each. */
size_t forge_mutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed);

/* libFuzzer's own. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t capacity);

#endif
