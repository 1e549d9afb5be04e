/* SPDX-License-Identifier: MIT */
/*
 * image_use: finds the images of a trace whose formats may get substitutes: depth and stencil formats, and color
 * formats of a family (lap_pixels_family). A part of trace_analysis.h.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_IMAGE_USE_H
#define LAP_INSPECTOR_ANALYSIS_IMAGE_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "inspector/analysis/trace_pass.h"

/* Images with equal create infos. */
struct image_use {
    VkImageCreateInfo info; /* without pointers; extent, levels and layers are the largest of all */
    bool of_swapchain;
    bool seen_otherwise; /* views have formats of another family */
    uint64_t count;
};

struct image_uses {
    const struct image_use *uses;
    size_t count;
};

/* The part: NULL without memory; its visitor; its results so far. */
void *image_use_create(void);
void image_use_destroy(void *part);
void image_use_visitor(void *part, struct trace_visitor *out);
const struct image_uses *image_use_found(const void *part);

#endif
