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
#include "tests/layers/chain.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vulkan/vulkan_core.h>

#define MIN_ATOM 256u

struct types {
    uint32_t count;
    VkMemoryType shown[VK_MAX_MEMORY_TYPES];
    uint32_t real[VK_MAX_MEMORY_TYPES];
    bool stripped[VK_MAX_MEMORY_TYPES];
};

struct device {
    struct chain_device chain;
    struct types types;
    VkDeviceSize atom;
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
static struct memory *memories;

static struct device *device_of(const void *dispatchable)
{
    return (struct device *)chain_device_of(dispatchable);
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
    chain_instance_of(gpu)->next.GetPhysicalDeviceProperties(gpu, out);
    raise_atom(out);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2 *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceProperties2(gpu, out);
    raise_atom(&out->properties);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceMemoryProperties(VkPhysicalDevice gpu,
                                                                    VkPhysicalDeviceMemoryProperties *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceMemoryProperties(gpu, out);
    show_types(out);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceMemoryProperties2(VkPhysicalDevice gpu,
                                                                     VkPhysicalDeviceMemoryProperties2 *out)
{
    chain_instance_of(gpu)->next.GetPhysicalDeviceMemoryProperties2(gpu, out);
    show_types(&out->memoryProperties);
}

static VKAPI_ATTR void VKAPI_CALL GetBufferMemoryRequirements(VkDevice handle, VkBuffer buffer,
                                                              VkMemoryRequirements *out)
{
    struct device *device = device_of(handle);
    device->chain.next.GetBufferMemoryRequirements(handle, buffer, out);
    out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, false);
}

static VKAPI_ATTR void VKAPI_CALL GetImageMemoryRequirements(VkDevice handle, VkImage image, VkMemoryRequirements *out)
{
    struct device *device = device_of(handle);
    device->chain.next.GetImageMemoryRequirements(handle, image, out);
    out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, false);
}

#define REQUIREMENTS_2(name, info_type)                                                                                \
    static VKAPI_ATTR void VKAPI_CALL name(VkDevice handle, const info_type *info, VkMemoryRequirements2 *out)         \
    {                                                                                                                  \
        struct device *device = device_of(handle);                                                                     \
        VkMemoryRequirements *requirements = &out->memoryRequirements;                                                 \
        device->chain.next.name(handle, info, out);                                                                    \
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
    VkResult result = device->chain.next.GetMemoryFdPropertiesKHR(handle, type, fd, out);
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
    VkResult result = device->chain.next.GetMemoryHostPointerPropertiesEXT(handle, type, pointer, out);
    if (result >= 0)
        out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, true);
    return result;
}

/* ---- memory ---- */

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
    *memory = (struct memory){.device = device->chain.handle, .handle = handle, .bytes = bytes};
    memory->copy = new_pages(bytes);
    memory->clean = new_pages(bytes);
    if (!memory->copy || !memory->clean ||
        device->chain.next.MapMemory(device->chain.handle, handle, 0, VK_WHOLE_SIZE, 0, &real) < 0) {
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
    result = device->chain.next.AllocateMemory(handle, &info, allocator, out);
    if (result < 0 || !device->types.stripped[shown] || chain_is_import(info.pNext))
        return result;
    if (!add_memory(device, *out, info.allocationSize)) {
        device->chain.next.FreeMemory(handle, *out, allocator);
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
    chain_device_of(handle)->next.FreeMemory(handle, memory_handle, allocator);
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
    return chain_device_of(handle)->next.MapMemory(handle, memory, offset, size, flags, out);
}

static VKAPI_ATTR void VKAPI_CALL UnmapMemory(VkDevice handle, VkDeviceMemory memory)
{
    if (!unmap_copy(handle, memory))
        chain_device_of(handle)->next.UnmapMemory(handle, memory);
}

#ifdef VK_KHR_map_memory2
static VKAPI_ATTR VkResult VKAPI_CALL MapMemory2(VkDevice handle, const VkMemoryMapInfoKHR *info, void **out)
{
    if (map_copy(handle, info->memory, info->offset, info->size, out))
        return VK_SUCCESS;
    return chain_device_of(handle)->next.CHAIN_MapMemory2(handle, info, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL UnmapMemory2(VkDevice handle, const VkMemoryUnmapInfoKHR *info)
{
    if (unmap_copy(handle, info->memory))
        return VK_SUCCESS;
    return chain_device_of(handle)->next.CHAIN_UnmapMemory2(handle, info);
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
    memory = find_memory(device->chain.handle, range->memory);
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
            result = device->chain.next.FlushMappedMemoryRanges(handle, 1, &ranges[i]);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL InvalidateMappedMemoryRanges(VkDevice handle, uint32_t count,
                                                                   const VkMappedMemoryRange *ranges)
{
    struct device *device = device_of(handle);
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < count && result >= 0; i++)
        if (!sync_range(device, &ranges[i], read_atom))
            result = device->chain.next.InvalidateMappedMemoryRanges(handle, 1, &ranges[i]);
    return result;
}

/* ---- the layer ---- */

static void device_created(struct chain_device *chain)
{
    struct device *device = (struct device *)chain;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceProperties properties;

    chain->instance->next.GetPhysicalDeviceMemoryProperties(chain->gpu, &memory);
    make_types(&memory, &device->types);
    GetPhysicalDeviceProperties(chain->gpu, &properties);
    device->atom = properties.limits.nonCoherentAtomSize;
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function own[] = {
        CHAIN_OWN(GetPhysicalDeviceProperties),
        CHAIN_OWN_2(GetPhysicalDeviceProperties2),
        CHAIN_OWN(GetPhysicalDeviceMemoryProperties),
        CHAIN_OWN_2(GetPhysicalDeviceMemoryProperties2),
        CHAIN_OWN(GetBufferMemoryRequirements),
        CHAIN_OWN(GetImageMemoryRequirements),
        CHAIN_OWN_2(GetBufferMemoryRequirements2),
        CHAIN_OWN_2(GetImageMemoryRequirements2),
        CHAIN_OWN_2(GetDeviceBufferMemoryRequirements),
        CHAIN_OWN_2(GetDeviceImageMemoryRequirements),
        CHAIN_OWN(GetMemoryFdPropertiesKHR),
        CHAIN_OWN(GetMemoryHostPointerPropertiesEXT),
        CHAIN_OWN(AllocateMemory),
        CHAIN_OWN(FreeMemory),
        CHAIN_OWN(MapMemory),
        CHAIN_OWN(UnmapMemory),
#ifdef VK_KHR_map_memory2
        CHAIN_OWN_2(MapMemory2),
        CHAIN_OWN_2(UnmapMemory2),
#endif
        CHAIN_OWN(FlushMappedMemoryRanges),
        CHAIN_OWN(InvalidateMappedMemoryRanges),
        CHAIN_END,
    };
    return i == 0 ? own : NULL;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct device), .device_created = device_created, .functions = functions};
