/* SPDX-License-Identifier: MIT */
#include "inspector/state/image_layouts.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "inspector/position/held.h"
#include "inspector/state/submit_steps.h"
#include "vulkan/chain.h"
#include "vulkan/pass.h"
#include "vulkan/texel/texels.h"

#define ARENA_BYTES       ((size_t)1 << 30)
#define MOST_SUBRESOURCES (1u << 16) /* of an image; more than devices have */
#define MOST_OF_ALL       (1u << 24) /* subresources */

enum step_kind {
    STEP_LAYOUT,  /* of an image */
    STEP_SUBPASS, /* the attachments of a subpass */
    STEP_END      /* of a render pass */
};

/* The effect of a command. */
struct step {
    enum step_kind kind;
    VkImageLayout layout;
    uint64_t image;
    uint32_t from_family, to_family;
    VkImageSubresourceRange range;
    const struct pass *pass;
    const struct views *views;
    uint32_t subpass;
};

struct view {
    uint64_t image;
    VkImageSubresourceRange range;
};

struct views { /* of a framebuffer */
    uint32_t count;
    uint64_t at[];
};

struct layouts { /* of an attachment; of its stencil, too */
    uint32_t attachment;
    VkImageLayout layout, stencil;
};

struct subpass {
    uint32_t count;
    const struct layouts *at;
};

struct pass {
    uint32_t count, subpass_count;
    struct layouts *at; /* the final ones */
    struct subpass *subpasses;
};

struct queue {
    uint32_t family;
};

struct swapchain {
    VkImageCreateInfo info; /* of its images */
};

struct image_layouts {
    struct lap_arena arena; /* holds the values of all maps */
    struct lap_map images, views, framebuffers, passes, queues, swapchains;
    struct lap_map slicers; /* devices whose barriers count slices of volumes as layers: VK_KHR_maintenance9 */
    struct submit_steps steps;
    bool is_direct;               /* steps are applied at once, as commands are seen */
    uint64_t step_queue;          /* of these */
    struct lap_arena step_arena;  /* of their views; until the next beginning of a render pass */
    const struct views *attached; /* in the block that is visited: since its last beginning of a render pass */
    const struct pass *pass;
    uint32_t subpass;
    uint32_t subresources; /* of all images */
    uint64_t queue;        /* the last one that was seen */
    bool has_several;      /* queues */
    bool lost;             /* the layouts can't be followed any more */
};

/* ---- creation ---- */

struct image_layouts *image_layouts_create(void)
{
    struct image_layouts *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    lap_arena_init(&l->arena, ARENA_BYTES);
    lap_arena_init(&l->step_arena, 0);
    struct lap_map *const maps[] = {&l->images, &l->views,      &l->framebuffers, &l->passes,
                                    &l->queues, &l->swapchains, &l->slicers};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lap_map_init(maps[i]);
    submit_steps_init(&l->steps, &l->arena);
    return l;
}

static void free_image(void *user, uint64_t index, void *image)
{
    (void)user, (void)index;
    free(((struct image_layout *)image)->subresources);
}

void image_layouts_destroy(struct image_layouts *l)
{
    if (!l)
        return;
    lap_map_each(&l->images, free_image, NULL);
    struct lap_map *const maps[] = {&l->images, &l->views,      &l->framebuffers, &l->passes,
                                    &l->queues, &l->swapchains, &l->slicers};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lap_map_finish(maps[i]);
    submit_steps_finish(&l->steps);
    lap_arena_finish(&l->step_arena);
    lap_arena_finish(&l->arena);
    free(l);
}

static enum lap_status put(struct image_layouts *l, struct lap_map *map, uint64_t key, size_t bytes, void **out)
{
    *out = lap_arena_zalloc(&l->arena, 1, bytes, 8);
    return *out ? lap_map_put(map, key, *out, NULL) : lap_no_memory(NULL);
}

/* ---- objects ---- */

static enum lap_status see_device(struct image_layouts *l, const struct gen_args_vkCreateDevice *a)
{
#ifdef VK_KHR_maintenance9
    const VkPhysicalDeviceMaintenance9FeaturesKHR *features =
        a->pCreateInfo
            ? lap_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_9_FEATURES_KHR)
            : NULL;

    if (features && features->maintenance9 && a->pDevice && *a->pDevice)
        return lap_map_put(&l->slicers, gen_u64_VkDevice(*a->pDevice), l, NULL);
