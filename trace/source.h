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

/* What became of the tail file of a trace without an end. */
enum lap_tail_use {
    LAP_TAIL_NONE,     /* there is none, or it was not looked for */
    LAP_TAIL_USED,     /* what it has is in the list */
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
    int fd;
    uint64_t file_bytes;
    /* The tail file of a trace without an end (docs/format.md); -1 and 0 without. Its bytes count on behind those of
     * the trace: an offset of file_bytes + n is byte n of the tail file. */
    int tail_fd;
    uint64_t tail_bytes, recovered_bytes, recovered_frames;
    enum lap_tail_use tail_use;
    bool tail_joins;   /* it begins where the trace ends, or before: nothing between is known to be lost */
    uint64_t tail_end; /* the number behind that of its last chunk, whether that is read or not; 0: it has none */
    /* Chunks that were made of the tail file's journal, in memory; they count on behind the tail file. */
    uint8_t *made;
    size_t made_bytes, made_capacity;
    /* Every packet up to this ticket is there, though no frame mark says so; 0: nobody looked. How many of them are
     * behind the last frame mark, and how many of these are calls of the program. */
    uint64_t whole_ticket, recovered_packets, recovered_calls;
    struct lap_file_header header;
    uint64_t seed; /* lap_file_seed */

    struct lap_chunk_ref *chunks; /* in the order of the file, without index and end */
    size_t chunk_count, chunk_capacity;
    bool indexed; /* the list comes from the index */
    /* Of a file that was scanned: how many of the chunks are in it, not in a tail file, and where they end; and what
     * stands there of an index. */
    size_t in_file_count;
    uint64_t good_bytes;
    bool cut; /* behind them is a part of a chunk, and nothing else */
    struct lap_index_place index;
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
/* The same for who has seen the process end that has written the file: of a file without an index the payloads are not
 * read, so damage within them goes unnoticed, and it takes as long as there are chunks. */
enum lap_status lap_source_open_fresh(struct lap_source *source, const char *path) LAP_MUST_CHECK;
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

/* The same for the dictionary, from whichever of its copies is good; the first chunk says how large it is. That one of
 * them is damaged is put into source->repaired, unless something is there. */
enum lap_status lap_source_load_dictionary(struct lap_source *source, uint8_t *raw) LAP_MUST_CHECK;

/* Reads a chunk's header and payload as they are stored; the payload is not yet checked. */
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
