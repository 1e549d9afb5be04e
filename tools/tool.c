/* SPDX-License-Identifier: MIT */
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"

int lap_tool_end_output(const char *program, int code)
{
    if (lap_output_flush() == LAP_OK)
        return code;
    fprintf(stderr, "%s: %s\n", program, lap_error_message());
    return code == LAP_TOOL_OK ? LAP_TOOL_FAILED : code;
}

int lap_tool_help(const char *program, const char *help)
{
    fputs(help, stdout);
    return lap_tool_end_output(program, LAP_TOOL_OK);
}

static bool parse_number(const char **text, uint64_t *out)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

bool lap_tool_frames(const char *text, uint64_t *out_first, uint64_t *out_last)
{
    bool first = parse_number(&text, out_first);

    if (first && *out_first == 0)
        return false;
    if (*text == 0) {
        *out_last = *out_first;
        return first;
    }
    if (*text++ != '-')
        return false;
    if (*text == 0)
        return first;
    return parse_number(&text, out_last) && *text == 0 && *out_last > 0 && *out_first <= *out_last;
}
