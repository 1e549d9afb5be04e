/* SPDX-License-Identifier: MIT */
/*
 * invalid: calls of the program that the specification forbids and its driver bore: a null handle where none may be,
 * an object that is gone. A replay leaves them out and goes on (README.md, "Calls that are not valid"), unless it is
 * strict. What is no call of the program's, and what others wait for, still ends it; so does whatever shows that the
 * file is broken. One thread.
 */
#ifndef LAP_REPLAYER_INVALID_H
#define LAP_REPLAYER_INVALID_H

#include "replayer/context.h"

/* Whether the call of the current packet may be left out. Not what is submitted, presented or acquired, for what waits
 * for it would wait for good; nor what writes descriptors, of which drivers follow what was never written; nor command
 * buffers, and packets of the layer's own but for what is about an object that is gone. */
bool replay_invalid_may_leave_out(const struct replay *r);
/* Whether what is left of it is played: lists of fences and semaphores, less those that are null. */
bool replay_invalid_is_thinned(uint32_t command);
/* Counts the current call. The first of each command is reported, with its place and the sentence that says what is
 * wrong. */
void replay_invalid_note(struct replay *r, const char *sentence);
/* The warning at the end, if there is anything to say: how many calls of which commands. */
void replay_invalid_summary(const struct replay *r);

#endif
