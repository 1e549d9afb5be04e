/* SPDX-License-Identifier: MIT */
#include "replayer/memory/allocation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "replayer/memory/memory_internal.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/submission.h"

/* ---- the driver's memory ---- */

static enum lap_status allocate(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                VkMemoryAllocateFlags asked, VkDeviceMemory *out_memory, uint8_t **out_host)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = chain,
                                 .allocationSize = bytes,
                                 .memoryTypeIndex = type};
    VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, .pNext = chain, .flags = asked};
    VkResult result;
    void *host = NULL;

    if (asked)
        info.pNext = &flags;
    result = dev->vk.AllocateMemory(dev->live, &info, NULL, out_memory);
    if (result < 0 && replay_deferred_destroy_count(dev) && replay_submission_await_all(dev))
        result = dev->vk.AllocateMemory(dev->live, &info, NULL, out_memory);
    *out_host = NULL;
    if (result < 0)
        return lap_fail(result == VK_ERROR_DEVICE_LOST ? LAP_ERROR_REPLAY : LAP_ERROR_MEMORY,
                        "vkAllocateMemory of %" PRIu64 " bytes of type %u gives %s", (uint64_t)bytes, type,
                        replay_result_name(result));
    if (replay_memory_type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
        result = dev->vk.MapMemory(dev->live, *out_memory, 0, VK_WHOLE_SIZE, 0, &host);
        if (result < 0) {
            dev->vk.FreeMemory(dev->live, *out_memory, NULL);
            return lap_fail(LAP_ERROR_MEMORY, "vkMapMemory of %" PRIu64 " bytes gives %s", (uint64_t)bytes,
                            replay_result_name(result));
        }
    }
    *out_host = host;
    return LAP_OK;
}

enum lap_status replay_memory_allocate_own(struct replay_device *dev, uint32_t type, VkDeviceSize bytes,
                                           VkDeviceMemory *out_memory, uint8_t **out_host)
{
    return allocate(dev, type, bytes, NULL, replay_memory_usual_flags(dev), out_memory, out_host);
}

enum lap_status replay_memory_allocate(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                       VkMemoryAllocateFlags flags, VkDeviceMemory *out_memory, uint8_t **out_host)
{
    struct replay_memory_stats *stats = &dev->memory.planner->stats;
    enum lap_status status = allocate(dev, type, bytes, chain, flags, out_memory, out_host);

    if (status != LAP_OK)
        return status;
    stats->made_allocations++;
    stats->allocations++;
    stats->allocated_bytes += bytes;
    stats->types[type].allocations++;
    stats->types[type].allocated_bytes += bytes;
    return LAP_OK;
}

static void free_memory(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes)
{
    struct replay_memory_stats *stats = &dev->memory.planner->stats;

    LAP_ASSERT(stats->types[type].allocations && stats->types[type].allocated_bytes >= bytes,
               "memory that is freed was counted");
    dev->vk.FreeMemory(dev->live, memory, NULL); /* also unmaps it */
    stats->allocations--;
    stats->allocated_bytes -= bytes;
    stats->types[type].allocations--;
    stats->types[type].allocated_bytes -= bytes;
}

/* No work uses the memory any more: see replay_memory_release. */
static void destroy_memory(struct replay *r, struct replay_device *dev, const struct replay_deferred *object)
{
    (void)r;
    LAP_ASSERT(dev->memory.planner->deferred.allocations &&
                   dev->memory.planner->deferred.allocated_bytes >= object->data,
               "deferred memory was counted as such");
    dev->memory.planner->deferred.allocations--;
    dev->memory.planner->deferred.allocated_bytes -= object->data;
    free_memory(dev, object->detail, gen_VkDeviceMemory(object->live), object->data);
}

void replay_memory_release(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes)
{
    if (!dev->busy) {
        free_memory(dev, type, memory, bytes);
        return;
    }
    dev->memory.planner->deferred.allocations++;
    dev->memory.planner->deferred.allocated_bytes += bytes;
    replay_deferred_destroy_add(dev, (struct replay_deferred){.destroy = destroy_memory,
                                                              .type = GEN_HANDLE_VkDeviceMemory,
                                                              .live = gen_u64_VkDeviceMemory(memory),
                                                              .data = bytes,
                                                              .detail = type});
}

/* ---- the bound ---- */

struct replay_memory_load replay_memory_load(const struct replay_device *dev)
{
    const struct replay_memory_planner *planner = dev->memory.planner;

