/* SPDX-License-Identifier: MIT */
/*
 * shape: a Vulkan layer, for tests only, that makes a driver look like another one, so that a trace can be replayed on
 * "another machine". It stands next to the driver. LAPILLI_SHAPE says what it changes: words with commas between them.
 *
 *   split          a type that is DEVICE_LOCAL and HOST_VISIBLE is shown as two, in heaps of their own: one that the
 *                  host can't map, and one that is not DEVICE_LOCAL, into which no optimal image goes
 *   merged         of types with the same flags only the first is shown
 *   one-visible    of the types that the host can map only the first is shown
 *   reverse        types come in reverse order, where the specification leaves it open
 *   pad=BYTES      buffers and images want so much more memory
 *   align=BYTES    and lie at multiples of this
 *   dedicated      and had rather have an allocation of their own
 *   garbage        new memory that can be mapped for real holds 0xa5 in all bytes
 *   granularity=BYTES, offsets=BYTES   the least bufferImageGranularity, and the least of the limits that offsets into
 *                  buffers are multiples of
 *   allocations=N  more allocations than this fail with VK_ERROR_TOO_MANY_OBJECTS
 *   formats=F+F    these numbers of VkFormat are supported for nothing
 *   families=one   one family with one queue
 *   families=behind  a family that only transfers comes first; where the driver has one family, to whose queue it goes
 *   images=N       swapchains have at least so many images, 2 to 5
 *
 * What it shows is what it insists on: masks, sizes and indices are translated both ways, memory of a type that is not
 * HOST_VISIBLE can't be mapped, and images of a format that is gone can't be made. Where all types that an object is
 * allowed are gone its mask is empty. Left as they are: the requirements of sparse images' pages and of video sessions,
 * and the families that barriers name (the driver with one family has no use for them).
 *
 * The tables are behind one mutex; drivers are called without it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#define EXPORT       __attribute__((visibility("default")))
#define VISIBLE      ((VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
#define LOCAL        ((VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
#define MAX_FORMATS  16u
#define MAX_FAMILIES 32u
#define GARBAGE      0xa5

enum families { FAMILIES_REAL, FAMILIES_ONE, FAMILIES_BEHIND };

struct shape {
    bool split, merged, one_visible, reverse, dedicated, garbage;
    VkDeviceSize pad, align, granularity, offsets;
    uint32_t allocations, images, format_count, formats[MAX_FORMATS];
    enum families families;
};

struct types {
    uint32_t count, heap_count;
    VkMemoryType shown[VK_MAX_MEMORY_TYPES];
    VkMemoryHeap heaps[VK_MAX_MEMORY_HEAPS];
    uint32_t real[VK_MAX_MEMORY_TYPES];
    bool host_half[VK_MAX_MEMORY_TYPES];
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
    PFN_vkGetPhysicalDeviceFormatProperties GetPhysicalDeviceFormatProperties;
    PFN_vkGetPhysicalDeviceFormatProperties2 GetPhysicalDeviceFormatProperties2;
    PFN_vkGetPhysicalDeviceImageFormatProperties GetPhysicalDeviceImageFormatProperties;
    PFN_vkGetPhysicalDeviceImageFormatProperties2 GetPhysicalDeviceImageFormatProperties2;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties GetPhysicalDeviceQueueFamilyProperties;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties2 GetPhysicalDeviceQueueFamilyProperties2;
    PFN_vkGetPhysicalDeviceSurfaceSupportKHR GetPhysicalDeviceSurfaceSupportKHR;
    PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR GetPhysicalDeviceSurfaceCapabilitiesKHR;
    PFN_vkGetPhysicalDeviceSurfaceCapabilities2KHR GetPhysicalDeviceSurfaceCapabilities2KHR;
};

struct device {
    struct device *next;
    void *key;
    VkDevice handle;
    struct types types;
    bool behind;
    uint32_t allocations;
    PFN_vkGetDeviceProcAddr get;
    PFN_vkDestroyDevice DestroyDevice;
    PFN_vkGetDeviceQueue GetDeviceQueue;
    PFN_vkGetDeviceQueue2 GetDeviceQueue2;
    PFN_vkCreateCommandPool CreateCommandPool;
    PFN_vkAllocateMemory AllocateMemory;
    PFN_vkFreeMemory FreeMemory;
    PFN_vkMapMemory MapMemory;
    PFN_vkUnmapMemory UnmapMemory;
    PFN_vkCreateImage CreateImage;
    PFN_vkDestroyImage DestroyImage;
    PFN_vkCreateSwapchainKHR CreateSwapchainKHR;
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
#endif
};

/* What must be known of an object later: memory that can't be mapped, and images that are linear. */
struct noted {
    struct noted *next;
    VkDevice device;
    uint64_t handle;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct shape shape;
static struct instance *instances;
static struct device *devices;
static struct noted *unmappable, *linear_images;

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

static bool note(struct noted **list, VkDevice device, uint64_t handle)
{
    struct noted *noted = malloc(sizeof *noted);
    if (!noted)
        return false;
    pthread_mutex_lock(&mutex);
    *noted = (struct noted){.next = *list, .device = device, .handle = handle};
    *list = noted;
    pthread_mutex_unlock(&mutex);
    return true;
}

static bool is_noted(struct noted *const *list, VkDevice device, uint64_t handle)
{
    const struct noted *noted;
    pthread_mutex_lock(&mutex);
    for (noted = *list; noted && (noted->device != device || noted->handle != handle); noted = noted->next) {
    }
    pthread_mutex_unlock(&mutex);
    return noted;
}

static void forget(struct noted **list, VkDevice device, uint64_t handle)
{
    struct noted *found = NULL;
    pthread_mutex_lock(&mutex);
    for (struct noted **link = list; *link && !found; link = &(*link)->next)
        if ((*link)->device == device && (*link)->handle == handle) {
            found = *link;
            *link = found->next;
            break;
        }
    pthread_mutex_unlock(&mutex);
    free(found);
}

/* ---- LAPILLI_SHAPE ---- */

static void read_formats(const char *text)
{
    char *end;
    for (; *text && shape.format_count < MAX_FORMATS; text = *end == '+' ? end + 1 : end) {
        shape.formats[shape.format_count++] = (uint32_t)strtoul(text, &end, 10);
        if (*end && *end != '+')
            return;
    }
}

/* False: no such word. */
static bool read_word(const char *name, const char *value)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"split", &shape.split},     {"merged", &shape.merged},       {"one-visible", &shape.one_visible},
                 {"reverse", &shape.reverse}, {"dedicated", &shape.dedicated}, {"garbage", &shape.garbage}};
    const struct {
        const char *name;
        VkDeviceSize *bytes;
    } sizes[] = {
        {"pad", &shape.pad}, {"align", &shape.align}, {"granularity", &shape.granularity}, {"offsets", &shape.offsets}};

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (!strcmp(name, flags[i].name))
            return *flags[i].flag = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (!strcmp(name, sizes[i].name))
            return (*sizes[i].bytes = strtoull(value, NULL, 10)) > 0;
    if (!strcmp(name, "allocations"))
        return (shape.allocations = (uint32_t)strtoul(value, NULL, 10)) > 0;
    if (!strcmp(name, "images"))
        return (shape.images = (uint32_t)strtoul(value, NULL, 10)) >= 2 && shape.images <= 5;
    if (!strcmp(name, "formats"))
        read_formats(value);
    else if (!strcmp(name, "families"))
        shape.families = !strcmp(value, "one") ? FAMILIES_ONE : FAMILIES_BEHIND;
    else
        return false;
    return true;
}

