/* SPDX-License-Identifier: MIT */
#include "replayer/resource/host_copy.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gen_renamed.h"
#include "gen_replay.h"
#include "replayer/format/format.h"
#include "replayer/format/image_support.h"
#include "replayer/resource/host_region.h"
#include "replayer/sparse/sparse.h"
#include "vulkan/chain.h"

#define OWN_USAGE (VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT)

/* ---- devices ---- */

#ifdef VK_EXT_host_image_copy
static bool is_enabled(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceHostImageCopyFeaturesEXT *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT);
    bool is_on = features && features->hostImageCopy;

#ifdef VK_VERSION_1_4
    const VkPhysicalDeviceVulkan14Features *version =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES);
    is_on = is_on || (version && version->hostImageCopy);
#endif
    return is_on;
}

enum lap_status replay_host_copies_create(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    VkPhysicalDeviceHostImageCopyPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host};
    struct replay_host_copies *copies;

    if (!is_enabled(info) || !dev->vk.CopyMemoryToImageEXT || !dev->vk.CopyImageToMemoryEXT ||
        !dev->vk.CopyImageToImageEXT || !dev->vk.TransitionImageLayoutEXT ||
        !dev->instance->vk.GetPhysicalDeviceProperties2)
        return LAP_OK;
    dev->instance->vk.GetPhysicalDeviceProperties2(dev->gpu, &properties);
    copies = calloc(1, sizeof *copies);
    if (copies) {
        copies->sources = calloc(host.copySrcLayoutCount + 1u, sizeof *copies->sources);
        copies->targets = calloc(host.copyDstLayoutCount + 1u, sizeof *copies->targets);
    }
    dev->host_copies = copies;
    if (!copies || !copies->sources || !copies->targets)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    host.pCopySrcLayouts = copies->sources;
    host.pCopyDstLayouts = copies->targets;
    dev->instance->vk.GetPhysicalDeviceProperties2(dev->gpu, &properties);
    copies->source_count = host.copySrcLayoutCount;
    copies->target_count = host.copyDstLayoutCount;
    return LAP_OK;
}
#else
enum lap_status replay_host_copies_create(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    (void)r, (void)dev, (void)info;
    return LAP_OK;
}
#endif

void replay_host_copies_destroy(struct replay_device *dev)
{
    if (!dev->host_copies)
        return;
    free(dev->host_copies->sources);
    free(dev->host_copies->targets);
    free(dev->host_copies);
    dev->host_copies = NULL;
}

/* ---- usage ---- */

VkImageUsageFlags replay_host_copies_usage(const struct replay_device *dev, VkImageUsageFlags recorded)
{
    return recorded & REPLAY_HOST_TRANSFER && !dev->host_copies ? (recorded & ~REPLAY_HOST_TRANSFER) | OWN_USAGE
                                                                : recorded;
}

/* Drivers may promise images whose format has no host copies. */
static bool is_promised(const struct replay_device *dev, const VkImageCreateInfo *info)
{
#ifdef VK_EXT_host_image_copy
    VkFormatProperties3 formats = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3};
    VkFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2, .pNext = &formats};

    if (!dev->instance->vk.GetPhysicalDeviceFormatProperties2)
        return false;
    dev->instance->vk.GetPhysicalDeviceFormatProperties2(dev->gpu, info->format, &properties);
    return ((info->tiling == VK_IMAGE_TILING_LINEAR ? formats.linearTilingFeatures : formats.optimalTilingFeatures) &
            VK_FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT_EXT) &&
           replay_format_image_has_usage(dev, info);
#else
    (void)dev, (void)info;
    return false;
#endif
}

void replay_host_copies_need_usage(const struct replay_device *dev, VkImageCreateInfo *info)
{
    VkImageStencilUsageCreateInfo *stencil;
    VkImageCreateInfo changed = *info;

    if (!(info->usage & REPLAY_HOST_TRANSFER))
        return;
    changed.format = replay_format_substitute(dev, info->format);
    if (dev->host_copies && is_promised(dev, &changed))
        return;
    info->usage = (info->usage & ~REPLAY_HOST_TRANSFER) | OWN_USAGE;
    stencil = (VkImageStencilUsageCreateInfo *)(uintptr_t)lap_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);
    if (stencil && stencil->stencilUsage & REPLAY_HOST_TRANSFER) /* in the decoder's own memory */
        stencil->stencilUsage = (stencil->stencilUsage & ~REPLAY_HOST_TRANSFER) | OWN_USAGE;
}