#endif
    return LAP_OK;
}

/* VkImageSubresourceRange, "baseArrayLayer" of 3D images. */
static bool has_slices(const struct image_layouts *l, VkDevice device, const VkImageCreateInfo *info)
{
    return info->imageType == VK_IMAGE_TYPE_3D && info->flags & VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT &&
           lap_map_get(&l->slicers, gen_u64_VkDevice(device));
}

static enum lap_status add_image(struct image_layouts *l, VkDevice device, VkImage handle,
                                 const VkImageCreateInfo *info, bool is_presentable)
{
    struct image_layout *image;
    enum lap_status status;
    void *value;

    if (!handle || lap_map_get(&l->images, gen_u64_VkImage(handle)))
        return LAP_OK;
    status = put(l, &l->images, gen_u64_VkImage(handle), sizeof *image, &value);
    if (status != LAP_OK)
        return status;
    image = value;
    image->info = *info;
    image->layers = has_slices(l, device, info) ? info->extent.depth : info->arrayLayers;
    image->info.pNext = NULL;
    image->info.pQueueFamilyIndices = NULL;
    image->aspects = lap_texels_parts(image->info.format);
    image->is_presentable = is_presentable;
    return LAP_OK;
}

static enum lap_status see_image(struct image_layouts *l, const struct gen_args_vkCreateImage *a)
{
    if (!a->pCreateInfo || !a->pImage)
        return LAP_OK;
    return add_image(l, a->device, *a->pImage, a->pCreateInfo,
                     lap_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR) != NULL);
}

static enum lap_status see_swapchain(struct image_layouts *l, const struct gen_args_vkCreateSwapchainKHR *a)
{
    const VkSwapchainCreateInfoKHR *info = a->pCreateInfo;
    enum lap_status status;
    void *value;

    if (!info || !a->pSwapchain || !*a->pSwapchain)
        return LAP_OK;
    status = put(l, &l->swapchains, gen_u64_VkSwapchainKHR(*a->pSwapchain), sizeof(struct swapchain), &value);
    if (status == LAP_OK)
        ((struct swapchain *)value)->info =
            (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                .imageType = VK_IMAGE_TYPE_2D,
                                .format = info->imageFormat,
                                .extent = {info->imageExtent.width, info->imageExtent.height, 1},
                                .mipLevels = 1,
                                .arrayLayers = info->imageArrayLayers,
                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                .usage = info->imageUsage};
    return status;
}

static enum lap_status see_swapchain_images(struct image_layouts *l, const struct gen_args_vkGetSwapchainImagesKHR *a)
{
    const struct swapchain *swapchain = lap_map_get(&l->swapchains, gen_u64_VkSwapchainKHR(a->swapchain));
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; swapchain && a->pSwapchainImages && i < *a->pSwapchainImageCount && status == LAP_OK; i++)
        status = add_image(l, a->device, a->pSwapchainImages[i], &swapchain->info, true);
    return status;
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

static struct views *new_views(struct lap_arena *arena, uint32_t count, const VkImageView *views)
{
    struct views *copy = lap_arena_zalloc(arena, 1, sizeof *copy + count * sizeof copy->at[0], 8);

    for (uint32_t i = 0; copy && i < count; i++)
        copy->at[i] = gen_u64_VkImageView(views[i]);
    if (copy)
        copy->count = count;
    return copy;
}

static enum lap_status see_framebuffer(struct image_layouts *l, const struct gen_args_vkCreateFramebuffer *a)
{
    const VkFramebufferCreateInfo *info = a->pCreateInfo;
    struct views *views;

    if (!info || !info->pAttachments || !a->pFramebuffer || !*a->pFramebuffer)
        return LAP_OK;
    views = new_views(&l->arena, info->attachmentCount, info->pAttachments);
    return views ? lap_map_put(&l->framebuffers, gen_u64_VkFramebuffer(*a->pFramebuffer), views, NULL)
                 : lap_no_memory(NULL);
}

/* ---- render passes ---- */

