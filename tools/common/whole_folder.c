/* SPDX-License-Identifier: MIT */
#include "tools/common/whole_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/file/new_file.h"

static enum lap_status no_folder(const char *path)
{
    return lap_fail(LAP_ERROR_IO, "can't create %s: %s", path, strerror(errno));
}

static void parent_of(const struct whole_folder *folder, char out[PATH_MAX])
{
    const char *slash = strrchr(folder->path, '/');

    snprintf(out, PATH_MAX, "%.*s", slash ? (int)(slash - folder->path) + 1 : 1, slash ? folder->path : ".");
}

enum lap_status whole_folder_plan(struct whole_folder *folder, const char *path)
{
    size_t length = strlen(path);
    char parent[PATH_MAX];
    struct stat info;

    *folder = (struct whole_folder){.fd = -1};
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 0 || length >= sizeof folder->path) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return no_folder(path);
    }
    memcpy(folder->path, path, length);
    parent_of(folder, parent);
    if (lstat(folder->path, &info) == 0)
        errno = EEXIST;
    if (errno != ENOENT || access(parent, W_OK | X_OK) != 0)
        return no_folder(path);
    return LAP_OK;
}

/* Beside it, for mkostemp and mkdtemp. */
static void name_meanwhile(const struct whole_folder *folder, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s.new-XXXXXX", folder->path);
}

int whole_folder_nameless(const struct whole_folder *folder)
{
    char name[PATH_MAX];
    int fd;

    parent_of(folder, name);
    fd = lap_nameless_file(name);
    if (fd >= 0)
        return fd;
    name_meanwhile(folder, name);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        (void)no_folder(folder->path);
    else
        (void)unlink(name);
    return fd;
}

static void block_signals(struct whole_folder *folder)
{
    static const int some[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        (void)sigaddset(&set, some[i]);
    (void)sigprocmask(SIG_BLOCK, &set, &folder->signals);
}

void whole_folder_drop(struct whole_folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    lap_folder_remove(folder->made_as);
    (void)sigprocmask(SIG_SETMASK, &folder->signals, NULL);
}

enum lap_status whole_folder_open(struct whole_folder *folder)
{
    enum lap_status status;

    block_signals(folder);
    name_meanwhile(folder, folder->made_as);
    if (!mkdtemp(folder->made_as)) {
        status = no_folder(folder->path);
        (void)sigprocmask(SIG_SETMASK, &folder->signals, NULL);
        return status;
    }
    folder->fd = open(folder->made_as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->fd >= 0)
        return LAP_OK;
    status = no_folder(folder->path);
    whole_folder_drop(folder);
    return status;
}

static enum lap_status not_written(const struct whole_folder *folder, const char *path, const char *why)
{
    return lap_fail(LAP_ERROR_IO, "can't write %s/%s: %s", folder->path, path, why);
}

enum lap_status whole_folder_new_file(const struct whole_folder *folder, const char *path, mode_t mode, int *out_fd)
{
    *out_fd = openat(folder->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    return *out_fd >= 0 ? LAP_OK : not_written(folder, path, strerror(errno));
}

enum lap_status whole_folder_add(const struct whole_folder *folder, const char *path, mode_t mode, int from)
{
    char opened_as[32];
    struct stat info;
    enum lap_status status;
    int to;

    snprintf(opened_as, sizeof opened_as, "/proc/self/fd/%d", from);
    if (fstat(from, &info) == 0 && info.st_nlink == 0 &&
        linkat(AT_FDCWD, opened_as, folder->fd, path, AT_SYMLINK_FOLLOW) == 0)
        return LAP_OK;
    status = whole_folder_new_file(folder, path, mode, &to);
    if (status != LAP_OK)
        return status;
    status = whole_folder_copy(from, to);
    if (close(to) != 0 && status == LAP_OK)
        status = lap_fail(LAP_ERROR_IO, "%s", strerror(errno));
    return status == LAP_OK ? LAP_OK : lap_fail_context(status, "can't write %s/%s", folder->path, path);
}

enum lap_status whole_folder_keep(struct whole_folder *folder)
{
    int error = 0;

    if (renameat2(AT_FDCWD, folder->made_as, AT_FDCWD, folder->path, RENAME_NOREPLACE) != 0)
        error = errno;
    /* Filesystems without that flag: rename replaces nothing but an empty folder. */
    if (error == EINVAL || error == ENOSYS)
        error = rename(folder->made_as, folder->path) == 0 ? 0 : errno;
    if (error) {
        whole_folder_drop(folder);
        errno = error;
        return no_folder(folder->path);
    }
    close(folder->fd);
    (void)sigprocmask(SIG_SETMASK, &folder->signals, NULL);
    return LAP_OK;
}

enum lap_status whole_folder_copy(int from, int to)
{
    static char bytes[256 << 10];
    ssize_t got, put, at;

    if (lseek(from, 0, SEEK_SET) != 0)
        return lap_fail(LAP_ERROR_IO, "%s", strerror(errno));
    while ((got = read(from, bytes, sizeof bytes)) > 0)
        for (at = 0; at < got; at += put) {
            put = write(to, bytes + at, (size_t)(got - at));
            if (put < 0)
                return lap_fail(LAP_ERROR_IO, "%s", strerror(errno));
        }
    return got == 0 ? LAP_OK : lap_fail(LAP_ERROR_IO, "%s", strerror(errno));
}
