/* SPDX-License-Identifier: MIT */
/*
 * Memory types and allocations.
 *
 *   split          a type that is DEVICE_LOCAL and HOST_VISIBLE is shown as two, in heaps of their own: one that the
 *                  host can't map, and one that is not DEVICE_LOCAL, into which no optimal image goes
 *   open           the host maps the first of these two all the same, where the driver does that
 *   merged         of types with the same flags only the first is shown
 *   one-visible    of the types that the host can map only the first is shown
 *   reverse        types come in reverse order, where the specification leaves it open
 *   garbage        new memory that can be mapped for real holds 0xa5 in all bytes, unless zeroes were asked for
 *   allocations=N  more allocations than this fail with VK_ERROR_TOO_MANY_OBJECTS
 *   crowded=BYTES  where the host can map it there is no room for smaller allocations than this
 */
#include "tests/layers/shape/shape.h"
#include <pthread.h>
#include <string.h>

#define GARBAGE 0xa5

static bool split, open_half, merged, one_visible, reversed, garbage;
static uint64_t most, least_mapped;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct shape_noted *unmappable;

static bool read_word(const char *name, const char *value)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"split", &split},      {"open", &open_half}, {"merged", &merged}, {"one-visible", &one_visible},
                 {"reverse", &reversed}, {"garbage", &garbage}};

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (!strcmp(name, flags[i].name))
            return *flags[i].flag = true;
    if (!strcmp(name, "crowded"))
        return shape_read_number(value, &least_mapped);
    return !strcmp(name, "allocations") && shape_read_number(value, &most);
}

static void show_limits(VkPhysicalDeviceLimits *limits)
{
    if (most && limits->maxMemoryAllocationCount > most)
        limits->maxMemoryAllocationCount = (uint32_t)most;
}

static void add_type(struct shape_types *types, VkMemoryType type, uint32_t real, bool host_half)
{
    for (uint32_t i = 0; i < types->count; i++)
        if ((merged && types->shown[i].propertyFlags == type.propertyFlags) ||
            (one_visible && types->shown[i].propertyFlags & type.propertyFlags & SHAPE_VISIBLE))
            return;
    if (types->count == VK_MAX_MEMORY_TYPES)
        return;
    types->shown[types->count] = type;
    types->real[types->count] = real;
    types->host_half[types->count++] = host_half;
}

/* A type that has a part of another's flags stays in front of it, as the specification asks. */
static void reverse(struct shape_types *types)
{
    struct shape_types before = *types;
    uint32_t count = 0;

    for (uint32_t i = before.count; i-- > 0;) {
        VkMemoryPropertyFlags flags = before.shown[i].propertyFlags;
        uint32_t at = 0;
        while (at < count &&
               !(flags != types->shown[at].propertyFlags && (flags & types->shown[at].propertyFlags) == flags))
            at++;
        memmove(&types->shown[at + 1], &types->shown[at], (count - at) * sizeof types->shown[0]);
        memmove(&types->real[at + 1], &types->real[at], (count - at) * sizeof types->real[0]);
        memmove(&types->host_half[at + 1], &types->host_half[at], (count - at) * sizeof types->host_half[0]);
        types->shown[at] = before.shown[i];
        types->real[at] = before.real[i];
        types->host_half[at] = before.host_half[i];
        count++;
    }
}

static void make_types(const VkPhysicalDeviceMemoryProperties *real, struct shape_types *types)
{
    *types = (struct shape_types){.heap_count = real->memoryHeapCount};
    memcpy(types->heaps, real->memoryHeaps, sizeof types->heaps);
    for (uint32_t i = 0; i < real->memoryTypeCount; i++) {
        VkMemoryType local = real->memoryTypes[i], host = local;
        bool both = (local.propertyFlags & (SHAPE_LOCAL | SHAPE_VISIBLE)) == (SHAPE_LOCAL | SHAPE_VISIBLE);
        if (!split || !both || real->memoryHeapCount == VK_MAX_MEMORY_HEAPS) {
            add_type(types, local, i, false);
            continue;
        }
        local.propertyFlags &=
            ~(SHAPE_VISIBLE | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
        host.propertyFlags &= ~SHAPE_LOCAL;
        host.heapIndex = real->memoryHeapCount;
        types->heaps[host.heapIndex] = (VkMemoryHeap){.size = real->memoryHeaps[local.heapIndex].size};
        types->heap_count = real->memoryHeapCount + 1;
        add_type(types, local, i, false);
        add_type(types, host, i, true);
    }
    if (reversed)
        reverse(types);
}

static void show_types(VkPhysicalDeviceMemoryProperties *properties)
{
    struct shape_types types;
    make_types(properties, &types);
    properties->memoryTypeCount = types.count;
    properties->memoryHeapCount = types.heap_count;
    memcpy(properties->memoryTypes, types.shown, sizeof types.shown);
    memcpy(properties->memoryHeaps, types.heaps, sizeof types.heaps);
}

uint32_t shape_shown_mask(const struct shape_types *types, uint32_t real_mask, bool optimal)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < types->count; i++)
        if (real_mask >> types->real[i] & 1 && !(optimal && types->host_half[i]))
            mask |= 1u << i;
    return mask;
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
    VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget;
    uint32_t real_count;
    chain_instance_of(gpu)->next.GetPhysicalDeviceMemoryProperties2(gpu, out);
    real_count = out->memoryProperties.memoryHeapCount;
    show_types(&out->memoryProperties);
    budget = chain_find(out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
    for (uint32_t i = real_count; budget && i < out->memoryProperties.memoryHeapCount; i++)
        budget->heapBudget[i] = out->memoryProperties.memoryHeaps[i].size;
}

