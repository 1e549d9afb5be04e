/* SPDX-License-Identifier: MIT */
/*
 * invalid_calls: calls of the program that the specification forbids and the recorded driver tolerated: a forbidden
 * null handle, a destroyed object. A replay leaves them out and goes on (docs/cli.md, "Calls that are not valid"),
 * unless it is strict. Invalid packets of the layer, invalid calls on which later waits depend, and damage of the file
 * still end it. One thread.
 */
#ifndef LAP_REPLAYER_CORE_INVALID_CALLS_H
#define LAP_REPLAYER_CORE_INVALID_CALLS_H

#include "replayer/core/replay.h"

/* Whether the replay may leave out the call of the current packet. Not submits, presents and acquires, since later
 * waits would never end; not descriptor writes, since drivers read descriptors that were never written; not command
 * buffers; of the layer's own packets only those about a destroyed object. */
bool replay_invalid_calls_may_leave_out(const struct replay *r);
/* Whether the replay makes the call with the valid part of its arguments: lists of fences and semaphores without the
 * null ones. */
bool replay_invalid_calls_is_thinned(uint32_t command);
/* Counts the current call. The first call of each command is reported, with its position and this sentence. */
void replay_invalid_calls_note(struct replay *r, const char *sentence);
/* The warning at the end: how many calls of which commands were left out. Nothing where there were none. */
void replay_invalid_calls_summary(const struct replay *r);

#endif
