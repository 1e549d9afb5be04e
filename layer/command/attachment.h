/* SPDX-License-Identifier: MIT */
/*
 * attachment: writes of render passes and dynamic rendering. Load and store operations decide the contents afterwards,
 * the render area and the views decide the place ("Render Pass", "Load Operation", "Store Operation").
 */
#ifndef LAP_LAYER_ATTACHMENT_H
#define LAP_LAYER_ATTACHMENT_H

#include "layer/command/touched.h"
#include "vulkan/conditions.h"

/* The effect of a render pass on one of its attachments. */
struct layer_attachment {
    enum layer_touch begins, how; /* of the load, and in all: LAYER_READS as long as nothing writes it */
    bool stored, aliased, used;
    /* Of its texels, and of its stencil, for images that are copied to be checked (image_state.h). */
    enum layer_touch depth, stencil;
    bool discarded, stencil_discarded; /* nothing of it is stored */
    VkImageLayout final_layout, final_stencil_layout;
    bool only_shown;    /* neither operation writes: as an input attachment it is only read */
    uint32_t view_mask; /* of all subpasses that use it; 0: the framebuffer's layers */
};

struct layer_render_pass {
    struct cond_render_pass head;
    struct layer_attachment *attachments; /* NULL: out of memory */
    uint32_t attachment_count;
};

/* A framebuffer was created: notes its writable ranges, once. */
void layer_framebuffer_remember(struct layer_device *dev, const VkFramebufferCreateInfo *info, VkFramebuffer handle);

/* The contents of an attachment when drawing begins: LAYER_WRITES: cleared, LAYER_WRITES_PARTLY: the previous contents,
 * LAYER_WRITES_VARYING: undefined. */
enum layer_touch layer_attachment_begins(VkAttachmentLoadOp load, VkImageLayout initial);

/* The contents of the image afterwards. With VK_ATTACHMENT_STORE_OP_NONE drawn texels become undefined. */
static inline enum layer_touch layer_attachment_ends(enum layer_touch begins, VkAttachmentStoreOp store)
{
    return store == VK_ATTACHMENT_STORE_OP_STORE ? begins : LAYER_WRITES_VARYING;
}

/* The contents of the resolve attachment after a resolve: all of the render area is overwritten. */
static inline enum layer_touch layer_attachment_resolved(enum layer_touch begins)
{
    return begins == LAYER_WRITES_VARYING ? LAYER_WRITES_VARYING : LAYER_WRITES;
}

#endif
