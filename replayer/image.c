/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/player.h"
#include "replayer/resource.h"
#include "replayer/swapchain.h"

/* Memory of other processes or APIs, dedicated memory, which is chosen here, and presentable images (see
 * bind_to_swapchain). */
static const VkStructureType dropped[] = {
    VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
    VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO_NV,
    VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_IMAGE_CREATE_INFO_NV,
    VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR,
};

struct replay_image *replay_image_of(struct replay *r, VkImage image, uint64_t *out_index)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkImage, gen_u64_VkImage(image));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkImage, index);

    if (out_index)
        *out_index = index;
    return object ? object->record : NULL;
}

enum lap_status replay_CreateImage(struct replay *r, struct replay_device *dev, struct gen_args_vkCreateImage *args)
{
    VkImageCreateInfo info = *args->pCreateInfo;
    struct replay_image *record;
    struct replay_object *object;
    enum lap_status status;
    VkImage image;

    if (*args->pImage == VK_NULL_HANDLE)
        return LAP_OK; /* the program got nothing, so nothing uses it */
    replay_chain_drop(&info.pNext, dropped, sizeof dropped / sizeof *dropped);
    record = calloc(1, sizeof *record);
    if (!record)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    record->info = info;
    record->info.pNext = NULL;
    record->info.pQueueFamilyIndices = NULL;
    status = replay_result(r, dev->vk.CreateImage(dev->live, &info, NULL, &image));
    if (status != LAP_OK) {
        free(record);
        return status;
    }
    status =
        replay_object_add(r, GEN_HANDLE_VkImage, gen_u64_VkImage(*args->pImage), gen_u64_VkImage(image), dev, &object);
    if (status != LAP_OK) {
        dev->vk.DestroyImage(dev->live, image, NULL);
        free(record);
        return status;
    }
    object->record = record;
    return LAP_OK;
}

static void free_places(struct replay_device *dev, struct replay_image *record)
{
    for (int i = 0; i < REPLAY_MAX_PLANES; i++)
        replay_place_free(dev, &record->places[i]);
}

enum lap_status replay_DestroyImage(struct replay *r, struct replay_device *dev, struct gen_args_vkDestroyImage *args)
{
    uint64_t index;
    struct replay_image *record = replay_image_of(r, args->image, &index);

    if (!args->image)
        return LAP_OK;
    if (!record || !record->of_swapchain)
        dev->vk.DestroyImage(dev->live, args->image, NULL);
    if (record)
        free_places(dev, record);
    free(record);
    replay_object_remove(r, GEN_HANDLE_VkImage, index);
    return LAP_OK;
}

/* ---- binding ---- */

static uint32_t plane_count(VkFormat format)
{
    switch ((int)format) {
    case VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM:
    case VK_FORMAT_G8_B8_R8_3PLANE_422_UNORM:
    case VK_FORMAT_G8_B8_R8_3PLANE_444_UNORM:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16:
    case VK_FORMAT_G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16:
    case VK_FORMAT_G16_B16_R16_3PLANE_420_UNORM:
    case VK_FORMAT_G16_B16_R16_3PLANE_422_UNORM:
    case VK_FORMAT_G16_B16_R16_3PLANE_444_UNORM:
        return 3;
    default:
        return 2; /* of those that have several */
    }
}

/* The index of VK_IMAGE_ASPECT_PLANE_n; 0 for none, UINT32_MAX for what is no plane. */
static uint32_t plane_index(VkImageAspectFlags plane)
{
    switch (plane) {
    case 0:
    case VK_IMAGE_ASPECT_PLANE_0_BIT:
        return 0;
    case VK_IMAGE_ASPECT_PLANE_1_BIT:
        return 1;
    case VK_IMAGE_ASPECT_PLANE_2_BIT:
        return 2;
    default:
        return UINT32_MAX;
    }
}

/* The planes of a disjoint image are bound in one call (VUID-vkBindImageMemory2-pBindInfos-02858): with the last one.
 */
static enum lap_status bind_planes(struct replay *r, struct replay_device *dev, VkImage image,
                                   struct replay_image *record)
{
    VkBindImagePlaneMemoryInfo planes[REPLAY_MAX_PLANES];
    VkBindImageMemoryInfo binds[REPLAY_MAX_PLANES];
    uint32_t count = plane_count(record->info.format);
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

/* An image that was created for a swapchain becomes the virtual swapchain's own: both names stand for one image from
 * now on. */
static enum lap_status bind_to_swapchain(struct replay *r, struct replay_device *dev, uint64_t index, VkImage image,
                                         struct replay_image *record, const struct gen_args_lapilliBindImage *args)
{
    struct replay_object *object;
    enum lap_status status;
    VkImage real;

    status = replay_swapchain_image(r, dev, args->swapchain, args->swapchainImageIndex, &real);
    if (status != LAP_OK)
        return status;
    replay_object_remove(r, GEN_HANDLE_VkImage, index);
    dev->vk.DestroyImage(dev->live, image, NULL);
    status = replay_object_add(r, GEN_HANDLE_VkImage, index, gen_u64_VkImage(real), dev, &object);
    if (status != LAP_OK) {
        free(record);
        return status;
    }
    object->record = record;
    record->bound = record->of_swapchain = true;
    return LAP_OK;
}

enum lap_status replay_lapilliBindImage(struct replay *r, struct replay_device *dev,
                                        struct gen_args_lapilliBindImage *args)
{
    uint32_t plane = plane_index(args->planeAspect);
    struct replay_needs needs;
    enum lap_status status;
    uint64_t index;
    struct replay_image *record = replay_image_of(r, args->image, &index);

    if (!record)
        return replay_fail(r, "memory is bound to an image that is not alive");
    if (plane == UINT32_MAX || (args->planeAspect && !(record->info.flags & VK_IMAGE_CREATE_DISJOINT_BIT)) ||
        (args->planeAspect && (plane >= plane_count(record->info.format) || !dev->vk.BindImageMemory2)))
        return replay_fail(r, "VkImage:%" PRIu64 " has no plane %#x of its own", index, args->planeAspect);
    if (record->bound || record->places[plane].memory)
        return replay_fail(r, "VkImage:%" PRIu64 " is bound twice", index);
    if (args->swapchain)
        return bind_to_swapchain(r, dev, index, args->image, record, args);
    replay_image_needs(dev, args->image, record->info.tiling == VK_IMAGE_TILING_LINEAR, args->planeAspect, &needs);
    needs.wanted = args->propertyFlags;
    status = replay_place_alloc(r, dev, &needs, &record->places[plane]);
    if (status != LAP_OK)
        return status;
    /* Updates tell what the host wrote as a difference to zeroes (docs/memory.md, "Fresh allocations"). */
    if (needs.linear && record->places[plane].host && (args->propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
        status = replay_place_write(r, dev, &record->places[plane], 0, NULL, record->places[plane].bytes);
    if (status != LAP_OK)
        return status;
    if (args->planeAspect)
        return bind_planes(r, dev, args->image, record);
    status = replay_result(
        r, dev->vk.BindImageMemory(dev->live, args->image, record->places[0].memory, record->places[0].offset));
    if (status != LAP_OK)
        free_places(dev, record);
    record->bound = status == LAP_OK;
    return status;
}
