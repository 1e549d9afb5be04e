/* SPDX-License-Identifier: MIT */
/* exit_code: the exit statuses that all programs of the lapilli command share. */
#ifndef LAP_BASE_EXIT_CODE_H
#define LAP_BASE_EXIT_CODE_H

enum lap_tool_exit {
    LAP_TOOL_OK = 0,
    LAP_TOOL_FAILED = 1,      /* a failure of this machine: memory, output */
    LAP_TOOL_USAGE = 2,       /* wrong arguments */
    LAP_TOOL_NO_TRACE = 3,    /* the file is unreadable or no trace */
    LAP_TOOL_INCOMPLETE = 4,  /* the trace ends early; everything before that was used */
    LAP_TOOL_UNSUPPORTED = 5, /* no GPU of this machine can do it */
    LAP_TOOL_NOT_STARTED = 127
};

#endif
