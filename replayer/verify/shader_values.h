/* SPDX-License-Identifier: MIT */
/*
 * shader_values: --debug: prints the values that a shader has computed (inspector/question/shader_values.h) when the
 * replay has ended, as text (shader_listing.h) or lines of JSON (docs/json.md). One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_SHADER_VALUES_H
#define LAP_REPLAYER_VERIFY_SHADER_VALUES_H

#include "replayer/core/replay.h"

/* Prints those of r->options.debug. LAP_ERROR_UNSUPPORTED: they can't be read. LAP_ERROR_MEMORY, LAP_ERROR_REPLAY
 * (replay_settle). */
enum lap_status replay_print_shader_values(struct replay *r) LAP_MUST_CHECK;

#endif
