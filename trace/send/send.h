/* SPDX-License-Identifier: MIT */
/*
 * send: streams a trace from within the recorded process while it is made: the connection, and the records from which
 * the receiver makes the file (docs/streaming.md, "The protocol"). Nothing here raises a signal. Functions that send
 * allocate nothing and may be called by any thread, one at a time.
 *
 * A receiver that takes no byte for LAP_SEND_WAIT_MS gets no more.
 */
#ifndef LAP_TRACE_SEND_SEND_H
#define LAP_TRACE_SEND_SEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/file/own_file.h"
#include "base/log.h"
#include "trace/send/greeting.h"

#define LAP_RECORD_MAGIC     0x4352504cu /* "LPRC" little-endian */
#define LAP_RECORD_BYTES     16u         /* in front of what an APPEND appends */
#define LAP_RECORD_MAX_BYTES (UINT64_C(8) << 20)
#define LAP_SEND_WAIT_MS     60000
#define LAP_CONFIRM_WAIT_MS  10000
#define LAP_SEND_MAX_PARTS   4u

enum lap_record_kind {
    LAP_RECORD_APPEND = 1, /* so many bytes follow and go behind the file's others */
    LAP_RECORD_CUT = 2,    /* the file is so long from now on */
    LAP_RECORD_FORGET = 3, /* no instance was made, or the file is no longer needed: there shall be none */
    LAP_RECORD_DONE = 4    /* the file has so many bytes, and has come to its end; the receiver repeats it when it has
                              written them */
};

void lap_record_store(uint8_t out[LAP_RECORD_BYTES], enum lap_record_kind kind, uint64_t value);

struct lap_send_options {
    const char *address;
    const char *token_file; /* NULL: none */
    const char *program;    /* its name */
    enum lap_role role;
    bool wait; /* until there is a receiver; otherwise one must be there */
    const struct lap_log *log;
};

/* Connects and greets. *out_fd: the caller's. *out_waited_ms: the wait for a listening process. LAP_ERROR_ARGUMENT,
 * LAP_ERROR_IO, LAP_ERROR_FORMAT with a sentence. */
enum lap_status lap_send_connect(const struct lap_send_options *options, int *out_fd,
                                 uint64_t *out_waited_ms) LAP_MUST_CHECK;

/* 0 or an errno (as lap_file_error_text takes it), after which nothing more can be sent. At most LAP_SEND_MAX_PARTS. */
int lap_send_append(struct lap_own_file *socket, const struct iovec *parts, unsigned count);
int lap_send_cut(struct lap_own_file *socket, uint64_t bytes);
int lap_send_forget(struct lap_own_file *socket);
int lap_send_done(struct lap_own_file *socket, uint64_t bytes);

/* Behind lap_send_done, once: waits until the receiver has written all, at most LAP_CONFIRM_WAIT_MS. 0 or an errno. */
int lap_send_wait_confirmed(struct lap_own_file *socket, uint64_t bytes);

#endif
