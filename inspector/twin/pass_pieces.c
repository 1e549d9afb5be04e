/* SPDX-License-Identifier: MIT */
#include "inspector/twin/pass_pieces.h"

#include <stdint.h>

#include "vulkan/pass_layouts.h"

static void change_operations(VkAttachmentLoadOp *load, VkAttachmentStoreOp *store, bool loads)
{
    *store = VK_ATTACHMENT_STORE_OP_STORE;
    if (loads)
        *load = VK_ATTACHMENT_LOAD_OP_LOAD;
}

/* Between pieces attachments stay in the layouts of the subpass: a transition into these would follow dependencies of
 * the program, which do not know of a load there. */
static void change_layouts(VkImageLayout *initial, VkImageLayout *final, VkImageLayout inside, enum piece piece)
{
    if (piece != PIECE_FIRST)
        *initial = inside;
    if (piece != PIECE_LAST)
        *final = inside;
}

void pass_piece(const VkRenderPassCreateInfo *info, enum piece piece)
{
    for (uint32_t i = 0; info->pAttachments && i < info->attachmentCount; i++) {
        VkAttachmentDescription *at = (VkAttachmentDescription *)(uintptr_t)&info->pAttachments[i];
        change_operations(&at->loadOp, &at->storeOp, piece != PIECE_FIRST);
        change_operations(&at->stencilLoadOp, &at->stencilStoreOp, piece != PIECE_FIRST);
        change_layouts(&at->initialLayout, &at->finalLayout, lap_pass_layouts_inside(info, i).layout, piece);
    }
}

void pass_piece2(const VkRenderPassCreateInfo2 *info, enum piece piece)
{
    for (uint32_t i = 0; info->pAttachments && i < info->attachmentCount; i++) {
        const struct lap_pass_layouts inside = lap_pass_layouts_inside2(info, i);
        VkAttachmentDescription2 *at = (VkAttachmentDescription2 *)(uintptr_t)&info->pAttachments[i];
        change_operations(&at->loadOp, &at->storeOp, piece != PIECE_FIRST);
        change_operations(&at->stencilLoadOp, &at->stencilStoreOp, piece != PIECE_FIRST);
        change_layouts(&at->initialLayout, &at->finalLayout, inside.layout, piece);
        for (const VkBaseInStructure *c = at->pNext; c; c = c->pNext)
            if (c->sType == VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT) {
                VkAttachmentDescriptionStencilLayout *stencil = (void *)(uintptr_t)c;
                change_layouts(&stencil->stencilInitialLayout, &stencil->stencilFinalLayout, inside.stencil, piece);
            }
    }
}

static void change_attachment(const VkRenderingAttachmentInfo *info, bool loads)
{
    VkRenderingAttachmentInfo *at = (VkRenderingAttachmentInfo *)(uintptr_t)info;

    if (at)
        change_operations(&at->loadOp, &at->storeOp, loads);
}

void rendering_piece(const VkRenderingInfo *info, bool loads)
{
    for (uint32_t i = 0; info->pColorAttachments && i < info->colorAttachmentCount; i++)
        change_attachment(&info->pColorAttachments[i], loads);
    change_attachment(info->pDepthAttachment, loads);
    change_attachment(info->pStencilAttachment, loads);
}
