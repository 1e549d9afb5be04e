/* SPDX-License-Identifier: MIT */
/* Memory that is imported from pages of the layer: devices, allocation, mapping, and when the driver takes over. */
#include "layer/memory/backing.h"
#include "layer/core/extensions.h"
#include "vulkan/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gen_layer.h"

struct layer_backing {
    unsigned char *pages;
    size_t bytes;
    uint32_t driver_type;            /* for memory of the driver's own */
    VkMemoryAllocateFlagsInfo flags; /* of the program's allocation; flags 0: none */
    _Atomic uint64_t taken_over;     /* the driver's memory that stands in for the import; 0: none */
    bool bound, mapped, used;        /* to, now, ever; under the device's backing.mutex */
    uint32_t believed_heap, real_heap;
    uint64_t believed_bytes, real_bytes; /* its share in the device's heap_shift */
};

/* ---- devices ---- */

static bool wants_sparse(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceFeatures2 *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    return (info->pEnabledFeatures && info->pEnabledFeatures->sparseBinding) ||
           (features && features->features.sparseBinding);
}

/* Whether the program may place mappings: imported pages can't be moved there. */
static bool wants_places(const VkDeviceCreateInfo *info)
{
#ifdef VK_EXT_map_memory_placed
    const VkPhysicalDeviceMapMemoryPlacedFeaturesEXT *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAP_MEMORY_PLACED_FEATURES_EXT);
    return features && features->memoryMapPlaced;
#else
    (void)info;
    return false;
#endif
}

static bool wants_group(const VkDeviceCreateInfo *info)
{
    const VkDeviceGroupDeviceCreateInfo *group =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);
    return group && group->physicalDeviceCount > 1;
}

/* The program's names and those of `wanted` that are not among them; NULL when out of memory. */
static const char **add_names(const char *const *asked, uint32_t *count, const char *const *wanted,
                              uint32_t wanted_count)
{
    const char **all = calloc((size_t)*count + wanted_count + 1u, sizeof *all);
    uint32_t asked_count = *count;

    if (!all)
        return NULL;
    for (uint32_t i = 0; i < asked_count; i++)
        all[i] = asked[i];
    for (uint32_t i = 0; i < wanted_count; i++) {
        bool named = false;
        for (uint32_t k = 0; k < asked_count && !named; k++)
            named = strcmp(asked[k], wanted[i]) == 0;
        if (!named)
            all[(*count)++] = wanted[i];
    }
    return all;
}

bool layer_backing_instance_request(const VkInstanceCreateInfo *asked, struct layer_backing_instance_request *out)
{
    static const char *const wanted[] = {VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME,
                                         VK_KHR_EXTERNAL_MEMORY_CAPABILITIES_EXTENSION_NAME};
    bool is_1_0 = !asked->pApplicationInfo || asked->pApplicationInfo->apiVersion < VK_API_VERSION_1_1;

    if (layer.pass_through || layer.options.backing == LAYER_BACKING_OFF)
        return false;
    out->info = *asked;
    out->names = add_names(asked->ppEnabledExtensionNames, &out->info.enabledExtensionCount, wanted, is_1_0 ? 2 : 0);
    out->info.ppEnabledExtensionNames = out->names;
    return out->names != NULL;
}

void layer_backing_instance_request_finish(struct layer_backing_instance_request *request)
{
    free(request->names);
    request->names = NULL;
}

static const char *why_not(const struct layer_physical_device *gpu, const VkDeviceCreateInfo *asked)
{
    const struct gen_instance_dispatch *vk = &gpu->instance->vk;
    if (layer.options.backing == LAYER_BACKING_OFF)
        return "switched off";
    if (!layer_is_recording())
        return "nothing is recorded";
    if (!gpu->instance->knows_imports || !vk->GetPhysicalDeviceExternalBufferProperties ||
        !vk->GetPhysicalDeviceImageFormatProperties2 || !vk->GetPhysicalDeviceProperties2 ||
        !vk->GetPhysicalDeviceMemoryProperties2)
        return "nothing can be asked about imports";
    if (!layer_device_has_extension(gpu, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME))
        return "the driver lacks VK_EXT_external_memory_host";
    if (wants_places(asked))
        return "the program maps memory at places of its own";
    if (wants_group(asked))
        return "the device is a group of several";
    return NULL;
}

