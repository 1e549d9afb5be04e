/* SPDX-License-Identifier: MIT */
#include "inspector/state/image_layouts.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "codegen/support/chain.h"
#include "codegen/support/texels.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"

#define ARENA_BYTES       ((size_t)1 << 30)
#define MOST_SUBRESOURCES (1u << 16) /* of an image; more than devices have */
#define MOST_DEPTH        32u        /* of nested command buffers */
#define MOST_EXECUTED     (1u << 16) /* command buffers, by one that is submitted */

/* The effect of a command on an image, or the execution of a secondary command buffer. */
struct step {
    uint64_t object; /* an image, or a command buffer */
    bool executes;
    VkImageLayout layout;
    uint32_t from_family, to_family;
    VkImageSubresourceRange range;
};

struct steps { /* of a block */
    struct step *at;
    size_t count, capacity;
};

struct view {
    uint64_t image;
    VkImageSubresourceRange range;
};

struct views { /* of a framebuffer */
    uint32_t count;
    uint64_t at[];
};

struct pass { /* of a render pass: final layouts, and those of stencil */
    uint32_t count;
    struct {
        VkImageLayout layout, stencil;
    } at[];
};

struct queue {
    uint32_t family;
};

struct image_layouts {
    struct lap_arena arena; /* holds the values of all maps */
    struct lap_map images, views, framebuffers, passes, queues, blocks;
    struct lap_map commands; /* struct steps, of a command buffer as it is now */
    struct steps *block;     /* that is visited */
    uint64_t block_number;
    uint64_t queue;    /* the last one that was seen */
    bool has_several;  /* queues */
    uint32_t executed; /* in the current submit */
    bool lost;         /* the layouts can't be followed any more */
};

/* ---- creation ---- */

struct image_layouts *image_layouts_create(void)
{
    struct image_layouts *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    lap_arena_init(&l->arena, ARENA_BYTES);
    struct lap_map *const maps[] = {&l->images, &l->views,  &l->framebuffers, &l->passes,
                                    &l->queues, &l->blocks, &l->commands};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lap_map_init(maps[i]);
    return l;
}

static void free_image(void *user, uint64_t index, void *image)
{
    (void)user, (void)index;
    free(((struct image_layout *)image)->subresources);
}

static void free_steps(void *user, uint64_t number, void *steps)
{
    (void)user, (void)number;
    free(((struct steps *)steps)->at);
}

void image_layouts_destroy(struct image_layouts *l)
{
    if (!l)
        return;
    lap_map_each(&l->images, free_image, NULL);
    lap_map_each(&l->blocks, free_steps, NULL);
    struct lap_map *const maps[] = {&l->images, &l->views,  &l->framebuffers, &l->passes,
                                    &l->queues, &l->blocks, &l->commands};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lap_map_finish(maps[i]);
    lap_arena_finish(&l->arena);
    free(l);
}

static enum lap_status no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

static enum lap_status put(struct image_layouts *l, struct lap_map *map, uint64_t key, size_t bytes, void **out)
{
    *out = lap_arena_zalloc(&l->arena, 1, bytes, 8);
    return *out ? lap_map_put(map, key, *out, NULL) : no_memory();
}

/* ---- objects ---- */

static enum lap_status see_image(struct image_layouts *l, const struct gen_args_vkCreateImage *a)
{
    struct image_layout *image;
    void *value;

    if (!a->pCreateInfo || !a->pImage || !*a->pImage || lap_map_get(&l->images, gen_u64_VkImage(*a->pImage)))
        return LAP_OK;
    if (put(l, &l->images, gen_u64_VkImage(*a->pImage), sizeof *image, &value) != LAP_OK)
        return LAP_ERROR_MEMORY;
    image = value;
    image->info = *a->pCreateInfo;
    image->info.pNext = NULL;
    image->info.pQueueFamilyIndices = NULL;
    image->aspects = lap_texels_aspects(image->info.format);
    image->is_presentable =
        lap_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR) != NULL;
    return LAP_OK;
}

static enum lap_status see_view(struct image_layouts *l, const struct gen_args_vkCreateImageView *a)
{
    enum lap_status status;
    void *value;

    if (!a->pCreateInfo || !a->pCreateInfo->image || !a->pView || !*a->pView)
        return LAP_OK;
    status = put(l, &l->views, gen_u64_VkImageView(*a->pView), sizeof(struct view), &value);
    if (status == LAP_OK)
        *(struct view *)value = (struct view){gen_u64_VkImage(a->pCreateInfo->image), a->pCreateInfo->subresourceRange};
    return status;
}

