/* SPDX-License-Identifier: MIT */
/*
 * attachments: the attachments of the render pass that a command is in, or of its dynamic rendering. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_ATTACHMENTS_H
#define LAP_INSPECTOR_STATE_ATTACHMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/state/bound.h"

enum attachment_role {
    ATTACHMENT_COLOR,
    ATTACHMENT_RESOLVE, /* of the color attachment with its number */
    ATTACHMENT_DEPTH_STENCIL,
    ATTACHMENT_DEPTH,
    ATTACHMENT_STENCIL,
    ATTACHMENT_DEPTH_RESOLVE,
    ATTACHMENT_STENCIL_RESOLVE,
    ATTACHMENT_INPUT,
    ATTACHMENT_SHADING_RATE,
    ATTACHMENT_DENSITY_MAP
};

struct attachment {
    enum attachment_role role;
    uint32_t number;               /* among those with its role, in the subpass */
    uint64_t view;                 /* VkImageView; 0: its framebuffer is not known */
    uint64_t image;                /* 0: not known */
    VkFormat format;               /* VK_FORMAT_UNDEFINED: not known */
    VkImageSubresourceRange range; /* of the view; levelCount 0: not known */
    VkImageLayout layout;          /* in which the render pass leaves it; of the stencil stencil_layout */
    VkImageLayout stencil_layout;
    struct lap_pass_layouts inside;        /* while the render pass is on, if it has one subpass */
    VkAttachmentLoadOp load, stencil_load; /* from the render pass */
};

const char *attachment_role_name(enum attachment_role role); /* "color" */

/* Of the current subpass, without the unused ones. *out is in the arena, and the decoded command that began the pass
 * is, too. *out_begin: NULL, or its struct gen_args_X: of the command buffer where it was begun. */
enum lap_status attachments_of(const struct bound *bound, struct lap_arena *arena, struct attachment **out,
                               size_t *out_count, const struct lap_args **out_begin,
                               uint32_t *out_command) LAP_MUST_CHECK;

#endif
