/* SPDX-License-Identifier: MIT */
/* Render passes without work that clear what is cleared, or overwritten as a whole, before anything reads it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/report/inside.h"
#include "vulkan/pass.h"

/* A render pass without work, whose clears nothing has read yet. */
struct idle_pass {
    struct report_finding finding;
    unsigned left; /* clears of it that still hold */
    bool is_read;
};

/* A clear of it. */
struct clear {
    struct idle_pass *pass;
    VkImageSubresourceRange range; /* aspectMask: those that it clears */
    VkRect2D area;
    struct clear *next; /* of the same image */
};

struct contents {
    struct lap_map images; /* struct clear, by image */
    /* The render pass that the walk is in. */
    struct report_target *targets;
    size_t count, capacity;
    VkRect2D area;
    bool is_idle; /* so far */
    struct report_finding begin;
    bool is_lost; /* uses are not seen */
};

static enum lap_status begin(struct report_inside *r, void *state)
{
    (void)r;
    lap_map_init(&((struct contents *)state)->images);
    return LAP_OK;
}

/* ---- clears ---- */

/* The clear has an end. *out_idle: the pass, if that was its last one and nothing has read any of them. The caller
 * frees it. */
static void end_clear(struct clear *clear, bool is_read, struct idle_pass **out_idle)
{
    struct idle_pass *pass = clear->pass;

    *out_idle = NULL;
    pass->is_read |= is_read;
    free(clear);
    if (--pass->left)
        return;
    if (pass->is_read)
        free(pass);
    else
        *out_idle = pass;
}

static enum lap_status put(struct contents *c, uint64_t image, struct clear *first)
{
    if (!first) {
        (void)lap_map_remove(&c->images, image);
        return LAP_OK;
    }
    return lap_map_put(&c->images, image, first, NULL) == LAP_OK ? LAP_OK : lap_no_memory("the report");
}

/* Something reads the image, or changes a part of it. */
static enum lap_status touch(struct contents *c, uint64_t image)
{
    struct clear *clear = lap_map_get(&c->images, image), *next;
    struct idle_pass *idle;

    if (!clear)
        return LAP_OK;
    for (; clear; clear = next) {
        next = clear->next;
        end_clear(clear, true, &idle);
    }
    return put(c, image, NULL);
}

static void free_clears(void *user, uint64_t image, void *value)
{
    struct clear *clear = value, *next;
    struct idle_pass *idle;

    (void)user, (void)image;
    for (; clear; clear = next) {
        next = clear->next;
        end_clear(clear, true, &idle);
    }
}

static void finish(void *state)
{
    struct contents *c = state;

    lap_map_each(&c->images, free_clears, NULL);
    lap_map_finish(&c->images);
    free(c->targets);
}

static bool has_range(uint32_t first, uint32_t count, uint32_t wanted, uint32_t wanted_count)
{
    return first <= wanted && (count == UINT32_MAX || (wanted_count != UINT32_MAX &&
                                                       wanted + (uint64_t)wanted_count <= first + (uint64_t)count));
}

static bool has_area(const VkRect2D *area, const VkRect2D *wanted)
{
    return !area ||
           (area->offset.x <= wanted->offset.x && area->offset.y <= wanted->offset.y &&
            area->offset.x + (int64_t)area->extent.width >= wanted->offset.x + (int64_t)wanted->extent.width &&
            area->offset.y + (int64_t)area->extent.height >= wanted->offset.y + (int64_t)wanted->extent.height);
}

/* A range is written as a whole, without a look at what is there. area: NULL: all of it. Clears that it does not cover
 * stay, if they have nothing in common with it, else they count as read. */
