/* SPDX-License-Identifier: MIT */
/*
 * examine: goes through a trace and finds what a replay of it would meet here (`lapilli check`).
 *
 * Instances and devices are made by the very functions of a replay, with what is lacking left out, so that the driver's
 * answer is known; images are made and destroyed at once. Nothing else of the trace is created, and nothing executed.
 * What can only be known by playing (memory that is used up, shaders that a driver does not compile, pages of sparse
 * objects) is not in the report. One thread.
 */
#ifndef LAP_REPLAYER_EXAMINE_H
#define LAP_REPLAYER_EXAMINE_H

#include "replayer/report.h"

/* Fills r->report, up to options.last_frame; *r is open and has not been played. What a replay would refuse is no
 * failure; errors are those of a trace that can't be read, and LAP_ERROR_MEMORY. */
enum lap_status replay_examine(struct replay *r) LAP_MUST_CHECK;

#endif
