/* SPDX-License-Identifier: MIT */
#include "inspector/state/attachments.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/pass.h"

struct list {
    const struct bound *bound;
    struct attachment *items;
    size_t count, capacity;
    const uint64_t *views; /* [number of the attachment in the render pass] */
    uint32_t view_count;
    const struct fact_render_pass *pass;
};

const char *attachment_role_name(enum attachment_role role)
{
    static const char *const names[] = {[ATTACHMENT_COLOR] = "color",
                                        [ATTACHMENT_RESOLVE] = "resolve",
                                        [ATTACHMENT_DEPTH_STENCIL] = "depth-stencil",
                                        [ATTACHMENT_DEPTH] = "depth",
                                        [ATTACHMENT_STENCIL] = "stencil",
                                        [ATTACHMENT_DEPTH_RESOLVE] = "depth-resolve",
                                        [ATTACHMENT_STENCIL_RESOLVE] = "stencil-resolve",
                                        [ATTACHMENT_INPUT] = "input",
                                        [ATTACHMENT_SHADING_RATE] = "shading-rate",
                                        [ATTACHMENT_DENSITY_MAP] = "density-map"};
    return names[role];
}

static void add_view(struct list *list, enum attachment_role role, uint32_t number, uint64_t view, VkFormat format,
                     VkImageLayout layout, VkImageLayout stencil_layout, struct lap_pass_layouts inside,
                     VkAttachmentLoadOp load, VkAttachmentLoadOp stencil_load)
{
    const struct fact_view *fact = fact_of_view(list->bound->facts, view);

    if (list->count < list->capacity)
        list->items[list->count++] = (struct attachment){.role = role,
                                                         .number = number,
                                                         .view = view,
                                                         .image = fact ? fact->image : 0,
                                                         .format = fact ? fact->format : format,
                                                         .range = fact ? fact->range : (VkImageSubresourceRange){0},
                                                         .layout = layout,
                                                         .stencil_layout = stencil_layout,
                                                         .inside = inside,
                                                         .load = load,
                                                         .stencil_load = stencil_load};
}

/* attachment: its number in the render pass. */
static void add(struct list *list, enum attachment_role role, uint32_t number, uint32_t attachment)
{
    if (attachment < list->pass->attachment_count)
        add_view(list, role, number, attachment < list->view_count ? list->views[attachment] : 0,
                 list->pass->formats[attachment], list->pass->layouts[attachment],
                 list->pass->stencil_layouts[attachment], list->pass->inside[attachment], list->pass->loads[attachment],
                 list->pass->stencil_loads[attachment]);
}

static void find_imageless(struct list *list, struct lap_arena *arena, const VkRenderPassBeginInfo *info)
{
    for (const VkBaseInStructure *c = info->pNext; c; c = c->pNext) {
        const VkRenderPassAttachmentBeginInfo *views = (const void *)c;
        uint64_t *copy;
        if (c->sType != VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO || !views->pAttachments)
            continue;
        copy = lap_arena_zalloc(arena, (size_t)views->attachmentCount + 1, sizeof *copy, 8);
        for (uint32_t i = 0; copy && i < views->attachmentCount; i++)
            copy[i] = gen_u64_VkImageView(views->pAttachments[i]);
        list->views = copy;
        list->view_count = copy ? views->attachmentCount : 0;
    }
}

static void of_render_pass(struct list *list, struct lap_arena *arena, const VkRenderPassBeginInfo *info)
{
    const struct bound_pass *pass = &list->bound->pass;
    const struct fact_framebuffer *framebuffer = fact_of_framebuffer(list->bound->facts, pass->framebuffer);
    const struct fact_subpass *subpass;

    if (!list->pass || pass->subpass >= list->pass->subpass_count)
        return;
    subpass = &list->pass->subpasses[pass->subpass];
    list->views = framebuffer ? framebuffer->views : NULL;
    list->view_count = framebuffer ? framebuffer->view_count : 0;
    if (info)
        find_imageless(list, arena, info);
    list->capacity = (size_t)2 * subpass->color_count + subpass->input_count + 1;
    list->items = lap_arena_zalloc(arena, list->capacity, sizeof *list->items, 8);
    if (!list->items)
        list->capacity = 0;
    for (uint32_t i = 0; i < subpass->color_count; i++)
        add(list, ATTACHMENT_COLOR, i, subpass->colors[i]);
    for (uint32_t i = 0; subpass->resolves && i < subpass->color_count; i++)
        add(list, ATTACHMENT_RESOLVE, i, subpass->resolves[i]);
    add(list, ATTACHMENT_DEPTH_STENCIL, 0, subpass->depth);
    for (uint32_t i = 0; i < subpass->input_count; i++)
        add(list, ATTACHMENT_INPUT, i, subpass->inputs[i]);
}

