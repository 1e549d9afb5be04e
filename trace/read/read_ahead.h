/* SPDX-License-Identifier: MIT */
/*
 * read_ahead: a thread that reads, checks and unpacks the chunks of a trace before they are needed, in the order of the
 * file, which is about the order of use. Part of a reader.
 *
 * It never fails: the reader itself loads the chunks that the thread can't unpack or has not reached, and reports
 * errors. One reader, one thread.
 */
#ifndef LAP_TRACE_READ_READ_AHEAD_H
#define LAP_TRACE_READ_READ_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/read/buffers.h"
#include "trace/read/chunk_load.h"
#include "trace/read/reader.h"

struct lap_read_ahead;

/* Begins with the first chunk; at most options->ahead_bytes, or one chunk or blob, are loaded and not yet taken; less
 * at first, and twice as much each time that a chunk is taken before it is loaded. Source, list and buffers outlive it.
 * NULL when there is no memory or no thread: then everything is loaded when it is needed. */
struct lap_read_ahead *lap_read_ahead_create(const struct lap_source *source, const size_t *blob_chunks,
                                             const struct lap_reader_options *options, struct lap_buffers *buffers);
void lap_read_ahead_destroy(struct lap_read_ahead **ahead);

/* The loaded data of a chunk, once; waits for it if it is being loaded. False if it was not loaded; it never will be
 * then. */
bool lap_read_ahead_take(struct lap_read_ahead *ahead, size_t chunk, struct lap_loaded *out);

/* Waits until everything is loaded, or as much as the limit allows: then false. */
bool lap_read_ahead_wait(struct lap_read_ahead *ahead);

#endif
