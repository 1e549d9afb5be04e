/* SPDX-License-Identifier: MIT */
#include "base/file/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"

/* The last numbers of a table of this size, which a process may have nearly everywhere. A larger one would cost each
 * fork() a copy of it. */
#define TABLE_SIZE 4096u
#define NUMBERS    64u
#define TRIES      64u /* in case the program closes descriptors all the time */
#define QUICK      8u  /* of them; then the others wait for the end of its loop */

struct identity {
    uint64_t device, inode, birth, bytes, names;
};

/* Identifies a descriptor, or the file at a path (absolute; NULL: none). Uses fstat only where there is no statx: after
 * a query of a file's times the kernel updates them on disk with the next write. */
static bool identify(int fd, const char *path, struct identity *out)
{
    struct stat old;
#ifdef STATX_INO
    struct statx now;
    int flags = path ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
    if (statx(fd, path ? path : "", flags, STATX_INO | STATX_BTIME | STATX_SIZE | STATX_NLINK, &now) == 0) {
        *out = (struct identity){makedev(now.stx_dev_major, now.stx_dev_minor), now.stx_ino, 0, now.stx_size,
                                 now.stx_nlink};
        if (now.stx_mask & STATX_BTIME)
            out->birth = (uint64_t)now.stx_btime.tv_sec * 1000000000 + now.stx_btime.tv_nsec;
        return true;
    }
    if (errno == EBADF)
        return false;
#endif
    if (path ? lstat(path, &old) != 0 : fstat(fd, &old) != 0)
        return false;
    *out = (struct identity){old.st_dev, old.st_ino, 0, (uint64_t)old.st_size, old.st_nlink};
    return true;
}

static bool is_same(const struct lap_own_file *file, int fd, const char *path, struct identity *now)
{
    return identify(fd, path, now) && now->device == file->device && now->inode == file->inode &&
           (now->birth == file->birth || now->birth == 0 || file->birth == 0);
}

static bool is_ours(const struct lap_own_file *file, int fd)
{
    struct identity now;
    return is_same(file, fd, NULL, &now);
}

static void close_ours(const struct lap_own_file *file, int fd)
{
    if (is_ours(file, fd))
        close(fd);
}

/* Moves the descriptor to a number that a counting loop does not reach. The program may take the low one meanwhile
 * (dup2). */
static int raise_fd(const struct lap_own_file *file, int fd)
{
    struct rlimit limit;
    rlim_t top = TABLE_SIZE;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < top)
        top = limit.rlim_cur;
    int raised = top > 2 * NUMBERS ? fcntl(fd, F_DUPFD_CLOEXEC, (int)(top - NUMBERS)) : -1;
    if (raised < 0)
        return fd;
    close_ours(file, fd);
    return raised;
}

static char *absolute_path(const char *path)
{
    char folder[PATH_MAX], *absolute = NULL;
    if (path[0] == '/')
        return strdup(path);
    if (!getcwd(folder, sizeof(folder)) || asprintf(&absolute, "%s/%s", folder, path) < 0)
        return NULL;
    return absolute;
}

void lap_own_file_init(struct lap_own_file *file, int fd, const char *path)
{
    struct identity identity = {.device = 0};
    int cancel = lap_cancel_off();
    memset(file, 0, sizeof(*file));
    if (fd >= 0)
        (void)identify(fd, NULL, &identity);
    file->device = identity.device;
    file->inode = identity.inode;
    file->birth = identity.birth;
    if (fd >= 0) {
        fd = raise_fd(file, fd);
        file->path = path ? absolute_path(path) : NULL;
    }
    atomic_store(&file->fd, fd);
    lap_cancel_restore(cancel);
}

int lap_own_file_raise(int fd)
{
    struct lap_own_file file;
    lap_own_file_init(&file, fd, NULL);
    return atomic_load(&file.fd);
}

void lap_own_file_hold(struct lap_own_file *file)
{
    int fd = lap_own_file_fd(file);
    file->is_held = true;
    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB);
}

/* Opens the file again; -1: it can't be opened. If the descriptor from open() is not ours, it is left alone: a counting
 * loop has just closed it, and the program may have reused its number. Such a loop can be faster each time, since the
 * kernel gives the lowest free number, which is the next one in the loop. */
static int open_once_more(const struct lap_own_file *file)
{
    struct identity now;
    for (unsigned i = 0; i < TRIES && file->path && is_same(file, AT_FDCWD, file->path, &now); i++) {
        int fd = open(file->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            return -1;
        if (is_ours(file, fd))
            fd = raise_fd(file, fd);
        if (is_ours(file, fd))
            return fd;
        if (i >= QUICK)
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return -1;
}

/* Several threads may come at once: the first one's descriptor is used, unless that was closed meanwhile, too. */
static int open_again(struct lap_own_file *file, int lost)
{
    int cancel = lap_cancel_off(), fd = -1;
    for (unsigned i = 0; i < TRIES && fd < 0; i++) {
        fd = open_once_more(file);
        if (fd < 0)
            break;
        if (file->is_held)
            (void)flock(fd, LOCK_EX | LOCK_NB);
        if (!atomic_compare_exchange_strong(&file->fd, &lost, fd)) {
            close_ours(file, fd);
            fd = is_ours(file, lost) ? lost : -1;
        }
    }
    lap_cancel_restore(cancel);
    if (fd < 0)
        errno = EBADF;
    return fd;
}

int lap_own_file_fd(struct lap_own_file *file)
{
    int fd = atomic_load_explicit(&file->fd, memory_order_acquire);
    if (fd < 0) {
        errno = EBADF;
        return -1;
    }
    return is_ours(file, fd) ? fd : open_again(file, fd);
}

int lap_own_file_look(struct lap_own_file *file, uint64_t *out_bytes, uint64_t *out_names)
{
    int fd = atomic_load_explicit(&file->fd, memory_order_acquire);
    struct identity now;
    for (unsigned i = 0; fd >= 0 && !is_same(file, fd, NULL, &now); i++)
        fd = i < TRIES ? open_again(file, fd) : -1;
    if (fd < 0) {
        errno = EBADF;
        return -1;
    }
    *out_bytes = now.bytes;
    *out_names = now.names;
    return fd;
}

int lap_own_file_close(struct lap_own_file *file)
{
    int fd = atomic_exchange(&file->fd, -1), error = 0;
    int cancel = lap_cancel_off();
    if (fd >= 0 && is_ours(file, fd) && close(fd) != 0)
        error = errno;
    lap_cancel_restore(cancel);
    return error;
}

void lap_own_file_move(struct lap_own_file *file, struct lap_own_file *to)
{
    to->device = file->device;
    to->inode = file->inode;
    to->birth = file->birth;
    to->path = file->path;
    to->is_held = file->is_held;
    file->path = NULL;
    atomic_store(&to->fd, atomic_exchange(&file->fd, -1));
}

int lap_own_file_give(struct lap_own_file *file)
{
    int fd = lap_own_file_fd(file);
    atomic_store(&file->fd, -1);
    return fd;
}

void lap_own_file_disown(struct lap_own_file *file)
{
    int fd = atomic_exchange(&file->fd, -1);
    if (fd < 0 || !is_ours(file, fd))
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup3(null, fd, O_CLOEXEC) < 0)
        close(fd);
    if (null >= 0)
        close(null);
}

void lap_own_file_release(struct lap_own_file *file)
{
    (void)lap_own_file_close(file);
    free(file->path);
    file->path = NULL;
}
