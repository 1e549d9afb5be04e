/* SPDX-License-Identifier: MIT */
#include "base/file/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process that can create files in the folder must not be able to redirect the output to another file. */
int lap_new_file(const char *path)
{
    const int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(path, flags | O_CREAT | O_EXCL, 0600);
    struct stat info;

    if (fd >= 0 || errno != EEXIST || lstat(path, &info) != 0)
        return fd;
    if (!S_ISREG(info.st_mode)) {
        /* Opens without waiting for a pipe's reader; later writes wait for a slow one. */
        fd = open(path, flags | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0 && fcntl(fd, F_SETFL, 0) != 0) {
            close(fd);
            fd = -1;
        }
        return fd;
    }
    return unlink(path) == 0 ? open(path, flags | O_CREAT | O_EXCL, 0600) : -1;
}

int lap_nameless_file(const char *folder)
{
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}
