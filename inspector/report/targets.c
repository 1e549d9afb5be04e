/* SPDX-License-Identifier: MIT */
/* The attachments that a command which begins a render pass names, with what becomes of them. */
#include "base/array.h"
#include "inspector/report/inside.h"
#include "vulkan/chain.h"
#include "vulkan/pass.h"

static enum lap_status see_view(struct report_inside *r, const struct gen_args_vkCreateImageView *a)
{
    struct report_image_view *view;

    if (!a->pCreateInfo || !a->pView || !*a->pView)
        return LAP_OK;
    view = lap_arena_zalloc(&r->arena, 1, sizeof *view, 8);
    if (!view || lap_map_put(&r->views, gen_u64_VkImageView(*a->pView), view, NULL) != LAP_OK)
        return lap_no_memory("the report");
    *view = (struct report_image_view){gen_u64_VkImage(a->pCreateInfo->image), a->pCreateInfo->subresourceRange};
    return LAP_OK;
}

/* NULL: no memory. */
static struct report_pass *add_pass(struct report_inside *r, VkRenderPass handle, uint32_t count)
{
    struct report_pass *pass = lap_arena_zalloc(&r->arena, 1, sizeof *pass, 8);

    if (!pass || lap_map_put(&r->passes, gen_u64_VkRenderPass(handle), pass, NULL) != LAP_OK)
        return NULL;
    pass->attachments = lap_arena_zalloc(&r->arena, (size_t)count + 1, sizeof *pass->attachments, 8);
    pass->count = count;
    return pass->attachments ? pass : NULL;
}

static VkImageLayout stencil_layout(const void *chain, VkImageLayout layout)
{
    const VkAttachmentDescriptionStencilLayout *stencil =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT);
    return stencil ? stencil->stencilInitialLayout : layout;
}

#define SEE_PASS(name, type, stencil_of)                                                                               \
    static enum lap_status name(struct report_inside *r, const struct type *a)                                         \
    {                                                                                                                  \
        const __typeof__(*a->pCreateInfo) *info = a->pCreateInfo;                                                      \
        struct report_pass *pass;                                                                                      \
        if (!info || !a->pRenderPass || !*a->pRenderPass)                                                              \
            return LAP_OK;                                                                                             \
        pass = add_pass(r, *a->pRenderPass, info->pAttachments ? info->attachmentCount : 0);                           \
        if (!pass)                                                                                                     \
            return lap_no_memory("the report");                                                                        \
        pass->is_simple = info->pSubpasses && info->subpassCount == 1 && !info->pSubpasses[0].inputAttachmentCount &&  \
                          !info->pSubpasses[0].pResolveAttachments && !info->pNext && !info->pSubpasses[0].flags;      \
        for (uint32_t i = 0; i < pass->count; i++)                                                                     \
            pass->attachments[i] =                                                                                     \
                (struct report_attachment){info->pAttachments[i].initialLayout, stencil_of(&info->pAttachments[i]),    \
                                           info->pAttachments[i].loadOp,        info->pAttachments[i].stencilLoadOp,   \
                                           info->pAttachments[i].storeOp,       info->pAttachments[i].stencilStoreOp}; \
        return LAP_OK;                                                                                                 \
    }
#define STENCIL_OF(attachment)  (attachment)->initialLayout
#define STENCIL_OF2(attachment) stencil_layout((attachment)->pNext, (attachment)->initialLayout)
SEE_PASS(see_pass, gen_args_vkCreateRenderPass, STENCIL_OF)
SEE_PASS(see_pass2, gen_args_vkCreateRenderPass2, STENCIL_OF2)

enum lap_status report_see_made(struct report_inside *r, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCreateImageView:
        return see_view(r, call->args);
    case GEN_vkCreateRenderPass:
        return see_pass(r, call->args);
    case GEN_vkCreateRenderPass2:
        return see_pass2(r, call->args);
    default:
        return LAP_OK;
    }
}

static enum lap_status add(struct report_inside *r, uint64_t view, const struct report_attachment *a)
{
    struct report_targets *t = &r->targets;
    const struct report_image_view *of = lap_map_get(&r->views, view);

