/* SPDX-License-Identifier: MIT */
/*
 * window: shows presented images in a window of the replay's own. The image is copied (scaled where sizes differ) into
 * a real swapchain, whose counts and indices have nothing to do with the trace's, and which is made anew whenever the
 * window has changed. Where the window takes no image (it has no area, is hidden, or changes just now) the image is not
 * shown, and the replay goes on. Which system the window is on: window_system.h. One thread.
 */
#ifndef LAP_REPLAYER_WINDOW_H
#define LAP_REPLAYER_WINDOW_H

#include "replayer/context.h"

struct replay_window;

/* What is shown. */
struct replay_picture {
    VkImage image;
    VkImageLayout layout; /* it is in this, and is so afterwards */
    VkExtent2D extent;
    VkFormat format;       /* of the image */
    VkPresentModeKHR mode; /* of the program; FIFO is taken where the window has no such */
    uint32_t wait_count;
    const VkSemaphore *waits;
};

/* Whether a display answers and the device can show something there. */
bool replay_window_possible(const struct replay *r, const struct replay_device *dev);

/* A window on the screen; it belongs to a surface of the trace and outlives devices and swapchains.
 * LAP_ERROR_UNSUPPORTED: no display answers, or the device can't present there. */
enum lap_status replay_window_create(struct replay *r, struct replay_device *dev, VkExtent2D extent,
                                     struct replay_window **out_window) LAP_MUST_CHECK;
/* All swapchains have been detached. Also for NULL. */
void replay_window_destroy(struct replay_window **window);

/* A virtual swapchain of this size shows its images here from now on; the last one that came says how large the window
 * is. LAP_ERROR_UNSUPPORTED: the device can't present to the window. */
enum lap_status replay_window_attach(struct replay *r, struct replay_window *window, struct replay_device *dev,
                                     VkExtent2D extent) LAP_MUST_CHECK;
/* With the last one go all objects that the window has on the device. */
void replay_window_detach(struct replay_window *window);

/* Shows a picture on the device's main queue, after waiting for its semaphores (always, unless an error is returned).
 * LAP_END: the user closed the window or pressed Escape. */
enum lap_status replay_window_show(struct replay *r, struct replay_window *window,
                                   const struct replay_picture *picture) LAP_MUST_CHECK;

/* Tells r->report how a swapchain would be shown, with a window that nobody sees. LAP_ERROR_UNSUPPORTED: it was asked
 * to be, and can't. */
enum lap_status replay_window_examine(struct replay *r, struct replay_device *dev,
                                      const VkSwapchainCreateInfoKHR *info) LAP_MUST_CHECK;

#endif
