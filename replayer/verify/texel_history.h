/* SPDX-License-Identifier: MIT */
/*
 * texel_history: --pixel X,Y: prints the history of a texel (inspector/question/texel_history.h) when the replay has
 * ended, as lines of text or JSON (docs/json.md). One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_TEXEL_HISTORY_H
#define LAP_REPLAYER_VERIFY_TEXEL_HISTORY_H

#include "replayer/core/replay.h"

/* Prints that of r->options.texel. LAP_ERROR_UNSUPPORTED: it can't be read. LAP_ERROR_MEMORY, LAP_ERROR_REPLAY
 * (replay_settle). */
enum lap_status replay_print_texel_history(struct replay *r) LAP_MUST_CHECK;

#endif
