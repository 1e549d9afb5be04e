/* SPDX-License-Identifier: MIT */
/*
 * shader_listing: the values that a shader has computed as text: beside its code, or as a table of those with a name.
 * One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_SHADER_LISTING_H
#define LAP_REPLAYER_VERIFY_SHADER_LISTING_H

#include "inspector/question/shader_values.h"
#include "replayer/core/replay.h"

/* Prints those of r->options.debug. results: what the buffer has. LAP_ERROR_ARGUMENT: nothing has such a name.
 * LAP_ERROR_MEMORY. */
enum lap_status replay_print_shader_listing(const struct replay *r, const uint32_t *results) LAP_MUST_CHECK;

/* Whether it is an id's, like %46, or what a variable with this name gets or gives. */
bool replay_shader_value_is_named(const struct shader_values *values, const struct instrument_result *result,
                                  const char *name);
/* Fails with the sentence that nothing has the name. */
enum lap_status replay_shader_value_is_missing(const char *name) LAP_MUST_CHECK;

#endif
