/* SPDX-License-Identifier: MIT */
/*
 * presented_owner: transfers presented images between queue families. The main queue shows images. An image that
 * another queue family owns goes to the main queue's family for the copy, and back. One thread.
 */
#ifndef LAP_REPLAYER_PRESENT_PRESENTED_OWNER_H
#define LAP_REPLAYER_PRESENT_PRESENTED_OWNER_H

#include "replayer/core/device.h"

struct replay_presented_owner; /* of one image; created when first needed */

/* Whether an image that is presented on a queue must go to the main queue's family first. */
bool replay_presented_owner_differs(const struct replay_device *dev, const struct replay_queue *queue,
                                    VkSharingMode mode);

/* Transfers the image after a wait for the semaphores on `queue`: later work on the main queue may read the image,
 * which stays in `layout`. */
enum lap_status replay_presented_owner_to_main(struct replay *r, struct replay_device *dev,
                                               struct replay_presented_owner **owner, const struct replay_queue *queue,
                                               VkImage image, VkImageLayout layout, uint32_t wait_count,
                                               const VkSemaphore *waits) LAP_MUST_CHECK;
/* Transfers the image back, after all work of the main queue, for later work on the other queue. */
enum lap_status replay_presented_owner_back(struct replay *r, struct replay_device *dev,
                                            const struct replay_presented_owner *owner) LAP_MUST_CHECK;

/* The device is idle. Also for NULL. */
void replay_presented_owner_destroy(struct replay_device *dev, struct replay_presented_owner **owner);

#endif
