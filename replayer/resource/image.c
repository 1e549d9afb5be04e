/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/analysis/alias_groups.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/device/video_profile.h"
#include "replayer/format/format.h"
#include "replayer/format/image_support.h"
#include "replayer/memory/new_memory.h"
#include "replayer/memory/resource.h"
#include "replayer/memory/staging_image.h"
#include "replayer/resource/alias_placement.h"
#include "replayer/resource/create.h"
#include "replayer/resource/host_copy.h"
#include "replayer/sparse/sparse.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/ownership_transfer.h"
#include "vulkan/chain.h"
#include "vulkan/modifier.h"
#include "vulkan/texel/texels.h"

/* The replay drops external memory and presentable images (see bind_to_swapchain), and decides itself about dedicated
 * memory. */
static const VkStructureType dropped[] = {
    VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO_NV,
    VK_STRUCTURE_TYPE_EXTERNAL_FORMAT_ANDROID,           VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_IMAGE_CREATE_INFO_NV,
    VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR,
};

/* For shared images with modifiers drivers may support usages that their linear tiling lacks. */
static bool has_linear(const struct replay_device *dev, const VkImageCreateInfo *info)
{
    VkFormat format = replay_format_substitute(dev, info->format);
    VkImageFormatProperties most;

    return replay_format_can_be_queried(dev, format, info->tiling) &&
           dev->instance->vk.GetPhysicalDeviceImageFormatProperties(dev->gpu, format, info->imageType, info->tiling,
                                                                    info->usage, info->flags, &most) == VK_SUCCESS &&
           most.sampleCounts & info->samples && most.maxMipLevels >= info->mipLevels &&
           most.maxArrayLayers >= info->arrayLayers;
}

/* A replay's image has no modifier. */
static void choose_tiling(const struct replay_device *dev, VkImageCreateInfo *info)
{
    if (lap_modifier_remove(info) && info->tiling == VK_IMAGE_TILING_LINEAR && !has_linear(dev, info))
        info->tiling = VK_IMAGE_TILING_OPTIMAL;
}

VkResult replay_image_create(struct replay_device *dev, VkImageCreateInfo *info, VkImage *out_image)
{
    const VkExternalMemoryImageCreateInfo *external =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    choose_tiling(dev, info);
    /* Images that shared contents through one external memory now share a plain memory, which needs this flag. */
    if (external && external->handleTypes && info->tiling == VK_IMAGE_TILING_OPTIMAL && dev->vk.BindImageMemory2)
        info->flags |= VK_IMAGE_CREATE_ALIAS_BIT;
    lap_chain_drop(&info->pNext, dropped, sizeof dropped / sizeof *dropped);
    replay_share_image(dev, info);
    replay_host_copies_need_usage(dev, info);
    info->format = replay_format_substitute(dev, info->format);
    if (!replay_format_can_be_queried(dev, info->format, info->tiling))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    return dev->vk.CreateImage(dev->live, info, NULL, out_image);
}

enum lap_status replay_image_result(struct replay *r, const struct gen_args_vkCreateImage *args, VkResult result)
{
    const VkImageCreateInfo *info = args->pCreateInfo;

    if (result != VK_ERROR_FORMAT_NOT_SUPPORTED)
        return replay_result(r, result);
    return replay_refuse(r, "VkImage:%" PRIu64 ": the device has no %s images of %s with usage %#x and flags %#x",
                         gen_u64_VkImage(*args->pImage), info->tiling == VK_IMAGE_TILING_LINEAR ? "linear" : "optimal",
                         replay_format_name(info->format), info->usage, info->flags);
}

enum lap_status replay_CreateImage(struct replay *r, struct replay_device *dev, struct gen_args_vkCreateImage *args)
{
    VkImageCreateInfo info = *args->pCreateInfo;
    const VkFormat recorded_format = info.format;
    struct replay_image *record;
    enum lap_status status;
    VkImage image;

    if (*args->pImage == VK_NULL_HANDLE)
        return LAP_OK; /* the recorded call failed, so nothing uses the image */
    if (info.pNext && (status = replay_video_profiles_check(r, info.pNext)) != LAP_OK)
        return status;
    replay_image_need_usage(r, dev, &info);
    status = replay_image_result(r, args, replay_image_create(dev, &info, &image));
    if (status != LAP_OK)
        return status;
    replay_format_image_warn(r, dev, gen_u64_VkImage(*args->pImage), &info);
    status = replay_image_add(r, dev, gen_u64_VkImage(*args->pImage), image, &record);
    if (status != LAP_OK) {
        dev->vk.DestroyImage(dev->live, image, NULL);
        return status;
    }
    record->info = info;
    record->info.pNext = NULL;
    record->info.pQueueFamilyIndices = NULL;
    record->recorded_format = recorded_format;
    return LAP_OK;
}

static void free_places(struct replay *r, struct replay_device *dev, struct replay_image *record)
{
    for (int i = 0; i < REPLAY_MAX_PLANES; i++) {
        replay_overlay_buffer_destroy(r, dev, &record->bytes[i]);
        replay_memory_place_free(dev, &record->places[i]);
    }
}

enum lap_status replay_end_VkImage(struct replay *r, struct replay_device *dev, uint64_t index,
                                   struct replay_object *object)
{
    struct replay_image *record = object->record;

