/* SPDX-License-Identifier: MIT */
/*
 * receive_trace: one connection of lapilli-receive, from the greeting to the file that is complete or finished. Any
 * thread; messages are whole lines.
 */
#ifndef LAP_TOOLS_RECEIVE_TRACE_H
#define LAP_TOOLS_RECEIVE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "trace/greeting.h"

struct lap_receive_job {
    const char *program; /* in front of messages */
    const char *folder, *pattern;
    struct lap_token token;
    bool json, quiet;
};

enum lap_receive_outcome {
    LAP_RECEIVE_NOTHING, /* no trace: refused, a process that got no instance, or one that is no longer needed */
    LAP_RECEIVE_DONE,
    LAP_RECEIVE_INCOMPLETE, /* there is a file, but its end is missing */
    LAP_RECEIVE_FAILED      /* it could not be written */
};

/* fd: a connected, greeted socket of this process, which stays open. told_to_end: this program was, and has shut the
 * socket down. Prints the outcome. */
enum lap_receive_outcome lap_receive_trace(const struct lap_receive_job *job, int fd, const struct lap_greeted *from,
                                           const atomic_bool *told_to_end);

/* As a JSON object. */
void lap_receive_say_listening(const char *address);

#endif
