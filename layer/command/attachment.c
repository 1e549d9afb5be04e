/* SPDX-License-Identifier: MIT */
#include "layer/command/attachment.h"
#include "vulkan/chain.h"

#include <stdlib.h>

#include "gen_layer.h"
#include "layer/command/image_region.h"
#include "layer/command/image_state.h"
#include "layer/core/records.h"

/* ---- framebuffers ---- */

void layer_framebuffer_finish(struct lap_object *object)
{
    free(((struct layer_framebuffer *)object)->views);
}

void layer_framebuffer_remember(struct layer_device *dev, const VkFramebufferCreateInfo *info, VkFramebuffer handle)
{
    struct layer_framebuffer *record = LAYER_GET(dev, VkFramebuffer, handle);

    if (!record || record->views)
        return;
    record->layers = info->layers;
    if (info->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT)
        return;
    for (uint32_t i = 0; i < info->attachmentCount; i++) {
        struct layer_descriptor_slot slot;
        if (!layer_slot_of_image(dev, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, info->pAttachments[i], &slot))
            continue;
        if (!record->views)
            record->views = malloc(info->attachmentCount * sizeof record->views[0]);
        if (!record->views) {
            layer_stop("out of memory");
            return;
        }
        record->views[record->view_count++] = (struct layer_framebuffer_view){slot.resource, slot.view, i};
    }
}

/* ---- written attachments ---- */

/* Where a render pass instance writes. */
struct instance {
    struct layer_cmdbuf *cb;
    VkRect2D area;
    uint32_t layers;
    bool elsewhere; /* the render area is not exact: each device has its own, or it is rotated */
};

static struct instance instance_of(struct layer_cmdbuf *cb, const void *chain, VkRect2D area, uint32_t layers)
{
    const VkDeviceGroupRenderPassBeginInfo *group =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_DEVICE_GROUP_RENDER_PASS_BEGIN_INFO);
    bool turned = lap_chain_find(chain, VK_STRUCTURE_TYPE_RENDER_PASS_TRANSFORM_BEGIN_INFO_QCOM);
    return (struct instance){cb, area, layers, turned || (group && group->deviceRenderAreaCount)};
}

static bool touch_views(const struct instance *instance, const struct layer_image *image,
                        const struct layer_view_range *view, uint32_t view_mask, enum layer_touch how)
{
    struct layer_device *dev = instance->cb->device;
    struct layer_touched *touched = &instance->cb->touched;

    if (!view_mask)
        return layer_region_add_area(dev, touched, image, view, 0, instance->layers, &instance->area, how);
    for (; view_mask; view_mask &= view_mask - 1)
        if (!layer_region_add_area(dev, touched, image, view, (uint32_t)__builtin_ctz(view_mask), 1, &instance->area,
                                   how))
            return false;
    return true;
}

static void touch_image(const struct instance *instance, const struct layer_image *image,
                        const struct layer_view_range *view, uint32_t view_mask, enum layer_touch how)
{
    static const struct layer_view_range all = {0};
    if (!layer_image_matters(image, how != LAYER_READS))
        return;
    if (how == LAYER_READS || image->info.tiling != VK_IMAGE_TILING_LINEAR)
        layer_touch_image(instance->cb, gen_VkImage(image->object.handle),
                          how == LAYER_READS ? LAYER_READS : LAYER_WRITES);
    else if (!touch_views(instance, image, instance->elsewhere ? &all : view, view_mask, how))
        layer_touch_failed(instance->cb);
}

static void touch_view(const struct instance *instance, VkImageView view, uint32_t view_mask, enum layer_touch how)
{
    const struct layer_image_view *record = LAYER_GET(instance->cb->device, VkImageView, view);
    if (record)
        touch_image(instance, record->image, &record->range, view_mask, how);
}

/* ---- contents of the texels afterwards, for images that are read back to be checked ---- */

static uint32_t at_level(uint32_t extent, uint32_t level)
{
    return extent >> level ? extent >> level : 1;
}

/* Whether the render area is all of the view's first level, in all of its layers. */
static bool covers(const struct instance *instance, const struct layer_image *image,
                   const struct layer_view_range *view, uint32_t view_mask)
{
    const VkRect2D *area = &instance->area;
    uint32_t layers = view_mask ? (uint32_t)__builtin_popcount(view_mask) : instance->layers;

    return !instance->elsewhere && view->level_count && layers >= view->layer_count && area->offset.x <= 0 &&
           area->offset.y <= 0 && area->extent.width >= at_level(image->info.extent.width, view->first_level) &&
           area->extent.height >= at_level(image->info.extent.height, view->first_level) &&
           at_level(image->info.extent.depth, view->first_level) == 1;
}

