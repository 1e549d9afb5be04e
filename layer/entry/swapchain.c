/* SPDX-License-Identifier: MIT */
/*
 * swapchain: the program's swapchains and the images that they own. The recorded create information is the program's
 * own, also where images get one usage more so that capture --verify and screenshots can copy them.
 */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/core/records.h"
#include "layer/entry/resource.h"
#include "layer/part/key.h"
#include "layer/part/presentable.h"
#include "layer/submit/full_checks.h"
#include "layer/submit/present_checks.h"
#include "layer/submit/submit.h"

void layer_swapchain_finish(struct lap_object *object)
{
    free(((struct layer_swapchain *)object)->images);
}

static bool can_be_copied(struct layer_device *dev, const VkSwapchainCreateInfoKHR *info)
{
    VkSurfaceCapabilitiesKHR capabilities;
    VkPhysicalDevice gpu = gen_VkPhysicalDevice(dev->physical_device->object.handle);
    return dev->instance->vk.GetPhysicalDeviceSurfaceCapabilitiesKHR &&
           dev->instance->vk.GetPhysicalDeviceSurfaceCapabilitiesKHR(gpu, info->surface, &capabilities) == VK_SUCCESS &&
           (capabilities.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
}

/* Before the driver creates the swapchain that replaces it. It is retired even if that fails. */
static void retire(struct layer_device *dev, VkSwapchainKHR old)
{
    struct layer_swapchain *record = LAYER_GET(dev, VkSwapchainKHR, old);

    if (!record)
        return;
    pthread_mutex_lock(&dev->verify.mutex);
    record->retired = true;
    pthread_mutex_unlock(&dev->verify.mutex);
}

/* Ends the record of an image, if it still is one of this swapchain. Under verify.mutex, so that no part begins. */
static void end_image(struct layer_device *dev, VkSwapchainKHR swapchain, VkImage handle)
{
    struct layer_image *image = LAYER_GET(dev, VkImage, handle);

    if (!image || image->swapchain != swapchain)
        return;
    layer_image_untrack(dev, image);
    layer_object_remove(dev, GEN_HANDLE_VkImage, gen_u64_VkImage(handle));
}

/* Under verify.mutex. */
static void end_retired_image(struct layer_device *dev, VkImage handle)
{
    const struct layer_image *image = LAYER_GET(dev, VkImage, handle);
    const struct layer_swapchain *owner =
        image && image->swapchain ? LAYER_GET(dev, VkSwapchainKHR, image->swapchain) : NULL;

    if (owner && owner->retired)
        end_image(dev, image->swapchain, handle);
}

void layer_swapchain_end_retired_image(struct layer_device *dev, VkImage handle)
{
    pthread_mutex_lock(&dev->verify.mutex);
    end_retired_image(dev, handle);
    pthread_mutex_unlock(&dev->verify.mutex);
}

/* Asks for images that can be read back where that is wanted; the program's own wish if the driver refuses. */
static VkResult create(struct layer_device *dev, VkDevice device, const VkSwapchainCreateInfoKHR *info,
                       const VkAllocationCallbacks *allocator, VkSwapchainKHR *out, bool *out_readable)
{
    *out_readable = info->imageUsage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    if (!*out_readable && layer_verify_wants_presents() && can_be_copied(dev, info)) {
        VkSwapchainCreateInfoKHR readable = *info;
        readable.imageUsage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
        *out_readable = dev->vk.CreateSwapchainKHR(device, &readable, allocator, out) == VK_SUCCESS;
        if (*out_readable)
            return VK_SUCCESS;
    }
    return dev->vk.CreateSwapchainKHR(device, info, allocator, out);
}

static void remember(struct layer_device *dev, const VkSwapchainCreateInfoKHR *info, VkSwapchainKHR handle,
                     bool readable)
{
    struct layer_swapchain *record = LAYER_ADD(dev, VkSwapchainKHR, handle);

    if (!record)
        return;
    record->info = *info;
    record->info.pNext = NULL;
    record->info.pQueueFamilyIndices = NULL;
    record->info.queueFamilyIndexCount = 0;
    record->readable = readable;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateSwapchainKHR(VkDevice device, const VkSwapchainCreateInfoKHR *pCreateInfo,
                                                          const VkAllocationCallbacks *pAllocator,
                                                          VkSwapchainKHR *pSwapchain)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    bool readable;
    VkResult result;

    retire(dev, pCreateInfo->oldSwapchain);
    result = create(dev, device, pCreateInfo, pAllocator, pSwapchain, &readable);
    if (result >= 0)
        remember(dev, pCreateInfo, *pSwapchain, readable);
    layer_note_image_format(pCreateInfo->imageFormat);
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkCreateSwapchainKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkCreateSwapchainKHR(enc, device, pCreateInfo, pAllocator, pSwapchain, result);
        layer_packet_end();
    }
    return result;
}

