/* SPDX-License-Identifier: MIT */
/*
 * greeting: the handshake of a recorded process and a receiver before a trace is streamed (docs/streaming.md, "The
 * protocol"): versions, the process's name and, where they have a token, a proof that both have the same. The token
 * itself never goes over the connection: each side sends a keyed hash of random bytes that both have made for this one
 * connection. Where none is used, each side refuses a stranger (peer.h).
 *
 * Both functions work on a connected socket, whose peer is not trusted, wait for it for at most LAP_GREETING_WAIT_MS
 * altogether, raise no signal and leave the socket open. Any thread; they allocate nothing.
 */
#ifndef LAP_TRACE_SEND_GREETING_H
#define LAP_TRACE_SEND_GREETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define LAP_GREETING_MAGIC      "LAPSTRM\n"
#define LAP_GREETING_VERSION    2u
#define LAP_GREETING_WAIT_MS    10000
#define LAP_GREETING_NAME_BYTES 256u /* with the zero behind it */

#define LAP_TOKEN_MIN_BYTES     16u
#define LAP_TOKEN_MAX_BYTES     4096u

/* A secret that both sides share. */
struct lap_token {
    uint8_t bytes[LAP_TOKEN_MAX_BYTES];
    size_t count; /* 0: there is none */
};

/* The purpose of a connection. */
enum lap_role {
    LAP_ROLE_TRACE,   /* a process streams its trace: trace/send/send.h */
    LAP_ROLE_OBEY,    /* the same process takes commands and answers: trace/send/command.h */
    LAP_ROLE_COMMAND, /* a client gives commands to processes */
    LAP_ROLE_RUN,     /* a client wants replay programs played: vm/frame.h */
    LAP_ROLE_COUNT
};

struct lap_greeted {
    char program[LAP_GREETING_NAME_BYTES]; /* as the program calls itself: without slashes and control characters, not
                                              empty */
    uint32_t process;
    enum lap_role role;
};

/* Reads the token from a file of at least LAP_TOKEN_MIN_BYTES that only its owner can read; white space at its end does
 * not count. LAP_ERROR_IO or LAP_ERROR_ARGUMENT with a sentence. */
enum lap_status lap_token_read(const char *path, struct lap_token *out) LAP_MUST_CHECK;

/* The recorded process begins. LAP_ERROR_IO: the connection broke; LAP_ERROR_FORMAT: this is no receiver;
 * LAP_ERROR_ARGUMENT: it refuses, or can't prove that it has the token; LAP_ERROR_UNSUPPORTED: it has nothing for this
 * role. The sentence names the cause. */
enum lap_status lap_greeting_call(int fd, const struct lap_greeted *self, const struct lap_token *token) LAP_MUST_CHECK;

/* Who is let in. */
struct lap_greeting_rules {
    const struct lap_token *token;
    unsigned roles; /* bits 1 << enum lap_role */
    /* Called when all else is right, before the program is told so. False: there is nothing for it now. NULL: there
     * always is. */
    bool (*admit)(void *user, const struct lap_greeted *from);
    void *user;
};

/* The receiver's side. A program without a token where there is one, or with another, gets a verdict and is refused,
 * and so is one that comes for what there is not. The same errors; LAP_ERROR_IO also when it was admitted. */
enum lap_status lap_greeting_answer(int fd, const struct lap_greeting_rules *rules,
                                    struct lap_greeted *out) LAP_MUST_CHECK;

#endif
