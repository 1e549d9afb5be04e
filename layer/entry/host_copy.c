/* SPDX-License-Identifier: MIT */
/*
 * Copies between images and memory of the program by the host (VK_EXT_host_image_copy, Vulkan 1.4), and layouts that
 * the host changes. A copy into an image is recorded as texels without padding (lapilliWriteTexels), so that a replay
 * needs neither the program's memory nor the same driver: after a copy in the driver's own byte order
 * (VK_HOST_IMAGE_COPY_MEMCPY) the layer reads the texels back. With --verify, copies from an image are recorded as a
 * hash.
 *
 * The image is not in use by the device during these calls, and the specification wants no other call to touch its
 * subresources meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "gen_renamed.h"
#include "layer/command/image_state.h"
#include "layer/core/records.h"
#include "layer/submit/host_update.h"
#include "layer/submit/memory_checks.h"
#include "vulkan/texel/pixels.h"
#include "vulkan/texel/texels.h"

#ifdef VK_EXT_host_image_copy

#define MOST_BYTES          (1u << 20) /* of texels, in one packet */

#define FAILED_FLAG(result) ((result) < 0 ? LAP_PACKET_FAILED : 0u)

/* ---- linear images, whose bytes memory tracking knows ---- */

/* Writes packets of earlier host writes first, since the copy reads or overwrites them. */
static void before_access(struct layer_device *dev, VkImage handle, bool writes)
{
    const struct layer_image *image = LAYER_GET(dev, VkImage, handle);
    struct lap_touched touched;

    if (!image || !image->memobj || image->info.tiling != VK_IMAGE_TILING_LINEAR || !layer_is_recording())
        return;
    pthread_mutex_lock(&dev->submit.mutex);
    lap_touched_init(&touched);
    if (lap_touched_add(&touched, image->memobj, 0, UINT64_MAX, writes))
        layer_emit_updates(dev, &touched);
    else
        layer_stop("out of memory");
    lap_touched_finish(&touched);
    pthread_mutex_unlock(&dev->submit.mutex);
}

/* The driver's stores are not host writes: a replay repeats them with the call. */
static void after_write(struct layer_device *dev, VkImage handle)
{
    const struct layer_image *image = LAYER_GET(dev, VkImage, handle);
    struct lap_touched touched;

    if (!image || !image->memobj || image->info.tiling != VK_IMAGE_TILING_LINEAR || !layer_is_recording())
        return;
    pthread_mutex_lock(&dev->submit.mutex);
    lap_touched_init(&touched);
    if (lap_touched_add(&touched, image->memobj, 0, UINT64_MAX, true))
        lap_memtrack_device_wrote(dev->memtrack, &touched);
    else
        layer_stop("out of memory");
    lap_touched_finish(&touched);
    pthread_mutex_unlock(&dev->submit.mutex);
}

/* ---- texels in the program's memory ---- */

/* A region of a copy, and where its texels lie. */
struct copied {
    struct layer_device *dev;
    VkImage image;
    VkImageLayout layout;
    struct lap_texel_block block;
    struct lap_texel_region all;
    const unsigned char *memory;
    uint64_t row_pitch, slice_pitch;
    void *scratch; /* MOST_BYTES; made when rows have gaps */
};

static uint64_t blocks(uint64_t texels, uint32_t block)
{
    return (texels + block - 1) / block;
}