    if (record)
        replay_staging_settle_image(r, dev, &record->staged, gen_VkImage(object->live));
    if (!record || !record->of_swapchain)
        replay_destroy(dev, GEN_HANDLE_VkImage, object->live);
    if (record) {
        free_places(r, dev, record);
        replay_sparse_destroy(r, &record->sparse);
    }
    replay_image_free(r, record);
    replay_object_end(r, GEN_HANDLE_VkImage, index, object);
    return LAP_OK;
}

/* ---- binding ---- */

bool replay_plane_is_valid(const struct replay_device *dev, const VkImageCreateInfo *info, VkImageAspectFlags plane)
{
    uint32_t count = lap_format_planes(info->format);

    if (!plane)
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (plane == (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << i)
            return info->flags & VK_IMAGE_CREATE_DISJOINT_BIT && dev->vk.BindImageMemory2;
    return false;
}

/* Binds the planes of a disjoint image in one call (VUID-vkBindImageMemory2-pBindInfos-02858), once the last plane has
 * memory. */
static enum lap_status bind_planes(struct replay *r, struct replay_device *dev, VkImage image,
                                   struct replay_image *record)
{
    VkBindImagePlaneMemoryInfo planes[REPLAY_MAX_PLANES];
    VkBindImageMemoryInfo binds[REPLAY_MAX_PLANES];
    uint32_t count = lap_format_planes(record->info.format);
    enum lap_status status;

    for (uint32_t i = 0; i < count; i++) {
        if (!record->places[i].memory)
            return LAP_OK;
        planes[i] = (VkBindImagePlaneMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO,
                                                 .planeAspect = VK_IMAGE_ASPECT_PLANE_0_BIT << i};
        binds[i] = (VkBindImageMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                           .pNext = &planes[i],
                                           .image = image,
                                           .memory = record->places[i].memory,
                                           .memoryOffset = record->places[i].offset};
    }
    status = replay_result(r, dev->vk.BindImageMemory2(dev->live, count, binds));
    record->bound = status == LAP_OK;
    return status;
}

/* Replaces an image that was created for a swapchain with the virtual swapchain's own image. */
static enum lap_status bind_to_swapchain(struct replay *r, struct replay_device *dev, uint64_t index, VkImage image,
                                         struct replay_image *record, const struct gen_args_lapilliBindImage *args)
{
    struct replay_object *object;
    enum lap_status status;
    VkImage real;

    status = dev->present.swapchain_image
                 ? dev->present.swapchain_image(r, dev, args->swapchain, args->swapchainImageIndex, &real)
                 : replay_invalid(r, "a swapchain that is not alive");
    if (status != LAP_OK)
        return status;
    replay_object_remove(r, GEN_HANDLE_VkImage, index);
    dev->vk.DestroyImage(dev->live, image, NULL);
    status = replay_object_add(r, GEN_HANDLE_VkImage, index, gen_u64_VkImage(real), dev, &object);
    if (status != LAP_OK) {
        replay_image_free(r, record);
        return status;
    }
    object->record = record;
    record->bound = record->of_swapchain = true;
    return LAP_OK;
}

enum lap_status replay_lapilliBindImage(struct replay *r, struct replay_device *dev,
                                        struct gen_args_lapilliBindImage *args)
{
    uint32_t plane = replay_alias_plane(args->planeAspect);
    struct replay_memory_needs needs;
    enum lap_status status;
    uint64_t index;
    struct replay_image *record = replay_image_of(r, args->image, &index);

    if (!record)
        return replay_invalid(r, "memory is bound to an image that is not alive");
    if (!replay_plane_is_valid(dev, &record->info, args->planeAspect))
        return replay_fail(r, "VkImage:%" PRIu64 " has no plane %#x of its own", index, args->planeAspect);
    if (record->bound || record->places[plane].memory || record->sparse)
        return replay_fail(r, "VkImage:%" PRIu64 " is bound twice", index);
    if (args->swapchain)
        return bind_to_swapchain(r, dev, index, args->image, record, args);
    replay_memory_image_needs(dev, args->image, record->info.tiling == VK_IMAGE_TILING_LINEAR, args->planeAspect,
                              &needs);
    needs.wanted = args->propertyFlags;
    needs.transient = record->info.usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT;
    if (!needs.transient) /* it may be here alone that it is not: framebuffer.c */
        needs.wanted &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    needs.contents = replay_new_memory_bind(dev, gen_u64_VkDeviceMemory(args->memory), args->memoryOffset, args->size);
    status = replay_alias_place(r, dev, GEN_HANDLE_VkImage, index, &needs, &record->places[plane]);
    if (status != LAP_OK)
        return status;
    if (!record->places[plane].is_prepared)
        status = replay_new_memory_begin(r, dev, &record->places[plane], needs.contents,
                                         needs.linear && args->propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                         record->places[plane].bytes, &record->bytes[plane]);
    if (status != LAP_OK)
        return status;
    if (args->planeAspect)
        return bind_planes(r, dev, args->image, record);
    status = replay_result(
        r, dev->vk.BindImageMemory(dev->live, args->image, record->places[0].memory, record->places[0].offset));
    if (status != LAP_OK)
        free_places(r, dev, record);
    record->bound = status == LAP_OK;
    return status;
}
