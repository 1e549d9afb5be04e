/* SPDX-License-Identifier: MIT */
/*
 * shut_in: work that reads a stranger's trace and writes to files that are open, done by a child process in a sandbox.
 * What is done with files before and afterwards (to make, remove and rename them) the parent does, which never reads
 * the trace. For a program with one thread.
 */
#ifndef LAP_TOOLS_SHUT_IN_H
#define LAP_TOOLS_SHUT_IN_H

#include "base/sandbox.h"

/* Returns the exit status (enum lap_tool_exit) that work returns; 1 where there is no such process or sandbox, or the
 * process dies, after a sentence on stderr with `program` in front. The child ends with the parent. */
int lap_shut_in(const char *program, enum lap_sandbox_wish wish, int (*work)(void *argument), void *argument);

#endif
