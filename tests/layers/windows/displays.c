/* SPDX-License-Identifier: MIT */
/*
 * A display that nobody sees, with one plane and one mode (VK_KHR_display), for drivers that know the extension and
 * have no display: shared swapchains (VK_KHR_display_swapchain), images that are on the display while they are drawn
 * (VK_KHR_shared_presentable_image), events and counters (VK_EXT_display_control). An event has happened when it is
 * registered, as far as the queue has got; the counter counts presents. Displays are taken and given back by nobody.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/layers/shown.h"
#include "tests/layers/windows/windows.h"

#define WIDTH  640u
#define HEIGHT 480u
#define ADDED  3u

static const char *const added[ADDED] = {VK_KHR_DISPLAY_SWAPCHAIN_EXTENSION_NAME, VK_EXT_DISPLAY_CONTROL_EXTENSION_NAME,
                                         VK_KHR_SHARED_PRESENTABLE_IMAGE_EXTENSION_NAME};

static const VkDisplayKHR the_display = (VkDisplayKHR)(uintptr_t)0x1001;
static const VkDisplayModeKHR the_mode = (VkDisplayModeKHR)(uintptr_t)0x1002;
static const VkDisplayModeParametersKHR the_parameters = {{WIDTH, HEIGHT}, 60000};

/* ---- extensions ---- */

static VKAPI_ATTR VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(VkPhysicalDevice gpu, const char *layer,
                                                                         uint32_t *count, VkExtensionProperties *out)
{
    PFN_vkEnumerateDeviceExtensionProperties ask = chain_instance_of(gpu)->next.EnumerateDeviceExtensionProperties;
    uint32_t have = 0, room = *count;
    VkExtensionProperties *all;

    if (layer)
        return ask(gpu, layer, count, out);
    ask(gpu, NULL, &have, NULL);
    all = calloc(have + ADDED, sizeof *all);
    if (!all)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    ask(gpu, NULL, &have, all);
    for (uint32_t i = 0; i < ADDED; i++) {
        all[have].specVersion = 1;
        strcpy(all[have++].extensionName, added[i]);
    }
    *count = out && room < have ? room : have;
    if (out)
        memcpy(out, all, *count * sizeof *out);
    free(all);
    return out && room < have ? VK_INCOMPLETE : VK_SUCCESS;
}

VkResult displays_create_device(struct chain_device *device, PFN_vkCreateDevice create, const VkDeviceCreateInfo *info,
                                const VkAllocationCallbacks *allocator, VkDevice *out)
{
    const char **names = calloc(info->enabledExtensionCount + 1, sizeof *names);
    VkDeviceCreateInfo changed = *info;
    VkResult result;

    if (!names)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    changed.enabledExtensionCount = 0;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        bool ours = false;
        for (uint32_t j = 0; j < ADDED; j++)
            ours = ours || strcmp(info->ppEnabledExtensionNames[i], added[j]) == 0;
        if (!ours)
            names[changed.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
    }
    changed.ppEnabledExtensionNames = names;
    result = create(device->gpu, &changed, allocator, out);
    free(names);
    return result;
}

/* ---- the display ---- */

