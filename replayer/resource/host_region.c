/* SPDX-License-Identifier: MIT */
#include "replayer/resource/host_region.h"

#include <inttypes.h>
#include <string.h>

#include "gen_renamed.h"
#include "replayer/device/queues.h"
#include "replayer/format/block_copies.h"
#include "replayer/format/format.h"
#include "replayer/memory/memory.h"
#include "replayer/sparse/sparse.h"
#include "vulkan/readback.h"

/* ---- regions ---- */

bool replay_host_is_copy_layout(VkImageLayout layout)
{
    return layout != VK_IMAGE_LAYOUT_UNDEFINED && layout != VK_IMAGE_LAYOUT_PREINITIALIZED;
}

/* Fills in record, index, block and conversion, and checks the rest. */
enum lap_status replay_host_region_examine(struct replay_host_region *region, bool writes)
{
    struct replay_image *record = replay_image_of(region->r, region->image, &region->index);
    VkImageCreateInfo info;

    if (!record || (!record->bound && !replay_sparse_is_bound(record->sparse)))
        return replay_fail(region->r, "the host copies texels of an image that is not alive or has no memory");
    info = record->info;
    info.format = record->recorded_format;
    if (region->all.layer_count == VK_REMAINING_ARRAY_LAYERS && region->all.layer < info.arrayLayers)
        region->all.layer_count = info.arrayLayers - region->all.layer;
    if (!lap_texels_block(info.format, region->all.aspect, &region->block) ||
        !lap_texels_region_is_inside(&info, &region->block, &region->all) || info.samples != VK_SAMPLE_COUNT_1_BIT ||
        !replay_host_is_copy_layout(region->layout))
        return replay_fail(region->r,
                           "the host copies texels that are not in VkImage:%" PRIu64 ": aspect %#x, level %u, layer %u",
                           region->index, region->all.aspect, region->all.level, region->all.layer);
    if (replay_blocks_are_decoded(record))
        return replay_refuse(region->r,
                             "the host copies texels of VkImage:%" PRIu64 ", whose format this GPU lacks: %s",
                             region->index, replay_format_name(record->recorded_format));
    region->record = record;
    region->conversion =
        region->all.aspect == VK_IMAGE_ASPECT_STENCIL_BIT ? REPLAY_CONVERT_NONE
        : writes ? replay_format_conversion(record->recorded_format, record->info.format, region->all.aspect)
                 : replay_format_conversion(record->info.format, record->recorded_format, region->all.aspect);
    return LAP_OK;
}

VkImageSubresourceLayers replay_host_layers(const struct lap_texel_region *region)
{
    return (VkImageSubresourceLayers){region->aspect, region->level, region->layer, region->layer_count};
}

/* Planes change their layout together. So do depth and stencil, unless the device has separate layouts for them: then
 * only the copied aspect changes, except with an unused depth (stencil_only.h). */
VkImageAspectFlags replay_host_barrier_aspects(const struct replay_device *dev, const struct replay_image *record,
                                               VkImageAspectFlags aspects)
{
    const VkImageAspectFlags all = lap_texels_aspects(record->info.format),
                             both = lap_texels_aspects(record->recorded_format);

    if (!all || all == VK_IMAGE_ASPECT_COLOR_BIT)
        return VK_IMAGE_ASPECT_COLOR_BIT;
    return dev->enabled.separate_depth_stencil && all == both ? aspects & all : all;
}

/* With maintenance9 the slices of a volume are layers for barriers. */
struct replay_image_part replay_host_region_part(const struct replay_host_region *region,
                                                 const struct lap_texel_region *piece)
{
    const bool is_volume = region->record->info.imageType == VK_IMAGE_TYPE_3D;

    return (struct replay_image_part){.image = region->image,
                                      .range = {replay_host_barrier_aspects(region->dev, region->record, piece->aspect),
                                                piece->level, 1, is_volume ? 0 : piece->layer,
                                                is_volume ? VK_REMAINING_ARRAY_LAYERS : piece->layer_count},
                                      .layout = region->layout};
}

