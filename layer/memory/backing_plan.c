/* SPDX-License-Identifier: MIT */
#include "layer/memory/backing_plan.h"
#include "layer/core/extensions.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "gen_layer.h"
#include "layer/memory/backing.h"

#define HOST_ALLOCATION VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT

/* ---- deciding ---- */

/* Types with other flags (protected, lazily allocated, AMD's, ...) are taken for just that property. */
static const VkMemoryPropertyFlags plain_flags =
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
    VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

static bool is_plain_host_type(VkMemoryPropertyFlags flags)
{
    return (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && !(flags & ~plain_flags);
}

/* A type into which pages for `type` can be imported: itself, or an equivalent one. */
static bool find_import_type(const struct layer_backing_machine *machine, uint32_t type, uint32_t *out)
{
    uint32_t usable = machine->importable & machine->external_types;
    uint32_t best = UINT32_MAX;

    if (usable >> type & 1) {
        *out = type;
        return true;
    }
    for (uint32_t i = 0; i < machine->type_count; i++) {
        VkMemoryPropertyFlags flags = machine->flags[i];
        if (!(usable >> i & 1) || !is_plain_host_type(flags) ||
            (machine->flags[type] & ~flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
            continue;
        if (best == UINT32_MAX || (flags & ~machine->flags[best] & VK_MEMORY_PROPERTY_HOST_CACHED_BIT))
            best = i;
    }
    *out = best;
    return best != UINT32_MAX;
}

/* Whether a shown type without HOST_VISIBLE is this real type. */
static bool has_hidden_half(const struct lap_virtual_types *types, uint32_t real)
{
    for (uint32_t i = 0; i < types->shown_count; i++)
        if (types->real_of[i] == real && !(types->shown[i].flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
            return true;
    return false;
}

void layer_backing_decide(const struct layer_backing_machine *machine, const struct lap_virtual_types *types,
                          enum layer_backing_option option, struct layer_backing_plan *out)
{
    uint32_t needed = option == LAYER_BACKING_HOST ? UINT32_MAX : machine->unwatched | machine->slow;
    uint32_t lost = machine->plain_types & ~machine->external_types, backed = 0, wanted = 0;

    memset(out, 0, sizeof *out);
    if (option == LAYER_BACKING_OFF) {
        out->reason = "switched off";
        return;
    }
    for (uint32_t i = 0; i < machine->type_count; i++)
        if (is_plain_host_type(machine->flags[i]) && machine->plain_types >> i & 1)
            wanted |= (needed & 1u << i);
    if (!wanted) {
        out->reason = "the driver's mappings can be watched and are fast to read";
        return;
    }
    if (!machine->buffers_import) {
        out->reason = "the driver binds no buffers to imported pages";
        return;
    }
    if (!machine->external_is_alike) {
        out->reason = "buffers that can be bound to imported pages differ from others";
        return;
    }
    /* Objects that are created for imports may allow fewer types. Each lost type must be backed by imports, too, or a
     * program could not bind them to memory that the driver alone would allow. */
    wanted |= lost;
    for (uint32_t i = 0; i < machine->type_count; i++) {
        bool can = wanted >> i & 1 && is_plain_host_type(machine->flags[i]) &&
                   find_import_type(machine, i, &out->import_type[i]) && !(lost >> i & 1 && has_hidden_half(types, i));
        if (can)
            backed |= 1u << i;
        else if (lost >> i & 1) {
            out->reason = "buffers that can be bound to imported pages can't lie in all memory types that others can";
            return;
        }
    }
    if (!backed) {
        out->reason = "the driver imports no pages into these memory types";
        return;
    }
    out->types = backed;
    out->external_types = machine->external_types;
    out->alignment = machine->alignment;
    out->imports_count = machine->imports_count;
    out->reason = option == LAYER_BACKING_HOST    ? "asked for"
                  : (backed & machine->unwatched) ? "the driver's mappings can't be watched for writes"
                                                  : "the driver's mappings are slow to read";
}

/* ---- looking ---- */

#define PROBE_BYTES 65536u
#define COUNT_BYTES (1u << 21) /* a size that drivers allocate in one piece, so that heap usage changes */
#define READ_BYTES  4096u
#define SLOW_NS     8192u /* for READ_BYTES: 0.5 GB/s. Cached memory takes 0.1 to 1 us, write-combined memory 100 us */

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The best of a few: the first one may have page faults, and any may be interrupted. */
static uint64_t read_ns(const void *memory)
{
    uint64_t best = UINT64_MAX;
    unsigned char copy[READ_BYTES];
    for (int i = 0; i < 5; i++) {
        uint64_t begin = now_ns(), ns;
        memcpy(copy, memory, sizeof copy);
        __asm__ volatile("" : : "r"(copy) : "memory"); /* the copy is used, as far as the compiler knows */
        ns = now_ns() - begin;
        if (ns < best)
            best = ns;
    }
    return best;
}

/* Probes the driver's own memory of a type. If it can't be allocated or mapped now, the type is left as it is. */
static void probe_mapping(struct layer_device *dev, struct layer_backing_machine *machine, uint32_t type)
{
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = PROBE_BYTES, .memoryTypeIndex = type};
    VkDeviceMemory memory;
    void *pointer;

    if (dev->vk.AllocateMemory(dev->handle, &info, NULL, &memory) != VK_SUCCESS)
        return;
    if (dev->vk.MapMemory(dev->handle, memory, 0, PROBE_BYTES, 0, &pointer) == VK_SUCCESS) {
        memset(pointer, 0, READ_BYTES);
        if (read_ns(pointer) > SLOW_NS)
            machine->slow |= 1u << type;
        if (!lap_memtrack_can_watch(dev->memtrack, pointer, PROBE_BYTES))
            machine->unwatched |= 1u << type;
        dev->vk.UnmapMemory(dev->handle, memory);
    }
    dev->vk.FreeMemory(dev->handle, memory, NULL);
}

void *layer_backing_pages(VkDeviceSize bytes, VkDeviceSize alignment)
{
    VkDeviceSize page = (VkDeviceSize)sysconf(_SC_PAGESIZE), huge = page / sizeof(uint64_t) * page, spare;
    unsigned char *begin, *pages;

    if (bytes >= huge && alignment < huge)
        alignment = huge;
    spare = alignment > page ? alignment : 0;
    if (!bytes || bytes > SIZE_MAX - spare)
        return NULL;
    begin = mmap(NULL, (size_t)(bytes + spare), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED)
        return NULL;
    pages = begin;
    if (spare) {
        size_t head = (size_t)(-(uintptr_t)begin & (alignment - 1));
        pages += head;
        if (head)
            munmap(begin, head);
        munmap(pages + bytes, (size_t)spare - head);
    }
    madvise(pages, (size_t)bytes, MADV_WIPEONFORK);
    /* The device pins all pages anyway. Fewer, huge pages are imported faster, and a watch has fewer to check. */
    madvise(pages, (size_t)bytes, MADV_HUGEPAGE);
    return pages;
}

/* ---- trying out ---- */

/* Bytes that the process uses of all heaps; 0 when the device does not report it. */
static VkDeviceSize heap_usage(const struct layer_device *dev)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                                .pNext = &budget};
    VkDeviceSize sum = 0;
    dev->instance->vk.GetPhysicalDeviceMemoryProperties2(gen_VkPhysicalDevice(dev->physical_device->object.handle),
                                                         &memory);
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; i++)
        sum += budget.heapUsage[i];
    return sum;
}

static bool import_shows(struct layer_device *dev, unsigned char *pages, VkDeviceSize bytes, uint32_t type,
                         bool *out_counted)
{
    VkImportMemoryHostPointerInfoEXT import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                               .handleType = HOST_ALLOCATION,
                                               .pHostPointer = pages};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = &import,
                                 .allocationSize = bytes,
                                 .memoryTypeIndex = type};
    VkDeviceMemory memory;
    VkDeviceSize used = out_counted ? heap_usage(dev) : 0;
    void *pointer;
    bool good = false;

    if (dev->vk.AllocateMemory(dev->handle, &info, NULL, &memory) != VK_SUCCESS)
        return false;
    if (out_counted)
        *out_counted = heap_usage(dev) >= used + bytes / 2;
    if (dev->vk.MapMemory(dev->handle, memory, 0, VK_WHOLE_SIZE, 0, &pointer) == VK_SUCCESS) {
        pages[bytes - 1] = (unsigned char)(type + 1);
        good = ((volatile unsigned char *)pointer)[bytes - 1] == (unsigned char)(type + 1);
        dev->vk.UnmapMemory(dev->handle, memory);
    }
    dev->vk.FreeMemory(dev->handle, memory, NULL);
    return good;
}

