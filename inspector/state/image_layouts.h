/* SPDX-License-Identifier: MIT */
/*
 * image_layouts: the layout of each subresource of a trace's images, as the submits so far leave it, from the trace
 * alone. Commands of a block are noted once, as steps; a submit applies them, in the order of submission. Images whose
 * formats have no known aspects are not followed.
 *
 * A visitor of the one pass (inspector/analysis/trace_pass.h). One thread.
 */
#ifndef LAP_INSPECTOR_STATE_IMAGE_LAYOUTS_H
#define LAP_INSPECTOR_STATE_IMAGE_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "inspector/analysis/trace_pass.h"
#include "inspector/position/find.h"

struct image_layouts;

struct image_subresource {
    VkImageLayout layout;
    bool between; /* one queue family has released it, and none has acquired it yet */
};

struct image_layout {
    VkImageCreateInfo info; /* without pointers */
    uint32_t layers; /* that have layouts of their own: array layers, or slices of a volume with VK_KHR_maintenance9 */
    VkImageAspectFlags aspects; /* or planes */
    bool is_presentable;
    uint64_t queue;                         /* in the trace, on which a step was last submitted; 0: on none */
    struct image_subresource *subresources; /* use image_layout_of; NULL: no step was applied yet */
};

struct image_layouts *image_layouts_create(void); /* NULL: no memory */
void image_layouts_destroy(struct image_layouts *layouts);

/* last_ticket: later packets are not seen; 0: all are. */
void image_layouts_visitor(struct image_layouts *layouts, uint64_t last_ticket, struct trace_visitor *out);

/* Of the submit that `end` is in, only the commands up to `end` are applied. NULL: all. `end` outlives the pass. */
void image_layouts_end_in(struct image_layouts *layouts, const struct position_found *end);

/* Without a visitor, for a walk through the commands that submits run (bound_walk.h): calls, but submits, and each
 * command with its queue. is_secondary: it is in a secondary command buffer. */
enum lap_status image_layouts_see_call(struct image_layouts *layouts, const struct trace_call *call) LAP_MUST_CHECK;
enum lap_status image_layouts_see_command(struct image_layouts *layouts, uint64_t queue, bool is_secondary,
                                          uint32_t command, const void *args) LAP_MUST_CHECK;

/* NULL: no step was applied yet, or not followed. By its index in the trace. */
const struct image_layout *image_layouts_find(const struct image_layouts *layouts, uint64_t image);
/* Also where no step was applied. NULL: not followed; *out_obstacle says why. */
const struct image_layout *image_layouts_of(struct image_layouts *layouts, uint64_t image, const char **out_obstacle);
/* The queue that owns an image: the queue of its last submitted step, or, where only the host has given it layouts, the
 * only queue that exists. 0: not known. */
uint64_t image_layouts_queue(const struct image_layouts *layouts, const struct image_layout *image);
/* The family of a queue; UINT32_MAX: not known. */
uint32_t image_layouts_family(const struct image_layouts *layouts, uint64_t queue);

/* aspect: one bit of image->aspects; level and layer exist. */
struct image_subresource image_layout_of(const struct image_layout *image, VkImageAspectFlags aspect, uint32_t level,
                                         uint32_t layer);
/* Whether a subresource of the range, which may be of a view, is in another layout than this one: the first one that
 * is. Layouts that mean the same for an aspect are equal. Subresources between two queue families are left out. */
bool image_layout_differs(const struct image_layout *image, const VkImageSubresourceRange *range, VkImageLayout layout,
                          VkImageLayout *out_found, VkImageAspectFlags *out_aspect);
/* The layout that all aspects of a level of a layer are in; VK_IMAGE_LAYOUT_UNDEFINED: in several, or none. */
VkImageLayout image_layout_of_all(const struct image_layout *image, uint32_t level, uint32_t layer);

#endif