static VkDisplayPropertiesKHR display(void)
{
    return (VkDisplayPropertiesKHR){.display = the_display,
                                    .displayName = "nobody's",
                                    .physicalDimensions = {320, 240},
                                    .physicalResolution = {WIDTH, HEIGHT},
                                    .supportedTransforms = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR};
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceDisplayPropertiesKHR(VkPhysicalDevice gpu, uint32_t *count,
                                                                            VkDisplayPropertiesKHR *out)
{
    VkDisplayPropertiesKHR all = display();
    return shown_list(&all, 1, sizeof *out, count, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceDisplayProperties2KHR(VkPhysicalDevice gpu, uint32_t *count,
                                                                             VkDisplayProperties2KHR *out)
{
    VkResult result = shown_count(1, count, out);
    if (out && *count)
        out->displayProperties = display();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceDisplayPlanePropertiesKHR(VkPhysicalDevice gpu, uint32_t *count,
                                                                                 VkDisplayPlanePropertiesKHR *out)
{
    VkDisplayPlanePropertiesKHR all = {VK_NULL_HANDLE, 0};
    return shown_list(&all, 1, sizeof *out, count, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetDisplayPlaneSupportedDisplaysKHR(VkPhysicalDevice gpu, uint32_t plane,
                                                                          uint32_t *count, VkDisplayKHR *out)
{
    return shown_list(&the_display, 1, sizeof *out, count, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetDisplayModePropertiesKHR(VkPhysicalDevice gpu, VkDisplayKHR of,
                                                                  uint32_t *count, VkDisplayModePropertiesKHR *out)
{
    VkDisplayModePropertiesKHR all = {the_mode, the_parameters};
    return shown_list(&all, 1, sizeof *out, count, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateDisplayModeKHR(VkPhysicalDevice gpu, VkDisplayKHR of,
                                                           const VkDisplayModeCreateInfoKHR *info,
                                                           const VkAllocationCallbacks *allocator,
                                                           VkDisplayModeKHR *out)
{
    if (memcmp(&info->parameters, &the_parameters, sizeof the_parameters) != 0)
        return VK_ERROR_INITIALIZATION_FAILED;
    *out = the_mode;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetDisplayPlaneCapabilitiesKHR(VkPhysicalDevice gpu, VkDisplayModeKHR mode,
                                                                     uint32_t plane, VkDisplayPlaneCapabilitiesKHR *out)
{
    *out = (VkDisplayPlaneCapabilitiesKHR){.supportedAlpha = VK_DISPLAY_PLANE_ALPHA_OPAQUE_BIT_KHR,
                                           .minSrcExtent = {1, 1},
                                           .maxSrcExtent = {WIDTH, HEIGHT},
                                           .minDstExtent = {1, 1},
                                           .maxDstExtent = {WIDTH, HEIGHT}};
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateDisplayPlaneSurfaceKHR(VkInstance instance,
                                                                   const VkDisplaySurfaceCreateInfoKHR *info,
                                                                   const VkAllocationCallbacks *allocator,
                                                                   VkSurfaceKHR *out)
{
    return windows_create_surface(true, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL ReleaseDisplayEXT(VkPhysicalDevice gpu, VkDisplayKHR of)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetDrmDisplayEXT(VkPhysicalDevice gpu, int32_t fd, uint32_t connector,
                                                       VkDisplayKHR *out)
{
    *out = the_display;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL AcquireDrmDisplayEXT(VkPhysicalDevice gpu, int32_t fd, VkDisplayKHR of)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceCapabilities2EXT(VkPhysicalDevice gpu,
                                                                               VkSurfaceKHR surface,
                                                                               VkSurfaceCapabilities2EXT *out)
{
    const VkSurfaceCapabilitiesKHR *all = &shown_capabilities;

    out->minImageCount = all->minImageCount;
    out->maxImageCount = all->maxImageCount;
    out->currentExtent = all->currentExtent;
    out->minImageExtent = all->minImageExtent;
    out->maxImageExtent = all->maxImageExtent;
    out->maxImageArrayLayers = all->maxImageArrayLayers;
    out->supportedTransforms = all->supportedTransforms;
    out->currentTransform = all->currentTransform;
    out->supportedCompositeAlpha = all->supportedCompositeAlpha;
    out->supportedUsageFlags = all->supportedUsageFlags;
    out->supportedSurfaceCounters = VK_SURFACE_COUNTER_VBLANK_BIT_EXT;
    return VK_SUCCESS;
}

/* ---- what devices do with it ---- */

static VKAPI_ATTR VkResult VKAPI_CALL CreateSharedSwapchainsKHR(VkDevice handle, uint32_t count,
                                                                const VkSwapchainCreateInfoKHR *infos,
                                                                const VkAllocationCallbacks *allocator,
                                                                VkSwapchainKHR *out)
{
    for (uint32_t i = 0; i < count; i++) {
        VkResult result = windows_create_swapchain(handle, &infos[i], allocator, &out[i]);
        if (result < 0) {
            while (i)
                windows_destroy_swapchain(handle, out[--i], allocator);
            return result;
        }
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetSwapchainStatusKHR(VkDevice handle, VkSwapchainKHR swapchain)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL DisplayPowerControlEXT(VkDevice handle, VkDisplayKHR of,
                                                             const VkDisplayPowerInfoEXT *info)
{
    return VK_SUCCESS;
}

static VkResult happened(VkDevice handle, const VkAllocationCallbacks *allocator, VkFence *out)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct device *device = device_of(handle);
    VkResult result = device->chain.next.CreateFence(handle, &info, allocator, out);

    pthread_mutex_lock(&device->mutex);
    if (result >= 0)
        result = device->chain.next.QueueSubmit(device->queue, 0, NULL, *out);
    pthread_mutex_unlock(&device->mutex);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL RegisterDeviceEventEXT(VkDevice handle, const VkDeviceEventInfoEXT *info,
                                                             const VkAllocationCallbacks *allocator, VkFence *out)
{
    return happened(handle, allocator, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL RegisterDisplayEventEXT(VkDevice handle, VkDisplayKHR of,
                                                              const VkDisplayEventInfoEXT *info,
                                                              const VkAllocationCallbacks *allocator, VkFence *out)
{
    return happened(handle, allocator, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetSwapchainCounterEXT(VkDevice handle, VkSwapchainKHR swapchain,
                                                             VkSurfaceCounterFlagBitsEXT counter, uint64_t *out)
{
    struct device *device = device_of(handle);
    pthread_mutex_lock(&device->mutex);
    *out = device->presents;
    pthread_mutex_unlock(&device->mutex);
    return VK_SUCCESS;
}

const struct chain_function displays_functions[] = {
    CHAIN_OWN(EnumerateDeviceExtensionProperties),
    CHAIN_OWN(GetPhysicalDeviceDisplayPropertiesKHR),
    CHAIN_OWN(GetPhysicalDeviceDisplayProperties2KHR),
    CHAIN_OWN(GetPhysicalDeviceDisplayPlanePropertiesKHR),
    CHAIN_OWN(GetDisplayPlaneSupportedDisplaysKHR),
    CHAIN_OWN(GetDisplayModePropertiesKHR),
    CHAIN_OWN(CreateDisplayModeKHR),
    CHAIN_OWN(GetDisplayPlaneCapabilitiesKHR),
    CHAIN_OWN(CreateDisplayPlaneSurfaceKHR),
    CHAIN_OWN(ReleaseDisplayEXT),
    CHAIN_OWN(GetDrmDisplayEXT),
    CHAIN_OWN(AcquireDrmDisplayEXT),
    CHAIN_OWN(GetPhysicalDeviceSurfaceCapabilities2EXT),
    CHAIN_OWN(CreateSharedSwapchainsKHR),
    CHAIN_OWN(GetSwapchainStatusKHR),
    CHAIN_OWN(DisplayPowerControlEXT),
    CHAIN_OWN(RegisterDeviceEventEXT),
    CHAIN_OWN(RegisterDisplayEventEXT),
    CHAIN_OWN(GetSwapchainCounterEXT),
    CHAIN_END,
};
