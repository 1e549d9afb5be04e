/* SPDX-License-Identifier: MIT */
/* pattern: names of traces with placeholders: %p the process, %e its program, %t the time, %n a number, %% a percent
 * sign. Any thread. */
#ifndef LAP_BASE_PATTERN_H
#define LAP_BASE_PATTERN_H

#define LAP_PATTERN_HELP "%p is the process, %e the program, %t the time, %n a number, %% a percent sign"

/* The first % that is none of these, or NULL. */
const char *lap_pattern_fault(const char *pattern);

struct lap_pattern_values {
    long process;
    const char *program;
};

/* Fills in the placeholders of a pattern without a fault, with the current time and `attempt` as the number. An attempt
 * > 1 is inserted before the ending of a name that has no placeholder for it. The caller frees; NULL when out of
 * memory. */
char *lap_pattern_expand(const char *pattern, const struct lap_pattern_values *values, unsigned attempt);

#endif
