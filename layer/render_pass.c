/* SPDX-License-Identifier: MIT */
/*
 * render passes: which attachments each subpass has. Pipelines ignore state for attachments that their subpass lacks,
 * and a pointer that is ignored must not be followed (codegen/support/conditions.h).
 */
#include <stdlib.h>

#include "codegen/support/conditions.h"
#include "gen_layer.h"
#include "layer/records.h"

void layer_render_pass_finish(struct lap_object *object)
{
    free(((struct cond_render_pass *)object)->attachments);
}

static struct cond_render_pass *describe(struct layer_device *dev, VkRenderPass handle, uint32_t subpass_count)
{
    struct cond_render_pass *pass = LAYER_GET(dev, VkRenderPass, handle);
    if (!pass || pass->attachments) /* NULL: out of memory; otherwise a driver's handle of an equal render pass */
        return NULL;
    pass->attachments = calloc(subpass_count ? subpass_count : 1, 1);
    if (!pass->attachments) {
        layer_stop("out of memory");
        return NULL;
    }
    pass->subpass_count = subpass_count;
    return pass;
}

void hook_after_CreateRenderPass(struct layer_device *dev, VkDevice device, const VkRenderPassCreateInfo *pCreateInfo,
                                 const VkAllocationCallbacks *pAllocator, VkRenderPass *pRenderPass, VkResult result)
{
    struct cond_render_pass *pass = describe(dev, *pRenderPass, pCreateInfo->subpassCount);

    for (uint32_t i = 0; pass && i < pCreateInfo->subpassCount; i++) {
        const VkSubpassDescription *subpass = &pCreateInfo->pSubpasses[i];
        const VkAttachmentReference *depth = subpass->pDepthStencilAttachment;
        pass->attachments[i] =
            (uint8_t)((subpass->colorAttachmentCount ? COND_HAS_COLOR : 0) |
                      (depth && depth->attachment != VK_ATTACHMENT_UNUSED ? COND_HAS_DEPTH_STENCIL : 0));
    }
}

void hook_after_CreateRenderPass2(struct layer_device *dev, VkDevice device, const VkRenderPassCreateInfo2 *pCreateInfo,
                                  const VkAllocationCallbacks *pAllocator, VkRenderPass *pRenderPass, VkResult result)
{
    struct cond_render_pass *pass = describe(dev, *pRenderPass, pCreateInfo->subpassCount);

    for (uint32_t i = 0; pass && i < pCreateInfo->subpassCount; i++) {
        const VkSubpassDescription2 *subpass = &pCreateInfo->pSubpasses[i];
        const VkAttachmentReference2 *depth = subpass->pDepthStencilAttachment;
        pass->attachments[i] =
            (uint8_t)((subpass->colorAttachmentCount ? COND_HAS_COLOR : 0) |
                      (depth && depth->attachment != VK_ATTACHMENT_UNUSED ? COND_HAS_DEPTH_STENCIL : 0));
    }
}