bool layer_backing_request(const struct layer_physical_device *gpu, const VkDeviceCreateInfo *asked,
                           struct layer_backing_request *out)
{
    static const char *const wanted[] = {VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
                                         VK_KHR_EXTERNAL_MEMORY_EXTENSION_NAME};
    const bool is_1_0 =
        gpu->instance->api_version < VK_API_VERSION_1_1 || gpu->properties.apiVersion < VK_API_VERSION_1_1;

    memset(out, 0, sizeof *out);
    out->info = *asked;
    out->reason = why_not(gpu, asked);
    if (out->reason)
        return false;
    out->names = add_names(asked->ppEnabledExtensionNames, &out->info.enabledExtensionCount, wanted, is_1_0 ? 2 : 1);
    out->info.ppEnabledExtensionNames = out->names;
    out->reason = out->names ? NULL : "out of memory";
    return out->names != NULL;
}

void layer_backing_request_finish(struct layer_backing_request *request)
{
    free(request->names);
    request->names = NULL;
}

/* The shown types whose memory is the driver's own. */
static uint32_t own_types(const struct layer_device *dev)
{
    const struct lap_virtual_types *types = &dev->physical_device->types;
    uint32_t own = 0;

    for (uint32_t i = 0; i < types->shown_count; i++)
        if (!(types->shown[i].flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) ||
            !(dev->backing.plan.types >> types->real_of[i] & 1))
            own |= UINT32_C(1) << i;
    return own;
}

/* Memory that was imported may be bound to objects alone that were created for imports
 * (VUID-VkSparseMemoryBind-memory-02731), and drivers do not take sparse ones for that. They are offered other types.
 */
uint32_t layer_backing_shown_types(const struct layer_device *dev, bool sparse, uint32_t driver_types)
{
    uint32_t shown = lap_virtual_types_shown_mask(&dev->physical_device->types, driver_types);
    uint32_t own = sparse && dev->backing.plan.types ? shown & own_types(dev) : 0;
    return own ? own : shown;
}

void layer_backing_init(struct layer_device *dev, const VkDeviceCreateInfo *asked, const char *reason)
{
    struct layer_backing_machine machine;
    struct layer_backing_plan *plan = &dev->backing.plan;

    memset(plan, 0, sizeof *plan);
    plan->reason = reason;
    if (reason || !dev->vk.GetMemoryHostPointerPropertiesEXT)
        return;
    if (!layer_backing_probe(dev, wants_sparse(asked), &machine, &plan->reason))
        return;
    layer_backing_decide(&machine, &dev->physical_device->types, layer.options.backing, plan);
    if (plan->types && wants_sparse(asked) &&
        !(lap_virtual_types_shown_mask(&dev->physical_device->types, machine.sparse_types) & own_types(dev))) {
        plan->types = 0;
        plan->reason = "sparse memory can't be bound to imported pages, and no memory type would be left for it";
    }
}

void layer_backing_finish(struct layer_device *dev)
{
    pthread_mutex_destroy(&dev->backing.mutex);
}

bool layer_backing_takes(struct layer_device *dev, VkMemoryAllocateFlags asked)
{
    const struct layer_backing_plan *plan = &dev->backing.plan;
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, .flags = asked};
    VkImportMemoryHostPointerInfoEXT host = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                             .pNext = &flags,
                                             .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &host};
    VkDeviceMemory memory;
    bool taken = true;

    if (!plan->types)
        return true;
    info.allocationSize = plan->alignment;
    host.pHostPointer = layer_backing_pages((size_t)plan->alignment, plan->alignment);
    if (!host.pHostPointer)
        return false;
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES && taken; i++) {
        if (!(plan->types >> i & 1))
            continue;
        info.memoryTypeIndex = plan->import_type[i];
        taken = dev->vk.AllocateMemory(dev->handle, &info, NULL, &memory) == VK_SUCCESS;
        if (taken)
            dev->vk.FreeMemory(dev->handle, memory, NULL);
    }
    munmap(host.pHostPointer, (size_t)plan->alignment);
    return taken;
}

bool layer_backing_hides(const struct layer_device *dev, const char *function)
{
    return dev->backing.enabled_behind && strcmp(function, "vkGetMemoryHostPointerPropertiesEXT") == 0;
}

