/* SPDX-License-Identifier: MIT */
#include "layer/command/image_state.h"

#include <stdlib.h>

#include "base/array.h"
#include "gen_layer.h"
#include "layer/command/overwritten.h"
#include "layer/core/records.h"
#include "layer/memory/sparse_places.h"
#include "vulkan/texel/texels.h"

/* ---- steps ---- */

static bool append(struct layer_image_steps *steps, const struct layer_image_step *step)
{
    if (!lap_array_grow_u32(&steps->items, sizeof *steps->items, &steps->capacity, (size_t)steps->count + 1))
        return false;
    steps->items[steps->count++] = *step;
    return true;
}

bool layer_image_steps_append(struct layer_image_steps *steps, const struct layer_image_steps *more)
{
    for (uint32_t i = 0; i < more->count; i++)
        if (!append(steps, &more->items[i]))
            return false;
    return true;
}

static bool wants_steps(const struct layer_cmdbuf *cb)
{
    return layer.options.reads_back && cb->state == LAYER_CMDBUF_RECORDING;
}

static void add_step(struct layer_cmdbuf *cb, VkImage handle, struct layer_image_step *step)
{
    const struct layer_image *image = LAYER_GET(cb->device, VkImage, handle);
    if (!image || !image->memobj)
        return;
    step->object = layer_resource_of_image(image);
    if (!append(&cb->image_steps, step))
        layer_touch_failed(cb);
}

void layer_image_step(struct layer_cmdbuf *cb, VkImage image, enum layer_step_kind kind,
                      const VkImageSubresourceRange *range, VkImageLayout layout)
{
    struct layer_image_step step = {.kind = kind,
                                    .range = *range,
                                    .layout = layout,
                                    .from_family = VK_QUEUE_FAMILY_IGNORED,
                                    .to_family = VK_QUEUE_FAMILY_IGNORED};
    if (wants_steps(cb))
        add_step(cb, image, &step);
}

static enum layer_step_kind write_of(const struct layer_image *image, uint32_t level, VkOffset3D offset,
                                     VkExtent3D extent)
{
    bool covers =
        offset.x <= 0 && offset.y <= 0 && offset.z <= 0 && extent.width >= image->info.extent.width >> level &&
        extent.height >= image->info.extent.height >> level && extent.depth >= image->info.extent.depth >> level;
    return covers ? LAYER_STEP_COVERED : LAYER_STEP_WRITTEN;
}

void layer_image_step_region(struct layer_cmdbuf *cb, VkImage handle, const VkImageSubresourceLayers *where,
                             VkOffset3D offset, VkExtent3D extent)
{
    const VkImageSubresourceRange range = {where->aspectMask, where->mipLevel, 1, where->baseArrayLayer,
                                           where->layerCount};
    const struct layer_image *image = wants_steps(cb) ? LAYER_GET(cb->device, VkImage, handle) : NULL;

    if (!image || where->mipLevel > 31)
        return;
    layer_image_step(cb, handle, write_of(image, where->mipLevel, offset, extent), &range, VK_IMAGE_LAYOUT_UNDEFINED);
}

void layer_image_step_buffer(struct layer_cmdbuf *cb, const struct layer_buffer *buffer, VkDeviceSize offset,
                             VkDeviceSize bytes, bool all)
{
    const struct layer_image_step step = {.kind = all ? LAYER_STEP_COVERED : LAYER_STEP_WRITTEN,
                                          .object = layer_resource_of_buffer(buffer),
                                          .offset = offset,
                                          .bytes = bytes};
    if (wants_steps(cb) && !append(&cb->image_steps, &step))
        layer_touch_failed(cb);
}

/* ---- images ---- */

static uint32_t aspect_count(VkImageAspectFlags aspects)
{
    return (uint32_t)__builtin_popcount(aspects);
}

static size_t subresource_count(const struct layer_image *image, VkImageAspectFlags aspects)
{
    return (size_t)aspect_count(aspects) * image->info.mipLevels * image->info.arrayLayers;
}

struct layer_image_state *layer_image_state(struct layer_image *image)
{
    VkImageAspectFlags aspects = lap_texels_parts(image->info.format);
    size_t count = subresource_count(image, aspects);
    struct layer_image_state *state = image->state;

    if (state || !aspects)
        return state;
    state = calloc(1, sizeof *state + count * sizeof state->subresources[0]);
    if (!state) {
        layer_stop("out of memory");
        return NULL;
    }
    state->aspects = aspects;
    for (size_t i = 0; i < count; i++)
        state->subresources[i] =
            (struct layer_subresource){.layout = image->info.initialLayout, .varies = !image->cleared};
    image->state = state;
    return state;
}

