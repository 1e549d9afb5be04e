/* SPDX-License-Identifier: MIT */
/*
 * window: shows presented images in a window of the replay's own. The image is copied (scaled where sizes differ) into
 * a real swapchain, whose counts and indices have nothing to do with the trace's. One thread.
 */
#ifndef LAP_REPLAYER_WINDOW_H
#define LAP_REPLAYER_WINDOW_H

#include "replayer/context.h"

struct replay_window;

/* Whether a display answers and the device can show something there. */
bool replay_window_possible(const struct replay_device *dev);

/* A window on the screen; it belongs to a surface of the trace and outlives devices and swapchains.
 * LAP_ERROR_UNSUPPORTED: no display answers. */
enum lap_status replay_window_create(struct replay *r, struct replay_instance *instance, VkExtent2D extent,
                                     struct replay_window **out_window) LAP_MUST_CHECK;
/* All swapchains have been detached. Also for NULL. */
void replay_window_destroy(struct replay_window **window);

/* A virtual swapchain of this size shows its images here from now on; the last one that came says how large the window
 * is. LAP_ERROR_UNSUPPORTED: the device can't present to the window. */
enum lap_status replay_window_attach(struct replay *r, struct replay_window *window, struct replay_device *dev,
                                     VkExtent2D extent) LAP_MUST_CHECK;
/* With the last one go all objects that the window has on the device. */
void replay_window_detach(struct replay_window *window);

/* Shows an image in PRESENT_SRC_KHR layout, which it is in again afterwards, after waiting for the semaphores (always,
 * unless an error is returned). LAP_END: the user closed the window or pressed Escape. */
enum lap_status replay_window_show(struct replay *r, struct replay_window *window, VkImage image, VkExtent2D extent,
                                   uint32_t wait_count, const VkSemaphore *waits) LAP_MUST_CHECK;

/* ---- window_xcb.c: the window system's part ---- */

struct replay_xcb;

bool replay_xcb_answers(void);
enum lap_status replay_xcb_open(const char *title, VkExtent2D extent, struct replay_xcb **out_xcb) LAP_MUST_CHECK;
void replay_xcb_close(struct replay_xcb **xcb);
enum lap_status replay_xcb_surface(const struct replay_xcb *xcb, const struct replay_instance *instance,
                                   VkSurfaceKHR *out_surface) LAP_MUST_CHECK;
void replay_xcb_title(struct replay_xcb *xcb, const char *title);
void replay_xcb_resize(struct replay_xcb *xcb, VkExtent2D extent);
/* Takes all events; false when the window was closed or Escape was pressed. *out_extent: the window's size now. */
bool replay_xcb_poll(struct replay_xcb *xcb, VkExtent2D *out_extent);

#endif
