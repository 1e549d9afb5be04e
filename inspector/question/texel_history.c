/* SPDX-License-Identifier: MIT */
#include "inspector/question/texel_history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/position/find.h"
#include "inspector/question/pass_targets.h"
#include "inspector/state/attachments.h"
#include "inspector/state/bound_labels.h"
#include "inspector/state/bound_walk.h"
#include "inspector/state/reached.h"
#include "inspector/state/shader_stores.h"
#include "inspector/twin/weave.h"
#include "vulkan/pass.h"
#include "vulkan/texel/texel_values.h"
#include "vulkan/texel/texels.h"
#include "vulkan/walk.h"

#define MOST_ROWS   4096u
#define MOST_IMAGES 8u  /* that a sentence names */
#define SLOT_BYTES  96u /* the least common multiple of all sizes of texels, and of 4 and 16 */

struct swapchain {
    uint32_t count;
    const uint64_t *images;
};

/* The render pass that the walk is in. */
struct pass {
    bool is_open, has_target, has_resolve, splits;
    struct position begin;
    uint64_t render_pass;
    VkImageLayout layout; /* of the target */
    uint64_t resolved;    /* the image that is resolved into the target */
    VkImageLayout resolve_layout;
    struct weave_copy beside; /* of the depth or the stencil; image 0: none */
    VkRect2D area;
    struct fragment_place place;        /* of fragments */
    const char *no_fragments;           /* why there are none; NULL: they can be kept */
    struct texel_change depth, stencil; /* as the last command has left them */
};

struct planner {
    const struct lap_reader *trace;
    struct texel_history *history;
    struct image_infos infos;
    struct lap_map swapchains;      /* struct swapchain */
    uint64_t presented;             /* the image that the frame presents; 0: none */
    const VkImageCreateInfo *image; /* the target; NULL: there is none */
    uint64_t resolved_into;         /* of a target with several samples; 0: nothing was seen */
    uint64_t drawn[MOST_IMAGES];
    size_t drawn_count; /* at most MOST_IMAGES + 1, where there are more */
    struct shader_stores stores;
    struct lap_arena arena; /* for decoding */
    struct pass pass;
    uint64_t last; /* where the value is that the last command has left */
    struct weave_plan plan;
    size_t stop_capacity, copy_capacity;
    struct texel_probes probes;
};

static enum lap_status no_memory(void)
{
    return lap_no_memory("the history of a texel");
}

static bool is_volume(const VkImageCreateInfo *image)
{
    return image->imageType == VK_IMAGE_TYPE_3D;
}

static uint32_t at_level(uint32_t size, uint32_t level)
{
    return level < 32 && size >> level ? size >> level : 1;
}

static __attribute__((format(printf, 2, 3))) enum lap_status leave_out(struct planner *p, const char *format, ...)
{
    struct texel_history *h = p->history;
    va_list arguments;
    char *text = lap_arena_alloc(&h->arena, 512, 1);

    if (!text || !lap_array_grow(&h->left_out, sizeof *h->left_out, &h->left_out_capacity, h->left_out_count + 1))
        return no_memory();
    va_start(arguments, format);
    vsnprintf(text, 512, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < h->left_out_count; i++)
        if (strcmp(h->left_out[i], text) == 0)
            return LAP_OK;
    h->left_out[h->left_out_count++] = text;
    return LAP_OK;
}

/* ---- images ---- */

static enum lap_status see_swapchain_images(struct planner *p, const struct gen_args_vkGetSwapchainImagesKHR *a)
{
    uint32_t count = a->pSwapchainImageCount && a->pSwapchainImages ? *a->pSwapchainImageCount : 0;
    struct swapchain *swapchain = lap_arena_zalloc(&p->history->arena, 1, sizeof *swapchain, 8);
    uint64_t *images = lap_arena_zalloc(&p->history->arena, (size_t)count + 1, sizeof *images, 8);

    if (!swapchain || !images)
        return no_memory();
    for (uint32_t i = 0; i < count; i++)
        images[i] = gen_u64_VkImage(a->pSwapchainImages[i]);
    *swapchain = (struct swapchain){count, images};
    return count ? lap_map_put(&p->swapchains, gen_u64_VkSwapchainKHR(a->swapchain), swapchain, NULL) : LAP_OK;
}

static void see_present(struct planner *p, const struct trace_call *call)
{
    const VkPresentInfoKHR *info = ((const struct gen_args_vkQueuePresentKHR *)call->args)->pPresentInfo;
    uint32_t count = info && info->pSwapchains && info->pImageIndices ? info->swapchainCount : 0;
    struct texel_history *h = p->history;

    for (uint32_t i = 0; i < count && call->packet->frame + 1 == h->wish.at.numbers[0]; i++) {
        const struct swapchain *of = lap_map_get(&p->swapchains, gen_u64_VkSwapchainKHR(info->pSwapchains[i]));
        uint64_t image = of && info->pImageIndices[i] < of->count ? of->images[info->pImageIndices[i]] : 0;
        p->presented = image ? image : p->presented;
    }
}