static enum lap_status see_framebuffer(struct image_layouts *l, const struct gen_args_vkCreateFramebuffer *a)
{
    const VkFramebufferCreateInfo *info = a->pCreateInfo;
    struct views *views;
    enum lap_status status;
    void *value;

    if (!info || !info->pAttachments || !a->pFramebuffer || !*a->pFramebuffer)
        return LAP_OK;
    status = put(l, &l->framebuffers, gen_u64_VkFramebuffer(*a->pFramebuffer),
                 sizeof *views + info->attachmentCount * sizeof views->at[0], &value);
    if (status != LAP_OK)
        return status;
    views = value;
    views->count = info->attachmentCount;
    for (uint32_t i = 0; i < info->attachmentCount; i++)
        views->at[i] = gen_u64_VkImageView(info->pAttachments[i]);
    return LAP_OK;
}

static enum lap_status put_pass(struct image_layouts *l, const VkRenderPass *handle, uint32_t count, struct pass **out)
{
    enum lap_status status;
    void *value;

    *out = NULL;
    if (!handle || !*handle)
        return LAP_OK;
    status = put(l, &l->passes, gen_u64_VkRenderPass(*handle), sizeof **out + count * sizeof(*out)->at[0], &value);
    if (status != LAP_OK)
        return status;
    *out = value;
    (*out)->count = count;
    return LAP_OK;
}

static enum lap_status see_pass(struct image_layouts *l, const struct gen_args_vkCreateRenderPass *a)
{
    const VkRenderPassCreateInfo *info = a->pCreateInfo;
    const uint32_t count = info && info->pAttachments ? info->attachmentCount : 0;
    struct pass *pass;
    enum lap_status status = put_pass(l, a->pRenderPass, count, &pass);

    for (uint32_t i = 0; pass && i < count; i++)
        pass->at[i].layout = pass->at[i].stencil = info->pAttachments[i].finalLayout;
    return status;
}

static enum lap_status see_pass2(struct image_layouts *l, const struct gen_args_vkCreateRenderPass2 *a)
{
    const VkRenderPassCreateInfo2 *info = a->pCreateInfo;
    const uint32_t count = info && info->pAttachments ? info->attachmentCount : 0;
    struct pass *pass;
    enum lap_status status = put_pass(l, a->pRenderPass, count, &pass);

    for (uint32_t i = 0; pass && i < count; i++) {
        const VkAttachmentDescriptionStencilLayout *stencil =
            lap_chain_find(info->pAttachments[i].pNext, VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT);
        pass->at[i].layout = info->pAttachments[i].finalLayout;
        pass->at[i].stencil = stencil ? stencil->stencilFinalLayout : pass->at[i].layout;
    }
    return status;
}

static enum lap_status see_queue(struct image_layouts *l, const VkQueue *queue, uint32_t family)
{
    enum lap_status status;
    void *value;

    if (!queue || !*queue)
        return LAP_OK;
    status = put(l, &l->queues, gen_u64_VkQueue(*queue), sizeof(struct queue), &value);
    if (status == LAP_OK)
        ((struct queue *)value)->family = family;
    l->has_several |= l->queue && l->queue != gen_u64_VkQueue(*queue);
    l->queue = gen_u64_VkQueue(*queue);
    return status;
}

/* ---- steps ---- */

static enum lap_status add_step(struct image_layouts *l, const struct step *step)
{
    struct steps *steps = l->block;

    if (!step->object)
        return LAP_OK;
    if (!lap_array_grow(&steps->at, sizeof *steps->at, &steps->capacity, steps->count + 1))
        return no_memory();
    steps->at[steps->count++] = *step;
    return LAP_OK;
}

static enum lap_status add_layout(struct image_layouts *l, uint64_t image, const VkImageSubresourceRange *range,
                                  VkImageLayout layout, uint32_t from_family, uint32_t to_family)
{
    const struct step step = {
        .object = image, .layout = layout, .from_family = from_family, .to_family = to_family, .range = *range};
    return add_step(l, &step);
}

static enum lap_status add_barriers(struct image_layouts *l, uint32_t count, const VkImageMemoryBarrier *barriers)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; barriers && i < count && status == LAP_OK; i++)
        status = add_layout(l, gen_u64_VkImage(barriers[i].image), &barriers[i].subresourceRange, barriers[i].newLayout,
                            barriers[i].srcQueueFamilyIndex, barriers[i].dstQueueFamilyIndex);
    return status;
}

