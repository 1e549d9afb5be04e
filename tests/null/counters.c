/* SPDX-License-Identifier: MIT */
/* Counters of performance queries, which count nothing. */
#include <string.h>

#include "tests/null/null.h"

#define COUNTERS 3u
#define PASSES   2u

VKAPI_ATTR VkResult VKAPI_CALL hand_EnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR(
    VkPhysicalDevice physicalDevice, uint32_t queueFamilyIndex, uint32_t *pCounterCount,
    VkPerformanceCounterKHR *pCounters, VkPerformanceCounterDescriptionKHR *pCounterDescriptions)
{
    for (uint32_t i = 0; pCounters && i < *pCounterCount && i < COUNTERS; i++) {
        pCounters[i].unit = VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR;
        pCounters[i].scope = VK_PERFORMANCE_COUNTER_SCOPE_COMMAND_BUFFER_KHR;
        pCounters[i].storage = VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR;
        memset(pCounters[i].uuid, (int)i + 1, sizeof pCounters[i].uuid);
    }
    for (uint32_t i = 0; pCounterDescriptions && i < *pCounterCount && i < COUNTERS; i++) {
        pCounterDescriptions[i].flags = 0;
        strcpy(pCounterDescriptions[i].name, "nothing");
        strcpy(pCounterDescriptions[i].category, "null");
        strcpy(pCounterDescriptions[i].description, "what this driver does");
    }
    if ((pCounters || pCounterDescriptions) && *pCounterCount < COUNTERS)
        return VK_INCOMPLETE;
    *pCounterCount = COUNTERS;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR(
    VkPhysicalDevice physicalDevice, const VkQueryPoolPerformanceCreateInfoKHR *pPerformanceQueryCreateInfo,
    uint32_t *pNumPasses)
{
    *pNumPasses = PASSES;
}
