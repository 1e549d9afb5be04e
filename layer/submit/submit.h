/* SPDX-License-Identifier: MIT */
/*
 * submit: submitted work that the program does not yet know to be finished, and what is done when it learns so: what
 * the device wrote into host-visible memory is no host write, and capture --verify notes its hash.
 *
 * Finished is known of a submission when it is known of a later one on the same queue, or of one that waited for a
 * semaphore which it signalled. Nothing is done twice, and the oldest submissions are folded together when a program
 * never asks.
 */
#ifndef LAP_LAYER_SUBMIT_H
#define LAP_LAYER_SUBMIT_H

#include "layer/command/progress_query.h"

/* The program has learnt that these are signalled or idle. After the packet of the call; any thread, no packet open. */
void layer_work_finished_fence(struct layer_device *dev, VkFence fence);
void layer_work_finished_semaphore(struct layer_device *dev, VkSemaphore semaphore, uint64_t value);
void layer_work_finished_work(struct layer_device *dev, struct layer_work work);
void layer_work_finished_queue(struct layer_device *dev, VkQueue queue);
void layer_work_finished_device(struct layer_device *dev);

/* The program has found an event set or queries available: it may know that what was submitted before these commands is
 * done, and that the work they are in goes on. From here on what the host stores is looked for there. */
void layer_work_finished_indirectly(struct layer_device *dev, struct layer_progress_query what);

/* A present that is about to be handed to the driver: an idle queue also means that its waits are over. */
/* The program has an image of the swapchain; semaphore: is or will be signalled; or null. Under
 * submit_mutex. */
void layer_submit_acquired(struct layer_device *dev, VkSwapchainKHR swapchain, uint32_t image, VkSemaphore semaphore);
void layer_submit_present(struct layer_device *dev, VkQueue queue, const VkPresentInfoKHR *info);

/* The program has waited for the present with this id, or a later one. After the packet. */
void layer_work_finished_present(struct layer_device *dev, VkSwapchainKHR swapchain, uint64_t id);

/* The fence will be signalled by other work from now on. */
void layer_forget_fence(struct layer_device *dev, VkFence fence);

#endif
