/* SPDX-License-Identifier: MIT */
/* Buffers, images and their views: their records. */
#include "layer/entry/resource.h"

#include "gen_layer.h"
#include "layer/command/touched.h"
#include "layer/core/records.h"
#include "layer/image/format_utils.h"
#include "layer/image/image_modifier.h"
#include "layer/image/image_rows.h"
#include "layer/memory/address_range.h"
#include "layer/memory/backing.h"
#include "layer/memory/capture_address.h"
#include "layer/memory/sparse_places.h"
#include "layer/submit/full_checks.h"
#include "layer/submit/sparse.h"
#include "vulkan/chain.h"

static void track(struct layer_device *dev, layer_resource resource, void *record, VkDeviceSize bytes,
                  bool host_readable_layout, struct lap_memobj **memobj)
{
    if (!dev->memtrack || !layer_is_recording())
        return;
    layer_tracking_result(lap_memobj_create(dev->memtrack, record, bytes, host_readable_layout, memobj));
    if (*memobj && !layer_resource_add(dev, resource, *memobj))
        layer_stop("out of memory");
}

static void untrack(struct layer_device *dev, layer_resource resource, struct lap_memobj **memobj)
{
    if (!*memobj)
        return;
    layer_resource_remove(dev, resource);
    lap_memobj_destroy(memobj);
}

/* ---- buffers ---- */

/* Whether all work that may have the buffer reads it only, wherever the work's addresses and descriptors lead. */
static bool is_only_read(const VkBufferCreateInfo *info)
{
    const VkFlags64 reads = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                            VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
                            VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
    return !(lap_chain_buffer_usage(info) & ~reads) && !(info->flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT);
}

static void remember_buffer(struct layer_device *dev, const VkBufferCreateInfo *pCreateInfo,
                            const struct layer_backing_object *backing, struct layer_buffer *buffer)
{
    buffer->backing = *backing;
    buffer->bytes = pCreateInfo->size;
    buffer->usage = (VkBufferUsageFlags)lap_chain_buffer_usage(pCreateInfo);
    atomic_store_explicit(&buffer->opaque, layer_is_preprocess(lap_chain_buffer_usage(pCreateInfo)),
                          memory_order_relaxed);
    track(dev, layer_resource_of_buffer(buffer), buffer, buffer->bytes, true, &buffer->memobj);
    if (buffer->memobj && is_only_read(pCreateInfo))
        lap_memobj_only_read(buffer->memobj);
    if (pCreateInfo->flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT)
        layer_sparse_created_buffer(dev, buffer);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateBuffer(VkDevice device, const VkBufferCreateInfo *pCreateInfo,
                                                    const VkAllocationCallbacks *pAllocator, VkBuffer *pBuffer)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct layer_backing_object backing;
    struct layer_address_buffer with_address;
    struct layer_readable_buffer with_usage;
    bool readable;
    const VkBufferCreateInfo *asked = layer_verify_all_buffer(pCreateInfo, &with_usage, &readable);
    const VkBufferCreateInfo *info = layer_address_buffer_info(dev, asked, &with_address);
    VkResult result = layer_backing_create_buffer(dev, info, pAllocator, pBuffer, &backing);

    if (info != asked && result < 0) {
        info = asked;
        result = layer_backing_create_buffer(dev, info, pAllocator, pBuffer, &backing);
    } else if (info != asked) {
        layer_address_buffer_created(dev, *pBuffer, &with_address);
    }
    struct layer_buffer *buffer = result >= 0 ? LAYER_ADD(dev, VkBuffer, *pBuffer) : NULL;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkCreateBuffer, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkCreateBuffer(enc, device, info, pAllocator, pBuffer, result);
        layer_packet_end();
    }
    if (buffer && !buffer->object.aliases) {
        buffer->capturable = info != asked;
        buffer->readable = readable;
        remember_buffer(dev, pCreateInfo, &backing, buffer);
    } else {
        layer_backing_settle(dev, &backing);
    }
    return result;
}