/* The texels of a piece without gaps; NULL: out of memory. */
static const void *pack(struct copied *c, const struct lap_texel_region *piece, size_t bytes)
{
    const uint64_t row = blocks(piece->extent.width, c->block.width) * c->block.bytes;
    const uint64_t rows = blocks(piece->extent.height, c->block.height);
    const uint32_t slices = piece->extent.depth * piece->layer_count;
    const uint32_t slice =
        (piece->layer - c->all.layer) * c->all.extent.depth + (uint32_t)(piece->offset.z - c->all.offset.z);
    const unsigned char *from =
        c->memory + slice * c->slice_pitch +
        (uint32_t)(piece->offset.y - c->all.offset.y) / c->block.height * c->row_pitch +
        (uint64_t)((uint32_t)(piece->offset.x - c->all.offset.x) / c->block.width) * c->block.bytes;
    unsigned char *to;

    if ((row == c->row_pitch || (rows == 1 && slices == 1)) && (slices == 1 || rows * row == c->slice_pitch))
        return from;
    if (!c->scratch)
        c->scratch = malloc(bytes > MOST_BYTES ? bytes : MOST_BYTES);
    to = c->scratch;
    for (uint32_t i = 0; to && i < slices; i++)
        for (uint64_t y = 0; y < rows; y++, to += row)
            memcpy(to, from + i * c->slice_pitch + y * c->row_pitch, (size_t)row);
    return c->scratch;
}

static enum lap_status write_piece(void *context, const struct lap_texel_region *piece, size_t bytes)
{
    struct copied *c = context;
    const void *texels = pack(c, piece, bytes);
    struct lap_enc *enc;

    if (!texels)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    enc = layer_packet_begin(&c->dev->tables, GEN_lapilliWriteTexels, 0);
    if (!enc)
        return LAP_ERROR_STOPPED;
    gen_encode_lapilliWriteTexels(enc, c->image, c->layout, piece->aspect, piece->level, piece->layer,
                                  piece->layer_count, &piece->offset, &piece->extent, bytes, texels);
    layer_packet_end();
    return LAP_OK;
}

static enum lap_status check_piece(void *context, const struct lap_texel_region *piece, size_t bytes)
{
    struct copied *c = context;
    const struct layer_image *image = LAYER_GET(c->dev, VkImage, c->image);
    const void *texels = pack(c, piece, bytes);
    struct lap_enc *enc;
    uint64_t low, high;

    if (!texels || !image)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (piece->aspect == VK_IMAGE_ASPECT_DEPTH_BIT) { /* some bits may be undefined */
        if (!c->scratch)
            c->scratch = malloc(bytes > MOST_BYTES ? bytes : MOST_BYTES);
        if (!c->scratch)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        texels = memmove(c->scratch, texels, bytes);
        lap_texels_clean(image->info.format, piece->aspect, c->scratch, bytes);
    }
    lap_pixels_hash(texels, bytes, &low, &high);
    layer_check_bytes(c->dev, texels, bytes, low, high);
    enc = layer_packet_begin(&c->dev->tables, GEN_lapilliCheckRegion, 0);
    if (!enc)
        return LAP_ERROR_STOPPED;
    gen_encode_lapilliCheckRegion(enc, c->image, c->layout, piece->aspect, piece->level, piece->layer,
                                  piece->layer_count, &piece->offset, &piece->extent, low, high);
    layer_packet_end();
    layer_check_count(LAP_COUNTER_IMAGE_CHECKS);
    return LAP_OK;
}

/* False: the image or its format is not known. */
static bool describe(struct copied *c, const VkImageSubresourceLayers *where, VkOffset3D offset, VkExtent3D extent)
{
    const struct layer_image *image = LAYER_GET(c->dev, VkImage, c->image);

    if (!image || !lap_texels_block(image->info.format, where->aspectMask, &c->block))
        return false;
    c->all = (struct lap_texel_region){.aspect = where->aspectMask,
                                       .level = where->mipLevel,
                                       .layer = where->baseArrayLayer,
                                       .layer_count = where->layerCount,
                                       .offset = offset,
                                       .extent = extent};
    if (where->layerCount == VK_REMAINING_ARRAY_LAYERS)
        c->all.layer_count = image->info.arrayLayers - where->baseArrayLayer;
    return lap_texels_region_is_inside(&image->info, &c->block, &c->all);
}

static void place(struct copied *c, const void *memory, uint32_t row_length, uint32_t image_height)
{
    c->memory = memory;
    c->row_pitch = blocks(row_length ? row_length : c->all.extent.width, c->block.width) * c->block.bytes;
    c->slice_pitch = blocks(image_height ? image_height : c->all.extent.height, c->block.height) * c->row_pitch;
}

