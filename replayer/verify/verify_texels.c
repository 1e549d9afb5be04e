/* SPDX-License-Identifier: MIT */
/* Replays of capture --verify=all: checks of whole subresources, read back as the layer did it, and images that
 * allow that readback. */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "vulkan/readback.h"
#include "vulkan/texel/pixels.h"

#include "replayer/core/device.h"
#include "replayer/device/queues.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/resource.h"
#include "replayer/memory/staging.h"
#include "replayer/submit/submit.h"
#include "replayer/verify/verify.h"

/* ---- checks ---- */

enum lap_status replay_lapilliWaitQueue(struct replay *r, struct replay_device *dev,
                                        struct gen_args_lapilliWaitQueue *args)
{
    struct gen_args_vkQueueWaitIdle wait = {.queue = args->queue};

    return r->check ? replay_QueueWaitIdle(r, dev, &wait) : LAP_OK;
}

static bool is_readable_layout(VkImageLayout layout)
{
    return layout != VK_IMAGE_LAYOUT_UNDEFINED && layout != VK_IMAGE_LAYOUT_PREINITIALIZED;
}

/* The error of such a check in the trace. */
static enum lap_status examine(struct replay *r, const struct replay_device *dev,
                               const struct gen_args_lapilliCheckTexels *args, const struct replay_image *record,
                               uint64_t index, struct lap_texels *out)
{
    VkImageCreateInfo info;

    if (!record || !record->bound || record->of_swapchain)
        return replay_fail(r, "a check of an image that is not alive or has no memory");
    info = record->info;
    info.format = record->recorded_format;
    if (!lap_texels_describe(&info, args->aspect, args->mipLevel, args->arrayLayer, out) ||
        info.samples != VK_SAMPLE_COUNT_1_BIT || !is_readable_layout(args->layout))
        return replay_fail(r, "a check of texels that are not in VkImage:%" PRIu64 ": aspect %#x, level %u, layer %u",
                           index, args->aspect, args->mipLevel, args->arrayLayer);
    if (!replay_queue_find(dev, args->queue))
        return replay_fail(r, "a queue that the device does not have");
    return LAP_OK;
}

/* Why the replay device can't compare it; NULL: it can. */
static const char *obstacle(const struct replay_image *record, const struct replay_queue *queue,
                            VkImageAspectFlags aspect)
{
    const VkQueueFlags any = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;

    if (record->info.format != record->recorded_format)
        return "has another format than the recorded one";
    if (!(record->info.usage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT))
        return "can't be copied from";
    if (!(queue->flags & (aspect == VK_IMAGE_ASPECT_COLOR_BIT ? any : (VkQueueFlags)VK_QUEUE_GRAPHICS_BIT)))
        return "is written on a queue that can't copy it";
    return NULL;
}

enum lap_status replay_lapilliCheckTexels(struct replay *r, struct replay_device *dev,
                                          struct gen_args_lapilliCheckTexels *args)
{
    uint64_t index = 0;
    const struct replay_image *record = replay_image_of(r, args->image, &index);
    const struct replay_queue *queue = replay_queue_find(dev, args->queue);
    struct replay_checked_image what;
    struct lap_readback_queue at;
    struct lap_texels texels;
    enum lap_status status;
    const char *why;
    const void *data;

    if (!r->check)
        return LAP_OK;
    status = examine(r, dev, args, record, index, &texels);
    if (status != LAP_OK)
        return status;
    if (replay_check_is_ignored(r, GEN_HANDLE_VkImage, index))
        return LAP_OK;
    why = obstacle(record, queue, args->aspect);
    if (why)
        return replay_check_skip_image(r, index, why);
    status = replay_submits_flush_queue(r, dev, args->queue);
    if (status == LAP_OK)
        status = replay_staging_flush(r, dev, args->queue);
    if (status != LAP_OK)
        return status;
    at = (struct lap_readback_queue){.queue = queue->live, .family = queue->family};
    status = lap_readback_texels(replay_memory_readback(dev), &at, args->image, record->info.format, args->layout,
                                 &texels, &data);
    if (status != LAP_OK)
        return replay_place(r, status);
    what = (struct replay_checked_image){
        .index = index,
        .format = record->recorded_format,
        .rows = {args->aspect, args->mipLevel, args->arrayLayer, 0, 0, (uint32_t)texels.rows, 0, texels.row_bytes},
        .low = args->hashLow,
        .high = args->hashHigh};
    return replay_check_image(r, &what, data);
}
