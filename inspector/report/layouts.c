/* SPDX-License-Identifier: MIT */
/* Layouts that a barrier, a render pass, a copy or a descriptor says an image is in, and the layout that it is in. */
#include <string.h>

#include "gen_reflect.h"
#include "inspector/report/bindings.h"
#include "inspector/report/inside.h"
#include "inspector/state/image_layouts.h"
#include "vulkan/chain.h"
#include "vulkan/pass.h"

#define MOST_BARRIERS 1024u /* of a command; of more it is not looked at whether one comes twice */

struct layouts {
    struct image_layouts *images;
    struct report_bindings *bindings;
    uint64_t pipeline;      /* of the draw or dispatch that is visited */
    struct lap_map outside; /* images whose layouts others change, too */
    uint32_t enum_number;   /* of VkImageLayout */
};

static enum lap_status begin(struct report_inside *r, void *state)
{
    struct layouts *l = state;

    (void)r;
    lap_map_init(&l->outside);
    l->images = image_layouts_create();
    l->bindings = report_bindings_create();
    while (l->enum_number < GEN_ENUM_COUNT && strcmp(gen_enums[l->enum_number].name, "VkImageLayout") != 0)
        l->enum_number++;
    return l->images && l->bindings ? LAP_OK : lap_no_memory("the report");
}

static void finish(void *state)
{
    struct layouts *l = state;

    image_layouts_destroy(l->images);
    report_bindings_destroy(l->bindings);
    lap_map_finish(&l->outside);
}

/* Without its prefix. */
static const char *name_of(const struct layouts *l, VkImageLayout layout)
{
    const struct gen_enum_info *info = l->enum_number < GEN_ENUM_COUNT ? &gen_enums[l->enum_number] : NULL;

    for (uint32_t i = 0; info && i < info->value_count; i++)
        if (info->values[i].value == (int64_t)layout)
            return gen_enum_value_name(&info->values[i]) + strlen("VK_IMAGE_LAYOUT_");
    return "another one";
}

/* ---- what is said ---- */

static bool says_nothing(VkImageLayout layout)
{
#ifdef VK_EXT_zero_initialize_device_memory
    if (layout == VK_IMAGE_LAYOUT_ZERO_INITIALIZED_EXT)
        return true;
#endif
    return layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED ||
           layout == VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR;
}

/* True: not so, and *finding and the names are of that. */
static bool is_otherwise(struct layouts *l, uint64_t index, const VkImageSubresourceRange *range, VkImageLayout layout,
                         VkImageLayout *out_found)
{
    VkImageAspectFlags aspect;
    const char *obstacle;
    const struct image_layout *image;

    if (!index || says_nothing(layout) || lap_map_get(&l->outside, index))
        return false;
    image = image_layouts_of(l->images, index, &obstacle);
    return image && image_layout_differs(image, range, layout, out_found, &aspect);
}

static enum lap_status check(struct report_inside *r, struct layouts *l, const struct report_finding *at,
                             uint64_t index, const VkImageSubresourceRange *range, VkImageLayout layout,
                             const char *who)
{
    struct report_finding finding = *at;
    VkImageLayout found;

    if (!is_otherwise(l, index, range, layout, &found))
        return LAP_OK;
    finding.type = GEN_HANDLE_VkImage;
    finding.index = index;
    return report_find(r, REPORT_LAYOUT, &finding, "it is in %s, %s says %s", name_of(l, found), who,
                       name_of(l, layout));
}

static bool moves(uint32_t from, uint32_t to)
{
    return from != to;
}

#define CHECK_BARRIERS(type)                                                                                           \
    static enum lap_status check_##type(struct report_inside *r, struct layouts *l, const struct report_finding *at,   \
                                        uint32_t count, const type *barriers)                                          \
    {                                                                                                                  \
        enum lap_status status = LAP_OK;                                                                               \
        for (uint32_t i = 0; barriers && i < count && status == LAP_OK; i++) {                                         \
            bool is_again = moves(barriers[i].srcQueueFamilyIndex, barriers[i].dstQueueFamilyIndex);                   \
            for (uint32_t k = i < MOST_BARRIERS ? 0 : i; k < i && !is_again; k++) /* it finds what that leaves */      \
                is_again = barriers[k].image == barriers[i].image;                                                     \
            if (!is_again)                                                                                             \
                status = check(r, l, at, gen_u64_VkImage(barriers[i].image), &barriers[i].subresourceRange,            \
                               barriers[i].oldLayout, "the barrier");                                                  \
        }                                                                                                              \
        return status;                                                                                                 \
    }
CHECK_BARRIERS(VkImageMemoryBarrier)
CHECK_BARRIERS(VkImageMemoryBarrier2)