static struct pass *new_pass(struct image_layouts *l, const VkRenderPass *handle, uint32_t count,
                             uint32_t subpass_count)
{
    struct pass *pass;
    void *value;

    if (put(l, &l->passes, gen_u64_VkRenderPass(*handle), sizeof *pass, &value) != LAP_OK)
        return NULL;
    pass = value;
    pass->at = lap_arena_zalloc(&l->arena, (size_t)count + 1, sizeof *pass->at, 8);
    pass->subpasses = lap_arena_zalloc(&l->arena, (size_t)subpass_count + 1, sizeof *pass->subpasses, 8);
    if (!pass->at || !pass->subpasses)
        return NULL;
    pass->count = count;
    pass->subpass_count = subpass_count;
    return pass;
}

/* most: of attachments that may be added. */
static struct layouts *new_subpass(struct image_layouts *l, struct subpass *subpass, size_t most)
{
    struct layouts *at = lap_arena_zalloc(&l->arena, most + 1, sizeof *at, 8);
    subpass->at = at;
    return at;
}

static void add_reference(struct subpass *subpass, struct layouts *at, const VkAttachmentReference *reference)
{
    if (reference && reference->attachment != VK_ATTACHMENT_UNUSED)
        at[subpass->count++] = (struct layouts){reference->attachment, reference->layout, reference->layout};
}

static void add_reference2(struct subpass *subpass, struct layouts *at, const VkAttachmentReference2 *reference)
{
    const VkAttachmentReferenceStencilLayout *stencil =
        reference ? lap_chain_find(reference->pNext, VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_STENCIL_LAYOUT) : NULL;

    if (reference && reference->attachment != VK_ATTACHMENT_UNUSED)
        at[subpass->count++] = (struct layouts){reference->attachment, reference->layout,
                                                stencil ? stencil->stencilLayout : reference->layout};
}

static bool describe_subpass(struct image_layouts *l, struct subpass *subpass, const VkSubpassDescription *info,
                             const VkRenderPassFragmentDensityMapCreateInfoEXT *map)
{
    struct layouts *at =
        new_subpass(l, subpass, (size_t)info->inputAttachmentCount + (size_t)2 * info->colorAttachmentCount + 2);

    if (!at)
        return false;
    for (uint32_t i = 0; info->pInputAttachments && i < info->inputAttachmentCount; i++)
        add_reference(subpass, at, &info->pInputAttachments[i]);
    for (uint32_t i = 0; info->pColorAttachments && i < info->colorAttachmentCount; i++)
        add_reference(subpass, at, &info->pColorAttachments[i]);
    for (uint32_t i = 0; info->pResolveAttachments && i < info->colorAttachmentCount; i++)
        add_reference(subpass, at, &info->pResolveAttachments[i]);
    add_reference(subpass, at, info->pDepthStencilAttachment);
    add_reference(subpass, at, map ? &map->fragmentDensityMapAttachment : NULL);
    return true;
}

static bool describe_subpass2(struct image_layouts *l, struct subpass *subpass, const VkSubpassDescription2 *info,
                              const VkRenderPassFragmentDensityMapCreateInfoEXT *map)
{
    const VkSubpassDescriptionDepthStencilResolve *resolve =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE);
    const VkFragmentShadingRateAttachmentInfoKHR *rate =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
    struct layouts *at =
        new_subpass(l, subpass, (size_t)info->inputAttachmentCount + (size_t)2 * info->colorAttachmentCount + 4);

    if (!at)
        return false;
    for (uint32_t i = 0; info->pInputAttachments && i < info->inputAttachmentCount; i++)
        add_reference2(subpass, at, &info->pInputAttachments[i]);
    for (uint32_t i = 0; info->pColorAttachments && i < info->colorAttachmentCount; i++)
        add_reference2(subpass, at, &info->pColorAttachments[i]);
    for (uint32_t i = 0; info->pResolveAttachments && i < info->colorAttachmentCount; i++)
        add_reference2(subpass, at, &info->pResolveAttachments[i]);
    add_reference2(subpass, at, info->pDepthStencilAttachment);
    add_reference2(subpass, at, resolve ? resolve->pDepthStencilResolveAttachment : NULL);
    add_reference2(subpass, at, rate ? rate->pFragmentShadingRateAttachment : NULL);
    add_reference(subpass, at, map ? &map->fragmentDensityMapAttachment : NULL);
    return true;
}

