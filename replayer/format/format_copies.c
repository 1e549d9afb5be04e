/* SPDX-License-Identifier: MIT */
#include "replayer/format/format_copies.h"
#include "replayer/device/queue_families.h"

#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/format/block_copies.h"
#include "replayer/format/format.h"
#include "replayer/format/gpu_convert.h"
#include "replayer/memory/resource.h"
#include "vulkan/chain.h"

/* A copy between a buffer and an image, or one half of a copy between images. */
struct copy {
    struct replay *r;
    struct replay_device *dev;
    struct replay_format_copies *copies;
    VkCommandBuffer commands;
    VkBuffer buffer;
    VkImage image;
    VkImageLayout layout;
    const struct replay_image *record;
    uint32_t count;
    const VkBufferImageCopy *regions;
};

/* ---- regions ---- */

/* The layout of a region in the buffer, in texels. Rows and slices may have gaps. */
struct extent {
    uint64_t width, rows, slices, row_length, slice_length;
};

static struct extent extent_of(const struct replay_image *record, const VkBufferImageCopy *region)
{
    struct extent e = {.width = region->imageExtent.width,
                       .rows = region->imageExtent.height,
                       .slices = (uint64_t)region->imageExtent.depth *
                                 replay_image_layers(record, &region->imageSubresource)};

    e.row_length = region->bufferRowLength ? region->bufferRowLength : e.width;
    e.slice_length = e.row_length * (region->bufferImageHeight ? region->bufferImageHeight : e.rows);
    return e;
}

/* Ensures that products of these fit into 64 bits: the trace may hold any values. */
static bool is_sane(const struct extent *e)
{
    const uint64_t most = (uint64_t)1 << 20;
    return e->width <= most && e->rows <= most && e->slices <= most && e->row_length <= most &&
           e->slice_length <= most * most;
}

/* From the first to the last texel, gaps included. */
static uint64_t span_of(const struct extent *e)
{
    return e->width && e->rows && e->slices
               ? (e->slices - 1) * e->slice_length + (e->rows - 1) * e->row_length + e->width
               : 0;
}

static uint64_t packed_of(const struct extent *e)
{
    return e->width * e->rows * e->slices;
}

/* Aligns regions to four texels, because offsets of copies are multiples of four bytes. */
static uint64_t aligned(uint64_t texels)
{
    return (texels + 3) / 4 * 4;
}

static enum replay_format_conversion conversion_of(const struct replay_image *record, VkImageAspectFlags aspect,
                                                   bool to_image)
{
    return to_image ? replay_format_conversion(record->recorded_format, record->info.format, aspect)
                    : replay_format_conversion(record->info.format, record->recorded_format, aspect);
}

/* Conversion dispatches need a compute queue. Depth copies run on graphics queues, which also support compute. */
static enum lap_status need_compute(struct replay *r, const struct replay_device *dev)
{
    uint32_t family =
        r->at.block_family < REPLAY_MAX_FAMILIES ? dev->queues.plan->families[r->at.block_family] : UINT32_MAX;

    for (uint32_t i = 0; i < dev->queues.count; i++)
        if (dev->queues.all[i].family == family && !(dev->queues.all[i].flags & VK_QUEUE_COMPUTE_BIT))
            return replay_refuse(r, "texels are to be converted on a queue that takes no compute work");
    return LAP_OK;
}

/* Finds how many regions from `first` on fit into one temporary buffer, and their texel count. */
static enum lap_status gather(const struct copy *copy, enum replay_format_conversion conversion, bool to_image,
                              uint32_t first, uint32_t *out_count, uint64_t *out_texels)
{
    uint64_t limit = replay_format_converter_limit(copy->dev, conversion);
    uint32_t count = 0;

    *out_texels = 0;
    for (uint32_t i = first; i < copy->count; i++, count++) {
        struct extent e = extent_of(copy->record, &copy->regions[i]);
        uint64_t more = aligned(to_image ? span_of(&e) : packed_of(&e));
        if (!is_sane(&e) || more > limit)
            return replay_refuse(copy->r, "a copy of %" PRIu64 " texels is too large to be converted on this device",
                                 more);
        if (*out_texels + more > limit)
            break;
        *out_texels += more;
    }
    *out_count = count;
    return LAP_OK;
}

