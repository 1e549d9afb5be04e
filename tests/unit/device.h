/* SPDX-License-Identifier: MIT */
/*
 * device: a Vulkan device for unit tests, with the validation layer where there is one. Link with -lvulkan.
 */
#ifndef LAP_TESTS_UNIT_DEVICE_H
#define LAP_TESTS_UNIT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_dispatch.h"

struct unit_device {
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkQueueFlags queue_flags;
    bool validated;
    unsigned messages; /* of the validation layer */
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    struct gen_instance_dispatch ivk;
    struct gen_device_dispatch vk;
};

static VKAPI_ATTR VkBool32 VKAPI_CALL unit_device_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                          VkDebugUtilsMessageTypeFlagsEXT types,
                                                          const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    struct unit_device *device = user;
    device->messages++;
    printf("validation: %s\n", data->pMessage);
    return VK_FALSE;
}

static bool unit_device_has_validation(void)
{
    VkLayerProperties layers[64];
    uint32_t count = 64;
    if (vkEnumerateInstanceLayerProperties(&count, layers) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(layers[i].layerName, "VK_LAYER_KHRONOS_validation") == 0)
            return true;
    return false;
}

static bool unit_device_create_instance(struct unit_device *device)
{
    static const char *const layer = "VK_LAYER_KHRONOS_validation", *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = unit_device_message,
        .pUserData = device,
    };
    VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};

    device->validated = unit_device_has_validation();
    if (device->validated) {
        create.enabledLayerCount = create.enabledExtensionCount = 1;
        create.ppEnabledLayerNames = &layer;
        create.ppEnabledExtensionNames = &extension;
    }
    if (vkCreateInstance(&create, NULL, &device->instance) != VK_SUCCESS)
        return false;
    gen_load_instance_dispatch(&device->ivk, vkGetInstanceProcAddr, device->instance);
    if (device->validated && device->ivk.CreateDebugUtilsMessengerEXT)
        device->ivk.CreateDebugUtilsMessengerEXT(device->instance, &messenger, NULL, &device->messenger);
    return true;
}

static void unit_device_finish(struct unit_device *device)
{
    if (device->device)
        vkDestroyDevice(device->device, NULL);
    if (device->messenger)
        device->ivk.DestroyDebugUtilsMessengerEXT(device->instance, device->messenger, NULL);
    if (device->instance)
        vkDestroyInstance(device->instance, NULL);
}

/* False where there is no driver; everything is released then. */
static bool unit_device_init(struct unit_device *device, uint32_t extension_count, const char *const *extensions)
{
    const float priority = 1;
    VkQueueFamilyProperties families[16];
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue, .enabledExtensionCount = extension_count,
                                 .ppEnabledExtensionNames = extensions};
    uint32_t count = 1;

    memset(device, 0, sizeof *device);
    if (!unit_device_create_instance(device))
        return false;
    if (vkEnumeratePhysicalDevices(device->instance, &count, &device->gpu) < 0 || count == 0)
        goto out;
    vkGetPhysicalDeviceProperties(device->gpu, &device->properties);
    vkGetPhysicalDeviceMemoryProperties(device->gpu, &device->memory);
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(device->gpu, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT))
            continue;
        device->family = queue.queueFamilyIndex = i;
        device->queue_flags = families[i].queueFlags;
        if (vkCreateDevice(device->gpu, &create, NULL, &device->device) != VK_SUCCESS)
            goto out;
        gen_load_device_dispatch(&device->vk, vkGetDeviceProcAddr, device->device);
        vkGetDeviceQueue(device->device, i, 0, &device->queue);
        return true;
    }
out:
    unit_device_finish(device);
    return false;
}

#endif