static enum lap_status see_pass(struct image_layouts *l, const struct gen_args_vkCreateRenderPass *a)
{
    const VkRenderPassCreateInfo *info = a->pCreateInfo;
    const VkRenderPassFragmentDensityMapCreateInfoEXT *map;
    struct pass *pass;

    if (!info || !a->pRenderPass || !*a->pRenderPass)
        return LAP_OK;
    map = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_FRAGMENT_DENSITY_MAP_CREATE_INFO_EXT);
    pass = new_pass(l, a->pRenderPass, info->pAttachments ? info->attachmentCount : 0,
                    info->pSubpasses ? info->subpassCount : 0);
    for (uint32_t i = 0; pass && i < pass->count; i++)
        pass->at[i] = (struct layouts){i, info->pAttachments[i].finalLayout, info->pAttachments[i].finalLayout};
    for (uint32_t i = 0; pass && i < pass->subpass_count; i++)
        if (!describe_subpass(l, &pass->subpasses[i], &info->pSubpasses[i], map))
            return lap_no_memory(NULL);
    return pass ? LAP_OK : lap_no_memory(NULL);
}

static enum lap_status see_pass2(struct image_layouts *l, const struct gen_args_vkCreateRenderPass2 *a)
{
    const VkRenderPassCreateInfo2 *info = a->pCreateInfo;
    const VkRenderPassFragmentDensityMapCreateInfoEXT *map;
    struct pass *pass;

    if (!info || !a->pRenderPass || !*a->pRenderPass)
        return LAP_OK;
    map = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_FRAGMENT_DENSITY_MAP_CREATE_INFO_EXT);
    pass = new_pass(l, a->pRenderPass, info->pAttachments ? info->attachmentCount : 0,
                    info->pSubpasses ? info->subpassCount : 0);
    for (uint32_t i = 0; pass && i < pass->count; i++) {
        const VkAttachmentDescriptionStencilLayout *stencil =
            lap_chain_find(info->pAttachments[i].pNext, VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT);
        const VkImageLayout layout = info->pAttachments[i].finalLayout;
        pass->at[i] = (struct layouts){i, layout, stencil ? stencil->stencilFinalLayout : layout};
    }
    for (uint32_t i = 0; pass && i < pass->subpass_count; i++)
        if (!describe_subpass2(l, &pass->subpasses[i], &info->pSubpasses[i], map))
            return lap_no_memory(NULL);
    return pass ? LAP_OK : lap_no_memory(NULL);
}

/* ---- queues ---- */

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

static void apply_now(struct image_layouts *l, const struct step *step);

static enum lap_status add_step(struct image_layouts *l, const struct trace_call *call, const struct step *step)
{
    struct step *copy = l->is_direct ? NULL : lap_arena_alloc(&l->arena, sizeof *copy, 8);

    if (l->is_direct) {
        apply_now(l, step);
        return LAP_OK;
    }
    if (!copy)
        return lap_no_memory(NULL);
    *copy = *step;
    return submit_steps_add(&l->steps, call, copy);
}

static enum lap_status add_layout(struct image_layouts *l, const struct trace_call *call, VkImage image,
                                  const VkImageSubresourceRange *range, VkImageLayout layout, uint32_t from_family,
                                  uint32_t to_family)
{
    const struct step step = {.image = gen_u64_VkImage(image),
                              .layout = layout,
                              .from_family = from_family,
                              .to_family = to_family,
                              .range = *range};
    return image ? add_step(l, call, &step) : LAP_OK;
}

static enum lap_status add_barriers(struct image_layouts *l, const struct trace_call *call, uint32_t count,
                                    const VkImageMemoryBarrier *barriers)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; barriers && i < count && status == LAP_OK; i++)
        status = add_layout(l, call, barriers[i].image, &barriers[i].subresourceRange, barriers[i].newLayout,
                            barriers[i].srcQueueFamilyIndex, barriers[i].dstQueueFamilyIndex);
    return status;
}

