/* SPDX-License-Identifier: MIT */
/*
 * swapchain: the virtual swapchain. Its images are plain images of this device, as many as the program had, so that the
 * trace's image indices hold whatever a surface here would give. They are made when something first names them. What is
 * presented goes where the options say: to a window, into screenshots, into checks, or nowhere.
 */
#ifndef LAP_REPLAYER_SWAPCHAIN_H
#define LAP_REPLAYER_SWAPCHAIN_H

#include "replayer/byte_buffer.h"
#include "replayer/context.h"

struct replay_window;

/* More than any driver gives; a trace that names a higher index is damaged. */
#define REPLAY_MAX_SWAPCHAIN_IMAGES 64u

struct replay_swapchain_image {
    VkImage live; /* null: not made yet */
    struct replay_place place;
    struct replay_byte_buffer bytes;         /* over it, where it had to be zeroed */
    const struct replay_queue *presented_by; /* where its last present was carried out; NULL: never */
    struct replay_handover *handover;        /* handover.h */
};

struct replay_swapchain {
    struct replay_device *dev;
    uint64_t index;           /* of the VkSwapchainKHR */
    uint64_t surface;         /* index of the VkSurfaceKHR */
    VkImageCreateInfo info;   /* of each image; pNext is `formats` or NULL */
    VkFormat recorded_format; /* info.format stands for it (format.h) */
    VkImageFormatListCreateInfo format_list;
    VkFormat *formats;
    uint64_t *image_objects; /* indices of the VkImage objects that end with it */
    size_t image_object_count, image_object_capacity;
    struct replay_swapchain_image images[REPLAY_MAX_SWAPCHAIN_IMAGES];
    struct replay_window *window; /* NULL: nothing is shown */
    VkPresentModeKHR mode;        /* that the program wants */
};

struct replay_swapchain *replay_swapchain_of(struct replay *r, VkSwapchainKHR swapchain);

/* Whether this device has the images that a swapchain needs; LAP_ERROR_UNSUPPORTED with the sentence of a replay. */
enum lap_status replay_swapchain_supported(struct replay *r, struct replay_device *dev,
                                           const VkSwapchainCreateInfoKHR *info) LAP_MUST_CHECK;

/* The layout that presented images are in. */
VkImageLayout replay_present_layout(const struct replay *r);

/* The image of a swapchain, made if it is not there yet. */
enum lap_status replay_swapchain_image(struct replay *r, struct replay_device *dev, VkSwapchainKHR swapchain,
                                       uint32_t image_index, VkImage *out_image) LAP_MUST_CHECK;

#endif
