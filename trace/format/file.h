/* SPDX-License-Identifier: MIT */
/*
 * file: how a writer writes into its files, inside another program's process: nothing here raises a signal, allocates,
 * or stores into a mapping (which ends a process when the file is cut meanwhile). Any thread.
 */
#ifndef LAP_TRACE_FORMAT_FILE_H
#define LAP_TRACE_FORMAT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/file/own_file.h"

#define LAP_FILE_MAX_PARTS 4u

/* Writes the parts (at most LAP_FILE_MAX_PARTS), one behind the other, at `offset`. 0 or an errno: EFBIG past
 * RLIMIT_FSIZE, where the kernel would send SIGXFSZ; EBADF when the program has closed the file and it can't be opened
 * again. After an error any part may have been written. */
int lap_file_write(struct lap_own_file *file, uint64_t offset, const struct iovec *parts, unsigned count);

/* The same with a descriptor that lap_own_file_fd has given just now. */
int lap_file_write_fd(int fd, uint64_t offset, const struct iovec *parts, unsigned count);
int lap_file_read_fd(int fd, uint64_t offset, void *out, size_t bytes);

/* Reads exactly `bytes`. 0 or an errno; ENODATA: the file ends before. */
int lap_file_read(struct lap_own_file *file, uint64_t offset, void *out, size_t bytes);

/* strerror for results of lap_file_write and lap_file_read, but without its translation, which allocates. */
const char *lap_file_error_text(int error);

#endif
