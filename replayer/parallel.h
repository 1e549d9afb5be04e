/* SPDX-License-Identifier: MIT */
/*
 * parallel: recorded command buffers that are played by several threads at once (docs/ordering.md).
 *
 * The thread that reads the trace plays every other packet itself, in the order of tickets. Blocks wait (gather.h)
 * until a packet comes that has to stand behind them; then all threads play them, and it waits for the last. While they
 * do nothing else happens, so what they read (tables of handles, devices) needs no locks: each has a copy of the
 * context with an arena of its own, and the trace's reader is used under a lock. What changes more than that (texels
 * that are converted, addresses that are translated) is not gathered.
 */
#ifndef LAP_REPLAYER_PARALLEL_H
#define LAP_REPLAYER_PARALLEL_H

#include "replayer/block.h"

struct replay_parallel;

#define REPLAY_THREADS_MAX 64u

/* How many processors this process may use, REPLAY_THREADS_MAX at most. */
unsigned replay_processors(void);
/* How many threads a replay has that was asked for `wanted`; 0: one for each processor, if the trace has several
 * recording threads. */
unsigned replay_parallel_threads(const struct replay *r, unsigned wanted);

/* threads: with the caller's; r->parallel stays NULL for 1. */
enum lap_status replay_parallel_create(struct replay *r, unsigned threads) LAP_MUST_CHECK;
void replay_parallel_destroy(struct replay *r);

/* Plays a block now or later. The data is copied. */
enum lap_status replay_parallel_block(struct replay *r, const struct replay_block *block) LAP_MUST_CHECK;

/* Before a packet is played: plays the blocks that have to stand before it. args: decoded, with live handles. An error
 * is that of the first block that failed, with its place. */
enum lap_status replay_parallel_before(struct replay *r, uint32_t command, const void *args) LAP_MUST_CHECK;

/* Plays what is gathered. */
enum lap_status replay_parallel_finish(struct replay *r) LAP_MUST_CHECK;

#endif
