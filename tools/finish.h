/* SPDX-License-Identifier: MIT */
/*
 * finish: what a launcher and `lapilli repair` do with a trace whose process is gone: trace/finish.h, in a process that
 * is shut in, and the tail file goes. For a program with one thread.
 */
#ifndef LAP_TOOLS_FINISH_H
#define LAP_TOOLS_FINISH_H

#include "base/sandbox.h"
#include "trace/finish.h"

struct lap_finish_job {
    const char *program, *path; /* whose sentences these are, and the trace */
    struct lap_finish_options options;
    enum lap_sandbox_wish sandbox;
    bool sync;  /* the trace is on the disk before its tail file goes */
    bool quiet; /* no progress */
};

struct lap_finish_report {
    struct lap_finish_result result;
    bool complete; /* the trace, as it is now */
    uint64_t frames, packets;
    char stopped[480], ended[480], repaired[160]; /* as in lap_reader_summary; "" for NULL */
};

/* Returns 0 or 4 (LAP_TOOL_INCOMPLETE: the trace is, whether it was finished or not), after which *out says what there
 * is; or another exit status, after a sentence on stderr: then the trace and its tail file have what they had. Where
 * out->result.outcome is LAP_FINISH_RECORDING, or LAP_FINISH_REFUSED, the status is 1; of the first nothing is said.
 */
int lap_finish_file(const struct lap_finish_job *job, struct lap_finish_report *out);

#endif
