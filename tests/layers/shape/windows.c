/* SPDX-License-Identifier: MIT */
/*
 * Windows.
 *
 *   images=N       swapchains have at least so many images, 2 to 5
 */
#include "tests/layers/shape/shape.h"
#include <string.h>

static uint64_t images;

static bool read_word(const char *name, const char *value)
{
    return !strcmp(name, "images") && shape_read_number(value, &images) && images >= 2 && images <= 5;
}

static void show_capabilities(VkSurfaceCapabilitiesKHR *capabilities)
{
    if (capabilities->minImageCount < images)
        capabilities->minImageCount = (uint32_t)images;
    if (capabilities->maxImageCount && capabilities->maxImageCount < capabilities->minImageCount)
        capabilities->maxImageCount = capabilities->minImageCount;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceCapabilitiesKHR(VkPhysicalDevice gpu,
                                                                              VkSurfaceKHR surface,
                                                                              VkSurfaceCapabilitiesKHR *out)
{
    VkResult result = chain_instance_of(gpu)->next.GetPhysicalDeviceSurfaceCapabilitiesKHR(gpu, surface, out);
    if (result >= 0)
        show_capabilities(out);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceCapabilities2KHR(
    VkPhysicalDevice gpu, const VkPhysicalDeviceSurfaceInfo2KHR *info, VkSurfaceCapabilities2KHR *out)
{
    VkResult result = chain_instance_of(gpu)->next.GetPhysicalDeviceSurfaceCapabilities2KHR(gpu, info, out);
    if (result >= 0)
        show_capabilities(&out->surfaceCapabilities);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateSwapchainKHR(VkDevice handle, const VkSwapchainCreateInfoKHR *info,
                                                         const VkAllocationCallbacks *allocator, VkSwapchainKHR *out)
{
    if (info->minImageCount < images)
        return VK_ERROR_INITIALIZATION_FAILED;
    return chain_device_of(handle)->next.CreateSwapchainKHR(handle, info, allocator, out);
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetPhysicalDeviceSurfaceCapabilitiesKHR),
    CHAIN_OWN(GetPhysicalDeviceSurfaceCapabilities2KHR),
    CHAIN_OWN(CreateSwapchainKHR),
    CHAIN_END,
};
const struct shape_topic shape_windows = {.read_word = read_word, .functions = functions};