/* ---- copies in the driver's own order of bytes ---- */

/* Whether texels can be copied out of the layout as they are copied into it. */
static bool is_source_layout(struct layer_device *dev, VkImageLayout layout)
{
    VkPhysicalDeviceHostImageCopyPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host};
    const VkPhysicalDevice gpu = gen_VkPhysicalDevice(dev->physical_device->object.handle);
    bool found = layout == VK_IMAGE_LAYOUT_GENERAL;

    if (found || !dev->instance->vk.GetPhysicalDeviceProperties2)
        return found;
    dev->instance->vk.GetPhysicalDeviceProperties2(gpu, &properties);
    if (host.copySrcLayoutCount)
        host.pCopySrcLayouts = malloc(host.copySrcLayoutCount * sizeof *host.pCopySrcLayouts);
    if (!host.pCopySrcLayouts)
        return false;
    dev->instance->vk.GetPhysicalDeviceProperties2(gpu, &properties);
    for (uint32_t i = 0; i < host.copySrcLayoutCount; i++)
        found |= host.pCopySrcLayouts[i] == layout;
    free(host.pCopySrcLayouts);
    return found;
}

/* Reads the region as texels, for every layout of the program's copy. */
static enum lap_status read_texels(struct copied *c, lap_texels_piece_fn visit)
{
    const uint64_t bytes = lap_texels_region_bytes(&c->block, &c->all);
    void *texels = bytes <= SIZE_MAX / 2 ? malloc((size_t)bytes) : NULL;
    const VkImageToMemoryCopyEXT region = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT,
        .pHostPointer = texels,
        .imageSubresource = {c->all.aspect, c->all.level, c->all.layer, c->all.layer_count},
        .imageOffset = c->all.offset,
        .imageExtent = c->all.extent};
    const VkCopyImageToMemoryInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT,
                                             .srcImage = c->image,
                                             .srcImageLayout = c->layout,
                                             .regionCount = 1,
                                             .pRegions = &region};
    enum lap_status status = LAP_OK;

    if (!texels)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (!is_source_layout(c->dev, c->layout) || c->dev->vk.CopyImageToMemoryEXT(c->dev->handle, &info) < 0)
        status = lap_fail(LAP_ERROR_UNSUPPORTED,
                          "texels that the host copied in the driver's own order of bytes can't be read back");
    if (status == LAP_OK) {
        place(c, texels, 0, 0);
        status = lap_texels_cut(&c->block, &c->all, MOST_BYTES, visit, c);
    }
    free(texels);
    return status;
}

/* ---- the calls ---- */

static void end_copy(struct copied *c, enum lap_status status)
{
    if (status < 0 && status != LAP_ERROR_STOPPED)
        layer_stop(lap_error_message());
    free(c->scratch);
}

static void wrote(struct layer_device *dev, VkImage image, const VkImageSubresourceLayers *where, VkOffset3D offset,
                  VkExtent3D extent)
{
    layer_image_host_wrote(dev, image, where, offset, extent);
}

static void record_writes(struct layer_device *dev, const VkCopyMemoryToImageInfoEXT *info)
{
    const bool is_raw = info->flags & VK_HOST_IMAGE_COPY_MEMCPY_EXT;

    for (uint32_t i = 0; i < info->regionCount && layer_is_recording(); i++) {
        const VkMemoryToImageCopyEXT *region = &info->pRegions[i];
        struct copied c = {.dev = dev, .image = info->dstImage, .layout = info->dstImageLayout};
        enum lap_status status;
        if (!describe(&c, &region->imageSubresource, region->imageOffset, region->imageExtent)) {
            layer_stop("the host copied texels of an unknown format");
            return;
        }
        place(&c, region->pHostPointer, region->memoryRowLength, region->memoryImageHeight);
        status = is_raw ? read_texels(&c, write_piece) : lap_texels_cut(&c.block, &c.all, MOST_BYTES, write_piece, &c);
        end_copy(&c, status);
        wrote(dev, info->dstImage, &region->imageSubresource, region->imageOffset, region->imageExtent);
    }
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CopyMemoryToImageEXT(VkDevice device,
                                                            const VkCopyMemoryToImageInfoEXT *pCopyMemoryToImageInfo)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct lap_enc *enc;
    VkResult result;

    before_access(dev, pCopyMemoryToImageInfo->dstImage, true);
    result = dev->vk.CopyMemoryToImageEXT(device, pCopyMemoryToImageInfo);
    enc = layer_packet_begin(&dev->tables, GEN_vkCopyMemoryToImageEXT, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkCopyMemoryToImageEXT(enc, device, pCopyMemoryToImageInfo, result);
        layer_packet_end();
    }
    if (result >= 0 && layer_is_recording())
        record_writes(dev, pCopyMemoryToImageInfo);
    after_write(dev, pCopyMemoryToImageInfo->dstImage);
    return result;
}

