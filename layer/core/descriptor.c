/* SPDX-License-Identifier: MIT */
#include "layer/core/descriptor.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KCMP_FILES 0 /* KCMP_FILE of linux/kcmp.h, which older systems lack */

bool layer_descriptor_name(int fd, dev_t *out_device, ino_t *out_inode)
{
    char path[32], target[64];
    struct stat status;
    ssize_t length;

    if (fstat(fd, &status) != 0)
        return false;
    *out_device = status.st_dev;
    *out_inode = status.st_ino;
    if (S_ISREG(status.st_mode))
        return true;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    return strncmp(target, "/dmabuf:", 8) == 0;
}

bool layer_descriptor_is_same(int a, int b)
{
#if defined(SYS_kcmp) && !defined(__ANDROID__) /* where an app is ended at that call */
    return syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, a, b) == 0;
#else
    return false;
#endif
}
