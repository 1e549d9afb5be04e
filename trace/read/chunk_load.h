/* SPDX-License-Identifier: MIT */
/*
 * chunk_load: chunks, and blobs that take several of them, from the file into buffers. Part of a reader. One thread at
 * a time for each source.
 */
#ifndef LAP_TRACE_READ_CHUNK_LOAD_H
#define LAP_TRACE_READ_CHUNK_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/read/buffers.h"
#include "trace/read/source.h"

struct lap_loaded {
    struct lap_buffer buffer;
    size_t bytes;                /* that are valid */
    struct lap_blob_entry entry; /* of a large blob */
    bool checked;                /* a large blob has its hash */
    uint64_t room;               /* for trace/read/read_ahead.c: its share of the limit */
};

/* The chunks of a large blob: source->chunks[list[first]] and the next ones in the list. */
struct lap_parts {
    const size_t *list; /* of all chunks of blobs */
    size_t first;
};

/* The most bytes of a chunk (parts NULL) or a large blob, unpacked. */
uint64_t lap_load_bytes(const struct lap_source *source, const struct lap_chunk_ref *chunk,
                        const struct lap_parts *parts);

/* Loads a chunk as it is unpacked, or with parts the bytes of a large blob. The buffer is the caller's; on failure
 * there is none. Error sentences have the chunk's offset. */
enum lap_status lap_load(struct lap_source *source, struct lap_buffers *buffers, const struct lap_chunk_ref *chunk,
                         const struct lap_parts *parts, struct lap_loaded *out) LAP_MUST_CHECK;

#endif