/* A buffer with every usage of Vulkan 1.0: a limit of one usage shows in all of them. */
static bool probe_buffer(struct layer_device *dev, VkBufferCreateFlags flags, bool external, VkMemoryRequirements *out)
{
    VkExternalMemoryBufferCreateInfo handle_type = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                    .handleTypes = HOST_ALLOCATION};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = external ? &handle_type : NULL,
                               .flags = flags,
                               .size = PROBE_BYTES - 24,
                               .usage = 0x1ff};
    VkBuffer buffer;
    if (dev->vk.CreateBuffer(dev->handle, &info, NULL, &buffer) != VK_SUCCESS)
        return false;
    dev->vk.GetBufferMemoryRequirements(dev->handle, buffer, out);
    dev->vk.DestroyBuffer(dev->handle, buffer, NULL);
    return true;
}

static VkDeviceSize page_alignment(const struct layer_device *dev)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host};
    VkDeviceSize alignment = (VkDeviceSize)sysconf(_SC_PAGESIZE);

    dev->instance->vk.GetPhysicalDeviceProperties2(gen_VkPhysicalDevice(dev->physical_device->object.handle),
                                                   &properties);
    if (host.minImportedHostPointerAlignment > alignment)
        alignment = host.minImportedHostPointerAlignment;
    if (properties.properties.limits.minMemoryMapAlignment > alignment)
        alignment = properties.properties.limits.minMemoryMapAlignment;
    return alignment;
}

