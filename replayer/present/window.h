/* SPDX-License-Identifier: MIT */
/*
 * window: shows presented images in the replay's own window. It copies the image (scaled where sizes differ) into a
 * real swapchain, whose count and indices are independent of the trace, and which is created again whenever the window
 * changes. While the window accepts no image (it has no area, is hidden, or changes), the replay goes on without it.
 * window_system.h has the window systems. One thread.
 */
#ifndef LAP_REPLAYER_PRESENT_WINDOW_H
#define LAP_REPLAYER_PRESENT_WINDOW_H

#include "replayer/core/replay.h"

struct replay_window;

/* A presented image. */
struct replay_picture {
    VkImage image;
    VkImageLayout layout; /* before and after */
    VkExtent2D extent;
    VkFormat format;       /* of the image */
    VkPresentModeKHR mode; /* the program's; FIFO where the window lacks it */
    uint32_t wait_count;
    const VkSemaphore *waits;
};

/* Whether a display answers and the device can present there. */
bool replay_window_possible(const struct replay *r, const struct replay_device *dev);

/* Opens a window. It belongs to a surface of the trace and outlives devices and swapchains. LAP_ERROR_UNSUPPORTED:
 * no display answers, or the device can't present there. */
enum lap_status replay_window_create(struct replay *r, struct replay_device *dev, VkExtent2D extent,
                                     struct replay_window **out_window) LAP_MUST_CHECK;
/* Call it after all swapchains are detached. Also for NULL. */
void replay_window_destroy(struct replay_window **window);

/* Lets a virtual swapchain of this size show its images in the window. The last attached one sets the window's size.
 * LAP_ERROR_UNSUPPORTED: the device can't present to the window. */
enum lap_status replay_window_attach(struct replay *r, struct replay_window *window, struct replay_device *dev,
                                     VkExtent2D extent) LAP_MUST_CHECK;
/* The last detach destroys all objects that the window has on the device. */
void replay_window_detach(struct replay_window *window);

/* Shows a picture from the device's main queue, after waiting for its semaphores (always, except after an error).
 * LAP_END: the user closed the window or pressed Escape. */
enum lap_status replay_window_show(struct replay *r, struct replay_window *window,
                                   const struct replay_picture *picture) LAP_MUST_CHECK;

/* Adds to r->report how a replay would show a swapchain; uses an invisible window. LAP_ERROR_UNSUPPORTED:
 * --present=window can't work. */
enum lap_status replay_window_examine(struct replay *r, struct replay_device *dev,
                                      const VkSwapchainCreateInfoKHR *info) LAP_MUST_CHECK;

#endif