void layer_buffer_finish(struct lap_object *object)
{
    struct layer_buffer *buffer = (struct layer_buffer *)object;
    layer_sparse_pages_destroy(buffer->pages);
    lap_interval_finish(&buffer->overwritten);
}

void hook_before_DestroyBuffer(struct layer_device *dev, VkDevice device, VkBuffer buffer,
                               const VkAllocationCallbacks *pAllocator)
{
    struct layer_buffer *record = LAYER_GET(dev, VkBuffer, buffer);
    if (!record || record->object.aliases)
        return;
    layer_address_range_remove(dev, record);
    untrack(dev, layer_resource_of_buffer(record), &record->memobj);
    layer_backing_settle(dev, &record->backing);
}

void hook_after_CreateBufferView(struct layer_device *dev, VkDevice device, const VkBufferViewCreateInfo *pCreateInfo,
                                 const VkAllocationCallbacks *pAllocator, VkBufferView *pView, VkResult result)
{
    struct layer_buffer_view *view = LAYER_GET(dev, VkBufferView, *pView);
    struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, pCreateInfo->buffer);
    if (!view || !buffer)
        return;
    view->buffer = buffer;
    view->offset = pCreateInfo->offset < buffer->bytes ? pCreateInfo->offset : buffer->bytes;
    view->bytes = pCreateInfo->range;
    if (view->bytes > buffer->bytes - view->offset) /* VK_WHOLE_SIZE too */
        view->bytes = buffer->bytes - view->offset;
}

/* ---- images ---- */

void layer_image_track(struct layer_device *dev, struct layer_image *image)
{
    struct layer_image_planes planes;
    if (image->memobj || image->swapchain)
        return;
    layer_image_planes(dev, image, &planes);
    image->bytes = planes.offsets[planes.count - 1] + planes.bytes[planes.count - 1];
    image->bytes += layer_sparse_tile_bytes(dev, image);
    track(dev, layer_resource_of_image(image), image, image->bytes, image->info.tiling == VK_IMAGE_TILING_LINEAR,
          &image->memobj);
}

void layer_image_track_presentable(struct layer_device *dev, struct layer_image *image)
{
    if (layer.options.parts.on && !image->memobj)
        track(dev, layer_resource_of_image(image), image, 1, false, &image->memobj);
}

void layer_image_untrack(struct layer_device *dev, struct layer_image *image)
{
    untrack(dev, layer_resource_of_image(image), &image->memobj);
}

/* Before they are bound the driver must not be asked about the memory of images whose memory is made elsewhere. */
static bool is_measurable(const VkImageCreateInfo *info)
{
    const VkImageSwapchainCreateInfoKHR *swapchain =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR);
    const VkExternalMemoryImageCreateInfo *external =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    return (!swapchain || swapchain->swapchain == VK_NULL_HANDLE) &&
           (!external || !(external->handleTypes & VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID));
}

