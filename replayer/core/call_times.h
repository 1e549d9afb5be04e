/* SPDX-License-Identifier: MIT */
/*
 * call_times: the time that the replay's thread is in the calls of each command, by frames. It is that of the driver,
 * and of the replay's own work for the call. One thread.
 */
#ifndef LAP_REPLAYER_CORE_CALL_TIMES_H
#define LAP_REPLAYER_CORE_CALL_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct replay_call_time {
    uint64_t frame;   /* from 1 */
    uint32_t command; /* enum gen_command */
    uint64_t calls, ns;
};

struct replay_call_times;

/* For these frames, from 1. NULL without memory. */
struct replay_call_times *replay_call_times_create(uint64_t first_frame, uint64_t last_frame);
void replay_call_times_destroy(struct replay_call_times **times);

/* Nanoseconds of a clock that never goes back. */
uint64_t replay_call_times_now(void);
/* A call that began at that time, and ends now. */
void replay_call_times_add(struct replay_call_times *times, uint64_t frame, uint32_t command, uint64_t began);

/* All, by frame, in a frame the longest time first. LAP_ERROR_MEMORY: there was none for some of them. */
enum lap_status replay_call_times_list(struct replay_call_times *times, const struct replay_call_time **out,
                                       size_t *out_count) LAP_MUST_CHECK;

#endif