static enum lap_status see_creation(void *user, const struct trace_call *call)
{
    struct planner *p = user;

    if (call->command == GEN_vkQueuePresentKHR)
        see_present(p, call);
    else if (call->command == GEN_vkGetSwapchainImagesKHR && see_swapchain_images(p, call->args) != LAP_OK)
        return LAP_ERROR_MEMORY;
    return image_infos_see(&p->infos, call);
}

static enum lap_status check_texel(struct planner *p)
{
    struct texel_history *h = p->history;
    struct texel_wish *w = &h->wish;
    const VkImageCreateInfo *image = p->image;
    const uint32_t layers = is_volume(image) ? at_level(image->extent.depth, w->level) : image->arrayLayers;
    const VkImageAspectFlags aspects = lap_texels_aspects(image->format);

    if (image->flags & VK_IMAGE_CREATE_PROTECTED_BIT)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " is protected, so it can't be read", w->image);
    if (w->level >= image->mipLevels || w->layer >= layers)
        return lap_fail(LAP_ERROR_ARGUMENT, "VkImage:%" PRIu64 " has %u levels and %u %s there", w->image,
                        image->mipLevels, layers, is_volume(image) ? "slices" : "layers");
    h->format = image->format;
    h->width = at_level(image->extent.width, w->level);
    h->height = at_level(image->extent.height, w->level);
    if (w->x >= h->width || w->y >= h->height)
        return lap_fail(LAP_ERROR_ARGUMENT, "VkImage:%" PRIu64 " has %u x %u texels: there is none at %u,%u", w->image,
                        h->width, h->height, w->x, w->y);
    if (!w->aspect)
        w->aspect = aspects & VK_IMAGE_ASPECT_COLOR_BIT   ? VK_IMAGE_ASPECT_COLOR_BIT
                    : aspects & VK_IMAGE_ASPECT_DEPTH_BIT ? VK_IMAGE_ASPECT_DEPTH_BIT
                                                          : VK_IMAGE_ASPECT_STENCIL_BIT;
    if (aspects && !(aspects & w->aspect))
        return lap_fail(LAP_ERROR_ARGUMENT, "VkImage:%" PRIu64 " has no such aspect", w->image);
    return lap_texel_format(image->format, w->aspect)
               ? LAP_OK
               : lap_fail(LAP_ERROR_UNSUPPORTED,
                          "VkImage:%" PRIu64
                          " has a format of blocks or of planes, whose single texels can't be copied",
                          w->image);
}

static enum lap_status find_image(struct planner *p)
{
    static const uint16_t commands[] = {IMAGE_INFOS_COMMANDS, GEN_vkQueuePresentKHR, GEN_COMMAND_NONE};
    const struct trace_visitor visitor = {.commands = commands, .information = true, .visit = see_creation, .state = p};
    struct texel_wish *w = &p->history->wish;
    enum lap_status status = trace_pass_run(p->trace, w->at.numbers[0], &visitor, 1);

    if (status != LAP_OK)
        return status;
    w->image = w->image ? w->image : p->presented;
    p->history->presented = w->image && w->image == p->presented;
    p->image = w->image ? image_info_of(&p->infos, w->image) : NULL;
    return p->image ? check_texel(p) : LAP_OK;
}

/* ---- the plan ---- */

static enum lap_status add_stop(struct planner *p, const struct weave_stop *stop)
{
    struct weave_plan *plan = &p->plan;

    if (p->history->row_count > MOST_ROWS)
        return lap_fail(LAP_ERROR_UNSUPPORTED,
                        "more than %u commands may write the image: --at of a place further in front has fewer",
                        MOST_ROWS);
    if (!lap_array_grow(&plan->stops, sizeof *plan->stops, &p->stop_capacity, plan->stop_count + 1))
        return no_memory();
    plan->stops[plan->stop_count] = *stop;
    plan->stops[plan->stop_count].first = plan->copy_count;
    plan->stops[plan->stop_count++].count = 0;
    return LAP_OK;
}

/* Of the last stop. *out: where it goes. */
static enum lap_status add_copy(struct planner *p, const struct weave_copy *copy, uint64_t *out)
{
    struct weave_plan *plan = &p->plan;

    if (!lap_array_grow(&plan->copies, sizeof *plan->copies, &p->copy_capacity, plan->copy_count + 1))
        return no_memory();
    plan->copies[plan->copy_count] = *copy;
    plan->copies[plan->copy_count++].at = *out = plan->bytes;
    plan->bytes += SLOT_BYTES;
    plan->stops[plan->stop_count - 1].count++;
    return LAP_OK;
}