static enum lap_status add_dependency(struct image_layouts *l, const VkDependencyInfo *info)
{
    const VkImageMemoryBarrier2 *barriers = info ? info->pImageMemoryBarriers : NULL;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; barriers && i < info->imageMemoryBarrierCount && status == LAP_OK; i++)
        status = add_layout(l, gen_u64_VkImage(barriers[i].image), &barriers[i].subresourceRange, barriers[i].newLayout,
                            barriers[i].srcQueueFamilyIndex, barriers[i].dstQueueFamilyIndex);
    return status;
}

/* The layouts after a render pass, also of attachments that no subpass uses. */
static enum lap_status add_attachment(struct image_layouts *l, const struct pass *pass, uint32_t number, uint64_t view)
{
    const struct view *of = lap_map_get(&l->views, view);
    const uint32_t stays = VK_QUEUE_FAMILY_IGNORED;
    VkImageSubresourceRange range;
    enum lap_status status;

    if (!of || number >= pass->count)
        return LAP_OK;
    range = of->range;
    range.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT | VK_IMAGE_ASPECT_DEPTH_BIT;
    status = add_layout(l, of->image, &range, pass->at[number].layout, stays, stays);
    range.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
    return status == LAP_OK ? add_layout(l, of->image, &range, pass->at[number].stencil, stays, stays) : status;
}

static enum lap_status begin_pass(struct image_layouts *l, const VkRenderPassBeginInfo *info)
{
    const VkRenderPassAttachmentBeginInfo *imageless =
        info ? lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO) : NULL;
    const struct pass *pass = info ? lap_map_get(&l->passes, gen_u64_VkRenderPass(info->renderPass)) : NULL;
    const struct views *views = pass ? lap_map_get(&l->framebuffers, gen_u64_VkFramebuffer(info->framebuffer)) : NULL;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; views && i < views->count && status == LAP_OK; i++)
        status = add_attachment(l, pass, i, views->at[i]);
    for (uint32_t i = 0;
         pass && imageless && imageless->pAttachments && i < imageless->attachmentCount && status == LAP_OK; i++)
        status = add_attachment(l, pass, i, gen_u64_VkImageView(imageless->pAttachments[i]));
    return status;
}

static enum lap_status add_executed(struct image_layouts *l, const struct gen_args_vkCmdExecuteCommands *a)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; a->pCommandBuffers && i < a->commandBufferCount && status == LAP_OK; i++)
        status =
            add_step(l, &(struct step){.object = gen_u64_VkCommandBuffer(a->pCommandBuffers[i]), .executes = true});
    return status;
}

static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    struct image_layouts *l = state;
    enum lap_status status;
    void *value;

    if (l->block_number != call->block) {
        status = put(l, &l->blocks, call->block, sizeof *l->block, &value);
        if (status != LAP_OK)
            return status;
        l->block = value;
        l->block_number = call->block;
    }
    switch (call->command) {
    case GEN_vkCmdPipelineBarrier: {
        const struct gen_args_vkCmdPipelineBarrier *a = call->args;
        return add_barriers(l, a->imageMemoryBarrierCount, a->pImageMemoryBarriers);
    }
    case GEN_vkCmdWaitEvents: {
        const struct gen_args_vkCmdWaitEvents *a = call->args;
        return add_barriers(l, a->imageMemoryBarrierCount, a->pImageMemoryBarriers);
    }
    case GEN_vkCmdPipelineBarrier2:
        return add_dependency(l, ((const struct gen_args_vkCmdPipelineBarrier2 *)call->args)->pDependencyInfo);
    case GEN_vkCmdWaitEvents2: {
        const struct gen_args_vkCmdWaitEvents2 *a = call->args;
        for (uint32_t i = 0; a->pDependencyInfos && i < a->eventCount; i++)
            if ((status = add_dependency(l, &a->pDependencyInfos[i])) != LAP_OK)
                return status;
        return LAP_OK;
    }
    case GEN_vkCmdBeginRenderPass:
        return begin_pass(l, ((const struct gen_args_vkCmdBeginRenderPass *)call->args)->pRenderPassBegin);
    case GEN_vkCmdBeginRenderPass2:
        return begin_pass(l, ((const struct gen_args_vkCmdBeginRenderPass2 *)call->args)->pRenderPassBegin);
    case GEN_vkCmdExecuteCommands:
        return add_executed(l, call->args);
    default:
        return LAP_OK;
    }
}

/* ---- submits ---- */

static uint32_t aspect_count(const struct image_layout *image)
{
    return image->aspects & (image->aspects - 1) ? 2 : 1;
}

static size_t number_of(const struct image_layout *image, VkImageAspectFlags aspect, uint32_t level, uint32_t layer)
{
    bool second = aspect_count(image) == 2 && aspect == VK_IMAGE_ASPECT_STENCIL_BIT;
    return ((size_t)layer * image->info.mipLevels + level) * aspect_count(image) + second;
}

