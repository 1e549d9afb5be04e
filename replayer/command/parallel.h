/* SPDX-License-Identifier: MIT */
/*
 * parallel: plays recorded command buffers on several threads at once (docs/ordering.md).
 *
 * The thread that reads the trace plays all other packets itself, in the order of tickets. Blocks are gathered
 * (playback_order.h) until a packet comes that must follow them. Then all threads play them, and the first thread waits
 * for the others. Meanwhile nothing else runs, so shared data (handle tables, devices) needs no locks: each thread has
 * a copy of the context with its own arena, and a lock protects the trace's reader. Blocks whose playback changes
 * shared data (texel conversion, address translation, scratch memory of builds) are not gathered.
 */
#ifndef LAP_REPLAYER_COMMAND_PARALLEL_H
#define LAP_REPLAYER_COMMAND_PARALLEL_H

#include "replayer/command/command_playback.h"

struct replay_parallel;

#define REPLAY_THREADS_MAX 64u

/* How many processors this process may use, REPLAY_THREADS_MAX at most. */
unsigned replay_processors(void);
/* The number of threads of a replay with --threads `wanted`. 0: one for each processor, if several threads of the
 * trace record. */
unsigned replay_parallel_threads(const struct replay *r, unsigned wanted);

/* threads: the caller's included; r->parallel stays NULL for 1. */
enum lap_status replay_parallel_create(struct replay *r, unsigned threads) LAP_MUST_CHECK;
void replay_parallel_destroy(struct replay *r);

/* Plays a block now or later. Copies its data. */
enum lap_status replay_parallel_add(struct replay *r, const struct replay_command_playback *block) LAP_MUST_CHECK;

/* Call it before a packet is played: plays the blocks that must come before it. args: decoded, with live handles.
 * Returns the error of the first block that failed, with its position. */
enum lap_status replay_parallel_before(struct replay *r, uint32_t command, const void *args) LAP_MUST_CHECK;

/* Plays the gathered blocks. */
enum lap_status replay_parallel_finish(struct replay *r) LAP_MUST_CHECK;

#endif
