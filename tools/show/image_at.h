/* SPDX-License-Identifier: MIT */
/* image_at: the picture of one subresource of an image at a position, from the trace alone. */
#ifndef LAP_TOOLS_SHOW_IMAGE_AT_H
#define LAP_TOOLS_SHOW_IMAGE_AT_H

#include <stdbool.h>
#include <stdint.h>

#include "inspector/position/position.h"
#include "vulkan/texel/texel_picture.h"

struct lap_image_at {
    struct position at;
    const char *path, *object, *output;
    uint32_t level, layer, slice;
    VkImageAspectFlags aspect; /* 0: the first one that the format has */
    bool raw, json;
    struct lap_picture_options how;
    int fd; /* of the output; set by lap_image_at_run */
};

/* "color", "depth", "stencil", "plane0" to "plane2". False: another word. */
bool lap_image_at_aspect(const char *text, VkImageAspectFlags *out);

/* Returns an exit status. */
int lap_image_at_run(const char *program, struct lap_image_at *options);

#endif
