/* SPDX-License-Identifier: MIT */
/*
 * android-loader LAYER NAMES [DRIVER]: does with a layer what Android's loader does (AOSP, frameworks/native,
 * vulkan/libvulkan: layers_extensions.cpp, api.cpp, driver.cpp). It opens the layer, asks what it is, and closes it,
 * many times, as each app does that has the file on its path: nothing may be left of that. Then it opens the layer in
 * earnest above the driver, whose library DRIVER is, names it in ppEnabledLayerNames, asks for all functions of NAMES,
 * a file with lines "instance NAME" or "device NAME", and runs a command buffer. Exit status 1 says what failed.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define ROUNDS       20
#define BYTES        4096u
#define COUNT(array) (sizeof(array) / sizeof *(array))

#define NEED(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void *need_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "%s is not exported\n", name);
        exit(1);
    }
    return symbol;
}

static void *need_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

/* ---- the process ---- */

struct process {
    unsigned mappings, threads, files;
    char handlers[64]; /* the signals that have one */
};

static unsigned entries(const char *folder)
{
    unsigned count = 0;
    DIR *open = opendir(folder);
    NEED(open);
    while (readdir(open))
        count++;
    closedir(open);
    return count;
}

static void look(struct process *out)
{
    char line[4096];
    FILE *file = fopen("/proc/self/maps", "re");
    *out = (struct process){.threads = entries("/proc/self/task"), .files = entries("/proc/self/fd")};
    NEED(file);
    while (fgets(line, sizeof line, file))
        out->mappings++;
    fclose(file);
    file = fopen("/proc/self/status", "re");
    NEED(file);
    while (fgets(line, sizeof line, file))
        (void)sscanf(line, "SigCgt: %63s", out->handlers);
    fclose(file);
    NEED(*out->handlers);
}

/* ---- what the layer says of itself ---- */

static VkLayerProperties own;

static void ask(void *library)
{
    PFN_vkEnumerateInstanceLayerProperties layers = need_symbol(library, "vkEnumerateInstanceLayerProperties");
    PFN_vkEnumerateDeviceLayerProperties device_layers = need_symbol(library, "vkEnumerateDeviceLayerProperties");
    PFN_vkEnumerateInstanceExtensionProperties extensions =
        need_symbol(library, "vkEnumerateInstanceExtensionProperties");
    PFN_vkEnumerateDeviceExtensionProperties device_extensions =
        need_symbol(library, "vkEnumerateDeviceExtensionProperties");
    VkLayerProperties other;
    VkExtensionProperties all[16];
    uint32_t count = 0;

    memset(&own, 0xa5, sizeof own);
    memset(&other, 0xa5, sizeof other);
    NEED(layers(&count, NULL) == VK_SUCCESS && count == 1 && layers(&count, &own) == VK_SUCCESS);
    count = 0;
    NEED(device_layers(VK_NULL_HANDLE, &count, NULL) == VK_SUCCESS && count == 1);
    NEED(device_layers(VK_NULL_HANDLE, &count, &other) == VK_SUCCESS);
    NEED(memcmp(&own, &other, sizeof own) == 0); /* or it gets no calls of devices */
    NEED(extensions(own.layerName, &count, NULL) == VK_SUCCESS && count <= COUNT(all));
    NEED(extensions(own.layerName, &count, all) == VK_SUCCESS);
    NEED(device_extensions(VK_NULL_HANDLE, own.layerName, &count, NULL) == VK_SUCCESS && count <= COUNT(all));
    NEED(device_extensions(VK_NULL_HANDLE, own.layerName, &count, all) == VK_SUCCESS);
}

static void open_and_close(const char *path)
{
    struct process before, between, after;

    look(&before);
    for (unsigned round = 0; round < ROUNDS; round++) {
        void *library = need_library(path);
        ask(library);
        dlclose(library);
        if (round == ROUNDS / 2)
            look(&between);
    }
    look(&after);
    NEED(after.mappings == between.mappings);
    NEED(after.threads == before.threads && after.files == before.files);
    NEED(strcmp(after.handlers, before.handlers) == 0);
}

/* ---- the end of the chain: the driver, and what Android's loader adds to it ---- */

/* The loader has the first word of each dispatchable object, and sets it before a layer sees the object. */
static struct {
    PFN_vkGetInstanceProcAddr instance_address;
    PFN_vkGetDeviceProcAddr device_address;
    PFN_vkCreateInstance create_instance;
    PFN_vkEnumeratePhysicalDevices enumerate;
    PFN_vkCreateDevice create_device;
    PFN_vkGetDeviceQueue get_queue;
    PFN_vkAllocateCommandBuffers allocate;
    char of_instance, of_device;
} driver;

