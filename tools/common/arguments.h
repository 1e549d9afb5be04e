/* SPDX-License-Identifier: MIT */
/*
 * arguments: the command line of a verb, as a table with a row for each option, and for each word behind the options.
 * --help, -h and --version need no row. One thread.
 */
#ifndef LAP_TOOLS_COMMON_ARGUMENTS_H
#define LAP_TOOLS_COMMON_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct lap_verb {
    const char *program; /* "lapilli-draws" */
    const char *help;
};

enum lap_argument_kind {
    LAP_ARGUMENT_FLAG,        /* --name */
    LAP_ARGUMENT_VALUE,       /* --name VALUE */
    LAP_ARGUMENT_MAYBE_VALUE, /* --name[=VALUE] */
    LAP_ARGUMENT_PAIR,        /* --name VALUE VALUE: `take` is called for each */
    LAP_ARGUMENT_WORD,        /* NAME. Words are in the order of their rows */
    LAP_ARGUMENT_MAYBE_WORD,  /* [NAME] */
    LAP_ARGUMENT_WORDS,       /* all words that are left, with a NULL behind them */
    LAP_ARGUMENT_COMMAND      /* the same, and no option is behind the first one */
};

struct lap_argument;
/* Stores a value; NULL: the option has none. LAP_ERROR_ARGUMENT with a sentence that has the name; LAP_ERROR_MEMORY. */
typedef enum lap_status lap_take_fn(const struct lap_argument *row, const char *value);

struct lap_argument {
    const char *name; /* "frames" for --frames, "FILE" for a word */
    void *out;        /* what `take` stores to; without it a bool, or the char ** of WORDS and COMMAND */
    lap_take_fn *take;
    enum lap_argument_kind kind;
    char letter;                /* of its short form; 0: none */
    bool sets;                  /* what becomes of the bool */
    uint64_t least, most;       /* of lap_take_number */
    const char *const *choices; /* of lap_take_choice; NULL behind them */
};

#define LAP_FLAG(n, o)     ((struct lap_argument){.name = n, .out = o, .sets = true})
#define LAP_NO_FLAG(n, o)  ((struct lap_argument){.name = n, .out = o})
#define LAP_VALUE(n, o, t) ((struct lap_argument){.name = n, .out = o, .take = t, .kind = LAP_ARGUMENT_VALUE})
#define LAP_TEXT(n, o)     LAP_VALUE(n, o, lap_take_text)
#define LAP_NUMBER(n, o, l, m)                                                                                         \
    ((struct lap_argument){                                                                                            \
        .name = n, .out = o, .take = lap_take_number, .kind = LAP_ARGUMENT_VALUE, .least = l, .most = m})
#define LAP_CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define LAP_CHOICE(n, o, ...)                                                                                          \
    ((struct lap_argument){.name = n,                                                                                  \
                           .out = o,                                                                                   \
                           .take = lap_take_choice,                                                                    \
                           .kind = LAP_ARGUMENT_VALUE,                                                                 \
                           .choices = LAP_CHOICES(__VA_ARGS__)})
#define LAP_OUTPUT(o)                                                                                                  \
    ((struct lap_argument){                                                                                            \
        .name = "output", .out = o, .take = lap_take_text, .kind = LAP_ARGUMENT_VALUE, .letter = 'o'})
#define LAP_WORD(n, o, t)       ((struct lap_argument){.name = n, .out = o, .take = t, .kind = LAP_ARGUMENT_WORD})
#define LAP_MAYBE_WORD(n, o, t) ((struct lap_argument){.name = n, .out = o, .take = t, .kind = LAP_ARGUMENT_MAYBE_WORD})
#define LAP_MAYBE_NUMBER(n, o, l, m)                                                                                   \
    ((struct lap_argument){                                                                                            \
        .name = n, .out = o, .take = lap_take_number, .kind = LAP_ARGUMENT_MAYBE_WORD, .least = l, .most = m})
#define LAP_FILE(o)    LAP_WORD("FILE", o, lap_take_text)
#define LAP_WORDS(o)   ((struct lap_argument){.out = o, .kind = LAP_ARGUMENT_WORDS})
#define LAP_COMMAND(o) ((struct lap_argument){.out = o, .kind = LAP_ARGUMENT_COMMAND})

lap_take_fn lap_take_text;      /* const char *: the argument itself */
lap_take_fn lap_take_some_text; /* the same, and it is not empty */
lap_take_fn lap_take_choice;    /* const char *: one of row->choices */
lap_take_fn lap_take_range;     /* uint64_t[2]: A-B, A, A- and -B; an end that is not named stays */
lap_take_fn lap_take_number;    /* uint64_t: decimal, or hexadecimal with 0x */
lap_take_fn lap_take_position;  /* struct position */
lap_take_fn lap_take_colour;    /* int: -1 auto, 0 never, 1 always */
lap_take_fn lap_take_sandbox;   /* enum lap_sandbox_wish */

/* LAP_ERROR_ARGUMENT: "--NAME wants WHAT", or of a word "NAME wants WHAT". */
enum lap_status lap_argument_wants(const struct lap_argument *row, const char *what);
/* Takes the whole command line. Returns -1, or the exit status to end with: after --help, or after a message. */
int lap_arguments_take(const struct lap_verb *verb, int argc, char **argv, const struct lap_argument *rows,
                       size_t count);
/* The same. rows: an array. */
#define LAP_ARGUMENTS_TAKE(verb, argc, argv, rows)                                                                     \
    lap_arguments_take(verb, argc, argv, rows, sizeof(rows) / sizeof *(rows))
/* Whether a range, {0, UINT64_MAX} before, was taken. */
static inline bool lap_range_is_given(const uint64_t range[2])
{
    return range[0] || range[1] != UINT64_MAX;
}
/* Prints "PROGRAM: WHAT. Try 'lapilli VERB --help'.", and returns LAP_TOOL_USAGE. */
int lap_usage(const struct lap_verb *verb, const char *what);

#endif