static enum lap_status copy_target(struct planner *p, VkImageLayout layout)
{
    const struct texel_wish *w = &p->history->wish;
    const struct weave_copy copy = {.image = w->image,
                                    .aspect = w->aspect,
                                    .aspects = lap_texels_aspects(p->image->format),
                                    .layout = layout,
                                    .level = w->level,
                                    .layer = w->layer,
                                    .is_volume = is_volume(p->image),
                                    .x = (int32_t)w->x,
                                    .y = (int32_t)w->y,
                                    .width = 1,
                                    .height = 1};
    return add_copy(p, &copy, &p->last);
}

static enum lap_status copy_beside(struct planner *p, VkImageAspectFlagBits aspect, struct texel_change *change)
{
    struct weave_copy copy = p->pass.beside;

    if (!copy.image || !(copy.aspects & aspect) ||
        (copy.image == p->history->wish.image && aspect == p->history->wish.aspect))
        return LAP_OK;
    copy.aspect = aspect;
    change->image = copy.image;
    change->before = change->after;
    return add_copy(p, &copy, &change->after);
}

static const char *labels_of(struct planner *p, const struct bound *bound)
{
    struct bound_labels labels;
    const char *label;
    char text[512], *copy;
    size_t length = 0;

    bound_labels_begin(&labels, bound);
    while ((label = bound_labels_next(&labels)) && length < sizeof text)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", length ? "/" : "", label);
    copy = length ? lap_arena_alloc(&p->history->arena, sizeof text, 1) : NULL;
    return copy ? strcpy(copy, text) : NULL;
}

/* The draw runs with a probe. */
static enum lap_status add_probe(struct planner *p, const struct weave_stop *behind)
{
    struct weave_stop stop = *behind;
    enum lap_status status;

    stop.kind = WEAVE_PROBE;
    stop.before = true;
    status = add_stop(p, &stop);

    if (status == LAP_OK)
        p->plan.stops[p->plan.stop_count - 1].first = p->probes.draw_count - 1;
    return status;
}

/* A row, with a stop behind the command. If it is the first one, with another in front of the command, unless that
 * begins or ends a render pass. */
static enum lap_status add_row(struct planner *p, const struct bound_visit *visit, const struct texel_row *made,
                               VkImageLayout layout)
{
    struct texel_history *h = p->history;
    const struct pass *pass = &p->pass;
    struct weave_stop stop = {.position = visit->position};
    struct texel_row *row;
    enum lap_status status;

    if (pass->is_open && pass->splits) {
        stop.begin = pass->begin;
        stop.render_pass = pass->render_pass;
    }
    if (!lap_array_grow(&h->rows, sizeof *h->rows, &h->row_capacity, h->row_count + 1))
        return no_memory();
    if (p->last == TEXEL_NOWHERE && lap_pass_step_of(visit->command) == LAP_PASS_NONE) {
        stop.before = true;
        status = add_stop(p, &stop);
        if (status == LAP_OK)
            status = copy_target(p, layout);
        if (status != LAP_OK)
            return status;
        stop.before = false;
    }
    row = &h->rows[h->row_count++];
    *row = *made;
    row->position = visit->position;
    row->command = (uint16_t)visit->command;
    row->label = labels_of(p, visit->bound);
    row->value = (struct texel_change){.image = h->wish.image, .format = h->format, .before = p->last};
    status = row->draw && !row->draw->why ? add_probe(p, &stop) : LAP_OK;
    if (status == LAP_OK)
        status = add_stop(p, &stop);
    if (status == LAP_OK)
        status = copy_target(p, layout);
    row->value.after = p->last;
    if (status != LAP_OK || !stop.begin.count)
        return status;
    status = copy_beside(p, VK_IMAGE_ASPECT_DEPTH_BIT, &p->pass.depth);
    if (status == LAP_OK)
        status = copy_beside(p, VK_IMAGE_ASPECT_STENCIL_BIT, &p->pass.stencil);
    row->depth = p->pass.depth;
    row->stencil = p->pass.stencil;
    return status;
}

/* ---- which subresource ---- */

static bool is_layer_in(const struct planner *p, uint32_t first, uint32_t count)
{
    const uint32_t layer = p->history->wish.layer;

    return is_volume(p->image) || (layer >= first && (count == VK_REMAINING_ARRAY_LAYERS || layer - first < count));
}

static bool is_in_range(const struct planner *p, const VkImageSubresourceRange *range)
{
    const uint32_t level = p->history->wish.level, first = range->baseMipLevel;

    return range->levelCount && level >= first &&
           (range->levelCount == VK_REMAINING_MIP_LEVELS || level - first < range->levelCount) &&
           is_layer_in(p, range->baseArrayLayer, range->layerCount);
}

static bool is_in_layers(const struct planner *p, const VkImageSubresourceLayers *layers)
{
    return layers->aspectMask & p->history->wish.aspect && layers->mipLevel == p->history->wish.level &&
           is_layer_in(p, layers->baseArrayLayer, layers->layerCount);
}

/* ---- render passes ---- */