/* ---- buffer to image ---- */

static enum lap_status to_image(const struct copy *copy, enum replay_format_conversion conversion, uint32_t first,
                                uint32_t count, uint64_t texels)
{
    struct replay_texel_bytes bytes = replay_format_conversion_bytes(conversion);
    VkBufferImageCopy *out = replay_scratch(copy->r, count, sizeof *out);
    VkBufferCopy *in = replay_scratch(copy->r, count, sizeof *in);
    const struct replay_device *dev = copy->dev;
    struct replay_format_texels room;
    enum lap_status status;
    uint64_t at = 0;

    if (!out || !in)
        return replay_no_scratch(copy->r);
    status = replay_format_converter_begin(copy->r, copy->dev, copy->commands, conversion, texels, &room);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        struct extent e = extent_of(copy->record, &copy->regions[first + i]);
        in[i] = (VkBufferCopy){copy->regions[first + i].bufferOffset, room.from + at * bytes.from,
                               span_of(&e) * bytes.from};
        out[i] = copy->regions[first + i];
        out[i].bufferOffset = room.to + at * bytes.to;
        at += aligned(span_of(&e));
    }
    dev->vk.CmdCopyBuffer(copy->commands, copy->buffer, room.buffer, count, in);
    status = replay_format_converter_run(copy->r, copy->dev, copy->commands, conversion, &room);
    if (status == LAP_OK)
        dev->vk.CmdCopyBufferToImage(copy->commands, room.buffer, copy->image, copy->layout, count, out);
    return status;
}

/* ---- image to buffer ---- */

/* Rows with gaps are copied one by one: the bytes in the gaps belong to the program. */
static uint64_t copies_of(const struct extent *e)
{
    return span_of(e) == packed_of(e) ? 1 : e->rows * e->slices;
}

static void copy_out(const struct extent *e, uint32_t texel_bytes, VkDeviceSize from, VkDeviceSize to,
                     VkBufferCopy *out)
{
    if (copies_of(e) == 1) {
        *out = (VkBufferCopy){from, to, packed_of(e) * texel_bytes};
        return;
    }
    for (uint64_t slice = 0; slice < e->slices; slice++)
        for (uint64_t row = 0; row < e->rows; row++)
            *out++ = (VkBufferCopy){from + (slice * e->rows + row) * e->width * texel_bytes,
                                    to + (slice * e->slice_length + row * e->row_length) * texel_bytes,
                                    e->width * texel_bytes};
}

static enum lap_status to_buffer(const struct copy *copy, enum replay_format_conversion conversion, uint32_t first,
                                 uint32_t count, uint64_t texels)
{
    struct replay_texel_bytes bytes = replay_format_conversion_bytes(conversion);
    VkBufferImageCopy *in = replay_scratch(copy->r, count, sizeof *in);
    const struct replay_device *dev = copy->dev;
    struct replay_format_texels room;
    enum lap_status status;
    uint64_t at = 0, pieces = 0;
    VkBufferCopy *out;

    for (uint32_t i = 0; i < count; i++) {
        struct extent e = extent_of(copy->record, &copy->regions[first + i]);
        pieces += copies_of(&e);
    }
    out = replay_scratch(copy->r, pieces, sizeof *out);
    if (!in || !out || pieces > UINT32_MAX)
        return replay_no_scratch(copy->r);
    status = replay_format_converter_begin(copy->r, copy->dev, copy->commands, conversion, texels, &room);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0, piece = 0; i < count; i++) {
        const VkBufferImageCopy *region = &copy->regions[first + i];
        struct extent e = extent_of(copy->record, region);
        in[i] = *region;
        in[i].bufferOffset = room.from + at * bytes.from;
        in[i].bufferRowLength = in[i].bufferImageHeight = 0;
        copy_out(&e, bytes.to, room.to + at * bytes.to, region->bufferOffset, out + piece);
        piece += (uint32_t)copies_of(&e);
        at += aligned(packed_of(&e));
    }
    dev->vk.CmdCopyImageToBuffer(copy->commands, copy->image, copy->layout, room.buffer, count, in);
    status = replay_format_converter_run(copy->r, copy->dev, copy->commands, conversion, &room);
    if (status == LAP_OK)
        dev->vk.CmdCopyBuffer(copy->commands, room.buffer, copy->buffer, (uint32_t)pieces, out);
    return status;
}

