/* SPDX-License-Identifier: MIT */
/*
 * render passes: the attachments of each subpass, since pipelines ignore state for attachments that their subpass
 * lacks, and an ignored pointer must not be followed (vulkan/conditions.h); and the writes to each attachment
 * (attachment.h).
 */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/command/attachment.h"
#include "layer/core/records.h"
#include "vulkan/chain.h"

void layer_render_pass_finish(struct lap_object *object)
{
    struct layer_render_pass *pass = (struct layer_render_pass *)object;
    free(pass->head.attachments);
    free(pass->attachments);
}

static struct layer_render_pass *describe(struct layer_device *dev, VkRenderPass handle, uint32_t subpass_count,
                                          uint32_t attachment_count)
{
    struct layer_render_pass *pass = LAYER_GET(dev, VkRenderPass, handle);
    if (!pass || pass->head.attachments) /* out of memory; or the driver returned the handle of an equal render pass */
        return NULL;
    pass->head.attachments = calloc(subpass_count ? subpass_count : 1, 1);
    pass->attachments = calloc(attachment_count ? attachment_count : 1, sizeof *pass->attachments);
    if (!pass->head.attachments || !pass->attachments) {
        layer_stop("out of memory");
        return NULL;
    }
    pass->head.subpass_count = subpass_count;
    pass->attachment_count = attachment_count;
    return pass;
}

static uint8_t kinds_of(uint32_t color_count, bool depth)
{
    return (uint8_t)((color_count ? COND_HAS_COLOR : 0) | (depth ? COND_HAS_DEPTH_STENCIL : 0));
}

/* ---- attachments ---- */

enum layer_touch layer_attachment_begins(VkAttachmentLoadOp load, VkImageLayout initial)
{
    if (load == VK_ATTACHMENT_LOAD_OP_CLEAR)
        return LAYER_WRITES;
    return load == VK_ATTACHMENT_LOAD_OP_LOAD && initial != VK_IMAGE_LAYOUT_UNDEFINED ? LAYER_WRITES_PARTLY
                                                                                      : LAYER_WRITES_VARYING;
}

static bool is_none(VkAttachmentLoadOp load)
{
    return load == VK_ATTACHMENT_LOAD_OP_NONE_EXT;
}

static void describe_attachment(struct layer_attachment *out, VkAttachmentDescriptionFlags flags,
                                VkAttachmentLoadOp load, VkAttachmentStoreOp store, VkImageLayout initial)
{
    *out = (struct layer_attachment){.begins = layer_attachment_begins(load, initial), .how = LAYER_READS};
    out->stored = store == VK_ATTACHMENT_STORE_OP_STORE;
    out->discarded = store == VK_ATTACHMENT_STORE_OP_DONT_CARE;
    out->aliased = flags & VK_ATTACHMENT_DESCRIPTION_MAY_ALIAS_BIT;
    out->only_shown = (is_none(load) || (load == VK_ATTACHMENT_LOAD_OP_LOAD && initial != VK_IMAGE_LAYOUT_UNDEFINED)) &&
                      (out->stored || store == VK_ATTACHMENT_STORE_OP_NONE);
}

/* The same for images that are read back to be checked: undefined contents are left out, and depth and stencil are read
 * back separately. */
static void describe_texels(struct layer_attachment *out, VkAttachmentLoadOp stencil_load,
                            VkAttachmentStoreOp stencil_store, VkImageLayout initial, VkImageLayout final)
{
    out->depth = out->only_shown ? LAYER_READS : out->stored ? out->begins : LAYER_WRITES_VARYING;
    out->stencil = stencil_store == VK_ATTACHMENT_STORE_OP_NONE && is_none(stencil_load) ? LAYER_READS
                   : stencil_store == VK_ATTACHMENT_STORE_OP_STORE ? layer_attachment_begins(stencil_load, initial)
                                                                   : LAYER_WRITES_VARYING;
    out->stencil_discarded = stencil_store == VK_ATTACHMENT_STORE_OP_DONT_CARE;
    out->final_layout = out->final_stencil_layout = final;
}

/* ---- subpasses ---- */

struct subpass {
    struct layer_render_pass *pass;
    uint32_t view_mask;
};

/* Of several subpasses that use an attachment, the least defined use counts. An attachment that no subpass uses is
 * neither loaded nor stored. */
static void use(const struct subpass *subpass, uint32_t number, enum layer_touch how)
{
    struct layer_attachment *attachment;
    if (number >= subpass->pass->attachment_count) /* VK_ATTACHMENT_UNUSED */
        return;
    attachment = &subpass->pass->attachments[number];
    attachment->used = true;
    if (how != LAYER_READS && attachment->aliased)
        how = LAYER_WRITES_VARYING;
    if (attachment->how < how)
        attachment->how = how;
    attachment->view_mask |= subpass->view_mask;
}

static void use_color(const struct subpass *subpass, uint32_t number)
{
    const struct layer_attachment *attachments = subpass->pass->attachments;
    if (number < subpass->pass->attachment_count)
        use(subpass, number, attachments[number].stored ? attachments[number].begins : LAYER_WRITES_VARYING);
}

static void use_input(const struct subpass *subpass, uint32_t number)
{
    if (number < subpass->pass->attachment_count && subpass->pass->attachments[number].only_shown)
        use(subpass, number, LAYER_READS);
    else
        use_color(subpass, number);
}

