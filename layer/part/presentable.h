/* SPDX-License-Identifier: MIT */
/*
 * presentable: the contents of swapchain images when a part of the run begins. Images that the program has acquired are
 * read at once. The presentation engine owns the others, and no one else may access them; but their contents are
 * preserved, and the program may use them once it has acquired them ("WSI Swapchain", vkQueuePresentKHR). So each of
 * these is read when the program first acquires it, after the packet of the acquire, before the program can use the
 * image.
 */
#ifndef LAP_LAYER_PART_PRESENTABLE_H
#define LAP_LAYER_PART_PRESENTABLE_H

#include "layer/part/readback.h"

/* While a part begins: reads the image, or notes it to be read when it is acquired. */
enum lap_status layer_presentable_read(struct layer_readback *r, const struct layer_image *image) LAP_MUST_CHECK;

/* The program has acquired an image, and the packet of the acquire is written. semaphore, fence: of the acquire; the
 * semaphore is signalled again afterwards. Under verify.mutex and submit.mutex of the device, no packet open. */
void layer_presentable_acquired(struct layer_device *dev, VkSwapchainKHR swapchain, uint32_t index,
                                VkSemaphore semaphore, VkFence fence);

#endif
