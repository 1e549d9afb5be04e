/* SPDX-License-Identifier: MIT */
#include "replayer/present/swapchain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/format/format.h"
#include "replayer/memory/new_memory.h"
#include "replayer/memory/resource.h"
#include "replayer/present/presented_owner.h"
#include "replayer/present/window.h"
#include "replayer/submit/acquired_images.h"
#include "replayer/submit/binary_semaphores.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"
#include "vulkan/chain.h"

struct replay_swapchain *replay_swapchain_of(struct replay *r, VkSwapchainKHR swapchain)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkSwapchainKHR, gen_u64_VkSwapchainKHR(swapchain));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSwapchainKHR, index);
    return object ? object->record : NULL;
}

/* An image that the program shares with the display is in SHARED_PRESENT_KHR for ever, which decodes as GENERAL. */
VkImageLayout replay_present_layout(const struct replay *r, const struct replay_swapchain *swapchain)
{
    return swapchain->shared || r->source.layouts[0].from == VK_IMAGE_LAYOUT_PRESENT_SRC_KHR
               ? VK_IMAGE_LAYOUT_GENERAL
               : VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
}

/* ---- creation ---- */

static enum lap_status no_memory(struct replay *r)
{
    return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

#define HOST_TRANSFER 0x00400000u /* VK_IMAGE_USAGE_HOST_TRANSFER_BIT, which older headers lack */

/* Also for windows, screenshots and checks; for host copies; and for the initial contents of a part of a run, where the
 * format supports that. */
static VkImageUsageFlags usage_of(const struct replay_device *dev, const VkSwapchainCreateInfoKHR *info)
{
    VkImageUsageFlags usage = (info->imageUsage & ~HOST_TRANSFER) | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    VkFormatProperties format = {0};

    dev->instance->vk.GetPhysicalDeviceFormatProperties(dev->gpu, replay_format_substitute(dev, info->imageFormat),
                                                        &format);
    if (info->imageUsage & HOST_TRANSFER || format.optimalTilingFeatures & VK_FORMAT_FEATURE_TRANSFER_DST_BIT)
        usage |= VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    return usage;
}

/* The image parameters of vkCreateSwapchainKHR as those of a vkCreateImage (the table in its description). */
static enum lap_status describe_images(struct replay *r, struct replay_swapchain *swapchain,
                                       const VkSwapchainCreateInfoKHR *info)
{
    const VkImageFormatListCreateInfo *list =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO);

    swapchain->recorded_format = info->imageFormat;
    swapchain->info = (VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = replay_format_substitute(swapchain->dev, info->imageFormat),
        .extent = {info->imageExtent.width, info->imageExtent.height, 1},
        .mipLevels = 1,
        .arrayLayers = info->imageArrayLayers,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = usage_of(swapchain->dev, info),
        .sharingMode = info->imageSharingMode,
        .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
    };
    if (info->flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR)
        swapchain->info.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    if (list && list->pViewFormats && list->viewFormatCount) {
        swapchain->formats = malloc(list->viewFormatCount * sizeof *swapchain->formats);
        if (!swapchain->formats)
            return no_memory(r);
        memcpy(swapchain->formats, list->pViewFormats, list->viewFormatCount * sizeof *swapchain->formats);
        swapchain->format_list = (VkImageFormatListCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO,
                                                               .viewFormatCount = list->viewFormatCount,
                                                               .pViewFormats = swapchain->formats};
        swapchain->info.pNext = &swapchain->format_list;
    }
    /* Windows, checks and screenshots copy on queues that the program may not have listed. */
    if (swapchain->dev->queues.family_count < 2)
        swapchain->info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    if (swapchain->info.sharingMode == VK_SHARING_MODE_CONCURRENT) {
        swapchain->info.pQueueFamilyIndices = swapchain->dev->queues.families;
        swapchain->info.queueFamilyIndexCount = swapchain->dev->queues.family_count;
    }
    return LAP_OK;
}

/* Surfaces and plain images support different parameters. Reports an unsupported one before the first draw. */
static enum lap_status check_images(struct replay *r, const struct replay_swapchain *swapchain)
{
    const struct replay_device *dev = swapchain->dev;
    const VkImageCreateInfo *info = &swapchain->info;
    VkImageFormatProperties properties;
    VkResult result;

