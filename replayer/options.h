/* SPDX-License-Identifier: MIT */
/*
 * options: the command line of lapilli-replay.
 */
#ifndef LAP_REPLAYER_OPTIONS_H
#define LAP_REPLAYER_OPTIONS_H

#include "replayer/core/replay.h"

enum replay_action {
    REPLAY_ACTION_PLAY,
    REPLAY_ACTION_HELP,
    REPLAY_ACTION_VERSION,
    REPLAY_ACTION_LIST_GPUS,
    REPLAY_ACTION_CHECK,
    REPLAY_ACTION_CHECK_HELP
};

/* Texts point into argv; replay_options_finish frees the lists, as this does after a failure. LAP_ERROR_ARGUMENT with a
 * sentence. */
enum lap_status replay_options_parse(int argc, char **argv, struct replay_options *out,
                                     enum replay_action *out_action) LAP_MUST_CHECK;
/* Adds what a waiting replay is asked for (waiting.h): words of a command line, which options->pictures points into
 * from then on. LAP_ERROR_ARGUMENT with a sentence. */
enum lap_status replay_options_ask(int argc, char **argv, struct replay_options *options) LAP_MUST_CHECK;
void replay_options_finish(struct replay_options *options);

/* Writes the usage to stdout. */
void replay_options_help(void);
/* The usage of --check, for `lapilli check --help`. */
void replay_options_check_help(void);

#endif