/* discarded: nothing is stored. LAYER_STEP_LAYOUT: nothing is written. */
static enum layer_step_kind step_of(enum layer_touch how, bool covered, bool discarded)
{
    if (how == LAYER_READS)
        return LAYER_STEP_LAYOUT;
    if (how == LAYER_WRITES_VARYING)
        return covered && discarded ? LAYER_STEP_DISCARDED : LAYER_STEP_VARIES;
    return how == LAYER_WRITES && covered ? LAYER_STEP_COVERED : LAYER_STEP_WRITTEN;
}

/* The result of a render pass instance for some aspects of an attachment. layout: VK_IMAGE_LAYOUT_UNDEFINED:
 * unchanged. */
static void step_aspects(const struct instance *instance, const struct layer_image *image,
                         const struct layer_view_range *view, VkImageAspectFlags aspects, enum layer_step_kind kind,
                         VkImageLayout layout)
{
    const VkImageAspectFlags planes =
        VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT | VK_IMAGE_ASPECT_PLANE_2_BIT;
    const bool is_plane = aspects == VK_IMAGE_ASPECT_COLOR_BIT && view->aspect & planes;
    VkImageSubresourceRange range = {is_plane ? view->aspect : aspects, view->first_level, 1, view->first_layer,
                                     view->layer_count};
    VkImage handle = gen_VkImage(image->object.handle);

    if (!view->level_count) /* unknown */
        range = (VkImageSubresourceRange){aspects, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS};
    if (kind != LAYER_STEP_LAYOUT)
        layer_image_step(instance->cb, handle, kind, &range, VK_IMAGE_LAYOUT_UNDEFINED);
    if (layout != VK_IMAGE_LAYOUT_UNDEFINED)
        layer_image_step(instance->cb, handle, LAYER_STEP_LAYOUT, &range, layout);
}

static void step_attachment(const struct instance *instance, const struct layer_image *image,
                            const struct layer_view_range *view, const struct layer_attachment *attachment)
{
    bool covered;

    if (!layer.options.reads_back || !image || !attachment->used)
        return;
    covered = covers(instance, image, view, attachment->view_mask);
    step_aspects(instance, image, view, VK_IMAGE_ASPECT_COLOR_BIT,
                 step_of(attachment->how, covered, attachment->discarded), attachment->final_layout);
    step_aspects(instance, image, view, VK_IMAGE_ASPECT_DEPTH_BIT,
                 step_of(attachment->depth, covered, attachment->discarded), attachment->final_layout);
    step_aspects(instance, image, view, VK_IMAGE_ASPECT_STENCIL_BIT,
                 step_of(attachment->stencil, covered, attachment->stencil_discarded),
                 attachment->final_stencil_layout);
}

/* ---- render passes ---- */

/* An unknown attachment counts as written with varying contents. */
static struct layer_attachment attachment_of(const struct layer_render_pass *pass, uint32_t number)
{
    if (pass && number < pass->attachment_count)
        return pass->attachments[number];
    return (struct layer_attachment){.how = LAYER_WRITES_VARYING};
}

static void begin_render_pass(struct layer_cmdbuf *cb, const VkRenderPassBeginInfo *info)
{
    const VkRenderPassAttachmentBeginInfo *imageless =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
    const struct layer_framebuffer *framebuffer = LAYER_GET(cb->device, VkFramebuffer, info->framebuffer);
    const struct layer_render_pass *pass;
    struct instance instance;

    if (cb->state != LAYER_CMDBUF_RECORDING || !framebuffer || (!framebuffer->view_count && !imageless))
        return;
    instance = instance_of(cb, info->pNext, info->renderArea, framebuffer->layers);
    pass = LAYER_GET(cb->device, VkRenderPass, info->renderPass);
    for (uint32_t i = 0; i < framebuffer->view_count; i++) {
        const struct layer_framebuffer_view *view = &framebuffer->views[i];
        struct layer_attachment attachment = attachment_of(pass, view->attachment);
        struct lap_memobj *object = layer_resource_get(cb->device, view->resource);
        if (!object)
            continue;
        touch_image(&instance, lap_memobj_user(object), &view->range, attachment.view_mask, attachment.how);
        step_attachment(&instance, lap_memobj_user(object), &view->range, &attachment);
    }
    for (uint32_t i = 0; imageless && i < imageless->attachmentCount; i++) {
        struct layer_attachment attachment = attachment_of(pass, i);
        const struct layer_image_view *view = LAYER_GET(cb->device, VkImageView, imageless->pAttachments[i]);
        touch_view(&instance, imageless->pAttachments[i], attachment.view_mask, attachment.how);
        if (view)
            step_attachment(&instance, view->image, &view->range, &attachment);
    }
}

