/* SPDX-License-Identifier: MIT */
/*
 * stencil_only: adapts commands where a format with depth and stencil substitutes VK_FORMAT_S8_UINT (format.h). Copies,
 * clears and views name the aspect, so they stay. Other commands use both aspects:
 *
 *   transitions     include depth, so that it is always in the layout of the stencil (as it must be without
 *                   separateDepthStencilLayouts); layouts of stencil alone become layouts of both
 *   render passes   neither load nor store the depth, which is never written
 *   depth tests     always pass without depth, so the replay disables them, in pipelines and in dynamic state. Also in
 *                   dynamic rendering without a depth attachment, since drivers test the depth of the stencil's image
 *
 * Generated code calls the first two functions where replay_device.formats.stencils_differ is set. One thread.
 */
#ifndef LAP_REPLAYER_FORMAT_STENCIL_ONLY_H
#define LAP_REPLAYER_FORMAT_STENCIL_ONLY_H

#include "replayer/core/replay.h"

/* Translates members of a barrier, or of another transition of an image. */
void replay_format_stencil_transition(struct replay *r, VkImage image, VkImageAspectFlags *aspects, VkImageLayout *from,
                                      VkImageLayout *to);
/* The layout of a view's image on the replay device; views may be null. */
VkImageLayout replay_format_stencil_layout(struct replay *r, VkImageView view, VkImageLayout recorded);

/* Adapts the create info of a pipeline, by its render pass or its formats. */
void replay_format_stencil_pipeline(struct replay *r, const VkGraphicsPipelineCreateInfo *info);

/* Dynamic depth tests of the command buffer that is being recorded; zeroed at its begin. */
struct replay_format_depth_tests {
    VkRenderPass pass; /* and its current subpass */
    uint32_t subpass;
    bool alone;         /* stencil alone was recorded in the subpass: both tests are off */
    bool tests, bounds; /* the last recorded settings */
};

/* Notes a recorded command. */
void replay_format_stencil_note(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                                struct replay_format_depth_tests *tests, const void *args);

#endif
