/* SPDX-License-Identifier: MIT */
/*
 * command: a request to a recorded process while it runs, and its answer, as they go over a connection
 * (docs/streaming.md, "Commands"): lapilli control asks a receiver, and that asks the processes. No side trusts the
 * other. Any thread, one at a time for each direction of a socket; nothing is allocated.
 */
#ifndef LAP_TRACE_SEND_COMMAND_H
#define LAP_TRACE_SEND_COMMAND_H

#include <stdint.h>

#include "base/status.h"

#define LAP_COMMAND_TEXT_BYTES 256u  /* with the zero behind it */
#define LAP_COMMAND_WAIT_MS    30000 /* for a process to answer: it may have to send what it still has */

/* The numbers never change. */
enum lap_command {
    LAP_COMMAND_STATUS = 1,
    LAP_COMMAND_STOP = 2,      /* the recording comes to its end, the program goes on */
    LAP_COMMAND_START = 3,     /* a part begins at the end of a frame */
    LAP_COMMAND_FRAMES = 4,    /* one of so many frames; text: the number */
    LAP_COMMAND_KEEP_LAST = 5, /* text: how much of the run's end is kept from now on, as 10s; or "off" */
    LAP_COMMAND_KEEP = 6,      /* the kept part of the run stays */
    LAP_COMMAND_COUNT
};

/* The command that is called "status", "stop" ...; 0: there is none. */
uint32_t lap_command_of(const char *name);

struct lap_command_request {
    uint32_t command; /* may be unknown */
    uint32_t number;  /* to a process: the answer repeats it; to a receiver: the process that is meant, 0: all */
    char text[LAP_COMMAND_TEXT_BYTES];
};

enum lap_command_outcome {
    LAP_COMMAND_DONE,
    LAP_COMMAND_REFUSED,   /* text: why */
    LAP_COMMAND_UNKNOWN,   /* to this process */
    LAP_COMMAND_NO_ANSWER, /* text: why; from a receiver */
    LAP_COMMAND_OUTCOME_COUNT
};

enum lap_command_state {
    LAP_STATE_NONE, /* it is not known */
    LAP_STATE_RECORDING,
    LAP_STATE_ENDED,
    LAP_STATE_WAITING, /* a part may begin; the sizes are those of the last one */
    LAP_STATE_COUNT
};
const char *lap_command_state_name(enum lap_command_state state);

struct lap_command_answer {
    uint32_t number;
    enum lap_command_outcome outcome;
    enum lap_command_state state;
    uint64_t frames, bytes, waited_us; /* so far; waited: recording threads, for the receiver */
    char text[LAP_COMMAND_TEXT_BYTES]; /* printable; "" */
};

/* deadline: as in trace/send/exchange.h. LAP_ERROR_IO; LAP_ERROR_FORMAT: the other side sends something else. */
enum lap_status lap_command_send(int fd, const struct lap_command_request *request, int64_t deadline) LAP_MUST_CHECK;
enum lap_status lap_command_receive(int fd, struct lap_command_request *out, int64_t deadline) LAP_MUST_CHECK;
enum lap_status lap_command_answer_send(int fd, const struct lap_command_answer *answer,
                                        int64_t deadline) LAP_MUST_CHECK;
enum lap_status lap_command_answer_receive(int fd, struct lap_command_answer *out, int64_t deadline) LAP_MUST_CHECK;

/* A process in the list that a receiver answers with. Its answer follows; behind the last one comes one without name.
 */
struct lap_command_process {
    uint32_t process;
    char name[LAP_COMMAND_TEXT_BYTES]; /* printable; "" is the list's end */
};
enum lap_status lap_command_process_send(int fd, const struct lap_command_process *process,
                                         int64_t deadline) LAP_MUST_CHECK;
enum lap_status lap_command_process_receive(int fd, struct lap_command_process *out, int64_t deadline) LAP_MUST_CHECK;

#endif
