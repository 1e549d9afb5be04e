/* SPDX-License-Identifier: MIT */
/*
 * presentable: what the images of swapchains hold when a part of the run begins. Those that the program has acquired
 * are read then. The others belong to the presentation engine, and nobody may touch them; a program may draw on over
 * what they hold, though, once it has acquired them ("WSI Swapchain", vkQueuePresentKHR). So each of these is read when
 * the program acquires it for the first time, behind the packet of that, before the program can use it.
 */
#ifndef LAP_LAYER_PART_PRESENTABLE_H
#define LAP_LAYER_PART_PRESENTABLE_H

#include "layer/part/readback.h"

/* While a part begins: reads the image, or notes that it is to be read when it is acquired. */
enum lap_status layer_presentable_read(struct layer_readback *r, const struct layer_image *image) LAP_MUST_CHECK;

/* The program has acquired an image, and the packet of that is written. semaphore, fence: what the driver signals; the
 * semaphore is signalled again. Under verify_mutex and submit_mutex of the device, no packet open. */
void layer_presentable_acquired(struct layer_device *dev, VkSwapchainKHR swapchain, uint32_t index,
                                VkSemaphore semaphore, VkFence fence);

#endif
