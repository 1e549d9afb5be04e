/* SPDX-License-Identifier: MIT */
/*
 * submit: submitted work that the program does not yet know to be finished. When it learns so, device writes to
 * host-visible memory are not taken for host writes, and capture --verify notes their hashes.
 *
 * A submission is known to be finished if a later one on the same queue is, or one that waited for a semaphore which it
 * signalled. Each submission is handled once, and the oldest ones are merged if a program never asks.
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

/* The program has found an event set or queries available: it may know that earlier commands are done while the rest of
 * the submission still runs. From here on memory tracking looks for host writes to their memory. */
void layer_work_finished_indirectly(struct layer_device *dev, struct layer_progress_query what);

/* The program has acquired an image of the swapchain; semaphore: of the acquire, or null. Under submit.mutex. */
void layer_submit_acquired(struct layer_device *dev, VkSwapchainKHR swapchain, uint32_t image, VkSemaphore semaphore);
/* Before a present is passed to the driver: an idle queue also means that its waits are over. */
void layer_submit_present(struct layer_device *dev, VkQueue queue, const VkPresentInfoKHR *info);

/* The program has waited for the present with this id, or a later one. After the packet. */
void layer_work_finished_present(struct layer_device *dev, VkSwapchainKHR swapchain, uint64_t id);

/* The fence will be signalled by other work from now on. */
void layer_forget_fence(struct layer_device *dev, VkFence fence);

#endif