/* The same for several at once: all get the usage, or none. */
static VkResult create_shared(struct layer_device *dev, VkDevice device, uint32_t count,
                              const VkSwapchainCreateInfoKHR *infos, const VkAllocationCallbacks *allocator,
                              VkSwapchainKHR *out, bool *out_changed)
{
    VkSwapchainCreateInfoKHR *readable =
        layer_verify_wants_presents() ? malloc((count ? count : 1) * sizeof *readable) : NULL;

    *out_changed = readable != NULL;
    for (uint32_t i = 0; *out_changed && i < count; i++) {
        readable[i] = infos[i];
        readable[i].imageUsage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
        *out_changed = can_be_copied(dev, &infos[i]);
    }
    *out_changed =
        *out_changed && dev->vk.CreateSharedSwapchainsKHR(device, count, readable, allocator, out) == VK_SUCCESS;
    free(readable);
    return *out_changed ? VK_SUCCESS : dev->vk.CreateSharedSwapchainsKHR(device, count, infos, allocator, out);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateSharedSwapchainsKHR(VkDevice device, uint32_t swapchainCount,
                                                                 const VkSwapchainCreateInfoKHR *pCreateInfos,
                                                                 const VkAllocationCallbacks *pAllocator,
                                                                 VkSwapchainKHR *pSwapchains)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    bool changed;
    VkResult result;

    for (uint32_t i = 0; i < swapchainCount; i++)
        retire(dev, pCreateInfos[i].oldSwapchain);
    result = create_shared(dev, device, swapchainCount, pCreateInfos, pAllocator, pSwapchains, &changed);
    for (uint32_t i = 0; i < swapchainCount; i++) {
        if (result >= 0)
            remember(dev, &pCreateInfos[i], pSwapchains[i],
                     changed || pCreateInfos[i].imageUsage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
        layer_note_image_format(pCreateInfos[i].imageFormat);
    }
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkCreateSharedSwapchainsKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkCreateSharedSwapchainsKHR(enc, device, swapchainCount, pCreateInfos, pAllocator, pSwapchains,
                                               result);
        layer_packet_end();
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL capture_DestroySwapchainKHR(VkDevice device, VkSwapchainKHR swapchain,
                                                       const VkAllocationCallbacks *pAllocator)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct layer_swapchain *record = LAYER_GET(dev, VkSwapchainKHR, swapchain);

    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkDestroySwapchainKHR, 0);
    if (enc) {
        gen_encode_vkDestroySwapchainKHR(enc, device, swapchain, pAllocator);
        layer_packet_end();
    }
    pthread_mutex_lock(&dev->verify.mutex);
    for (uint32_t i = 0; record && i < record->image_count; i++)
        end_image(dev, swapchain, record->images[i]);
    pthread_mutex_unlock(&dev->verify.mutex);
    layer_object_remove(dev, GEN_HANDLE_VkSwapchainKHR, gen_u64_VkSwapchainKHR(swapchain));
    dev->vk.DestroySwapchainKHR(device, swapchain, pAllocator);
}

static VkImageCreateInfo image_info(const VkSwapchainCreateInfoKHR *info)
{
    return (VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = info->imageFormat,
        .extent = {info->imageExtent.width, info->imageExtent.height, 1},
        .mipLevels = 1,
        .arrayLayers = info->imageArrayLayers,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = info->imageUsage,
        .sharingMode = info->imageSharingMode,
    };
}

static void add_new_images(struct layer_device *dev, VkSwapchainKHR swapchain, uint32_t count, const VkImage *images)
{
    struct layer_swapchain *record = LAYER_GET(dev, VkSwapchainKHR, swapchain);
    VkImage *known;

    if (!record || count <= record->image_count)
        return;
    known = realloc(record->images, count * sizeof *known);
    if (!known) {
        layer_stop("out of memory");
        return;
    }
    record->images = known;
    for (uint32_t i = record->image_count; i < count; i++) {
        struct layer_image *image;
        end_retired_image(dev, images[i]);
        image = LAYER_ADD(dev, VkImage, images[i]);
        if (image) {
            image->info = image_info(&record->info);
            image->swapchain = swapchain;
            layer_image_track_presentable(dev, image);
        }
        record->images[i] = images[i];
    }
    record->image_count = count;
}

/* Records for the images that were not returned before. A query may return only the first few, and several threads may
 * ask at once. */
static void add_images(struct layer_device *dev, VkSwapchainKHR swapchain, uint32_t count, const VkImage *images)
{
    pthread_mutex_lock(&dev->verify.mutex);
    add_new_images(dev, swapchain, count, images);
    pthread_mutex_unlock(&dev->verify.mutex);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetSwapchainImagesKHR(VkDevice device, VkSwapchainKHR swapchain,
                                                             uint32_t *pSwapchainImageCount, VkImage *pSwapchainImages)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.GetSwapchainImagesKHR(device, swapchain, pSwapchainImageCount, pSwapchainImages);

    if (result < 0)
        return result;
    if (pSwapchainImages)
        add_images(dev, swapchain, *pSwapchainImageCount, pSwapchainImages);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetSwapchainImagesKHR, 0);
    if (enc) {
        gen_encode_vkGetSwapchainImagesKHR(enc, device, swapchain, pSwapchainImageCount, pSwapchainImages, result);
        layer_packet_end();
    }
    return result;
}

