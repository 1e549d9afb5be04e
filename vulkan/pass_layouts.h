/* SPDX-License-Identifier: MIT */
/*
 * pass_layouts: the layouts that the attachments of a render pass have in its first subpass, so that a render pass that
 * goes on where another one ended needs no transitions. Any thread.
 */
#ifndef LAP_VULKAN_PASS_LAYOUTS_H
#define LAP_VULKAN_PASS_LAYOUTS_H

#include <stdint.h>
#include <vulkan/vulkan_core.h>

struct lap_pass_layouts {
    VkImageLayout layout, stencil; /* stencil: of that aspect, where it has one of its own; else as layout */
};

/* The final layouts where the subpass does not use the attachment, or as its description can't say the others. */
struct lap_pass_layouts lap_pass_layouts_inside(const VkRenderPassCreateInfo *info, uint32_t attachment);
struct lap_pass_layouts lap_pass_layouts_inside2(const VkRenderPassCreateInfo2 *info, uint32_t attachment);

/* Whether a layout is that of depth alone, or of stencil alone. */
static inline int lap_pass_layout_is_of_one_aspect(VkImageLayout layout)
{
    return layout == VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL || layout == VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL ||
           layout == VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL || layout == VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL;
}

#endif
