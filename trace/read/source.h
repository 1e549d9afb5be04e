/* SPDX-License-Identifier: MIT */
/*
 * source: a trace file's bytes and the list of its chunks, from the index or from a scan. Part of a reader.
 */
#ifndef LAP_TRACE_READ_SOURCE_H
#define LAP_TRACE_READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format/chunk.h"

struct lap_bytes_from;
struct lap_cached;

struct lap_chunk_ref {
    uint64_t offset; /* in the file, of the header; past the end of the file: in the tail file */
    struct lap_chunk_header header;
    uint32_t parts;            /* BLOBS: how many chunks its (only) blob takes, itself included; 0 for the later ones */
    struct lap_cached *cached; /* its unpacked data, or NULL */
};

/* The result for the tail file of a trace without an end. */
enum lap_tail_use {
    LAP_TAIL_NONE,     /* there is none, or it was not looked for */
    LAP_TAIL_BLANK,    /* nothing was written to it yet */
    LAP_TAIL_USED,     /* its chunks are in the list */
    LAP_TAIL_FOREIGN,  /* it is that of another trace */
    LAP_TAIL_IN_USE,   /* the trace is still being recorded */
    LAP_TAIL_UNUSABLE, /* it can't be opened, or is damaged */
};

/* The INDEX chunks of a file that has no end. */
struct lap_index_place {
    uint64_t last_at; /* where the last one is; 0: there is none */
    uint32_t chunks;
    uint64_t records; /* in all of them: the chunks in front of the last one */
    bool broken;      /* one of them is damaged, or does not follow from the others */
};

struct lap_source {
    int fd;                            /* -1: `from` has the bytes */
    const struct lap_bytes_from *from; /* or NULL */
    uint64_t file_bytes;
    /* The tail file of a trace without an end (docs/format.md); -1 and 0 without. Its bytes count on behind those of
     * the trace: an offset of file_bytes + n is byte n of the tail file. */
    int tail_fd;
    uint64_t tail_bytes, recovered_bytes, recovered_frames;
    enum lap_tail_use tail_use;
    bool tail_joins;   /* it begins at the trace's end, or before: no loss between the two is known */
    uint64_t tail_end; /* the number after that of its last chunk, read or not; 0: it has none */
    /* Chunks made from the tail file's journal, in memory; their offsets continue behind the tail file. */
    uint8_t *made;
    size_t made_bytes, made_capacity;
    /* Every packet up to this ticket is there, though no frame mark covers it; 0: not determined. How many of them are
     * behind the last frame mark, and how many of these are calls of the program. */
    uint64_t whole_ticket, recovered_packets, recovered_calls;
    struct lap_file_header header;
    uint64_t seed; /* lap_file_seed */

    struct lap_chunk_ref *chunks; /* in the order of the file, without index and end */
    size_t chunk_count, chunk_capacity;
    bool indexed; /* the list comes from the index */
    /* Of a file that was scanned: how many of the chunks are in it, not in a tail file, where they end, and its INDEX
     * chunks. */
    size_t in_file_count;
    uint64_t good_bytes;
    bool cut; /* behind them is a part of a chunk, and nothing else */
    struct lap_index_place index;
    bool has_end; /* `end` is valid */
    struct lap_end end;
    char damage[320];   /* where and why a scan stopped before an end chunk; "" when it did not */
    bool has_rest;      /* there are more bytes, here or in a tail file, than could be read: not just an end that was
                           truncated */
    char repaired[160]; /* damage that was repaired from copies, without a loss; "" when none is known */

    uint8_t *calls; /* of the tail file: the list of calls in flight (trace/crash/in_flight.h); NULL: none */
    size_t calls_bytes;

    uint8_t *stored; /* a chunk as it is in the file */
    size_t stored_capacity;
};

/* Opens the file and finds its chunks. On failure *source needs no lap_source_close. */
enum lap_status lap_source_open(struct lap_source *source, const char *path) LAP_MUST_CHECK;
/* The same where no file has the bytes. */
enum lap_status lap_source_open_from(struct lap_source *source, const struct lap_bytes_from *from) LAP_MUST_CHECK;
/* The same after the writing process was seen to end: without an index only headers are read, so damage in payloads
 * goes unnoticed, and the time depends on the number of chunks. */
enum lap_status lap_source_open_fresh(struct lap_source *source, const char *path) LAP_MUST_CHECK;
/* The same file with the same chunks, and a buffer of its own. On failure *source needs no lap_source_close. */
enum lap_status lap_source_copy(struct lap_source *source, const struct lap_source *from) LAP_MUST_CHECK;
void lap_source_close(struct lap_source *source);

/* Ends the list in front of this chunk. The reason is the current error's sentence. */
void lap_source_end_at(struct lap_source *source, size_t chunk);

/* Puts into source->repaired, unless it is set, that the mark of a frame (from 0) is damaged and the index replaces
 * it. */
void lap_source_repair_mark(struct lap_source *source, const struct lap_chunk_ref *chunk, uint64_t frame);

/* Reads exactly `bytes`; LAP_ERROR_FORMAT where the file ends too early. */
enum lap_status lap_source_read(const struct lap_source *source, uint64_t offset, void *out,
                                size_t bytes) LAP_MUST_CHECK;

/* Reads and unpacks one chunk to `raw` (chunk->header.raw_bytes). The sentence of a failure has the offset. */
enum lap_status lap_source_load(struct lap_source *source, const struct lap_chunk_ref *chunk,
                                uint8_t *raw) LAP_MUST_CHECK;

/* The same for the dictionary, from either copy that is good; the first chunk has its size. Damage to one copy is put
 * into source->repaired, unless it is set. */
enum lap_status lap_source_load_dictionary(struct lap_source *source, uint8_t *raw) LAP_MUST_CHECK;

/* Reads a chunk's header and payload as they are stored; does not check the payload. */
enum lap_status lap_source_fetch(struct lap_source *source, uint64_t offset, struct lap_chunk_header *out_header,
                                 const uint8_t **out_stored) LAP_MUST_CHECK;

enum lap_status lap_source_add(struct lap_source *source, uint64_t offset,
                               const struct lap_chunk_header *header) LAP_MUST_CHECK;

/* Adds a chunk that is in no file: `header` with kind, stream, count, first, last and epoch. The payload is copied. */
enum lap_status lap_source_make(struct lap_source *source, struct lap_chunk_header *header, const uint8_t *payload,
                                size_t bytes) LAP_MUST_CHECK;

/* Fills the list from the index. LAP_END, with an empty list, when there is none or it is damaged; LAP_ERROR_MEMORY. */
enum lap_status lap_source_use_index(struct lap_source *source) LAP_MUST_CHECK;

/* Fills the list by going through the file, checking every chunk (fresh: its header), up to the end chunk or the first
 * that is damaged. */
enum lap_status lap_source_scan(struct lap_source *source, bool fresh) LAP_MUST_CHECK;

/* Reads a chunk's header; its payload lies in the file, as far as that goes. */
enum lap_status lap_source_fetch_header(const struct lap_source *source, uint64_t offset,
                                        struct lap_chunk_header *out_header) LAP_MUST_CHECK;

#endif