/* Rounding changes the bytes, so a check can't compare them. */
static void note_rounded(const struct copy *copy, enum replay_format_conversion conversion)
{
    struct replay_buffer *buffer = replay_buffer_of(copy->r, copy->buffer, NULL);
    uint32_t bytes = replay_format_conversion_bytes(conversion).to;

    for (uint32_t i = 0; i < copy->count && buffer && replay_format_conversion_rounds(conversion); i++) {
        struct extent e = extent_of(copy->record, &copy->regions[i]);
        replay_buffer_rounded(buffer, copy->regions[i].bufferOffset, span_of(&e) * bytes);
    }
}

/* ---- copies between buffers and images ---- */

static enum lap_status convert_all(const struct copy *copy, enum replay_format_conversion conversion, bool into_image)
{
    enum lap_status status = need_compute(copy->r, copy->dev);
    uint64_t texels;

    for (uint32_t first = 0, count = 0; first < copy->count && status == LAP_OK; first += count) {
        status = gather(copy, conversion, into_image, first, &count, &texels);
        if (status == LAP_OK && texels)
            status = into_image ? to_image(copy, conversion, first, count, texels)
                                : to_buffer(copy, conversion, first, count, texels);
    }
    if (status == LAP_OK && !into_image)
        note_rounded(copy, conversion);
    return status;
}

static enum lap_status decode_from_buffer(const struct copy *copy)
{
    enum lap_status status = need_compute(copy->r, copy->dev);

    if (status != LAP_OK)
        return status;
    replay_format_bound_suspend(copy->dev, copy->commands, &copy->copies->bound);
    status = replay_blocks_from_buffer(copy->r, copy->dev, copy->commands, copy->buffer, copy->image, copy->layout,
                                       copy->count, copy->regions);
    return status == LAP_OK ? replay_format_bound_restore(copy->r, copy->dev, &copy->copies->bound) : status;
}

/* Converts the depth regions and copies the stencil regions unchanged, in separate commands. */
static enum lap_status copy_image(struct copy *copy, bool into_image)
{
    const VkImageAspectFlags other = VK_IMAGE_ASPECT_STENCIL_BIT;
    VkBufferImageCopy *regions = replay_scratch(copy->r, copy->count, sizeof *regions);
    const VkBufferImageCopy *all = copy->regions;
    uint32_t total = copy->count, plain = 0;
    enum replay_format_conversion conversion = REPLAY_CONVERT_NONE;
    enum lap_status status;

    if (replay_blocks_are_decoded(copy->record))
        return into_image ? decode_from_buffer(copy) : replay_blocks_refuse(copy->r, copy->record->recorded_format);
    for (uint32_t i = 0; i < total; i++)
        if (all[i].imageSubresource.aspectMask != other)
            conversion = conversion_of(copy->record, all[i].imageSubresource.aspectMask, into_image);
    if (conversion == REPLAY_CONVERT_NONE)
        return LAP_END;
    if (!regions)
        return replay_no_scratch(copy->r);
    for (uint32_t i = 0; i < total; i++)
        if (all[i].imageSubresource.aspectMask == other)
            regions[plain++] = all[i];
    if (plain && into_image)
        copy->dev->vk.CmdCopyBufferToImage(copy->commands, copy->buffer, copy->image, copy->layout, plain, regions);
    else if (plain)
        copy->dev->vk.CmdCopyImageToBuffer(copy->commands, copy->image, copy->layout, copy->buffer, plain, regions);
    copy->count = 0;
    copy->regions = regions;
    for (uint32_t i = 0; i < total; i++)
        if (all[i].imageSubresource.aspectMask != other)
            regions[copy->count++] = all[i];
    replay_format_bound_suspend(copy->dev, copy->commands, &copy->copies->bound);
    status = convert_all(copy, conversion, into_image);
    return status == LAP_OK ? replay_format_bound_restore(copy->r, copy->dev, &copy->copies->bound) : status;
}

