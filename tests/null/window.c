/* SPDX-License-Identifier: MIT */
/* Surfaces that nobody sees (VK_EXT_headless_surface), and their swapchains: images come in turn, presented at once.
 * The images of a replaced swapchain are freed, and the next one gets their handles, as on some drivers. */
#include <stdlib.h>

#include "tests/layers/shown.h"
#include "tests/null/machine.h"
#include "tests/null/pool.h"

struct swapchain {
    struct null_thing thing; /* its images are the children */
    uint32_t count, next;
    VkImage images[SHOWN_MOST_IMAGES];
    bool acquired[SHOWN_MOST_IMAGES]; /* stays with its swapchain until that is destroyed */
};

static struct swapchain *swapchain_of(VkSwapchainKHR handle)
{
    return (struct swapchain *)null_thing_of((uint64_t)handle);
}

/* ---- what can be shown ---- */

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceSurfaceSupportKHR(VkPhysicalDevice physicalDevice,
                                                                       uint32_t queueFamilyIndex, VkSurfaceKHR surface,
                                                                       VkBool32 *pSupported)
{
    *pSupported = VK_TRUE;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceSurfaceCapabilitiesKHR(
    VkPhysicalDevice physicalDevice, VkSurfaceKHR surface, VkSurfaceCapabilitiesKHR *pSurfaceCapabilities)
{
    *pSurfaceCapabilities = shown_capabilities;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceSurfaceCapabilities2KHR(
    VkPhysicalDevice physicalDevice, const VkPhysicalDeviceSurfaceInfo2KHR *pSurfaceInfo,
    VkSurfaceCapabilities2KHR *pSurfaceCapabilities)
{
    return hand_GetPhysicalDeviceSurfaceCapabilitiesKHR(physicalDevice, pSurfaceInfo->surface,
                                                        &pSurfaceCapabilities->surfaceCapabilities);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceSurfaceFormatsKHR(VkPhysicalDevice physicalDevice,
                                                                       VkSurfaceKHR surface,
                                                                       uint32_t *pSurfaceFormatCount,
                                                                       VkSurfaceFormatKHR *pSurfaceFormats)
{
    return shown_list(shown_formats, SHOWN_FORMATS, sizeof *pSurfaceFormats, pSurfaceFormatCount, pSurfaceFormats);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceSurfaceFormats2KHR(
    VkPhysicalDevice physicalDevice, const VkPhysicalDeviceSurfaceInfo2KHR *pSurfaceInfo, uint32_t *pSurfaceFormatCount,
    VkSurfaceFormat2KHR *pSurfaceFormats)
{
    return shown_list_formats(pSurfaceFormatCount, pSurfaceFormats);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceSurfacePresentModesKHR(VkPhysicalDevice physicalDevice,
                                                                            VkSurfaceKHR surface,
                                                                            uint32_t *pPresentModeCount,
                                                                            VkPresentModeKHR *pPresentModes)
{
    return shown_list(shown_modes, SHOWN_MODES, sizeof *pPresentModes, pPresentModeCount, pPresentModes);
}

/* ---- swapchains ---- */

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateSwapchainKHR(VkDevice device, const VkSwapchainCreateInfoKHR *pCreateInfo,
                                                       const VkAllocationCallbacks *pAllocator,
                                                       VkSwapchainKHR *pSwapchain)
{
    const VkImageCreateInfo image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = pCreateInfo->imageFormat,
        .extent = {pCreateInfo->imageExtent.width, pCreateInfo->imageExtent.height, 1},
        .mipLevels = 1,
        .arrayLayers = pCreateInfo->imageArrayLayers,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = pCreateInfo->imageUsage,
    };
    struct swapchain *swapchain, *old = swapchain_of(pCreateInfo->oldSwapchain);
    if (pCreateInfo->minImageCount > SHOWN_MOST_IMAGES || !(swapchain = calloc(1, sizeof *swapchain)))
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *pSwapchain = (VkSwapchainKHR)null_make(NULL_TYPE_VkSwapchainKHR, swapchain);
    for (uint32_t i = 0; old && i < old->count && swapchain->count < pCreateInfo->minImageCount; i++) {
        uint64_t id = (uint64_t)old->images[i];
        if (old->acquired[i])
            continue;
        swapchain->images[swapchain->count++] = old->images[i];
        null_pool_remove(&old->thing, id);
        null_pool_add(&swapchain->thing, NULL_TYPE_VkImage, id);
    }
    for (; swapchain->count < pCreateInfo->minImageCount; swapchain->count++) {
        VkImage *made = &swapchain->images[swapchain->count];
        VkResult result = hand_CreateImage(device, &image, NULL, made);
        if (result != VK_SUCCESS) {
            null_end(NULL_vkCreateSwapchainKHR, NULL_TYPE_VkSwapchainKHR, (uint64_t)*pSwapchain);
            return result;
        }
        null_pool_add(&swapchain->thing, NULL_TYPE_VkImage, (uint64_t)*made);
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetSwapchainImagesKHR(VkDevice device, VkSwapchainKHR swapchain,
                                                          uint32_t *pSwapchainImageCount, VkImage *pSwapchainImages)
{
    const struct swapchain *it = swapchain_of(swapchain);
    return shown_list(it ? it->images : NULL, it ? it->count : 0, sizeof(VkImage), pSwapchainImageCount,
                      pSwapchainImages);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_AcquireNextImageKHR(VkDevice device, VkSwapchainKHR swapchain, uint64_t timeout,
                                                        VkSemaphore semaphore, VkFence fence, uint32_t *pImageIndex)
{
    struct swapchain *it = swapchain_of(swapchain);
    if (!it)
        return VK_ERROR_DEVICE_LOST;
    *pImageIndex = it->next;
    it->acquired[it->next] = true;
    it->next = (it->next + 1) % it->count;
    null_signal((uint64_t)semaphore);
    null_signal((uint64_t)fence);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_AcquireNextImage2KHR(VkDevice device, const VkAcquireNextImageInfoKHR *pAcquireInfo,
                                                         uint32_t *pImageIndex)
{
    return hand_AcquireNextImageKHR(device, pAcquireInfo->swapchain, pAcquireInfo->timeout, pAcquireInfo->semaphore,
                                    pAcquireInfo->fence, pImageIndex);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_QueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *pPresentInfo)
{
    for (uint32_t i = 0; i < pPresentInfo->swapchainCount; i++) {
        struct swapchain *it = swapchain_of(pPresentInfo->pSwapchains[i]);
        if (it && pPresentInfo->pImageIndices[i] < it->count)
            it->acquired[pPresentInfo->pImageIndices[i]] = false;
        if (pPresentInfo->pResults)
            pPresentInfo->pResults[i] = VK_SUCCESS;
    }
    return VK_SUCCESS;
}
