/* SPDX-License-Identifier: MIT */
#include "tools/common/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/file/new_file.h"
#include "trace/write/output.h"

static enum lap_status no_file(const char *path)
{
    return lap_fail(LAP_ERROR_IO, "can't create %s: %s", path, strerror(errno));
}

/* Without a name, in the folder of its path. False: that can't be had. */
static bool open_nameless(struct whole_file *file)
{
    const char *slash = strrchr(file->path, '/');
    size_t length = slash ? (size_t)(slash - file->path) + 1 : 0;
    char folder[PATH_MAX];
    struct stat info;

    if (!file->path[length] || length >= sizeof folder)
        return false;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)length : 1, slash ? file->path : ".");
    file->fd = lap_nameless_file(folder);
    if (file->fd < 0)
        return false;
    snprintf(file->opened_as, sizeof file->opened_as, "/proc/self/fd/%d", file->fd);
    if (stat(file->opened_as, &info) == 0)
        return true;
    close(file->fd);
    return false;
}

enum lap_status whole_file_open(struct whole_file *file, const char *path)
{
    struct stat info;

    *file = (struct whole_file){.path = path, .fd = -1};
    if (lstat(path, &info) == 0)
        errno = EEXIST;
    if (errno != ENOENT)
        return no_file(path);
    if (open_nameless(file))
        return LAP_OK;
    file->named = true;
    file->opened_as[0] = 0;
    return lap_output_open(path, &file->fd);
}

const char *whole_file_path(const struct whole_file *file)
{
    return file->named ? file->path : file->opened_as;
}

enum lap_status whole_file_keep(struct whole_file *file)
{
    enum lap_status status = LAP_OK;

    if (!file->named && linkat(AT_FDCWD, file->opened_as, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) != 0)
        status = no_file(file->path);
    close(file->fd);
    return status;
}

void whole_file_drop(struct whole_file *file)
{
    close(file->fd);
    if (file->named)
        (void)unlink(file->path);
}

int whole_file_end(struct whole_file *file, const char *program, int code)
{
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE) {
        whole_file_drop(file);
    } else if (whole_file_keep(file) != LAP_OK) {
        fprintf(stderr, "%s: %s\n", program, lap_error_message());
        code = LAP_TOOL_FAILED;
    }
    return code;
}
