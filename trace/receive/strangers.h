/* SPDX-License-Identifier: MIT */
/*
 * strangers: connections whose peers have not shown yet that they may come in. So many wait at most. One more shuts the
 * oldest one down, so that nobody keeps others out by waiting. Any thread.
 *
 * The sockets are the caller's.
 */
#ifndef LAP_TRACE_RECEIVE_STRANGERS_H
#define LAP_TRACE_RECEIVE_STRANGERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LAP_STRANGERS_MOST 256u

struct lap_strangers {
    pthread_mutex_t mutex; /* for all below */
    unsigned most, count;
    struct {
        int fd;
        int64_t since_ms;
    } all[LAP_STRANGERS_MOST]; /* the oldest one first */
};

/* most: at most LAP_STRANGERS_MOST. */
void lap_strangers_init(struct lap_strangers *strangers, unsigned most);

/* One that is there already becomes the newest. If it ends the oldest one, this takes a millisecond: so many
 * connections as may wait have at least as many milliseconds to speak, however fast others come. */
void lap_strangers_enter(struct lap_strangers *strangers, int fd);

/* The peer has shown it, or the socket is about to be closed. False: it is not there, or was shut down. */
bool lap_strangers_leave(struct lap_strangers *strangers, int fd);

/* Shuts down those that have been there for most_ms. Returns the time until this is to be done again, in ms. */
int lap_strangers_end_old(struct lap_strangers *strangers, int most_ms);

#endif
