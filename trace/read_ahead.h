/* SPDX-License-Identifier: MIT */
/*
 * read_ahead: a thread that reads, checks and unpacks the chunks of a trace before they are asked for, in the order of
 * the file, which is about the order in which they are needed. Part of a reader.
 *
 * It never fails: what it can't unpack, or was not quick enough with, its reader loads itself, and says what is wrong.
 * One reader, one thread.
 */
#ifndef LAP_TRACE_READ_AHEAD_H
#define LAP_TRACE_READ_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/buffers.h"
#include "trace/chunk_load.h"
#include "trace/reader.h"

struct lap_read_ahead;

/* Begins with the first chunk; at most options->ahead_bytes, or one chunk or blob, are loaded and not yet taken; less
 * at first, and twice as much each time that a chunk is taken before it is there. Source, list and buffers outlive it.
 * NULL when there is no memory or no thread: then everything is loaded when it is needed. */
struct lap_read_ahead *lap_read_ahead_create(const struct lap_source *source, const size_t *blob_chunks,
                                             const struct lap_reader_options *options, struct lap_buffers *buffers);
void lap_read_ahead_destroy(struct lap_read_ahead **ahead);

/* What was loaded of a chunk, once; waits for it if it is being loaded. False, and never loaded any more, if it was
 * not. */
bool lap_read_ahead_take(struct lap_read_ahead *ahead, size_t chunk, struct lap_loaded *out);

/* Waits until everything is loaded, or as much as the limit allows: then false. */
bool lap_read_ahead_wait(struct lap_read_ahead *ahead);

#endif