    result = dev->instance->vk.GetPhysicalDeviceImageFormatProperties(
        dev->gpu, info->format, info->imageType, info->tiling, info->usage, info->flags, &properties);
    if (result == VK_ERROR_FORMAT_NOT_SUPPORTED)
        return replay_refuse(r, "the device has no images of %s with usage %#x, which the swapchain has",
                             replay_format_name(swapchain->recorded_format), info->usage);
    if (result < 0)
        return replay_result(r, result);
    if (info->extent.width == 0 || info->extent.height == 0 || info->extent.width > properties.maxExtent.width ||
        info->extent.height > properties.maxExtent.height || info->arrayLayers == 0 ||
        info->arrayLayers > properties.maxArrayLayers)
        return replay_refuse(r, "the device has no images of %u x %u with %u layers", info->extent.width,
                             info->extent.height, info->arrayLayers);
    return LAP_OK;
}

enum lap_status replay_swapchain_supported(struct replay *r, struct replay_device *dev,
                                           const VkSwapchainCreateInfoKHR *info)
{
    struct replay_swapchain swapchain = {.dev = dev};
    enum lap_status status = describe_images(r, &swapchain, info);

    if (status == LAP_OK)
        status = check_images(r, &swapchain);
    free(swapchain.formats);
    return status;
}

/* The window of the swapchain's surface. The first swapchain opens it. */
static enum lap_status attach_window(struct replay *r, struct replay_swapchain *swapchain)
{
    struct replay_object *surface = replay_object_get(r, GEN_HANDLE_VkSurfaceKHR, swapchain->surface);
    VkExtent2D extent = {swapchain->info.extent.width, swapchain->info.extent.height};
    enum replay_present present = r->options.present;
    enum lap_status status = LAP_OK;

    if (present == REPLAY_PRESENT_HEADLESS || present == REPLAY_PRESENT_OFF || !surface ||
        (present == REPLAY_PRESENT_AUTO && !surface->record && !replay_window_possible(r, swapchain->dev)))
        return LAP_OK;
    if (!surface->record)
        status = replay_window_create(r, swapchain->dev, extent, (struct replay_window **)&surface->record);
    if (status == LAP_OK)
        status = replay_window_attach(r, surface->record, swapchain->dev, extent);
    if (status == LAP_OK) {
        swapchain->window = surface->record;
        return LAP_OK;
    }
    if (present == REPLAY_PRESENT_WINDOW)
        return replay_place(r, status);
    if (!r->summary.warned_hidden)
        lap_log(r->log, LAP_LOG_WARNING, "no window shows frames: %s", lap_error_message());
    r->summary.warned_hidden = true;
    return LAP_OK;
}

static void destroy_swapchain(struct replay *r, struct replay_swapchain *swapchain)
{
    struct replay_device *dev = swapchain->dev;

    replay_window_detach(swapchain->window);
    for (uint32_t i = 0; i < REPLAY_MAX_SWAPCHAIN_IMAGES; i++) {
        replay_presented_owner_destroy(dev, &swapchain->images[i].presented_owner);
        if (swapchain->images[i].live)
            replay_destroy(dev, GEN_HANDLE_VkImage, gen_u64_VkImage(swapchain->images[i].live));
        replay_overlay_buffer_destroy(r, dev, &swapchain->images[i].bytes);
        replay_memory_place_free(dev, &swapchain->images[i].place);
    }
    free(swapchain->image_objects);
    free(swapchain->formats);
    free(swapchain);
}

static enum lap_status swapchain_image(struct replay *r, struct replay_device *dev, VkSwapchainKHR handle,
                                       uint32_t image_index, VkImage *out_image);

static enum lap_status create_swapchain(struct replay *r, struct replay_device *dev,
                                        const VkSwapchainCreateInfoKHR *info, VkSwapchainKHR recorded)
{
    struct replay_swapchain *swapchain;
    struct replay_object *object;
    enum lap_status status;

    if (recorded == VK_NULL_HANDLE)
        return LAP_OK; /* the call failed in the program, so nothing uses it */
    swapchain = calloc(1, sizeof *swapchain);
    if (!swapchain)
        return no_memory(r);
    swapchain->dev = dev;
    swapchain->index = gen_u64_VkSwapchainKHR(recorded);
    swapchain->surface = gen_u64_VkSurfaceKHR(info->surface);
    swapchain->mode = info->presentMode;
    swapchain->shared = info->presentMode == VK_PRESENT_MODE_SHARED_DEMAND_REFRESH_KHR ||
                        info->presentMode == VK_PRESENT_MODE_SHARED_CONTINUOUS_REFRESH_KHR;
    status = describe_images(r, swapchain, info);
    if (status == LAP_OK)
        status = check_images(r, swapchain);
    if (status == LAP_OK)
        status = attach_window(r, swapchain);
    /* No driver sees this handle, so the record's address is enough. */
    if (status == LAP_OK)
        status = replay_object_add(r, GEN_HANDLE_VkSwapchainKHR, swapchain->index, (uint64_t)(uintptr_t)swapchain, dev,
                                   &object);
    if (status != LAP_OK) {
        destroy_swapchain(r, swapchain);
        return status;
    }
    object->record = swapchain;
    dev->present.swapchain_image = swapchain_image;
    return LAP_OK;
}

