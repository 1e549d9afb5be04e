/* SPDX-License-Identifier: MIT */
/*
 * chunk: how the file's header and the headers and payloads of chunks lie in the file (docs/format.md, "Chunks").
 * Pure functions over bytes; any thread.
 */
#ifndef LAP_TRACE_FORMAT_CHUNK_H
#define LAP_TRACE_FORMAT_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format/codec.h"
#include "trace/format/format.h"
#include "trace/format/wire.h"

#define LAP_FILE_HEADER_BYTES   40u
#define LAP_CHUNK_HEADER_BYTES  72u
#define LAP_BLOB_ENTRY_BYTES    48u
#define LAP_BLOB_ALIGN          16u
#define LAP_TOTALS_BYTES        144u
#define LAP_TOTALS_MAX_COUNTERS 16u
#define LAP_MARK_MAX_BYTES      ((1 + LAP_TOTALS_MAX_COUNTERS) * LAP_WIRE_MAX_VARINT)
#define LAP_END_BYTES           384u
#define LAP_END_REASON_BYTES    224u

/* ---- the file's header ---- */

struct lap_file_header {
    uint32_t version, flags;
    uint8_t uuid[16];
};

/* The seed of the hash of each chunk header, so that chunks of another file are not accepted; 0 in version 2. */
uint64_t lap_file_seed(const struct lap_file_header *header);

void lap_file_header_store(const struct lap_file_header *header, uint8_t out[LAP_FILE_HEADER_BYTES]);
/* LAP_ERROR_FORMAT: no trace, damaged, or of a version that is not read. */
enum lap_status lap_file_header_load(const uint8_t in[LAP_FILE_HEADER_BYTES],
                                     struct lap_file_header *out) LAP_MUST_CHECK;

/* ---- chunks ---- */

struct lap_chunk_header {
    uint8_t kind;  /* enum lap_chunk_kind */
    uint8_t codec; /* enum lap_chunk_codec */
    uint32_t stream;
    uint32_t raw_bytes, stored_bytes;
    uint32_t count;       /* packets, blob entries or index records in it; otherwise 0 */
    uint64_t first, last; /* tickets; of a BLOBS chunk blob numbers, of an INDEX chunk record numbers */
    uint64_t epoch;       /* PACKETS: of the first packet; FRAME: of a packet with ticket last + 1; INDEX: where the
                             INDEX chunk before it is in the file, or 0 */
    uint64_t frame;       /* FRAME: its number; otherwise the number of frame marks before it */
    uint64_t payload_hash;
};

/* seed: lap_file_seed. */
void lap_chunk_header_store(const struct lap_chunk_header *header, uint64_t seed, uint8_t out[LAP_CHUNK_HEADER_BYTES]);

/* Checks the header's own hash, kind, codec and sizes. LAP_ERROR_FORMAT names the fault. */
enum lap_status lap_chunk_header_load(const uint8_t in[LAP_CHUNK_HEADER_BYTES], uint64_t seed,
                                      struct lap_chunk_header *out) LAP_MUST_CHECK;

/* Most bytes that lap_chunk_pack may need behind `scratch` for a payload of raw_bytes; packer as there. */
size_t lap_chunk_scratch_bytes(const struct lap_codec *packer, size_t raw_bytes);

/* Compresses where that makes the payload smaller (packer NULL: never). Sets codec, both sizes and the payload's hash
 * in *header and returns the bytes to store: `raw` itself or in `scratch`. raw_bytes <= LAP_CHUNK_MAX_RAW. */
const uint8_t *lap_chunk_pack(struct lap_chunk_header *header, const struct lap_codec *packer, const uint8_t *raw,
                              size_t raw_bytes, uint8_t *scratch);

/* Checks the hash of header->stored_bytes bytes at `stored` and puts header->raw_bytes bytes at `raw` (decompress.c).
 * They may be the same where nothing is packed. LAP_ERROR_FORMAT when they are damaged. */
enum lap_status lap_chunk_unpack(const struct lap_chunk_header *header, const uint8_t *stored,
                                 uint8_t *raw) LAP_MUST_CHECK;
enum lap_status lap_chunk_check(const struct lap_chunk_header *header, const uint8_t *stored) LAP_MUST_CHECK;

/* ---- payloads of fixed shape ---- */

