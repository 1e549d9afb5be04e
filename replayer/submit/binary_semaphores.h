/* SPDX-License-Identifier: MIT */
/*
 * binary_semaphores: whether binary semaphores are signalled by the work that the driver has. Signals and waits
 * alternate in a valid trace. A wait without a signal would never end, in vkQueueSubmit on some drivers, so it is
 * refused. A second signal is left out.
 *
 * Nothing is known of them on a device with semaphores that the program exported or imported (external_sync.h). One
 * thread.
 */
#ifndef LAP_REPLAYER_SUBMIT_BINARY_SEMAPHORES_H
#define LAP_REPLAYER_SUBMIT_BINARY_SEMAPHORES_H

#include "replayer/core/device.h"

/* Before batches [first, first + count) of a call go to the driver. args are those of GEN_vkQueueSubmit,
 * GEN_vkQueueSubmit2 or GEN_vkQueueBindSparse, in memory of the replay. Removes signals of signalled semaphores.
 * LAP_ERROR_REPLAY: a wait has no signal. */
enum lap_status replay_binary_semaphores_before(struct replay *r, struct replay_device *dev, uint32_t command,
                                                void *args, uint32_t first, uint32_t count) LAP_MUST_CHECK;

/* Before waits of the replay's own. LAP_ERROR_REPLAY: one has no signal. */
enum lap_status replay_binary_semaphores_wait(struct replay *r, const struct replay_device *dev, uint32_t count,
                                              const VkSemaphore *semaphores) LAP_MUST_CHECK;

/* Before a signal. False: the semaphore is signalled already. */
bool replay_binary_semaphores_may_signal(struct replay *r, const struct replay_device *dev, VkSemaphore semaphore);

#endif
