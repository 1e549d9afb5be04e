/* SPDX-License-Identifier: MIT */
#include "replayer/format/stencil_only.h"

#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/device/shading_rate.h"
#include "replayer/format/format.h"
#include "replayer/memory/resource.h"
#include "vulkan/chain.h"
#include "vulkan/pass.h"

/* ---- images ---- */

static bool is_replaced(const struct replay_image *image)
{
    return image && image->recorded_format == VK_FORMAT_S8_UINT && image->info.format != VK_FORMAT_S8_UINT;
}

static VkImageLayout layout_of_both(VkImageLayout layout)
{
    return layout == VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL  ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL
           : layout == VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL
                                                                 : layout;
}

void replay_format_stencil_transition(struct replay *r, VkImage image, VkImageAspectFlags *aspects, VkImageLayout *from,
                                      VkImageLayout *to)
{
    if (!is_replaced(replay_image_of(r, image, NULL)))
        return;
    *aspects = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    *from = layout_of_both(*from);
    *to = layout_of_both(*to);
}

VkImageLayout replay_format_stencil_layout(struct replay *r, VkImageView view, VkImageLayout recorded)
{
    VkImageLayout both = layout_of_both(recorded);
    const struct replay_object *object;
    uint64_t live = gen_u64_VkImageView(view);

    if (both == recorded || !live)
        return recorded;
    object = replay_object_get(r, GEN_HANDLE_VkImageView, replay_object_index(r, GEN_HANDLE_VkImageView, live));
    object = object ? replay_object_get(r, GEN_HANDLE_VkImage, object->image) : NULL;
    return object && is_replaced(object->record) ? both : recorded;
}

/* ---- render passes ---- */

/* The record of a render pass object is a bit mask: a bit for each subpass that had only stencil. */
#define MAX_SUBPASSES (8u * (uint32_t)sizeof(uintptr_t))

/* Adapts an attachment description of either form. Returns true if it was stencil-only. */
static bool adapt(const struct replay_device *dev, VkFormat *format, VkAttachmentLoadOp *load,
                  VkAttachmentStoreOp *store, VkImageLayout *before, VkImageLayout *after)
{
    VkFormat recorded = *format;

    *format = replay_format_substitute(dev, recorded);
    if (recorded != VK_FORMAT_S8_UINT || *format == recorded)
        return false;
    *load = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    *store = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    *before = layout_of_both(*before);
    *after = layout_of_both(*after);
    return true;
}

/* The stencil-only attachments of a render pass. */
struct alone {
    const bool *is;
    uint32_t count;
};

static bool has(const struct alone *alone, uint32_t attachment)
{
    return attachment < alone->count && alone->is[attachment];
}

static void adapt_references(const struct alone *alone, uint32_t count, const VkAttachmentReference *references)
{
    for (uint32_t i = 0; references && i < count; i++)
        if (has(alone, references[i].attachment))
            ((VkAttachmentReference *)(uintptr_t)references)[i].layout = layout_of_both(references[i].layout);
}

static void adapt_references2(const struct alone *alone, uint32_t count, const VkAttachmentReference2 *references)
{
    for (uint32_t i = 0; references && i < count; i++)
        if (has(alone, references[i].attachment))
            ((VkAttachmentReference2 *)(uintptr_t)references)[i].layout = layout_of_both(references[i].layout);
}

/* Depth need not be resolved, but some devices can't resolve stencil alone. */
static bool resolves_alone(const struct replay_device *dev)
{
    VkPhysicalDeviceDepthStencilResolveProperties resolve = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEPTH_STENCIL_RESOLVE_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &resolve};

    if (!dev->instance->vk.GetPhysicalDeviceProperties2)
        return false;
    dev->instance->vk.GetPhysicalDeviceProperties2(dev->gpu, &properties);
    return resolve.independentResolveNone;
}

static void adapt_resolve(const struct replay_device *dev, const struct alone *alone, const void *chain)
{
    VkSubpassDescriptionDepthStencilResolve *resolve =
        (VkSubpassDescriptionDepthStencilResolve *)(uintptr_t)lap_chain_find(
            chain, VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE);
    const VkAttachmentReference2 *to = resolve ? resolve->pDepthStencilResolveAttachment : NULL;

    if (!to || !has(alone, to->attachment))
        return;
    adapt_references2(alone, 1, to);
    resolve->depthResolveMode = resolves_alone(dev) ? VK_RESOLVE_MODE_NONE : resolve->stencilResolveMode;
}