    if (!lap_array_grow(&t->items, sizeof *t->items, &t->capacity, t->count + 1))
        return lap_no_memory("the report");
    t->items[t->count++] = (struct report_target){.image = of ? of->image : 0,
                                                  .range = of ? of->range : (VkImageSubresourceRange){0},
                                                  .layout = a->layout,
                                                  .stencil_layout = a->stencil_layout,
                                                  .load = a->load,
                                                  .stencil_load = a->stencil_load,
                                                  .store = a->store,
                                                  .stencil_store = a->stencil_store};
    return LAP_OK;
}

static enum lap_status of_pass(struct report_inside *r, const struct bound_visit *visit,
                               const VkRenderPassBeginInfo *info)
{
    const struct report_pass *pass = lap_map_get(&r->passes, gen_u64_VkRenderPass(info->renderPass));
    const struct fact_framebuffer *framebuffer =
        fact_of_framebuffer(visit->bound->facts, gen_u64_VkFramebuffer(info->framebuffer));
    const VkRenderPassAttachmentBeginInfo *imageless =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
    enum lap_status status = LAP_OK;

    r->targets.area = info->renderArea;
    r->targets.is_simple = pass && pass->is_simple;
    for (uint32_t i = 0; pass && i < pass->count && status == LAP_OK; i++) {
        uint64_t view = framebuffer && i < framebuffer->view_count ? framebuffer->views[i] : 0;
        if (imageless && imageless->pAttachments && i < imageless->attachmentCount)
            view = gen_u64_VkImageView(imageless->pAttachments[i]);
        status = add(r, view, &pass->attachments[i]);
    }
    return status;
}

static enum lap_status of_attachment(struct report_inside *r, const VkRenderingAttachmentInfo *a, bool is_stencil)
{
    struct report_attachment attachment = {.load = VK_ATTACHMENT_LOAD_OP_LOAD,
                                           .stencil_load = VK_ATTACHMENT_LOAD_OP_LOAD,
                                           .store = VK_ATTACHMENT_STORE_OP_STORE,
                                           .stencil_store = VK_ATTACHMENT_STORE_OP_STORE};
    enum lap_status status;

    if (!a || !a->imageView)
        return LAP_OK;
    r->targets.is_simple &= !a->resolveMode;
    if (is_stencil) {
        attachment.stencil_load = a->loadOp;
        attachment.stencil_store = a->storeOp;
    } else {
        attachment.load = a->loadOp;
        attachment.store = a->storeOp;
    }
    status = add(r, gen_u64_VkImageView(a->imageView), &attachment);
    if (status == LAP_OK) /* one aspect alone */
        r->targets.items[r->targets.count - 1].range.aspectMask &=
            is_stencil ? VK_IMAGE_ASPECT_STENCIL_BIT : ~(VkImageAspectFlags)VK_IMAGE_ASPECT_STENCIL_BIT;
    return status;
}

static enum lap_status of_rendering(struct report_inside *r, const VkRenderingInfo *info)
{
    enum lap_status status = LAP_OK;

    r->targets.area = info->renderArea;
    r->targets.is_simple = !info->flags && !info->pNext && !info->viewMask;
    for (uint32_t i = 0; info->pColorAttachments && i < info->colorAttachmentCount && status == LAP_OK; i++)
        status = of_attachment(r, &info->pColorAttachments[i], false);
    if (status == LAP_OK)
        status = of_attachment(r, info->pDepthAttachment, false);
    return status == LAP_OK ? of_attachment(r, info->pStencilAttachment, true) : status;
}

enum lap_status report_find_targets(struct report_inside *r, const struct bound_visit *visit)
{
    const VkRenderPassBeginInfo *pass = lap_pass_begin_info(visit->command, visit->args);
    const VkRenderingInfo *rendering = lap_pass_rendering_info(visit->command, visit->args);

    r->targets.count = 0;
    r->targets.is_simple = false;
    return pass ? of_pass(r, visit, pass) : rendering ? of_rendering(r, rendering) : LAP_OK;
}