static enum lap_status check_pass(struct report_inside *r, struct layouts *l, const struct bound_visit *visit)
{
    const struct report_finding at = report_at(visit);
    enum lap_status status = report_find_targets(r, visit);

    for (size_t i = 0; i < r->targets.count && status == LAP_OK; i++) {
        const struct report_target *t = &r->targets.items[i];
        VkImageSubresourceRange range = t->range;
        range.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT | VK_IMAGE_ASPECT_DEPTH_BIT;
        status = check(r, l, &at, t->image, &range, t->layout, "the render pass");
        range.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
        if (status == LAP_OK && t->stencil_layout != t->layout)
            status = check(r, l, &at, t->image, &range, t->stencil_layout, "the render pass");
    }
    return status;
}

/* ---- copies ---- */

static VkImageSubresourceRange range_of(const VkImageSubresourceLayers *layers)
{
    return (VkImageSubresourceRange){layers->aspectMask, layers->mipLevel, 1, layers->baseArrayLayer,
                                     layers->layerCount};
}

/* The regions of a command, each with the subresource at this member; one finding is enough. */
#define EACH_REGION(image_, layout_, count_, regions_, member_)                                                        \
    for (uint32_t i = 0; (regions_) && i < (count_) && status == LAP_OK; i++) {                                        \
        const VkImageSubresourceRange range = range_of(&(regions_)[i].member_);                                        \
        uint64_t before = r->report->rules[REPORT_LAYOUT].count;                                                       \
        status = check(r, l, &at, gen_u64_VkImage(image_), &range, layout_, "the command");                            \
        if (r->report->rules[REPORT_LAYOUT].count != before)                                                           \
            break;                                                                                                     \
    }
#define FROM(a) EACH_REGION((a)->srcImage, (a)->srcImageLayout, (a)->regionCount, (a)->pRegions, srcSubresource)
#define TO(a)   EACH_REGION((a)->dstImage, (a)->dstImageLayout, (a)->regionCount, (a)->pRegions, dstSubresource)
#define OUT(a)  EACH_REGION((a)->srcImage, (a)->srcImageLayout, (a)->regionCount, (a)->pRegions, imageSubresource)
#define INTO(a) EACH_REGION((a)->dstImage, (a)->dstImageLayout, (a)->regionCount, (a)->pRegions, imageSubresource)
#define BOTH(a)                                                                                                        \
    FROM(a)                                                                                                            \
    TO(a)
