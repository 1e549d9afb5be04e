/* SPDX-License-Identifier: MIT */
/*
 * progress: --progress FD: how far the replay is, as lines of JSON for the program that runs it (docs/json.md). A
 * reader that is slow misses lines, but those about screenshots, and that it waits, wait for it. One that is gone ends
 * nothing. One thread, and SIGPIPE is ignored.
 */
#ifndef LAP_REPLAYER_CORE_PROGRESS_H
#define LAP_REPLAYER_CORE_PROGRESS_H

#include <stdint.h>

struct replay;

struct replay_progress {
    int fd;       /* 0: none */
    uint64_t all; /* packets that will be played: the ticket of the last one */
    uint64_t shown_ms;
};

/* Before the first packet. */
void replay_progress_begin(struct replay *r);
/* Behind a packet. Shows its ticket, if 100 ms have passed since the last line. */
void replay_progress_show(struct replay *r);
/* The replay was played to its end. */
void replay_progress_end(struct replay *r);
/* It has played what is in front of a frame, and waits for a request. */
void replay_progress_wait(struct replay *r);
/* file: its name in the folder of screenshots. */
void replay_progress_screenshot(struct replay *r, uint64_t frame, const char *file);

#endif
