/* SPDX-License-Identifier: MIT */
/*
 * acquired: the semaphores that acquiring an image signals. Here an image is free when the last present of it is over,
 * which stands on a queue. What is submitted to that queue next comes behind it anyway: nearly always that is the work
 * that waits for the semaphore, and then neither the signal nor the wait is needed. A program that presents makes two
 * submits of each frame here, not three. The signal is submitted where anything else comes first.
 *
 * A wait may be left out because all that the replay does with a presented image ends with a barrier, or with an empty
 * batch that waits, of all stages: what is later in submission order is behind it at whatever stage (Vulkan
 * specification, "Submission Order" and "Semaphore Waiting").
 */
#ifndef LAP_REPLAYER_ACQUIRED_H
#define LAP_REPLAYER_ACQUIRED_H

#include "replayer/context.h"

/* Signals a binary semaphore behind what `queue` has, at the latest before it gets more. Nothing else may be told of
 * the signal: who waits calls replay_acquired_before or replay_acquired_signal first. */
enum lap_status replay_acquired_owe(struct replay *r, struct replay_device *dev, const struct replay_queue *queue,
                                    VkSemaphore semaphore) LAP_MUST_CHECK;

/* Before batches [first, first + count) of a call go to the driver. args are those of GEN_vkQueueSubmit,
 * GEN_vkQueueSubmit2 or GEN_vkQueueBindSparse, in memory of the replay: waits that need no signal are taken out of
 * them. */
enum lap_status replay_acquired_before(struct replay *r, struct replay_device *dev, uint32_t command, void *args,
                                       uint32_t first, uint32_t count) LAP_MUST_CHECK;

/* Before something else waits for semaphores. */
enum lap_status replay_acquired_signal(struct replay *r, struct replay_device *dev, uint32_t count,
                                       const VkSemaphore *semaphores) LAP_MUST_CHECK;

/* The semaphore ends, and nobody has waited for it. */
void replay_acquired_forget(struct replay_device *dev, VkSemaphore semaphore);

#endif