#define ARGS(type) const struct gen_args_##type *a = visit->args
#define INFO(type, member)                                                                                             \
    const __typeof__(*((const struct gen_args_##type *)visit->args)->member) *a =                                      \
        ((const struct gen_args_##type *)visit->args)->member

static enum lap_status check_clear(struct report_inside *r, struct layouts *l, const struct report_finding *at,
                                   VkImage image, VkImageLayout layout, uint32_t count,
                                   const VkImageSubresourceRange *ranges)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; ranges && i < count && status == LAP_OK; i++)
        status = check(r, l, at, gen_u64_VkImage(image), &ranges[i], layout, "the command");
    return status;
}

static enum lap_status check_copy(struct report_inside *r, struct layouts *l, const struct bound_visit *visit)
{
    const struct report_finding at = report_at(visit);
    enum lap_status status = LAP_OK;

    switch (visit->command) {
    case GEN_vkCmdCopyImage: {
        ARGS(vkCmdCopyImage);
        BOTH(a)
        break;
    }
    case GEN_vkCmdBlitImage: {
        ARGS(vkCmdBlitImage);
        BOTH(a)
        break;
    }
    case GEN_vkCmdResolveImage: {
        ARGS(vkCmdResolveImage);
        BOTH(a)
        break;
    }
    case GEN_vkCmdCopyBufferToImage: {
        ARGS(vkCmdCopyBufferToImage);
        INTO(a)
        break;
    }
    case GEN_vkCmdCopyImageToBuffer: {
        ARGS(vkCmdCopyImageToBuffer);
        OUT(a)
        break;
    }
    case GEN_vkCmdCopyImage2: {
        INFO(vkCmdCopyImage2, pCopyImageInfo);
        if (a) {
            BOTH(a)
        }
        break;
    }
    case GEN_vkCmdBlitImage2: {
        INFO(vkCmdBlitImage2, pBlitImageInfo);
        if (a) {
            BOTH(a)
        }
        break;
    }
    case GEN_vkCmdResolveImage2: {
        INFO(vkCmdResolveImage2, pResolveImageInfo);
        if (a) {
            BOTH(a)
        }
        break;
    }
    case GEN_vkCmdCopyBufferToImage2: {
        INFO(vkCmdCopyBufferToImage2, pCopyBufferToImageInfo);
        if (a) {
            INTO(a)
        }
        break;
    }
    case GEN_vkCmdCopyImageToBuffer2: {
        INFO(vkCmdCopyImageToBuffer2, pCopyImageToBufferInfo);
        if (a) {
            OUT(a)
        }
        break;
    }
    case GEN_vkCmdClearColorImage: {
        ARGS(vkCmdClearColorImage);
        return check_clear(r, l, &at, a->image, a->imageLayout, a->rangeCount, a->pRanges);
    }
    case GEN_vkCmdClearDepthStencilImage: {
        ARGS(vkCmdClearDepthStencilImage);
        return check_clear(r, l, &at, a->image, a->imageLayout, a->rangeCount, a->pRanges);
    }
    default:
        break;
    }
    return status;
}

/* ---- the whole ---- */

static enum lap_status before(struct report_inside *r, void *state, const struct bound_visit *visit)
{
    struct layouts *l = state;
    const struct report_finding at = report_at(visit);

    l->pipeline = visit->work == POSITION_DRAW       ? visit->bound->points[BOUND_GRAPHICS].pipeline
                  : visit->work == POSITION_DISPATCH ? visit->bound->points[BOUND_COMPUTE].pipeline
                                                     : 0;
    switch (visit->command) {
    case GEN_vkCmdPipelineBarrier: {
        ARGS(vkCmdPipelineBarrier);
        return check_VkImageMemoryBarrier(r, l, &at, a->imageMemoryBarrierCount, a->pImageMemoryBarriers);
    }
    case GEN_vkCmdPipelineBarrier2: {
        INFO(vkCmdPipelineBarrier2, pDependencyInfo);
        return a ? check_VkImageMemoryBarrier2(r, l, &at, a->imageMemoryBarrierCount, a->pImageMemoryBarriers) : LAP_OK;
    }
    default:
        break;
    }
    if (lap_pass_step_of(visit->command) == LAP_PASS_BEGIN)
        return check_pass(r, l, visit);
    return visit->work == POSITION_TRANSFER ? check_copy(r, l, visit) : LAP_OK;
}

static enum lap_status behind(struct report_inside *r, void *state, const struct bound_visit *visit)
{
    struct layouts *l = state;

    return image_layouts_see_command(l->images, r->queue, visit->position.count > POSITION_COMMAND, visit->command,
                                     visit->args);
}

static enum lap_status use(struct report_inside *r, void *state, const struct use *use)
{
    struct layouts *l = state;
    struct report_finding finding = {.command = use->command, .type = GEN_HANDLE_VkImage};
    const struct report_image_view *view;
    VkImageLayout found;

    /* A descriptor that may be unwritten, or updated while it is bound, says nothing that holds. */
    if (use->kind != USE_DESCRIPTOR || use->object.type != GEN_HANDLE_VkImageView || use->more ||
        use->descriptor->flags ||
        !report_binding_is_used(l->bindings, l->pipeline, use->descriptor->set, use->descriptor->binding))
        return LAP_OK;
    view = lap_map_get(&r->views, use->object.index);
    if (!view || !is_otherwise(l, view->image, &view->range, use->descriptor->descriptor.layout, &found))
        return LAP_OK;
    finding.position = *use->position;
    finding.frame = use->position->numbers[0];
    finding.index = view->image;
    return report_find(r, REPORT_LAYOUT, &finding, "it is in %s, the descriptor of set %u binding %u says %s",
                       name_of(l, found), use->descriptor->set, use->descriptor->binding,
                       name_of(l, use->descriptor->descriptor.layout));
}

/* Images that have a layout with another image, or outside of the program. */
static bool is_outside(const struct trace_call *call, uint64_t *out_image)
{
    if (call->command == GEN_vkCreateImage) {
        const struct gen_args_vkCreateImage *a = call->args;
        *out_image = a->pImage ? gen_u64_VkImage(*a->pImage) : 0;
        return a->pCreateInfo &&
               (a->pCreateInfo->flags & VK_IMAGE_CREATE_ALIAS_BIT ||
                a->pCreateInfo->initialLayout != VK_IMAGE_LAYOUT_UNDEFINED ||
                lap_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) ||
                lap_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR));
    }
    return false;
}

static enum lap_status call(struct report_inside *r, void *state, const struct trace_call *call)
{
    struct layouts *l = state;
    uint64_t image;

    enum lap_status status = report_bindings_see(l->bindings, call);

    (void)r;
    if (is_outside(call, &image) && image && lap_map_put(&l->outside, image, l, NULL) == LAP_ERROR_MEMORY)
        return lap_no_memory("the report");
    return status == LAP_OK ? image_layouts_see_call(l->images, call) : status;
}

const struct report_part report_layouts = {.bytes = sizeof(struct layouts),
                                           .begin = begin,
                                           .finish = finish,
                                           .call = call,
                                           .before = before,
                                           .behind = behind,
                                           .use = use};