static void note_drawn(struct planner *p, uint64_t image)
{
    for (size_t i = 0; i < p->drawn_count && i < MOST_IMAGES; i++)
        if (p->drawn[i] == image)
            return;
    if (p->drawn_count < MOST_IMAGES)
        p->drawn[p->drawn_count] = image;
    p->drawn_count += p->drawn_count <= MOST_IMAGES;
}

static bool is_depth_stencil(enum attachment_role role)
{
    return role == ATTACHMENT_DEPTH_STENCIL || role == ATTACHMENT_DEPTH || role == ATTACHMENT_STENCIL;
}

static bool is_resolve(enum attachment_role role)
{
    return role == ATTACHMENT_RESOLVE || role == ATTACHMENT_DEPTH_RESOLVE || role == ATTACHMENT_STENCIL_RESOLVE;
}

static enum attachment_role resolved_by(enum attachment_role role)
{
    return role == ATTACHMENT_RESOLVE         ? ATTACHMENT_COLOR
           : role == ATTACHMENT_DEPTH_RESOLVE ? ATTACHMENT_DEPTH
                                              : ATTACHMENT_STENCIL;
}

static uint64_t resolved_image(const struct attachment *all, size_t count, const struct attachment *into)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].role == resolved_by(into->role) && all[i].number == into->number)
            return all[i].image;
    return 0;
}

/* inside: while the render pass is on, else behind it. */
static struct lap_pass_layouts layouts_of(const struct attachment *attachment, bool inside)
{
    return inside ? attachment->inside : (struct lap_pass_layouts){attachment->layout, attachment->stencil_layout};
}

/* UNDEFINED: its aspects are in several. */
static VkImageLayout layout_of(const struct attachment *all, size_t count, const struct attachment *of, bool inside)
{
    const VkImageAspectFlags both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    const struct lap_pass_layouts mine = layouts_of(of, inside);
    bool is_same = of->role != ATTACHMENT_DEPTH_STENCIL || mine.layout == mine.stencil;

    for (size_t i = 0; i < count; i++)
        if (all[i].image == of->image && is_depth_stencil(all[i].role))
            is_same &= layouts_of(&all[i], inside).layout == mine.layout;
    if ((lap_texels_aspects(of->format) & both) == both && (!is_same || lap_pass_layout_is_of_one_aspect(mine.layout)))
        return VK_IMAGE_LAYOUT_UNDEFINED;
    return mine.layout;
}

static bool has_aspect(const struct attachment *a, VkImageAspectFlagBits aspect)
{
    switch (a->role) {
    case ATTACHMENT_DEPTH:
    case ATTACHMENT_DEPTH_RESOLVE:
        return aspect == VK_IMAGE_ASPECT_DEPTH_BIT;
    case ATTACHMENT_STENCIL:
    case ATTACHMENT_STENCIL_RESOLVE:
        return aspect == VK_IMAGE_ASPECT_STENCIL_BIT;
    default:
        return true;
    }
}

/* Depth and stencil at the same texel of the image that is drawn to beside the target. */
static enum lap_status set_beside(struct planner *p, const struct attachment *all, size_t count,
                                  const struct attachment *beside, const struct attachment *target)
{
    const struct texel_wish *w = &p->history->wish;
    const VkImageCreateInfo *image = image_info_of(&p->infos, beside->image);
    VkImageLayout layout = layout_of(all, count, beside, true);
    uint64_t layer = (uint64_t)beside->range.baseArrayLayer + w->layer - target->range.baseArrayLayer;
    char text[POSITION_TEXT_BYTES];

    if (!image || !beside->range.levelCount || w->x >= at_level(image->extent.width, beside->range.baseMipLevel) ||
        w->y >= at_level(image->extent.height, beside->range.baseMipLevel) || w->layer < target->range.baseArrayLayer ||
        layer >= image->arrayLayers)
        return LAP_OK;
    if (layout == VK_IMAGE_LAYOUT_UNDEFINED || image->samples != VK_SAMPLE_COUNT_1_BIT)
        return leave_out(p, "%s: depth and stencil, VkImage:%" PRIu64 ", %s", position_text(&p->pass.begin, text),
                         beside->image,
                         layout == VK_IMAGE_LAYOUT_UNDEFINED ? "have a layout each" : "have several samples");
    p->pass.beside = (struct weave_copy){.image = beside->image,
                                         .aspects = lap_texels_aspects(image->format),
                                         .layout = layout,
                                         .level = beside->range.baseMipLevel,
                                         .layer = (uint32_t)layer,
                                         .x = (int32_t)w->x,
                                         .y = (int32_t)w->y,
                                         .width = 1,
                                         .height = 1};
    p->pass.depth.format = p->pass.stencil.format = image->format;
    return LAP_OK;
}

/* out: how the target is attached; left as it is where it is not. */
static enum lap_status see_attachments(struct planner *p, const struct attachment *all, size_t count,
                                       struct attachment *out)
{
    struct pass *pass = &p->pass;
    const struct texel_wish *w = &p->history->wish;
    char text[POSITION_TEXT_BYTES];

