/* SPDX-License-Identifier: MIT */
/*
 * chunk_order: checks that a chunk can follow the chunks in front of it (docs/format.md, "Chunks"): there is one
 * dictionary, frame marks and blobs are numbered, tickets of a stream ascend. This finds a chunk that was lost, moved
 * or doubled although each chunk by itself is whole. One thread.
 */
#ifndef LAP_TRACE_READ_CHUNK_ORDER_H
#define LAP_TRACE_READ_CHUNK_ORDER_H

#include "base/map.h"
#include "trace/format/chunk.h"

struct lap_chunk_order {
    uint64_t chunks, frames, frame_last; /* frame_last: of the last mark */
    uint64_t blobs;
    bool has_copy;         /* the second chunk may be the dictionary once more */
    bool blob_goes_on;     /* the last one has a chunk of its own, and may have more */
    struct lap_map places; /* of streams: in `lasts`, from 1 */
    uint64_t *lasts;       /* the last ticket of each stream */
    size_t count, capacity;
};

/* version: of the file. */
void lap_chunk_order_init(struct lap_chunk_order *sequence, uint32_t version);
void lap_chunk_order_finish(struct lap_chunk_order *sequence);

/* LAP_ERROR_FORMAT: it can't follow; LAP_ERROR_MEMORY. Not for INDEX and END. */
enum lap_status lap_chunk_order_add(struct lap_chunk_order *sequence,
                                    const struct lap_chunk_header *header) LAP_MUST_CHECK;

#endif