void layer_backing_describe(const struct layer_device *dev, char *out, size_t capacity)
{
    const uint32_t types = dev->backing.plan.types;
    const char *separator = "memory types ";
    size_t length = 0;

    snprintf(out, capacity, "none");
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES && length < capacity; i++)
        if (types >> i & 1) {
            int written = snprintf(out + length, capacity - length, "%s%u", separator, i);
            length += written > 0 ? (size_t)written : 0;
            separator = ", ";
        }
}

/* ---- allocation ---- */

/* The structures of the program's chain that an import keeps. */
struct import_chain {
    VkImportMemoryHostPointerInfoEXT pages;
    VkMemoryAllocateFlagsInfo flags;
    VkMemoryPriorityAllocateInfoEXT priority;
    VkMemoryAllocateInfo info;
};

/* A dedicated allocation loses its dedication: only its object may be bound there anyway, and an object that requires
 * one never becomes importable. */
static bool is_importable_object(const struct layer_device *dev, const VkMemoryDedicatedAllocateInfo *dedicated)
{
    const struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, dedicated->buffer);
    const struct layer_image *image = LAYER_GET(dev, VkImage, dedicated->image);
    return (!buffer || buffer->backing.importable) && (!image || image->backing.importable);
}

/* VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT, which older registries lack: new pages are zeroes. */
#define ZERO_INITIALIZE 0x8u

/* False when the chain has a structure that is not known to work with an import. */
static bool make_import_chain(const struct layer_device *dev, const VkMemoryAllocateInfo *asked,
                              struct import_chain *chain)
{
    const VkMemoryAllocateFlags good = VK_MEMORY_ALLOCATE_DEVICE_MASK_BIT | VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT |
                                       VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;

    memset(chain, 0, sizeof *chain);
    chain->info = *asked;
    chain->info.pNext = &chain->pages;
    chain->pages.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
    chain->pages.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    for (const VkBaseInStructure *s = asked->pNext; s; s = s->pNext) {
        switch ((uint32_t)s->sType) {
        case VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO:
            chain->flags = *(const VkMemoryAllocateFlagsInfo *)s;
            chain->flags.flags &= ~ZERO_INITIALIZE;
            if (chain->flags.flags & ~good)
                return false;
            chain->flags.pNext = chain->info.pNext;
            chain->info.pNext = &chain->flags;
            break;
        case VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT:
            chain->priority = *(const VkMemoryPriorityAllocateInfoEXT *)s;
            chain->priority.pNext = chain->info.pNext;
            chain->info.pNext = &chain->priority;
            break;
        case VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO:
            if (!is_importable_object(dev, (const VkMemoryDedicatedAllocateInfo *)s))
                return false;
            break;
        default:
            return false;
        }
    }
    return true;
}

static void shift_heaps(struct layer_device *dev, struct layer_backing *backing, uint64_t believed, uint64_t real)
{
    atomic_llong *shift = dev->physical_device->heap_shift;
    atomic_fetch_add(&shift[backing->believed_heap], (long long)(believed - backing->believed_bytes));
    atomic_fetch_sub(&shift[backing->real_heap], (long long)(real - backing->real_bytes));
    backing->believed_bytes = believed;
    backing->real_bytes = real;
}

static struct layer_backing *make_backing(struct layer_device *dev, const struct import_chain *chain, uint32_t shown,
                                          uint32_t type)
{
    const struct layer_physical_device *gpu = dev->physical_device;
    const VkDeviceSize alignment = dev->backing.plan.alignment;
    struct layer_backing *backing;

    if (chain->info.allocationSize > SIZE_MAX - alignment)
        return NULL;
    backing = calloc(1, sizeof *backing);
    if (!backing)
        return NULL;
    backing->bytes = (size_t)((chain->info.allocationSize + alignment - 1) / alignment * alignment);
    backing->pages = layer_backing_pages(backing->bytes, alignment);
    if (!backing->pages) {
        free(backing);
        return NULL;
    }
    backing->driver_type = type;
    backing->flags = chain->flags;
    backing->flags.pNext = NULL;
    backing->believed_heap = lap_virtual_types_real_heap(&gpu->types, gpu->types.shown[shown].heap);
    backing->real_heap = gpu->memory.memoryTypes[dev->backing.plan.import_type[type]].heapIndex;
    return backing;
}

