/* SPDX-License-Identifier: MIT */
/* What is said when an object finds no memory: what it needs, and what there is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "replayer/facts.h"
#include "replayer/planner.h"

#define TEXT_BYTES 40u

/* "12.3 MiB"; less than 10 KiB as bytes. */
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

enum lap_status replay_shortage(struct replay *r, const struct replay_device *dev, const struct replay_needs *needs,
                                const uint32_t *types, uint32_t count)
{
    const struct replay_memory_stats *stats = &dev->planner->stats;
    char need[TEXT_BYTES], allocated[TEXT_BYTES], used[TEXT_BYTES], most[TEXT_BYTES], driver[256], heaps[512] = "",
                                                                                                   capture[128] = "";
    uint64_t peak;
    uint32_t told = 0;
    size_t length = 0;

    snprintf(driver, sizeof driver, "%s", lap_error_message());
    for (uint32_t i = 0; i < count; i++) {
        uint32_t heap = dev->instance->memory.memoryTypes[types[i]].heapIndex;
        char text[192];
        if (told >> heap & 1)
            continue;
        heap_text(dev, heap, text, sizeof text);
        length += (size_t)snprintf(heaps + length, sizeof heaps - length, "%s%s", told ? "; " : "", text);
        told |= 1u << heap;
        if (length >= sizeof heaps)
            break;
    }
    peak = replay_peak_at_capture(r);
    if (peak)
        snprintf(capture, sizeof capture, "; when it was recorded its objects took up to %s", bytes_text(most, peak));
    return replay_fail(r,
                       "there is no memory for an object of %s (%s): %s; the replay has %s in %" PRIu64
                       " allocations for objects that need %s%s",
                       bytes_text(need, needs->requirements.size), driver, heaps,
                       bytes_text(allocated, stats->allocated_bytes), stats->allocations,
                       bytes_text(used, stats->used_bytes), capture);
}
