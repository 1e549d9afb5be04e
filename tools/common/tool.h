/* SPDX-License-Identifier: MIT */
/*
 * tool: definitions that all programs of the lapilli command share.
 */
#ifndef LAP_TOOLS_COMMON_TOOL_H
#define LAP_TOOLS_COMMON_TOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/exit_code.h"

/* Ends a program's output: writes out what stdout still buffers, and returns its exit status. Where output was lost,
 * it says so on stderr, and LAP_TOOL_OK becomes LAP_TOOL_FAILED. Call it once, behind all output. */
int lap_tool_end_output(const char *program, int code);

/* Prints the help, and returns the exit status. */
int lap_tool_help(const char *program, const char *help);

/* Prints "PROGRAM VERSION", and returns the exit status. */
int lap_tool_version(const char *program);

/* The path of a program in this program's own folder. out: PATH_MAX. False: there is none. */
bool lap_tool_find_beside(const char *name, char *out);

/* Becomes a program in this program's own folder. words: its arguments from argv[0] on, ended with NULL. Returns only
 * where that fails: says so, and returns the exit status. */
int lap_tool_become(const char *program, const char *name, const char *const *words);

/* In a child: it is killed when `parent` ends. False: that has ended already. */
bool lap_tool_end_with(pid_t parent);

/* Removes a file that was made for output which there is none of: not a device or a pipe. fd: the open file. */
void lap_tool_remove_output(int fd, const char *path);

/* Whether stdout gets colours: for -1 on a terminal, unless NO_COLOR is set. */
bool lap_tool_has_colour(int colour);

#endif
