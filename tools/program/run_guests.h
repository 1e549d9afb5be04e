/* SPDX-License-Identifier: MIT */
/*
 * run_guests: the connections of lapilli run --listen. Each has a process of its own, which greets it, and then plays
 * its program when it is its turn. So many are greeted, wait and play at a time; of those that are greeted, one more
 * ends the oldest.
 */
#ifndef LAP_TOOLS_PROGRAM_RUN_GUESTS_H
#define LAP_TOOLS_PROGRAM_RUN_GUESTS_H

#include <signal.h>
#include <stdbool.h>

#include "trace/send/greeting.h"

struct run_guests_job {
    const char *name; /* in front of messages */
    const struct lap_token *token;
    int listener;           /* trace/receive/listener.h */
    int signals;            /* a signalfd: SIGCHLD, and signals that end it; they are blocked */
    const sigset_t *before; /* the mask of a new process */
    bool once;              /* end after one program */
    /* In a process of its own. stop: a descriptor whose other end is closed when it shall end. Returns its exit
     * status. */
    int (*play)(void *user, int fd, int stop);
    void *user;
};

/* Serves until a signal comes. In a process of one thread, without other children. Returns an exit status. */
int run_guests_serve(const struct run_guests_job *job);

#endif