static enum lap_status overwrite(struct report_inside *r, struct contents *c, uint64_t image,
                                 const VkImageSubresourceRange *range, const VkRect2D *area)
{
    struct clear *clear = lap_map_get(&c->images, image), *next, *kept = NULL;
    enum lap_status status = LAP_OK;
    struct idle_pass *idle;

    if (!clear)
        return LAP_OK;
    for (; clear; clear = next) {
        bool covers =
            !c->is_lost &&
            has_range(range->baseMipLevel, range->levelCount, clear->range.baseMipLevel, clear->range.levelCount) &&
            has_range(range->baseArrayLayer, range->layerCount, clear->range.baseArrayLayer, clear->range.layerCount) &&
            has_area(area, &clear->area);
        next = clear->next;
        clear->range.aspectMask &= covers ? ~range->aspectMask : ~(VkImageAspectFlags)0;
        if (covers && clear->range.aspectMask) { /* the other aspect */
            clear->next = kept;
            kept = clear;
            continue;
        }
        end_clear(clear, !covers, &idle);
        if (idle && status == LAP_OK)
            status = report_find(r, REPORT_CLEARED_AGAIN, &idle->finding, "nothing reads it before it is written over");
        free(idle);
    }
    return status == LAP_OK ? put(c, image, kept) : status;
}

/* ---- render passes ---- */

static VkImageAspectFlags aspects(const struct report_target *t, bool color_or_depth, bool stencil)
{
    VkImageAspectFlags first = t->range.aspectMask & ~(VkImageAspectFlags)VK_IMAGE_ASPECT_STENCIL_BIT;
    return (color_or_depth ? first : 0) | (stencil ? t->range.aspectMask & VK_IMAGE_ASPECT_STENCIL_BIT : 0);
}

static bool is_over(VkAttachmentLoadOp load)
{
    return load == VK_ATTACHMENT_LOAD_OP_CLEAR || load == VK_ATTACHMENT_LOAD_OP_DONT_CARE;
}

static enum lap_status begin_pass(struct report_inside *r, struct contents *c, const struct bound_visit *visit)
{
    const struct report_targets *targets = &r->targets;
    enum lap_status status = report_find_targets(r, visit);

    c->begin = report_at(visit);
    c->area = targets->area;
    c->is_idle = targets->is_simple;
    c->count = 0;
    report_count(r, REPORT_CLEARED_AGAIN);
    for (size_t i = 0; i < targets->count && status == LAP_OK; i++) {
        const struct report_target *t = &targets->items[i];
        VkImageSubresourceRange range = t->range;
        range.aspectMask = aspects(t, is_over(t->load), is_over(t->stencil_load));
        if (!t->image || range.aspectMask != t->range.aspectMask) /* something is loaded */
            status = touch(c, t->image);
        else if (!targets->is_simple) /* it may go on with what is there */
            status = touch(c, t->image);
        else
            status = overwrite(r, c, t->image, &range, &targets->area);
        c->is_idle &= t->image != 0;
    }
    if (status == LAP_OK && c->is_idle) {
        if (!lap_array_grow(&c->targets, sizeof *c->targets, &c->capacity, targets->count + 1))
            return lap_no_memory("the report");
        memcpy(c->targets, targets->items, targets->count * sizeof *c->targets);
        c->count = targets->count;
    }
    return status;
}

static VkImageAspectFlags cleared(const struct report_target *t, bool stored)
{
    bool first = t->load == VK_ATTACHMENT_LOAD_OP_CLEAR && (!stored || t->store == VK_ATTACHMENT_STORE_OP_STORE);
    bool stencil =
        t->stencil_load == VK_ATTACHMENT_LOAD_OP_CLEAR && (!stored || t->stencil_store == VK_ATTACHMENT_STORE_OP_STORE);
    return aspects(t, first, stencil);
}

static enum lap_status add_clear(struct contents *c, const struct report_target *t, struct idle_pass *pass)
{
    struct clear *clear = calloc(1, sizeof *clear);

    if (!clear)
        return lap_no_memory("the report");
    *clear =
        (struct clear){.pass = pass, .range = t->range, .area = c->area, .next = lap_map_get(&c->images, t->image)};
    clear->range.aspectMask = cleared(t, true);
    pass->left++;
    return put(c, t->image, clear);
}

static enum lap_status end_pass(struct report_inside *r, struct contents *c)
{
    struct idle_pass *pass = NULL;
    enum lap_status status = LAP_OK;
    bool clears = false, stores = false;

