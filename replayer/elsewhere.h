/* SPDX-License-Identifier: MIT */
/*
 * elsewhere: a replay on another machine (--on, LAPILLI_REPLAY_ON): this program becomes lapilli-run, which has the
 * trace played where lapilli run --listen waits.
 */
#ifndef LAP_REPLAYER_ELSEWHERE_H
#define LAP_REPLAYER_ELSEWHERE_H

#include "replayer/core/options.h"

/* Whether the replay is one: options or the environment say so. */
bool replay_is_elsewhere(const struct replay_options *options);

/* arguments: the program's own; options->file is one of them. Returns only with a failure. LAP_ERROR_IO,
 * LAP_ERROR_MEMORY. */
enum lap_status replay_become_elsewhere(char **arguments, const struct replay_options *options) LAP_MUST_CHECK;

#endif