/* ---- allocations ---- */

static VKAPI_ATTR VkResult VKAPI_CALL GetMemoryFdPropertiesKHR(VkDevice handle, VkExternalMemoryHandleTypeFlagBits type,
                                                               int fd, VkMemoryFdPropertiesKHR *out)
{
    struct shape_device *device = shape_device_of(handle);
    VkResult result = device->chain.next.GetMemoryFdPropertiesKHR(handle, type, fd, out);
    if (result >= 0)
        out->memoryTypeBits = shape_shown_mask(&device->types, out->memoryTypeBits, false);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetMemoryHostPointerPropertiesEXT(VkDevice handle,
                                                                        VkExternalMemoryHandleTypeFlagBits type,
                                                                        const void *pointer,
                                                                        VkMemoryHostPointerPropertiesEXT *out)
{
    struct shape_device *device = shape_device_of(handle);
    VkResult result = device->chain.next.GetMemoryHostPointerPropertiesEXT(handle, type, pointer, out);
    if (result >= 0)
        out->memoryTypeBits = shape_shown_mask(&device->types, out->memoryTypeBits, false);
    return result;
}

/* One more, or one less; false: there are as many as there may be. */
static bool count_allocation(struct shape_device *device, int by)
{
    bool fits;
    pthread_mutex_lock(&mutex);
    fits = by < 0 || !most || device->allocations < most;
    if (fits)
        device->allocations += (uint32_t)by;
    pthread_mutex_unlock(&mutex);
    return fits;
}

/* VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT, which older registries lack. */
static bool is_zeroed(const void *chain)
{
    const VkMemoryAllocateFlagsInfo *info = chain_find(chain, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    return info && info->flags & 0x8u;
}

static void fill_with_garbage(const struct shape_device *device, VkDeviceMemory memory, VkDeviceSize bytes)
{
    void *host;
    if (device->chain.next.MapMemory(device->chain.handle, memory, 0, VK_WHOLE_SIZE, 0, &host) < 0)
        return;
    memset(host, GARBAGE, bytes);
    device->chain.next.UnmapMemory(device->chain.handle, memory);
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice handle, const VkMemoryAllocateInfo *create,
                                                     const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    struct shape_device *device = shape_device_of(handle);
    uint32_t shown = create->memoryTypeIndex;
    VkMemoryAllocateInfo info = *create;
    VkResult result;

    if (shown >= device->types.count)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (create->allocationSize < least_mapped && device->types.shown[shown].propertyFlags & SHAPE_VISIBLE)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (!count_allocation(device, 1))
        return VK_ERROR_TOO_MANY_OBJECTS;
    info.memoryTypeIndex = device->types.real[shown];
    result = device->chain.next.AllocateMemory(handle, &info, allocator, out);
    if (result < 0) {
        (void)count_allocation(device, -1);
        return result;
    }
    if (garbage && !chain_is_import(info.pNext) && !is_zeroed(info.pNext))
        fill_with_garbage(device, *out, info.allocationSize);
    if (device->types.shown[shown].propertyFlags & SHAPE_VISIBLE || shape_note(&unmappable, handle, (uint64_t)*out))
        return result;
    device->chain.next.FreeMemory(handle, *out, allocator);
    (void)count_allocation(device, -1);
    *out = VK_NULL_HANDLE;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice handle, VkDeviceMemory memory,
                                             const VkAllocationCallbacks *allocator)
{
    struct shape_device *device = shape_device_of(handle);
    shape_forget(&unmappable, handle, (uint64_t)memory);
    device->chain.next.FreeMemory(handle, memory, allocator);
    if (memory)
        (void)count_allocation(device, -1);
}

static VKAPI_ATTR VkResult VKAPI_CALL MapMemory(VkDevice handle, VkDeviceMemory memory, VkDeviceSize offset,
                                                VkDeviceSize size, VkMemoryMapFlags flags, void **out)
{
    if (!open_half && shape_is_noted(&unmappable, handle, (uint64_t)memory))
        return VK_ERROR_MEMORY_MAP_FAILED;
    return chain_device_of(handle)->next.MapMemory(handle, memory, offset, size, flags, out);
}

#ifdef VK_KHR_map_memory2
static VKAPI_ATTR VkResult VKAPI_CALL MapMemory2(VkDevice handle, const VkMemoryMapInfoKHR *info, void **out)
{
    if (!open_half && shape_is_noted(&unmappable, handle, (uint64_t)info->memory))
        return VK_ERROR_MEMORY_MAP_FAILED;
    return chain_device_of(handle)->next.CHAIN_MapMemory2(handle, info, out);
}
#endif

static void device_created(struct shape_device *device)
{
    VkPhysicalDeviceMemoryProperties memory;
    device->chain.instance->next.GetPhysicalDeviceMemoryProperties(device->chain.gpu, &memory);
    make_types(&memory, &device->types);
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetPhysicalDeviceMemoryProperties),
    CHAIN_OWN_2(GetPhysicalDeviceMemoryProperties2),
    CHAIN_OWN(GetMemoryFdPropertiesKHR),
    CHAIN_OWN(GetMemoryHostPointerPropertiesEXT),
    CHAIN_OWN(AllocateMemory),
    CHAIN_OWN(FreeMemory),
    CHAIN_OWN(MapMemory),
#ifdef VK_KHR_map_memory2
    CHAIN_OWN_2(MapMemory2),
#endif
    CHAIN_END,
};
const struct shape_topic shape_memory = {
    .read_word = read_word, .show_limits = show_limits, .device_created = device_created, .functions = functions};