void hook_after_CmdBeginRenderPass(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                   const VkRenderPassBeginInfo *pRenderPassBegin, VkSubpassContents contents)
{
    begin_render_pass(cb, pRenderPassBegin);
}

void hook_after_CmdBeginRenderPass2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                    const VkRenderPassBeginInfo *pRenderPassBegin,
                                    const VkSubpassBeginInfo *pSubpassBeginInfo)
{
    begin_render_pass(cb, pRenderPassBegin);
}

/* ---- dynamic rendering ---- */

/* If an instance is suspended and resumed, all of its parts have the same attachments and operations, and are submitted
 * together. So the step of each part is right for all of them together. */
static void step_view(const struct instance *instance, VkImageView view, VkImageAspectFlags aspects, uint32_t view_mask,
                      enum layer_touch how, bool discarded)
{
    const struct layer_image_view *record = LAYER_GET(instance->cb->device, VkImageView, view);
    if (layer.options.reads_back && record && record->image)
        step_aspects(instance, record->image, &record->range, aspects,
                     step_of(how, covers(instance, record->image, &record->range, view_mask), discarded),
                     VK_IMAGE_LAYOUT_UNDEFINED);
}

static void touch_attachment(const struct instance *instance, const VkRenderingAttachmentInfo *attachment,
                             VkImageAspectFlags aspect, uint32_t view_mask)
{
    enum layer_touch begins;
    if (!attachment)
        return;
    begins = layer_attachment_begins(attachment->loadOp, attachment->imageLayout);
    touch_view(instance, attachment->imageView, view_mask, layer_attachment_ends(begins, attachment->storeOp));
    step_view(instance, attachment->imageView, aspect, view_mask,
              attachment->storeOp == VK_ATTACHMENT_STORE_OP_NONE && begins != LAYER_WRITES
                  ? LAYER_READS
                  : layer_attachment_ends(begins, attachment->storeOp),
              attachment->storeOp == VK_ATTACHMENT_STORE_OP_DONT_CARE);
    if (attachment->resolveMode == VK_RESOLVE_MODE_NONE)
        return;
    touch_view(instance, attachment->resolveImageView, view_mask, layer_attachment_resolved(begins));
    step_view(instance, attachment->resolveImageView, aspect, view_mask, layer_attachment_resolved(begins), false);
}

void hook_after_CmdBeginRendering(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                  const VkRenderingInfo *pRenderingInfo)
{
    const VkRenderingFragmentShadingRateAttachmentInfoKHR *rate =
        lap_chain_find(pRenderingInfo->pNext, VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
    const VkRenderingFragmentDensityMapAttachmentInfoEXT *density =
        lap_chain_find(pRenderingInfo->pNext, VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_INFO_EXT);
    struct instance instance =
        instance_of(cb, pRenderingInfo->pNext, pRenderingInfo->renderArea, pRenderingInfo->layerCount);
    const uint32_t mask = pRenderingInfo->viewMask;

    if (cb->state != LAYER_CMDBUF_RECORDING)
        return;
    for (uint32_t i = 0; i < pRenderingInfo->colorAttachmentCount; i++)
        touch_attachment(&instance, &pRenderingInfo->pColorAttachments[i], VK_IMAGE_ASPECT_COLOR_BIT, mask);
    touch_attachment(&instance, pRenderingInfo->pDepthAttachment, VK_IMAGE_ASPECT_DEPTH_BIT, mask);
    touch_attachment(&instance, pRenderingInfo->pStencilAttachment, VK_IMAGE_ASPECT_STENCIL_BIT, mask);
    if (rate)
        touch_view(&instance, rate->imageView, 0, LAYER_READS);
    if (density)
        touch_view(&instance, density->imageView, 0, LAYER_READS);
}

static void touch_read_view(struct layer_cmdbuf *cb, VkImageView imageView)
{
    const struct layer_image_view *record = LAYER_GET(cb->device, VkImageView, imageView);
    if (record && record->image)
        layer_touch_image(cb, gen_VkImage(record->image->object.handle), LAYER_READS);
}

void hook_after_CmdBindShadingRateImageNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImageView imageView,
                                          VkImageLayout imageLayout)
{
    touch_read_view(cb, imageView);
}

void hook_after_CmdBindInvocationMaskHUAWEI(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                            VkImageView imageView, VkImageLayout imageLayout)
{
    touch_read_view(cb, imageView);
}