static VkResult import_pages(struct layer_device *dev, struct import_chain *chain, uint32_t shown, uint32_t type,
                             const VkAllocationCallbacks *allocator, VkDeviceMemory *out_memory,
                             struct layer_backing **out)
{
    struct layer_backing *backing = make_backing(dev, chain, shown, type);
    VkResult result;

    if (!backing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    chain->pages.pHostPointer = backing->pages;
    chain->info.allocationSize = backing->bytes;
    chain->info.memoryTypeIndex = dev->backing.plan.import_type[type];
    result = dev->vk.AllocateMemory(dev->handle, &chain->info, allocator, out_memory);
    if (result < 0) {
        layer_backing_drop(backing);
        return result;
    }
    shift_heaps(dev, backing, backing->bytes, dev->backing.plan.imports_count ? backing->bytes : 0);
    *out = backing;
    return result;
}

/* Exporter and importer must use the same memory type, and objects for such memory are created for no other imports. */
static bool has_own_type(const void *chain)
{
    static const VkStructureType choices[] = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                              VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                              VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR};
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (lap_chain_find(chain, choices[i]))
            return true;
    return false;
}

/* The driver's own memory must suit the objects that may be bound to it: objects created for imports allow fewer types,
 * but the object of a dedicated allocation may not be created for imports. */
static uint32_t own_type(const struct layer_device *dev, const VkMemoryAllocateInfo *info, uint32_t type)
{
    const struct layer_backing_plan *plan = &dev->backing.plan;
    const VkMemoryDedicatedAllocateInfo *dedicated =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);

    if (!(plan->types >> type & 1) || plan->external_types >> type & 1 || has_own_type(info->pNext))
        return type;
    return dedicated && !is_importable_object(dev, dedicated) ? type : plan->import_type[type];
}

static bool is_awaited(struct layer_device *dev, uint32_t type)
{
    bool awaited;
    pthread_mutex_lock(&dev->backing.mutex);
    awaited = dev->backing.waiting[type] != 0;
    pthread_mutex_unlock(&dev->backing.mutex);
    return awaited;
}

VkResult layer_backing_allocate(struct layer_device *dev, const VkMemoryAllocateInfo *info,
                                const VkAllocationCallbacks *allocator, VkDeviceMemory *out_memory,
                                struct layer_backing **out_backing, uint32_t *out_type)
{
    const struct lap_virtual_types *types = &dev->physical_device->types;
    const uint32_t shown = info->memoryTypeIndex, type = lap_virtual_types_real_index(types, shown);
    const struct layer_backing_plan *plan = &dev->backing.plan;
    VkMemoryAllocateInfo own = *info;
    struct import_chain chain;

    *out_backing = NULL;
    *out_type = type;
    if (type == UINT32_MAX) /* invalid usage, which validation layers should see */
        return dev->vk.AllocateMemory(dev->handle, info, allocator, out_memory);
    if (plan->types >> type & 1 && types->shown[shown].flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT &&
        !is_awaited(dev, type) && make_import_chain(dev, info, &chain)) {
        *out_type = plan->import_type[type];
        if (import_pages(dev, &chain, shown, type, allocator, out_memory, out_backing) >= 0)
            return VK_SUCCESS;
    }
    own.memoryTypeIndex = *out_type = own_type(dev, info, type);
    return dev->vk.AllocateMemory(dev->handle, &own, allocator, out_memory);
}

void layer_backing_drop(struct layer_backing *backing)
{
    if (!backing)
        return;
    munmap(backing->pages, backing->bytes);
    free(backing);
}

void layer_backing_free(struct layer_device *dev, struct layer_backing *backing)
{
    uint64_t own;
    if (!backing)
        return;
    own = atomic_load(&backing->taken_over);
    if (own)
        dev->vk.FreeMemory(dev->handle, gen_VkDeviceMemory(own), NULL);
    shift_heaps(dev, backing, 0, 0);
    layer_backing_drop(backing);
}

/* ---- the driver's own memory takes over ---- */

