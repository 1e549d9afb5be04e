/* SPDX-License-Identifier: MIT */
/*
 * windows: a Vulkan layer, for tests only, that gives a driver windows that nobody sees (VK_EXT_headless_surface) and
 * all that belongs to them: VK_KHR_swapchain, VK_EXT_swapchain_maintenance1 and what these ask of an instance. So
 * programs that present can be recorded on drivers that have no windows where there is no display. It stands next to
 * the driver, as an implicit layer: only of these a loader tells programs what extensions they have.
 *
 * Windows of an X server are taken as well, and stay as empty as they are, whatever their size. Images of swapchains
 * are common images. One that was presented is free again when the work that the present waits for is done. Groups of
 * devices that are more than one, and images that programs bind to swapchains are not for it. windows/displays.c has
 * displays besides.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/layers/shown.h"
#include "tests/layers/windows/windows.h"

enum state { FREE, ACQUIRED, PRESENTED };

struct image {
    VkImage handle;
    VkDeviceMemory memory;
    VkFence done; /* signalled when the present of the image is done */
    enum state state;
};

struct swapchain {
    uint32_t count, next; /* in which order images are given out */
    struct image images[SHOWN_MOST_IMAGES];
};

static struct swapchain *swapchain_of(VkSwapchainKHR handle)
{
    return (struct swapchain *)(uintptr_t)handle;
}

/* ---- surfaces ---- */

VkResult windows_create_surface(bool of_display, VkSurfaceKHR *out)
{
    struct surface *surface = malloc(sizeof *surface);
    if (!surface)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    surface->of_display = of_display;
    *out = (VkSurfaceKHR)(uintptr_t)surface;
    return VK_SUCCESS;
}

/* Of any kind: what it is made of is not looked at. */
static VKAPI_ATTR VkResult VKAPI_CALL create_surface(VkInstance instance, const void *info,
                                                     const VkAllocationCallbacks *allocator, VkSurfaceKHR *out)
{
    return windows_create_surface(false, out);
}

