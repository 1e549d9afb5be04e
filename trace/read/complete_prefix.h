/* SPDX-License-Identifier: MIT */
/*
 * complete_prefix: up to which ticket a trace without an end chunk is read. Part of a reader.
 */
#ifndef LAP_TRACE_READ_COMPLETE_PREFIX_H
#define LAP_TRACE_READ_COMPLETE_PREFIX_H

#include "trace/read/source.h"

/* The ticket of its last packet: that of the last frame mark, or the one up to which the journal (source->whole_ticket,
 * counter WHOLE) has everything; without both, the last up to which none is missing. Streams are not written at the
 * same pace, so behind it there may be packets, too. Headers of chunks mostly show it; only chunks between which a
 * packet may be missing are unpacked. LAP_ERROR_FORMAT: one of these is damaged; LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status lap_dense_end(struct lap_source *source, uint64_t *out_ticket) LAP_MUST_CHECK;

#endif
