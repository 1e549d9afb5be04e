/* SPDX-License-Identifier: MIT */
/*
 * trace_counts: how often a trace has some kinds of calls, as a file of gfxreconstruct counts them (gfxr.h). One
 * thread.
 */
#ifndef LAP_TOOLS_RECORD_TRACE_COUNTS_H
#define LAP_TOOLS_RECORD_TRACE_COUNTS_H

#include "base/status.h"
#include "tools/record/gfxr.h"
#include "trace/read/reader.h"

/* Reads the trace once, with a reader of its own. An error ends the counts there. out_checks: what a replay with
 * --verify compares, as far as nothing keeps it from that. progress (may be NULL) is told now and then how many packets
 * it has read, and of how many. */
enum lap_status lap_trace_counts(const struct lap_reader *trace,
                                 void (*progress)(void *user, uint64_t done, uint64_t all), void *user,
                                 struct lap_gfxr_counts *out, uint64_t *out_checks) LAP_MUST_CHECK;

#endif
