/* SPDX-License-Identifier: MIT */
/*
 * overdraw: --overdraw: writes how many fragments each texel of a render pass has (inspector/question/overdraw.h) when
 * the replay has ended: as a picture with a colour for each count and a legend below, or as uint32_t in rows. One
 * thread.
 */
#ifndef LAP_REPLAYER_VERIFY_OVERDRAW_H
#define LAP_REPLAYER_VERIFY_OVERDRAW_H

#include "replayer/core/replay.h"

/* Writes those of r->options.overdraw into the folder of --pictures, and a line on stdout for each. LAP_ERROR_IO,
 * LAP_ERROR_MEMORY, LAP_ERROR_UNSUPPORTED: the counts can't be read; LAP_ERROR_REPLAY (replay_settle). */
enum lap_status replay_write_overdraw(struct replay *r) LAP_MUST_CHECK;

#endif
