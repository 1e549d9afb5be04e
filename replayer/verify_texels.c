/* SPDX-License-Identifier: MIT */
/* What replays of capture --verify=all need: checks of whole subresources, read back as the layer did it, and images of
 * which that can be done. */
#include <inttypes.h>

#include "codegen/support/pixels.h"
#include "codegen/support/readback.h"
#include "gen_replay.h"
#include "replayer/handles.h"

#include "replayer/memory.h"
#include "replayer/player.h"
#include "replayer/queues.h"
#include "replayer/resource.h"
#include "replayer/staging.h"
#include "replayer/submit.h"
#include "replayer/verify.h"

/* ---- images that can be copied from ---- */

static VkImageUsageFlags usage_here(const struct replay *r, VkImageCreateFlags flags, VkImageUsageFlags usage)
{
    if (!replay_check_reads_all(r) || flags & VK_IMAGE_CREATE_PROTECTED_BIT ||
        usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT)
        return usage;
    return usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
}

void replay_check_need_usage(const struct replay *r, const struct replay_device *dev, VkImageCreateInfo *info)
{
    VkImageCreateInfo changed = *info;

    changed.usage = usage_here(r, info->flags, info->usage);
    if (changed.usage != info->usage && info->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT &&
        replay_image_has_usage(dev, &changed))
        *info = changed;
}

/* An imageless framebuffer says which usage its images have. */
enum lap_status replay_CreateFramebuffer(struct replay *r, struct replay_device *dev,
                                         struct gen_args_vkCreateFramebuffer *args)
{
    const VkFramebufferAttachmentsCreateInfo *attachments =
        replay_chain_find(args->pCreateInfo->pNext, VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO);
    uint64_t index = gen_u64_VkFramebuffer(*args->pFramebuffer);
    VkFramebuffer live = VK_NULL_HANDLE;
    VkResult result;

    for (uint32_t i = 0; attachments && attachments->pAttachmentImageInfos && i < attachments->attachmentImageInfoCount;
         i++) { /* the decoder's own memory */
        VkFramebufferAttachmentImageInfo *image =
            (VkFramebufferAttachmentImageInfo *)(uintptr_t)&attachments->pAttachmentImageInfos[i];
        image->usage = usage_here(r, image->flags, image->usage);
    }
    result = dev->vk.CreateFramebuffer(dev->live, args->pCreateInfo, NULL, &live);
    if (result < 0)
        return replay_result(r, result);
    return replay_object_keep(r, GEN_HANDLE_VkFramebuffer, dev, index, gen_u64_VkFramebuffer(live));
}

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

/* What is wrong with such a check in the trace. */
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
        return replay_fail(r, "a check of what is not in VkImage:%" PRIu64 ": aspect %#x, level %u, layer %u", index,
                           args->aspect, args->mipLevel, args->arrayLayer);
    if (!replay_queue_find(dev, args->queue))
        return replay_fail(r, "a queue that the device does not have");
    return LAP_OK;
}

/* Why it can't be compared here; NULL: it can. */
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
    status = lap_readback_texels(replay_device_readback(dev), &at, args->image, record->info.format, args->layout,
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
