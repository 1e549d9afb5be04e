/* SPDX-License-Identifier: MIT */
#include "vulkan/pass_layouts.h"

#include <stddef.h>

#include "vulkan/chain.h"

/* VkSubpassDescription and VkSubpassDescription2 have the same members. */
#define FIND_REFERENCE(name, subpass_type, reference_type)                                                             \
    static const reference_type *name(const subpass_type *subpass, uint32_t attachment)                                \
    {                                                                                                                  \
        const reference_type *depth = subpass->pDepthStencilAttachment;                                                \
        for (uint32_t i = 0; subpass->pColorAttachments && i < subpass->colorAttachmentCount; i++)                     \
            if (subpass->pColorAttachments[i].attachment == attachment)                                                \
                return &subpass->pColorAttachments[i];                                                                 \
        for (uint32_t i = 0; subpass->pResolveAttachments && i < subpass->colorAttachmentCount; i++)                   \
            if (subpass->pResolveAttachments[i].attachment == attachment)                                              \
                return &subpass->pResolveAttachments[i];                                                               \
        if (depth && depth->attachment == attachment)                                                                  \
            return depth;                                                                                              \
        for (uint32_t i = 0; subpass->pInputAttachments && i < subpass->inputAttachmentCount; i++)                     \
            if (subpass->pInputAttachments[i].attachment == attachment)                                                \
                return &subpass->pInputAttachments[i];                                                                 \
        return NULL;                                                                                                   \
    }
FIND_REFERENCE(find_reference, VkSubpassDescription, VkAttachmentReference)
FIND_REFERENCE(find_reference2, VkSubpassDescription2, VkAttachmentReference2)

struct lap_pass_layouts lap_pass_layouts_inside(const VkRenderPassCreateInfo *info, uint32_t attachment)
{
    const VkAttachmentReference *reference =
        info->pSubpasses && info->subpassCount ? find_reference(info->pSubpasses, attachment) : NULL;
    const VkImageLayout layout = reference ? reference->layout : info->pAttachments[attachment].finalLayout;

    return (struct lap_pass_layouts){layout, layout};
}

struct lap_pass_layouts lap_pass_layouts_inside2(const VkRenderPassCreateInfo2 *info, uint32_t attachment)
{
    const VkAttachmentDescription2 *description = &info->pAttachments[attachment];
    const VkAttachmentDescriptionStencilLayout *own =
        lap_chain_find(description->pNext, VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT);
    const VkAttachmentReference2 *reference =
        info->pSubpasses && info->subpassCount ? find_reference2(info->pSubpasses, attachment) : NULL;
    const VkAttachmentReferenceStencilLayout *stencil =
        reference ? lap_chain_find(reference->pNext, VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_STENCIL_LAYOUT) : NULL;
    const struct lap_pass_layouts final = {description->finalLayout,
                                           own ? own->stencilFinalLayout : description->finalLayout};
    struct lap_pass_layouts inside;

    if (!reference)
        return final;
    inside = (struct lap_pass_layouts){reference->layout, stencil ? stencil->stencilLayout : reference->layout};
    return own || (inside.layout == inside.stencil && !lap_pass_layout_is_of_one_aspect(inside.layout)) ? inside
                                                                                                        : final;
}
