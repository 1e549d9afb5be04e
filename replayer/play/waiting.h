/* SPDX-License-Identifier: MIT */
/*
 * waiting: --wait: a replay that has played what is in front of a frame, and then is told to go on. With --pictures it
 * learns which ones of what comes are wanted. It goes on with the edits of that (experiments.h), as if it had had them
 * from the beginning.
 *
 * A new packet behind one that was played already is played late, before all else: what edits add there are objects
 * and command buffers of their own, which nothing uses up to the frame. One thread.
 */
#ifndef LAP_REPLAYER_PLAY_WAITING_H
#define LAP_REPLAYER_PLAY_WAITING_H

#include "replayer/core/replay.h"

struct replay_request {
    char *text;
    char **words; /* of a command line; NULL behind the last one */
    int count;
};

/* Plays up to options.wait, and says that it waits. LAP_ERROR_ARGUMENT: the trace has no such frame. */
enum lap_status replay_wait(struct replay *r) LAP_MUST_CHECK;

/* Reads words, each with a zero behind it, up to an empty one. LAP_END: there is no request. LAP_ERROR_ARGUMENT: it is
 * cut or too long. Finish it after any outcome. */
enum lap_status replay_request_read(int fd, struct replay_request *out) LAP_MUST_CHECK;
void replay_request_finish(struct replay_request *request);

/* Makes the edits of these options, which outlive the replay, if there are to be pictures; then replay_run plays the
 * rest. LAP_AGAIN: only a replay from the beginning can do that, with a sentence. Others are those of
 * edit_experiments_apply. */
enum lap_status replay_wait_end(struct replay *r, const struct replay_options *asked) LAP_MUST_CHECK;

#endif
