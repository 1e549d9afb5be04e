/* SPDX-License-Identifier: MIT */
/* A program of a time to come (tests/future/derive.py has its headers). It uses what is new where the driver offers it,
 * and hangs a structure that is new on what is old in any case. With --bold it enables and uses what is new unasked, as
 * programs do that know their machine. Prints what it found; ends with 0 if the driver took everything. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan_core.h>

#define BUFFER_BYTES 4096u
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define CHECK_VK(call) CHECK((call) == VK_SUCCESS)

static const char *const names[] = {"VK_FUT_machine", "VK_KHR_partial_fill"};

struct functions {
    PFN_vkCreateMachineFUT create;
    PFN_vkDestroyMachineFUT destroy;
    PFN_vkGetMachineWordsFUT words;
    PFN_vkCmdRunMachineFUT run;
    PFN_vkCmdPartialFillKHR fill;
};

static bool offers(VkPhysicalDevice gpu, const char *name)
{
    uint32_t count = 0;
    CHECK_VK(vkEnumerateDeviceExtensionProperties(gpu, NULL, &count, NULL));
    VkExtensionProperties *all = calloc(count + 1, sizeof *all);
    CHECK(all);
    CHECK_VK(vkEnumerateDeviceExtensionProperties(gpu, NULL, &count, all));
    bool found = false;
    for (uint32_t i = 0; i < count; i++)
        found = found || strcmp(all[i].extensionName, name) == 0;
    free(all);
    return found;
}

static VkDevice make_device(VkPhysicalDevice gpu, bool new_things)
{
    VkPhysicalDevicePartialFillFeaturesKHR fills = {.sType =
                                                        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PARTIAL_FILL_FEATURES_KHR};
    VkPhysicalDeviceMachineFeaturesFUT machines = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MACHINE_FEATURES_FUT,
                                                   .pNext = &fills};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &machines};
    vkGetPhysicalDeviceFeatures2(gpu, &features);
    printf("features: %u %u\n", machines.machine, fills.partialFill);
    features.features = (VkPhysicalDeviceFeatures){0};
    const float priority = 1.0f;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    if (new_things) {
        machines.machine = fills.partialFill = VK_TRUE;
        info.pNext = &features;
        info.enabledExtensionCount = sizeof names / sizeof *names;
        info.ppEnabledExtensionNames = names;
    }
    VkDevice device;
    CHECK_VK(vkCreateDevice(gpu, &info, NULL, &device));
    return device;
}

static VkMachineFUT make_machine(VkDevice device, const struct functions *f)
{
    const uint32_t words[] = {3, 1, 4, 1, 5};
    const VkMachineCreateInfoFUT info = {.sType = VK_STRUCTURE_TYPE_MACHINE_CREATE_INFO_FUT,
                                         .stages = VK_MACHINE_STAGE_2_LAST_BIT_FUT,
                                         .kind = VK_MACHINE_KIND_LARGE_FUT,
                                         .wordCount = 5,
                                         .pWords = words,
                                         .pName = "mill"};
    VkMachineFUT machine;
    uint32_t count = 0;
    CHECK_VK(f->create(device, &info, NULL, &machine));
    CHECK_VK(f->words(device, machine, &count, NULL));
    return machine;
}

static void submit(VkDevice device, VkBuffer buffer, VkMachineFUT machine, const struct functions *f)
{
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkQueue queue;
    CHECK_VK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    CHECK_VK(vkAllocateCommandBuffers(device, &allocate, &commands));
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    vkCmdFillBuffer(commands, buffer, 0, 64, 7);
    if (machine) {
        const VkMachineRangeFUT range = {buffer, 64, 64};
        f->run(commands, machine, 1, &range);
    }
    if (f->fill) {
        const VkPartialFillInfoKHR fill = {.sType = VK_STRUCTURE_TYPE_PARTIAL_FILL_INFO_KHR,
                                           .dstBuffer = buffer,
                                           .offset = 128,
                                           .size = 64,
                                           .data = 9};
        f->fill(commands, &fill);
    }
    CHECK_VK(vkEndCommandBuffer(commands));
    vkGetDeviceQueue(device, 0, 0, &queue);
    const VkSubmitInfo work = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    CHECK_VK(vkQueueSubmit(queue, 1, &work, VK_NULL_HANDLE));
    CHECK_VK(vkQueueWaitIdle(queue));
    vkDestroyCommandPool(device, pool, NULL);
}

int main(int argc, char **argv)
{
    const bool bold = argc > 1 && strcmp(argv[1], "--bold") == 0;
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                                .pApplicationInfo = &application};
    VkInstance instance;
    VkPhysicalDevice gpu;
    uint32_t one = 1;
    CHECK_VK(vkCreateInstance(&instance_info, NULL, &instance));
    CHECK(vkEnumeratePhysicalDevices(instance, &one, &gpu) >= 0 && one == 1);
    const bool offered = offers(gpu, names[0]) && offers(gpu, names[1]);
    printf("offered: %s\n", offered ? "yes" : "no");
    VkDevice device = make_device(gpu, offered || bold);
    struct functions f = {0};
    if (offered || bold)
        f = (struct functions){(PFN_vkCreateMachineFUT)vkGetDeviceProcAddr(device, "vkCreateMachineFUT"),
                               (PFN_vkDestroyMachineFUT)vkGetDeviceProcAddr(device, "vkDestroyMachineFUT"),
                               (PFN_vkGetMachineWordsFUT)vkGetDeviceProcAddr(device, "vkGetMachineWordsFUT"),
                               (PFN_vkCmdRunMachineFUT)vkGetDeviceProcAddr(device, "vkCmdRunMachineFUT"),
                               (PFN_vkCmdPartialFillKHR)vkGetDeviceProcAddr(device, "vkCmdPartialFillKHR")};
    printf("functions: %s\n", f.create && f.destroy && f.words && f.run && f.fill ? "yes" : "no");
    VkMachineFUT machine = f.create ? make_machine(device, &f) : VK_NULL_HANDLE;
    const VkBufferMachineInfoFUT of_machine = {.sType = VK_STRUCTURE_TYPE_BUFFER_MACHINE_INFO_FUT, .machine = machine};
    const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                            .pNext = &of_machine,
                                            .size = BUFFER_BYTES,
                                            .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer;
    VkMemoryRequirements requirements;
    VkDeviceMemory memory;
    CHECK_VK(vkCreateBuffer(device, &buffer_info, NULL, &buffer));
    vkGetBufferMemoryRequirements(device, buffer, &requirements);
    uint32_t type = 0;
    while (!(requirements.memoryTypeBits >> type & 1))
        type++;
    const VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = requirements.size, .memoryTypeIndex = type};
    CHECK_VK(vkAllocateMemory(device, &allocate, NULL, &memory));
    CHECK_VK(vkBindBufferMemory(device, buffer, memory, 0));
    submit(device, buffer, machine, &f);
    vkDestroyBuffer(device, buffer, NULL);
    vkFreeMemory(device, memory, NULL);
    if (machine)
        f.destroy(device, machine, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    printf("ok program\n");
    return 0;
}
