/* SPDX-License-Identifier: MIT */
/* replay_child: what lapilli-replay prints, for a program that goes on with it. For a program with one thread. */
#ifndef LAP_TOOLS_COMMON_REPLAY_CHILD_H
#define LAP_TOOLS_COMMON_REPLAY_CHILD_H

/* Runs lapilli-replay, which ends with us. words: its own name first, NULL at the end. Returns its exit status, or one
 * after a message on stderr with `program` in front. *out: what it has printed, a file that the caller closes; -1:
 * there is none. */
int lap_replay_child(const char *program, const char *const *words, int *out);

#endif