static enum lap_status keep(struct replay *r, struct replay_device *dev, VkResult result, const VkRenderPass *index,
                            VkRenderPass live, uintptr_t subpasses)
{
    enum lap_status status = replay_result(r, result);
    struct replay_object *object;

    if (status == LAP_OK)
        status = replay_keep(r, GEN_HANDLE_VkRenderPass, dev, gen_u64_VkRenderPass(*index), gen_u64_VkRenderPass(live));
    if (status != LAP_OK || !subpasses)
        return status;
    object = replay_object_get(r, GEN_HANDLE_VkRenderPass, gen_u64_VkRenderPass(*index));
    if (object)
        object->record = (void *)subpasses;
    return LAP_OK;
}

static enum lap_status note_subpass(struct replay *r, uint32_t subpass, uintptr_t *subpasses)
{
    if (subpass >= MAX_SUBPASSES)
        return replay_refuse(r, "subpass %u of a render pass has stencil alone, which another format substitutes",
                             subpass);
    *subpasses |= (uintptr_t)1 << subpass;
    return LAP_OK;
}

static enum lap_status adapt_pass(struct replay *r, const struct replay_device *dev, const VkRenderPassCreateInfo *info,
                                  uintptr_t *out_subpasses)
{
    bool *is = replay_scratch(r, (uint64_t)info->attachmentCount + 1, sizeof *is);
    const struct alone alone = {is, info->attachmentCount};
    enum lap_status status = LAP_OK;

    if (!is)
        return replay_no_scratch(r);
    for (uint32_t i = 0; info->pAttachments && i < alone.count; i++) {
        VkAttachmentDescription *a = (VkAttachmentDescription *)(uintptr_t)&info->pAttachments[i];
        is[i] = adapt(dev, &a->format, &a->loadOp, &a->storeOp, &a->initialLayout, &a->finalLayout);
    }
    for (uint32_t i = 0; status == LAP_OK && info->pSubpasses && i < info->subpassCount; i++) {
        const VkSubpassDescription *s = &info->pSubpasses[i];
        adapt_references(&alone, s->inputAttachmentCount, s->pInputAttachments);
        adapt_references(&alone, 1, s->pDepthStencilAttachment);
        if (s->pDepthStencilAttachment && has(&alone, s->pDepthStencilAttachment->attachment))
            status = note_subpass(r, i, out_subpasses);
    }
    return status;
}

static enum lap_status adapt_pass2(struct replay *r, const struct replay_device *dev,
                                   const VkRenderPassCreateInfo2 *info, uintptr_t *out_subpasses)
{
    bool *is = replay_scratch(r, (uint64_t)info->attachmentCount + 1, sizeof *is);
    const struct alone alone = {is, info->attachmentCount};
    enum lap_status status = LAP_OK;

    if (!is)
        return replay_no_scratch(r);
    for (uint32_t i = 0; info->pAttachments && i < alone.count; i++) {
        VkAttachmentDescription2 *a = (VkAttachmentDescription2 *)(uintptr_t)&info->pAttachments[i];
        is[i] = adapt(dev, &a->format, &a->loadOp, &a->storeOp, &a->initialLayout, &a->finalLayout);
    }
    for (uint32_t i = 0; status == LAP_OK && info->pSubpasses && i < info->subpassCount; i++) {
        const VkSubpassDescription2 *s = &info->pSubpasses[i];
        adapt_references2(&alone, s->inputAttachmentCount, s->pInputAttachments);
        adapt_references2(&alone, 1, s->pDepthStencilAttachment);
        adapt_resolve(dev, &alone, s->pNext);
        if (s->pDepthStencilAttachment && has(&alone, s->pDepthStencilAttachment->attachment))
            status = note_subpass(r, i, out_subpasses);
    }
    return status;
}

enum lap_status replay_CreateRenderPass(struct replay *r, struct replay_device *dev,
                                        struct gen_args_vkCreateRenderPass *args)
{
    uintptr_t subpasses = 0;
    enum lap_status status = dev->formats.substitutes ? adapt_pass(r, dev, args->pCreateInfo, &subpasses) : LAP_OK;
    VkRenderPass live = VK_NULL_HANDLE;
    VkResult result;

    if (status != LAP_OK)
        return status;
    result = dev->vk.CreateRenderPass(dev->live, args->pCreateInfo, NULL, &live);
    return keep(r, dev, result, args->pRenderPass, live, subpasses);
}

enum lap_status replay_CreateRenderPass2(struct replay *r, struct replay_device *dev,
                                         struct gen_args_vkCreateRenderPass2 *args)
{
    uintptr_t subpasses = 0;
    enum lap_status status = dev->formats.substitutes ? adapt_pass2(r, dev, args->pCreateInfo, &subpasses) : LAP_OK;
    VkRenderPass live = VK_NULL_HANDLE;
    VkResult result;

    if (status != LAP_OK)
        return status;
    if (dev->enabled.rate_attachments)
        replay_shading_rate_pass(r, dev, args->pCreateInfo);
    result = dev->vk.CreateRenderPass2(dev->live, args->pCreateInfo, NULL, &live);
    return keep(r, dev, result, args->pRenderPass, live, subpasses);
}

