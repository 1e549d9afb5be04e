/* SPDX-License-Identifier: MIT */
/*
 * serve: connections at an address, each with a thread of its own: recorded processes that take commands
 * (trace/receive/command_board.h), clients that give commands, and traces, where accepted. Any process may connect, so
 * this runs in a process of its own, in the sandbox.
 */
#ifndef LAP_TOOLS_RECORD_SERVE_H
#define LAP_TOOLS_RECORD_SERVE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/process/sandbox.h"
#include "tools/record/status_line.h"
#include "trace/send/greeting.h"

struct lap_serve_job {
    const char *program; /* in front of messages */
    const struct lap_token *token;
    int listener;         /* trace/receive/listener.h */
    const sigset_t *ends; /* signals that end it; they are blocked */
    pid_t parent;         /* the process that made this one, which ends with it */
    enum lap_sandbox_wish sandbox;
    const char *folder; /* the only one where files can be made; NULL: none */
    /* Receives a trace until its connection ends; the connection stays open. Runs on the connection's thread.
     * told_to_end: a signal came, and the connection was shut down. True: a trace has come. NULL: traces are not
     * accepted. */
    bool (*take_trace)(void *user, int fd, const struct lap_greeted *from, const atomic_bool *told_to_end);
    void *user;
    bool once;                    /* end after one trace */
    bool until_they_leave;        /* end when a trace has come and nobody is connected */
    struct lap_status_line *line; /* in whose place messages are printed; NULL: there is none */
    /* Called now and then while anybody is connected, and behind that. programs: how many stream or take commands.
     * NULL: nothing is called. */
    void (*show)(void *user, unsigned programs);
};

/* Serves until a signal comes: data that has arrived is still received, and clients get the answers to their commands.
 * In a process of one thread. False, after a message: it can't serve. */
bool lap_serve(const struct lap_serve_job *job);

#endif
