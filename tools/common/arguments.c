/* SPDX-License-Identifier: MIT */
#include "tools/common/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/frames.h"
#include "base/process/sandbox.h"
#include "inspector/position/position.h"
#include "tools/common/tool.h"

#define VERSION_OPTION 256 /* behind all letters */
#define FIRST_LONG     257

int lap_usage(const struct lap_verb *verb, const char *what)
{
    fprintf(stderr, "%s: %s. Try 'lapilli %s --help'.\n", verb->program, what, verb->program + strlen("lapilli-"));
    return LAP_TOOL_USAGE;
}

static bool is_option(const struct lap_argument *row)
{
    return row->kind <= LAP_ARGUMENT_PAIR;
}

static int take(const struct lap_verb *verb, const struct lap_argument *row, const char *value)
{
    enum lap_status status = LAP_OK;

    if (row->take)
        status = row->take(row, value);
    else
        *(bool *)row->out = row->sets;
    if (status != LAP_OK)
        (void)lap_usage(verb, lap_error_message());
    return status == LAP_OK ? -1 : status == LAP_ERROR_MEMORY ? LAP_TOOL_FAILED : LAP_TOOL_USAGE;
}

/* ---- options ---- */

/* For getopt_long, which has the number of the row behind FIRST_LONG. letters: for two a row, and three more. */
static void describe(const struct lap_argument *rows, size_t count, struct option *longs, char *letters)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == LAP_ARGUMENT_COMMAND)
            *letters++ = '+';
    *letters++ = 'h';
    for (size_t i = 0; i < count; i++) {
        if (!is_option(&rows[i]))
            continue;
        *longs++ = (struct option){rows[i].name,
                                   rows[i].kind == LAP_ARGUMENT_FLAG          ? no_argument
                                   : rows[i].kind == LAP_ARGUMENT_MAYBE_VALUE ? optional_argument
                                                                              : required_argument,
                                   NULL, FIRST_LONG + (int)i};
        if (rows[i].letter)
            *letters++ = rows[i].letter;
        if (rows[i].letter && rows[i].kind != LAP_ARGUMENT_FLAG)
            *letters++ = ':';
    }
    *longs++ = (struct option){"help", no_argument, NULL, 'h'};
    *longs = (struct option){"version", no_argument, NULL, VERSION_OPTION};
}

static const struct lap_argument *find(const struct lap_argument *rows, size_t count, int option)
{
    for (size_t i = 0; i < count; i++)
        if (option == FIRST_LONG + (int)i || option == rows[i].letter)
            return &rows[i];
    return NULL;
}

