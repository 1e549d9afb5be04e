/* SPDX-License-Identifier: MIT */
/*
 * waiting: replays that have played what is in front of a frame, and wait for a question about it. They are for the
 * frame of the last picture, on its GPU: whoever looks at one draw looks at the next one soon. One is made at a time,
 * and only while nobody waits for an answer: meanwhile it stands still. What is not used for minutes ends. Any thread.
 */
#ifndef LAP_SERVER_WAITING_H
#define LAP_SERVER_WAITING_H

#include "server/capture.h"
#include "server/worker.h"

#define LAP_WAITING_MOST 8u

struct lap_waiting;

/* job: lap_worker_wait's, without a file; its texts outlive this. count: of replays that wait, at most LAP_WAITING_MOST. NULL: out of
 * memory. */
struct lap_waiting *lap_waiting_new(const struct lap_worker_job *job, unsigned count);
void lap_waiting_free(struct lap_waiting **waiting); /* or NULL, like all others. Ends all */

/* An answer is being made from now on; or is not any more. */
void lap_waiting_busy(struct lap_waiting *waiting, bool begins);
/* From now on some are for this frame on this GPU, and none for others. gpu: of struct lap_playing. */
void lap_waiting_want(struct lap_waiting *waiting, const struct lap_capture *capture, const char *frame,
                      const char *gpu);
/* One for it, for lap_worker_ask. NULL: there is none. */
struct lap_worker *lap_waiting_take(struct lap_waiting *waiting, const struct lap_capture *capture, const char *frame,
                                    const char *gpu);
/* Ends all, until some are wanted again. False: there were none. */
bool lap_waiting_clear(struct lap_waiting *waiting);

#endif
