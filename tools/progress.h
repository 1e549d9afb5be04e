/* SPDX-License-Identifier: MIT */
/*
 * progress: how far long work has come, on stderr where that is a terminal: a line that is written over and goes when
 * the work is done. One thread.
 */
#ifndef LAP_TOOLS_PROGRESS_H
#define LAP_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct lap_progress {
    const char *what;
    bool wanted, shown;
    struct timespec last;
};

/* what: "compressing", as long as it is used. quiet: nothing is shown, nor where stderr is no terminal. */
void lap_progress_begin(struct lap_progress *progress, const char *what, bool quiet);

/* user: a struct lap_progress. Shows it now and then, from the second fifth of a second on. */
void lap_progress_show(void *user, uint64_t done, uint64_t all);

/* Takes the line away: in front of whatever else is written to stderr, and at the end. */
void lap_progress_clear(struct lap_progress *progress);

#endif
