/* SPDX-License-Identifier: MIT */
/*
 * exchange: sends or receives an exact number of bytes on a connected socket, up to a deadline. It raises no signal.
 * Any thread.
 */
#ifndef LAP_TRACE_SEND_EXCHANGE_H
#define LAP_TRACE_SEND_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* CLOCK_MONOTONIC, in milliseconds. */
int64_t lap_exchange_now_ms(void);

/* deadline: by that clock. LAP_ERROR_IO with a sentence; an unknown part of the bytes went over the connection then. */
enum lap_status lap_exchange_send(int fd, const void *data, size_t bytes, int64_t deadline) LAP_MUST_CHECK;
enum lap_status lap_exchange_receive(int fd, void *data, size_t bytes, int64_t deadline) LAP_MUST_CHECK;

#endif
