/* SPDX-License-Identifier: MIT */
/*
 * status_line: a line on stderr that is rewritten while several threads work, and removed before any other line. For
 * one thread and the fraction of a long work there is tools/common/progress.h. Any thread.
 */
#ifndef LAP_TOOLS_RECORD_STATUS_LINE_H
#define LAP_TOOLS_RECORD_STATUS_LINE_H

#include <pthread.h>
#include <stdbool.h>

struct lap_status_line {
    bool wanted;
    pthread_mutex_t mutex; /* for `shown` and the order of what is printed */
    bool shown;
};

/* quiet: there is none. Nor is there one where stderr is no terminal. */
void lap_status_line_init(struct lap_status_line *line, bool quiet);

/* NULL: removes it. The terminal cuts a text that is too long for it. */
void lap_status_line_show(struct lap_status_line *line, const char *text);

/* Prints to stderr, in place of the line. A line of NULL: there is none. */
void lap_status_line_print(struct lap_status_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
