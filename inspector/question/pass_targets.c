/* SPDX-License-Identifier: MIT */
#include "inspector/question/pass_targets.h"

#include <inttypes.h>
#include <stdio.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/pass.h"
#include "vulkan/texel/texels.h"

#define MOST_LAYERS 64u /* of an attachment */

/* ---- images ---- */

void image_infos_init(struct image_infos *infos)
{
    lap_map_init(&infos->images);
    lap_map_init(&infos->swapchains);
    lap_arena_init(&infos->arena, 0);
}

void image_infos_finish(struct image_infos *infos)
{
    lap_map_finish(&infos->images);
    lap_map_finish(&infos->swapchains);
    lap_arena_finish(&infos->arena);
}

static enum lap_status put(struct image_infos *infos, struct lap_map *map, uint64_t number,
                           const VkImageCreateInfo *info)
{
    VkImageCreateInfo *copy = lap_arena_alloc(&infos->arena, sizeof *copy, _Alignof(VkImageCreateInfo));

    if (!copy)
        return lap_no_memory("images");
    *copy = *info;
    copy->pNext = NULL;
    copy->pQueueFamilyIndices = NULL;
    copy->queueFamilyIndexCount = 0;
    return number ? lap_map_put(map, number, copy, NULL) : LAP_OK;
}

static enum lap_status see_swapchain(struct image_infos *infos, const struct gen_args_vkCreateSwapchainKHR *a)
{
    const VkSwapchainCreateInfoKHR *from = a->pCreateInfo;
    VkImageCreateInfo info = {
        .imageType = VK_IMAGE_TYPE_2D, .mipLevels = 1, .samples = VK_SAMPLE_COUNT_1_BIT, .flags = 0};

    if (!from || !a->pSwapchain)
        return LAP_OK;
    info.format = from->imageFormat;
    info.extent = (VkExtent3D){from->imageExtent.width, from->imageExtent.height, 1};
    info.arrayLayers = from->imageArrayLayers;
    info.usage = from->imageUsage;
    return put(infos, &infos->swapchains, gen_u64_VkSwapchainKHR(*a->pSwapchain), &info);
}

static enum lap_status see_swapchain_images(struct image_infos *infos, const struct gen_args_vkGetSwapchainImagesKHR *a)
{
    const VkImageCreateInfo *info = lap_map_get(&infos->swapchains, gen_u64_VkSwapchainKHR(a->swapchain));
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; info && a->pSwapchainImages && i < *a->pSwapchainImageCount && status == LAP_OK; i++)
        status = put(infos, &infos->images, gen_u64_VkImage(a->pSwapchainImages[i]), info);
    return status;
}

enum lap_status image_infos_see(struct image_infos *infos, const struct trace_call *call)
{
    const struct gen_args_vkCreateImage *create = call->args;

    switch (call->command) {
    case GEN_vkCreateImage:
        return create->pCreateInfo && create->pImage
                   ? put(infos, &infos->images, gen_u64_VkImage(*create->pImage), create->pCreateInfo)
                   : LAP_OK;
    case GEN_vkCreateSwapchainKHR:
        return see_swapchain(infos, call->args);
    case GEN_vkGetSwapchainImagesKHR:
        return see_swapchain_images(infos, call->args);
    default:
        return LAP_OK;
    }
}

const VkImageCreateInfo *image_info_of(const struct image_infos *infos, uint64_t image)
{
    return lap_map_get(&infos->images, image);
}

/* ---- the render pass of a command ---- */