    for (size_t i = 0; c->is_idle && i < c->count; i++) {
        clears |= cleared(&c->targets[i], false) != 0;
        stores |= cleared(&c->targets[i], true) != 0;
    }
    if (!c->is_idle || !clears || c->is_lost)
        return LAP_OK;
    c->is_idle = false;
    if (!stores)
        return report_find(r, REPORT_CLEARED_AGAIN, &c->begin, "what it clears is not stored");
    pass = calloc(1, sizeof *pass);
    if (!pass)
        return lap_no_memory("the report");
    pass->finding = c->begin;
    for (size_t i = 0; i < c->count && status == LAP_OK; i++)
        if (cleared(&c->targets[i], true))
            status = add_clear(c, &c->targets[i], pass);
    return status;
}

/* ---- commands ---- */

static enum lap_status see_clear(struct report_inside *r, struct contents *c, VkImage image, uint32_t count,
                                 const VkImageSubresourceRange *ranges)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; ranges && i < count && status == LAP_OK; i++)
        status = overwrite(r, c, gen_u64_VkImage(image), &ranges[i], NULL);
    return status;
}

#define TOUCH_MOVED(type)                                                                                              \
    static enum lap_status touch_##type(struct contents *c, uint32_t count, const type *barriers)                      \
    {                                                                                                                  \
        enum lap_status status = LAP_OK;                                                                               \
        for (uint32_t i = 0; barriers && i < count && status == LAP_OK; i++)                                           \
            if (barriers[i].srcQueueFamilyIndex != barriers[i].dstQueueFamilyIndex)                                    \
                status = touch(c, gen_u64_VkImage(barriers[i].image));                                                 \
        return status;                                                                                                 \
    }
TOUCH_MOVED(VkImageMemoryBarrier)
TOUCH_MOVED(VkImageMemoryBarrier2)

static enum lap_status behind(struct report_inside *r, void *state, const struct bound_visit *visit)
{
    struct contents *c = state;

    switch (lap_pass_step_of(visit->command)) {
    case LAP_PASS_BEGIN:
    case LAP_PASS_BEGIN_RENDERING:
        return begin_pass(r, c, visit);
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        return end_pass(r, c);
    default:
        break;
    }
    if (!report_is_quiet(visit->command))
        c->is_idle = false;
    switch (visit->command) {
    case GEN_vkCmdClearColorImage: {
        const struct gen_args_vkCmdClearColorImage *a = visit->args;
        return see_clear(r, c, a->image, a->rangeCount, a->pRanges);
    }
    case GEN_vkCmdClearDepthStencilImage: {
        const struct gen_args_vkCmdClearDepthStencilImage *a = visit->args;
        return see_clear(r, c, a->image, a->rangeCount, a->pRanges);
    }
    case GEN_vkCmdPipelineBarrier: {
        const struct gen_args_vkCmdPipelineBarrier *a = visit->args;
        return touch_VkImageMemoryBarrier(c, a->imageMemoryBarrierCount, a->pImageMemoryBarriers);
    }
    case GEN_vkCmdPipelineBarrier2: {
        const VkDependencyInfo *a = ((const struct gen_args_vkCmdPipelineBarrier2 *)visit->args)->pDependencyInfo;
        return a ? touch_VkImageMemoryBarrier2(c, a->imageMemoryBarrierCount, a->pImageMemoryBarriers) : LAP_OK;
    }
    default:
        return LAP_OK;
    }
}

static enum lap_status use(struct report_inside *r, void *state, const struct use *use)
{
    struct contents *c = state;
    const struct report_image_view *view = NULL;

    c->is_lost |= use->more || r->is_blind; /* an array whose elements are not all told */
    if (use->object.type == GEN_HANDLE_VkImageView)
        view = lap_map_get(&r->views, use->object.index);
    else if (use->object.type != GEN_HANDLE_VkImage)
        return LAP_OK;
    /* Those are followed where the command is seen. */
    if (use->position && (lap_pass_step_of(use->command) != LAP_PASS_NONE || use->kind == USE_BARRIER ||
                          use->command == GEN_vkCmdClearColorImage || use->command == GEN_vkCmdClearDepthStencilImage))
        return LAP_OK;
    if (!use->position && use->access == USE_NAMED)
        return LAP_OK;
    return touch(c, view ? view->image : use->object.index);
}

const struct report_part report_contents = {
    .bytes = sizeof(struct contents), .begin = begin, .finish = finish, .behind = behind, .use = use};
