/* SPDX-License-Identifier: MIT */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who can make files in the folder must not decide what is written over. */
int lap_new_file(const char *path)
{
    const int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(path, flags | O_CREAT | O_EXCL, 0600);
    struct stat info;

    if (fd >= 0 || errno != EEXIST || lstat(path, &info) != 0)
        return fd;
    if (!S_ISREG(info.st_mode)) {
        fd = open(path, flags | O_NONBLOCK | O_NOCTTY); /* nobody waits for a reader of a pipe, but for a slow one */
        if (fd >= 0 && fcntl(fd, F_SETFL, 0) != 0) {
            close(fd);
            fd = -1;
        }
        return fd;
    }
    return unlink(path) == 0 ? open(path, flags | O_CREAT | O_EXCL, 0600) : -1;
}