static bool make_subresources(struct image_layout *image)
{
    uint64_t count = (uint64_t)image->info.mipLevels * image->info.arrayLayers;

    if (image->subresources)
        return true;
    if (!image->aspects || image->is_presentable || count > MOST_SUBRESOURCES || !count)
        return false;
    count *= aspect_count(image);
    image->subresources = calloc((size_t)count, sizeof *image->subresources);
    for (uint64_t i = 0; image->subresources && i < count; i++)
        image->subresources[i].layout = image->info.initialLayout;
    return image->subresources != NULL;
}

static uint32_t end_of(uint32_t first, uint32_t count, uint32_t most)
{
    return first < most && count > most - first ? most : first < most ? first + count : first;
}

static void apply_one(struct image_subresource *subresource, const struct step *step, uint32_t family)
{
    bool moves = step->from_family != step->to_family && step->from_family != VK_QUEUE_FAMILY_IGNORED &&
                 step->to_family != VK_QUEUE_FAMILY_IGNORED;

    if (step->layout != VK_IMAGE_LAYOUT_UNDEFINED)
        subresource->layout = step->layout;
    if (moves)
        subresource->between = step->to_family != family;
}

/* queue: 0: the host. */
static void apply_step(struct image_layouts *l, const struct step *step, uint64_t queue, uint32_t family)
{
    struct image_layout *image = lap_map_get(&l->images, step->object);
    const VkImageSubresourceRange *range = &step->range;
    bool is_volume = image && image->info.imageType == VK_IMAGE_TYPE_3D; /* views have its slices as layers */
    uint32_t base = is_volume ? 0 : range->baseArrayLayer, levels, layers;

    if (!image || !make_subresources(image))
        return;
    levels = end_of(range->baseMipLevel, range->levelCount, image->info.mipLevels);
    layers = end_of(base, range->layerCount, image->info.arrayLayers);
    if (queue)
        image->queue = queue;
    for (VkImageAspectFlags left = image->aspects & range->aspectMask; left; left &= left - 1)
        for (uint32_t layer = base; layer < layers; layer++)
            for (uint32_t level = range->baseMipLevel; level < levels; level++)
                apply_one(&image->subresources[number_of(image, left & -left, level, layer)], step, family);
}

static void apply(struct image_layouts *l, uint64_t commands, uint64_t queue, uint32_t family, uint32_t depth)
{
    const struct steps *steps = lap_map_get(&l->commands, commands);

    if (depth == MOST_DEPTH || l->executed++ == MOST_EXECUTED) {
        l->lost = true;
        return;
    }
    for (size_t i = 0; steps && i < steps->count && !l->lost; i++)
        if (steps->at[i].executes)
            apply(l, steps->at[i].object, queue, family, depth + 1);
        else
            apply_step(l, &steps->at[i], queue, family);
}

static void submit(struct image_layouts *l, VkQueue handle, VkCommandBuffer commands)
{
    const uint64_t queue = gen_u64_VkQueue(handle);

    l->executed = 0;
    if (commands)
        apply(l, gen_u64_VkCommandBuffer(commands), queue, image_layouts_family(l, queue), 0);
}

static void see_submit(struct image_layouts *l, const struct gen_args_vkQueueSubmit *a)
{
    for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)
        for (uint32_t k = 0; a->pSubmits[i].pCommandBuffers && k < a->pSubmits[i].commandBufferCount; k++)
            submit(l, a->queue, a->pSubmits[i].pCommandBuffers[k]);
}

static void see_submit2(struct image_layouts *l, const struct gen_args_vkQueueSubmit2 *a)
{
    for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)
        for (uint32_t k = 0; a->pSubmits[i].pCommandBufferInfos && k < a->pSubmits[i].commandBufferInfoCount; k++)
            submit(l, a->queue, a->pSubmits[i].pCommandBufferInfos[k].commandBuffer);
}

static enum lap_status see_block(struct image_layouts *l, const struct gen_args_lapilliBlock *a)
{
    static struct steps none;
    struct steps *steps = lap_map_get(&l->blocks, a->block);
    return lap_map_put(&l->commands, gen_u64_VkCommandBuffer(a->commandBuffer), steps ? steps : &none, NULL);
}