/* ---- depth tests ---- */

static bool is_alone(struct replay *r, VkRenderPass pass, uint32_t subpass)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkRenderPass, gen_u64_VkRenderPass(pass));
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkRenderPass, index);

    return object && subpass < MAX_SUBPASSES && (uintptr_t)object->record >> subpass & 1;
}

/* Without a depth attachment depth tests have no effect, with any stencil format. */
static bool formats_are_alone(VkFormat depth, VkFormat stencil)
{
    return depth == VK_FORMAT_UNDEFINED && stencil != VK_FORMAT_UNDEFINED;
}

static bool attachments_are_alone(const VkRenderingInfo *info)
{
    const VkRenderingAttachmentInfo *depth = info->pDepthAttachment, *stencil = info->pStencilAttachment;

    return stencil && stencil->imageView && !(depth && depth->imageView);
}

void replay_format_stencil_pipeline(struct replay *r, const VkGraphicsPipelineCreateInfo *info)
{
    const VkPipelineRenderingCreateInfo *rendering =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    VkPipelineDepthStencilStateCreateInfo *state =
        (VkPipelineDepthStencilStateCreateInfo *)(uintptr_t)info->pDepthStencilState;

    if (state && (info->renderPass ? is_alone(r, info->renderPass, info->subpass)
                                   : rendering && formats_are_alone(rendering->depthAttachmentFormat,
                                                                    rendering->stencilAttachmentFormat)))
        state->depthTestEnable = state->depthWriteEnable = state->depthBoundsTestEnable = VK_FALSE;
}

/* Restores the state that the program set last, or disables it. */
static void set_tests(const struct replay_device *dev, VkCommandBuffer commands,
                      const struct replay_format_depth_tests *tests)
{
    if (tests->tests)
        dev->vk.CmdSetDepthTestEnable(commands, !tests->alone);
    if (tests->bounds)
        dev->vk.CmdSetDepthBoundsTestEnable(commands, !tests->alone);
}

static void enter(const struct replay_device *dev, VkCommandBuffer commands, struct replay_format_depth_tests *tests,
                  bool alone)
{
    bool differs = alone != tests->alone;

    tests->alone = alone;
    if (differs)
        set_tests(dev, commands, tests);
}

static void enter_pass(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                       struct replay_format_depth_tests *tests, VkRenderPass pass, uint32_t subpass)
{
    tests->pass = pass;
    tests->subpass = subpass;
    enter(dev, commands, tests, is_alone(r, pass, subpass));
}

/* Applies the inheritance info of a secondary command buffer. */
static void inherit(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                    struct replay_format_depth_tests *tests, const VkCommandBufferInheritanceInfo *info)
{
    const VkCommandBufferInheritanceRenderingInfo *rendering =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO);

    if (info->renderPass)
        enter_pass(r, dev, commands, tests, info->renderPass, info->subpass);
    else if (rendering)
        enter(dev, commands, tests,
              formats_are_alone(rendering->depthAttachmentFormat, rendering->stencilAttachmentFormat));
}

void replay_format_stencil_note(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                                struct replay_format_depth_tests *tests, const void *args)
{
    switch (lap_pass_step_of(r->at.command)) {
    case LAP_PASS_BEGIN:
        enter_pass(r, dev, commands, tests, lap_pass_begin_info(r->at.command, args)->renderPass, 0);
        return;
    case LAP_PASS_BEGIN_RENDERING:
        enter(dev, commands, tests, attachments_are_alone(lap_pass_rendering_info(r->at.command, args)));
        return;
    case LAP_PASS_NEXT:
        enter_pass(r, dev, commands, tests, tests->pass, tests->subpass + 1);
        return;
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        enter(dev, commands, tests, false);
        return;
    case LAP_PASS_NONE:
        break;
    }
    switch (r->at.command) {
    case GEN_vkBeginCommandBuffer: {
        const struct gen_args_vkBeginCommandBuffer *a = args;
        if (a->pBeginInfo->pInheritanceInfo)
            inherit(r, dev, commands, tests, a->pBeginInfo->pInheritanceInfo);
        return;
    }
    case GEN_vkCmdSetDepthTestEnable:
        tests->tests = ((const struct gen_args_vkCmdSetDepthTestEnable *)args)->depthTestEnable;
        break;
    case GEN_vkCmdSetDepthBoundsTestEnable:
        tests->bounds = ((const struct gen_args_vkCmdSetDepthBoundsTestEnable *)args)->depthBoundsTestEnable;
        break;
    case GEN_vkCmdExecuteCommands: /* this leaves the state undefined */
        tests->tests = tests->bounds = false;
        return;
    default:
        return;
    }
    if (tests->alone)
        set_tests(dev, commands, tests);
}
