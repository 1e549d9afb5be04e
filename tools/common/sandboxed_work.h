/* SPDX-License-Identifier: MIT */
/*
 * sandboxed_work: work that reads an untrusted trace and writes to open files, in a sandboxed child process. The parent
 * creates, removes and renames files before and afterwards, and never reads the trace. For a program with one thread.
 */
#ifndef LAP_TOOLS_COMMON_SANDBOXED_WORK_H
#define LAP_TOOLS_COMMON_SANDBOXED_WORK_H

#include "base/process/sandbox.h"

/* Runs work in the child and returns its exit status (enum lap_tool_exit). Returns 1, after a message on stderr with
 * `program` in front, where the process or sandbox can't be created or the process dies. The child ends with the
 * parent. */
int lap_sandboxed_work(const char *program, enum lap_sandbox_wish wish, int (*work)(void *argument), void *argument);
/* The same, and the child may create, write and remove files in a folder. */
int lap_sandboxed_work_in(const char *program, enum lap_sandbox_wish wish, const char *folder,
                          int (*work)(void *argument), void *argument);

#endif
