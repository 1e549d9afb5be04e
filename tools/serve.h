/* SPDX-License-Identifier: MIT */
/*
 * serve: connections at an address, each with a thread of its own: recorded processes that take commands
 * (trace/command_board.h), who gives commands, and, where they are taken, traces. Strangers may connect, so a process
 * of its own does it, in the sandbox.
 */
#ifndef LAP_TOOLS_SERVE_H
#define LAP_TOOLS_SERVE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/sandbox.h"
#include "trace/greeting.h"

struct lap_serve_job {
    const char *program; /* in front of messages */
    const struct lap_token *token;
    int listener;         /* trace/listener.h */
    const sigset_t *ends; /* signals that end it; they are blocked */
    pid_t parent;         /* who has made this process, with whose end it ends, too */
    enum lap_sandbox_wish sandbox;
    const char *folder; /* the only one where files can be made; NULL: none */
    /* Takes a trace until its connection, which stays open, ends; on the thread of that. told_to_end: a signal came,
     * and the connection was shut down. True: one has come. NULL: no traces are taken. */
    bool (*take_trace)(void *user, int fd, const struct lap_greeted *from, const atomic_bool *told_to_end);
    void *user;
    bool once; /* end after one trace */
};

/* Serves until a signal comes: what has arrived is still taken in, and who has given a command gets the answers. In a
 * process of one thread. False, and it was said why: it can't be done. */
bool lap_serve(const struct lap_serve_job *job);

#endif