/* ---- texels ---- */

enum lap_status replay_lapilliWriteTexels(struct replay *r, struct replay_device *dev,
                                          struct gen_args_lapilliWriteTexels *args)
{
    struct replay_host_region to = {.r = r, .dev = dev, .image = args->image, .layout = args->layout};
    enum lap_status status;

    if (!args->pOffset || !args->pExtent || !args->pData)
        return replay_fail(r, "the host copies no texels, or to nowhere");
    to.all = (struct lap_texel_region){args->aspect,     args->mipLevel, args->arrayLayer,
                                       args->layerCount, *args->pOffset, *args->pExtent};
    status = replay_host_region_examine(&to, true);
    if (status != LAP_OK)
        return status;
    if (lap_texels_region_bytes(&to.block, &to.all) != args->dataSize)
        return replay_fail(r, "the host copies %zu bytes, which are not those of the texels of VkImage:%" PRIu64,
                           args->dataSize, to.index);
    return replay_host_region_write(&to, args->pData);
}

#ifdef VK_EXT_host_image_copy

/* ---- from image to image ---- */

/* One piece of the read texels goes to the same place of the target. */
struct transfer {
    struct replay_host_region to;
    struct lap_texel_region from; /* all of it */
};

static enum lap_status transfer_piece(void *context, const struct replay_host_region *from,
                                      const struct lap_texel_region *piece, void *texels, size_t bytes)
{
    struct transfer *transfer = context;
    struct replay_host_region to = transfer->to;
    const struct lap_texel_region *all = &transfer->from;
    const uint32_t slices = piece->extent.depth * piece->layer_count;
    const uint32_t first = piece->layer - all->layer + (uint32_t)(piece->offset.z - all->offset.z);

    (void)from, (void)bytes;
    to.all.offset.x += piece->offset.x - all->offset.x;
    to.all.offset.y += piece->offset.y - all->offset.y;
    to.all.extent = (VkExtent3D){piece->extent.width, piece->extent.height, 1};
    to.all.layer_count = 1;
    if (to.record->info.imageType == VK_IMAGE_TYPE_3D) { /* layers and slices may be copied to each other */
        to.all.offset.z += (int32_t)first;
        to.all.extent.depth = slices;
    } else {
        to.all.layer += first;
        to.all.layer_count = slices;
    }
    return replay_host_region_write(&to, texels);
}

static enum lap_status copy_by_host(struct replay *r, struct replay_device *dev, const VkCopyImageToImageInfoEXT *info)
{
    VkCopyImageToImageInfoEXT copy = *info;
    enum lap_status status = replay_staging_finish(r, dev);

    copy.flags = 0; /* the driver's own order of bytes was only for speed, and leaves the same texels */
    return status == LAP_OK ? replay_result(r, dev->vk.CopyImageToImageEXT(dev->live, &copy)) : status;
}

/* One region of one layer, or between two images of all layers. */
static enum lap_status copy_by_device(struct replay_host_region *from, struct replay_host_region *to,
                                      const VkImageCopy2 *region)
{
    struct replay_image_step step = {.kind = REPLAY_STEP_COPY,
                                     .to = replay_host_region_part(to, &to->all),
                                     .from = replay_host_region_part(from, &from->all),
                                     .copy = {replay_host_layers(&from->all), region->srcOffset,
                                              replay_host_layers(&to->all), region->dstOffset, region->extent}};
    enum lap_status status = LAP_OK;
    const uint32_t layers = from->all.layer_count;

    if (from->image != to->image)
        return replay_staging_image_step(to->r, to->dev, &to->record->staged, &from->record->staged, &step);
    step.copy.srcSubresource.layerCount = step.copy.dstSubresource.layerCount = 1;
    step.from.range.layerCount = step.to.range.layerCount = 1;
    for (uint32_t i = 0; i < layers && status == LAP_OK; i++) {
        step.copy.srcSubresource.baseArrayLayer = step.from.range.baseArrayLayer = from->all.layer + i;
        step.copy.dstSubresource.baseArrayLayer = step.to.range.baseArrayLayer = to->all.layer + i;
        status = replay_staging_image_step(to->r, to->dev, &to->record->staged, NULL, &step);
    }
    return status;
}

/* Slices of a 3D image may be copied to layers, and the reverse. Compressed texels may become blocks of a format with
 * texels of their size: extents are those of the source. */