/* ---- host copies of the device ---- */

static bool has(uint32_t count, const VkImageLayout *layouts, VkImageLayout layout)
{
    for (uint32_t i = 0; i < count; i++)
        if (layouts[i] == layout)
            return true;
    return false;
}

bool replay_host_can_copy(const struct replay_device *dev, const struct replay_image *record)
{
    return dev->host_copies && record->info.usage & REPLAY_HOST_TRANSFER && !record->of_swapchain;
}

bool replay_host_can_read(const struct replay_device *dev, const struct replay_image *record, VkImageLayout layout)
{
    return replay_host_can_copy(dev, record) && has(dev->host_copies->source_count, dev->host_copies->sources, layout);
}

bool replay_host_can_write(const struct replay_device *dev, const struct replay_image *record, VkImageLayout layout)
{
    return replay_host_can_copy(dev, record) && has(dev->host_copies->target_count, dev->host_copies->targets, layout);
}

enum lap_status replay_host_settle(struct replay *r, struct replay_device *dev, const struct replay_image *record)
{
    return record->info.tiling == VK_IMAGE_TILING_LINEAR ? replay_staging_finish(r, dev) : LAP_OK;
}

/* ---- texels into an image ---- */

struct write {
    struct replay_host_region to;
    const uint8_t *texels; /* texels of the pieces to come */
};

#ifdef VK_EXT_host_image_copy
static enum lap_status write_by_host(struct replay_host_region *to, const struct lap_texel_region *piece,
                                     const void *texels)
{
    const VkMemoryToImageCopyEXT region = {.sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT,
                                           .pHostPointer = texels,
                                           .imageSubresource = replay_host_layers(piece),
                                           .imageOffset = piece->offset,
                                           .imageExtent = piece->extent};
    const VkCopyMemoryToImageInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT,
                                             .dstImage = to->image,
                                             .dstImageLayout = to->layout,
                                             .regionCount = 1,
                                             .pRegions = &region};
    return replay_result(to->r, to->dev->vk.CopyMemoryToImageEXT(to->dev->live, &info));
}
#else
static enum lap_status write_by_host(struct replay_host_region *to, const struct lap_texel_region *piece,
                                     const void *texels)
{
    (void)piece, (void)texels;
    return replay_fail(to->r, "no host copies");
}
#endif

static enum lap_status write_piece(void *context, const struct lap_texel_region *piece, size_t bytes)
{
    struct write *write = context;
    struct replay_host_region *to = &write->to;
    const struct replay_texel_bytes texel = replay_format_conversion_bytes(to->conversion);
    struct replay_image_step step = {.kind = REPLAY_STEP_WRITE, .to = replay_host_region_part(to, piece)};
    const void *texels = write->texels;
    uint32_t block_bytes = to->block.bytes;

    write->texels += bytes;
    if (to->conversion != REPLAY_CONVERT_NONE) {
        void *converted = replay_scratch(to->r, bytes / texel.from, texel.to);
        if (!converted)
            return replay_no_scratch(to->r);
        replay_format_convert(to->conversion, texels, converted, bytes / texel.from);
        texels = converted;
        bytes = bytes / texel.from * texel.to;
        block_bytes = texel.to;
    }
    if (replay_host_can_write(to->dev, to->record, to->layout))
        return write_by_host(to, piece, texels);
    step.region = (VkBufferImageCopy){
        .imageSubresource = replay_host_layers(piece), .imageOffset = piece->offset, .imageExtent = piece->extent};
    return replay_staging_image_write(to->r, to->dev, &to->record->staged, &step, texels, bytes, block_bytes);
}

/* texels: those of the region as recorded, without gaps. */
enum lap_status replay_host_region_write(struct replay_host_region *to, const void *texels)
{
    struct write write = {*to, texels};
    enum lap_status status;
    uint64_t most = UINT64_MAX;

