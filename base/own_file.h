/* SPDX-License-Identifier: MIT */
/*
 * own_file: a file that stays open inside somebody else's process, for a long time. Programs close descriptors that
 * they did not open (daemons and launchers all from 3 on) and get the same numbers for files of their own. So ours are
 * where nobody closes by counting, and what is behind a number is looked at each time before it is used: only our own
 * file is ever written, cut, mapped or closed. One whose descriptor is gone is opened again by its path, as long as the
 * same file is there.
 *
 * Between the look and the use another thread could put a file of its own under the very number. open() does not: it
 * gives the lowest number that is free, so the program would have to have as many files open as our number says, or
 * name it (dup2) in that moment.
 *
 * Any thread; all but init and release in a signal handler, too.
 */
#ifndef LAP_BASE_OWN_FILE_H
#define LAP_BASE_OWN_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lap_own_file {
    _Atomic int fd;                /* -1: closed. Whether it is ours now only lap_own_file_fd says */
    uint64_t device, inode, birth; /* birth: 0 where nobody knows; numbers of inodes are used again */
    char *path;                    /* absolute; NULL: it can't be opened again */
    bool is_held;                  /* with an exclusive flock, as long as it is open */
};

/* Takes over an open descriptor, which gets another number, or -1. path (may be NULL) is copied; without memory for it
 * the file can't be opened again. */
void lap_own_file_init(struct lap_own_file *file, int fd, const char *path);

/* An open descriptor under such a number, or as it is; -1 stays -1. */
int lap_own_file_raise(int fd);

/* Has the kernel lock the file (flock) for as long as it is open; whether it does or not. */
void lap_own_file_hold(struct lap_own_file *file);

/* The descriptor, for what is done at once. -1 with EBADF in errno: it is closed, or the program has closed it and the
 * file can't be opened again. */
int lap_own_file_fd(struct lap_own_file *file);

/* The same, and how long the file is and how many names it has, in one question. */
int lap_own_file_look(struct lap_own_file *file, uint64_t *out_bytes, uint64_t *out_names);

static inline bool lap_own_file_is_open(const struct lap_own_file *file)
{
    return atomic_load_explicit(&file->fd, memory_order_relaxed) >= 0;
}

/* Closes it; the path stays. 0 or an errno of close(). */
int lap_own_file_close(struct lap_own_file *file);

/* Makes *to the open file, and *file one that is closed. */
void lap_own_file_move(struct lap_own_file *file, struct lap_own_file *to);

/* The descriptor, which is the caller's from now on, and *file one that is closed; -1: it is, or the program has closed
 * it. */
int lap_own_file_give(struct lap_own_file *file);

/* In a child after fork(), which has a descriptor of its parent's file: it goes on as one of /dev/null, because the
 * fork may have interrupted a write, which goes on with its number. */
void lap_own_file_disown(struct lap_own_file *file);

/* Closes, and frees the path. */
void lap_own_file_release(struct lap_own_file *file);

#endif