static void see_begin(struct pass_targets *t, const struct bound *bound, uint32_t command, const struct lap_args *begin)
{
    const struct fact_framebuffer *framebuffer = fact_of_framebuffer(bound->facts, bound->pass.framebuffer);
    const struct fact_render_pass *pass = fact_of_render_pass(bound->facts, bound->pass.render_pass);
    const VkRenderingInfo *rendering = lap_pass_rendering_info(command, begin->bytes);

    t->layers = framebuffer ? framebuffer->layers : 1;
    t->subpasses = pass ? pass->subpass_count : 0;
    t->views = pass && bound->pass.subpass < pass->subpass_count ? pass->subpasses[bound->pass.subpass].view_mask : 0;
    if (rendering) {
        t->layers = rendering->layerCount;
        t->views = rendering->viewMask;
    }
}

/* With dynamic rendering a format may be attached only for one of its aspects, whose layout then is that of both. */
static void join_layouts(struct pass_targets *t)
{
    struct attachment *list = t->attachments;

    for (size_t i = 0; i < t->attachment_count; i++)
        for (size_t k = 0; k < t->attachment_count; k++)
            if (list[i].role == ATTACHMENT_DEPTH && list[k].role == ATTACHMENT_STENCIL &&
                list[i].image == list[k].image) {
                list[i].stencil_layout = list[k].layout;
                list[k].stencil_layout = list[k].layout;
                list[k].layout = list[i].layout;
            }
}

enum lap_status pass_targets_find(const struct bound_visit *visit, struct lap_arena *arena, struct pass_targets *out)
{
    const struct bound *bound = visit->bound;
    const struct lap_args *begin;
    uint32_t command;
    enum lap_status status;

    *out = (struct pass_targets){.kind = bound->pass.kind,
                                 .render_pass = bound->pass.render_pass,
                                 .subpass = bound->pass.subpass,
                                 .begin_place = visit->position.count / 2 - 2};
    status = attachments_of(bound, arena, &out->attachments, &out->attachment_count, &begin, &command);
    if (status != LAP_OK)
        return status;
    if (begin)
        see_begin(out, bound, command, begin);
    join_layouts(out);
    while (bound->pass.inherited && bound->outer && out->begin_place) {
        bound = bound->outer;
        out->begin_place--;
    }
    out->begin_command = bound->pass.command;
    return LAP_OK;
}

void pass_targets_are_inside(struct pass_targets *targets)
{
    for (size_t i = 0; i < targets->attachment_count && targets->kind == BOUND_RENDER_PASS; i++) {
        struct attachment *a = &targets->attachments[i];
        a->layout = a->inside.layout;
        a->stencil_layout = a->inside.stencil;
    }
}

struct position pass_targets_begin(const struct pass_targets *targets, const struct position *command)
{
    struct position begin = position_up_to(command, POSITION_COMMAND + 2 * targets->begin_place);

    begin.numbers[begin.count - 1] = targets->begin_command;
    return begin;
}

/* ---- the list ---- */

struct listing {
    const struct pass_targets *targets;
    const struct image_infos *infos;
    uint64_t queue;
    struct picture_list *list;
    char *left_out;
};

static enum lap_status leave_out(const struct listing *l, const char *name, const char *why)
{
    if (!l->left_out[0])
        snprintf(l->left_out, PASS_TARGETS_LEFT_OUT_BYTES, "%s %s", name, why);
    return LAP_OK;
}

