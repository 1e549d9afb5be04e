/* SPDX-License-Identifier: MIT */
/*
 * measure: the figures of `lapilli replay --measure`: memory, staging, and the time and submits of frames. docs/json.md
 * lists the JSON's members. One thread.
 */
#ifndef LAP_REPLAYER_PLAY_MEASURE_H
#define LAP_REPLAYER_PLAY_MEASURE_H

#include "replayer/core/replay.h"

enum lap_status replay_measure_create(struct replay *r) LAP_MUST_CHECK;
void replay_measure_destroy(struct replay *r); /* also without one */

/* Call it before each packet, also before the one at which a replay stops: it may begin a frame. */
void replay_measure_packet(struct replay *r);
/* Call it after the last packet of the trace. */
void replay_measure_end(struct replay *r);
/* Stores the device's figures. Call it before the device is destroyed, with nothing under way. */
void replay_measure_device(struct replay *r, const struct replay_device *dev);
/* Writes the figures to options.measure_file, or as text to stdout. Call it once, at the end; devices may still be
 * alive. LAP_ERROR_IO with the file's name. */
enum lap_status replay_measure_write(struct replay *r) LAP_MUST_CHECK;
/* Writes {"failed": why} to the file, when there was no replay, so that no script reads old figures. */
enum lap_status replay_measure_none(const struct replay_options *options, const char *why) LAP_MUST_CHECK;

#endif