enum lap_status replay_CreateSwapchainKHR(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkCreateSwapchainKHR *args)
{
    return create_swapchain(r, dev, args->pCreateInfo, *args->pSwapchain);
}

enum lap_status replay_CreateSharedSwapchainsKHR(struct replay *r, struct replay_device *dev,
                                                 struct gen_args_vkCreateSharedSwapchainsKHR *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->swapchainCount && status == LAP_OK; i++)
        status = create_swapchain(r, dev, &args->pCreateInfos[i], args->pSwapchains[i]);
    return status;
}

enum lap_status replay_DestroySwapchainKHR(struct replay *r, struct replay_device *dev,
                                           struct gen_args_vkDestroySwapchainKHR *args)
{
    struct replay_swapchain *swapchain = replay_swapchain_of(r, args->swapchain);
    enum lap_status status;

    if (!swapchain)
        return LAP_OK;
    /* The program may destroy a swapchain while its last images are being presented. */
    status = replay_wait_device(r, dev, "what still uses the swapchain");
    if (status != LAP_OK)
        return status;
    for (size_t i = 0; i < swapchain->image_object_count; i++) {
        struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkImage, swapchain->image_objects[i]);
        struct replay_image *record = object ? object->record : NULL;
        replay_object_remove(r, GEN_HANDLE_VkImage, swapchain->image_objects[i]);
        replay_image_free(r, record);
    }
    replay_object_remove(r, GEN_HANDLE_VkSwapchainKHR, swapchain->index);
    destroy_swapchain(r, swapchain);
    return LAP_OK;
}

/* ---- images ---- */

static enum lap_status make_image(struct replay *r, struct replay_swapchain *swapchain,
                                  struct replay_swapchain_image *image)
{
    struct replay_device *dev = swapchain->dev;
    struct replay_memory_needs needs;
    enum lap_status status = replay_result(r, dev->vk.CreateImage(dev->live, &swapchain->info, NULL, &image->live));

    if (status != LAP_OK)
        return status;
    replay_memory_image_needs(dev, image->live, false, 0, &needs);
    needs.wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    needs.contents = REPLAY_CONTENTS_NEW;
    status = replay_memory_place_alloc(r, dev, &needs, &image->place);
    if (status == LAP_OK)
        status =
            replay_new_memory_begin(r, dev, &image->place, needs.contents, false, image->place.bytes, &image->bytes);
    if (status == LAP_OK)
        status =
            replay_result(r, dev->vk.BindImageMemory(dev->live, image->live, image->place.memory, image->place.offset));
    if (status != LAP_OK) {
        dev->vk.DestroyImage(dev->live, image->live, NULL);
        replay_overlay_buffer_destroy(r, dev, &image->bytes);
        replay_memory_place_free(dev, &image->place);
        image->live = VK_NULL_HANDLE;
    }
    return status;
}

static enum lap_status need_image(struct replay *r, struct replay_swapchain *swapchain, uint32_t image_index)
{
    if (image_index >= REPLAY_MAX_SWAPCHAIN_IMAGES)
        return replay_fail(r, "VkSwapchainKHR:%" PRIu64 " can't have an image %u", swapchain->index, image_index);
    return swapchain->images[image_index].live ? LAP_OK : make_image(r, swapchain, &swapchain->images[image_index]);
}

/* The image of a swapchain, created on first use. */
static enum lap_status swapchain_image(struct replay *r, struct replay_device *dev, VkSwapchainKHR handle,
                                       uint32_t image_index, VkImage *out_image)
{
    struct replay_swapchain *swapchain = replay_swapchain_of(r, handle);
    enum lap_status status;

    *out_image = VK_NULL_HANDLE;
    if (!swapchain || swapchain->dev != dev)
        return replay_fail(r, "a swapchain that is not alive");
    status = need_image(r, swapchain, image_index);
    if (status == LAP_OK)
        *out_image = swapchain->images[image_index].live;
    return status;
}