bool layer_backing_probe(struct layer_device *dev, bool sparse, struct layer_backing_machine *out,
                         const char **out_reason)
{
    const struct layer_physical_device *gpu = dev->physical_device;
    VkPhysicalDeviceExternalBufferInfo asked = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, .usage = 0x1ff, .handleType = HOST_ALLOCATION};
    VkExternalBufferProperties said = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    VkMemoryHostPointerPropertiesEXT pointer = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkMemoryRequirements plain, external, paged;
    VkDeviceSize bytes;
    unsigned char *pages;
    bool budget;

    memset(out, 0, sizeof *out);
    dev->instance->vk.GetPhysicalDeviceExternalBufferProperties(gen_VkPhysicalDevice(gpu->object.handle), &asked,
                                                                &said);
    out->type_count = gpu->memory.memoryTypeCount;
    for (uint32_t i = 0; i < out->type_count; i++)
        out->flags[i] = gpu->memory.memoryTypes[i].propertyFlags;
    out->alignment = page_alignment(dev);
    budget = layer_device_has_extension(gpu, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    bytes = budget ? COUNT_BYTES : PROBE_BYTES;
    bytes = out->alignment > bytes ? out->alignment : bytes;
    pages = layer_backing_pages(bytes, out->alignment);
    if (!pages) {
        *out_reason = "there is no memory to try it with";
        return false;
    }
    if (dev->vk.GetMemoryHostPointerPropertiesEXT(dev->handle, HOST_ALLOCATION, pages, &pointer) == VK_SUCCESS)
        for (uint32_t i = 0; i < out->type_count; i++)
            if (pointer.memoryTypeBits >> i & 1 && is_plain_host_type(out->flags[i]) &&
                import_shows(dev, pages, bytes, i, budget ? &out->imports_count : NULL))
                out->importable |= 1u << i;
    munmap(pages, (size_t)bytes);
    out->buffers_import =
        (said.externalMemoryProperties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) &&
        !(said.externalMemoryProperties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT);
    if (!probe_buffer(dev, 0, false, &plain) || !probe_buffer(dev, 0, out->buffers_import, &external)) {
        *out_reason = "no buffer can be made to try it with";
        return false;
    }
    out->plain_types = plain.memoryTypeBits;
    out->external_types = external.memoryTypeBits;
    if (sparse && probe_buffer(dev, VK_BUFFER_CREATE_SPARSE_BINDING_BIT, false, &paged))
        out->sparse_types = paged.memoryTypeBits;
    out->external_is_alike = plain.size == external.size && plain.alignment == external.alignment;
    for (uint32_t i = 0; i < out->type_count; i++)
        if (is_plain_host_type(out->flags[i]) && layer.options.backing == LAYER_BACKING_AUTO)
            probe_mapping(dev, out, i);
    return true;
}
