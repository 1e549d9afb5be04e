/* SPDX-License-Identifier: MIT */
/*
 * output_name: where a trace shall go, looked at before the program that is to be recorded is started: what is wrong
 * then ends the command, not the recording.
 */
#ifndef LAP_TOOLS_OUTPUT_NAME_H
#define LAP_TOOLS_OUTPUT_NAME_H

#include <stdbool.h>

/* The pattern of the trace's path (base/pattern.h), absolute because the program may change its folder: `output`, or
 * that of the program. The caller frees it. NULL: no memory, or there is no current folder (errno). */
char *lap_output_name(const char *output, const char *program);

/* Whether a trace can be made there, as far as that can be known beforehand; says so on stderr when not. */
bool lap_output_name_check(const char *program, const char *pattern);

/* Whether files can be made in a folder, for `what`; says so when not. */
bool lap_output_folder_check(const char *program, const char *path, const char *what);

#endif
