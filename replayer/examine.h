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

/* ---- limits.c ---- */

/* What is known of layouts: descriptors with dynamic offsets are of two kinds, with alignments of their own. */
struct replay_limits;

/* NULL without memory. */
struct replay_limits *replay_limits_create(void);
void replay_limits_destroy(struct replay_limits *limits); /* also for NULL */
/* Looks at the current command (r->command); handles in args are trace indices. */
enum lap_status replay_limits_look(struct replay_limits *limits, struct replay *r, const struct replay_device *dev,
                                   const void *args) LAP_MUST_CHECK;

#endif
