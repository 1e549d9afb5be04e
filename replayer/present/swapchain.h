/* SPDX-License-Identifier: MIT */
/*
 * swapchain: the virtual swapchain. Its images are plain images of the replay device, as many as the program had, so
 * the trace's image indices are valid for any surface. They are created at their first use. Options choose the
 * destination of presented images: a window, screenshots, checks, or none.
 */
#ifndef LAP_REPLAYER_PRESENT_SWAPCHAIN_H
#define LAP_REPLAYER_PRESENT_SWAPCHAIN_H

#include "replayer/core/replay.h"
#include "replayer/memory/overlay_buffer.h"

struct replay_window;

/* More than any driver has; a trace with a higher index is damaged. */
#define REPLAY_MAX_SWAPCHAIN_IMAGES 64u

struct replay_swapchain_image {
    VkImage live; /* null: not created yet */
    struct replay_memory_place place;
    struct replay_overlay_buffer bytes;             /* over it, where it was zeroed */
    const struct replay_queue *presented_by;        /* the queue of its last present; NULL: never */
    struct replay_presented_owner *presented_owner; /* presented_owner.h */
};

struct replay_swapchain {
    struct replay_device *dev;
    uint64_t index;           /* of the VkSwapchainKHR */
    uint64_t surface;         /* index of the VkSurfaceKHR */
    VkImageCreateInfo info;   /* of each image; pNext is `formats` or NULL */
    VkFormat recorded_format; /* info.format substitutes it (format.h) */
    VkImageFormatListCreateInfo format_list;
    VkFormat *formats;
    uint64_t *image_objects; /* indices of its VkImage objects */
    size_t image_object_count, image_object_capacity;
    struct replay_swapchain_image images[REPLAY_MAX_SWAPCHAIN_IMAGES];
    struct replay_window *window; /* NULL: no window */
    VkPresentModeKHR mode;        /* the program's */
    bool shared;                  /* its image is the program's and the display's at once */
    /* The newest presents with an id: the work that they waited for, on a queue of dev->queues.all. */
    struct {
        uint64_t id, number;
        uint32_t queue;
    } presents[16];
    uint32_t present_count;
};

struct replay_swapchain *replay_swapchain_of(struct replay *r, VkSwapchainKHR swapchain);

/* Checks that the replay device supports the images of a swapchain; LAP_ERROR_UNSUPPORTED with the sentence of a
 * replay. */
enum lap_status replay_swapchain_supported(struct replay *r, struct replay_device *dev,
                                           const VkSwapchainCreateInfoKHR *info) LAP_MUST_CHECK;

/* The layout of its presented images. */
VkImageLayout replay_present_layout(const struct replay *r, const struct replay_swapchain *swapchain);

#endif
