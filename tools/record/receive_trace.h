/* SPDX-License-Identifier: MIT */
/*
 * receive_trace: one connection of lapilli-receive, from the greeting to the file that is complete or finished. Any
 * thread; messages are whole lines.
 */
#ifndef LAP_TOOLS_RECORD_RECEIVE_TRACE_H
#define LAP_TOOLS_RECORD_RECEIVE_TRACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "tools/record/status_line.h"
#include "trace/send/greeting.h"

struct lap_receive_incoming;

struct lap_receive_job {
    const char *program; /* in front of messages */
    const char *folder, *pattern;
    struct lap_token token;
    bool json, quiet;
    struct lap_status_line line;
    pthread_mutex_t mutex;              /* for the next two */
    struct lap_receive_incoming *first; /* the traces that arrive */
    uint64_t bytes_before;              /* of those that have arrived */
    struct {                            /* for lap_receive_show alone */
        struct timespec since;
        uint64_t from;
        double mib; /* in a second; negative: not known yet */
    } speed;
};

/* Everything that the caller does not set. */
void lap_receive_job_init(struct lap_receive_job *job);

enum lap_receive_outcome {
    LAP_RECEIVE_NOTHING, /* no trace: refused, a process that got no instance, or one that is no longer needed */
    LAP_RECEIVE_DONE,
    LAP_RECEIVE_INCOMPLETE, /* there is a file, but its end is missing */
    LAP_RECEIVE_FAILED      /* it could not be written */
};

/* fd: a connected, greeted socket of this process, which stays open. told_to_end: this program was, and has shut the
 * socket down. Prints the outcome. */
enum lap_receive_outcome lap_receive_trace(struct lap_receive_job *job, int fd, const struct lap_greeted *from,
                                           const atomic_bool *told_to_end);

/* Shows what arrives on the job's line. user: the job. programs: how many are connected. One thread. */
void lap_receive_show(void *user, unsigned programs);

/* As a JSON object. */
void lap_receive_say_listening(const char *address);

#endif
