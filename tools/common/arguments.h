/* SPDX-License-Identifier: MIT */
/*
 * arguments: the command line of a verb, as a table with a row for each option. --help and -h need no row.
 */
#ifndef LAP_TOOLS_COMMON_ARGUMENTS_H
#define LAP_TOOLS_COMMON_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define LAP_ARGUMENTS_MOST 24u

struct lap_verb {
    const char *program; /* "lapilli-draws" */
    const char *help;
};

/* Stores the value of an option. LAP_ERROR_ARGUMENT with a sentence that has the name; LAP_ERROR_MEMORY. */
typedef enum lap_status lap_take_fn(const char *name, const char *value, void *out);

struct lap_argument {
    const char *name;  /* "frames" for --frames */
    void *out;         /* what `take` stores to; without it a bool */
    lap_take_fn *take; /* NULL: the option has no value, */
    bool sets;         /* and this becomes of the bool */
    char letter;       /* of its short form; 0: none */
};

#define LAP_FLAG(name, out)                                                                                            \
    {                                                                                                                  \
        name, out, NULL, true, 0                                                                                       \
    }
#define LAP_NO_FLAG(name, out)                                                                                         \
    {                                                                                                                  \
        name, out, NULL, false, 0                                                                                      \
    }
#define LAP_VALUE(name, out, taker)                                                                                    \
    {                                                                                                                  \
        name, out, taker, false, 0                                                                                     \
    }
#define LAP_OUTPUT(out)                                                                                                \
    {                                                                                                                  \
        "output", out, lap_take_text, false, 'o'                                                                       \
    }

lap_take_fn lap_take_text;     /* const char *: the argument itself */
lap_take_fn lap_take_range;    /* uint64_t[2]: A-B, A, A- and -B; an end that is not named stays */
lap_take_fn lap_take_count;    /* uint64_t, from 1 */
lap_take_fn lap_take_position; /* struct position */
lap_take_fn lap_take_colour;   /* int: -1 auto, 0 never, 1 always */
lap_take_fn lap_take_sandbox;  /* enum lap_sandbox_wish */

/* Takes all options, and leaves optind at the first word behind them. Returns -1, or the exit status to end with: after
 * --help, or after a message. */
int lap_arguments_take(const struct lap_verb *verb, int argc, char **argv, const struct lap_argument *rows,
                       size_t count);
/* The words behind the options: one FILE, and with `what` ("OBJECT") perhaps one more, else NULL. As above. */
int lap_arguments_file(const struct lap_verb *verb, int argc, char **argv, const char *what, const char **out_path,
                       const char **out_more);
/* Whether a range, {0, UINT64_MAX} before, was taken. */
static inline bool lap_range_is_given(const uint64_t range[2])
{
    return range[0] || range[1] != UINT64_MAX;
}
/* Prints "PROGRAM: WHAT. Try 'lapilli VERB --help'.", and returns LAP_TOOL_USAGE. */
int lap_usage(const struct lap_verb *verb, const char *what);

#endif
