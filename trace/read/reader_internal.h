/* SPDX-License-Identifier: MIT */
/*
 * reader_internal: shared by the parts of a reader. reader.c opens and checks, reader_blob.c finds blobs,
 * reader_packet.c merges the streams.
 */
#ifndef LAP_TRACE_READ_READER_INTERNAL_H
#define LAP_TRACE_READ_READER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format/dictionary.h"
#include "trace/read/cache.h"
#include "trace/read/edits.h"
#include "trace/read/packet_maker.h"
#include "trace/read/read_ahead.h"
#include "trace/read/reader.h"
#include "trace/read/source.h"

/* The position in one stream. Its chunks are chunk_order[chunk .. chunk_end). */
struct lap_cursor {
    size_t first_chunk, chunk, chunk_end;
    struct lap_chunk_ref *ref; /* that of `chunk`; NULL behind the last one */
    uint64_t ticket;           /* of the next packet; the heap's order */
    bool started;              /* the fields below belong to the chunk; else only its header is known */
    uint32_t left;             /* packets of the chunk from the next one on */
    uint64_t thread_id;
    uint64_t epoch; /* of the next packet, like all below */
    uint32_t command, flags, body_bytes;
    size_t body_offset; /* in the chunk's payload */
};

struct lap_frame_mark {
    uint64_t last_ticket;
    size_t chunk; /* in the source's list */
};

struct lap_reader {
    struct lap_run run; /* first: lap_reader_run. Its cursor is the first of the heap, and is updated only when the run
                           has ended */
    struct lap_source source;
    struct lap_buffers buffers;
    struct lap_cache cache;
    bool trusts_blobs;            /* reader.h */
    struct lap_read_ahead *ahead; /* NULL: nothing is loaded before it is needed */
    struct lap_name_table dictionary;
    char *info;
    struct lap_reader_summary summary;
    char stopped[480];
    struct lap_end_note end_note;
    struct lap_in_flight *in_flight; /* into the source's list */

    struct lap_frame_mark *frames;
    size_t frame_count;
    size_t marks_unseen; /* frames from this one on whose marks were not checked; frame_count: they never are */
    size_t *blob_chunks; /* in the source's list; the numbers of their blobs ascend without a gap */
    size_t blob_chunk_count;
    size_t *chunk_order; /* of packets: by stream, then by ticket */
    size_t order_count;
    struct lap_cursor *cursors;
    size_t cursor_count;
    size_t *heap; /* of cursors that have packets left, the smallest ticket first */
    size_t heap_count;

    /* trace/read/packet_maker.h; NULL: a file. */
    const struct lap_packet_maker *maker;
    void *making;

    uint64_t last_ticket; /* nothing is given out behind it, but for new packets */
    uint64_t file_blobs;  /* summary.blobs without new ones */

    /* trace/read/edits.h; NULL and 0: none. */
    const struct lap_edits *edits;
    const struct lap_edit *edit_list;
    size_t edit_count, edit;  /* edit: the next one */
    uint64_t edit_ticket;     /* of that; UINT64_MAX behind the last one */
    struct lap_packet anchor; /* the last packet of the file that was read, where it may have edits; ticket 0: none */

    struct lap_chunk_ref *finished; /* all its packets were given out, the last one just now */
    uint64_t next_ticket;
    uint64_t barriers;  /* given out so far */
    size_t frame;       /* of the next packet */
    uint64_t frame_end; /* its last ticket; UINT64_MAX behind the last mark */
    enum lap_status failed;
    enum lap_status behind; /* the packet behind the last one given out is damaged; failure has the sentence */
    char failure[512];
};

/* Loads a chunk or a large blob, or takes the one that was loaded ahead: trace/read/chunk_load.h. */
enum lap_status lap_reader_load(struct lap_reader *reader, const struct lap_chunk_ref *chunk,
                                const struct lap_parts *parts, struct lap_loaded *out) LAP_MUST_CHECK;

/* Checks and sorts out the chunks of packets, and goes to the first packet. */
enum lap_status lap_reader_arrange_packets(struct lap_reader *reader) LAP_MUST_CHECK;
/* Of a maker: from the first packet on. */
enum lap_status lap_reader_make_anew(struct lap_reader *reader) LAP_MUST_CHECK;
/* The same for the chunks of blobs. */
enum lap_status lap_reader_arrange_blobs(struct lap_reader *reader) LAP_MUST_CHECK;

#endif
