/* SPDX-License-Identifier: MIT */
#include "replayer/verify/read_image.h"

#include "replayer/command/parallel.h"
#include "replayer/core/handles.h"
#include "replayer/device/queues.h"
#include "replayer/format/block_copies.h"
#include "replayer/format/stencil_only.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/resource.h"
#include "replayer/memory/staging.h"
#include "replayer/resource/host_region.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/wait.h"
#include "vulkan/readback.h"
#include "vulkan/texel/texels.h"

static enum lap_status settle(struct replay *r, struct replay_device *dev)
{
    enum lap_status status;

    status = replay_submits_refuse_held(r, dev);
    if (status != LAP_OK || !dev->queues.main)
        return status;
    status = replay_staging_flush(r, dev, dev->queues.main->live);
    return status == LAP_OK ? replay_wait_device(r, dev, "all that was submitted") : status;
}

enum lap_status replay_settle(struct replay *r)
{
    enum lap_status status;

    replay_watch_enter(&r->watch, 0, REPLAY_WATCH_NO_PACKET);
    status = replay_parallel_finish(r);
    for (struct replay_device *dev = r->devices; dev && status == LAP_OK; dev = dev->next)
        status = settle(r, dev);
    replay_watch_leave(&r->watch);
    return status;
}

/* ---- images ---- */

static bool can_copy(const struct replay_queue *queue, VkImageAspectFlags aspect)
{
    const VkQueueFlags any = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    const bool is_deep = aspect & (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT);

    return queue && queue->flags & (is_deep ? (VkQueueFlags)VK_QUEUE_GRAPHICS_BIT : any);
}

/* The queue of a family that owns the image and can copy the aspect. NULL: there is none. */
static const struct replay_queue *queue_for(struct replay *r, const struct replay_image_reading *reading,
                                            const struct content *what)
{
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkQueue, what->queue);
    const struct replay_queue *queue =
        object && object->owner == reading->dev ? replay_queue_find(reading->dev, gen_VkQueue(object->live)) : NULL;

    if (!queue || (!can_copy(queue, what->aspect) && replay_shares_image(r, reading->dev, reading->image)))
        queue = reading->dev->queues.main;
    return can_copy(queue, what->aspect) ? queue : NULL;
}

static const char *obstacle(const struct replay_image *record, VkImageAspectFlags aspect)
{
    if (record->sparse)
        return "is sparse";
    if (!record->bound)
        return "has no memory";
    if (record->info.samples != VK_SAMPLE_COUNT_1_BIT)
        return "has several samples";
    if (aspect == VK_IMAGE_ASPECT_COLOR_BIT && lap_format_planes(record->recorded_format) > 1)
        return "has several planes";
    if (record->info.flags & VK_IMAGE_CREATE_PROTECTED_BIT)
        return "is protected";
    if (replay_blocks_are_decoded(record))
        return "has a compressed format that this GPU lacks";
    if (!(record->info.usage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT))
        return "can't be copied from on this GPU";
    return NULL;
}

/* The recorded subresource. */
static bool describe(const struct replay_image *record, const struct content *what, struct replay_image_reading *out)
{
    VkImageCreateInfo info = record->info;
    const bool is_volume = info.imageType == VK_IMAGE_TYPE_3D;

    info.format = record->recorded_format;
    out->slice = is_volume ? what->layer : 0;
    return lap_texels_describe(&info, what->aspect, what->level, is_volume ? 0 : what->layer, &out->texels) &&
           out->slice < out->texels.extent.depth;
}

/* The layout here of one that was recorded, as decoders and generated code translate it. */
static VkImageLayout layout_here(struct replay *r, VkImage image, VkImageLayout recorded)
{
    VkImageLayout layout = recorded, none = recorded;
    VkImageAspectFlags aspects = 0;

    for (size_t i = 0; i < LAP_DEC_LAYOUTS; i++)
        if ((uint32_t)recorded == r->source.layouts[i].from)
            layout = (VkImageLayout)r->source.layouts[i].to;
    replay_format_stencil_transition(r, image, &aspects, &layout, &none);
    return layout;
}

enum lap_status replay_image_reading_plan(struct replay *r, const struct content *what,
                                          struct replay_image_reading *out)
{
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkImage, what->index);
    const struct replay_image *record = object ? object->record : NULL;
    const char *why = record ? obstacle(record, what->aspect) : "is not alive";

    if (!why && !describe(record, what, out))
        why = "has no such level, layer or aspect";
    if (!why && (what->layout == VK_IMAGE_LAYOUT_UNDEFINED || what->layout == VK_IMAGE_LAYOUT_PREINITIALIZED))
        why = "has nothing there that was written";
    if (why)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s", why);
    out->dev = (struct replay_device *)(uintptr_t)object->owner;
    out->image = gen_VkImage(object->live);
    out->record = record;
    out->layout = layout_here(r, out->image, what->layout);
    out->conversion = replay_format_conversion(record->info.format, record->recorded_format, what->aspect);
    out->queue = queue_for(r, out, what);
    return out->queue ? LAP_OK : lap_fail(LAP_ERROR_UNSUPPORTED, "belongs to a queue that can't copy it");
}

enum lap_status replay_image_reading_take(struct replay *r, const struct replay_image_reading *reading,
                                          const void **out_data)
{
    const struct lap_texels *texels = &reading->texels;
    const struct replay_image *record = reading->record;
    const struct replay_texel_bytes sizes = replay_format_conversion_bytes(reading->conversion);
    const struct lap_readback_queue at = {.queue = reading->queue->live, .family = reading->queue->family};
    const VkImageSubresourceRange range = {replay_host_barrier_aspects(reading->dev, record, texels->aspect),
                                           texels->level, 1, texels->layer,
                                           texels->extent.depth > 1 ? VK_REMAINING_ARRAY_LAYERS : 1};
    const VkBufferImageCopy region = {.imageSubresource = {texels->aspect, texels->level, texels->layer, 1},
                                      .imageExtent = texels->extent};
    const uint64_t bytes = texels->rows * texels->row_bytes, count = sizes.to ? bytes / sizes.to : 0;
    const uint64_t bytes_here = sizes.to ? count * sizes.from : bytes;
    enum lap_status status;
    void *converted;

    replay_watch_enter(&r->watch, 0, REPLAY_WATCH_NO_PACKET);
    status = lap_readback_region(replay_memory_readback(reading->dev), &at, reading->image, reading->layout, &range,
                                 &region, bytes_here, out_data);
    replay_watch_leave(&r->watch);

    if (status == LAP_OK)
        lap_texels_clean(record->info.format, texels->aspect, replay_memory_readback(reading->dev)->mapped, bytes_here);
    if (status != LAP_OK || !count)
        return status;
    lap_arena_reset(&r->arena);
    converted = replay_scratch(r, bytes, 1);
    if (!converted)
        return lap_fail(LAP_ERROR_MEMORY, "has more texels than memory has room for");
    replay_format_convert(reading->conversion, *out_data, converted, count);
    *out_data = converted;
    return LAP_OK;
}
