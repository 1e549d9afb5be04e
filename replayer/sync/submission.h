/* SPDX-License-Identifier: MIT */
/*
 * submission: tracks which submitted work is over. All submissions of the trace, on all queues of a device, have rising
 * numbers from 1. Each submit has a fence: the program's, or one of the replay's own; and a further one where the
 * program's does not prove that the work is over. A device is busy (replay_device.busy) while some work is not known to
 * be over, or destructions are deferred (deferred_destroy.h).
 *
 * The replay waits before it begins, resets or submits an object again: command buffers and their pools, queries, and
 * fences. It waits only for the work that uses the object. So a program that knew by other means that this work was
 * over (fences, semaphores, queries, its other queues) does not wait for later work.
 *
 * One thread.
 */
#ifndef LAP_REPLAYER_SYNC_SUBMISSION_H
#define LAP_REPLAYER_SYNC_SUBMISSION_H

#include "replayer/core/device.h"

/* The fence of a submit, and whether its signal proves that the work is over: the program's does not where it is
 * signalled already. */
struct replay_submission {
    VkFence fence;
    bool tracked, own;
};

/* Call it before a submit with a fence of the program's, or with none (0). Waits for a fence that is under way. */
enum lap_status replay_submission_begin(struct replay *r, struct replay_device *dev, VkQueue queue, VkFence fence,
                                        struct replay_submission *out) LAP_MUST_CHECK;
/* Call it after the submit; done: the driver accepted it. */
void replay_submission_end(struct replay_device *dev, VkQueue queue, const struct replay_submission *submission,
                           bool done);
/* Submits a fence of the program's alone, to be signalled after all work of the queue. It is under way until then. */
enum lap_status replay_submission_signal(struct replay *r, struct replay_device *dev, VkQueue queue,
                                         VkFence fence) LAP_MUST_CHECK;
/* The same two for a vkQueueBindSparse, which always gets a fence: a fence of later work does not prove that it is
 * over. */
enum lap_status replay_submission_begin_bind(struct replay *r, struct replay_device *dev, VkFence fence,
                                             struct replay_submission *out) LAP_MUST_CHECK;
void replay_submission_end_bind(struct replay_device *dev, const struct replay_submission *submission, bool done);

/* ---- finished work ---- */

/* Notes that the fences are signalled. */
void replay_submission_fences_seen(struct replay_device *dev, uint32_t count, const VkFence *fences);
/* Notes that all work of the queue is over. */
void replay_submission_queue_idle(struct replay_device *dev, struct replay_queue *queue);
/* Checks the fences without a wait. Returns whether the device is still busy. */
bool replay_submission_poll(struct replay_device *dev);

/* The numbers of the last submission, 0: none, and of the next one. */
uint64_t replay_submission_last(const struct replay_device *dev);
static inline uint64_t replay_submission_next(const struct replay_device *dev)
{
    return replay_submission_last(dev) + 1;
}
/* Whether work of a queue (an index into dev->queues.all) is known to be over (number 0 is). */
bool replay_submission_is_over(const struct replay_device *dev, uint32_t queue, uint64_t number);

/* ---- waits ---- */

/* Waits for work. what: "a command buffer", for the sentence after the time limit (wait.h). */
enum lap_status replay_submission_await(struct replay *r, struct replay_device *dev, uint32_t queue, uint64_t number,
                                        const char *what) LAP_MUST_CHECK;
/* Waits for fences that are under way, before they are reset. */
enum lap_status replay_submission_await_fences(struct replay *r, struct replay_device *dev, uint32_t count,
                                               const VkFence *fences) LAP_MUST_CHECK;
/* Waits for all unfinished vkQueueBindSparse. */
enum lap_status replay_submission_await_binds(struct replay *r, struct replay_device *dev,
                                              const char *what) LAP_MUST_CHECK;
/* Waits for the device, and destroys all deferred objects, for a caller without room. False: the device is not busy,
 * waits for the host, or did not finish before; nothing has changed. */
bool replay_submission_await_all(struct replay_device *dev);
/* The same in steps: waits for the oldest unfinished work, if there is any. */
bool replay_submission_await_oldest(struct replay_device *dev);

/* When the device is idle or lost: all work is over, whatever its fences say. Destroys the deferred objects, which may
 * need the memory planner: it must still be alive. */
void replay_submission_all_over(struct replay_device *dev);
/* The same when the device ends. */
void replay_submission_finish(struct replay_device *dev);

#endif