static enum lap_status add_dependency(struct image_layouts *l, const struct trace_call *call,
                                      const VkDependencyInfo *info)
{
    const VkImageMemoryBarrier2 *barriers = info ? info->pImageMemoryBarriers : NULL;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; barriers && i < info->imageMemoryBarrierCount && status == LAP_OK; i++)
        status = add_layout(l, call, barriers[i].image, &barriers[i].subresourceRange, barriers[i].newLayout,
                            barriers[i].srcQueueFamilyIndex, barriers[i].dstQueueFamilyIndex);
    return status;
}

static enum lap_status next_subpass(struct image_layouts *l, const struct trace_call *call)
{
    const struct step step = {.kind = STEP_SUBPASS, .pass = l->pass, .views = l->attached, .subpass = l->subpass};

    if (!l->pass || !l->attached || l->subpass >= l->pass->subpass_count)
        return LAP_OK;
    l->subpass++;
    return add_step(l, call, &step);
}

static enum lap_status end_pass(struct image_layouts *l, const struct trace_call *call)
{
    const struct step step = {.kind = STEP_END, .pass = l->pass, .views = l->attached};

    l->pass = NULL;
    return step.pass && step.views ? add_step(l, call, &step) : LAP_OK;
}

static enum lap_status begin_pass(struct image_layouts *l, const struct trace_call *call,
                                  const VkRenderPassBeginInfo *info)
{
    const VkRenderPassAttachmentBeginInfo *imageless =
        info ? lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO) : NULL;

    l->pass = info ? lap_map_get(&l->passes, gen_u64_VkRenderPass(info->renderPass)) : NULL;
    l->attached = l->pass ? lap_map_get(&l->framebuffers, gen_u64_VkFramebuffer(info->framebuffer)) : NULL;
    l->subpass = 0;
    lap_arena_reset(&l->step_arena);
    if (l->pass && imageless && imageless->pAttachments && imageless->attachmentCount) {
        struct lap_arena *arena = l->is_direct ? &l->step_arena : &l->arena;
        struct views *views = new_views(arena, imageless->attachmentCount, imageless->pAttachments);
        if (!views)
            return lap_no_memory(NULL);
        l->attached = views;
    }
    return next_subpass(l, call);
}

static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    struct image_layouts *l = state;
    enum lap_status status;

    switch (lap_pass_step_of(call->command)) {
    case LAP_PASS_BEGIN:
        return begin_pass(l, call, lap_pass_begin_info(call->command, call->args));
    case LAP_PASS_NEXT:
        return next_subpass(l, call);
    case LAP_PASS_END:
        return end_pass(l, call);
    default:
        break;
    }
    switch (call->command) {
    case GEN_vkCmdPipelineBarrier: {
        const struct gen_args_vkCmdPipelineBarrier *a = call->args;
        return add_barriers(l, call, a->imageMemoryBarrierCount, a->pImageMemoryBarriers);
    }
    case GEN_vkCmdWaitEvents: {
        const struct gen_args_vkCmdWaitEvents *a = call->args;
        return add_barriers(l, call, a->imageMemoryBarrierCount, a->pImageMemoryBarriers);
    }
    case GEN_vkCmdPipelineBarrier2:
        return add_dependency(l, call, ((const struct gen_args_vkCmdPipelineBarrier2 *)call->args)->pDependencyInfo);
    case GEN_vkCmdWaitEvents2: {
        const struct gen_args_vkCmdWaitEvents2 *a = call->args;
        for (uint32_t i = 0; a->pDependencyInfos && i < a->eventCount; i++)
            if ((status = add_dependency(l, call, &a->pDependencyInfos[i])) != LAP_OK)
                return status;
        return LAP_OK;
    }
    case GEN_vkBeginCommandBuffer:
        l->pass = NULL;
        return LAP_OK;
    default:
        return submit_steps_execute(&l->steps, call);
    }
}

/* ---- submits ---- */

static uint32_t aspect_count(const struct image_layout *image)
{
    return (uint32_t)__builtin_popcount(image->aspects);
}

static size_t number_of(const struct image_layout *image, VkImageAspectFlags aspect, uint32_t level, uint32_t layer)
{
    const uint32_t before = (uint32_t)__builtin_popcount(image->aspects & (aspect - 1));
    return ((size_t)layer * image->info.mipLevels + level) * aspect_count(image) + before;
}