static int take_options(const struct lap_verb *verb, int argc, char **argv, const struct lap_argument *rows,
                        size_t count, const struct option *longs, const char *letters)
{
    int option, code = -1;

    while (code < 0 && (option = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct lap_argument *row = find(rows, count, option);

        if (option == 'h')
            return lap_tool_help(verb->program, verb->help);
        if (option == VERSION_OPTION)
            return lap_tool_version(verb->program);
        if (!row)
            return lap_usage(verb, "wrong usage");
        code = take(verb, row, optarg);
        if (code >= 0 || row->kind != LAP_ARGUMENT_PAIR)
            continue;
        if (optind == argc)
            return lap_usage(verb, (lap_argument_wants(row, "two values"), lap_error_message()));
        code = take(verb, row, argv[optind++]);
    }
    return code;
}

/* ---- words ---- */

static int take_words(const struct lap_verb *verb, char **words, const struct lap_argument *rows, size_t count)
{
    char text[160];
    int code = -1;

    for (size_t i = 0; i < count && code < 0; i++) {
        if (is_option(&rows[i]))
            continue;
        if (rows[i].kind >= LAP_ARGUMENT_WORDS) {
            *(char ***)rows[i].out = words;
            return -1;
        }
        if (*words) {
            code = take(verb, &rows[i], *words++);
        } else if (rows[i].kind == LAP_ARGUMENT_WORD) {
            snprintf(text, sizeof text, "%s is missing", rows[i].name);
            return lap_usage(verb, text);
        }
    }
    if (code >= 0 || !*words)
        return code;
    snprintf(text, sizeof text, "'%.80s' is one word too many", *words);
    return lap_usage(verb, text);
}

int lap_arguments_take(const struct lap_verb *verb, int argc, char **argv, const struct lap_argument *rows,
                       size_t count)
{
    struct option *longs = calloc(count + 3, sizeof *longs + 2);
    int code;

    if (!longs) {
        fprintf(stderr, "%s: out of memory\n", verb->program);
        return LAP_TOOL_FAILED;
    }
    describe(rows, count, longs, (char *)(longs + count + 3));
    code = take_options(verb, argc, argv, rows, count, longs, (char *)(longs + count + 3));
    free(longs);
    return code >= 0 ? code : take_words(verb, argv + optind, rows, count);
}

/* ---- values ---- */

enum lap_status lap_argument_wants(const struct lap_argument *row, const char *what)
{
    return lap_fail(LAP_ERROR_ARGUMENT, "%s%s wants %s", is_option(row) ? "--" : "", row->name, what);
}

enum lap_status lap_take_text(const struct lap_argument *row, const char *value)
{
    *(const char **)row->out = value;
    return LAP_OK;
}

enum lap_status lap_take_some_text(const struct lap_argument *row, const char *value)
{
    *(const char **)row->out = value;
    return *value ? LAP_OK : lap_argument_wants(row, "a text");
}

enum lap_status lap_take_choice(const struct lap_argument *row, const char *value)
{
    char text[160] = "";
    size_t at = 0;

    *(const char **)row->out = value;
    for (const char *const *p = row->choices; *p; p++) {
        if (strcmp(*p, value) == 0)
            return LAP_OK;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", *p, !p[1] ? "" : p[2] ? ", " : " or ");
    }
    return lap_fail(LAP_ERROR_ARGUMENT, "--%s can't be '%s': it is %s", row->name, value, text);
}

static bool parse_range(const char *text, uint64_t range[2])
{
    bool first = lap_frame_parse(&text, &range[0]);

    if (*text == 0) {
        range[1] = range[0];
        return first;
    }
    if (*text++ != '-')
        return false;
    if (*text == 0)
        return first;
    return lap_frame_parse(&text, &range[1]) && *text == 0 && range[0] <= range[1];
}

enum lap_status lap_take_range(const struct lap_argument *row, const char *value)
{
    return parse_range(value, row->out) ? LAP_OK : lap_argument_wants(row, "A-B with 1 <= A <= B");
}

enum lap_status lap_take_number(const struct lap_argument *row, const char *value)
{
    uint64_t *out = row->out;
    char text[80], *end;

    errno = 0;
    *out = strtoull(value, &end, strncmp(value, "0x", 2) == 0 ? 16 : 10);
    if (*value >= '0' && *value <= '9' && !*end && !errno && *out >= row->least && *out <= row->most)
        return LAP_OK;
    if (row->most == UINT64_MAX)
        snprintf(text, sizeof text, "a number, from %" PRIu64, row->least);
    else
        snprintf(text, sizeof text, "a number from %" PRIu64 " to %" PRIu64, row->least, row->most);
    return lap_argument_wants(row, text);
}

enum lap_status lap_take_position(const struct lap_argument *row, const char *value)
{
    return position_parse(value, row->out);
}

enum lap_status lap_take_colour(const struct lap_argument *row, const char *value)
{
    int *out = row->out;

    *out = strcmp(value, "always") == 0 ? 1 : strcmp(value, "never") == 0 ? 0 : -1;
    return *out >= 0 || strcmp(value, "auto") == 0 ? LAP_OK : lap_argument_wants(row, "auto, always or never");
}

enum lap_status lap_take_sandbox(const struct lap_argument *row, const char *value)
{
    return lap_sandbox_wish_parse(value, row->out);
}