static void use_resolve(const struct subpass *subpass, uint32_t from, uint32_t to)
{
    const struct layer_attachment *attachments = subpass->pass->attachments;
    const uint32_t count = subpass->pass->attachment_count;
    if (from < count && to < count)
        use(subpass, to,
            attachments[to].stored ? layer_attachment_resolved(attachments[from].begins) : LAYER_WRITES_VARYING);
}

/* ---- creation ---- */

static void describe_subpass(const struct subpass *subpass, const VkSubpassDescription *info)
{
    for (uint32_t i = 0; i < info->inputAttachmentCount; i++)
        use_input(subpass, info->pInputAttachments[i].attachment);
    for (uint32_t i = 0; i < info->colorAttachmentCount; i++) {
        use_color(subpass, info->pColorAttachments[i].attachment);
        if (info->pResolveAttachments)
            use_resolve(subpass, info->pColorAttachments[i].attachment, info->pResolveAttachments[i].attachment);
    }
    if (info->pDepthStencilAttachment)
        use(subpass, info->pDepthStencilAttachment->attachment, LAYER_WRITES_VARYING);
}

void hook_after_CreateRenderPass(struct layer_device *dev, VkDevice device, const VkRenderPassCreateInfo *pCreateInfo,
                                 const VkAllocationCallbacks *pAllocator, VkRenderPass *pRenderPass, VkResult result)
{
    struct layer_render_pass *pass =
        describe(dev, *pRenderPass, pCreateInfo->subpassCount, pCreateInfo->attachmentCount);
    const VkRenderPassMultiviewCreateInfo *multiview =
        lap_chain_find(pCreateInfo->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);

    for (uint32_t i = 0; pass && i < pCreateInfo->attachmentCount; i++) {
        const VkAttachmentDescription *a = &pCreateInfo->pAttachments[i];
        describe_attachment(&pass->attachments[i], a->flags, a->loadOp, a->storeOp, a->initialLayout);
        describe_texels(&pass->attachments[i], a->stencilLoadOp, a->stencilStoreOp, a->initialLayout, a->finalLayout);
    }
    for (uint32_t i = 0; pass && i < pCreateInfo->subpassCount; i++) {
        const VkSubpassDescription *info = &pCreateInfo->pSubpasses[i];
        const VkAttachmentReference *depth = info->pDepthStencilAttachment;
        struct subpass subpass = {pass, multiview && i < multiview->subpassCount ? multiview->pViewMasks[i] : 0};
        pass->head.attachments[i] =
            kinds_of(info->colorAttachmentCount, depth && depth->attachment != VK_ATTACHMENT_UNUSED);
        describe_subpass(&subpass, info);
    }
}

static void describe_subpass2(const struct subpass *subpass, const VkSubpassDescription2 *info)
{
    const VkSubpassDescriptionDepthStencilResolve *resolve =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE);

    for (uint32_t i = 0; i < info->inputAttachmentCount; i++)
        use_input(subpass, info->pInputAttachments[i].attachment);
    for (uint32_t i = 0; i < info->colorAttachmentCount; i++) {
        use_color(subpass, info->pColorAttachments[i].attachment);
        if (info->pResolveAttachments)
            use_resolve(subpass, info->pColorAttachments[i].attachment, info->pResolveAttachments[i].attachment);
    }
    if (info->pDepthStencilAttachment)
        use(subpass, info->pDepthStencilAttachment->attachment, LAYER_WRITES_VARYING);
    if (resolve && resolve->pDepthStencilResolveAttachment)
        use(subpass, resolve->pDepthStencilResolveAttachment->attachment, LAYER_WRITES_VARYING);
}

void hook_after_CreateRenderPass2(struct layer_device *dev, VkDevice device, const VkRenderPassCreateInfo2 *pCreateInfo,
                                  const VkAllocationCallbacks *pAllocator, VkRenderPass *pRenderPass, VkResult result)
{
    struct layer_render_pass *pass =
        describe(dev, *pRenderPass, pCreateInfo->subpassCount, pCreateInfo->attachmentCount);

    for (uint32_t i = 0; pass && i < pCreateInfo->attachmentCount; i++) {
        const VkAttachmentDescription2 *a = &pCreateInfo->pAttachments[i];
        const VkAttachmentDescriptionStencilLayout *stencil =
            lap_chain_find(a->pNext, VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT);
        describe_attachment(&pass->attachments[i], a->flags, a->loadOp, a->storeOp, a->initialLayout);
        describe_texels(&pass->attachments[i], a->stencilLoadOp, a->stencilStoreOp,
                        stencil ? stencil->stencilInitialLayout : a->initialLayout, a->finalLayout);
        if (stencil)
            pass->attachments[i].final_stencil_layout = stencil->stencilFinalLayout;
    }
    for (uint32_t i = 0; pass && i < pCreateInfo->subpassCount; i++) {
        const VkSubpassDescription2 *info = &pCreateInfo->pSubpasses[i];
        const VkAttachmentReference2 *depth = info->pDepthStencilAttachment;
        struct subpass subpass = {pass, info->viewMask};
        pass->head.attachments[i] =
            kinds_of(info->colorAttachmentCount, depth && depth->attachment != VK_ATTACHMENT_UNUSED);
        describe_subpass2(&subpass, info);
    }
}
