/* SPDX-License-Identifier: MIT */
/*
 * tool: what all programs of the lapilli command agree on.
 */
#ifndef LAP_TOOLS_TOOL_H
#define LAP_TOOLS_TOOL_H

enum lap_tool_exit {
    LAP_TOOL_OK = 0,
    LAP_TOOL_FAILED = 1,     /* the machine is in the way: memory, output */
    LAP_TOOL_USAGE = 2,      /* wrong arguments */
    LAP_TOOL_NO_TRACE = 3,   /* the file can't be read or is no trace */
    LAP_TOOL_INCOMPLETE = 4, /* the trace ends early; everything up to there was used */
    LAP_TOOL_NOT_STARTED = 127
};

#endif
