/* SPDX-License-Identifier: MIT */
/*
 * finish: finishes a trace whose process has ended, for a launcher and `lapilli repair`. Runs trace/recover/finish.h in
 * a sandboxed process and removes the tail file. For a program with one thread.
 */
#ifndef LAP_TOOLS_RECORD_FINISH_H
#define LAP_TOOLS_RECORD_FINISH_H

#include "base/process/sandbox.h"
#include "trace/recover/finish.h"

struct lap_finish_job {
    const char *program, *path; /* name in front of messages, and the path of the trace */
    struct lap_finish_options options;
    enum lap_sandbox_wish sandbox;
    bool sync;  /* write the trace to the disk before its tail file is removed */
    bool quiet; /* no progress */
    bool drops; /* deletes a file that has nothing yet (LAP_FINISH_NOTHING), without a message */
};

struct lap_finish_report {
    struct lap_finish_result result;
    bool complete; /* the trace after this call */
    uint64_t frames, packets;
    char stopped[480], ended[480], repaired[160]; /* as in lap_reader_summary; "" for NULL */
};

/* Returns 0 or 4 (LAP_TOOL_INCOMPLETE: the trace is incomplete, finished or not), with the result in *out. Any other
 * exit status follows a message on stderr, and leaves the trace and its tail file unchanged. Where out->result.outcome
 * is LAP_FINISH_RECORDING or LAP_FINISH_REFUSED, the status is 1; LAP_FINISH_RECORDING prints no message. With
 * LAP_FINISH_NOTHING it is 3. */
int lap_finish_file(const struct lap_finish_job *job, struct lap_finish_report *out);

#endif