static VKAPI_ATTR void VKAPI_CALL DestroySurfaceKHR(VkInstance instance, VkSurfaceKHR surface,
                                                    const VkAllocationCallbacks *allocator)
{
    free((void *)(uintptr_t)surface);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceSupportKHR(VkPhysicalDevice gpu, uint32_t family,
                                                                         VkSurfaceKHR surface, VkBool32 *out)
{
    *out = VK_TRUE;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceCapabilitiesKHR(VkPhysicalDevice gpu,
                                                                              VkSurfaceKHR surface,
                                                                              VkSurfaceCapabilitiesKHR *out)
{
    *out = shown_capabilities;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceCapabilities2KHR(
    VkPhysicalDevice gpu, const VkPhysicalDeviceSurfaceInfo2KHR *info, VkSurfaceCapabilities2KHR *out)
{
    const VkSurfacePresentModeEXT *mode = chain_find(info->pNext, VK_STRUCTURE_TYPE_SURFACE_PRESENT_MODE_EXT);
    VkSurfacePresentModeCompatibilityEXT *compatible =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_SURFACE_PRESENT_MODE_COMPATIBILITY_EXT);
    VkSurfacePresentScalingCapabilitiesEXT *scaling =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_SURFACE_PRESENT_SCALING_CAPABILITIES_EXT);
    VkSharedPresentSurfaceCapabilitiesKHR *shared =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_SHARED_PRESENT_SURFACE_CAPABILITIES_KHR);

    if (shared)
        shared->sharedPresentSupportedUsageFlags = shown_capabilities.supportedUsageFlags;
    if (compatible && mode) {
        uint32_t count = compatible->pPresentModes ? compatible->presentModeCount : 1;
        if (compatible->pPresentModes && count)
            compatible->pPresentModes[0] = mode->presentMode;
        compatible->presentModeCount = count ? 1 : 0;
    }
    if (scaling) {
        scaling->supportedPresentScaling = scaling->supportedPresentGravityX = scaling->supportedPresentGravityY = 0;
        scaling->minScaledImageExtent = (VkExtent2D){1, 1};
        scaling->maxScaledImageExtent = (VkExtent2D){4096, 4096};
    }
    return GetPhysicalDeviceSurfaceCapabilitiesKHR(gpu, info->surface, &out->surfaceCapabilities);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceFormatsKHR(VkPhysicalDevice gpu, VkSurfaceKHR surface,
                                                                         uint32_t *count, VkSurfaceFormatKHR *out)
{
    return shown_list(shown_formats, SHOWN_FORMATS, sizeof *out, count, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceFormats2KHR(VkPhysicalDevice gpu,
                                                                          const VkPhysicalDeviceSurfaceInfo2KHR *info,
                                                                          uint32_t *count, VkSurfaceFormat2KHR *out)
{
    return shown_list_formats(count, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfacePresentModesKHR(VkPhysicalDevice gpu,
                                                                              VkSurfaceKHR surface, uint32_t *count,
                                                                              VkPresentModeKHR *out)
{
    static const VkPresentModeKHR of_displays[] = {VK_PRESENT_MODE_FIFO_KHR, VK_PRESENT_MODE_SHARED_DEMAND_REFRESH_KHR,
                                                   VK_PRESENT_MODE_SHARED_CONTINUOUS_REFRESH_KHR};
    const struct surface *known = (const struct surface *)(uintptr_t)surface;

    if (known && known->of_display)
        return shown_list(of_displays, 3, sizeof *out, count, out);
    return shown_list(shown_modes, SHOWN_MODES, sizeof *out, count, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDevicePresentRectanglesKHR(VkPhysicalDevice gpu, VkSurfaceKHR surface,
                                                                            uint32_t *count, VkRect2D *out)
{
    static const VkRect2D all = {{0, 0}, {4096, 4096}};
    return shown_list(&all, 1, sizeof *out, count, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetDeviceGroupSurfacePresentModesKHR(VkDevice device, VkSurfaceKHR surface,
                                                                           VkDeviceGroupPresentModeFlagsKHR *out)
{
    *out = VK_DEVICE_GROUP_PRESENT_MODE_LOCAL_BIT_KHR;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures2 *out)
{
    VkPhysicalDeviceSwapchainMaintenance1FeaturesEXT *features =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SWAPCHAIN_MAINTENANCE_1_FEATURES_EXT);
    chain_instance_of(gpu)->next.GetPhysicalDeviceFeatures2(gpu, out);
    if (features)
        features->swapchainMaintenance1 = VK_TRUE;
}

/* ---- swapchains ---- */

static void destroy_images(struct device *device, struct swapchain *swapchain)
{
    const struct gen_device_dispatch *next = &device->chain.next;
    for (uint32_t i = 0; i < swapchain->count; i++) {
        next->DestroyImage(device->chain.handle, swapchain->images[i].handle, NULL);
        next->FreeMemory(device->chain.handle, swapchain->images[i].memory, NULL);
        next->DestroyFence(device->chain.handle, swapchain->images[i].done, NULL);
    }
    free(swapchain);
}

static VkResult give_memory(struct device *device, struct image *image)
{
    const struct gen_device_dispatch *next = &device->chain.next;
    VkPhysicalDeviceMemoryProperties memory;
    VkMemoryRequirements needs;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkResult result;

    device->chain.instance->next.GetPhysicalDeviceMemoryProperties(device->chain.gpu, &memory);
    next->GetImageMemoryRequirements(device->chain.handle, image->handle, &needs);
    info.allocationSize = needs.size;
    while (!(needs.memoryTypeBits >> info.memoryTypeIndex & 1) ||
           !(memory.memoryTypes[info.memoryTypeIndex].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT))
        if (++info.memoryTypeIndex == memory.memoryTypeCount)
            return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    result = next->AllocateMemory(device->chain.handle, &info, NULL, &image->memory);
    return result < 0 ? result : next->BindImageMemory(device->chain.handle, image->handle, image->memory, 0);
}

static VkResult make_image(struct device *device, const VkImageCreateInfo *info, struct image *image)
{
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = device->chain.next.CreateImage(device->chain.handle, info, NULL, &image->handle);
    if (result >= 0)
        result = give_memory(device, image);
    return result < 0 ? result : device->chain.next.CreateFence(device->chain.handle, &fence, NULL, &image->done);
}

VKAPI_ATTR VkResult VKAPI_CALL windows_create_swapchain(VkDevice handle, const VkSwapchainCreateInfoKHR *info,
                                                        const VkAllocationCallbacks *allocator, VkSwapchainKHR *out)
{
    const VkImageFormatListCreateInfo *list = chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO);
    VkImageFormatListCreateInfo viewed = list ? *list : (VkImageFormatListCreateInfo){0};
    const VkImageCreateInfo image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .pNext = list ? &viewed : NULL,
        .flags = info->flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR
                     ? VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT
                     : 0,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = info->imageFormat,
        .extent = {info->imageExtent.width, info->imageExtent.height, 1},
        .mipLevels = 1,
        .arrayLayers = info->imageArrayLayers,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = info->imageUsage,
        .sharingMode = info->imageSharingMode,
        .queueFamilyIndexCount = info->queueFamilyIndexCount,
        .pQueueFamilyIndices = info->pQueueFamilyIndices,
    };
    struct device *device = device_of(handle);
    struct swapchain *swapchain = calloc(1, sizeof *swapchain);
    VkResult result = VK_SUCCESS;

    if (!swapchain)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    viewed.pNext = NULL;
    while (result >= 0 && swapchain->count < info->minImageCount && swapchain->count < SHOWN_MOST_IMAGES)
        result = make_image(device, &image, &swapchain->images[swapchain->count++]);
    if (result < 0) {
        destroy_images(device, swapchain);
        return result;
    }
    *out = (VkSwapchainKHR)(uintptr_t)swapchain;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL windows_destroy_swapchain(VkDevice handle, VkSwapchainKHR gone,
                                                     const VkAllocationCallbacks *allocator)
{
    struct device *device = device_of(handle);
    struct swapchain *swapchain = swapchain_of(gone);

    if (!swapchain)
        return;
    for (uint32_t i = 0; i < swapchain->count; i++)
        if (swapchain->images[i].state == PRESENTED)
            (void)device->chain.next.WaitForFences(handle, 1, &swapchain->images[i].done, VK_TRUE, UINT64_MAX);
    destroy_images(device, swapchain);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetSwapchainImagesKHR(VkDevice handle, VkSwapchainKHR swapchain, uint32_t *count,
                                                            VkImage *out)
{
    const struct swapchain *known = swapchain_of(swapchain);
    VkResult result = shown_count(known->count, count, out);

    for (uint32_t i = 0; out && i < *count; i++)
        out[i] = known->images[i].handle;
    return result;
}

/* ---- images come and go ---- */

/* The next image that is not the program's; waits for it, for as long as that. */
static VkResult take_image(struct device *device, struct swapchain *swapchain, uint64_t timeout, uint32_t *out)
{
    const struct gen_device_dispatch *next = &device->chain.next;
    struct image *image;
    uint32_t i = 0;

    while (i < swapchain->count && swapchain->images[(swapchain->next + i) % swapchain->count].state == ACQUIRED)
        i++;
    if (i == swapchain->count)
        return timeout ? VK_TIMEOUT : VK_NOT_READY;
    *out = (swapchain->next + i) % swapchain->count;
    image = &swapchain->images[*out];
    if (image->state == PRESENTED) {
        VkResult result = next->WaitForFences(device->chain.handle, 1, &image->done, VK_TRUE, timeout);
        if (result != VK_SUCCESS)
            return result == VK_TIMEOUT && !timeout ? VK_NOT_READY : result;
        (void)next->ResetFences(device->chain.handle, 1, &image->done);
    }
    image->state = ACQUIRED;
    swapchain->next = (*out + 1) % swapchain->count;
    return VK_SUCCESS;
}

static VkResult acquire(struct device *device, VkSwapchainKHR handle, uint64_t timeout, VkSemaphore semaphore,
                        VkFence fence, uint32_t *out)
{
    const VkSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .signalSemaphoreCount = semaphore ? 1 : 0,
                                 .pSignalSemaphores = &semaphore};
    VkResult result;

    pthread_mutex_lock(&device->mutex);
    result = take_image(device, swapchain_of(handle), timeout, out);
    if (result == VK_SUCCESS)
        result = device->chain.next.QueueSubmit(device->queue, 1, &signal, fence);
    pthread_mutex_unlock(&device->mutex);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL AcquireNextImageKHR(VkDevice handle, VkSwapchainKHR swapchain, uint64_t timeout,
                                                          VkSemaphore semaphore, VkFence fence, uint32_t *out)
{
    return acquire(device_of(handle), swapchain, timeout, semaphore, fence, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL AcquireNextImage2KHR(VkDevice handle, const VkAcquireNextImageInfoKHR *info,
                                                           uint32_t *out)
{
    return acquire(device_of(handle), info->swapchain, info->timeout, info->semaphore, info->fence, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL ReleaseSwapchainImagesEXT(VkDevice handle,
                                                                const VkReleaseSwapchainImagesInfoEXT *info)
{
    struct device *device = device_of(handle);

    pthread_mutex_lock(&device->mutex);
    for (uint32_t i = 0; i < info->imageIndexCount; i++)
        swapchain_of(info->swapchain)->images[info->pImageIndices[i]].state = FREE;
    pthread_mutex_unlock(&device->mutex);
    return VK_SUCCESS;
}

/* What comes behind this on the queue comes when the present may begin. */
static VkResult wait_on_queue(const struct device *device, VkQueue queue, const VkPresentInfoKHR *info)
{
    VkPipelineStageFlags *stages = malloc((info->waitSemaphoreCount + 1) * sizeof *stages);
    VkSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .waitSemaphoreCount = info->waitSemaphoreCount,
                         .pWaitSemaphores = info->pWaitSemaphores,
                         .pWaitDstStageMask = stages};
    VkResult result;

    if (!stages)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    result = device->chain.next.QueueSubmit(queue, 1, &wait, VK_NULL_HANDLE);
    free(stages);
    return result;
}

static VkResult wait_and_reset(const struct device *device, VkFence fence)
{
    VkResult result = device->chain.next.WaitForFences(device->chain.handle, 1, &fence, VK_TRUE, UINT64_MAX);
    return result < 0 ? result : device->chain.next.ResetFences(device->chain.handle, 1, &fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *info)
{
    const VkSwapchainPresentFenceInfoEXT *fences =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT);
    struct device *device = device_of(queue);
    VkResult result;

    pthread_mutex_lock(&device->mutex);
    result = wait_on_queue(device, queue, info);
    for (uint32_t i = 0; i < info->swapchainCount; i++) {
        struct image *image = &swapchain_of(info->pSwapchains[i])->images[info->pImageIndices[i]];
        if (image->state == PRESENTED && result >= 0) /* shared with the display: it is presented again */
            result = wait_and_reset(device, image->done);
        if (result >= 0)
            result = device->chain.next.QueueSubmit(queue, 0, NULL, image->done);
        device->presents++;
        image->state = result >= 0 ? PRESENTED : FREE;
        if (result >= 0 && fences && fences->pFences[i])
            result = device->chain.next.QueueSubmit(queue, 0, NULL, fences->pFences[i]);
        if (info->pResults)
            info->pResults[i] = result;
    }
    pthread_mutex_unlock(&device->mutex);
    return result;
}

/* ---- queues, which the layer uses, too ---- */

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *out)
{
    struct device *device = device_of(handle);
    device->chain.next.GetDeviceQueue(handle, family, index, out);
    device->queue = device->queue ? device->queue : *out;
}

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
    struct device *device = device_of(handle);
    device->chain.next.GetDeviceQueue2(handle, info, out);
    device->queue = device->queue ? device->queue : *out;
}

/* A function of queues that is called with the mutex held. */
#define LOCKED(name, parameters, dispatchable, arguments)                                                              \
    static VKAPI_ATTR VkResult VKAPI_CALL name parameters                                                              \
    {                                                                                                                  \
        struct device *device = device_of(dispatchable);                                                               \
        VkResult result;                                                                                               \
        pthread_mutex_lock(&device->mutex);                                                                            \
        result = device->chain.next.name arguments;                                                                    \
        pthread_mutex_unlock(&device->mutex);                                                                          \
        return result;                                                                                                 \
    }
LOCKED(QueueSubmit, (VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence), queue,
       (queue, count, infos, fence))
LOCKED(QueueSubmit2, (VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence), queue,
       (queue, count, infos, fence))
LOCKED(QueueBindSparse, (VkQueue queue, uint32_t count, const VkBindSparseInfo *infos, VkFence fence), queue,
       (queue, count, infos, fence))
LOCKED(QueueWaitIdle, (VkQueue queue), queue, (queue))
LOCKED(DeviceWaitIdle, (VkDevice handle), handle, (handle))

static void device_created(struct chain_device *chain)
{
    struct device *device = (struct device *)chain;
    pthread_mutex_init(&device->mutex, NULL);
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function table[] = {
        {"vkCreateHeadlessSurfaceEXT", (PFN_vkVoidFunction)create_surface},
        {"vkCreateXcbSurfaceKHR", (PFN_vkVoidFunction)create_surface},
        {"vkCreateXlibSurfaceKHR", (PFN_vkVoidFunction)create_surface},
        CHAIN_OWN(DestroySurfaceKHR),
        CHAIN_OWN(GetPhysicalDeviceSurfaceSupportKHR),
        CHAIN_OWN(GetPhysicalDeviceSurfaceCapabilitiesKHR),
        CHAIN_OWN(GetPhysicalDeviceSurfaceCapabilities2KHR),
        CHAIN_OWN(GetPhysicalDeviceSurfaceFormatsKHR),
        CHAIN_OWN(GetPhysicalDeviceSurfaceFormats2KHR),
        CHAIN_OWN(GetPhysicalDeviceSurfacePresentModesKHR),
        CHAIN_OWN(GetPhysicalDevicePresentRectanglesKHR),
        CHAIN_OWN_2(GetPhysicalDeviceFeatures2),
        CHAIN_OWN(GetDeviceGroupSurfacePresentModesKHR),
        {"vkCreateSwapchainKHR", (PFN_vkVoidFunction)windows_create_swapchain},
        {"vkDestroySwapchainKHR", (PFN_vkVoidFunction)windows_destroy_swapchain},
        CHAIN_OWN(GetSwapchainImagesKHR),
        CHAIN_OWN(AcquireNextImageKHR),
        CHAIN_OWN(AcquireNextImage2KHR),
        CHAIN_OWN(ReleaseSwapchainImagesEXT),
        CHAIN_OWN(QueuePresentKHR),
        CHAIN_OWN(GetDeviceQueue),
        CHAIN_OWN(GetDeviceQueue2),
        CHAIN_OWN(QueueSubmit),
        CHAIN_OWN_2(QueueSubmit2),
        CHAIN_OWN(QueueBindSparse),
        CHAIN_OWN(QueueWaitIdle),
        CHAIN_OWN(DeviceWaitIdle),
        CHAIN_END,
    };
    return i == 0 ? table : i == 1 ? displays_functions : NULL;
}

const struct chain_layer chain_layer = {.device_bytes = sizeof(struct device),
                                        .create_device = displays_create_device,
                                        .device_created = device_created,
                                        .functions = functions,
                                        .adds = true};
