/* SPDX-License-Identifier: MIT */
/* window_internal: shared by window.c and window_swapchain.c. */
#ifndef LAP_REPLAYER_PRESENT_WINDOW_INTERNAL_H
#define LAP_REPLAYER_PRESENT_WINDOW_INTERNAL_H

#include "replayer/present/window.h"
#include "replayer/present/window_system.h"

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
    VkSurfaceKHR surface; /* null: there is no window now (replay_window_system.hold) */
    uint32_t users;       /* swapchains that are attached */
    /* Objects of the device; valid while users > 0. */
    struct replay_device *dev;
    VkCommandPool pool;
    struct replay_window_slot slots[REPLAY_WINDOW_SLOTS];
    uint32_t next_slot;
    VkSwapchainKHR swapchain; /* null: the window has no area, or the swapchain is stale */
    VkExtent2D extent;        /* of the swapchain */
    VkExtent2D fitted;        /* the window's, by its events, at the last query of the surface */
    VkPresentModeKHR wanted;  /* the wanted mode of the swapchain */
    VkPresentModeKHR mode;    /* the mode of the swapchain */
    uint32_t image_count;
    VkImage images[REPLAY_WINDOW_MAX_IMAGES];
    VkSemaphore copied[REPLAY_WINDOW_MAX_IMAGES];
    uint64_t title_ms; /* time of the last title update: replay_now_ms */
    bool linear;       /* the swapchain is for images with linear values: lap_pixels_are_linear */
    bool stale;
    bool turned;           /* the surface has another transform than the swapchain: the compositor turns its images */
    bool lost;             /* the driver says that the surface is lost; a system with hold makes another one */
    bool stuck;            /* it accepted no image the last time: the replay does not wait for it until it does */
    bool warned_stuck;     /* once */
    bool warned_format;    /* the surface has no format of that kind */
    uint32_t warned_modes; /* bit N for a present mode below 32 that the surface lacks */
};

/* LAP_OK for results >= 0. */
enum lap_status replay_window_result(VkResult result, const char *call) LAP_MUST_CHECK;
/* Notes a lost surface that can be made anew. */
bool replay_window_is_lost(struct replay_window *w, VkResult result);

/* `wanted` if the surface has it; else FIFO, which every surface has. */
VkPresentModeKHR replay_window_choose_mode(const struct replay_window *w, VkPhysicalDevice gpu,
                                           VkPresentModeKHR wanted);
/* Chooses an 8-bit format. A copy (vkCmdBlitImage) decodes sRGB images, so it needs an sRGB destination, which
 * encodes again; a copy of other images needs one that does not encode. The surface's first format where it has
 * neither. `count` is at least 1. */
VkSurfaceFormatKHR replay_window_choose_format(const VkSurfaceFormatKHR *formats, uint32_t count, bool linear);
/* Creates the swapchain again where the window, the picture's format or present mode changed. Afterwards it is null
 * where none is possible now. */
enum lap_status replay_window_fit(struct replay *r, struct replay_window *w, VkExtent2D wanted,
                                  const struct replay_picture *picture) LAP_MUST_CHECK;
/* The device's queue is idle. */
void replay_window_drop_swapchain(struct replay_window *w);

#endif