static void take_over(struct layer_device *dev, struct layer_memory *record)
{
    struct layer_backing *backing = record->backing;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = backing->flags.flags ? &backing->flags : NULL,
                                 .allocationSize = record->bytes,
                                 .memoryTypeIndex = backing->driver_type};
    VkDeviceMemory memory;
    void *pointer;

    if (dev->vk.AllocateMemory(dev->handle, &info, NULL, &memory) != VK_SUCCESS)
        return;
    if (backing->used) {
        VkMappedMemoryRange all = {
            .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = memory, .size = VK_WHOLE_SIZE};
        if (dev->vk.MapMemory(dev->handle, memory, 0, VK_WHOLE_SIZE, 0, &pointer) != VK_SUCCESS) {
            dev->vk.FreeMemory(dev->handle, memory, NULL);
            return;
        }
        memcpy(pointer, backing->pages, (size_t)record->bytes);
        dev->vk.FlushMappedMemoryRanges(dev->handle, 1, &all);
        dev->vk.UnmapMemory(dev->handle, memory);
    }
    /* The program has the handle of the import, which must stay valid, so it and its pages are kept. */
    shift_heaps(dev, backing, 0, backing->real_bytes);
    atomic_store(&backing->taken_over, gen_u64_VkDeviceMemory(memory));
}

VkDeviceMemory layer_backing_driver_memory(const struct layer_memory *record, VkDeviceMemory memory)
{
    uint64_t own = record && record->backing ? atomic_load(&record->backing->taken_over) : 0;
    return own ? gen_VkDeviceMemory(own) : memory;
}

uint32_t layer_backing_type(const struct layer_memory *record)
{
    const struct layer_backing *backing = record->backing;
    return backing && atomic_load(&backing->taken_over) ? backing->driver_type : record->real_type;
}

VkDeviceMemory layer_backing_bind_memory(struct layer_device *dev, struct layer_memory *record, VkDeviceMemory memory,
                                         struct layer_backing_object *object)
{
    layer_backing_settle(dev, object);
    if (!record || !record->backing)
        return memory;
    pthread_mutex_lock(&dev->backing.mutex);
    if (!object->importable && !atomic_load(&record->backing->taken_over)) {
        if (!record->backing->bound && !record->backing->mapped)
            take_over(dev, record);
        /* If the memory type bits allow it, the object is bound as it is. */
        if (!atomic_load(&record->backing->taken_over))
            lap_log(&layer.log, LAP_LOG_DEBUG, "an object is bound to imported memory that it was not created for");
    }
    record->backing->bound = true;
    pthread_mutex_unlock(&dev->backing.mutex);
    return layer_backing_driver_memory(record, memory);
}

void *layer_backing_map(struct layer_device *dev, struct layer_memory *record, VkDeviceSize offset, void *pointer)
{
    if (!record || !record->backing)
        return pointer;
    pthread_mutex_lock(&dev->backing.mutex);
    record->backing->mapped = record->backing->used = true;
    if (!atomic_load(&record->backing->taken_over))
        pointer = record->backing->pages + offset;
    pthread_mutex_unlock(&dev->backing.mutex);
    return pointer;
}

void layer_backing_unmap(struct layer_device *dev, struct layer_memory *record)
{
    if (!record || !record->backing)
        return;
    pthread_mutex_lock(&dev->backing.mutex);
    record->backing->mapped = false;
    pthread_mutex_unlock(&dev->backing.mutex);
}

/* ---- budget ---- */

/* A budget counts what the process uses already. For a heap with more memory than the program knows, both shrink; for
 * one with less, only the usage grows. The rest is in both cases as without the layer. */
void layer_backing_adjust_budget(struct layer_physical_device *gpu, void *properties_chain)
{
    union {
        const void *found;
        VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget;
    } at;

    at.found = lap_chain_find(properties_chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
    if (!at.found)
        return;
    for (uint32_t i = 0; i < gpu->memory.memoryHeapCount; i++) {
        long long shift = atomic_load(&gpu->heap_shift[i]);
        VkDeviceSize *usage = &at.budget->heapUsage[i], *budget = &at.budget->heapBudget[i];
        VkDeviceSize less = shift < 0 ? (VkDeviceSize)-shift : 0;
        *usage = shift > 0 ? *usage + (VkDeviceSize)shift : *usage > less ? *usage - less : 0;
        *budget = *budget > less ? *budget - less : 1; /* 0 would say that there is no such heap */
    }
    for (uint32_t i = gpu->types.real_heap_count; i < gpu->types.shown_heap_count; i++) {
        at.budget->heapUsage[i] = at.budget->heapUsage[gpu->types.real_heap_of[i]];
        at.budget->heapBudget[i] = at.budget->heapBudget[gpu->types.real_heap_of[i]];
    }
}
