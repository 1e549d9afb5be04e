/* SPDX-License-Identifier: MIT */
/*
 * stencil: what it takes to have a format with depth and stencil stand for VK_FORMAT_S8_UINT (format.h). Copies, clears
 * and views name the aspect, and mean the same. Elsewhere an image of both is taken as a whole:
 *
 *   transitions     take depth along, so that it is always in the layout of the stencil (without
 *                   separateDepthStencilLayouts it has to be); layouts of stencil alone are those of both
 *   render passes   neither load nor store the depth, which nobody has written
 *   depth tests     passed where there was no depth: they are switched off, in pipelines and in dynamic state. In
 *                   dynamic rendering, too, where depth is an attachment of its own, and absent: drivers test what
 *                   lies beside the stencil
 *
 * Generated code calls the first two functions where replay_device.stencils_differ is set. One thread.
 */
#ifndef LAP_REPLAYER_STENCIL_H
#define LAP_REPLAYER_STENCIL_H

#include "replayer/context.h"

/* Members of a barrier, or of another transition of an image. */
void replay_stencil_transition(struct replay *r, VkImage image, VkImageAspectFlags *aspects, VkImageLayout *from,
                               VkImageLayout *to);
/* In which layout the image of a view is here; views may be null. */
VkImageLayout replay_stencil_layout(struct replay *r, VkImageView view, VkImageLayout recorded);

/* Of a pipeline that is about to be created, by what it is for. */
void replay_stencil_pipeline(struct replay *r, const VkGraphicsPipelineCreateInfo *info);

/* Dynamic depth tests of the command buffer that is being recorded; zeroed at its begin. */
struct replay_depth_tests {
    VkRenderPass pass; /* and its subpass that is current */
    uint32_t subpass;
    bool alone;         /* stencil was, in that: both are off, whatever was set */
    bool tests, bounds; /* what was set last */
};

/* A command has been recorded. */
void replay_stencil_note(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                         struct replay_depth_tests *tests, const void *args);

#endif
