/* SPDX-License-Identifier: MIT */
/*
 * outcome: the files of a replay that no terminal shows: NAME.out and NAME.err, which stdout and stderr go to, and
 * NAME.status, which is there as soon as the replay is over: the exit status, and a newline. A replay that a signal
 * ended has 128 and the signal's number, as in a shell. Android can end an app without a signal that it sees, for want
 * of memory above all: then there is none.
 */
#ifndef LAP_REPLAYER_APP_OUTCOME_H
#define LAP_REPLAYER_APP_OUTCOME_H

#include "base/status.h"

/* Once: opens the files in `folder`, which becomes the current one, removes an old status, and takes the signals of
 * crashes. LAP_ERROR_IO with a sentence. */
enum lap_status app_outcome_begin(const char *folder, const char *name) LAP_MUST_CHECK;
/* Writes the status; the first one counts. Also where the replay calls _exit, which the linker turns to this file. Any
 * thread, and handlers of signals. */
void app_outcome_end(int code);

#endif
