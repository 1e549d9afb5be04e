/* SPDX-License-Identifier: MIT */
#include "tools/tool.h"

#include <stdio.h>

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
