/* SPDX-License-Identifier: MIT */
/*
 * worker: a process that answers one question: the verb itself, which reads the trace in its sandbox. What it prints is
 * the answer, and is not looked into here. So a trace or a driver that crashes it takes one answer, and ending it is
 * enough to cancel. Any thread.
 */
#ifndef LAP_SERVER_WORKER_H
#define LAP_SERVER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "server/answer.h"
#include "server/codes.h"
#include "server/route.h"

/* An answer that fails because of the code of a client has what a compiler said as its body. */
struct lap_worker_job {
    const struct lap_question *question;
    const char *programs; /* the folder of lapilli-X */
    const char *file;     /* the trace, as an absolute path; NULL: none is asked about */
    struct lap_playing playing;
    const char *scratch;  /* a folder of our own, for files */
    struct lap_codes *codes; /* that clients sent */
    size_t most;          /* bytes that an answer may have */
    int stop;             /* an eventfd: when it can be read, the process is ended; -1: none */
    /* Both may be NULL. files: of each file that is complete; may be before the end. */
    void (*progress)(void *user, uint64_t done, uint64_t all);
    void (*file_made)(void *user, const struct lap_question *question, struct lap_answer *answer);
    void *user;
};

/* Returns when the process has ended. The answer is held once. NULL: out of memory. */
struct lap_answer *lap_worker_run(const struct lap_worker_job *job);

/* ---- a replay that waits in front of a frame for a question about it ---- */

struct lap_worker;

/* job: without question and functions. The process ends with the calling thread. NULL: it can't be had. */
struct lap_worker *lap_worker_wait(const struct lap_worker_job *job, const char *frame);

enum lap_worker_state { LAP_WORKER_PLAYS, LAP_WORKER_WAITS, LAP_WORKER_GONE };
/* Its state changes when the descriptor can be read; look does not block. */
int lap_worker_fd(const struct lap_worker *worker);
enum lap_worker_state lap_worker_look(struct lap_worker *worker);
/* Lets it stand still, or go on. */
void lap_worker_pause(const struct lap_worker *worker, bool stands);
void lap_worker_end(struct lap_worker **worker);

/* As lap_worker_run; it may still play. Its end. NULL: it is no help: whoever asks it anew from the beginning gets the answer. */
struct lap_answer *lap_worker_ask(struct lap_worker **worker, const struct lap_worker_job *job);

#endif