void layer_image_finish(struct lap_object *object)
{
    free(((struct layer_image *)object)->state);
    layer_sparse_pages_destroy(((struct layer_image *)object)->pages);
}

struct layer_subresource *layer_image_subresource(const struct layer_image *image, struct layer_image_state *state,
                                                  VkImageAspectFlags aspect, uint32_t level, uint32_t array_layer)
{
    size_t number = ((size_t)array_layer * image->info.mipLevels + level) * aspect_count(state->aspects);
    return &state->subresources[number + aspect_count(state->aspects & (aspect - 1))];
}

static void apply_one(const struct layer_image_step *step, uint32_t family, uint64_t serial,
                      struct layer_subresource *subresource)
{
    bool moves = step->from_family != step->to_family && step->from_family != VK_QUEUE_FAMILY_IGNORED &&
                 step->to_family != VK_QUEUE_FAMILY_IGNORED;

    if (step->kind != LAYER_STEP_LAYOUT) {
        subresource->written = true;
        subresource->discarded = step->kind == LAYER_STEP_DISCARDED;
    }
    switch (step->kind) {
    case LAYER_STEP_WRITTEN:
        break;
    case LAYER_STEP_LAYOUT:
        if (step->layout != VK_IMAGE_LAYOUT_UNDEFINED)
            subresource->layout = step->layout;
        if (moves)
            subresource->between = step->to_family != family;
        break;
    case LAYER_STEP_COVERED:
        subresource->varies = false;
        subresource->covered = serial;
        break;
    case LAYER_STEP_VARIES:
    case LAYER_STEP_DISCARDED:
        subresource->varies = true;
        break;
    }
}

static uint32_t end_of(uint32_t first, uint32_t count, uint32_t most)
{
    return first < most && count > most - first ? most : first < most ? first + count : first;
}

static void apply_step(struct layer_image *image, const struct layer_image_step *step, uint32_t family, uint64_t serial)
{
    const VkImageSubresourceRange *range = &step->range;
    uint32_t levels = end_of(range->baseMipLevel, range->levelCount, image->info.mipLevels);
    uint32_t layers = end_of(range->baseArrayLayer, range->layerCount, image->info.arrayLayers);
    struct layer_image_state *state = layer_image_state(image);

    if (!state)
        return;
    state->serial = serial;
    for (VkImageAspectFlags left = lap_texels_parts_in(state->aspects, range->aspectMask); left; left &= left - 1)
        for (uint32_t layer_number = range->baseArrayLayer; layer_number < layers; layer_number++)
            for (uint32_t level = range->baseMipLevel; level < levels; level++)
                apply_one(step, family, serial,
                          layer_image_subresource(image, state, left & -left, level, layer_number));
}

void layer_image_steps_apply(struct layer_device *dev, const struct layer_cmdbuf *cb, uint32_t family, uint64_t serial)
{
    for (uint32_t i = 0; i < cb->image_steps.count; i++) {
        const struct layer_image_step *step = &cb->image_steps.items[i];
        struct lap_memobj *object = layer_resource_get(dev, step->object);
        bool is_image = layer_resource_is_image(step->object);
        if (object && is_image)
            apply_step(lap_memobj_user(object), step, family, serial);
        if (object && layer.options.verify_all && step->kind != LAYER_STEP_LAYOUT)
            layer_overwritten_by(object, step->offset, is_image ? UINT64_MAX : step->bytes,
                                 step->kind == LAYER_STEP_COVERED);
    }
}

void layer_image_overwritten(struct layer_image *image)
{
    size_t count = image->state ? subresource_count(image, image->state->aspects) : 0;

    for (size_t i = 0; i < count; i++)
        image->state->subresources[i].covered = 0;
}

void layer_image_stored(struct layer_image *image, const struct layer_view_range *view)
{
    struct layer_image_step step = {
        .kind = LAYER_STEP_WRITTEN,
        .range = {view->aspect, view->first_level, view->level_count, view->first_layer, view->layer_count}};
    uint64_t serial = image->state ? image->state->serial : 0; /* it has no new layout */

    if (!view->level_count) /* unknown */
        step.range = (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                                               VK_REMAINING_ARRAY_LAYERS};
    apply_step(image, &step, VK_QUEUE_FAMILY_IGNORED, serial);
}

/* ---- by the host ---- */

static void host_step(struct layer_device *dev, struct layer_image *image, const struct layer_image_step *step)
{
    pthread_mutex_lock(&dev->submit.mutex);
    apply_step(image, step, VK_QUEUE_FAMILY_IGNORED, image->state ? image->state->serial : 0);
    pthread_mutex_unlock(&dev->submit.mutex);
}