static enum lap_status add_target(const struct listing *l, const struct attachment *attachment, const char *name,
                                  VkImageAspectFlags aspect)
{
    const struct pass_targets *t = l->targets;
    const VkImageCreateInfo *info = image_info_of(l->infos, attachment->image);
    VkImageAspectFlags aspects = lap_texels_aspects(attachment->format);
    bool is_combined = aspects == (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT);
    uint32_t first = attachment->range.baseArrayLayer, layers = attachment->range.layerCount, all;
    struct content content = {.kind = CONTENT_IMAGE,
                              .index = attachment->image,
                              .aspect = aspect,
                              .level = attachment->range.baseMipLevel,
                              .queue = l->queue,
                              .layout = attachment->layout};
    char full[32];
    enum lap_status status = LAP_OK;

    if (!attachment->image || !attachment->range.levelCount)
        return leave_out(l, name, "is an image that is not known");
    if (info && info->samples != VK_SAMPLE_COUNT_1_BIT)
        return leave_out(l, name, "has several samples, and is not resolved there");
    if (is_combined &&
        (attachment->layout != attachment->stencil_layout || lap_pass_layout_is_of_one_aspect(attachment->layout)))
        return leave_out(l, name, "has a layout for depth and another one for stencil");
    all = !info ? 0 : info->imageType == VK_IMAGE_TYPE_3D ? info->extent.depth : info->arrayLayers;
    if (layers == VK_REMAINING_ARRAY_LAYERS)
        layers = all > first ? all - first : 1;
    for (uint32_t i = 0; i < layers && i < MOST_LAYERS && status == LAP_OK; i++) {
        if (t->views ? i >= 32 || !(t->views >> i & 1) : i >= t->layers)
            continue;
        snprintf(full, sizeof full, t->layers > 1 || t->views ? "%s-layer%" PRIu32 : "%s", name, i);
        content.layer = first + i;
        status = picture_list_add(l->list, full, &content);
    }
    if (status == LAP_OK && layers > MOST_LAYERS && t->layers > MOST_LAYERS)
        return leave_out(l, name, "has more than 64 layers, of which the first ones are written");
    return status;
}

/* What a multisampled attachment is resolved into. NULL: it is not. */
static const struct attachment *resolved(const struct pass_targets *t, const struct attachment *from)
{
    enum attachment_role role = from->role == ATTACHMENT_COLOR     ? ATTACHMENT_RESOLVE
                                : from->role == ATTACHMENT_DEPTH   ? ATTACHMENT_DEPTH_RESOLVE
                                : from->role == ATTACHMENT_STENCIL ? ATTACHMENT_STENCIL_RESOLVE
                                                                   : ATTACHMENT_INPUT;

    for (size_t i = 0; i < t->attachment_count && role != ATTACHMENT_INPUT; i++)
        if (t->attachments[i].role == role && t->attachments[i].number == from->number)
            return &t->attachments[i];
    return NULL;
}

static enum lap_status list_attachment(const struct listing *l, const struct attachment *attachment)
{
    const VkImageCreateInfo *info = image_info_of(l->infos, attachment->image);
    const struct attachment *instead = NULL;
    enum attachment_role role = attachment->role;
    char name[24];
    enum lap_status status = LAP_OK;

    if (info && info->samples != VK_SAMPLE_COUNT_1_BIT)
        instead = resolved(l->targets, attachment);
    attachment = instead ? instead : attachment;
    snprintf(name, sizeof name, "color%" PRIu32, attachment->number);
    if (role == ATTACHMENT_COLOR)
        return add_target(l, attachment, name, VK_IMAGE_ASPECT_COLOR_BIT);
    if (role == ATTACHMENT_DEPTH ||
        (role == ATTACHMENT_DEPTH_STENCIL && lap_texels_aspects(attachment->format) & VK_IMAGE_ASPECT_DEPTH_BIT))
        status = add_target(l, attachment, "depth", VK_IMAGE_ASPECT_DEPTH_BIT);
    if (status == LAP_OK &&
        (role == ATTACHMENT_STENCIL ||
         (role == ATTACHMENT_DEPTH_STENCIL && lap_texels_aspects(attachment->format) & VK_IMAGE_ASPECT_STENCIL_BIT)))
        status = add_target(l, attachment, "stencil", VK_IMAGE_ASPECT_STENCIL_BIT);
    return status;
}

enum lap_status pass_targets_list(const struct pass_targets *targets, const struct image_infos *infos, uint64_t queue,
                                  struct picture_list *list, char *left_out)
{
    const struct listing listing = {targets, infos, queue, list, left_out};
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < targets->attachment_count && status == LAP_OK; i++)
        status = list_attachment(&listing, &targets->attachments[i]);
    return status;
}