/* Copies VkBufferImageCopy2 regions as VkBufferImageCopy. */
static enum lap_status copy_image2(struct copy *copy, uint32_t count, const VkBufferImageCopy2 *regions,
                                   bool into_image)
{
    VkBufferImageCopy *old = replay_scratch(copy->r, count, sizeof *old);

    if (!old)
        return replay_no_scratch(copy->r);
    for (uint32_t i = 0; i < count; i++) {
        if (lap_chain_find(regions[i].pNext, VK_STRUCTURE_TYPE_COPY_COMMAND_TRANSFORM_INFO_QCOM))
            return replay_refuse(copy->r,
                                 "a copy that rotates can't be converted, and this GPU lacks the image's format");
        old[i] =
            (VkBufferImageCopy){regions[i].bufferOffset,     regions[i].bufferRowLength, regions[i].bufferImageHeight,
                                regions[i].imageSubresource, regions[i].imageOffset,     regions[i].imageExtent};
    }
    copy->count = count;
    copy->regions = old;
    return copy_image(copy, into_image);
}

/* ---- copies between images ---- */

struct image_copy {
    VkImage from, to;
    VkImageLayout from_layout, to_layout;
    uint32_t count;
    const VkImageCopy *regions;
};

/* Whether the texels of a region differ from the recorded ones on one side alone. Depth copied to depth, or stencil to
 * stencil, has one format on both sides. With maintenance8 depth may be copied to color, and the reverse. */
static bool converts_region(const struct replay_image *from, const struct replay_image *to, const VkImageCopy *region)
{
    const VkImageAspectFlags source = region->srcSubresource.aspectMask, target = region->dstSubresource.aspectMask;

    if (source == target && source != VK_IMAGE_ASPECT_COLOR_BIT)
        return false;
    if (source == target)
        return conversion_of(from, source, false) != conversion_of(to, target, true);
    return conversion_of(from, source, false) != REPLAY_CONVERT_NONE ||
           conversion_of(to, target, true) != REPLAY_CONVERT_NONE;
}

/* Copies one region between images through a buffer. */
static enum lap_status copy_region(struct copy *copy, const struct replay_image *from, const struct replay_image *to,
                                   const struct image_copy *images, const VkImageCopy *region)
{
    enum replay_format_conversion conversions[2] = {conversion_of(from, region->srcSubresource.aspectMask, false),
                                                    conversion_of(to, region->dstSubresource.aspectMask, true)};
    enum replay_format_conversion some = conversions[0] ? conversions[0] : conversions[1];
    VkBufferImageCopy in = {
        .imageSubresource = region->srcSubresource, .imageOffset = region->srcOffset, .imageExtent = region->extent};
    VkBufferImageCopy out = {
        .imageSubresource = region->dstSubresource, .imageOffset = region->dstOffset, .imageExtent = region->extent};
    const bool is_one = !conversions[0] || !conversions[1];
    const struct replay_device *dev = copy->dev;
    struct replay_format_texels room;
    enum lap_status status;
    uint64_t texels;

    /* Layers and slices of a 3D image may be copied to each other. */
    in.imageExtent.depth = from->info.imageType == VK_IMAGE_TYPE_3D ? region->extent.depth : 1;
    out.imageExtent.depth = to->info.imageType == VK_IMAGE_TYPE_3D ? region->extent.depth : 1;
    texels = (uint64_t)in.imageExtent.width * in.imageExtent.height * in.imageExtent.depth *
             replay_image_layers(from, &in.imageSubresource);
    if (texels > replay_format_converter_limit(dev, some))
        return replay_refuse(copy->r, "a copy of %" PRIu64 " texels is too large to be converted on this device",
                             texels);
    status = replay_format_converter_begin(copy->r, copy->dev, copy->commands, some, texels, &room);
    if (status != LAP_OK)
        return status;
    /* Two conversions are those of colors, which stay in place. */
    in.bufferOffset = room.from;
    out.bufferOffset = is_one ? room.to : room.from;
    dev->vk.CmdCopyImageToBuffer(copy->commands, images->from, images->from_layout, room.buffer, 1, &in);
    for (int i = 0; i < 2 && status == LAP_OK; i++)
        if (conversions[i])
            status = replay_format_converter_run(copy->r, copy->dev, copy->commands, conversions[i], &room);
    if (status == LAP_OK)
        dev->vk.CmdCopyBufferToImage(copy->commands, room.buffer, images->to, images->to_layout, 1, &out);
    return status;
}