static void describe_copy(struct replay_host_region *from, struct replay_host_region *to, const VkImageCopy2 *region)
{
    const struct replay_image *source = replay_image_of(from->r, from->image, NULL),
                              *target = replay_image_of(to->r, to->image, NULL);
    struct lap_texel_block in = {1, 1, 0, 1, 1}, out = in;
    uint32_t layers = region->srcSubresource.layerCount;

    if (layers == VK_REMAINING_ARRAY_LAYERS)
        layers = source ? source->info.arrayLayers - region->srcSubresource.baseArrayLayer : 0;
    if (source && target) {
        (void)lap_texels_block(source->recorded_format, region->srcSubresource.aspectMask, &in);
        (void)lap_texels_block(target->recorded_format, region->dstSubresource.aspectMask, &out);
    }
    from->all = (struct lap_texel_region){region->srcSubresource.aspectMask,
                                          region->srcSubresource.mipLevel,
                                          region->srcSubresource.baseArrayLayer,
                                          layers,
                                          region->srcOffset,
                                          region->extent};
    to->all = (struct lap_texel_region){region->dstSubresource.aspectMask,
                                        region->dstSubresource.mipLevel,
                                        region->dstSubresource.baseArrayLayer,
                                        layers,
                                        region->dstOffset,
                                        region->extent};
    if (source && source->info.imageType != VK_IMAGE_TYPE_3D)
        from->all.extent.depth = 1;
    else
        from->all.layer_count = 1;
    if (target && target->info.imageType != VK_IMAGE_TYPE_3D) {
        to->all.extent.depth = 1;
        to->all.layer_count = from->all.layer_count * from->all.extent.depth;
    } else {
        to->all.layer_count = 1;
        to->all.extent.depth = from->all.layer_count * from->all.extent.depth;
    }
    if (in.width * in.height != out.width * out.height) {
        to->all.extent.width = (uint32_t)(((uint64_t)region->extent.width + in.width - 1) / in.width) * out.width;
        to->all.extent.height = (uint32_t)(((uint64_t)region->extent.height + in.height - 1) / in.height) * out.height;
    }
}

/* Both aspects of a copy that names two. */
static enum lap_status copy_region(struct replay *r, struct replay_device *dev, const VkCopyImageToImageInfoEXT *info,
                                   const VkImageCopy2 *region)
{
    struct replay_host_region from = {.r = r, .dev = dev, .image = info->srcImage, .layout = info->srcImageLayout};
    struct replay_host_region to = {.r = r, .dev = dev, .image = info->dstImage, .layout = info->dstImageLayout};
    struct transfer transfer;
    enum lap_status status;

    describe_copy(&from, &to, region);
    status = replay_host_region_examine(&from, false);
    if (status == LAP_OK)
        status = replay_host_region_examine(&to, true);
    if (status != LAP_OK)
        return status;
    if (lap_texels_region_bytes(&from.block, &from.all) != lap_texels_region_bytes(&to.block, &to.all))
        return replay_fail(r, "the host copies texels of VkImage:%" PRIu64 " to others of VkImage:%" PRIu64, from.index,
                           to.index);
    if (from.conversion == REPLAY_CONVERT_NONE && to.conversion == REPLAY_CONVERT_NONE)
        return copy_by_device(&from, &to, region);
    if (from.record->info.format == to.record->info.format &&
        from.record->recorded_format == to.record->recorded_format)
        return copy_by_device(&from, &to, region);
    transfer = (struct transfer){to, from.all};
    return replay_host_region_read(&from, transfer_piece, &transfer);
}

static bool can_copy(const struct replay_device *dev, const VkCopyImageToImageInfoEXT *info,
                     const struct replay_image *from, const struct replay_image *to)
{
    return replay_host_can_read(dev, from, info->srcImageLayout) &&
           replay_host_can_write(dev, to, info->dstImageLayout) &&
           (from->recorded_format == to->recorded_format ||
            (from->info.format == from->recorded_format && to->info.format == to->recorded_format));
}

/* Whether the images have the regions of a host copy, on any path. */
static enum lap_status examine_copy(struct replay *r, struct replay_device *dev, const VkCopyImageToImageInfoEXT *info)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < info->regionCount && status == LAP_OK; i++) {
        struct replay_host_region from = {.r = r, .dev = dev, .image = info->srcImage, .layout = info->srcImageLayout};
        struct replay_host_region to = {.r = r, .dev = dev, .image = info->dstImage, .layout = info->dstImageLayout};
        describe_copy(&from, &to, &info->pRegions[i]);
        status = replay_host_region_examine(&from, false);
        if (status == LAP_OK)
            status = replay_host_region_examine(&to, true);
    }
    return status;
}

