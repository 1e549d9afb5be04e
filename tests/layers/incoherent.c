/* SPDX-License-Identifier: MIT */
/*
 * incoherent: a Vulkan layer, for tests only, under which memory is not coherent for real. It stands next to the
 * driver, and beside each memory type that the host sees coherently it shows one that is not: with
 * LAPILLI_INCOHERENT_ONLY=1 instead of it, which breaks a promise of the specification and so brings every program to
 * flush and invalidate.
 *
 * Memory of such a type has a private copy, as if the host had a cache that nobody else looks into:
 * - vkMapMemory gives the copy. It begins as zeroes, as the memory does, and is kept from one mapping to the next.
 * - vkFlushMappedMemoryRanges writes back the atoms of the range that the host has changed, and no others.
 * - vkInvalidateMappedMemoryRanges reads the atoms of the range anew.
 * - vkUnmapMemory drops what was not flushed.
 * Imported memory is left as it is, and is offered coherent types only. Requirements of video sessions and of
 * VK_NV_ray_tracing are not translated: no driver that this is used with has them.
 *
 * The tables are behind one mutex; drivers are called without it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#define EXPORT   __attribute__((visibility("default")))
#define MIN_ATOM 256u

struct types {
    uint32_t count;
    VkMemoryType shown[VK_MAX_MEMORY_TYPES];
    uint32_t real[VK_MAX_MEMORY_TYPES];
    bool stripped[VK_MAX_MEMORY_TYPES];
};

struct instance {
    struct instance *next;
    void *key;
    VkInstance handle;
    PFN_vkGetInstanceProcAddr get;
    PFN_vkDestroyInstance DestroyInstance;
    PFN_vkGetPhysicalDeviceProperties GetPhysicalDeviceProperties;
    PFN_vkGetPhysicalDeviceProperties2 GetPhysicalDeviceProperties2;
    PFN_vkGetPhysicalDeviceMemoryProperties GetPhysicalDeviceMemoryProperties;
    PFN_vkGetPhysicalDeviceMemoryProperties2 GetPhysicalDeviceMemoryProperties2;
};

struct device {
    struct device *next;
    void *key;
    VkDevice handle;
    struct types types;
    VkDeviceSize atom;
    PFN_vkGetDeviceProcAddr get;
    PFN_vkDestroyDevice DestroyDevice;
    PFN_vkAllocateMemory AllocateMemory;
    PFN_vkFreeMemory FreeMemory;
    PFN_vkMapMemory MapMemory;
    PFN_vkUnmapMemory UnmapMemory;
    PFN_vkFlushMappedMemoryRanges FlushMappedMemoryRanges;
    PFN_vkInvalidateMappedMemoryRanges InvalidateMappedMemoryRanges;
    PFN_vkGetBufferMemoryRequirements GetBufferMemoryRequirements;
    PFN_vkGetImageMemoryRequirements GetImageMemoryRequirements;
    PFN_vkGetBufferMemoryRequirements2 GetBufferMemoryRequirements2;
    PFN_vkGetImageMemoryRequirements2 GetImageMemoryRequirements2;
    PFN_vkGetDeviceBufferMemoryRequirements GetDeviceBufferMemoryRequirements;
    PFN_vkGetDeviceImageMemoryRequirements GetDeviceImageMemoryRequirements;
    PFN_vkGetMemoryFdPropertiesKHR GetMemoryFdPropertiesKHR;
    PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerPropertiesEXT;
#ifdef VK_KHR_map_memory2
    PFN_vkMapMemory2KHR MapMemory2;
    PFN_vkUnmapMemory2KHR UnmapMemory2;
#endif
};

/* Memory with a copy. What differs between copy and clean was written by the host and not flushed. */
struct memory {
    struct memory *next;
    VkDevice device;
    VkDeviceMemory handle;
    VkDeviceSize bytes, mapped_first, mapped_end;
    uint8_t *real, *copy, *clean;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct instance *instances;
static struct device *devices;
static struct memory *memories;

static void *key_of(const void *dispatchable)
{
    return *(void *const *)dispatchable;
}

static struct instance *instance_of(const void *dispatchable)
{
    struct instance *instance;
    pthread_mutex_lock(&mutex);
    for (instance = instances; instance && instance->key != key_of(dispatchable); instance = instance->next) {
    }
    pthread_mutex_unlock(&mutex);
    return instance;
}

static struct device *device_of(const void *dispatchable)
{
    struct device *device;
    pthread_mutex_lock(&mutex);
    for (device = devices; device && device->key != key_of(dispatchable); device = device->next) {
    }
    pthread_mutex_unlock(&mutex);
    return device;
}

/* With the mutex held. NULL: memory that has no copy. */
static struct memory *find_memory(VkDevice device, VkDeviceMemory handle)
{
    struct memory *memory = memories;
    while (memory && (memory->device != device || memory->handle != handle))
        memory = memory->next;
    return memory;
}

/* ---- memory types ---- */

static bool is_strict_subset(VkMemoryPropertyFlags flags, VkMemoryPropertyFlags of)
{
    return flags != of && (flags & of) == flags;
}

/* Before the first type that has its flags and more, which is the order that the specification asks for. */
static void insert_type(struct types *types, VkMemoryType type, uint32_t real, bool stripped)
{
    uint32_t at = 0;
    while (at < types->count && !is_strict_subset(type.propertyFlags, types->shown[at].propertyFlags))
        at++;
    for (uint32_t i = types->count++; i > at; i--) {
        types->shown[i] = types->shown[i - 1];
        types->real[i] = types->real[i - 1];
        types->stripped[i] = types->stripped[i - 1];
    }
    types->shown[at] = type;
    types->real[at] = real;
    types->stripped[at] = stripped;
}

static void make_types(const VkPhysicalDeviceMemoryProperties *real, struct types *types)
{
    const VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const char *only_text = getenv("LAPILLI_INCOHERENT_ONLY");
    bool only = only_text && !strcmp(only_text, "1");

    types->count = 0;
    for (uint32_t i = 0; i < real->memoryTypeCount; i++)
        if (!only || (real->memoryTypes[i].propertyFlags & coherent) != coherent)
            insert_type(types, real->memoryTypes[i], i, false);
    for (uint32_t i = 0; i < real->memoryTypeCount && types->count < VK_MAX_MEMORY_TYPES; i++) {
        VkMemoryType type = real->memoryTypes[i];
        if ((type.propertyFlags & coherent) != coherent)
            continue;
        type.propertyFlags &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        insert_type(types, type, i, true);
    }
}

static void show_types(VkPhysicalDeviceMemoryProperties *properties)
{
    struct types types;
    make_types(properties, &types);
    properties->memoryTypeCount = types.count;
    memcpy(properties->memoryTypes, types.shown, types.count * sizeof types.shown[0]);
}

static uint32_t shown_mask(const struct types *types, uint32_t real_mask, bool imported)
{
    uint32_t mask = 0, all = 0;
    for (uint32_t i = 0; i < types->count; i++) {
        if (!(real_mask >> types->real[i] & 1))
            continue;
        all |= 1u << i;
        if (!types->stripped[i])
            mask |= 1u << i;
    }
    return imported && mask ? mask : all;
}

static void raise_atom(VkPhysicalDeviceProperties *properties)
{
    if (properties->limits.nonCoherentAtomSize < MIN_ATOM)
        properties->limits.nonCoherentAtomSize = MIN_ATOM;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties(VkPhysicalDevice gpu, VkPhysicalDeviceProperties *out)
{
    instance_of(gpu)->GetPhysicalDeviceProperties(gpu, out);
    raise_atom(out);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2 *out)
{
    instance_of(gpu)->GetPhysicalDeviceProperties2(gpu, out);
    raise_atom(&out->properties);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceMemoryProperties(VkPhysicalDevice gpu,
                                                                    VkPhysicalDeviceMemoryProperties *out)
{
    instance_of(gpu)->GetPhysicalDeviceMemoryProperties(gpu, out);
    show_types(out);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceMemoryProperties2(VkPhysicalDevice gpu,
                                                                     VkPhysicalDeviceMemoryProperties2 *out)
{
    instance_of(gpu)->GetPhysicalDeviceMemoryProperties2(gpu, out);
    show_types(&out->memoryProperties);
}

static VKAPI_ATTR void VKAPI_CALL GetBufferMemoryRequirements(VkDevice handle, VkBuffer buffer,
                                                              VkMemoryRequirements *out)
{
    struct device *device = device_of(handle);
    device->GetBufferMemoryRequirements(handle, buffer, out);
    out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, false);
}

static VKAPI_ATTR void VKAPI_CALL GetImageMemoryRequirements(VkDevice handle, VkImage image, VkMemoryRequirements *out)
{
    struct device *device = device_of(handle);
    device->GetImageMemoryRequirements(handle, image, out);
    out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, false);
}

#define REQUIREMENTS_2(name, info_type)                                                                                \
    static VKAPI_ATTR void VKAPI_CALL name(VkDevice handle, const info_type *info, VkMemoryRequirements2 *out)         \
    {                                                                                                                  \
        struct device *device = device_of(handle);                                                                     \
        VkMemoryRequirements *requirements = &out->memoryRequirements;                                                 \
        device->name(handle, info, out);                                                                               \
        requirements->memoryTypeBits = shown_mask(&device->types, requirements->memoryTypeBits, false);                \
    }
REQUIREMENTS_2(GetBufferMemoryRequirements2, VkBufferMemoryRequirementsInfo2)
REQUIREMENTS_2(GetImageMemoryRequirements2, VkImageMemoryRequirementsInfo2)
REQUIREMENTS_2(GetDeviceBufferMemoryRequirements, VkDeviceBufferMemoryRequirements)
REQUIREMENTS_2(GetDeviceImageMemoryRequirements, VkDeviceImageMemoryRequirements)

static VKAPI_ATTR VkResult VKAPI_CALL GetMemoryFdPropertiesKHR(VkDevice handle, VkExternalMemoryHandleTypeFlagBits type,
                                                               int fd, VkMemoryFdPropertiesKHR *out)
{
    struct device *device = device_of(handle);
    VkResult result = device->GetMemoryFdPropertiesKHR(handle, type, fd, out);
    if (result >= 0)
        out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, true);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetMemoryHostPointerPropertiesEXT(VkDevice handle,
                                                                        VkExternalMemoryHandleTypeFlagBits type,
                                                                        const void *pointer,
                                                                        VkMemoryHostPointerPropertiesEXT *out)
{
    struct device *device = device_of(handle);
    VkResult result = device->GetMemoryHostPointerPropertiesEXT(handle, type, pointer, out);
    if (result >= 0)
        out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, true);
    return result;
}

/* ---- memory ---- */

static bool is_imported(const void *chain)
{
    for (const VkBaseInStructure *s = chain; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR ||
            s->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT)
            return true;
    return false;
}

static uint8_t *new_pages(VkDeviceSize bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void release(struct memory *memory)
{
    if (memory && memory->copy)
        munmap(memory->copy, memory->bytes);
    if (memory && memory->clean)
        munmap(memory->clean, memory->bytes);
    free(memory);
}

static bool add_memory(struct device *device, VkDeviceMemory handle, VkDeviceSize bytes)
{
    struct memory *memory = calloc(1, sizeof *memory);
    void *real = NULL;

    if (!memory)
        return false;
    *memory = (struct memory){.device = device->handle, .handle = handle, .bytes = bytes};
    memory->copy = new_pages(bytes);
    memory->clean = new_pages(bytes);
    if (!memory->copy || !memory->clean || device->MapMemory(device->handle, handle, 0, VK_WHOLE_SIZE, 0, &real) < 0) {
        release(memory);
        return false;
    }
    memory->real = real;
    memset(real, 0, bytes);
    pthread_mutex_lock(&mutex);
    memory->next = memories;
    memories = memory;
    pthread_mutex_unlock(&mutex);
    return true;
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice handle, const VkMemoryAllocateInfo *create,
                                                     const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    struct device *device = device_of(handle);
    uint32_t shown = create->memoryTypeIndex;
    VkMemoryAllocateInfo info = *create;
    VkResult result;

    if (shown >= device->types.count)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    info.memoryTypeIndex = device->types.real[shown];
    result = device->AllocateMemory(handle, &info, allocator, out);
    if (result < 0 || !device->types.stripped[shown] || is_imported(info.pNext))
        return result;
    if (!add_memory(device, *out, info.allocationSize)) {
        device->FreeMemory(handle, *out, allocator);
        *out = VK_NULL_HANDLE;
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    return result;
}

static VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice handle, VkDeviceMemory memory_handle,
                                             const VkAllocationCallbacks *allocator)
{
    struct memory **link, *found = NULL;
    pthread_mutex_lock(&mutex);
    for (link = &memories; *link && !found; link = *link ? &(*link)->next : link) {
        if ((*link)->device != handle || (*link)->handle != memory_handle)
            continue;
        found = *link;
        *link = found->next;
        break;
    }
    pthread_mutex_unlock(&mutex);
    release(found);
    device_of(handle)->FreeMemory(handle, memory_handle, allocator);
}

/* False: this memory has no copy. */
static bool map_copy(VkDevice device, VkDeviceMemory handle, VkDeviceSize offset, VkDeviceSize size, void **out)
{
    struct memory *memory;
    pthread_mutex_lock(&mutex);
    memory = find_memory(device, handle);
    if (memory) {
        memory->mapped_first = offset;
        memory->mapped_end = size == VK_WHOLE_SIZE ? memory->bytes : offset + size;
        *out = memory->copy + offset;
    }
    pthread_mutex_unlock(&mutex);
    return memory;
}

static bool unmap_copy(VkDevice device, VkDeviceMemory handle)
{
    struct memory *memory;
    pthread_mutex_lock(&mutex);
    memory = find_memory(device, handle);
    if (memory) {
        memcpy(memory->copy + memory->mapped_first, memory->clean + memory->mapped_first,
               memory->mapped_end - memory->mapped_first);
        memory->mapped_first = memory->mapped_end = 0;
    }
    pthread_mutex_unlock(&mutex);
    return memory;
}

static VKAPI_ATTR VkResult VKAPI_CALL MapMemory(VkDevice handle, VkDeviceMemory memory, VkDeviceSize offset,
                                                VkDeviceSize size, VkMemoryMapFlags flags, void **out)
{
    if (map_copy(handle, memory, offset, size, out))
        return VK_SUCCESS;
    return device_of(handle)->MapMemory(handle, memory, offset, size, flags, out);
}

static VKAPI_ATTR void VKAPI_CALL UnmapMemory(VkDevice handle, VkDeviceMemory memory)
{
    if (!unmap_copy(handle, memory))
        device_of(handle)->UnmapMemory(handle, memory);
}

#ifdef VK_KHR_map_memory2
static VKAPI_ATTR VkResult VKAPI_CALL MapMemory2(VkDevice handle, const VkMemoryMapInfoKHR *info, void **out)
{
    if (map_copy(handle, info->memory, info->offset, info->size, out))
        return VK_SUCCESS;
    return device_of(handle)->MapMemory2(handle, info, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL UnmapMemory2(VkDevice handle, const VkMemoryUnmapInfoKHR *info)
{
    if (unmap_copy(handle, info->memory))
        return VK_SUCCESS;
    return device_of(handle)->UnmapMemory2(handle, info);
}
#endif

static void write_back_atom(struct memory *memory, VkDeviceSize at, VkDeviceSize bytes)
{
    if (!memcmp(memory->copy + at, memory->clean + at, bytes))
        return;
    memcpy(memory->real + at, memory->copy + at, bytes);
    memcpy(memory->clean + at, memory->copy + at, bytes);
}

static void read_atom(struct memory *memory, VkDeviceSize at, VkDeviceSize bytes)
{
    /* Read once: the device may write this very moment, and a difference between the two would pass for a store. */
    memcpy(memory->clean + at, memory->real + at, bytes);
    memcpy(memory->copy + at, memory->clean + at, bytes);
}

/* False: this memory has no copy. */
static bool sync_range(const struct device *device, const VkMappedMemoryRange *range,
                       void (*sync)(struct memory *memory, VkDeviceSize at, VkDeviceSize bytes))
{
    struct memory *memory;
    pthread_mutex_lock(&mutex);
    memory = find_memory(device->handle, range->memory);
    if (memory) {
        VkDeviceSize end = range->size == VK_WHOLE_SIZE ? memory->mapped_end : range->offset + range->size;
        if (end > memory->bytes)
            end = memory->bytes;
        for (VkDeviceSize at = range->offset / device->atom * device->atom; at < end; at += device->atom)
            sync(memory, at, memory->bytes - at < device->atom ? memory->bytes - at : device->atom);
    }
    pthread_mutex_unlock(&mutex);
    return memory;
}

static VKAPI_ATTR VkResult VKAPI_CALL FlushMappedMemoryRanges(VkDevice handle, uint32_t count,
                                                              const VkMappedMemoryRange *ranges)
{
    struct device *device = device_of(handle);
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < count && result >= 0; i++)
        if (!sync_range(device, &ranges[i], write_back_atom))
            result = device->FlushMappedMemoryRanges(handle, 1, &ranges[i]);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL InvalidateMappedMemoryRanges(VkDevice handle, uint32_t count,
                                                                   const VkMappedMemoryRange *ranges)
{
    struct device *device = device_of(handle);
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < count && result >= 0; i++)
        if (!sync_range(device, &ranges[i], read_atom))
            result = device->InvalidateMappedMemoryRanges(handle, 1, &ranges[i]);
    return result;
}

/* ---- instance and device ---- */

/* The loader's element of a creation chain that holds the next layer's functions. */
#define CHAIN_ELEMENT(type, stype)                                                                                     \
    static type *find_##type(const void *chain)                                                                        \
    {                                                                                                                  \
        for (type *s = (type *)(uintptr_t)chain; s; s = (type *)(uintptr_t)s->pNext)                                   \
            if (s->sType == (stype) && s->function == VK_LAYER_LINK_INFO)                                              \
                return s;                                                                                              \
        return NULL;                                                                                                   \
    }
CHAIN_ELEMENT(VkLayerInstanceCreateInfo, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO)
CHAIN_ELEMENT(VkLayerDeviceCreateInfo, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO)

#define LOAD_INSTANCE(name) instance->name = (PFN_vk##name)instance->get(*out, "vk" #name)
#define LOAD_INSTANCE_2(name)                                                                                          \
    LOAD_INSTANCE(name);                                                                                               \
    if (!instance->name)                                                                                               \
    instance->name = (PFN_vk##name)instance->get(*out, "vk" #name "KHR")

static VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo *create,
                                                     const VkAllocationCallbacks *allocator, VkInstance *out)
{
    VkLayerInstanceCreateInfo *link = find_VkLayerInstanceCreateInfo(create->pNext);
    struct instance *instance = calloc(1, sizeof *instance);
    VkResult result = VK_ERROR_INITIALIZATION_FAILED;

    if (link && instance) {
        instance->get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
        result = ((PFN_vkCreateInstance)instance->get(NULL, "vkCreateInstance"))(create, allocator, out);
    }
    if (result < 0) {
        free(instance);
        return result;
    }
    instance->handle = *out;
    instance->key = key_of(*out);
    LOAD_INSTANCE(DestroyInstance);
    LOAD_INSTANCE(GetPhysicalDeviceProperties);
    LOAD_INSTANCE(GetPhysicalDeviceMemoryProperties);
    LOAD_INSTANCE_2(GetPhysicalDeviceProperties2);
    LOAD_INSTANCE_2(GetPhysicalDeviceMemoryProperties2);
    pthread_mutex_lock(&mutex);
    instance->next = instances;
    instances = instance;
    pthread_mutex_unlock(&mutex);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL DestroyInstance(VkInstance handle, const VkAllocationCallbacks *allocator)
{
    struct instance **link, *instance;
    if (!handle)
        return;
    pthread_mutex_lock(&mutex);
    for (link = &instances; (*link)->handle != handle; link = &(*link)->next) {
    }
    instance = *link;
    *link = instance->next;
    pthread_mutex_unlock(&mutex);
    instance->DestroyInstance(handle, allocator);
    free(instance);
}

#define LOAD(name) device->name = (PFN_vk##name)device->get(*out, "vk" #name)
#define LOAD_2(name)                                                                                                   \
    LOAD(name);                                                                                                        \
    if (!device->name)                                                                                                 \
    device->name = (PFN_vk##name)device->get(*out, "vk" #name "KHR")

static void load_device(struct device *device, const VkDevice *out)
{
    LOAD(DestroyDevice);
    LOAD(AllocateMemory);
    LOAD(FreeMemory);
    LOAD(MapMemory);
    LOAD(UnmapMemory);
    LOAD(FlushMappedMemoryRanges);
    LOAD(InvalidateMappedMemoryRanges);
    LOAD(GetBufferMemoryRequirements);
    LOAD(GetImageMemoryRequirements);
    LOAD_2(GetBufferMemoryRequirements2);
    LOAD_2(GetImageMemoryRequirements2);
    LOAD_2(GetDeviceBufferMemoryRequirements);
    LOAD_2(GetDeviceImageMemoryRequirements);
    LOAD(GetMemoryFdPropertiesKHR);
    LOAD(GetMemoryHostPointerPropertiesEXT);
#ifdef VK_KHR_map_memory2
    device->MapMemory2 = (PFN_vkMapMemory2KHR)device->get(*out, "vkMapMemory2");
    if (!device->MapMemory2)
        device->MapMemory2 = (PFN_vkMapMemory2KHR)device->get(*out, "vkMapMemory2KHR");
    device->UnmapMemory2 = (PFN_vkUnmapMemory2KHR)device->get(*out, "vkUnmapMemory2");
    if (!device->UnmapMemory2)
        device->UnmapMemory2 = (PFN_vkUnmapMemory2KHR)device->get(*out, "vkUnmapMemory2KHR");
#endif
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice gpu, const VkDeviceCreateInfo *create,
                                                   const VkAllocationCallbacks *allocator, VkDevice *out)
{
    VkLayerDeviceCreateInfo *link = find_VkLayerDeviceCreateInfo(create->pNext);
    struct instance *instance = instance_of(gpu);
    struct device *device = calloc(1, sizeof *device);
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceProperties properties;
    VkResult result = VK_ERROR_INITIALIZATION_FAILED;

    if (link && device) {
        PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        device->get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
        result = ((PFN_vkCreateDevice)get(instance->handle, "vkCreateDevice"))(gpu, create, allocator, out);
    }
    if (result < 0) {
        free(device);
        return result;
    }
    device->handle = *out;
    device->key = key_of(*out);
    instance->GetPhysicalDeviceMemoryProperties(gpu, &memory);
    make_types(&memory, &device->types);
    GetPhysicalDeviceProperties(gpu, &properties);
    device->atom = properties.limits.nonCoherentAtomSize;
    load_device(device, out);
    pthread_mutex_lock(&mutex);
    device->next = devices;
    devices = device;
    pthread_mutex_unlock(&mutex);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator)
{
    struct device **link, *device;
    if (!handle)
        return;
    pthread_mutex_lock(&mutex);
    for (link = &devices; (*link)->handle != handle; link = &(*link)->next) {
    }
    device = *link;
    *link = device->next;
    pthread_mutex_unlock(&mutex);
    device->DestroyDevice(handle, allocator);
    free(device);
}

/* ---- what the loader calls ---- */

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char *name);

#define OWN(name)                                                                                                      \
    {                                                                                                                  \
        "vk" #name, (PFN_vkVoidFunction)(name)                                                                         \
    }
#define OWN_2(name)                                                                                                    \
    {"vk" #name, (PFN_vkVoidFunction)(name)},                                                                          \
    {                                                                                                                  \
        "vk" #name "KHR", (PFN_vkVoidFunction)(name)                                                                   \
    }

static PFN_vkVoidFunction find_own(const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } own[] = {
        {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)vkGetInstanceProcAddr},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)vkGetDeviceProcAddr},
        OWN(CreateInstance),
        OWN(DestroyInstance),
        OWN(CreateDevice),
        OWN(DestroyDevice),
        OWN(GetPhysicalDeviceProperties),
        OWN_2(GetPhysicalDeviceProperties2),
        OWN(GetPhysicalDeviceMemoryProperties),
        OWN_2(GetPhysicalDeviceMemoryProperties2),
        OWN(GetBufferMemoryRequirements),
        OWN(GetImageMemoryRequirements),
        OWN_2(GetBufferMemoryRequirements2),
        OWN_2(GetImageMemoryRequirements2),
        OWN_2(GetDeviceBufferMemoryRequirements),
        OWN_2(GetDeviceImageMemoryRequirements),
        OWN(GetMemoryFdPropertiesKHR),
        OWN(GetMemoryHostPointerPropertiesEXT),
        OWN(AllocateMemory),
        OWN(FreeMemory),
        OWN(MapMemory),
        OWN(UnmapMemory),
#ifdef VK_KHR_map_memory2
        OWN_2(MapMemory2),
        OWN_2(UnmapMemory2),
#endif
        OWN(FlushMappedMemoryRanges),
        OWN(InvalidateMappedMemoryRanges),
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (!strcmp(own[i].name, name))
            return own[i].function;
    return NULL;
}

/* A function that the next layer has not (an extension's that is not enabled) is not here either. */
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction own = find_own(name), next;
    if (!instance)
        return own;
    next = instance_of(instance)->get(instance, name);
    return own && next ? own : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char *name)
{
    PFN_vkVoidFunction own = find_own(name), next = device_of(device)->get(device, name);
    return own && next ? own : next;
}
