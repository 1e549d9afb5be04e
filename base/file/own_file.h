/* SPDX-License-Identifier: MIT */
/*
 * own_file: a file that stays open inside another program's process, for a long time. Programs close descriptors that
 * they did not open (daemons and launchers all from 3 on) and get the same numbers for files of their own. So ours have
 * numbers that counting loops do not reach, and the file behind a number is checked before each use: only our own file
 * is ever written, truncated, mapped or closed. A file whose descriptor is gone is opened again by its path, as long as
 * the same file is there.
 *
 * Between the check and the use another thread could give the same number to a file of its own. open() does not: it
 * returns the lowest free number, so the program would need that many open files, or dup2 to our number in that moment.
 *
 * Any thread; all but init and release in a signal handler, too.
 */
#ifndef LAP_BASE_FILE_OWN_FILE_H
#define LAP_BASE_FILE_OWN_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lap_own_file {
    _Atomic int fd; /* -1: closed. Only lap_own_file_fd shows whether it is still ours. Release by init and
                       move, acquire by users: the members below */
    uint64_t device, inode, birth; /* birth: 0 if unknown; inode numbers are reused */
    char *path;                    /* absolute; NULL: it can't be opened again */
    bool is_held;                  /* with an exclusive flock, as long as it is open */
};

/* Takes over an open descriptor, which gets another number, or -1. path (may be NULL) is copied; without memory for it
 * the file can't be opened again. */
void lap_own_file_init(struct lap_own_file *file, int fd, const char *path);

/* An open descriptor under such a number, or as it is; -1 stays -1. */
int lap_own_file_raise(int fd);

/* Locks the file (flock) for as long as it is open; a failure is ignored. */
void lap_own_file_hold(struct lap_own_file *file);

/* The descriptor, for immediate use. -1 with EBADF in errno: it is closed, or the program has closed it and the file
 * can't be opened again. */
int lap_own_file_fd(struct lap_own_file *file);

/* The same, with the file's size and number of names, in one system call. */
int lap_own_file_look(struct lap_own_file *file, uint64_t *out_bytes, uint64_t *out_names);

static inline bool lap_own_file_is_open(const struct lap_own_file *file)
{
    return atomic_load_explicit(&file->fd, memory_order_relaxed) >= 0;
}

/* Closes it; the path stays. 0 or an errno of close(). */
int lap_own_file_close(struct lap_own_file *file);

/* Moves the open file to *to; *file is closed afterwards. */
void lap_own_file_move(struct lap_own_file *file, struct lap_own_file *to);

/* Gives the descriptor to the caller; *file is closed afterwards. -1: it was closed, or the program has closed it. */
int lap_own_file_give(struct lap_own_file *file);

/* In a child after fork(), which has a descriptor of its parent's file: makes it one of /dev/null. The fork may have
 * interrupted a write, which goes on with the same number. */
void lap_own_file_disown(struct lap_own_file *file);

/* Closes, and frees the path. */
void lap_own_file_release(struct lap_own_file *file);

#endif
