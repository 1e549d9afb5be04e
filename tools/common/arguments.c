/* SPDX-License-Identifier: MIT */
#include "tools/common/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/process/sandbox.h"
#include "inspector/position/position.h"
#include "tools/common/tool.h"

#define FIRST_LONG 256 /* behind all letters */

int lap_usage(const struct lap_verb *verb, const char *what)
{
    fprintf(stderr, "%s: %s. Try 'lapilli %s --help'.\n", verb->program, what, verb->program + strlen("lapilli-"));
    return LAP_TOOL_USAGE;
}

static enum lap_status store(const struct lap_argument *row, const char *value)
{
    if (row->take)
        return row->take(row->name, value, row->out);
    *(bool *)row->out = row->sets;
    return LAP_OK;
}

static const struct lap_argument *find(const struct lap_argument *rows, size_t count, int option)
{
    for (size_t i = 0; i < count; i++)
        if (option == FIRST_LONG + (int)i || option == rows[i].letter)
            return &rows[i];
    return NULL;
}

int lap_arguments_take(const struct lap_verb *verb, int argc, char **argv, const struct lap_argument *rows,
                       size_t count)
{
    struct option longs[LAP_ARGUMENTS_MOST + 2] = {0};
    char letters[2 * LAP_ARGUMENTS_MOST + 2] = "h", *end = letters + 1;
    int option;

    LAP_ASSERT(count <= LAP_ARGUMENTS_MOST, "a verb has more options than LAP_ARGUMENTS_MOST");
    for (size_t i = 0; i < count; i++) {
        longs[i] =
            (struct option){rows[i].name, rows[i].take ? required_argument : no_argument, NULL, FIRST_LONG + (int)i};
        if (rows[i].letter)
            end = stpcpy(end, (char[]){rows[i].letter, ':', 0});
    }
    longs[count] = (struct option){"help", no_argument, NULL, 'h'};
    while ((option = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct lap_argument *row = find(rows, count, option);
        enum lap_status status;

        if (option == 'h')
            return lap_tool_help(verb->program, verb->help);
        if (!row)
            return lap_usage(verb, "wrong usage");
        status = store(row, optarg);
        if (status != LAP_OK)
            return lap_usage(verb, lap_error_message()), status == LAP_ERROR_MEMORY ? LAP_TOOL_FAILED : LAP_TOOL_USAGE;
    }
    return -1;
}

int lap_arguments_file(const struct lap_verb *verb, int argc, char **argv, const char *what, const char **out_path,
                       const char **out_more)
{
    char text[64];
    int words = argc - optind;

    if (words == 0)
        return lap_usage(verb, "a FILE is missing");
    if (words > (what ? 2 : 1)) {
        snprintf(text, sizeof text, what ? "one FILE and one %s at a time" : "one FILE at a time", what);
        return lap_usage(verb, text);
    }
    *out_path = argv[optind];
    if (out_more)
        *out_more = argv[optind + 1]; /* or NULL */
    return -1;
}

/* ---- values ---- */

enum lap_status lap_take_text(const char *name, const char *value, void *out)
{
    (void)name;
    *(const char **)out = value;
    return LAP_OK;
}

enum lap_status lap_take_range(const char *name, const char *value, void *out)
{
    uint64_t *range = out;

    return lap_tool_frames(value, &range[0], &range[1])
               ? LAP_OK
               : lap_fail(LAP_ERROR_ARGUMENT, "--%s wants A-B with 1 <= A <= B", name);
}

enum lap_status lap_take_count(const char *name, const char *value, void *out)
{
    uint64_t *count = out;
    char *end;

    errno = 0;
    *count = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && !*end && !errno && *count
               ? LAP_OK
               : lap_fail(LAP_ERROR_ARGUMENT, "--%s wants a number, from 1", name);
}

enum lap_status lap_take_position(const char *name, const char *value, void *out)
{
    (void)name;
    return position_parse(value, out);
}

enum lap_status lap_take_colour(const char *name, const char *value, void *out)
{
    return lap_tool_parse_colour(value, out) ? LAP_OK
                                             : lap_fail(LAP_ERROR_ARGUMENT, "--%s wants auto, always or never", name);
}

enum lap_status lap_take_sandbox(const char *name, const char *value, void *out)
{
    (void)name;
    return lap_sandbox_wish_parse(value, out);
}
