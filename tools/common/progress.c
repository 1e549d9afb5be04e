/* SPDX-License-Identifier: MIT */
#include "tools/common/progress.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_MS 200

void lap_progress_begin(struct lap_progress *progress, const char *what, bool quiet)
{
    *progress = (struct lap_progress){.what = what, .wanted = !quiet && isatty(STDERR_FILENO)};
    clock_gettime(CLOCK_MONOTONIC, &progress->last);
}

void lap_progress_begin_beside(struct lap_progress *progress, const char *what)
{
    struct stat out;
    lap_progress_begin(progress, what, fstat(STDOUT_FILENO, &out) != 0 || !S_ISREG(out.st_mode));
}

void lap_progress_show(void *user, uint64_t done, uint64_t all)
{
    struct lap_progress *progress = user;
    struct timespec now;
    int64_t ms;

    if (!progress->wanted)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = (now.tv_sec - progress->last.tv_sec) * 1000 + (now.tv_nsec - progress->last.tv_nsec) / 1000000;
    if (ms < STEP_MS)
        return;
    progress->last = now;
    progress->shown = true;
    fprintf(stderr, "\r%s: %3.0f %%", progress->what, all ? 100.0 * (double)done / (double)all : 100.0);
    fflush(stderr);
}

void lap_progress_clear(struct lap_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
