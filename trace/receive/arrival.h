/* SPDX-License-Identifier: MIT */
/*
 * arrival: receives a trace on a connection, after the greeting, into a file, until the connection ends. Finishes the
 * file where its end is missing. For lapilli-receive and lapilli-replay.
 *
 * The socket and the file are the caller's. One thread for each arrival.
 */
#ifndef LAP_TRACE_RECEIVE_ARRIVAL_H
#define LAP_TRACE_RECEIVE_ARRIVAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/receive/receive.h"

struct lap_arrival {
    int file; /* open for reading and writing, empty at first */
    int socket;
    struct lap_receive receive;
    _Atomic uint64_t bytes; /* in the file so far; any thread may look */
    bool write_failed;
    char reason[160]; /* the reason for its end, if the trace has none */
};

enum lap_arrival_end {
    LAP_ARRIVAL_KEPT,    /* the file is complete, or was finished */
    LAP_ARRIVAL_NOTHING, /* nothing can be read of it, without a dictionary, or there shall be none */
    LAP_ARRIVAL_FAILED   /* it has not been finished; lap_error_message() has the reason */
};

void lap_arrival_init(struct lap_arrival *arrival, int file);

/* Receives until the connection ends or an error occurs, which shuts it down. Sets `reason`. */
enum lap_status lap_arrival_take(struct lap_arrival *arrival, int socket);

/* Ends the file, which can be opened by `path`. Its descriptor is closed in any case. */
enum lap_arrival_end lap_arrival_finish(struct lap_arrival *arrival, const char *path);

#endif
