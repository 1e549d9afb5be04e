/* SPDX-License-Identifier: MIT */
/*
 * measure: what `lapilli replay --measure` shows: memory, staging, and what frames take: time, submits. README.md
 * ("Figures of a replay") lists the JSON's members. One thread.
 */
#ifndef LAP_REPLAYER_MEASURE_H
#define LAP_REPLAYER_MEASURE_H

#include "replayer/context.h"

enum lap_status replay_measure_create(struct replay *r) LAP_MUST_CHECK;
void replay_measure_destroy(struct replay *r); /* also without one */

/* Before each packet, also before the one that a replay stops at: it may begin a frame. */
void replay_measure_packet(struct replay *r);
/* Behind the last packet of the trace. */
void replay_measure_end(struct replay *r);
/* Around a call that submits what was recorded. */
void replay_measure_before_submit(struct replay *r, const struct replay_device *dev, VkQueue queue);
void replay_measure_after_submit(struct replay *r, const struct replay_device *dev, VkQueue queue);
/* Before the device is destroyed, with nothing under way: its figures are kept. */
void replay_measure_device(struct replay *r, const struct replay_device *dev);
/* Once, at the end, while devices may be alive still: to options.measure_file, or as text to stdout. LAP_ERROR_IO names
 * the file. */
enum lap_status replay_measure_write(struct replay *r) LAP_MUST_CHECK;
/* Instead, to the file alone, when there was no replay: {"failed": why}. Scripts don't take old figures for new ones.
 */
enum lap_status replay_measure_none(const struct replay_options *options, const char *why) LAP_MUST_CHECK;

#endif
