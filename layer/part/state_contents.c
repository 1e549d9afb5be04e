/* SPDX-License-Identifier: MIT */
/* Layouts and contents of images, and contents of buffers. */
#include "gen_encode_block.h"
#include "layer/command/image_state.h"
#include "layer/core/keeper.h"
#include "layer/core/records.h"
#include "layer/part/live_objects.h"
#include "layer/part/lost.h"
#include "layer/part/presentable.h"
#include "layer/part/readback.h"
#include "layer/part/state.h"
#include "vulkan/texel/texels.h"

/* ---- layouts ---- */

static void barrier(struct layer_state_commands *commands, const struct layer_image *image, VkImageLayout layout,
                    const VkImageSubresourceRange *range)
{
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
        .newLayout = layout,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = gen_VkImage(image->object.handle),
        .subresourceRange = *range,
    };
    struct lap_enc *enc = layer_state_command(commands, GEN_vkCmdPipelineBarrier);
    if (enc)
        gen_encode_vkCmdPipelineBarrier(enc, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                                        0, NULL, 0, NULL, 1, &barrier);
}

static bool is_in_one_layout(const struct layer_image *image)
{
    const VkImageLayout first = layer_readback_layout(image, 0, 0);

    for (uint32_t i = 0; i < image->info.arrayLayers; i++)
        for (uint32_t level = 0; level < image->info.mipLevels; level++)
            if (!layer_readback_is_known(first) || layer_readback_layout(image, level, i) != first)
                return false;
    return true;
}

static void set_level(struct layer_state_commands *commands, const struct layer_image *image, uint32_t level,
                      uint32_t array_layer)
{
    VkImageSubresourceRange range = {lap_texels_range_of(image->state->aspects), level, 1, array_layer, 1};
    const VkImageLayout all = layer_readback_layout(image, level, array_layer);

    if (layer_readback_is_known(all)) {
        barrier(commands, image, all, &range);
        return;
    }
    for (VkImageAspectFlags left = image->state->aspects; left; left &= left - 1) {
        const struct layer_subresource *s =
            layer_image_subresource(image, image->state, left & -left, level, array_layer);
        range.aspectMask = left & -left;
        if (layer_readback_is_known(s->layout))
            barrier(commands, image, s->layout, &range);
    }
}

static bool has_memory(const struct layer_image *image)
{
    return layer_state_has_pages(image->pages) || layer_keeper_is_bound(GEN_HANDLE_VkImage, image->object.index);
}

enum lap_status layer_state_layouts(struct layer_state_commands *commands)
{
    struct layer_live_objects images;
    const enum lap_status status = layer_live_objects_of(commands->dev, GEN_HANDLE_VkImage, &images);

    for (size_t n = 0; n < images.count; n++) {
        const struct layer_image *image = (const struct layer_image *)images.items[n];
        const VkImageSubresourceRange all = {image->state ? lap_texels_range_of(image->state->aspects) : 0, 0,
                                             VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS};
        if (!image->state || !(image->swapchain || has_memory(image)))
            continue;
        if (is_in_one_layout(image)) {
            barrier(commands, image, layer_readback_layout(image, 0, 0), &all);
            continue;
        }
        for (uint32_t i = 0; i < image->info.arrayLayers; i++)
            for (uint32_t level = 0; level < image->info.mipLevels; level++)
                set_level(commands, image, level, i);
    }
    layer_live_objects_finish(&images);
    return status;
}

/* ---- contents ---- */

static enum lap_status read_buffers(struct layer_readback *r)
{
    struct layer_live_objects buffers;
    enum lap_status status = layer_live_objects_of(r->dev, GEN_HANDLE_VkBuffer, &buffers);

    for (size_t i = 0; i < buffers.count && status == LAP_OK; i++)
        if (layer_state_has_pages(((const struct layer_buffer *)buffers.items[i])->pages) ||
            layer_keeper_is_bound(GEN_HANDLE_VkBuffer, buffers.items[i]->index))
            status = layer_readback_buffer(r, (const struct layer_buffer *)buffers.items[i]);
    layer_live_objects_finish(&buffers);
    return status;
}

static enum lap_status read_images(struct layer_readback *r)
{
    struct layer_live_objects images;
    enum lap_status status = layer_live_objects_of(r->dev, GEN_HANDLE_VkImage, &images);

    for (size_t i = 0; i < images.count && status == LAP_OK; i++) {
        const struct layer_image *image = (const struct layer_image *)images.items[i];
        if (image->swapchain)
            status = layer_presentable_read(r, image);
        else if (has_memory(image))
            status = layer_readback_image(r, image, image->readable);
    }
    layer_live_objects_finish(&images);
    return status;
}

enum lap_status layer_state_contents(struct layer_device *dev)
{
    struct layer_readback r;
    enum lap_status status = layer_readback_init(&r, dev);

    if (status == LAP_OK)
        status = read_buffers(&r);
    if (status == LAP_OK)
        status = read_images(&r);
    if (status == LAP_OK)
        status = layer_readback_flush(&r);
    layer_readback_finish(&r);
    layer_lost_note(r.reasons);
    if (r.left_out)
        lap_log(&layer.log, LAP_LOG_WARNING,
                "what %llu images or buffers held can't be read: a part of the run begins without it",
                (unsigned long long)r.left_out);
    return status;
}
