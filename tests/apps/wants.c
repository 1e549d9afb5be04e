/* SPDX-License-Identifier: MIT */
/*
 * wants: asks for a device with an extension, without asking first whether there is one; --ask asks and makes none,
 * --twice goes on without the extension. Prints what vkCreateDevice returns, each time.
 */
#include <stdio.h>
#include <string.h>
#include <vulkan/vulkan.h>

static VkPhysicalDevice first_device(VkInstance instance)
{
    VkPhysicalDevice devices[8];
    uint32_t count = 8;
    return vkEnumeratePhysicalDevices(instance, &count, devices) >= 0 && count ? devices[0] : VK_NULL_HANDLE;
}

static void make_device(VkPhysicalDevice gpu, const char *extension)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = extension != NULL,
                                     .ppEnabledExtensionNames = &extension};
    VkDevice device;
    VkResult result = vkCreateDevice(gpu, &info, NULL, &device);
    printf("%d\n", result);
    if (result == VK_SUCCESS)
        vkDestroyDevice(device, NULL);
}

int main(int argc, char **argv)
{
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    VkInstance instance;
    VkPhysicalDevice gpu;
    uint32_t count = 0;

    if (argc < 2 || vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS || !(gpu = first_device(instance)))
        return 1;
    if (strcmp(argv[1], "--ask") == 0) {
        static VkExtensionProperties all[1024];
        (void)vkEnumerateDeviceExtensionProperties(gpu, NULL, &count, NULL);
        (void)vkEnumerateDeviceExtensionProperties(gpu, NULL, &count, all);
    } else {
        make_device(gpu, argv[1]);
    }
    if (argc > 2 && strcmp(argv[2], "--twice") == 0)
        make_device(gpu, NULL);
    if (argc > 2 && strcmp(argv[2], "--leave") == 0)
        return 0;
    vkDestroyInstance(instance, NULL);
    return 0;
}