static bool was_acquired(VkResult result)
{
    return result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_AcquireNextImageKHR(VkDevice device, VkSwapchainKHR swapchain, uint64_t timeout,
                                                           VkSemaphore semaphore, VkFence fence, uint32_t *pImageIndex)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.AcquireNextImageKHR(device, swapchain, timeout, semaphore, fence, pImageIndex);
    struct lap_enc *enc;
    int cancel = 0;

    if (!was_acquired(result))
        return result;
    layer_queues_lock(dev, &cancel);
    pthread_mutex_lock(&dev->submit.mutex); /* no part begins between the packet and the update of the image's record */
    enc = layer_packet_begin(&dev->tables, GEN_vkAcquireNextImageKHR, 0);
    if (enc) {
        gen_encode_vkAcquireNextImageKHR(enc, device, swapchain, timeout, semaphore, fence, pImageIndex, result);
        layer_packet_end();
    }
    layer_submit_acquired(dev, swapchain, *pImageIndex, semaphore);
    layer_presentable_acquired(dev, swapchain, *pImageIndex, semaphore, fence);
    pthread_mutex_unlock(&dev->submit.mutex);
    layer_queues_unlock(dev, cancel);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_AcquireNextImage2KHR(VkDevice device,
                                                            const VkAcquireNextImageInfoKHR *pAcquireInfo,
                                                            uint32_t *pImageIndex)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.AcquireNextImage2KHR(device, pAcquireInfo, pImageIndex);
    struct lap_enc *enc;
    int cancel = 0;

    if (!was_acquired(result))
        return result;
    layer_queues_lock(dev, &cancel);
    pthread_mutex_lock(&dev->submit.mutex);
    enc = layer_packet_begin(&dev->tables, GEN_vkAcquireNextImage2KHR, 0);
    if (enc) {
        gen_encode_vkAcquireNextImage2KHR(enc, device, pAcquireInfo, pImageIndex, result);
        layer_packet_end();
    }
    layer_submit_acquired(dev, pAcquireInfo->swapchain, *pImageIndex, pAcquireInfo->semaphore);
    layer_presentable_acquired(dev, pAcquireInfo->swapchain, *pImageIndex, pAcquireInfo->semaphore,
                               pAcquireInfo->fence);
    pthread_mutex_unlock(&dev->submit.mutex);
    layer_queues_unlock(dev, cancel);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_QueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *pPresentInfo)
{
    struct layer_device *dev = layer_device_of_VkQueue(queue);
    uint64_t ticket = 0;
    VkResult result;
    int cancel = 0;

    if (!layer_is_recording() || dev->tables.inherited)
        return dev->vk.QueuePresentKHR(queue, pPresentInfo);
    if (layer_verify_wants_presents())
        layer_verify_present(dev, queue, pPresentInfo, atomic_load_explicit(&layer.frames, memory_order_relaxed) + 1);
    layer_queues_lock(dev, &cancel);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkQueuePresentKHR, 0);
    if (enc) {
        ticket = layer_packet_ticket();
        gen_encode_vkQueuePresentKHR(enc, queue, pPresentInfo);
        layer_packet_end();
    }
    layer_submit_present(dev, queue, pPresentInfo);
    result = dev->vk.QueuePresentKHR(queue, pPresentInfo);
    layer_queues_unlock(dev, cancel);
    if (result != VK_SUCCESS && ticket)
        layer_packet_result(&dev->tables, ticket, result);
    layer_key_presented(dev, pPresentInfo);
    layer_frame_end();
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_WaitForPresentKHR(VkDevice device, VkSwapchainKHR swapchain, uint64_t presentId,
                                                         uint64_t timeout)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.WaitForPresentKHR(device, swapchain, presentId, timeout);
    struct lap_enc *enc = was_acquired(result) ? layer_packet_begin(&dev->tables, GEN_vkWaitForPresentKHR, 0) : NULL;

    if (enc) {
        gen_encode_vkWaitForPresentKHR(enc, device, swapchain, presentId, timeout, result);
        layer_packet_end();
    }
    if (was_acquired(result) && layer_is_recording())
        layer_work_finished_present(dev, swapchain, presentId);
    return result;
}

#ifdef VK_KHR_present_wait2
VKAPI_ATTR VkResult VKAPI_CALL capture_WaitForPresent2KHR(VkDevice device, VkSwapchainKHR swapchain,
                                                          const VkPresentWait2InfoKHR *pPresentWait2Info)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.WaitForPresent2KHR(device, swapchain, pPresentWait2Info);
    struct lap_enc *enc = was_acquired(result) ? layer_packet_begin(&dev->tables, GEN_vkWaitForPresent2KHR, 0) : NULL;

    if (enc) {
        gen_encode_vkWaitForPresent2KHR(enc, device, swapchain, pPresentWait2Info, result);
        layer_packet_end();
    }
    if (was_acquired(result) && layer_is_recording())
        layer_work_finished_present(dev, swapchain, pPresentWait2Info->presentId);
    return result;
}
#endif
