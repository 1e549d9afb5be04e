/* SPDX-License-Identifier: MIT */
/*
 * addresses: a Vulkan layer, for tests only, that gives a driver the feature bufferDeviceAddressCaptureReplay. It
 * stands next to a driver that runs on the CPU, whose device addresses are those of the host, and that takes pages of
 * the host as memory: memory with the flag lies in pages of this layer, which can be had at the same place in another
 * process.
 *
 * It insists on what the specification demands: the feature is enabled where flags are used, buffers with the flag lie
 * in memory with the flag, numbers that are asked for have been given. What is wrong is said on stderr and fails. The
 * driver never sees flags, structures or numbers.
 *
 * LAPILLI_TEST_ADDRESSES makes it difficult, one of
 *   memory   no memory is allocated where it lay
 *   buffers  no buffer is created for the address that it had
 *   moved    both are, but memory lies elsewhere all the same
 *   larger   buffers with the flag want more memory
 *   imports  memory with the flag can't be imported
 *   driver   the UUID of the driver is another one
 *
 * Tables are behind one mutex; drivers are called without it.
 */
#include "tests/layers/chain.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vulkan/vulkan_core.h>

#define MAX_EXTENSIONS 256u
#define FIRST_PAGE     (UINTPTR_MAX > UINT32_MAX ? (uintptr_t)0x200000000000u : 0x60000000u)
#define FIRST_NUMBER   0x1000u /* of buffers */
#define MORE_BYTES     65536u

/* A buffer or memory with the flag. */
struct object {
    struct object *next;
    VkDevice device;
    uint64_t handle, number;
    void *pages; /* of memory; NULL: the driver's, or somebody else's */
    size_t bytes;
};

