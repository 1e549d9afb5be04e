/* SPDX-License-Identifier: MIT */
/*
 * whole_file: a new file that appears under its name when it is whole. Until then it has none, so that a process that
 * is killed leaves nothing. Where the filesystem has no such files, or without /proc, it has its name from the
 * beginning, and whole_file_drop removes it. A name that exists is never replaced.
 */
#ifndef LAP_TOOLS_COMMON_WHOLE_FILE_H
#define LAP_TOOLS_COMMON_WHOLE_FILE_H

#include <stdbool.h>

#include "base/status.h"

struct whole_file {
    const char *path; /* the caller's */
    int fd;           /* for reading and writing; the owner alone may open it */
    bool named;
    char opened_as[32]; /* opens it by this process and its children meanwhile; empty: `path` does */
};

/* LAP_ERROR_IO: it can't be created, or the name exists. */
enum lap_status whole_file_open(struct whole_file *file, const char *path) LAP_MUST_CHECK;

/* A path that opens it now, in this process or a child. */
const char *whole_file_path(const struct whole_file *file);

/* Gives it its name and closes it. LAP_ERROR_IO: it is gone, and the name may be another file's. */
enum lap_status whole_file_keep(struct whole_file *file) LAP_MUST_CHECK;

/* Closes it, and it is gone. */
void whole_file_drop(struct whole_file *file);

/* Keeps it if the work that wrote it has the exit status LAP_TOOL_OK or LAP_TOOL_INCOMPLETE, else drops it. Returns
 * that status, or LAP_TOOL_FAILED after a message with `program` in front. */
int whole_file_end(struct whole_file *file, const char *program, int code);

#endif
