/* SPDX-License-Identifier: MIT */
/*
 * report: the file in which the layer names the traces that it makes to the launcher (LAPILLI_REPORT). It has a name,
 * since programs in containers may have no other way to it. For a program with one thread.
 */
#ifndef LAP_TOOLS_RECORD_REPORT_H
#define LAP_TOOLS_RECORD_REPORT_H

#include <stdbool.h>
#include <stddef.h>

struct lap_report {
    char *path; /* NULL: there is none */
    int fd;     /* locked for as long as the launcher lives */
};

/* Makes an empty file in the first of these folders (NULL: left out) that takes one, and deletes there the reports of
 * launchers that were killed. False: none does; errno has the last reason. */
bool lap_report_begin(struct lap_report *report, const char *const folders[], size_t count);

/* The same in TMPDIR, /tmp, or the folder of a trace, by its absolute path (NULL: none). Where none takes one, it says
 * so, with `program` in front, and report->path is NULL: without it the program runs, too, and is recorded. */
void lap_report_for(const char *program, const char *pattern, struct lap_report *report);

/* Deletes the file, if there is one. */
void lap_report_end(struct lap_report *report);

#endif
