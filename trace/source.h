/* SPDX-License-Identifier: MIT */
/*
 * source: a trace file's bytes and the list of its chunks, from the index or from a scan. Part of a reader.
 */
#ifndef LAP_TRACE_SOURCE_H
#define LAP_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/chunk.h"

struct lap_cached;

struct lap_chunk_ref {
    uint64_t offset; /* in the file, of the header; past the end of the file: in the tail file */
    struct lap_chunk_header header;
    uint32_t parts;            /* BLOBS: how many chunks its (only) blob takes, itself included; 0 for the later ones */
    struct lap_cached *cached; /* what is unpacked of it now, or NULL */
};

struct lap_source {
    int fd;
    uint64_t file_bytes;
    /* The tail file of a trace without an end (docs/format.md); -1 and 0 without. Its bytes count on behind those of
     * the trace: an offset of file_bytes + n is byte n of the tail file. */
    int tail_fd;
    uint64_t tail_bytes, recovered_bytes, recovered_frames;
    struct lap_file_header header;
    uint64_t seed; /* lap_file_seed */

    struct lap_chunk_ref *chunks; /* in the order of the file, without index and end */
    size_t chunk_count, chunk_capacity;
    bool indexed; /* the list comes from the index */
    bool has_end; /* `end` is valid */
    struct lap_end end;
    char damage[320];   /* where and why a scan stopped before an end chunk; "" when it did not */
    bool has_rest;      /* there is more, here or in a tail file, than could be read: not just an end that was cut */
    char repaired[160]; /* what is damaged and was made up for; "" when nothing is known to be */

    uint8_t *calls; /* of the tail file: the list of calls in flight (trace/in_flight.h); NULL: none */
    size_t calls_bytes;

    uint8_t *stored; /* a chunk as it is in the file */
    size_t stored_capacity;
};

/* Opens the file and finds its chunks. On failure *source needs no lap_source_close. */
enum lap_status lap_source_open(struct lap_source *source, const char *path) LAP_MUST_CHECK;
/* The same file with the same chunks, and a buffer of its own. On failure *source needs no lap_source_close. */
enum lap_status lap_source_copy(struct lap_source *source, const struct lap_source *from) LAP_MUST_CHECK;
void lap_source_close(struct lap_source *source);

/* What stands in front of this chunk is all that is read. Why is the current error's sentence. */
void lap_source_end_at(struct lap_source *source, size_t chunk);

/* The mark of a frame (from 0) is damaged, and the index has what readers need of it: puts that into source->repaired,
 * unless something is there. */
void lap_source_repair_mark(struct lap_source *source, const struct lap_chunk_ref *chunk, uint64_t frame);

/* Reads exactly `bytes`; LAP_ERROR_FORMAT where the file ends too early. */
enum lap_status lap_source_read(const struct lap_source *source, uint64_t offset, void *out,
                                size_t bytes) LAP_MUST_CHECK;

/* Reads and unpacks one chunk to `raw` (chunk->header.raw_bytes). The sentence of a failure has the offset. */
enum lap_status lap_source_load(struct lap_source *source, const struct lap_chunk_ref *chunk,
                                uint8_t *raw) LAP_MUST_CHECK;

/* Reads a chunk's header and payload as they are stored; the payload is not yet checked. */
enum lap_status lap_source_fetch(struct lap_source *source, uint64_t offset, struct lap_chunk_header *out_header,
                                 const uint8_t **out_stored) LAP_MUST_CHECK;

enum lap_status lap_source_add(struct lap_source *source, uint64_t offset,
                               const struct lap_chunk_header *header) LAP_MUST_CHECK;

/* Fills the list from the index. LAP_END, with an empty list, when there is none or it is damaged; LAP_ERROR_MEMORY. */
enum lap_status lap_source_use_index(struct lap_source *source) LAP_MUST_CHECK;

/* Fills the list by going through the file, checking every chunk, up to the end chunk or the first that is damaged. */
enum lap_status lap_source_scan(struct lap_source *source) LAP_MUST_CHECK;

#endif
