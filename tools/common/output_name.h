/* SPDX-License-Identifier: MIT */
/*
 * output_name: the path of a trace, checked before the program starts. An error then ends the command, not the
 * recording.
 */
#ifndef LAP_TOOLS_COMMON_OUTPUT_NAME_H
#define LAP_TOOLS_COMMON_OUTPUT_NAME_H

#include <stdbool.h>

/* The pattern of the trace's path (base/pattern.h): `output`, or a default from the program's name. It is absolute,
 * because the program may change its folder. The caller frees it. NULL: out of memory, or no current folder (errno). */
char *lap_output_name(const char *output, const char *program);

/* The same of exactly this path, whatever is in it. */
char *lap_output_path(const char *path);

/* Whether a trace can be created at that path, as far as this is known in advance. Prints a message on stderr when
 * not. */
bool lap_output_name_check(const char *program, const char *pattern);

/* Whether files for `what` can be created in a folder. Prints a message when not. */
bool lap_output_folder_check(const char *program, const char *path, const char *what);

#endif
