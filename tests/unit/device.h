/* SPDX-License-Identifier: MIT */
/*
 * device: a Vulkan device for unit tests, with the validation layer and with swapchains where there are some. The
 * loader is opened at run time: where it or a driver is missing, tests can skip.
 */
#ifndef LAP_TESTS_UNIT_DEVICE_H
#define LAP_TESTS_UNIT_DEVICE_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_dispatch.h"

struct unit_device {
    void *loader;
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkQueueFlags queue_flags;
    bool validated, has_xcb, has_swapchain;
    unsigned messages; /* of the validation layer */
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceFeatures features; /* enabled: the sparse ones that there are */
    VkPhysicalDeviceMemoryProperties memory;
    struct gen_instance_dispatch ivk;
    struct gen_device_dispatch vk;
};

/* Everything before is done, and seen, before everything behind. */
static inline void unit_change_layout(PFN_vkCmdPipelineBarrier record, VkCommandBuffer commands, VkImage image,
                                      VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    record(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1,
           &barrier);
}

static VKAPI_ATTR VkBool32 VKAPI_CALL unit_device_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                          VkDebugUtilsMessageTypeFlagsEXT types,
                                                          const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    struct unit_device *device = user;
    device->messages++;
    printf("validation: %s\n", data->pMessage);
    return VK_FALSE;
}

static bool unit_device_has_validation(const struct unit_device *device)
{
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        (PFN_vkEnumerateInstanceLayerProperties)device->get(NULL, "vkEnumerateInstanceLayerProperties");
    VkLayerProperties layers[64];
    uint32_t count = 64;

    if (!enumerate || enumerate(&count, layers) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(layers[i].layerName, "VK_LAYER_KHRONOS_validation") == 0)
            return true;
    return false;
}

static bool unit_device_names(const VkExtensionProperties *extensions, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(extensions[i].extensionName, name) == 0)
            return true;
    return false;
}

static int unit_device_pin(struct dl_phdr_info *info, size_t bytes, void *user)
{
    void *library = info->dlpi_name && strchr(info->dlpi_name, '/')
                        ? dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)
                        : NULL;
    if (library)
        dlclose(library);
    return 0;
}

static bool unit_device_create_instance(struct unit_device *device)
{
    static const char *const layer = "VK_LAYER_KHRONOS_validation";
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = unit_device_message,
        .pUserData = device,
    };
    VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)device->get(NULL, "vkEnumerateInstanceExtensionProperties");
    PFN_vkCreateInstance create_instance = (PFN_vkCreateInstance)device->get(NULL, "vkCreateInstance");
    VkExtensionProperties extensions[128];
    uint32_t count = 128;
    const char *names[3];

    if (!enumerate || !create_instance || enumerate(NULL, &count, extensions) < 0)
        return false;
    create.ppEnabledExtensionNames = names;
    device->has_xcb = unit_device_names(extensions, count, "VK_KHR_surface") &&
                      unit_device_names(extensions, count, "VK_KHR_xcb_surface");
    if (unit_device_names(extensions, count, "VK_KHR_surface"))
        names[create.enabledExtensionCount++] = "VK_KHR_surface";
    if (device->has_xcb)
        names[create.enabledExtensionCount++] = "VK_KHR_xcb_surface";
    device->validated = unit_device_has_validation(device);
    if (device->validated) {
        create.enabledLayerCount = 1;
        create.ppEnabledLayerNames = &layer;
        names[create.enabledExtensionCount++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    }
    if (create_instance(&create, NULL, &device->instance) != VK_SUCCESS)
        return false;
    /* What drivers and layers leak can be told from what we leak only while they are loaded (tests/lsan.supp). */
    dl_iterate_phdr(unit_device_pin, NULL);
    gen_load_instance_dispatch(&device->ivk, device->get, device->instance, app.apiVersion);
    if (device->validated && device->ivk.CreateDebugUtilsMessengerEXT)
        device->ivk.CreateDebugUtilsMessengerEXT(device->instance, &messenger, NULL, &device->messenger);
    return true;
}

static void unit_device_finish(struct unit_device *device)
{
    if (device->device)
        device->vk.DestroyDevice(device->device, NULL);
    if (device->messenger)
        device->ivk.DestroyDebugUtilsMessengerEXT(device->instance, device->messenger, NULL);
    if (device->instance)
        device->ivk.DestroyInstance(device->instance, NULL);
    if (device->loader)
        dlclose(device->loader);
}

static bool unit_device_create_device(struct unit_device *device, uint32_t family)
{
    static const char *const swapchain = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
    PFN_vkGetDeviceProcAddr get = (PFN_vkGetDeviceProcAddr)device->get(device->instance, "vkGetDeviceProcAddr");
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    VkPhysicalDeviceFeatures supported;
    VkExtensionProperties *extensions;
    uint32_t count = 0;

    device->ivk.EnumerateDeviceExtensionProperties(device->gpu, NULL, &count, NULL);
    extensions = calloc(count + 1, sizeof *extensions);
    if (!extensions || device->ivk.EnumerateDeviceExtensionProperties(device->gpu, NULL, &count, extensions) < 0) {
        free(extensions);
        return false;
    }
    device->has_swapchain = device->has_xcb && unit_device_names(extensions, count, swapchain);
    free(extensions);
    if (device->has_swapchain) {
        create.enabledExtensionCount = 1;
        create.ppEnabledExtensionNames = &swapchain;
    }
    device->ivk.GetPhysicalDeviceFeatures(device->gpu, &supported);
    device->features = (VkPhysicalDeviceFeatures){.sparseBinding = supported.sparseBinding,
                                                  .sparseResidencyBuffer = supported.sparseResidencyBuffer,
                                                  .sparseResidencyImage2D = supported.sparseResidencyImage2D,
                                                  .sparseResidencyAliased = supported.sparseResidencyAliased};
    create.pEnabledFeatures = &device->features;
    if (device->ivk.CreateDevice(device->gpu, &create, NULL, &device->device) != VK_SUCCESS)
        return false;
    gen_load_device_dispatch(&device->vk, get, device->device, VK_API_VERSION_1_1);
    device->family = family;
    device->vk.GetDeviceQueue(device->device, family, 0, &device->queue);
    return true;
}

/* False where there is no driver; everything is released then. */
static bool unit_device_init(struct unit_device *device)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = 1;

    memset(device, 0, sizeof *device);
    device->loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    device->get = device->loader ? (PFN_vkGetInstanceProcAddr)dlsym(device->loader, "vkGetInstanceProcAddr") : NULL;
    if (!device->get || !unit_device_create_instance(device))
        goto out;
    if (device->ivk.EnumeratePhysicalDevices(device->instance, &count, &device->gpu) < 0 || count == 0)
        goto out;
    device->ivk.GetPhysicalDeviceProperties(device->gpu, &device->properties);
    device->ivk.GetPhysicalDeviceMemoryProperties(device->gpu, &device->memory);
    count = 16;
    device->ivk.GetPhysicalDeviceQueueFamilyProperties(device->gpu, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        device->queue_flags = families[i].queueFlags;
        if ((families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) && unit_device_create_device(device, i))
            return true;
    }
out:
    unit_device_finish(device);
    return false;
}

#endif
