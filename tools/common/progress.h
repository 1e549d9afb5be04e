/* SPDX-License-Identifier: MIT */
/*
 * progress: the progress of long work, on stderr where that is a terminal: one line, rewritten until the work is done
 * and then removed. One thread.
 */
#ifndef LAP_TOOLS_COMMON_PROGRESS_H
#define LAP_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct lap_progress {
    const char *what;
    bool wanted, shown;
    struct timespec last;
};

/* what: "compressing"; the caller keeps it alive. quiet: prints nothing. Also prints nothing where stderr is no
 * terminal. */
void lap_progress_begin(struct lap_progress *progress, const char *what, bool quiet);

/* The same for work that prints all the while: only where stdout is a file, so neither a terminal nor a pager's. */
void lap_progress_begin_beside(struct lap_progress *progress, const char *what);

/* user: a struct lap_progress. Prints the progress every 200 ms, after the first 200 ms. */
void lap_progress_show(void *user, uint64_t done, uint64_t all);

/* Removes the line: before any other output to stderr, and at the end. */
void lap_progress_clear(struct lap_progress *progress);

#endif
