/* SPDX-License-Identifier: MIT */
/*
 * profile_print: a profile as text, as JSON (docs/json.md), and in Chrome's format of traces. Errors of the stream are
 * the caller's to look for. One thread.
 */
#ifndef LAP_TOOLS_PROFILE_PROFILE_PRINT_H
#define LAP_TOOLS_PROFILE_PROFILE_PRINT_H

#include <stdio.h>

#include "tools/profile/compare.h"

struct profile_printer {
    FILE *out;
    const char *trace;
    const struct profile *profile;
    const struct profile_comparison *comparison; /* NULL: none */
    bool draws, by_time, all; /* by_time: siblings, else in order of execution; all: small ones, too */
    size_t top;               /* of the list of the most expensive ones; 0: none */
};

/* LAP_ERROR_MEMORY. */
enum lap_status profile_print_text(const struct profile_printer *printer) LAP_MUST_CHECK;
/* Sentences about what the figures are good for. */
void profile_print_notes(const struct profile_printer *printer, const char *program, FILE *out);
void profile_print_json(const struct profile_printer *printer);
/* Of the last loop. */
void profile_print_trace(const struct profile_printer *printer);

#endif