static void read_shape(void)
{
    const char *text = getenv("LAPILLI_SHAPE");
    char *copy = strdup(text ? text : ""), *rest = NULL;

    for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        if (!read_word(word, value ? value : ""))
            fprintf(stderr, "shape: LAPILLI_SHAPE: what is \"%s\"?\n", word);
    }
    free(copy);
}

/* ---- memory types ---- */

static void add_type(struct types *types, VkMemoryType type, uint32_t real, bool host_half)
{
    for (uint32_t i = 0; i < types->count; i++)
        if ((shape.merged && types->shown[i].propertyFlags == type.propertyFlags) ||
            (shape.one_visible && types->shown[i].propertyFlags & type.propertyFlags & VISIBLE))
            return;
    if (types->count == VK_MAX_MEMORY_TYPES)
        return;
    types->shown[types->count] = type;
    types->real[types->count] = real;
    types->host_half[types->count++] = host_half;
}

/* A type that has a part of another's flags stays in front of it, as the specification asks. */
static void reverse(struct types *types)
{
    struct types before = *types;
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

static void make_types(const VkPhysicalDeviceMemoryProperties *real, struct types *types)
{
    *types = (struct types){.heap_count = real->memoryHeapCount};
    memcpy(types->heaps, real->memoryHeaps, sizeof types->heaps);
    for (uint32_t i = 0; i < real->memoryTypeCount; i++) {
        VkMemoryType local = real->memoryTypes[i], host = local;
        bool both = (local.propertyFlags & (LOCAL | VISIBLE)) == (LOCAL | VISIBLE);
        if (!shape.split || !both || real->memoryHeapCount == VK_MAX_MEMORY_HEAPS) {
            add_type(types, local, i, false);
            continue;
        }
        local.propertyFlags &= ~(VISIBLE | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
        host.propertyFlags &= ~LOCAL;
        host.heapIndex = real->memoryHeapCount;
        types->heaps[host.heapIndex] = (VkMemoryHeap){.size = real->memoryHeaps[local.heapIndex].size};
        types->heap_count = real->memoryHeapCount + 1;
        add_type(types, local, i, false);
        add_type(types, host, i, true);
    }
    if (shape.reverse)
        reverse(types);
}

static void show_types(VkPhysicalDeviceMemoryProperties *properties)
{
    struct types types;
    make_types(properties, &types);
    properties->memoryTypeCount = types.count;
    properties->memoryHeapCount = types.heap_count;
    memcpy(properties->memoryTypes, types.shown, sizeof types.shown);
    memcpy(properties->memoryHeaps, types.heaps, sizeof types.heaps);
}

static uint32_t shown_mask(const struct types *types, uint32_t real_mask, bool optimal)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < types->count; i++)
        if (real_mask >> types->real[i] & 1 && !(optimal && types->host_half[i]))
            mask |= 1u << i;
    return mask;
}

