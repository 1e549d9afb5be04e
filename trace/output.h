/* SPDX-License-Identifier: MIT */
/*
 * output: the file that a writer appends chunks to, and what is needed to end it well at any moment: the headers of all
 * chunks (they become the index) and where the last frame mark ends.
 *
 * Any thread may append. The file is closed by whatever comes first: lap_output_finish, or a write that fails, which
 * cuts the file behind its last frame mark (without one: behind its last chunk) and ends it there.
 */
#ifndef LAP_TRACE_OUTPUT_H
#define LAP_TRACE_OUTPUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/chunk.h"

struct lap_output {
    pthread_mutex_t mutex; /* for everything below but the atomics */
    int fd;                /* -1: closed */
    enum lap_chunk_codec codec;
    char *path;
    _Atomic uint64_t bytes;  /* in the file */
    _Atomic uint64_t frames; /* frame marks in the file */

    uint8_t *headers; /* of all chunks, as they are in the file */
    size_t chunks, capacity;

    /* As things were behind the last frame mark. */
    uint64_t mark_bytes;
    size_t mark_chunks;
    struct lap_totals mark_totals;
};

/* Creates the file and writes its header. On failure *output is as after lap_output_release. */
enum lap_status lap_output_create(struct lap_output *output, const char *path,
                                  enum lap_chunk_codec codec) LAP_MUST_CHECK;

/* The job of bringing one payload into the file: compress, then write. kind, stream, count, first, last and epoch are
 * the caller's; the rest of *header is set here. LAP_ERROR_STOPPED (without a new sentence) when the file is closed;
 * LAP_ERROR_IO or LAP_ERROR_MEMORY close it. */
enum lap_status lap_output_chunk(struct lap_output *output, struct lap_chunk_header *header, const uint8_t *raw,
                                 size_t raw_bytes) LAP_MUST_CHECK;

/* The same for a frame mark, which becomes the place that the file is cut at should a later write fail.
 * header->frame is set to the number of the frame. */
enum lap_status lap_output_frame(struct lap_output *output, struct lap_chunk_header *header,
                                 const struct lap_totals *totals) LAP_MUST_CHECK;

/* Writes index and end chunk and closes the file. reason: "" for an orderly end. LAP_ERROR_STOPPED (without a new
 * sentence) when it was closed before; LAP_ERROR_IO when there was no room even for the end chunk. */
enum lap_status lap_output_finish(struct lap_output *output, const struct lap_totals *totals, const char *reason);

/* Closes the descriptor and nothing else, without the lock: in a child after fork(). */
void lap_output_abandon(struct lap_output *output);

void lap_output_release(struct lap_output *output); /* frees memory; the file must be closed or abandoned */

#endif
