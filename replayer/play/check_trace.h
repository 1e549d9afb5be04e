/* SPDX-License-Identifier: MIT */
/*
 * check_trace: reads a trace and predicts its replay on this machine (`lapilli check`).
 *
 * The functions of a replay create instances and devices, without the unsupported parts, to get the driver's answers.
 * Images are created and destroyed at once. Nothing else of the trace is created, and nothing executed. The report
 * lacks what only a replay can find (exhausted memory, shaders that a driver does not compile, pages of sparse
 * objects). One thread.
 */
#ifndef LAP_REPLAYER_PLAY_CHECK_TRACE_H
#define LAP_REPLAYER_PLAY_CHECK_TRACE_H

#include "replayer/core/report.h"

/* Fills r->report, up to options.last_frame; *r is open and was not played. A refusal of a replay is no error here.
 * Errors: an unreadable trace, LAP_ERROR_MEMORY. */
enum lap_status replay_check_trace(struct replay *r) LAP_MUST_CHECK;

#endif
