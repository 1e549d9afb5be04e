/* SPDX-License-Identifier: MIT */
/* window_internal: what window.c and window_swapchain.c share. */
#ifndef LAP_REPLAYER_WINDOW_INTERNAL_H
#define LAP_REPLAYER_WINDOW_INTERNAL_H

#include "replayer/window.h"
#include "replayer/window_system.h"

#define REPLAY_WINDOW_SLOTS      2u /* copies under way at most */
#define REPLAY_WINDOW_MAX_IMAGES 64u

/* One copy under way. */
struct replay_window_slot {
    VkCommandBuffer commands;
    VkFence done;
    VkSemaphore acquired;
};

struct replay_window {
    struct replay_instance *instance;
    const struct replay_window_system *system;
    struct replay_native *native;
    VkSurfaceKHR surface;
    uint32_t users; /* swapchains that are attached */
    /* What is on the device; there while users > 0. */
    struct replay_device *dev;
    VkCommandPool pool;
    struct replay_window_slot slots[REPLAY_WINDOW_SLOTS];
    uint32_t next_slot;
    VkSwapchainKHR swapchain; /* null: the window has no area, or it has to be made anew */
    VkExtent2D extent;        /* of the swapchain */
    VkExtent2D fitted;        /* the window's, by its events, when the surface was asked last */
    VkPresentModeKHR wanted;  /* what it was made for */
    VkPresentModeKHR mode;    /* what it has */
    uint32_t image_count;
    VkImage images[REPLAY_WINDOW_MAX_IMAGES];
    VkSemaphore copied[REPLAY_WINDOW_MAX_IMAGES];
    uint64_t title_ms; /* when the title was written last: replay_now_ms */
    bool linear;       /* it was made for images that are read as linear values: lap_pixels_are_linear */
    bool stale;
    bool stuck;         /* it took no image the last time: nobody waits for it until it does */
    bool said_stuck;    /* once */
    bool said_format;   /* once: the surface has no format of that kind */
    uint32_t said_mode; /* once: bit N for a present mode below 32 that the surface lacks */
};

/* LAP_OK for results >= 0. */
enum lap_status replay_window_result(VkResult result, const char *call) LAP_MUST_CHECK;

/* The present mode that comes nearest to `wanted`: itself, or FIFO, which every surface has. */
VkPresentModeKHR replay_window_choose_mode(const struct replay_window *w, VkPhysicalDevice gpu,
                                           VkPresentModeKHR wanted);
/* An 8-bit format. A copy (vkCmdBlitImage) decodes what lies in images of an sRGB format, so it has to go to one, which
 * encodes it again; and values that were stored as they are shown must not be encoded. The surface's first format where
 * it has neither. `count` is at least 1. */
VkSurfaceFormatKHR replay_window_choose_format(const VkSurfaceFormatKHR *formats, uint32_t count, bool linear);
/* Makes the swapchain fit the window, and the picture's format and present mode. Afterwards it is null where there
 * can't be one now. */
enum lap_status replay_window_fit(struct replay *r, struct replay_window *w, VkExtent2D wanted,
                                  const struct replay_picture *picture) LAP_MUST_CHECK;
/* The device's queue is idle. */
void replay_window_drop_swapchain(struct replay_window *w);

#endif
