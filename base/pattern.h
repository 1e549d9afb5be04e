/* SPDX-License-Identifier: MIT */
/* pattern: names of traces with places in them: %p the process, %e its program, %t the time, %n a number, %% a percent
 * sign. The layer fills them in (layer/options.h); here is what can be said of a pattern beforehand. */
#ifndef LAP_BASE_PATTERN_H
#define LAP_BASE_PATTERN_H

#define LAP_PATTERN_HELP "%p is the process, %e the program, %t the time, %n a number, %% a percent sign"

/* The first % that is none of these, or NULL. */
const char *lap_pattern_fault(const char *pattern);

#endif