static VkBaseOutStructure *in_chain(void *chain, VkStructureType type)
{
    VkBaseOutStructure *s = chain;
    while (s && s->sType != type)
        s = s->pNext;
    return s;
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
    VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget;
    uint32_t real_count;
    instance_of(gpu)->GetPhysicalDeviceMemoryProperties2(gpu, out);
    real_count = out->memoryProperties.memoryHeapCount;
    show_types(&out->memoryProperties);
    budget = (void *)in_chain(out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
    for (uint32_t i = real_count; budget && i < out->memoryProperties.memoryHeapCount; i++)
        budget->heapBudget[i] = out->memoryProperties.memoryHeaps[i].size;
}

/* ---- limits ---- */

static void raise_bytes(VkDeviceSize *limit, VkDeviceSize least)
{
    if (*limit < least)
        *limit = least;
}

static void show_limits(VkPhysicalDeviceLimits *limits)
{
    raise_bytes(&limits->bufferImageGranularity, shape.granularity);
    raise_bytes(&limits->minUniformBufferOffsetAlignment, shape.offsets);
    raise_bytes(&limits->minStorageBufferOffsetAlignment, shape.offsets);
    raise_bytes(&limits->minTexelBufferOffsetAlignment, shape.offsets);
    raise_bytes(&limits->optimalBufferCopyOffsetAlignment, shape.offsets);
    raise_bytes(&limits->optimalBufferCopyRowPitchAlignment, shape.offsets);
    if (shape.allocations && limits->maxMemoryAllocationCount > shape.allocations)
        limits->maxMemoryAllocationCount = shape.allocations;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties(VkPhysicalDevice gpu, VkPhysicalDeviceProperties *out)
{
    instance_of(gpu)->GetPhysicalDeviceProperties(gpu, out);
    show_limits(&out->limits);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2 *out)
{
    instance_of(gpu)->GetPhysicalDeviceProperties2(gpu, out);
    show_limits(&out->properties.limits);
}

/* ---- formats ---- */

static bool is_gone(VkFormat format)
{
    for (uint32_t i = 0; i < shape.format_count; i++)
        if (shape.formats[i] == (uint32_t)format)
            return true;
    return false;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFormatProperties(VkPhysicalDevice gpu, VkFormat format,
                                                                    VkFormatProperties *out)
{
    instance_of(gpu)->GetPhysicalDeviceFormatProperties(gpu, format, out);
    if (is_gone(format))
        *out = (VkFormatProperties){0};
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFormatProperties2(VkPhysicalDevice gpu, VkFormat format,
                                                                     VkFormatProperties2 *out)
{
    VkFormatProperties3 *more = (void *)in_chain(out->pNext, VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3);
    instance_of(gpu)->GetPhysicalDeviceFormatProperties2(gpu, format, out);
    if (!is_gone(format))
        return;
    out->formatProperties = (VkFormatProperties){0};
    if (more)
        more->linearTilingFeatures = more->optimalTilingFeatures = more->bufferFeatures = 0;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceImageFormatProperties(VkPhysicalDevice gpu, VkFormat format,
                                                                             VkImageType type, VkImageTiling tiling,
                                                                             VkImageUsageFlags usage,
                                                                             VkImageCreateFlags flags,
                                                                             VkImageFormatProperties *out)
{
    if (is_gone(format))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    return instance_of(gpu)->GetPhysicalDeviceImageFormatProperties(gpu, format, type, tiling, usage, flags, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice gpu, const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out)
{
    if (is_gone(info->format))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    return instance_of(gpu)->GetPhysicalDeviceImageFormatProperties2(gpu, info, out);
}

/* ---- queue families ---- */

/* With `behind` the first family is shown in front of the driver's only one, and is that one. */
static uint32_t real_family(bool behind, uint32_t shown)
{
    return behind && shown ? shown - 1 : shown;
}

static bool is_behind(VkPhysicalDevice gpu)
{
    uint32_t count = 0;
    instance_of(gpu)->GetPhysicalDeviceQueueFamilyProperties(gpu, &count, NULL);
    return shape.families == FAMILIES_BEHIND && count == 1;
}

/* How many of the driver's families are asked for, when there is room for `room`, and where they go. */
#define SHOW_FAMILIES(name, properties_type, member)                                                                   \
    static VKAPI_ATTR void VKAPI_CALL name(VkPhysicalDevice gpu, uint32_t *count, properties_type *out)                \
    {                                                                                                                  \
        struct instance *instance = instance_of(gpu);                                                                  \
        uint32_t front = is_behind(gpu) ? 1 : 0, room;                                                                 \
        if (!out || !*count) {                                                                                         \
            instance->name(gpu, count, out);                                                                           \
            if (!out)                                                                                                  \
                *count = shape.families == FAMILIES_ONE ? 1 : *count + front;                                          \
            return;                                                                                                    \
        }                                                                                                              \
        room = shape.families == FAMILIES_ONE ? 1 : *count - front;                                                    \
        if (front)                                                                                                     \
            out[0] member = (VkQueueFamilyProperties){                                                                 \
                .queueFlags = VK_QUEUE_TRANSFER_BIT, .queueCount = 1, .minImageTransferGranularity = {1, 1, 1}};       \
        if (room)                                                                                                      \
            instance->name(gpu, &room, out + front);                                                                   \
        if (shape.families == FAMILIES_ONE)                                                                            \
            out[0] member.queueCount = 1;                                                                              \
        *count = room + front;                                                                                         \
    }
SHOW_FAMILIES(GetPhysicalDeviceQueueFamilyProperties, VkQueueFamilyProperties, )
SHOW_FAMILIES(GetPhysicalDeviceQueueFamilyProperties2, VkQueueFamilyProperties2, .queueFamilyProperties)

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceSupportKHR(VkPhysicalDevice gpu, uint32_t family,
                                                                         VkSurfaceKHR surface, VkBool32 *out)
{
    return instance_of(gpu)->GetPhysicalDeviceSurfaceSupportKHR(gpu, real_family(is_behind(gpu), family), surface, out);
}

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t number, VkQueue *out)
{
    struct device *device = device_of(handle);
    device->GetDeviceQueue(handle, real_family(device->behind, family), number, out);
}

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
    struct device *device = device_of(handle);
    VkDeviceQueueInfo2 real = *info;
    real.queueFamilyIndex = real_family(device->behind, info->queueFamilyIndex);
    device->GetDeviceQueue2(handle, &real, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateCommandPool(VkDevice handle, const VkCommandPoolCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator, VkCommandPool *out)
{
    struct device *device = device_of(handle);
    VkCommandPoolCreateInfo real = *info;
    real.queueFamilyIndex = real_family(device->behind, info->queueFamilyIndex);
    return device->CreateCommandPool(handle, &real, allocator, out);
}

/* ---- windows ---- */

static void show_capabilities(VkSurfaceCapabilitiesKHR *capabilities)
{
    if (capabilities->minImageCount < shape.images)
        capabilities->minImageCount = shape.images;
    if (capabilities->maxImageCount && capabilities->maxImageCount < capabilities->minImageCount)
        capabilities->maxImageCount = capabilities->minImageCount;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceCapabilitiesKHR(VkPhysicalDevice gpu,
                                                                              VkSurfaceKHR surface,
                                                                              VkSurfaceCapabilitiesKHR *out)
{
    VkResult result = instance_of(gpu)->GetPhysicalDeviceSurfaceCapabilitiesKHR(gpu, surface, out);
    if (result >= 0)
        show_capabilities(out);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceCapabilities2KHR(
    VkPhysicalDevice gpu, const VkPhysicalDeviceSurfaceInfo2KHR *info, VkSurfaceCapabilities2KHR *out)
{
    VkResult result = instance_of(gpu)->GetPhysicalDeviceSurfaceCapabilities2KHR(gpu, info, out);
    if (result >= 0)
        show_capabilities(&out->surfaceCapabilities);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateSwapchainKHR(VkDevice handle, const VkSwapchainCreateInfoKHR *info,
                                                         const VkAllocationCallbacks *allocator, VkSwapchainKHR *out)
{
    if (info->minImageCount < shape.images)
        return VK_ERROR_INITIALIZATION_FAILED;
    return device_of(handle)->CreateSwapchainKHR(handle, info, allocator, out);
}

/* ---- buffers and images ---- */

static void show_requirements(const struct device *device, bool optimal, VkMemoryRequirements *requirements)
{
    VkDeviceSize alignment;
    raise_bytes(&requirements->alignment, shape.align);
    alignment = requirements->alignment;
    requirements->size = (requirements->size + shape.pad + alignment - 1) / alignment * alignment;
    requirements->memoryTypeBits = shown_mask(&device->types, requirements->memoryTypeBits, optimal);
}

static bool is_optimal(VkDevice device, VkImage image)
{
    return !is_noted(&linear_images, device, (uint64_t)image);
}

static void show_requirements_2(const struct device *device, bool optimal, VkMemoryRequirements2 *out)
{
    VkMemoryDedicatedRequirements *dedicated =
        (void *)in_chain(out->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);
    show_requirements(device, optimal, &out->memoryRequirements);
    if (dedicated && shape.dedicated)
        dedicated->prefersDedicatedAllocation = VK_TRUE;
}

static VKAPI_ATTR void VKAPI_CALL GetBufferMemoryRequirements(VkDevice handle, VkBuffer buffer,
                                                              VkMemoryRequirements *out)
{
    struct device *device = device_of(handle);
    device->GetBufferMemoryRequirements(handle, buffer, out);
    show_requirements(device, false, out);
}

static VKAPI_ATTR void VKAPI_CALL GetImageMemoryRequirements(VkDevice handle, VkImage image, VkMemoryRequirements *out)
{
    struct device *device = device_of(handle);
    device->GetImageMemoryRequirements(handle, image, out);
    show_requirements(device, is_optimal(handle, image), out);
}

#define REQUIREMENTS_2(name, info_type, optimal)                                                                       \
    static VKAPI_ATTR void VKAPI_CALL name(VkDevice handle, const info_type *info, VkMemoryRequirements2 *out)         \
    {                                                                                                                  \
        struct device *device = device_of(handle);                                                                     \
        device->name(handle, info, out);                                                                               \
        show_requirements_2(device, optimal, out);                                                                     \
    }
REQUIREMENTS_2(GetBufferMemoryRequirements2, VkBufferMemoryRequirementsInfo2, false)
REQUIREMENTS_2(GetImageMemoryRequirements2, VkImageMemoryRequirementsInfo2, is_optimal(handle, info->image))
REQUIREMENTS_2(GetDeviceBufferMemoryRequirements, VkDeviceBufferMemoryRequirements, false)
REQUIREMENTS_2(GetDeviceImageMemoryRequirements, VkDeviceImageMemoryRequirements,
               info->pCreateInfo->tiling == VK_IMAGE_TILING_OPTIMAL)

static VKAPI_ATTR VkResult VKAPI_CALL CreateImage(VkDevice handle, const VkImageCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkImage *out)
{
    struct device *device = device_of(handle);
    VkResult result;
    if (is_gone(info->format))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    result = device->CreateImage(handle, info, allocator, out);
    if (result < 0 || info->tiling == VK_IMAGE_TILING_OPTIMAL || note(&linear_images, handle, (uint64_t)*out))
        return result;
    device->DestroyImage(handle, *out, allocator);
    *out = VK_NULL_HANDLE;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR void VKAPI_CALL DestroyImage(VkDevice handle, VkImage image, const VkAllocationCallbacks *allocator)
{
    forget(&linear_images, handle, (uint64_t)image);
    device_of(handle)->DestroyImage(handle, image, allocator);
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

static VKAPI_ATTR VkResult VKAPI_CALL GetMemoryFdPropertiesKHR(VkDevice handle, VkExternalMemoryHandleTypeFlagBits type,
                                                               int fd, VkMemoryFdPropertiesKHR *out)
{
    struct device *device = device_of(handle);
    VkResult result = device->GetMemoryFdPropertiesKHR(handle, type, fd, out);
    if (result >= 0)
        out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, false);
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
        out->memoryTypeBits = shown_mask(&device->types, out->memoryTypeBits, false);
    return result;
}

/* One more, or one less; false: there are as many as there may be. */
static bool count_allocation(struct device *device, int by)
{
    bool fits;
    pthread_mutex_lock(&mutex);
    fits = by < 0 || !shape.allocations || device->allocations < shape.allocations;
    if (fits)
        device->allocations += (uint32_t)by;
    pthread_mutex_unlock(&mutex);
    return fits;
}

static void fill_with_garbage(const struct device *device, VkDeviceMemory memory, VkDeviceSize bytes)
{
    void *host;
    if (device->MapMemory(device->handle, memory, 0, VK_WHOLE_SIZE, 0, &host) < 0)
        return;
    memset(host, GARBAGE, bytes);
    device->UnmapMemory(device->handle, memory);
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
    if (!count_allocation(device, 1))
        return VK_ERROR_TOO_MANY_OBJECTS;
    info.memoryTypeIndex = device->types.real[shown];
    result = device->AllocateMemory(handle, &info, allocator, out);
    if (result < 0) {
        (void)count_allocation(device, -1);
        return result;
    }
    if (shape.garbage && !is_imported(info.pNext))
        fill_with_garbage(device, *out, info.allocationSize);
    if (device->types.shown[shown].propertyFlags & VISIBLE || note(&unmappable, handle, (uint64_t)*out))
        return result;
    device->FreeMemory(handle, *out, allocator);
    (void)count_allocation(device, -1);
    *out = VK_NULL_HANDLE;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice handle, VkDeviceMemory memory,
                                             const VkAllocationCallbacks *allocator)
{
    struct device *device = device_of(handle);
    forget(&unmappable, handle, (uint64_t)memory);
    device->FreeMemory(handle, memory, allocator);
    if (memory)
        (void)count_allocation(device, -1);
}

static VKAPI_ATTR VkResult VKAPI_CALL MapMemory(VkDevice handle, VkDeviceMemory memory, VkDeviceSize offset,
                                                VkDeviceSize size, VkMemoryMapFlags flags, void **out)
{
    if (is_noted(&unmappable, handle, (uint64_t)memory))
        return VK_ERROR_MEMORY_MAP_FAILED;
    return device_of(handle)->MapMemory(handle, memory, offset, size, flags, out);
}

#ifdef VK_KHR_map_memory2
static VKAPI_ATTR VkResult VKAPI_CALL MapMemory2(VkDevice handle, const VkMemoryMapInfoKHR *info, void **out)
{
    if (is_noted(&unmappable, handle, (uint64_t)info->memory))
        return VK_ERROR_MEMORY_MAP_FAILED;
    return device_of(handle)->MapMemory2(handle, info, out);
}
#endif

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

    pthread_once(&once, read_shape);
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
    LOAD_INSTANCE(GetPhysicalDeviceFormatProperties);
    LOAD_INSTANCE(GetPhysicalDeviceImageFormatProperties);
    LOAD_INSTANCE(GetPhysicalDeviceQueueFamilyProperties);
    LOAD_INSTANCE(GetPhysicalDeviceSurfaceSupportKHR);
    LOAD_INSTANCE(GetPhysicalDeviceSurfaceCapabilitiesKHR);
    LOAD_INSTANCE(GetPhysicalDeviceSurfaceCapabilities2KHR);
    LOAD_INSTANCE_2(GetPhysicalDeviceProperties2);
    LOAD_INSTANCE_2(GetPhysicalDeviceMemoryProperties2);
    LOAD_INSTANCE_2(GetPhysicalDeviceFormatProperties2);
    LOAD_INSTANCE_2(GetPhysicalDeviceImageFormatProperties2);
    LOAD_INSTANCE_2(GetPhysicalDeviceQueueFamilyProperties2);
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
    LOAD(GetDeviceQueue);
    LOAD(GetDeviceQueue2);
    LOAD(CreateCommandPool);
    LOAD(AllocateMemory);
    LOAD(FreeMemory);
    LOAD(MapMemory);
    LOAD(UnmapMemory);
    LOAD(CreateImage);
    LOAD(DestroyImage);
    LOAD(CreateSwapchainKHR);
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
#endif
}

/* The families that are asked for as the driver has them: with `behind` the two shown ones are one. */
static uint32_t real_queues(bool behind, const VkDeviceCreateInfo *create, VkDeviceQueueCreateInfo *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < create->queueCreateInfoCount && count < MAX_FAMILIES; i++) {
        out[count] = create->pQueueCreateInfos[i];
        out[count].queueFamilyIndex = real_family(behind, out[count].queueFamilyIndex);
        if (!behind || count == 0)
            count++;
        else if (out[0].queueCount < out[1].queueCount)
            out[0] = out[1];
    }
    return count;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice gpu, const VkDeviceCreateInfo *create,
                                                   const VkAllocationCallbacks *allocator, VkDevice *out)
{
    VkLayerDeviceCreateInfo *link = find_VkLayerDeviceCreateInfo(create->pNext);
    struct instance *instance = instance_of(gpu);
    struct device *device = calloc(1, sizeof *device);
    VkDeviceQueueCreateInfo queues[MAX_FAMILIES];
    VkPhysicalDeviceMemoryProperties memory;
    VkDeviceCreateInfo info = *create;
    VkResult result = VK_ERROR_INITIALIZATION_FAILED;

    if (link && device) {
        PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        device->get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
        device->behind = is_behind(gpu);
        info.queueCreateInfoCount = real_queues(device->behind, create, queues);
        info.pQueueCreateInfos = queues;
        result = ((PFN_vkCreateDevice)get(instance->handle, "vkCreateDevice"))(gpu, &info, allocator, out);
    }
    if (result < 0) {
        free(device);
        return result;
    }
    device->handle = *out;
    device->key = key_of(*out);
    instance->GetPhysicalDeviceMemoryProperties(gpu, &memory);
    make_types(&memory, &device->types);
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
        OWN(GetPhysicalDeviceFormatProperties),
        OWN_2(GetPhysicalDeviceFormatProperties2),
        OWN(GetPhysicalDeviceImageFormatProperties),
        OWN_2(GetPhysicalDeviceImageFormatProperties2),
        OWN(GetPhysicalDeviceQueueFamilyProperties),
        OWN_2(GetPhysicalDeviceQueueFamilyProperties2),
        OWN(GetPhysicalDeviceSurfaceSupportKHR),
        OWN(GetPhysicalDeviceSurfaceCapabilitiesKHR),
        OWN(GetPhysicalDeviceSurfaceCapabilities2KHR),
        OWN(GetDeviceQueue),
        OWN(GetDeviceQueue2),
        OWN(CreateCommandPool),
        OWN(CreateSwapchainKHR),
        OWN(GetBufferMemoryRequirements),
        OWN(GetImageMemoryRequirements),
        OWN_2(GetBufferMemoryRequirements2),
        OWN_2(GetImageMemoryRequirements2),
        OWN_2(GetDeviceBufferMemoryRequirements),
        OWN_2(GetDeviceImageMemoryRequirements),
        OWN(GetMemoryFdPropertiesKHR),
        OWN(GetMemoryHostPointerPropertiesEXT),
        OWN(CreateImage),
        OWN(DestroyImage),
        OWN(AllocateMemory),
        OWN(FreeMemory),
        OWN(MapMemory),
#ifdef VK_KHR_map_memory2
        OWN_2(MapMemory2),
#endif
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
