/* SPDX-License-Identifier: MIT */
/*
 * listener: a socket to which recorded processes connect to stream their traces. Any thread; but a Unix socket is made
 * with its own umask, which is the whole process's for that moment.
 */
#ifndef LAP_TRACE_RECEIVE_LISTENER_H
#define LAP_TRACE_RECEIVE_LISTENER_H

#include "trace/send/address.h"

/* Listens. *address becomes what it is bound to (port 0: a free one); the socket, which doesn't wait, is the caller's.
 * A Unix socket left by a dead process is replaced. LAP_ERROR_IO with a sentence. */
enum lap_status lap_listener_open(struct lap_address *address, int *out_fd) LAP_MUST_CHECK;

/* Removes the path of a Unix socket. */
void lap_listener_remove(const struct lap_address *address);

/* The next connection, the caller's: blocking, and with keepalive, which detects dead peers; -1: there is none
 * (errno). */
int lap_listener_accept(int fd);

#endif