/* Counters of a recording, by their numbers in the file. */
enum lap_counter {
    LAP_COUNTER_CALLS,    /* packets of program calls */
    LAP_COUNTER_COMMANDS, /* calls inside command buffers */
    LAP_COUNTER_BLOCKS_RECORDED,
    LAP_COUNTER_BLOCKS_STORED,
    LAP_COUNTER_UPDATES,
    LAP_COUNTER_UPDATE_BYTES,
    LAP_COUNTER_UNKNOWN_STRUCTS,
    LAP_COUNTER_WAITED_US,     /* that recording threads waited because the queue was full; kept by the writer itself */
    LAP_COUNTER_BINDS,         /* objects that got memory */
    LAP_COUNTER_ALIASED_BINDS, /* of these: over another object, or it is not known */
    LAP_COUNTER_LAST_ALIASED,  /* no count: a ticket behind which there are no more of these; 0: not known */
    LAP_COUNTER_UNUSED,        /* 0; in older traces the number of a blob that no reader needs */
    LAP_COUNTER_WHOLE, /* no count: all packets up to this ticket are there, though the recording did not come to an
                          orderly end; 0: those up to the last frame mark. Set in a trace made from another */
    LAP_COUNTER_PRESENT_CHECKS, /* hashes for a replay to compare, by what they are of */
    LAP_COUNTER_BUFFER_CHECKS,
    LAP_COUNTER_IMAGE_CHECKS,
    LAP_COUNTER_COUNT
};

/* The counters in a FRAME chunk and the END chunk, for everything before them: of fixed size in the latter. */
struct lap_totals {
    uint64_t counters[LAP_COUNTER_COUNT];
    uint64_t blob_bytes; /* of the distinct blobs */
    uint32_t end_note;   /* in the END chunk alone: number of the blob with the note of the end (end_note.h), or 0 */
};

/* Returns how many bytes of `out` are the mark's payload. */
size_t lap_mark_store(const struct lap_totals *totals, uint8_t out[LAP_MARK_MAX_BYTES]);
/* Counters that it lacks are 0. LAP_ERROR_FORMAT when the bytes are no mark. */
enum lap_status lap_mark_load(const uint8_t *in, size_t bytes, struct lap_totals *out) LAP_MUST_CHECK;

struct lap_end {
    uint64_t index_offset; /* in the file, of the last INDEX chunk */
    uint32_t index_chunks;
    struct lap_totals totals;
    char reason[LAP_END_REASON_BYTES]; /* "": recording ended as it should */
};

void lap_end_store(const struct lap_end *end, uint8_t out[LAP_END_BYTES]);
void lap_end_load(const uint8_t in[LAP_END_BYTES], struct lap_end *out); /* makes the reason printable */

struct lap_blob_hash {
    uint64_t low, high; /* XXH3-128 */
};

struct lap_blob_hash lap_blob_hash_of(const void *data, size_t bytes);

/* The head in front of a blob, or of each part of a large one, in a BLOBS chunk. */
struct lap_blob_entry {
    uint8_t kind; /* enum lap_blob_kind */
    uint64_t total_bytes, part_offset;
    uint32_t part_bytes;
    struct lap_blob_hash hash; /* of the whole blob */
};

void lap_blob_entry_store(const struct lap_blob_entry *entry, uint8_t out[LAP_BLOB_ENTRY_BYTES]);
/* Reads the entry at `offset` of a payload; its bytes follow it. LAP_ERROR_FORMAT when it does not lie within the
 * payload or contradicts itself. */
enum lap_status lap_blob_entry_load(const uint8_t *payload, size_t payload_bytes, size_t offset,
                                    struct lap_blob_entry *out) LAP_MUST_CHECK;

/* From one entry to the next: the entry, its bytes, and padding to LAP_BLOB_ALIGN. */
static inline size_t lap_blob_entry_stride(size_t part_bytes)
{
    return LAP_BLOB_ENTRY_BYTES + ((part_bytes + LAP_BLOB_ALIGN - 1) & ~(size_t)(LAP_BLOB_ALIGN - 1));
}

/* A number as lap_put_u64() (encode.h) writes it. Returns its bytes, at most 10. */
static inline size_t lap_store_varint(uint8_t *p, uint64_t value)
{
    size_t bytes = 0;
    for (; value > 0x7f; value >>= 7)
        p[bytes++] = (uint8_t)(value | 0x80);
    p[bytes++] = (uint8_t)value;
    return bytes;
}

#endif