static VKAPI_ATTR VkResult VKAPI_CALL set_instance_data(VkInstance instance, void *object)
{
    *(void **)object = *(void **)instance;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL set_device_data(VkDevice device, void *object)
{
    *(void **)object = *(void **)device;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate(VkInstance instance, uint32_t *count, VkPhysicalDevice *gpus)
{
    VkResult result = driver.enumerate(instance, count, gpus);
    for (uint32_t i = 0; result >= 0 && gpus && i < *count; i++)
        (void)set_instance_data(instance, gpus[i]);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
    driver.get_queue(device, family, index, out);
    (void)set_device_data(device, *out);
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                               VkCommandBuffer *out)
{
    VkResult result = driver.allocate(device, info, out);
    for (uint32_t i = 0; result == VK_SUCCESS && i < info->commandBufferCount; i++)
        (void)set_device_data(device, out[i]);
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_address(VkDevice device, const char *name)
{
    PFN_vkVoidFunction found = driver.device_address(device, name);

    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)device_address;
    if (strcmp(name, "vkGetDeviceQueue") == 0)
        return driver.get_queue = (PFN_vkGetDeviceQueue)found, (PFN_vkVoidFunction)get_queue;
    if (strcmp(name, "vkAllocateCommandBuffers") == 0)
        return driver.allocate = (PFN_vkAllocateCommandBuffers)found, (PFN_vkVoidFunction)allocate;
    return found;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    VkResult result = driver.create_device(gpu, info, callbacks, out);
    if (result == VK_SUCCESS)
        *(void **)*out = &driver.of_device;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks, VkInstance *out)
{
    VkResult result = driver.create_instance(info, callbacks, out);
    if (result == VK_SUCCESS)
        *(void **)*out = &driver.of_instance;
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_address(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction found = driver.instance_address(instance, name);

    if (strcmp(name, "vkGetInstanceProcAddr") == 0)
        return (PFN_vkVoidFunction)instance_address;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return driver.device_address = (PFN_vkGetDeviceProcAddr)found, (PFN_vkVoidFunction)device_address;
    if (strcmp(name, "vkCreateInstance") == 0)
        return driver.create_instance = (PFN_vkCreateInstance)found, (PFN_vkVoidFunction)create_instance;
    if (strcmp(name, "vkEnumeratePhysicalDevices") == 0)
        return driver.enumerate = (PFN_vkEnumeratePhysicalDevices)found, (PFN_vkVoidFunction)enumerate;
    if (strcmp(name, "vkCreateDevice") == 0)
        return driver.create_device = (PFN_vkCreateDevice)found, (PFN_vkVoidFunction)create_device;
    return found;
}

static void open_driver(const char *path)
{
    void *library = need_library(path);
    VkResult (*negotiate)(uint32_t *) = need_symbol(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
    uint32_t version = 5;

    NEED(negotiate(&version) == VK_SUCCESS);
    driver.instance_address = need_symbol(library, "vk_icdGetInstanceProcAddr");
}

/* ---- an app ---- */

static PFN_vkGetInstanceProcAddr instance_entry;
static PFN_vkGetDeviceProcAddr device_entry;
#define OF_INSTANCE(instance, name) ((PFN_##name)instance_entry(instance, #name))
#define OF_DEVICE(device, name)     ((PFN_##name)device_entry(device, #name))

/* Those of the list that are of this kind; without one that the loader requires it makes no instance, or no device. */
static void ask_for(FILE *names, const char *kind, void *object)
{
    char line[256], found[16], name[200];
    unsigned count = 0, missing = 0;

    rewind(names);
    while (fgets(line, sizeof line, names)) {
        NEED(sscanf(line, "%15s %199s", found, name) == 2);
        if (strcmp(found, kind) != 0)
            continue;
        count++;
        if (*kind == 'i' ? !instance_entry(object, name) : !device_entry(object, name)) {
            fprintf(stderr, "missing %s proc: %s\n", kind, name);
            missing++;
        }
    }
    NEED(count && !missing);
    printf("%u %s functions\n", count, kind);
}

static VkInstance make_instance(void)
{
    static const char *const extensions[] = {VK_KHR_SURFACE_EXTENSION_NAME};
    const char *const layers[] = {own.layerName};
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkLayerInstanceLink link = {.pfnNextGetInstanceProcAddr = instance_address};
    VkLayerInstanceCreateInfo chain[2] = {{.sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
                                           .pNext = &chain[1],
                                           .function = VK_LOADER_DATA_CALLBACK,
                                           .u.pfnSetInstanceLoaderData = set_instance_data},
                                          {.sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
                                           .function = VK_LAYER_LINK_INFO,
                                           .u.pLayerInfo = &link}};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = chain,
                                       .pApplicationInfo = &app,
                                       .enabledLayerCount = COUNT(layers),
                                       .ppEnabledLayerNames = layers,
                                       .enabledExtensionCount = COUNT(extensions),
                                       .ppEnabledExtensionNames = extensions};
    PFN_vkCreateInstance create = OF_INSTANCE(VK_NULL_HANDLE, vkCreateInstance);
    VkInstance instance;

    NEED(create && create(&info, NULL, &instance) == VK_SUCCESS);
    return instance;
}

static VkDevice make_device(VkInstance instance, VkPhysicalDevice gpu)
{
    static const char *const extensions[] = {VK_KHR_SWAPCHAIN_EXTENSION_NAME};
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkLayerDeviceLink link = {.pfnNextGetInstanceProcAddr = instance_address,
                              .pfnNextGetDeviceProcAddr = device_address};
    VkLayerDeviceCreateInfo chain[2] = {
        {.sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
         .pNext = &chain[1],
         .function = VK_LOADER_DATA_CALLBACK,
         .u.pfnSetDeviceLoaderData = set_device_data},
        {.sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, .function = VK_LAYER_LINK_INFO, .u.pLayerInfo = &link}};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = chain,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = COUNT(extensions),
                                     .ppEnabledExtensionNames = extensions};
    VkDevice device;

    NEED(driver.device_address || instance_address(instance, "vkGetDeviceProcAddr"));
    NEED(OF_INSTANCE(instance, vkCreateDevice)(gpu, &info, NULL, &device) == VK_SUCCESS);
    return device;
}

/* Fills a buffer that the host reads. A driver that draws nothing leaves it as it was. */
static void submit(VkInstance instance, VkPhysicalDevice gpu, VkDevice device)
{
    const VkBufferCreateInfo buffer_info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    VkPhysicalDeviceMemoryProperties types;
    VkMemoryRequirements needs;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkQueue queue;
    uint32_t type = 0, *words;

    NEED(OF_DEVICE(device, vkCreateBuffer)(device, &buffer_info, NULL, &buffer) == VK_SUCCESS);
    OF_DEVICE(device, vkGetBufferMemoryRequirements)(device, buffer, &needs);
    OF_INSTANCE(instance, vkGetPhysicalDeviceMemoryProperties)(gpu, &types);
    while (type < types.memoryTypeCount &&
           (!(needs.memoryTypeBits >> type & 1) || (types.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    const VkMemoryAllocateInfo memory_info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    NEED(type < types.memoryTypeCount);
    NEED(OF_DEVICE(device, vkAllocateMemory)(device, &memory_info, NULL, &memory) == VK_SUCCESS);
    NEED(OF_DEVICE(device, vkBindBufferMemory)(device, buffer, memory, 0) == VK_SUCCESS);
    NEED(OF_DEVICE(device, vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&words) == VK_SUCCESS);
    words[0] = 1;
    OF_DEVICE(device, vkGetDeviceQueue)(device, 0, 0, &queue);
    NEED(OF_DEVICE(device, vkCreateCommandPool)(device, &pool_info, NULL, &pool) == VK_SUCCESS);
    const VkCommandBufferAllocateInfo commands_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                       .commandPool = pool,
                                                       .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                       .commandBufferCount = 1};
    NEED(OF_DEVICE(device, vkAllocateCommandBuffers)(device, &commands_info, &commands) == VK_SUCCESS);
    NEED(OF_DEVICE(device, vkBeginCommandBuffer)(commands, &begin) == VK_SUCCESS);
    OF_DEVICE(device, vkCmdFillBuffer)(commands, buffer, 0, BYTES, 0x1a9111);
    OF_DEVICE(device, vkCmdPipelineBarrier)
    (commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    NEED(OF_DEVICE(device, vkEndCommandBuffer)(commands) == VK_SUCCESS);
    const VkSubmitInfo work = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    NEED(OF_DEVICE(device, vkQueueSubmit)(queue, 1, &work, VK_NULL_HANDLE) == VK_SUCCESS);
    NEED(OF_DEVICE(device, vkQueueWaitIdle)(queue) == VK_SUCCESS);
    printf("the buffer has %x\n", words[BYTES / 4 - 1]);
    OF_DEVICE(device, vkDestroyCommandPool)(device, pool, NULL);
    OF_DEVICE(device, vkDestroyBuffer)(device, buffer, NULL);
    OF_DEVICE(device, vkFreeMemory)(device, memory, NULL);
}

int main(int argc, char **argv)
{
    char name[VK_MAX_EXTENSION_NAME_SIZE + 32];
    uint32_t one = 1;
    VkPhysicalDevice gpu;

    NEED(argc == 3 || argc == 4);
    open_and_close(argv[1]);
    if (argc == 3)
        return 0;
    FILE *names = fopen(argv[2], "re");
    void *library = need_library(argv[1]);
    NEED(names);
    open_driver(argv[3]);
    snprintf(name, sizeof name, "%sGetInstanceProcAddr", own.layerName);
    instance_entry = dlsym(library, name) ? dlsym(library, name) : need_symbol(library, "vkGetInstanceProcAddr");
    snprintf(name, sizeof name, "%sGetDeviceProcAddr", own.layerName);
    device_entry = dlsym(library, name) ? dlsym(library, name) : need_symbol(library, "vkGetDeviceProcAddr");
    VkInstance instance = make_instance();
    ask_for(names, "instance", instance);
    VkResult result = OF_INSTANCE(instance, vkEnumeratePhysicalDevices)(instance, &one, &gpu);
    NEED(result >= 0 && one == 1);
    VkDevice device = make_device(instance, gpu);
    ask_for(names, "device", device);
    submit(instance, gpu, device);
    OF_DEVICE(device, vkDestroyDevice)(device, NULL);
    OF_INSTANCE(instance, vkDestroyInstance)(instance, NULL);
    fclose(names);
    return 0;
}