    for (size_t i = 0; i < count; i++) {
        const struct attachment *a = &all[i];
        VkImageLayout layout = layout_of(all, count, a, p->pass.splits && !is_resolve(a->role));
        if (a->role == ATTACHMENT_INPUT || a->role == ATTACHMENT_SHADING_RATE || a->role == ATTACHMENT_DENSITY_MAP)
            continue;
        if (a->image)
            note_drawn(p, a->image);
        if (!p->image || !w->image)
            continue;
        if (is_resolve(a->role) && resolved_image(all, count, a) == w->image)
            p->resolved_into = a->image;
        if (a->image != w->image || !is_in_range(p, &a->range) || !has_aspect(a, w->aspect))
            continue;
        if (layout == VK_IMAGE_LAYOUT_UNDEFINED)
            return leave_out(p, "%s: depth and stencil of VkImage:%" PRIu64 " have a layout each",
                             position_text(&pass->begin, text), w->image);
        if (is_resolve(a->role)) {
            pass->has_resolve = true;
            pass->resolved = resolved_image(all, count, a);
            pass->resolve_layout = layout;
        } else {
            pass->has_target = true;
            pass->layout = layout;
            *out = *a;
        }
    }
    return LAP_OK;
}

static uint32_t subpasses_of(const struct bound *bound)
{
    const struct fact_render_pass *pass = fact_of_render_pass(bound->facts, bound->pass.render_pass);

    return pass && bound->pass.kind == BOUND_RENDER_PASS ? pass->subpass_count : 1;
}

static VkRenderingFlags flags_of(uint32_t command, const void *args)
{
    const VkRenderingInfo *info = lap_pass_rendering_info(command, args);

    return info ? info->flags : 0;
}

static VkRect2D area_of(uint32_t command, const void *args)
{
    const VkRenderingInfo *rendering = lap_pass_rendering_info(command, args);
    const VkRenderPassBeginInfo *pass = lap_pass_begin_info(command, args);

    return rendering ? rendering->renderArea : pass ? pass->renderArea : (VkRect2D){.extent = {0, 0}};
}

/* Where the fragments of the draws go. */
static enum lap_status set_place(struct planner *p, const struct bound_visit *visit, const struct attachment *all,
                                 size_t count, const struct attachment *target, VkRect2D area)
{
    const struct texel_wish *w = &p->history->wish;
    const bool is_color = w->aspect == VK_IMAGE_ASPECT_COLOR_BIT;
    struct fragment_place *place = &p->pass.place;
    struct pass_targets targets;
    enum lap_status status;

    p->pass.area = area;
    *place =
        (struct fragment_place){.x = w->x,
                                .y = w->y,
                                .color = is_color ? lap_texel_format(target->format, VK_IMAGE_ASPECT_COLOR_BIT) : NULL,
                                .target = is_color ? target->number : FRAGMENT_NO_TARGET};
    for (size_t i = 0; i < count; i++) {
        if (is_depth_stencil(all[i].role) && has_aspect(&all[i], VK_IMAGE_ASPECT_DEPTH_BIT))
            place->depth = lap_texel_format(all[i].format, VK_IMAGE_ASPECT_DEPTH_BIT);
        place->stencil |= is_depth_stencil(all[i].role) && has_aspect(&all[i], VK_IMAGE_ASPECT_STENCIL_BIT) &&
                          lap_texels_aspects(all[i].format) & VK_IMAGE_ASPECT_STENCIL_BIT;
    }
    status = pass_targets_find(visit, &p->arena, &targets);
    if (status == LAP_OK && (targets.layers > 1 || targets.views & (targets.views - 1)))
        p->pass.no_fragments = "its render pass draws to several layers";
    return status;
}

static enum lap_status begin_pass(struct planner *p, const struct bound_visit *visit)
{
    struct bound bound = *visit->bound;
    const uint32_t subpasses = subpasses_of(&bound);
    struct attachment *all = NULL, target = {.image = 0};
    const struct lap_args *begin = NULL;
    struct texel_row row = {.kind = TEXEL_BEGIN};
    VkRenderingFlags flags = 0;
    size_t count = 0;
    uint32_t command;
    enum lap_status status = LAP_OK;