void layer_image_host_layout(struct layer_device *dev, VkImage handle, const VkImageSubresourceRange *range,
                             VkImageLayout layout)
{
    struct layer_image *image = layer.options.reads_back ? LAYER_GET(dev, VkImage, handle) : NULL;
    const struct layer_image_step step = {.kind = LAYER_STEP_LAYOUT,
                                          .range = *range,
                                          .layout = layout,
                                          .from_family = VK_QUEUE_FAMILY_IGNORED,
                                          .to_family = VK_QUEUE_FAMILY_IGNORED};
    if (image)
        host_step(dev, image, &step);
}

void layer_image_host_wrote(struct layer_device *dev, VkImage handle, const VkImageSubresourceLayers *where,
                            VkOffset3D offset, VkExtent3D extent)
{
    struct layer_image *image = layer.options.reads_back ? LAYER_GET(dev, VkImage, handle) : NULL;
    struct layer_image_step step = {
        .range = {where->aspectMask, where->mipLevel, 1, where->baseArrayLayer, where->layerCount}};

    if (!image || where->mipLevel > 31)
        return;
    step.kind = write_of(image, where->mipLevel, offset, extent);
    host_step(dev, image, &step);
}

bool layer_image_is_definite(struct layer_device *dev, VkImage handle, const VkImageSubresourceLayers *where)
{
    struct layer_image *image = layer.options.verify_all ? LAYER_GET(dev, VkImage, handle) : NULL;
    struct layer_image_state *state;
    bool varies = false;
    uint32_t layers;

    if (!image || image->swapchain)
        return true;
    pthread_mutex_lock(&dev->submit.mutex);
    state = layer_image_state(image);
    layers = end_of(where->baseArrayLayer, where->layerCount, image->info.arrayLayers);
    for (uint32_t i = where->baseArrayLayer; state && where->mipLevel < image->info.mipLevels && i < layers; i++)
        for (VkImageAspectFlags left = lap_texels_parts_in(state->aspects, where->aspectMask); left; left &= left - 1)
            varies |= layer_image_subresource(image, state, left & -left, where->mipLevel, i)->varies;
    varies |= state && image->loose;
    pthread_mutex_unlock(&dev->submit.mutex);
    return !varies;
}

/* ---- barriers ---- */

static void step_barriers(struct layer_cmdbuf *cb, uint32_t count, const VkImageMemoryBarrier *barriers)
{
    for (uint32_t i = 0; i < count; i++) {
        const VkImageMemoryBarrier *b = &barriers[i];
        struct layer_image_step step = {.kind = LAYER_STEP_LAYOUT,
                                        .range = b->subresourceRange,
                                        .layout = b->newLayout,
                                        .from_family = b->srcQueueFamilyIndex,
                                        .to_family = b->dstQueueFamilyIndex};
        add_step(cb, b->image, &step);
    }
}

static void step_dependency(struct layer_cmdbuf *cb, const VkDependencyInfo *info)
{
    for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
        const VkImageMemoryBarrier2 *b = &info->pImageMemoryBarriers[i];
        struct layer_image_step step = {.kind = LAYER_STEP_LAYOUT,
                                        .range = b->subresourceRange,
                                        .layout = b->newLayout,
                                        .from_family = b->srcQueueFamilyIndex,
                                        .to_family = b->dstQueueFamilyIndex};
        add_step(cb, b->image, &step);
    }
}

void layer_image_barriers(struct layer_cmdbuf *cb, uint32_t count, const VkImageMemoryBarrier *barriers)
{
    if (wants_steps(cb))
        step_barriers(cb, count, barriers);
}

void layer_image_dependency(struct layer_cmdbuf *cb, const VkDependencyInfo *info)
{
    if (wants_steps(cb))
        step_dependency(cb, info);
}

void hook_after_CmdPipelineBarrier(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                   VkPipelineStageFlags srcStageMask, VkPipelineStageFlags dstStageMask,
                                   VkDependencyFlags dependencyFlags, uint32_t memoryBarrierCount,
                                   const VkMemoryBarrier *pMemoryBarriers, uint32_t bufferMemoryBarrierCount,
                                   const VkBufferMemoryBarrier *pBufferMemoryBarriers, uint32_t imageMemoryBarrierCount,
                                   const VkImageMemoryBarrier *pImageMemoryBarriers)
{
    layer_image_barriers(cb, imageMemoryBarrierCount, pImageMemoryBarriers);
}

void hook_after_CmdPipelineBarrier2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                    const VkDependencyInfo *pDependencyInfo)
{
    layer_image_dependency(cb, pDependencyInfo);
}
