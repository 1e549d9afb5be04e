/* SPDX-License-Identifier: MIT */
#include "base/file/folder.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Another process may make the same folder at the same time. */
static enum lap_status make_one(const char *path)
{
    struct stat info;
    int error;

    if (mkdir(path, 0777) == 0)
        return LAP_OK;
    error = errno;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return LAP_OK;
    return lap_fail(LAP_ERROR_IO, "the folder %s can't be made: %s", path, strerror(error));
}

enum lap_status lap_folder_make(const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    enum lap_status status = LAP_OK;

    if (length >= sizeof part)
        return lap_fail(LAP_ERROR_ARGUMENT, "the name of a folder is too long");
    for (size_t i = 1; i < length && status == LAP_OK; i++)
        if (path[i] == '/' && path[i - 1] != '/') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            status = make_one(part);
        }
    return status == LAP_OK ? make_one(path) : status;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    (void)remove(path);
    return 0;
}

void lap_folder_remove(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