    p->pass = (struct pass){.is_open = true,
                            .splits = subpasses <= 1,
                            .begin = visit->position,
                            .render_pass = bound.pass.render_pass,
                            .depth = {.before = TEXEL_NOWHERE, .after = TEXEL_NOWHERE},
                            .stencil = {.before = TEXEL_NOWHERE, .after = TEXEL_NOWHERE}};
    for (bound.pass.subpass = 0; bound.pass.subpass < subpasses && status == LAP_OK; bound.pass.subpass++) {
        lap_arena_reset(&p->arena);
        status = attachments_of(&bound, &p->arena, &all, &count, &begin, &command);
        if (status == LAP_OK)
            status = see_attachments(p, all, count, &target);
    }
    if (status == LAP_OK && begin)
        flags = flags_of(command, begin->bytes);
    if (status == LAP_OK && begin && p->history->wish.fragments && p->pass.has_target && p->pass.splits)
        status = set_place(p, visit, all, count, &target, area_of(command, begin->bytes));
    p->pass.has_resolve &= !(flags & VK_RENDERING_SUSPENDING_BIT);
    for (size_t i = 0; i < count && status == LAP_OK && p->pass.has_target && p->pass.splits; i++)
        if (is_depth_stencil(all[i].role))
            status = set_beside(p, all, count, &all[i], &target);
    if (status != LAP_OK || !p->pass.has_target || !p->pass.splits || p->image->samples != VK_SAMPLE_COUNT_1_BIT)
        return status;
    row.load = flags & VK_RENDERING_RESUMING_BIT                        ? VK_ATTACHMENT_LOAD_OP_LOAD
               : p->history->wish.aspect == VK_IMAGE_ASPECT_STENCIL_BIT ? target.stencil_load
                                                                        : target.load;
    return add_row(p, visit, &row, p->pass.layout);
}

/* Behind the whole pass. */
static enum lap_status end_pass(struct planner *p, const struct bound_visit *visit)
{
    const struct pass pass = p->pass;
    const struct texel_row row = {.kind = pass.has_resolve ? TEXEL_RESOLVE : TEXEL_DRAW,
                                  .from_type = pass.resolved ? GEN_HANDLE_VkImage : GEN_HANDLE_NONE,
                                  .from = pass.resolved};
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = LAP_OK;

    p->pass.is_open = false;
    if (!p->image || p->image->samples != VK_SAMPLE_COUNT_1_BIT ||
        !(pass.has_resolve || (pass.has_target && !pass.splits)))
        return LAP_OK;
    if (pass.has_target)
        status = leave_out(p, "%s: its render pass has several subpasses, and is seen as a whole",
                           position_text(&pass.begin, text));
    return status == LAP_OK ? add_row(p, visit, &row, pass.has_resolve ? pass.resolve_layout : pass.layout) : status;
}

/* ---- outside of render passes ---- */

/* The subresource that a transfer writes, from the names of its parameters. */
struct transfer {
    const struct planner *planner;
    uint64_t image, source;
    uint32_t source_type;
    VkImageLayout layout;
    bool hits;
};

static bool see_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct transfer *t = user;
    const char *name = place->member ? gen_member_name(place->member) : "";

    if (number == GEN_STRUCT_VkImageSubresourceLayers && strcmp(name, "srcSubresource") != 0)
        t->hits |= is_in_layers(t->planner, place->at);
    else if (number == GEN_STRUCT_VkImageSubresourceRange)
        t->hits |= is_in_range(t->planner, place->at) &&
                   ((const VkImageSubresourceRange *)place->at)->aspectMask & t->planner->history->wish.aspect;
    return true;
}

static void see_value(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct transfer *t = user;
    const char *name = gen_member_name(place->member);

    if (value->kind == LAP_VALUE_HANDLE && (strcmp(name, "dstImage") == 0 || strcmp(name, "image") == 0)) {
        t->image = value->u;
    } else if (value->kind == LAP_VALUE_HANDLE && (strcmp(name, "srcImage") == 0 || strcmp(name, "srcBuffer") == 0)) {
        t->source = value->u;
        t->source_type = value->type;
    } else if (value->kind == LAP_VALUE_ENUM &&
               (strcmp(name, "dstImageLayout") == 0 || strcmp(name, "imageLayout") == 0)) {
        t->layout = (VkImageLayout)value->i;
    }
}

static enum texel_kind kind_of(uint32_t command)
{
    const char *name = gen_command_names[command];

    return strncmp(name, "vkCmdBlit", 9) == 0       ? TEXEL_BLIT
           : strncmp(name, "vkCmdResolve", 12) == 0 ? TEXEL_RESOLVE
           : strncmp(name, "vkCmdClear", 10) == 0   ? TEXEL_CLEAR
                                                    : TEXEL_COPY;
}

static enum lap_status see_transfer(struct planner *p, const struct bound_visit *visit)
{
    struct transfer t = {.planner = p};
    const struct lap_visitor visitor = {.begin_struct = see_struct, .value = see_value, .user = &t};
    struct texel_row row = {.kind = kind_of(visit->command)};

    lap_walk_command(visit->command, visit->args, false, &visitor);
    if (row.kind == TEXEL_RESOLVE && t.source == p->history->wish.image)
        p->resolved_into = t.image;
    if (t.image != p->history->wish.image || !t.hits || p->image->samples != VK_SAMPLE_COUNT_1_BIT)
        return LAP_OK;
    row.from = t.source;
    row.from_type = t.source_type;
    return add_row(p, visit, &row, t.layout);
}