static const char *obstacle(const struct image_layouts *l, const struct image_layout *image)
{
    const uint64_t count = (uint64_t)image->info.mipLevels * image->layers;

    if (l->lost)
        return "command buffers execute too many others";
    if (!image->aspects)
        return "its format is not known";
    if (!count || count > MOST_SUBRESOURCES)
        return "it has too many levels and layers";
    if (!image->subresources && MOST_OF_ALL - l->subresources < count * aspect_count(image))
        return "the trace has too many levels and layers of images";
    return NULL;
}

static bool make_subresources(struct image_layouts *l, struct image_layout *image)
{
    uint64_t count = (uint64_t)image->info.mipLevels * image->layers * aspect_count(image);

    if (image->subresources)
        return true;
    if (obstacle(l, image))
        return false;
    image->subresources = calloc((size_t)count, sizeof *image->subresources);
    for (uint64_t i = 0; image->subresources && i < count; i++)
        image->subresources[i].layout = image->info.initialLayout;
    l->subresources += image->subresources ? (uint32_t)count : 0;
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
    struct image_layout *image = lap_map_get(&l->images, step->image);
    const VkImageSubresourceRange *range = &step->range;
    /* Views have slices of a volume as layers, also where it has one layout. */
    bool is_one = image && image->layers == 1;
    uint32_t base = is_one ? 0 : range->baseArrayLayer, levels, layers;

    if (!image || !make_subresources(l, image))
        return;
    levels = end_of(range->baseMipLevel, range->levelCount, image->info.mipLevels);
    layers = end_of(base, range->layerCount, image->layers);
    if (queue)
        image->queue = queue;
    for (VkImageAspectFlags left = lap_texels_parts_in(image->aspects, range->aspectMask); left; left &= left - 1)
        for (uint32_t layer = base; layer < layers; layer++)
            for (uint32_t level = range->baseMipLevel; level < levels; level++)
                apply_one(&image->subresources[number_of(image, left & -left, level, layer)], step, family);
}

static void apply_attachment(struct image_layouts *l, const struct step *step, const struct layouts *layouts,
                             uint64_t queue, uint32_t family)
{
    const uint32_t number = layouts->attachment;
    const struct view *of = number < step->views->count ? lap_map_get(&l->views, step->views->at[number]) : NULL;
    struct step one = {.image = of ? of->image : 0,
                       .layout = layouts->layout,
                       .from_family = VK_QUEUE_FAMILY_IGNORED,
                       .to_family = VK_QUEUE_FAMILY_IGNORED};

    if (!of)
        return;
    one.range = of->range;
    one.range.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT | VK_IMAGE_ASPECT_DEPTH_BIT;
    apply_step(l, &one, queue, family);
    one.range.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
    one.layout = layouts->stencil;
    apply_step(l, &one, queue, family);
}

struct applying {
    struct image_layouts *layouts;
    uint64_t queue;
    uint32_t family;
};

/* The layouts after a render pass are also those of attachments that no subpass uses. */
static bool apply(void *user, const void *what, struct submit_where *where)
{
    const struct applying *applying = user;
    struct image_layouts *l = applying->layouts;
    const struct step *step = what;
    const struct subpass *subpass = step->kind == STEP_SUBPASS ? &step->pass->subpasses[step->subpass] : NULL;

    (void)where;
    if (step->kind == STEP_LAYOUT)
        apply_step(l, step, applying->queue, applying->family);
    for (uint32_t i = 0; subpass && i < subpass->count; i++)
        apply_attachment(l, step, &subpass->at[i], applying->queue, applying->family);
    for (uint32_t i = 0; step->kind == STEP_END && i < step->pass->count; i++)
        apply_attachment(l, step, &step->pass->at[i], applying->queue, applying->family);
    return true;
}

static void apply_now(struct image_layouts *l, const struct step *step)
{
    struct applying applying = {.layouts = l, .queue = l->step_queue};

    applying.family = image_layouts_family(l, applying.queue);
    (void)apply(&applying, step, NULL);
}

static void submit(struct image_layouts *l, const struct trace_call *call)
{
    struct applying applying = {.layouts = l, .queue = position_submit_queue(call)};

    applying.family = image_layouts_family(l, applying.queue);
    if (!l->lost && !submit_steps_give(&l->steps, call, apply, &applying))
        l->lost = true;
}