static void add_rendering(struct list *list, enum attachment_role role, enum attachment_role resolve, uint32_t number,
                          const VkRenderingAttachmentInfo *info)
{
    if (info && info->imageView)
        add_view(list, role, number, gen_u64_VkImageView(info->imageView), VK_FORMAT_UNDEFINED, info->imageLayout,
                 info->imageLayout, (struct lap_pass_layouts){info->imageLayout, info->imageLayout}, info->loadOp,
                 info->loadOp);
    if (info && info->imageView && info->resolveMode && info->resolveImageView)
        add_view(list, resolve, number, gen_u64_VkImageView(info->resolveImageView), VK_FORMAT_UNDEFINED,
                 info->resolveImageLayout, info->resolveImageLayout,
                 (struct lap_pass_layouts){info->resolveImageLayout, info->resolveImageLayout},
                 VK_ATTACHMENT_LOAD_OP_DONT_CARE, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
}

static void of_rendering(struct list *list, struct lap_arena *arena, const VkRenderingInfo *info)
{
    static const struct lap_pass_layouts none = {VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_UNDEFINED};
    uint32_t colors = info->pColorAttachments ? info->colorAttachmentCount : 0;

    list->capacity = (size_t)2 * colors + 6;
    list->items = lap_arena_zalloc(arena, list->capacity, sizeof *list->items, 8);
    if (!list->items)
        list->capacity = 0;
    for (uint32_t i = 0; i < colors; i++)
        add_rendering(list, ATTACHMENT_COLOR, ATTACHMENT_RESOLVE, i, &info->pColorAttachments[i]);
    add_rendering(list, ATTACHMENT_DEPTH, ATTACHMENT_DEPTH_RESOLVE, 0, info->pDepthAttachment);
    add_rendering(list, ATTACHMENT_STENCIL, ATTACHMENT_STENCIL_RESOLVE, 0, info->pStencilAttachment);
    for (const VkBaseInStructure *c = info->pNext; c; c = c->pNext) {
        if (c->sType == VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR)
            add_view(list, ATTACHMENT_SHADING_RATE, 0,
                     gen_u64_VkImageView(((const VkRenderingFragmentShadingRateAttachmentInfoKHR *)c)->imageView),
                     VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_UNDEFINED, none,
                     VK_ATTACHMENT_LOAD_OP_DONT_CARE, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
        if (c->sType == VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_INFO_EXT)
            add_view(list, ATTACHMENT_DENSITY_MAP, 0,
                     gen_u64_VkImageView(((const VkRenderingFragmentDensityMapAttachmentInfoEXT *)c)->imageView),
                     VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_UNDEFINED, none,
                     VK_ATTACHMENT_LOAD_OP_DONT_CARE, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
    }
}

enum lap_status attachments_of(const struct bound *bound, struct lap_arena *arena, struct attachment **out,
                               size_t *out_count, const struct lap_args **out_begin, uint32_t *out_command)
{
    struct list list = {.bound = bound, .pass = fact_of_render_pass(bound->facts, bound->pass.render_pass)};
    struct lap_block at = bound->pass.at;
    struct lap_args *args;
    enum lap_status status;

    *out = NULL;
    *out_count = 0;
    *out_begin = NULL;
    *out_command = GEN_COMMAND_NONE;
    if (bound->pass.kind == BOUND_NO_PASS)
        return LAP_OK;
    args = lap_arena_alloc(arena, sizeof *args, _Alignof(struct lap_args));
    if (!args)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for attachments");
    at.dec.arena = arena;
    status = lap_block_next(&at, out_command, args);
    if (status != LAP_OK)
        return status;
    *out_begin = args;
    if (bound->pass.kind == BOUND_RENDER_PASS)
        of_render_pass(&list, arena, lap_pass_begin_info(*out_command, args->bytes));
    else if (lap_pass_rendering_info(*out_command, args->bytes))
        of_rendering(&list, arena, lap_pass_rendering_info(*out_command, args->bytes));
    *out = list.items;
    *out_count = list.count;
    return LAP_OK;
}