/* ---- stores ---- */

struct storing {
    const struct planner *planner;
    const struct bound *bound;
    struct lap_spirv_access access;
    bool hits;
    VkImageLayout layout;
};

static bool is_stored(void *user, uint32_t set, uint32_t binding)
{
    const struct storing *s = user;

    return set < LAP_SPIRV_SETS && s->access.stores[set] & lap_spirv_bit(binding);
}

static enum lap_status see_reached(void *user, const struct reached *reached)
{
    struct storing *s = user;
    const struct descriptor *d = &reached->descriptor;
    const struct fact_view *view =
        d->type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE && d->object_type == GEN_HANDLE_VkImageView
            ? fact_of_view(s->bound->facts, d->object)
            : NULL;

    if (!view || view->image != s->planner->history->wish.image || !is_in_range(s->planner, &view->range))
        return LAP_OK;
    s->hits = true;
    s->layout = d->layout ? d->layout : VK_IMAGE_LAYOUT_GENERAL;
    return LAP_END;
}

static enum lap_status find_stores(struct planner *p, const struct bound_visit *visit, enum bound_point point,
                                   struct storing *out)
{
    *out = (struct storing){.planner = p, .bound = visit->bound};
    shader_stores_of_bound(&p->stores, visit->bound, point, &out->access);
    lap_arena_reset(&p->arena);
    return reached_each(visit->bound, visit->descriptors, point, &p->arena, is_stored, see_reached, out);
}

static enum lap_status make_draw(struct planner *p, const struct bound_visit *visit, const struct texel_draw **out)
{
    struct texel_draw *draw = lap_arena_zalloc(&p->history->arena, 1, sizeof *draw, _Alignof(struct texel_draw));

    *out = draw;
    if (!draw)
        return no_memory();
    draw->place = p->pass.place;
    draw->draw.area = p->pass.area;
    draw->why = p->pass.no_fragments;
    lap_arena_reset(&p->arena);
    return texel_probes_add(&p->probes, visit, draw, &p->history->arena, &p->arena);
}

/* A draw, a dispatch or other work of shaders, or a clear in a render pass. */
static enum lap_status see_work(struct planner *p, const struct bound_visit *visit)
{
    const enum bound_point point = visit->work == POSITION_DISPATCH ? BOUND_COMPUTE
                                   : visit->work == POSITION_TRACE  ? BOUND_RAYS
                                                                    : BOUND_GRAPHICS;
    bool is_clear = visit->work == POSITION_TRANSFER;
    bool draws = p->pass.is_open && p->pass.has_target && visit->work != POSITION_DISPATCH;
    struct texel_row row = {.kind = is_clear ? TEXEL_CLEAR
                                    : draws  ? TEXEL_DRAW
                                             : TEXEL_STORE,
                            .pipeline = is_clear ? 0 : visit->bound->points[point].pipeline};
    struct storing storing = {.hits = false};
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = LAP_OK;

    if (p->image->samples != VK_SAMPLE_COUNT_1_BIT)
        return LAP_OK;
    if (!draws && (visit->work == POSITION_DRAW || visit->work == POSITION_DISPATCH || visit->work == POSITION_TRACE))
        status = find_stores(p, visit, point, &storing);
    if (status != LAP_OK || !(draws || storing.hits))
        return status;
    if (p->pass.is_open && !p->pass.splits)
        return storing.hits ? leave_out(p, "%s: it stores in a render pass with several subpasses",
                                        position_text(&visit->position, text))
                            : LAP_OK;
    if (draws && visit->work == POSITION_DRAW && p->history->wish.fragments)
        status = make_draw(p, visit, &row.draw);
    return status == LAP_OK ? add_row(p, visit, &row, draws ? p->pass.layout : storing.layout) : status;
}

/* ---- the walk ---- */

static enum lap_status see_command(void *user, const struct bound_visit *visit)
{
    struct planner *p = user;

    switch (lap_pass_step_of(visit->command)) {
    case LAP_PASS_BEGIN:
    case LAP_PASS_BEGIN_RENDERING:
        return begin_pass(p, visit);
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        return end_pass(p, visit);
    default:
        break;
    }
    if (!p->image || visit->work == POSITION_STATE || visit->work == POSITION_PASS)
        return LAP_OK;
    return visit->work == POSITION_TRANSFER && !p->pass.is_open ? see_transfer(p, visit) : see_work(p, visit);
}

static enum lap_status see_call(void *user, const struct trace_call *call)
{
    struct planner *p = user;
    enum lap_status status = shader_stores_see(&p->stores, call);

    return status == LAP_OK && p->history->wish.fragments ? raster_facts_see(&p->probes.facts, call) : status;
}

static enum lap_status find_commands(struct planner *p)
{
    const struct position *at = &p->history->wish.at, frame = position_up_to(at, POSITION_FRAME);
    const struct bound_walk_options options = {.at = &frame,
                                               .descriptors = true,
                                               .labels = true,
                                               .until = at,
                                               .visit_call = see_call,
                                               .calls = shader_stores_commands};
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = bound_walk(p->trace, &options, see_command, p);