/* pCreateInfo: as it is recorded. */
static void remember_image(struct layer_device *dev, const VkImageCreateInfo *pCreateInfo,
                           const struct layer_backing_object *backing, struct layer_image *image)
{
    image->backing = *backing;
    image->info = *pCreateInfo;
    image->info.pNext = NULL;
    image->info.pQueueFamilyIndices = NULL;
    image->info.queueFamilyIndexCount = 0;
    layer_image_modifier_remember(image, pCreateInfo);
    if (is_measurable(pCreateInfo))
        layer_image_track(dev, image);
    if (pCreateInfo->flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT)
        layer_sparse_created_image(dev, image);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateImage(VkDevice device, const VkImageCreateInfo *pCreateInfo,
                                                   const VkAllocationCallbacks *pAllocator, VkImage *pImage)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct layer_backing_object backing;
    VkImageCreateInfo with_usage;
    bool readable;
    const VkImageCreateInfo *info = layer_verify_all_image(dev, pCreateInfo, &with_usage, &readable);
    VkResult result = layer_backing_create_image(dev, info, pAllocator, pImage, &backing);
    struct layer_image *image;
    struct layer_image_modifier modifier;
    /* A replay of a part writes the image's contents, so it needs the added usage. */
    const VkImageCreateInfo *recorded = layer.options.parts.on ? info : pCreateInfo;
    struct lap_enc *enc;

    if (result >= 0 && LAYER_GET(dev, VkImage, *pImage))
        layer_swapchain_end_retired_image(dev, *pImage);
    image = result >= 0 ? LAYER_ADD(dev, VkImage, *pImage) : NULL;
    if (result >= 0)
        recorded = layer_image_modifier_record(dev, *pImage, recorded, &modifier);
    layer_note_image_format(pCreateInfo->format);
    enc = layer_packet_begin(&dev->tables, GEN_vkCreateImage, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkCreateImage(enc, device, recorded, pAllocator, pImage, result);
        layer_packet_end();
    }
    if (image && !image->object.aliases) {
        image->readable = readable;
        remember_image(dev, recorded, &backing, image);
    } else {
        layer_backing_settle(dev, &backing);
    }
    return result;
}

void hook_before_DestroyImage(struct layer_device *dev, VkDevice device, VkImage image,
                              const VkAllocationCallbacks *pAllocator)
{
    struct layer_image *record = LAYER_GET(dev, VkImage, image);
    if (!record || record->object.aliases)
        return;
    untrack(dev, layer_resource_of_image(record), &record->memobj);
    layer_backing_settle(dev, &record->backing);
}

/* Other view types of a 3D image, or views of some of its slices, can't be expressed in levels and layers. */
static struct layer_view_range view_range(const struct layer_image *image, const VkImageViewCreateInfo *info)
{
    const VkImageSubresourceRange *range = &info->subresourceRange;
    const VkImageAspectFlags known = VK_IMAGE_ASPECT_COLOR_BIT | VK_IMAGE_ASPECT_DEPTH_BIT |
                                     VK_IMAGE_ASPECT_STENCIL_BIT | VK_IMAGE_ASPECT_PLANE_0_BIT |
                                     VK_IMAGE_ASPECT_PLANE_1_BIT | VK_IMAGE_ASPECT_PLANE_2_BIT;
    uint32_t levels = range->levelCount, layers = range->layerCount;

    if (info->pNext && image->info.imageType == VK_IMAGE_TYPE_3D)
        return (struct layer_view_range){0};
    if ((image->info.imageType == VK_IMAGE_TYPE_3D && info->viewType != VK_IMAGE_VIEW_TYPE_3D) ||
        range->aspectMask & ~known || range->baseMipLevel >= image->info.mipLevels ||
        range->baseArrayLayer >= image->info.arrayLayers)
        return (struct layer_view_range){0};
    if (levels > image->info.mipLevels - range->baseMipLevel)
        levels = image->info.mipLevels - range->baseMipLevel;
    if (layers > image->info.arrayLayers - range->baseArrayLayer)
        layers = image->info.arrayLayers - range->baseArrayLayer;
    return (struct layer_view_range){.first_layer = range->baseArrayLayer,
                                     .layer_count = layers,
                                     .aspect = (uint16_t)range->aspectMask,
                                     .first_level = (uint8_t)range->baseMipLevel,
                                     .level_count = (uint8_t)levels};
}

void hook_after_CreateImageView(struct layer_device *dev, VkDevice device, const VkImageViewCreateInfo *pCreateInfo,
                                const VkAllocationCallbacks *pAllocator, VkImageView *pView, VkResult result)
{
    struct layer_image_view *view = LAYER_GET(dev, VkImageView, *pView);
    struct layer_image *image = LAYER_GET(dev, VkImage, pCreateInfo->image);
    if (!view)
        return;
    view->image = image;
    if (image)
        view->range = view_range(image, pCreateInfo);
}