/* Registers image `image_index` as VkImage:index. The program may query the same images again. */
static enum lap_status add_image_object(struct replay *r, struct replay_swapchain *swapchain, uint32_t image_index,
                                        uint64_t index)
{
    uint64_t live = gen_u64_VkImage(swapchain->images[image_index].live);
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkImage, index);
    struct replay_image *record;
    enum lap_status status;

    if (object && object->live == live && object->parent == swapchain->index)
        return LAP_OK;
    if (!lap_array_grow(&swapchain->image_objects, sizeof *swapchain->image_objects, &swapchain->image_object_capacity,
                        swapchain->image_object_count + 1))
        return no_memory(r);
    status = replay_image_add(r, swapchain->dev, index, swapchain->images[image_index].live, &record);
    if (status != LAP_OK)
        return status;
    record->info = swapchain->info;
    record->recorded_format = swapchain->recorded_format;
    record->info.pNext = NULL;
    record->info.pQueueFamilyIndices = NULL;
    record->bound = record->of_swapchain = true;
    object = replay_object_get(r, GEN_HANDLE_VkImage, index);
    object->parent = swapchain->index;
    swapchain->image_objects[swapchain->image_object_count++] = index;
    return LAP_OK;
}

enum lap_status replay_GetSwapchainImagesKHR(struct replay *r, struct replay_device *dev,
                                             struct gen_args_vkGetSwapchainImagesKHR *args)
{
    struct replay_swapchain *swapchain = replay_swapchain_of(r, args->swapchain);
    uint32_t count = args->pSwapchainImages && args->pSwapchainImageCount ? *args->pSwapchainImageCount : 0;
    enum lap_status status = LAP_OK;

    if (!swapchain)
        return replay_fail(r, "a swapchain that is not alive");
    if (args->result < 0)
        return LAP_OK;
    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        uint64_t index = gen_u64_VkImage(args->pSwapchainImages[i]);
        if (index == 0)
            continue;
        status = need_image(r, swapchain, i);
        if (status == LAP_OK)
            status = add_image_object(r, swapchain, i, index);
    }
    return status;
}

/* ---- acquiring ---- */

/* Acquires the recorded image. It is free once its last present is over: the signals follow on the queue of that
 * present. */
static enum lap_status acquire(struct replay *r, struct replay_device *dev, VkSwapchainKHR handle,
                               VkSemaphore semaphore, VkFence fence, const uint32_t *image_index, VkResult result)
{
    struct replay_swapchain *swapchain = replay_swapchain_of(r, handle);
    const struct replay_queue *queue;
    enum lap_status status;

    if (result != VK_SUCCESS && result != VK_SUBOPTIMAL_KHR)
        return LAP_OK; /* nothing was acquired or signalled */
    if (!swapchain || swapchain->dev != dev)
        return replay_fail(r, "a swapchain that is not alive");
    if (!image_index)
        return replay_absent(r, "pImageIndex");
    status = need_image(r, swapchain, *image_index);
    if (status != LAP_OK || (!semaphore && !fence))
        return status;
    queue = swapchain->images[*image_index].presented_by;
    if (!queue)
        queue = dev->queues.main;
    if (!queue)
        return replay_fail(r, "the device has no queue that could signal");
    if (fence)
        status = replay_submission_signal(r, dev, queue->live, fence);
    if (status != LAP_OK || !semaphore || !replay_binary_semaphores_may_signal(r, dev, semaphore))
        return status;
    status = replay_acquired_images_signal_later(r, dev, queue, semaphore);
    return status == LAP_OK ? replay_submits_signal(r, dev, semaphore, 0) : status;
}

enum lap_status replay_AcquireNextImageKHR(struct replay *r, struct replay_device *dev,
                                           struct gen_args_vkAcquireNextImageKHR *args)
{
    return acquire(r, dev, args->swapchain, args->semaphore, args->fence, args->pImageIndex, args->result);
}

enum lap_status replay_AcquireNextImage2KHR(struct replay *r, struct replay_device *dev,
                                            struct gen_args_vkAcquireNextImage2KHR *args)
{
    const VkAcquireNextImageInfoKHR *info = args->pAcquireInfo;
    return acquire(r, dev, info->swapchain, info->semaphore, info->fence, args->pImageIndex, args->result);
}
