/* SPDX-License-Identifier: MIT */
/*
 * handover: images of virtual swapchains that belong to another queue family than the main queue's, which shows them.
 * They go to that family for the copy, and back, so that the program finds them where it presented them. One thread.
 */
#ifndef LAP_REPLAYER_HANDOVER_H
#define LAP_REPLAYER_HANDOVER_H

#include "replayer/context.h"

struct replay_handover; /* of one image; made when first needed */

/* Whether an image that is presented on a queue must go to the main queue's family to be shown. */
bool replay_handover_needed(const struct replay_device *dev, const struct replay_queue *queue, VkSharingMode mode);

/* Behind the semaphores, which are waited for on `queue`: what the main queue is given next may read the image, which
 * is in `layout` and stays in it. */
enum lap_status replay_handover_to_main(struct replay *r, struct replay_device *dev, struct replay_handover **handover,
                                        const struct replay_queue *queue, VkImage image, VkImageLayout layout,
                                        uint32_t wait_count, const VkSemaphore *waits) LAP_MUST_CHECK;
/* Behind all that the main queue was given: the image belongs to the other queue's family again, for what that is given
 * next. */
enum lap_status replay_handover_back(struct replay *r, struct replay_device *dev,
                                     const struct replay_handover *handover) LAP_MUST_CHECK;

/* The device is idle. Also for NULL. */
void replay_handover_destroy(struct replay_device *dev, struct replay_handover **handover);

#endif