static enum lap_status decode_from_image(const struct copy *copy, const struct image_copy *images,
                                         const struct replay_image *from, const struct replay_image *to)
{
    enum lap_status status;

    if (replay_blocks_are_decoded(from))
        return replay_blocks_are_decoded(to) && replay_blocks_decode_alike(from->recorded_format, to->recorded_format)
                   ? LAP_END
                   : replay_blocks_refuse(copy->r, from->recorded_format);
    status = need_compute(copy->r, copy->dev);
    if (status != LAP_OK)
        return status;
    replay_format_bound_suspend(copy->dev, copy->commands, &copy->copies->bound);
    status = replay_blocks_from_image(copy->r, copy->dev, copy->commands, images->from, images->from_layout, images->to,
                                      images->to_layout, images->count, images->regions);
    return status == LAP_OK ? replay_format_bound_restore(copy->r, copy->dev, &copy->copies->bound) : status;
}

static enum lap_status copy_images(struct copy *copy, const struct image_copy *images)
{
    const struct replay_image *from = replay_image_of(copy->r, images->from, NULL),
                              *to = replay_image_of(copy->r, images->to, NULL);
    enum lap_status status;
    bool converts = false;

    if (replay_blocks_are_decoded(from) || replay_blocks_are_decoded(to))
        return decode_from_image(copy, images, from, to);
    for (uint32_t i = 0; i < images->count && from && to; i++)
        converts |= converts_region(from, to, &images->regions[i]);
    if (!converts)
        return LAP_END;
    if (!from->info.samples || from->info.samples != VK_SAMPLE_COUNT_1_BIT)
        return replay_refuse(copy->r, "a copy between multisampled images of %s and %s can't be converted",
                             replay_format_name(from->recorded_format), replay_format_name(to->recorded_format));
    status = need_compute(copy->r, copy->dev);
    if (status != LAP_OK)
        return status;
    replay_format_bound_suspend(copy->dev, copy->commands, &copy->copies->bound);
    for (uint32_t i = 0; i < images->count && status == LAP_OK; i++)
        if (converts_region(from, to, &images->regions[i]))
            status = copy_region(copy, from, to, images, &images->regions[i]);
        else
            copy->dev->vk.CmdCopyImage(copy->commands, images->from, images->from_layout, images->to, images->to_layout,
                                       1, &images->regions[i]);
    return status == LAP_OK ? replay_format_bound_restore(copy->r, copy->dev, &copy->copies->bound) : status;
}

static const VkImageCopy *old_image_regions(struct replay *r, uint32_t count, const VkImageCopy2 *regions)
{
    VkImageCopy *old = replay_scratch(r, count, sizeof *old);

    for (uint32_t i = 0; old && i < count; i++)
        old[i] = (VkImageCopy){regions[i].srcSubresource, regions[i].srcOffset, regions[i].dstSubresource,
                               regions[i].dstOffset, regions[i].extent};
    return old;
}

/* ---- commands ---- */

static bool is_replaced(struct replay *r, VkImage image, const struct replay_image **out)
{
    *out = replay_image_of(r, image, NULL);
    return *out && (*out)->info.format != (*out)->recorded_format;
}

/* Copies that name memory by addresses. */
static enum lap_status __attribute__((unused)) refuse_addresses(struct copy *copy, VkImage image)
{
    if (!image || !is_replaced(copy->r, image, &copy->record))
        return LAP_END;
    return replay_refuse(copy->r, "a copy that names memory by its address can't be converted, and this GPU lacks %s",
                         replay_format_name(copy->record->recorded_format));
}

enum lap_status replay_format_copies_record(struct replay *r, struct replay_device *dev,
                                            struct replay_format_copies *copies, const void *args)
{
    struct copy copy = {.r = r, .dev = dev, .copies = copies, .commands = copies->commands};