#ifdef VK_EXT_host_image_copy
static void see_transitions(struct image_layouts *l, const struct gen_args_vkTransitionImageLayoutEXT *a)
{
    for (uint32_t i = 0; a->pTransitions && i < a->transitionCount; i++) {
        const struct step step = {.object = gen_u64_VkImage(a->pTransitions[i].image),
                                  .layout = a->pTransitions[i].newLayout,
                                  .from_family = VK_QUEUE_FAMILY_IGNORED,
                                  .to_family = VK_QUEUE_FAMILY_IGNORED,
                                  .range = a->pTransitions[i].subresourceRange};
        apply_step(l, &step, 0, VK_QUEUE_FAMILY_IGNORED);
    }
}
#endif

static void see_bound(struct image_layouts *l, const struct gen_args_lapilliBindImage *a)
{
    struct image_layout *image = lap_map_get(&l->images, gen_u64_VkImage(a->image));
    if (image && a->swapchain)
        image->is_presentable = true;
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct image_layouts *l = state;

    switch (call->command) {
    case GEN_vkCreateImage:
        return see_image(l, call->args);
    case GEN_vkCreateImageView:
        return see_view(l, call->args);
    case GEN_vkCreateFramebuffer:
        return see_framebuffer(l, call->args);
    case GEN_vkCreateRenderPass:
        return see_pass(l, call->args);
    case GEN_vkCreateRenderPass2:
        return see_pass2(l, call->args);
    case GEN_vkGetDeviceQueue: {
        const struct gen_args_vkGetDeviceQueue *a = call->args;
        return see_queue(l, a->pQueue, a->queueFamilyIndex);
    }
    case GEN_vkGetDeviceQueue2: {
        const struct gen_args_vkGetDeviceQueue2 *a = call->args;
        return see_queue(l, a->pQueue, a->pQueueInfo ? a->pQueueInfo->queueFamilyIndex : UINT32_MAX);
    }
    case GEN_lapilliBindImage:
        see_bound(l, call->args);
        return LAP_OK;
    case GEN_lapilliBlock:
        return see_block(l, call->args);
    case GEN_vkQueueSubmit:
        see_submit(l, call->args);
        return LAP_OK;
    case GEN_vkQueueSubmit2:
        see_submit2(l, call->args);
        return LAP_OK;
#ifdef VK_EXT_host_image_copy
    case GEN_vkTransitionImageLayoutEXT:
        see_transitions(l, call->args);
        return LAP_OK;
#endif
    default:
        return LAP_OK;
    }
}

void image_layouts_visitor(struct image_layouts *layouts, uint64_t last_ticket, struct trace_visitor *out)
{
    static const uint16_t commands[] = {GEN_vkCreateImage,
                                        GEN_vkCreateImageView,
                                        GEN_vkCreateFramebuffer,
                                        GEN_vkCreateRenderPass,
                                        GEN_vkCreateRenderPass2,
                                        GEN_vkGetDeviceQueue,
                                        GEN_vkGetDeviceQueue2,
                                        GEN_lapilliBindImage,
                                        GEN_lapilliBlock,
                                        GEN_vkQueueSubmit,
                                        GEN_vkQueueSubmit2,
#ifdef VK_EXT_host_image_copy
                                        GEN_vkTransitionImageLayoutEXT,
#endif
                                        0};
    *out = (struct trace_visitor){.commands = commands,
                                  .visit = visit,
                                  .visit_in_block = visit_in_block,
                                  .state = layouts,
                                  .last_ticket = last_ticket};
}

/* ---- queries ---- */

const struct image_layout *image_layouts_find(const struct image_layouts *l, uint64_t image)
{
    const struct image_layout *found = l->lost ? NULL : lap_map_get(&l->images, image);
    return found && found->subresources ? found : NULL;
}

uint64_t image_layouts_queue(const struct image_layouts *l, const struct image_layout *image)
{
    return image->queue || l->has_several ? image->queue : l->queue;
}

uint32_t image_layouts_family(const struct image_layouts *l, uint64_t queue)
{
    const struct queue *found = lap_map_get(&l->queues, queue);
    return found ? found->family : UINT32_MAX;
}

struct image_subresource image_layout_of(const struct image_layout *image, VkImageAspectFlags aspect, uint32_t level,
                                         uint32_t layer)
{
    return image->subresources[number_of(image, aspect, level, layer)];
}

VkImageLayout image_layout_of_all(const struct image_layout *image, uint32_t level, uint32_t layer)
{
    VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;

    for (VkImageAspectFlags left = image->aspects; left; left &= left - 1) {
        struct image_subresource one = image_layout_of(image, left & -left, level, layer);
        if (left != image->aspects && one.layout != layout)
            return VK_IMAGE_LAYOUT_UNDEFINED;
        layout = one.layout;
    }
    return layout;
}
