/* SPDX-License-Identifier: MIT */
/*
 * acquired_images: the semaphores that an acquire of an image signals. In a replay an image is free when its last
 * present is over, which is work on a queue. Later submits to that queue come after it anyway. Usually the next submit
 * waits for the semaphore; then neither the signal nor the wait is needed, and a frame of the program makes two
 * submits, not three. The signal is submitted where other work comes first.
 *
 * The replay may omit a wait, because its work with a presented image ends with a barrier, or with an empty batch that
 * waits, of all stages: later work in submission order comes after it at any stage (Vulkan specification, "Submission
 * Order" and "Semaphore Waiting").
 */
#ifndef LAP_REPLAYER_SUBMIT_ACQUIRED_IMAGES_H
#define LAP_REPLAYER_SUBMIT_ACQUIRED_IMAGES_H

#include "replayer/core/device.h"

#define REPLAY_ACQUIRED_MOST 8u /* pending semaphores of a device; the oldest beyond these is signalled */

/* Signals a binary semaphore after the work of `queue`, at the latest before the queue's next work. Other code must
 * not count the signal as submitted: before a wait, call replay_acquired_images_before or
 * replay_acquired_images_signal. */
enum lap_status replay_acquired_images_signal_later(struct replay *r, struct replay_device *dev,
                                                    const struct replay_queue *queue,
                                                    VkSemaphore semaphore) LAP_MUST_CHECK;

/* Before batches [first, first + count) of a call go to the driver. args are those of GEN_vkQueueSubmit,
 * GEN_vkQueueSubmit2 or GEN_vkQueueBindSparse, in memory of the replay. Removes waits that need no signal. */
enum lap_status replay_acquired_images_before(struct replay *r, struct replay_device *dev, uint32_t command, void *args,
                                              uint32_t first, uint32_t count) LAP_MUST_CHECK;

/* Signals semaphores, before another wait for them. */
enum lap_status replay_acquired_images_signal(struct replay *r, struct replay_device *dev, uint32_t count,
                                              const VkSemaphore *semaphores) LAP_MUST_CHECK;

/* Call it at the end of the device. */
void replay_acquired_images_finish(struct replay_device *dev);

/* Forgets a destroyed semaphore without a wait. */
void replay_acquired_images_forget(struct replay_device *dev, VkSemaphore semaphore);

#endif
