/* SPDX-License-Identifier: MIT */
/*
 * swapchain: the program's swapchains and the images that they own. The recorded create information is the program's
 * own, also where images get one usage more so that capture --verify and screenshots can copy them.
 */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/records.h"
#include "layer/submit.h"
#include "layer/verify.h"
#include "layer/verify_all.h"

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

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateSwapchainKHR(VkDevice device, const VkSwapchainCreateInfoKHR *pCreateInfo,
                                                          const VkAllocationCallbacks *pAllocator,
                                                          VkSwapchainKHR *pSwapchain)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    bool readable;
    VkResult result = create(dev, device, pCreateInfo, pAllocator, pSwapchain, &readable);
    struct layer_swapchain *record = result >= 0 ? LAYER_ADD(dev, VkSwapchainKHR, *pSwapchain) : NULL;

    if (record) {
        record->info = *pCreateInfo;
        record->info.pNext = NULL;
        record->info.pQueueFamilyIndices = NULL;
        record->info.queueFamilyIndexCount = 0;
        record->readable = readable;
    }
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkCreateSwapchainKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkCreateSwapchainKHR(enc, device, pCreateInfo, pAllocator, pSwapchain, result);
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
    for (uint32_t i = 0; record && i < record->image_count; i++)
        layer_object_remove(dev, GEN_HANDLE_VkImage, gen_u64_VkImage(record->images[i]));
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
        struct layer_image *image = LAYER_ADD(dev, VkImage, images[i]);
        if (image) {
            image->info = image_info(&record->info);
            image->swapchain = swapchain;
        }
        record->images[i] = images[i];
    }
    record->image_count = count;
}

/* Records for the images that were not returned before. A query may return only the first few, and several threads may
 * ask at once. */
static void add_images(struct layer_device *dev, VkSwapchainKHR swapchain, uint32_t count, const VkImage *images)
{
    pthread_mutex_lock(&dev->verify_mutex);
    add_new_images(dev, swapchain, count, images);
    pthread_mutex_unlock(&dev->verify_mutex);
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
    struct lap_enc *enc = was_acquired(result) ? layer_packet_begin(&dev->tables, GEN_vkAcquireNextImageKHR, 0) : NULL;

    if (enc) {
        gen_encode_vkAcquireNextImageKHR(enc, device, swapchain, timeout, semaphore, fence, pImageIndex, result);
        layer_packet_end();
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_AcquireNextImage2KHR(VkDevice device,
                                                            const VkAcquireNextImageInfoKHR *pAcquireInfo,
                                                            uint32_t *pImageIndex)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.AcquireNextImage2KHR(device, pAcquireInfo, pImageIndex);
    struct lap_enc *enc = was_acquired(result) ? layer_packet_begin(&dev->tables, GEN_vkAcquireNextImage2KHR, 0) : NULL;

    if (enc) {
        gen_encode_vkAcquireNextImage2KHR(enc, device, pAcquireInfo, pImageIndex, result);
        layer_packet_end();
    }
    return result;
}

/* The extension is hidden: a program that calls it all the same goes unrecorded in this. */
VKAPI_ATTR VkResult VKAPI_CALL capture_CreateSharedSwapchainsKHR(VkDevice device, uint32_t swapchainCount,
                                                                 const VkSwapchainCreateInfoKHR *pCreateInfos,
                                                                 const VkAllocationCallbacks *pAllocator,
                                                                 VkSwapchainKHR *pSwapchains)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    return dev->vk.CreateSharedSwapchainsKHR(device, swapchainCount, pCreateInfos, pAllocator, pSwapchains);
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
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkQueuePresentKHR, 0);
    if (enc) {
        ticket = layer_packet_ticket();
        gen_encode_vkQueuePresentKHR(enc, queue, pPresentInfo);
        layer_packet_end();
    }
    layer_submit_present(dev, queue, pPresentInfo);
    layer_verify_all_lock(dev, &cancel);
    result = dev->vk.QueuePresentKHR(queue, pPresentInfo);
    layer_verify_all_unlock(dev, cancel);
    if (result != VK_SUCCESS && ticket)
        layer_packet_result(&dev->tables, ticket, result);
    atomic_fetch_add_explicit(&layer.frames, 1, memory_order_relaxed);
    layer_frame_end();
    return result;
}