enum lap_status replay_CopyImageToImageEXT(struct replay *r, struct replay_device *dev,
                                           struct gen_args_vkCopyImageToImageEXT *args)
{
    const VkCopyImageToImageInfoEXT *info = args->pCopyImageToImageInfo;
    const struct replay_image *from, *to;
    enum lap_status status;

    if (!info || (info->regionCount && !info->pRegions))
        return replay_fail(r, "the host copies no texels, or to nowhere");
    status = examine_copy(r, dev, info);
    if (status != LAP_OK || !info->regionCount)
        return status;
    from = replay_image_of(r, info->srcImage, NULL);
    to = replay_image_of(r, info->dstImage, NULL);
    if (can_copy(dev, info, from, to))
        return copy_by_host(r, dev, info);
    for (uint32_t i = 0; i < info->regionCount && status == LAP_OK; i++)
        status = copy_region(r, dev, info, &info->pRegions[i]);
    return status == LAP_OK ? replay_host_settle(r, dev, to) : status;
}

/* ---- layouts ---- */

static uint32_t end_of(uint32_t first, uint32_t count, uint32_t most)
{
    return first < most && (count == VK_REMAINING_MIP_LEVELS || count > most - first) ? most - first : count;
}

static enum lap_status transition(struct replay *r, struct replay_device *dev,
                                  const VkHostImageLayoutTransitionInfoEXT *info)
{
    VkHostImageLayoutTransitionInfoEXT changed = *info;
    VkImageSubresourceRange *range = &changed.subresourceRange;
    uint64_t index = 0;
    struct replay_image *record = replay_image_of(r, info->image, &index);
    struct replay_image_step step = {.kind = REPLAY_STEP_LAYOUT, .old_layout = info->oldLayout};
    enum lap_status status;
    uint32_t most;

    if (!record || (!record->bound && !replay_sparse_is_bound(record->sparse)))
        return replay_fail(r, "the host gives a layout to an image that is not alive or has no memory");
    range->levelCount = end_of(range->baseMipLevel, range->levelCount, record->info.mipLevels);
    most = record->info.imageType == VK_IMAGE_TYPE_3D ? record->info.extent.depth : record->info.arrayLayers;
    if (record->info.imageType != VK_IMAGE_TYPE_3D) /* for a volume, "all remaining" may mean its slices */
        range->layerCount = end_of(range->baseArrayLayer, range->layerCount, most);
    if (range->baseMipLevel >= record->info.mipLevels || range->baseArrayLayer >= most ||
        (range->layerCount != VK_REMAINING_ARRAY_LAYERS && range->layerCount > most - range->baseArrayLayer) ||
        !range->levelCount || !range->layerCount)
        return replay_fail(r, "the host gives a layout to texels that are not in VkImage:%" PRIu64, index);
    if (!replay_host_is_copy_layout(info->newLayout)) /* VUID-VkHostImageLayoutTransitionInfo-newLayout-09057 */
        return replay_fail(r, "the host gives VkImage:%" PRIu64 " layout %d, which no image can be given", index,
                           info->newLayout);
    range->aspectMask = replay_host_barrier_aspects(dev, record, range->aspectMask);
    if (replay_host_can_copy(dev, record) &&
        (!replay_host_is_copy_layout(info->oldLayout) || replay_host_can_read(dev, record, info->oldLayout)) &&
        replay_host_can_write(dev, record, info->newLayout)) {
        status = replay_staging_finish(r, dev);
        return status == LAP_OK ? replay_result(r, dev->vk.TransitionImageLayoutEXT(dev->live, 1, &changed)) : status;
    }
    step.to = (struct replay_image_part){info->image, *range, info->newLayout};
    status = replay_staging_image_step(r, dev, &record->staged, NULL, &step);
    return status == LAP_OK ? replay_host_settle(r, dev, record) : status;
}

enum lap_status replay_TransitionImageLayoutEXT(struct replay *r, struct replay_device *dev,
                                                struct gen_args_vkTransitionImageLayoutEXT *args)
{
    enum lap_status status = LAP_OK;

    if (args->transitionCount && !args->pTransitions)
        return replay_fail(r, "the host gives layouts to nothing");
    for (uint32_t i = 0; i < args->transitionCount && status == LAP_OK; i++)
        status = transition(r, dev, &args->pTransitions[i]);
    return status;
}

#endif