    if (status == LAP_OK && p->pass.is_open && p->pass.has_target && !p->pass.splits)
        status = leave_out(p, "%s: its render pass has several subpasses, and ends later",
                           position_text(&p->pass.begin, text));
    return status;
}

/* ---- the whole ---- */

/* The images that the frame draws to, at the end of a sentence. */
static const char *drawn_to(const struct planner *p, char out[256])
{
    size_t length = (size_t)snprintf(out, 256, p->drawn_count ? "it draws to" : "it draws to nothing");

    for (size_t i = 0; i < p->drawn_count && i < MOST_IMAGES && length < 256; i++)
        length += (size_t)snprintf(out + length, 256 - length, "%s VkImage:%" PRIu64, i ? "," : "", p->drawn[i]);
    if (p->drawn_count > MOST_IMAGES && length < 256)
        snprintf(out + length, 256 - length, " and others");
    return out;
}

static enum lap_status check_found(const struct planner *p)
{
    const struct texel_wish *w = &p->history->wish;
    const uint64_t frame = w->at.numbers[0];
    char drawn[256], into[80] = "";

    if (!w->image)
        return lap_fail(LAP_ERROR_ARGUMENT, "frame %" PRIu64 " presents no image, so --target has to name one: %s",
                        frame, drawn_to(p, drawn));
    if (!p->image)
        return lap_fail(LAP_ERROR_ARGUMENT, "up to frame %" PRIu64 " there is no VkImage:%" PRIu64 ": %s", frame,
                        w->image, drawn_to(p, drawn));
    if (p->image->samples != VK_SAMPLE_COUNT_1_BIT) {
        if (p->resolved_into)
            snprintf(into, sizeof into, ": it is resolved into VkImage:%" PRIu64, p->resolved_into);
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " has %u samples a texel, which can't be copied%s",
                        w->image, (unsigned)p->image->samples, into);
    }
    if (p->plan.stop_count)
        return LAP_OK;
    return p->history->left_out_count
               ? lap_fail(LAP_ERROR_UNSUPPORTED, "%s", p->history->left_out[0])
               : lap_fail(LAP_ERROR_ARGUMENT, "nothing in frame %" PRIu64 " writes VkImage:%" PRIu64 " up to there: %s",
                          frame, w->image, drawn_to(p, drawn));
}

static enum lap_status weave(struct planner *p, struct lap_edits *edits)
{
    struct weave_result result = {.buffer = 0};
    enum lap_status status;

    p->plan.ends = true;
    status = texel_probes_plan(&p->probes, p->trace, &p->plan, &p->history->arena);
    if (status == LAP_OK)
        status = edit_weave(p->trace, &p->plan, edits, &result);
    if (status == LAP_OK && result.queries)
        status = leave_out(p, "queries are open between the copies: they count only what is behind the last one, and "
                              "what depends on them may differ");
    p->history->buffer = result.buffer;
    p->history->bytes = p->plan.bytes;
    return status;
}

static void init(struct planner *p)
{
    image_infos_init(&p->infos);
    lap_map_init(&p->swapchains);
    shader_stores_init(&p->stores);
    texel_probes_init(&p->probes);
    lap_arena_init(&p->arena, 0);
    lap_arena_init(&p->history->arena, 0);
}

static void finish(struct planner *p)
{
    image_infos_finish(&p->infos);
    lap_map_finish(&p->swapchains);
    shader_stores_finish(&p->stores);
    lap_arena_finish(&p->arena);
    texel_probes_finish(&p->probes);
    free(p->plan.stops);
    free(p->plan.copies);
}

enum lap_status edit_texel_history(const struct lap_reader *trace, const struct texel_wish *wish,
                                   struct lap_edits *edits, struct texel_history *history)
{
    struct planner p = {.trace = trace, .history = history, .last = TEXEL_NOWHERE};
    struct position_found found;
    enum lap_status status = position_find(trace, &wish->at, &found);

    if (status == LAP_OK && !found.is_submit && wish->at.of_packet)
        status = lap_fail(LAP_ERROR_ARGUMENT, "#%" PRIu64 " is no submit, and no command buffer that is submitted",
                          wish->at.numbers[0]);
    if (status != LAP_OK)
        return status;
    init(&p);
    history->wish = *wish;
    history->wish.at = found.position;
    status = find_image(&p);
    if (status == LAP_OK)
        status = find_commands(&p);
    if (status == LAP_OK)
        status = check_found(&p);
    if (status == LAP_OK)
        status = weave(&p, edits);
    finish(&p);
    return status;
}

void texel_history_finish(struct texel_history *history)
{
    free(history->rows);
    free(history->left_out);
    lap_arena_finish(&history->arena);
    *history = (struct texel_history){.row_count = 0};
}