    switch (r->at.command) {
    case GEN_vkCmdCopyBufferToImage: {
        const struct gen_args_vkCmdCopyBufferToImage *a = args;
        if (!a->pRegions || !is_replaced(r, a->dstImage, &copy.record))
            return LAP_END;
        copy.buffer = a->srcBuffer;
        copy.image = a->dstImage;
        copy.layout = a->dstImageLayout;
        copy.count = a->regionCount;
        copy.regions = a->pRegions;
        return copy_image(&copy, true);
    }
    case GEN_vkCmdCopyImageToBuffer: {
        const struct gen_args_vkCmdCopyImageToBuffer *a = args;
        if (!a->pRegions || !is_replaced(r, a->srcImage, &copy.record))
            return LAP_END;
        copy.buffer = a->dstBuffer;
        copy.image = a->srcImage;
        copy.layout = a->srcImageLayout;
        copy.count = a->regionCount;
        copy.regions = a->pRegions;
        return copy_image(&copy, false);
    }
    case GEN_vkCmdCopyBufferToImage2: {
        const VkCopyBufferToImageInfo2 *info =
            ((const struct gen_args_vkCmdCopyBufferToImage2 *)args)->pCopyBufferToImageInfo;
        if (!info || !info->pRegions || !is_replaced(r, info->dstImage, &copy.record))
            return LAP_END;
        copy.buffer = info->srcBuffer;
        copy.image = info->dstImage;
        copy.layout = info->dstImageLayout;
        return copy_image2(&copy, info->regionCount, info->pRegions, true);
    }
    case GEN_vkCmdCopyImageToBuffer2: {
        const VkCopyImageToBufferInfo2 *info =
            ((const struct gen_args_vkCmdCopyImageToBuffer2 *)args)->pCopyImageToBufferInfo;
        if (!info || !info->pRegions || !is_replaced(r, info->srcImage, &copy.record))
            return LAP_END;
        copy.buffer = info->dstBuffer;
        copy.image = info->srcImage;
        copy.layout = info->srcImageLayout;
        return copy_image2(&copy, info->regionCount, info->pRegions, false);
    }
#ifdef VK_KHR_device_address_commands
    case GEN_vkCmdCopyMemoryToImageKHR: {
        const struct gen_args_vkCmdCopyMemoryToImageKHR *a = args;
        return a->pCopyMemoryInfo ? refuse_addresses(&copy, a->pCopyMemoryInfo->image) : LAP_END;
    }
    case GEN_vkCmdCopyImageToMemoryKHR: {
        const struct gen_args_vkCmdCopyImageToMemoryKHR *a = args;
        return a->pCopyMemoryInfo ? refuse_addresses(&copy, a->pCopyMemoryInfo->image) : LAP_END;
    }
#endif
#ifdef VK_KHR_copy_memory_indirect
    case GEN_vkCmdCopyMemoryToImageIndirectKHR: {
        const VkCopyMemoryToImageIndirectInfoKHR *info =
            ((const struct gen_args_vkCmdCopyMemoryToImageIndirectKHR *)args)->pCopyMemoryToImageIndirectInfo;
        return info ? refuse_addresses(&copy, info->dstImage) : LAP_END;
    }
#endif
#ifdef VK_NV_copy_memory_indirect
    case GEN_vkCmdCopyMemoryToImageIndirectNV:
        return refuse_addresses(&copy, ((const struct gen_args_vkCmdCopyMemoryToImageIndirectNV *)args)->dstImage);
#endif
    case GEN_vkCmdCopyImage: {
        const struct gen_args_vkCmdCopyImage *a = args;
        const struct image_copy images = {a->srcImage,       a->dstImage,    a->srcImageLayout,
                                          a->dstImageLayout, a->regionCount, a->pRegions};
        return a->pRegions ? copy_images(&copy, &images) : LAP_END;
    }
    case GEN_vkCmdCopyImage2: {
        const VkCopyImageInfo2 *info = ((const struct gen_args_vkCmdCopyImage2 *)args)->pCopyImageInfo;
        struct image_copy images;
        if (!info || !info->pRegions)
            return LAP_END;
        images = (struct image_copy){info->srcImage,       info->dstImage,    info->srcImageLayout,
                                     info->dstImageLayout, info->regionCount, NULL};
        images.regions = old_image_regions(r, info->regionCount, info->pRegions);
        return images.regions ? copy_images(&copy, &images) : replay_no_scratch(r);
    }
    default:
        return LAP_END;
    }
}
