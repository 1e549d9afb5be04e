/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "trace/format/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"

#define TRIES 64u /* in case the program closes descriptors all the time */

_Static_assert(sizeof(off_t) == 8, "files of more than 2 GiB");

/* Runs before each write of a program's thread. So it uses getrlimit(2), which is about the calling process alone,
 * where the kernel still has it: the library's getrlimit() calls prlimit(2), which takes twice as long. */
static int get_size_limit(struct rlimit *limit)
{
#if defined(__x86_64__) && defined(__LP64__) && defined(SYS_getrlimit)
    if (syscall(SYS_getrlimit, RLIMIT_FSIZE, limit) == 0)
        return 0; /* or a filter of the program's knows no call but the other */
#endif
    return getrlimit(RLIMIT_FSIZE, limit);
}

static bool past_size_limit(uint64_t end)
{
    struct rlimit limit;
    return get_size_limit(&limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

static int write_parts(int fd, uint64_t offset, const struct iovec *parts, unsigned count)
{
    struct iovec left[LAP_FILE_MAX_PARTS], *part = left;
    uint64_t end = offset;
    if (count > LAP_FILE_MAX_PARTS)
        return EINVAL;
    for (unsigned i = 0; i < count; i++) {
        left[i] = parts[i];
        end += parts[i].iov_len;
    }
    if (past_size_limit(end))
        return EFBIG;
    while (count) {
        if (part->iov_len == 0) {
            part++, count--;
            continue;
        }
        ssize_t written = pwritev(fd, part, (int)count, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        if (written == 0)
            return ENOSPC;
        offset += (uint64_t)written;
        for (size_t done = (size_t)written; done;) {
            size_t step = done < part->iov_len ? done : part->iov_len;
            part->iov_base = (uint8_t *)part->iov_base + step;
            part->iov_len -= step;
            done -= step;
            if (part->iov_len == 0)
                part++, count--;
        }
    }
    return 0;
}

int lap_file_write(struct lap_own_file *file, uint64_t offset, const struct iovec *parts, unsigned count)
{
    int fd, error = EBADF;
    for (unsigned i = 0; i < TRIES && error == EBADF && (fd = lap_own_file_fd(file)) >= 0; i++)
        error = lap_file_write_fd(fd, offset, parts, count);
    return error;
}

int lap_file_write_fd(int fd, uint64_t offset, const struct iovec *parts, unsigned count)
{
    int cancel = lap_cancel_off();
    int error = write_parts(fd, offset, parts, count);
    lap_cancel_restore(cancel);
    return error;
}

static int read_all(int fd, uint64_t offset, void *out, size_t bytes)
{
    uint8_t *at = out;
    while (bytes) {
        ssize_t got = pread(fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (got == 0)
            return ENODATA;
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

int lap_file_read(struct lap_own_file *file, uint64_t offset, void *out, size_t bytes)
{
    int fd, error = EBADF;
    for (unsigned i = 0; i < TRIES && error == EBADF && (fd = lap_own_file_fd(file)) >= 0; i++)
        error = lap_file_read_fd(fd, offset, out, bytes);
    return error;
}

int lap_file_read_fd(int fd, uint64_t offset, void *out, size_t bytes)
{
    int cancel = lap_cancel_off();
    int error = read_all(fd, offset, out, bytes);
    lap_cancel_restore(cancel);
    return error;
}

#ifdef __GLIBC__
#define HAS_DESCRIPTIONS __GLIBC_PREREQ(2, 32)
#else
#define HAS_DESCRIPTIONS 0
#endif

const char *lap_file_error_text(int error)
{
    if (error == EBADF)
        return "the program has closed it, and it is not there any more";
#if HAS_DESCRIPTIONS
    const char *text = strerrordesc_np(error);
    return text ? text : "unknown error";
#else
    return strerror(error);
#endif
}