    if (replay_host_can_write(to->dev, to->record, to->layout))
        status = replay_staging_finish(to->r, to->dev); /* gathered copies come before */
    else
        status = replay_staging_image_limit(to->r, to->dev, &most);
    if (status == LAP_OK) /* conversions at most double a texel */
        status = lap_texels_cut(&to->block, &to->all, most / 4, write_piece, &write);
    return status == LAP_OK ? replay_host_settle(to->r, to->dev, to->record) : status;
}

/* ---- texels out of an image ---- */

struct read {
    struct replay_host_region from;
    replay_host_texels_fn visit;
    void *context;
};

#ifdef VK_EXT_host_image_copy
static enum lap_status read_by_host(struct replay_host_region *from, const struct lap_texel_region *piece, void *texels)
{
    const VkImageToMemoryCopyEXT region = {.sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT,
                                           .pHostPointer = texels,
                                           .imageSubresource = replay_host_layers(piece),
                                           .imageOffset = piece->offset,
                                           .imageExtent = piece->extent};
    const VkCopyImageToMemoryInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT,
                                             .srcImage = from->image,
                                             .srcImageLayout = from->layout,
                                             .regionCount = 1,
                                             .pRegions = &region};
    return replay_result(from->r, from->dev->vk.CopyImageToMemoryEXT(from->dev->live, &info));
}
#else
static enum lap_status read_by_host(struct replay_host_region *from, const struct lap_texel_region *piece, void *texels)
{
    (void)piece, (void)texels;
    return replay_fail(from->r, "no host copies");
}
#endif

static enum lap_status read_by_device(struct replay_host_region *from, const struct lap_texel_region *piece,
                                      void *texels, size_t bytes)
{
    const VkBufferImageCopy copy = {
        .imageSubresource = replay_host_layers(piece), .imageOffset = piece->offset, .imageExtent = piece->extent};
    const struct replay_queue *queue = from->dev->queues.main;
    const struct replay_image_part part = replay_host_region_part(from, piece);
    struct lap_readback_queue at;
    const void *data = NULL;
    enum lap_status status;

    if (!queue)
        return replay_fail(from->r, "the device has no queue for copies");
    at = (struct lap_readback_queue){.queue = queue->live, .family = queue->family};
    status = lap_readback_region(replay_memory_readback(from->dev), &at, from->image, from->layout, &part.range, &copy,
                                 bytes, &data);
    if (status != LAP_OK)
        return replay_place(from->r, status);
    memcpy(texels, data, bytes);
    return LAP_OK;
}

static enum lap_status read_piece(void *context, const struct lap_texel_region *piece, size_t bytes)
{
    struct read *read = context;
    struct replay_host_region *from = &read->from;
    const struct replay_texel_bytes texel = replay_format_conversion_bytes(from->conversion);
    const uint64_t count = from->conversion == REPLAY_CONVERT_NONE ? bytes : bytes / texel.to;
    const size_t own_bytes = from->conversion == REPLAY_CONVERT_NONE ? bytes : (size_t)count * texel.from;
    void *recorded = replay_scratch(from->r, bytes, 1), *own = replay_scratch(from->r, own_bytes, 1);
    enum lap_status status;

    if (!recorded || !own)
        return replay_no_scratch(from->r);
    status = replay_host_can_read(from->dev, from->record, from->layout) ? read_by_host(from, piece, own)
                                                                         : read_by_device(from, piece, own, own_bytes);
    if (status != LAP_OK)
        return status;
    if (from->conversion != REPLAY_CONVERT_NONE)
        replay_format_convert(from->conversion, own, recorded, (size_t)count);
    return read->visit(read->context, from, piece, from->conversion == REPLAY_CONVERT_NONE ? own : recorded, bytes);
}

/* Visits the texels of the region as they would be recorded, piece by piece. */
enum lap_status replay_host_region_read(const struct replay_host_region *from, replay_host_texels_fn visit,
                                        void *context)
{
    struct read read = {*from, visit, context};
    enum lap_status status = replay_staging_finish(from->r, from->dev);

    return status == LAP_OK ? lap_texels_cut(&from->block, &from->all, REPLAY_HOST_BYTES, read_piece, &read) : status;
}