#ifdef VK_EXT_host_image_copy
static void see_transitions(struct image_layouts *l, const struct gen_args_vkTransitionImageLayoutEXT *a)
{
    for (uint32_t i = 0; a->pTransitions && i < a->transitionCount; i++) {
        const struct step step = {.image = gen_u64_VkImage(a->pTransitions[i].image),
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
    case GEN_vkCreateDevice:
        return see_device(l, call->args);
    case GEN_vkCreateImage:
        return see_image(l, call->args);
    case GEN_vkCreateSwapchainKHR:
        return see_swapchain(l, call->args);
    case GEN_vkGetSwapchainImagesKHR:
        return see_swapchain_images(l, call->args);
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
        return submit_steps_record(&l->steps, call);
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        submit(l, call);
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

enum lap_status image_layouts_see_call(struct image_layouts *l, const struct trace_call *call)
{
    l->is_direct = true;
    if (call->command == GEN_lapilliBlock || call->command == GEN_vkQueueSubmit || call->command == GEN_vkQueueSubmit2)
        return LAP_OK;
    return visit(l, call);
}

enum lap_status image_layouts_see_command(struct image_layouts *l, uint64_t queue, bool is_secondary, uint32_t command,
                                          const void *args)
{
    const struct trace_call call = {.command = command, .args = args};

    l->step_queue = queue;
    /* Render passes go on over the secondary command buffers in them. */
    if ((is_secondary && command == GEN_vkBeginCommandBuffer) || command == GEN_vkCmdExecuteCommands)
        return LAP_OK;
    return visit_in_block(l, &call);
}

void image_layouts_visitor(struct image_layouts *layouts, uint64_t last_ticket, struct trace_visitor *out)
{
    static const uint16_t commands[] = {GEN_vkCreateDevice,
                                        GEN_vkCreateImage,
                                        GEN_vkCreateSwapchainKHR,
                                        GEN_vkGetSwapchainImagesKHR,
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

const struct image_layout *image_layouts_of(struct image_layouts *l, uint64_t image, const char **out_obstacle)
{
    struct image_layout *found = lap_map_get(&l->images, image);

    *out_obstacle = found ? obstacle(l, found) : "its creation is not known";
    if (!*out_obstacle && !make_subresources(l, found))
        *out_obstacle = "out of memory";
    return *out_obstacle ? NULL : found;
}

void image_layouts_end_in(struct image_layouts *l, const struct position_found *end)
{
    l->steps.end = end;
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

/* The layout of one aspect where it is one of depth and stencil together. */
static VkImageLayout layout_of_aspect(VkImageLayout layout, VkImageAspectFlags aspect)
{
    const bool stencil = aspect == VK_IMAGE_ASPECT_STENCIL_BIT;
    const VkImageLayout written =
        stencil ? VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL : VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL;
    const VkImageLayout read =
        stencil ? VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL : VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL;

    if (!stencil && aspect != VK_IMAGE_ASPECT_DEPTH_BIT)
        return layout;
    switch (layout) {
    case VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL:
        return written;
    case VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL:
    case VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL:
        return read;
    case VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL:
        return stencil ? written : read;
    case VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL:
        return stencil ? read : written;
    default:
        return layout;
    }
}

bool image_layout_differs(const struct image_layout *image, const VkImageSubresourceRange *range, VkImageLayout layout,
                          VkImageLayout *out_found, VkImageAspectFlags *out_aspect)
{
    const bool is_one = image->layers == 1;
    const uint32_t base = is_one ? 0 : range->baseArrayLayer;
    const uint32_t levels = end_of(range->baseMipLevel, range->levelCount, image->info.mipLevels);
    const uint32_t layers = end_of(base, range->layerCount, image->layers);

    for (VkImageAspectFlags left = lap_texels_parts_in(image->aspects, range->aspectMask); left; left &= left - 1)
        for (uint32_t layer = base; layer < layers; layer++)
            for (uint32_t level = range->baseMipLevel; level < levels; level++) {
                const VkImageAspectFlags aspect = left & -left;
                const struct image_subresource one = image_layout_of(image, aspect, level, layer);
                if (one.between || layout_of_aspect(one.layout, aspect) == layout_of_aspect(layout, aspect))
                    continue;
                *out_found = one.layout;
                *out_aspect = aspect;
                return true;
            }
    return false;
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
