/* SPDX-License-Identifier: MIT */
/*
 * recode: decoded packets and commands as bytes again, for the file that they came from: handles are their indices,
 * structures have the numbers of its dictionary, and bytes that were a blob are that blob. Unchanged packets and
 * commands come out as they were. One thread.
 */
#ifndef LAP_INSPECTOR_TWIN_RECODE_H
#define LAP_INSPECTOR_TWIN_RECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/object.h"
#include "base/status.h"
#include "gen_ids.h"
#include "trace/format/decode.h"
#include "trace/format/encode.h"
#include "trace/read/edits.h"
#include "vulkan/dictionary.h"

struct recode_blob {
    const uint8_t *data; /* of the reader */
    size_t bytes;
    uint64_t number;
    bool used; /* it was encoded as this blob */
};

struct recode {
    const struct lap_dictionary *dictionary; /* of the file that is written, which is that of the source */
    /* Decodes for recode_packet and recode_command. Points to the recode: do not move it. */
    struct lap_dec_source source;
    struct lap_edits *edits;               /* takes new long runs of bytes as blobs; NULL: these stand inline */
    struct lap_map maps[GEN_HANDLE_COUNT]; /* the encoder looks handles up: each one's index is itself */
    struct lap_map *list[GEN_HANDLE_COUNT];
    struct lap_object_tables tables;
    struct lap_arena arena;
    struct lap_enc enc;
    bool knows_all;            /* recode_know was called for all handles: encoding looks for none */
    struct recode_blob *blobs; /* that were decoded since recode_forget */
    size_t blob_count, blob_capacity;
    enum lap_status status; /* latched */
    uint32_t struct_numbers[GEN_STRUCT_COUNT], command_numbers[GEN_COMMAND_COUNT];
};

void recode_init(struct recode *recode, const struct lap_dictionary *dictionary);
void recode_finish(struct recode *recode); /* also of a zeroed one */

/* Before a reader goes on to the next packet: its blobs end. */
void recode_forget(struct recode *recode);

/* Decodes a body with recode->source. LAP_ERROR_UNSUPPORTED: it has a structure that this build does not know, so it
 * can't be encoded again. Other errors are the decoder's. */
enum lap_status recode_decode(struct recode *recode, const struct lap_packet *packet, struct lap_arena *arena,
                              uint32_t command, void *out_args) LAP_MUST_CHECK;

/* The body of a packet of a command: recode->enc has it and nothing else, until the next call. LAP_ERROR_UNSUPPORTED:
 * this build does not know the command, or the file has no number for a structure; LAP_ERROR_FORMAT: no handle has such
 * a number; LAP_ERROR_MEMORY. */
enum lap_status recode_packet(struct recode *recode, uint32_t command, const void *args) LAP_MUST_CHECK;

/* Appends a command of a block, with its number in front, to recode->enc. The same errors; also
 * LAP_ERROR_UNSUPPORTED: the file has no number for the command. */
enum lap_status recode_command(struct recode *recode, uint32_t command, const void *args) LAP_MUST_CHECK;

/* For encoders by name: the handles that may be encoded, one, or all of a command. A failure shows in recode_status. */
void recode_know(struct recode *recode, uint32_t type, uint64_t index);
void recode_know_all(struct recode *recode, uint32_t command, const void *args);

/* Of what was encoded since recode_init or lap_enc_reset; the errors of recode_packet. */
enum lap_status recode_status(const struct recode *recode) LAP_MUST_CHECK;

/* The number of a command in the file. LAP_ERROR_UNSUPPORTED: it has none. */
enum lap_status recode_number(const struct recode *recode, uint32_t command, uint32_t *out) LAP_MUST_CHECK;

#endif