    return (struct replay_memory_load){
        .allocations = planner->stats.allocations - planner->deferred.allocations,
        .limit = planner->allocation_limit,
        .made_allocations = planner->stats.made_allocations,
        .allocated_bytes = planner->stats.allocated_bytes - planner->deferred.allocated_bytes,
        .required_bytes = planner->stats.used_bytes,
    };
}

void replay_memory_wait_for_room(struct replay_device *dev, VkDeviceSize bytes, VkDeviceSize required)
{
    const struct replay_memory_planner *planner = dev->memory.planner;
    struct replay_memory_load load;
    uint64_t room;

    if (__builtin_expect(!planner->deferred.allocations, 1))
        return;
    load = replay_memory_load(dev);
    load.required_bytes += required;
    load.allocated_bytes += bytes;
    room = replay_memory_deferrable_bytes(&load);
    while (planner->deferred.allocations &&
           (planner->deferred.allocated_bytes > room || planner->stats.allocations > load.limit - (bytes != 0)) &&
           replay_submission_await_oldest(dev))
        ;
}

/* ---- out of memory ---- */

#define TEXT_BYTES 40u

/* "12.3 MiB"; less than 10 KiB in bytes. */
static const char *bytes_text(char text[TEXT_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    unsigned unit = 0;

    if (bytes < 10240) {
        snprintf(text, TEXT_BYTES, "%" PRIu64 " bytes", bytes);
        return text;
    }
    for (; value >= 1024 && unit < 3; unit++)
        value /= 1024;
    snprintf(text, TEXT_BYTES, "%.1f %s", value, units[unit]);
    return text;
}

static bool has_budget(const struct replay_device *dev)
{
    const struct gen_instance_dispatch *vk = &dev->instance->vk;
    VkExtensionProperties extensions[512];
    uint32_t count = sizeof extensions / sizeof *extensions;

    if (dev->instance->api_version < VK_API_VERSION_1_1 || dev->instance->properties.apiVersion < VK_API_VERSION_1_1 ||
        !vk->GetPhysicalDeviceMemoryProperties2 || !vk->EnumerateDeviceExtensionProperties ||
        vk->EnumerateDeviceExtensionProperties(dev->gpu, NULL, &count, extensions) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(extensions[i].extensionName, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) == 0)
            return true;
    return false;
}

/* "heap 0 has 8.0 GiB, of which 6.1 GiB are for this process and 5.9 GiB in use by it" */
static void heap_text(const struct replay_device *dev, uint32_t heap, char *text, size_t bytes)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                                    .pNext = &budget};
    char size[TEXT_BYTES], ours[TEXT_BYTES], used[TEXT_BYTES];

    bytes_text(size, dev->instance->memory.memoryHeaps[heap].size);
    if (!has_budget(dev)) {
        snprintf(text, bytes, "heap %u has %s", heap, size);
        return;
    }
    dev->instance->vk.GetPhysicalDeviceMemoryProperties2(dev->gpu, &properties);
    snprintf(text, bytes, "heap %u has %s, of which %s are for this process and %s in use by it", heap, size,
             bytes_text(ours, budget.heapBudget[heap]), bytes_text(used, budget.heapUsage[heap]));
}

enum lap_status replay_memory_shortage(struct replay *r, const struct replay_device *dev,
                                       const struct replay_memory_needs *needs, const uint32_t *types, uint32_t count)
{
    const struct replay_memory_stats *stats = &dev->memory.planner->stats;
    char need[TEXT_BYTES], allocated[TEXT_BYTES], used[TEXT_BYTES], driver[256], heaps[512] = "";
    uint32_t named = 0;
    size_t length = 0;

    snprintf(driver, sizeof driver, "%s", lap_error_message());
    for (uint32_t i = 0; i < count; i++) {
        uint32_t heap = dev->instance->memory.memoryTypes[types[i]].heapIndex;
        char text[192];
        if (named >> heap & 1)
            continue;
        heap_text(dev, heap, text, sizeof text);
        length += (size_t)snprintf(heaps + length, sizeof heaps - length, "%s%s", named ? "; " : "", text);
        named |= 1u << heap;
        if (length >= sizeof heaps)
            break;
    }
    return replay_fail(r,
                       "there is no memory for an object of %s (%s): %s; the replay has %s in %" PRIu64
                       " allocations for objects that need %s",
                       bytes_text(need, needs->requirements.size), driver, heaps,
                       bytes_text(allocated, stats->allocated_bytes), stats->allocations,
                       bytes_text(used, stats->used_bytes));
}
