/* SPDX-License-Identifier: MIT */
/*
 * whole_folder: a new folder, for its owner alone, that appears under its name when it is whole. Until then it has
 * another name beside it. SIGINT, SIGTERM, SIGHUP and SIGQUIT wait meanwhile, so that they find it whole or gone. A
 * name that exists is never replaced. For a program with one thread.
 */
#ifndef LAP_TOOLS_COMMON_WHOLE_FOLDER_H
#define LAP_TOOLS_COMMON_WHOLE_FOLDER_H

#include <limits.h>
#include <signal.h>
#include <sys/types.h>

#include "base/status.h"

struct whole_folder {
    char path[PATH_MAX - 16]; /* without slashes at its end */
    char made_as[PATH_MAX];
    int fd;
    sigset_t signals; /* that were blocked before */
};

/* Only looks whether it could be made: LAP_ERROR_IO: the name exists, or its folder does not. */
enum lap_status whole_folder_plan(struct whole_folder *folder, const char *path) LAP_MUST_CHECK;

/* A file without a name on the same filesystem; -1, with a sentence. Its owner closes it. */
int whole_folder_nameless(const struct whole_folder *folder);

/* Makes it. After LAP_OK it is to be kept or dropped. */
enum lap_status whole_folder_open(struct whole_folder *folder) LAP_MUST_CHECK;

/* A new file in it; path: relative. LAP_ERROR_IO has a sentence. The caller closes *out_fd. */
enum lap_status whole_folder_new_file(const struct whole_folder *folder, const char *path, mode_t mode,
                                      int *out_fd) LAP_MUST_CHECK;
/* The same with the bytes of an open file, from its beginning; one from whole_folder_nameless gets this name. */
enum lap_status whole_folder_add(const struct whole_folder *folder, const char *path, mode_t mode,
                                 int from) LAP_MUST_CHECK;

/* Gives it its name. LAP_ERROR_IO: it is gone, and the name may be another's. */
enum lap_status whole_folder_keep(struct whole_folder *folder) LAP_MUST_CHECK;
/* It is gone with all that is in it. */
void whole_folder_drop(struct whole_folder *folder);

/* Copies all of an open file, from its beginning, to where another one is. LAP_ERROR_IO, without their names. */
enum lap_status whole_folder_copy(int from, int to) LAP_MUST_CHECK;

#endif
