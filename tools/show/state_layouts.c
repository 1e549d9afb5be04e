/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "inspector/state/image_layouts.h"
#include "tools/show/state_print.h"
#include "tools/show/text.h"
#include "vulkan/texel/texels.h"

struct shown {
    const struct lap_state_view *view;
    const struct image_layout *image;
    unsigned count; /* of the ranges so far */
};

/* Levels and layers that have equal layouts. */
struct range {
    VkImageAspectFlags aspects;
    uint32_t level, levels, layer, layers;
    struct image_subresource is;
};

static bool are_same(struct image_subresource a, struct image_subresource b)
{
    return a.layout == b.layout && a.between == b.between;
}

static bool is_same(const struct image_layout *image, uint32_t level, uint32_t layer, uint32_t level2, uint32_t layer2)
{
    for (VkImageAspectFlags left = image->aspects; left; left &= left - 1)
        if (!are_same(image_layout_of(image, left & -left, level, layer),
                      image_layout_of(image, left & -left, level2, layer2)))
            return false;
    return true;
}

static bool layers_are_same(const struct image_layout *image, uint32_t layer, uint32_t other)
{
    for (uint32_t level = 0; level < image->info.mipLevels; level++)
        if (!is_same(image, level, layer, level, other))
            return false;
    return true;
}

/* ---- a range ---- */

static const char *layout_name(VkImageLayout layout, char text[24])
{
    const char *name = lap_text_named("VkImageLayout", layout);

    snprintf(text, 24, "%" PRId32, (int32_t)layout);
    return name ? name : text;
}

static void put_numbers(FILE *out, const char *name, uint32_t first, uint32_t count)
{
    if (count == 1)
        fprintf(out, "%s %" PRIu32, name, first);
    else
        fprintf(out, "%ss %" PRIu32 " to %" PRIu32, name, first, first + count - 1);
}

static const char *aspect_name(VkImageAspectFlags aspect)
{
    switch (aspect) {
    case VK_IMAGE_ASPECT_DEPTH_BIT:
        return "depth";
    case VK_IMAGE_ASPECT_STENCIL_BIT:
        return "stencil";
    case VK_IMAGE_ASPECT_PLANE_0_BIT:
        return "plane 0";
    case VK_IMAGE_ASPECT_PLANE_1_BIT:
        return "plane 1";
    default:
        return "plane 2";
    }
}

static void put_range_text(struct shown *shown, const struct range *range)
{
    static const char prefix[] = "VK_IMAGE_LAYOUT_";
    const VkImageCreateInfo *info = &shown->image->info;
    bool has_levels = info->mipLevels > 1, has_layers = shown->image->layers > 1;
    const char *aspect =
        range->aspects == lap_texels_range_of(shown->image->aspects) ? "" : aspect_name(range->aspects);
    char number[24];
    const char *name = layout_name(range->is.layout, number);
    FILE *out = shown->view->out;

    lap_state_put_title(shown->view, shown->count++ ? "" : "layout");
    fputs(aspect, out);
    fputs(*aspect && (has_levels || has_layers) ? " of " : "", out);
    if (has_levels)
        put_numbers(out, "level", range->level, range->levels);
    fputs(has_levels && has_layers ? " of " : "", out);
    if (has_layers)
        put_numbers(out, info->arrayLayers > 1 ? "layer" : "slice", range->layer, range->layers);
    fputs(*aspect || has_levels || has_layers ? ": " : "", out);
    fprintf(out, "%s%s\n", strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name,
            range->is.between ? ", released by one queue family, not acquired yet" : "");
}

static void put_range_json(struct shown *shown, const struct range *range)
{
    char flags[LAP_TEXT_FLAGS_MAX], number[24];

    lap_text_named_flags("VkImageAspectFlagBits", range->aspects, flags);
    fprintf(shown->view->out,
            "%s{\"aspects\": \"%s\", \"level\": %" PRIu32 ", \"levels\": %" PRIu32 ", \"layer\": %" PRIu32
            ", \"layers\": %" PRIu32 ", \"layout\": \"%s\", \"released\": %s}",
            shown->count++ ? ", " : "", flags, range->level, range->levels, range->layer, range->layers,
            layout_name(range->is.layout, number), range->is.between ? "true" : "false");
}

/* The aspects together where they are the same. */
static void put_range(struct shown *shown, struct range range)
{
    const struct image_layout *image = shown->image;
    bool all_same = true;

    range.is = image_layout_of(image, image->aspects & -image->aspects, range.level, range.layer);
    for (VkImageAspectFlags left = image->aspects; left; left &= left - 1)
        all_same &= are_same(image_layout_of(image, left & -left, range.level, range.layer), range.is);
    for (VkImageAspectFlags left = image->aspects; left; left = all_same ? 0 : left & (left - 1)) {
        range.aspects = all_same ? lap_texels_range_of(left) : left & -left;
        range.is = image_layout_of(image, left & -left, range.level, range.layer);
        (shown->view->json ? put_range_json : put_range_text)(shown, &range);
    }
}

static void put_ranges(struct shown *shown)
{
    const struct image_layout *image = shown->image;

    for (uint32_t layer = 0, layers; layer < image->layers; layer += layers) {
        for (layers = 1; layer + layers < image->layers && layers_are_same(image, layer, layer + layers);)
            layers++;
        for (uint32_t level = 0, levels; level < image->info.mipLevels; level += levels) {
            for (levels = 1;
                 level + levels < image->info.mipLevels && is_same(image, level, layer, level + levels, layer);)
                levels++;
            put_range(shown, (struct range){.level = level, .levels = levels, .layer = layer, .layers = layers});
        }
    }
}

/* ---- an image ---- */

static void put_text(struct shown *shown, const char *obstacle, uint64_t queue)
{
    FILE *out = shown->view->out;

    if (obstacle) {
        lap_state_put_title(shown->view, "layout");
        fprintf(out, "not followed: %s\n", obstacle);
        return;
    }
    put_ranges(shown);
    if (!queue)
        return;
    lap_state_put_title(shown->view, "used on");
    fprintf(out, "VkQueue:%" PRIu64 "\n", queue);
}

static void put_json(struct shown *shown, const char *obstacle, uint64_t queue)
{
    FILE *out = shown->view->out;

    fputs("{\"obstacle\": ", out);
    lap_text_put_json(out, obstacle);
    fputs(", \"queue\": ", out);
    lap_state_put_handle(out, GEN_HANDLE_VkQueue, queue);
    fputs(", \"ranges\": [", out);
    if (!obstacle)
        put_ranges(shown);
    fputs("]}", out);
}

enum lap_status lap_state_layouts(const struct lap_state_view *view, const struct object_life *life)
{
    struct shown shown = {.view = view};
    struct image_layouts *layouts = NULL;
    const char *obstacle = NULL;
    struct trace_visitor visitor;
    enum lap_status status;

    if (view->json)
        fputs(", \"layouts\": ", view->out);
    if (life->type != GEN_HANDLE_VkImage) {
        fputs(view->json ? "null" : "", view->out);
        return LAP_OK;
    }
    layouts = image_layouts_create();
    if (!layouts)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    image_layouts_visitor(layouts, view->last, &visitor);
    image_layouts_end_in(layouts, &view->found);
    status = lap_state_read(view, &visitor);
    if (status == LAP_OK) {
        shown.image = image_layouts_of(layouts, life->index, &obstacle);
        (view->json ? put_json : put_text)(&shown, obstacle, shown.image ? shown.image->queue : 0);
    }
    image_layouts_destroy(layouts);
    return status;
}