static void record_checks(struct layer_device *dev, const VkCopyImageToMemoryInfoEXT *info)
{
    const bool is_raw = info->flags & VK_HOST_IMAGE_COPY_MEMCPY_EXT;

    for (uint32_t i = 0; i < info->regionCount && layer_is_recording(); i++) {
        const VkImageToMemoryCopyEXT *region = &info->pRegions[i];
        struct copied c = {.dev = dev, .image = info->srcImage, .layout = info->srcImageLayout};
        if (!layer_image_is_definite(dev, info->srcImage, &region->imageSubresource) ||
            !describe(&c, &region->imageSubresource, region->imageOffset, region->imageExtent))
            continue;
        place(&c, region->pHostPointer, region->memoryRowLength, region->memoryImageHeight);
        end_copy(&c,
                 is_raw ? read_texels(&c, check_piece) : lap_texels_cut(&c.block, &c.all, MOST_BYTES, check_piece, &c));
    }
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CopyImageToMemoryEXT(VkDevice device,
                                                            const VkCopyImageToMemoryInfoEXT *pCopyImageToMemoryInfo)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct lap_enc *enc;
    VkResult result;

    before_access(dev, pCopyImageToMemoryInfo->srcImage, false);
    result = dev->vk.CopyImageToMemoryEXT(device, pCopyImageToMemoryInfo);
    enc = layer_packet_begin(&dev->tables, GEN_vkCopyImageToMemoryEXT, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkCopyImageToMemoryEXT(enc, device, pCopyImageToMemoryInfo, result);
        layer_packet_end();
    }
    if (result >= 0 && layer.options.verify && layer_is_recording())
        record_checks(dev, pCopyImageToMemoryInfo);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CopyImageToImageEXT(VkDevice device,
                                                           const VkCopyImageToImageInfoEXT *pCopyImageToImageInfo)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const VkCopyImageToImageInfoEXT *info = pCopyImageToImageInfo;
    struct lap_enc *enc;
    VkResult result;

    before_access(dev, info->srcImage, false);
    before_access(dev, info->dstImage, true);
    result = dev->vk.CopyImageToImageEXT(device, info);
    enc = layer_packet_begin(&dev->tables, GEN_vkCopyImageToImageEXT, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkCopyImageToImageEXT(enc, device, info, result);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < info->regionCount && result >= 0; i++)
        wrote(dev, info->dstImage, &info->pRegions[i].dstSubresource, info->pRegions[i].dstOffset,
              info->pRegions[i].extent);
    after_write(dev, info->dstImage);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_TransitionImageLayoutEXT(VkDevice device, uint32_t transitionCount,
                                                                const VkHostImageLayoutTransitionInfoEXT *pTransitions)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.TransitionImageLayoutEXT(device, transitionCount, pTransitions);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkTransitionImageLayoutEXT, FAILED_FLAG(result));

    if (enc) {
        gen_encode_vkTransitionImageLayoutEXT(enc, device, transitionCount, pTransitions, result);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < transitionCount && result >= 0; i++)
        layer_image_host_layout(dev, pTransitions[i].image, &pTransitions[i].subresourceRange,
                                pTransitions[i].newLayout);
    return result;
}

#endif