struct device {
    struct chain_device chain;
    bool enabled;
    VkDeviceSize page_bytes;
    const char *extensions[MAX_EXTENSIONS];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct object *buffers, *memories;
static uint64_t last_number = FIRST_NUMBER;
static uintptr_t next_page = FIRST_PAGE;

static struct device *device_of(const void *dispatchable)
{
    return (struct device *)chain_device_of(dispatchable);
}

static bool is_difficult(const char *how)
{
    const char *text = getenv("LAPILLI_TEST_ADDRESSES");
    return text && strcmp(text, how) == 0;
}

static VkResult complain(const char *what)
{
    fprintf(stderr, "test layer addresses: %s\n", what);
    return VK_ERROR_UNKNOWN;
}

/* ---- objects ---- */

static struct object **find(struct object **list, VkDevice device, uint64_t handle)
{
    while (*list && ((*list)->device != device || (*list)->handle != handle))
        list = &(*list)->next;
    return list;
}

static struct object *get(struct object **list, VkDevice device, uint64_t handle)
{
    struct object *object;
    pthread_mutex_lock(&mutex);
    object = *find(list, device, handle);
    pthread_mutex_unlock(&mutex);
    return object;
}

static VkResult add(struct object **list, const struct object *what)
{
    struct object *object = malloc(sizeof *object);
    if (!object)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *object = *what;
    pthread_mutex_lock(&mutex);
    object->next = *list;
    *list = object;
    pthread_mutex_unlock(&mutex);
    return VK_SUCCESS;
}

/* The caller frees it. */
static struct object *take(struct object **list, VkDevice device, uint64_t handle)
{
    struct object **at, *object;
    pthread_mutex_lock(&mutex);
    at = find(list, device, handle);
    object = *at;
    if (object)
        *at = object->next;
    pthread_mutex_unlock(&mutex);
    return object;
}

/* ---- chains ---- */

/* Takes the structure of this type out, for good where it is not the first. */
static const VkBaseInStructure *unlink_struct(const void **head, VkStructureType type)
{
    const VkBaseInStructure *found = chain_find(*head, type), *before = *head;
    if (!found)
        return NULL;
    if (before == found) {
        *head = found->pNext;
        return found;
    }
    while (before->pNext != found)
        before = before->pNext;
    ((VkBaseInStructure *)(uintptr_t)before)->pNext = found->pNext;
    return found;
}

/* ---- the feature ---- */

static void each_feature(const void *chain, void (*change)(VkBool32 has_addresses, VkBool32 *feature, void *context),
                         void *context)
{
    VkPhysicalDeviceVulkan12Features *core = chain_find(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    VkPhysicalDeviceBufferDeviceAddressFeatures *khr =
        chain_find(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    if (core)
        change(core->bufferDeviceAddress, &core->bufferDeviceAddressCaptureReplay, context);
    if (khr)
        change(khr->bufferDeviceAddress, &khr->bufferDeviceAddressCaptureReplay, context);
}

static void show(VkBool32 has_addresses, VkBool32 *feature, void *context)
{
    *feature = has_addresses;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice gpu, VkPhysicalDeviceFeatures2 *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceFeatures2(gpu, out);
    each_feature(out->pNext, show, NULL);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2 *out)
{
    VkPhysicalDeviceIDProperties *ids = chain_find(out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    VkPhysicalDeviceVulkan11Properties *core =
        chain_find(out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
    chain_instance_of(gpu)->next.GetPhysicalDeviceProperties2(gpu, out);
    if (ids && is_difficult("driver"))
        ids->driverUUID[0] ^= 1;
    if (core && is_difficult("driver"))
        core->driverUUID[0] ^= 1;
}

static void take_away(VkBool32 has_addresses, VkBool32 *feature, void *enabled)
{
    *(bool *)enabled |= has_addresses && *feature;
    *feature = VK_FALSE;
}

static void put_back(VkBool32 has_addresses, VkBool32 *feature, void *enabled)
{
    *feature = *(bool *)enabled;
}

static VkResult create_device(struct chain_device *chain, PFN_vkCreateDevice create, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkDevice *out)
{
    struct device *device = (struct device *)chain;
    VkDeviceCreateInfo changed = *info;
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host};
    bool named = false;
    VkResult result;

    each_feature(info->pNext, take_away, &device->enabled);
    if (!device->enabled || info->enabledExtensionCount >= MAX_EXTENSIONS)
        return create(chain->gpu, info, allocator, out);
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        device->extensions[i] = info->ppEnabledExtensionNames[i];
        named |= !strcmp(device->extensions[i], VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    }
    if (!named)
        device->extensions[changed.enabledExtensionCount++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    changed.ppEnabledExtensionNames = device->extensions;
    chain->instance->next.GetPhysicalDeviceProperties2(chain->gpu, &properties);
    device->page_bytes = host.minImportedHostPointerAlignment > 4096 ? host.minImportedHostPointerAlignment : 4096;
    result = create(chain->gpu, &changed, allocator, out);
    each_feature(info->pNext, put_back, &device->enabled);
    return result;
}

/* ---- buffers ---- */

static bool number_is_taken(VkDevice device, uint64_t number)
{
    const struct object *object;
    pthread_mutex_lock(&mutex);
    for (object = buffers; object && (object->device != device || object->number != number); object = object->next) {
    }
    pthread_mutex_unlock(&mutex);
    return object;
}

/* With the mutex not held. Numbers that were asked for are not given to others. */
static uint64_t new_number(VkDevice device)
{
    uint64_t number;
    do {
        pthread_mutex_lock(&mutex);
        number = last_number += 16;
        pthread_mutex_unlock(&mutex);
    } while (number_is_taken(device, number));
    return number;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateBuffer(VkDevice handle, const VkBufferCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkBuffer *out)
{
    struct device *device = device_of(handle);
    VkBufferCreateInfo real = *info;
    const VkBufferOpaqueCaptureAddressCreateInfo *asked =
        (const void *)unlink_struct(&real.pNext, VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO);
    struct object object = {.device = handle, .number = asked ? asked->opaqueCaptureAddress : 0};
    VkResult result;

    if (!(info->flags & VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT))
        return object.number ? complain("a number is asked for, and no flag")
                             : device->chain.next.CreateBuffer(handle, &real, allocator, out);
    if (!device->enabled)
        return complain("a buffer has the flag, and the feature is not enabled");
    if (!(info->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) && !info->pNext)
        return complain("a buffer has the flag, and no address");
    if (object.number && (is_difficult("buffers") || number_is_taken(handle, object.number)))
        return VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
    if (object.number && (object.number % 16 || object.number < FIRST_NUMBER))
        return complain("a number of a buffer was never given");
    real.flags &= ~(VkBufferCreateFlags)VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    result = device->chain.next.CreateBuffer(handle, &real, allocator, out);
    if (result < 0)
        return result;
    object.handle = (uint64_t)*out;
    object.number = object.number ? object.number : new_number(handle);
    result = add(&buffers, &object);
    if (result < 0)
        device->chain.next.DestroyBuffer(handle, *out, allocator);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL DestroyBuffer(VkDevice handle, VkBuffer buffer,
                                                const VkAllocationCallbacks *allocator)
{
    free(take(&buffers, handle, (uint64_t)buffer));
    chain_device_of(handle)->next.DestroyBuffer(handle, buffer, allocator);
}

static void enlarge(VkDevice handle, VkBuffer buffer, VkMemoryRequirements *requirements)
{
    if (is_difficult("larger") && get(&buffers, handle, (uint64_t)buffer))
        requirements->size += MORE_BYTES;
}

static VKAPI_ATTR void VKAPI_CALL GetBufferMemoryRequirements(VkDevice handle, VkBuffer buffer,
                                                              VkMemoryRequirements *out)
{
    chain_device_of(handle)->next.GetBufferMemoryRequirements(handle, buffer, out);
    enlarge(handle, buffer, out);
}

static VKAPI_ATTR void VKAPI_CALL GetBufferMemoryRequirements2(VkDevice handle,
                                                               const VkBufferMemoryRequirementsInfo2 *info,
                                                               VkMemoryRequirements2 *out)
{
    chain_device_of(handle)->next.GetBufferMemoryRequirements2(handle, info, out);
    enlarge(handle, info->buffer, &out->memoryRequirements);
}

static VKAPI_ATTR uint64_t VKAPI_CALL GetBufferOpaqueCaptureAddress(VkDevice handle,
                                                                    const VkBufferDeviceAddressInfo *info)
{
    const struct object *object = get(&buffers, handle, (uint64_t)info->buffer);
    if (!object)
        (void)complain("the number of a buffer without the flag");
    return object ? object->number : 0;
}

/* ---- memory ---- */

static void *pages_at(uint64_t address, size_t bytes)
{
    void *pages = mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages == MAP_FAILED || (uintptr_t)pages == address)
        return pages == MAP_FAILED ? NULL : pages;
    munmap(pages, bytes); /* kernels that don't know the flag */
    return NULL;
}

static void *pages_anywhere(size_t bytes)
{
    void *pages = NULL;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 1000 && !pages; i++) {
        pages = pages_at(next_page, bytes);
        next_page += bytes + 65536;
    }
    pthread_mutex_unlock(&mutex);
    return pages;
}

static VkResult import(struct device *device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *allocator,
                       struct object *object, VkDeviceMemory *out)
{
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkImportMemoryHostPointerInfoEXT host = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                             .pNext = &flags,
                                             .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    VkMemoryAllocateInfo real = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &host, .memoryTypeIndex = info->memoryTypeIndex};
    VkResult result;

    object->bytes = (info->allocationSize + device->page_bytes - 1) / device->page_bytes * device->page_bytes;
    object->pages = object->number && !is_difficult("moved") ? pages_at(object->number, object->bytes)
                                                             : pages_anywhere(object->bytes);
    if (!object->pages)
        return object->number ? VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS : VK_ERROR_OUT_OF_DEVICE_MEMORY;
    object->number = object->number ? object->number : (uintptr_t)object->pages;
    host.pHostPointer = object->pages;
    real.allocationSize = object->bytes;
    result = device->chain.next.AllocateMemory(device->chain.handle, &real, allocator, out);
    if (result < 0)
        munmap(object->pages, object->bytes);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice handle, const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    struct device *device = device_of(handle);
    VkMemoryAllocateInfo real = *info;
    const VkMemoryOpaqueCaptureAddressAllocateInfo *asked =
        (const void *)unlink_struct(&real.pNext, VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO);
    VkMemoryAllocateFlagsInfo *flags = chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    const VkImportMemoryHostPointerInfoEXT *host =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    bool flagged = flags && flags->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    struct object object = {.device = handle, .number = asked ? asked->opaqueCaptureAddress : 0};
    VkResult result;

    if (!flagged)
        return object.number ? complain("a number of memory is asked for, and no flag")
                             : device->chain.next.AllocateMemory(handle, &real, allocator, out);
    if (!device->enabled || !(flags->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT))
        return complain("memory has the flag, and no address, or the feature is not enabled");
    if (object.number && chain_is_import(info->pNext))
        return complain("a number of memory is asked for, and it is imported");
    if (object.number && is_difficult("memory"))
        return VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
    if (is_difficult("imports") && chain_is_import(info->pNext))
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (chain_is_import(info->pNext)) {
        flags->flags &= ~(VkMemoryAllocateFlags)VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
        object.number = host ? (uintptr_t)host->pHostPointer : 0;
        result = device->chain.next.AllocateMemory(handle, &real, allocator, out);
        flags->flags |= VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    } else {
        result = import(device, &real, allocator, &object, out);
    }
    if (result < 0)
        return result;
    object.handle = (uint64_t)*out;
    return add(&memories, &object);
}

static VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice handle, VkDeviceMemory memory,
                                             const VkAllocationCallbacks *allocator)
{
    struct object *object = take(&memories, handle, (uint64_t)memory);
    chain_device_of(handle)->next.FreeMemory(handle, memory, allocator);
    if (object && object->pages)
        munmap(object->pages, object->bytes);
    free(object);
}

static VKAPI_ATTR uint64_t VKAPI_CALL
GetDeviceMemoryOpaqueCaptureAddress(VkDevice handle, const VkDeviceMemoryOpaqueCaptureAddressInfo *info)
{
    const struct object *object = get(&memories, handle, (uint64_t)info->memory);
    if (!object)
        (void)complain("the number of memory without the flag");
    return object ? object->number : 0;
}

static bool may_bind(VkDevice handle, VkBuffer buffer, VkDeviceMemory memory)
{
    return !get(&buffers, handle, (uint64_t)buffer) || get(&memories, handle, (uint64_t)memory);
}

static VKAPI_ATTR VkResult VKAPI_CALL BindBufferMemory(VkDevice handle, VkBuffer buffer, VkDeviceMemory memory,
                                                       VkDeviceSize offset)
{
    if (!may_bind(handle, buffer, memory))
        return complain("a buffer with the flag is bound to memory without");
    return chain_device_of(handle)->next.BindBufferMemory(handle, buffer, memory, offset);
}

static VKAPI_ATTR VkResult VKAPI_CALL BindBufferMemory2(VkDevice handle, uint32_t count,
                                                        const VkBindBufferMemoryInfo *infos)
{
    for (uint32_t i = 0; i < count; i++)
        if (!may_bind(handle, infos[i].buffer, infos[i].memory))
            return complain("a buffer with the flag is bound to memory without");
    return chain_device_of(handle)->next.BindBufferMemory2(handle, count, infos);
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function table[] = {
        CHAIN_OWN_2(GetPhysicalDeviceFeatures2),
        CHAIN_OWN_2(GetPhysicalDeviceProperties2),
        CHAIN_OWN(CreateBuffer),
        CHAIN_OWN(DestroyBuffer),
        CHAIN_OWN(GetBufferMemoryRequirements),
        CHAIN_OWN_2(GetBufferMemoryRequirements2),
        CHAIN_OWN_2(GetBufferOpaqueCaptureAddress),
        CHAIN_OWN(AllocateMemory),
        CHAIN_OWN(FreeMemory),
        CHAIN_OWN_2(GetDeviceMemoryOpaqueCaptureAddress),
        CHAIN_OWN(BindBufferMemory),
        CHAIN_OWN_2(BindBufferMemory2),
        CHAIN_END,
    };
    return i == 0 ? table : NULL;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct device), .create_device = create_device, .functions = functions};
