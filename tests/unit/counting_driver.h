/* SPDX-License-Identifier: MIT */
/* counting_driver: a driver that is a few functions and counts what is allocated, and a replay on it, for tests of
 * where objects lie. */
#ifndef LAP_TESTS_COUNTING_DRIVER_H
#define LAP_TESTS_COUNTING_DRIVER_H

#include <stdlib.h>
#include <string.h>

#include "replayer/core/handles.h"
#include "replayer/memory/memory.h"
#include "replayer/play/player.h"
#include "tests/unit/unit.h"

#define KIB           ((VkDeviceSize)1 << 10)
#define MIB           ((VkDeviceSize)1 << 20)

#define LOCAL         VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define VISIBLE       VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
#define COHERENT      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
#define CACHED        VK_MEMORY_PROPERTY_HOST_CACHED_BIT
#define LAZY          VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT
#define PROTECTED     VK_MEMORY_PROPERTY_PROTECTED_BIT

#define MOST_MEMORIES 100000u

static struct {
    uint64_t count, bytes, largest_count, refused; /* allocations that are alive, and what they hold */
    uint64_t made;
    uint64_t sizes[MOST_MEMORIES]; /* by handle - 1; 0: free */
    uint64_t limit_bytes, limit_count;
    uint64_t dedicated;
} driver;

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    if (driver.count >= driver.limit_count) {
        driver.refused++;
        return VK_ERROR_TOO_MANY_OBJECTS;
    }
    if (driver.bytes + info->allocationSize > driver.limit_bytes)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    CHECK(driver.made < MOST_MEMORIES);
    driver.sizes[driver.made++] = info->allocationSize;
    driver.count++;
    driver.bytes += info->allocationSize;
    driver.dedicated += info->pNext != NULL;
    if (driver.count > driver.largest_count)
        driver.largest_count = driver.count;
    *out = gen_VkDeviceMemory(driver.made);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL release(VkDevice device, VkDeviceMemory memory,
                                          const VkAllocationCallbacks *allocator)
{
    uint64_t *bytes = &driver.sizes[gen_u64_VkDeviceMemory(memory) - 1];

    CHECK(*bytes != 0);
    driver.count--;
    driver.bytes -= *bytes;
    *bytes = 0;
}

static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                          VkDeviceSize bytes, VkMemoryMapFlags flags, void **out)
{
    *out = (void *)(uintptr_t)4096; /* nobody looks there */
    return VK_SUCCESS;
}

struct host {
    struct replay r;
    struct replay_instance instance;
    struct replay_device dev;
    struct lap_log log;
};

static void host_init(struct host *host, const VkMemoryPropertyFlags *types, uint32_t type_count)
{
    memset(host, 0, sizeof *host);
    memset(&driver, 0, sizeof driver);
    driver.limit_bytes = driver.limit_count = UINT64_MAX;
    host->log = (struct lap_log){.fd = 2, .level = LAP_LOG_ERROR, .prefix = "test: "};
    host->r.log = &host->log;
    host->instance.memory.memoryTypeCount = type_count;
    host->instance.memory.memoryHeapCount = 1;
    host->instance.memory.memoryHeaps[0].size = (VkDeviceSize)8 << 30;
    for (uint32_t i = 0; i < type_count; i++)
        host->instance.memory.memoryTypes[i].propertyFlags = types[i];
    host->instance.properties.limits.maxMemoryAllocationCount = 4096;
    host->instance.properties.limits.nonCoherentAtomSize = 256;
    host->instance.properties.limits.bufferImageGranularity = 1024;
    host->dev.instance = &host->instance;
    host->dev.vk.AllocateMemory = allocate;
    host->dev.vk.FreeMemory = release;
    host->dev.vk.MapMemory = map;
}

static void host_begin(struct host *host)
{
    driver.limit_count = host->instance.properties.limits.maxMemoryAllocationCount;
    CHECK_EQ_INT(replay_memory_planner_create(&host->r, &host->dev), LAP_OK);
}

static void host_end(struct host *host)
{
    CHECK_EQ_U64(replay_memory_stats(&host->dev).used_bytes, 0);
    replay_memory_planner_destroy(&host->r, &host->dev);
    CHECK_EQ_U64(driver.count, 0);
    CHECK_EQ_U64(driver.bytes, 0);
}

static const VkMemoryPropertyFlags discrete[] = {
    0,           LOCAL, VISIBLE | COHERENT, VISIBLE | COHERENT | CACHED, LOCAL | VISIBLE | COHERENT, LOCAL | PROTECTED,
    LOCAL | LAZY};
enum { DISCRETE = sizeof discrete / sizeof *discrete };

static struct replay_memory_needs needs_of(VkDeviceSize bytes, VkMemoryPropertyFlags wanted)
{
    return (struct replay_memory_needs){
        .requirements = {.size = bytes, .alignment = 256, .memoryTypeBits = 0x1f}, .wanted = wanted, .linear = true};
}

/* ---- chance ---- */

static uint64_t random_state;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Between 2^from and 2^to, all powers alike. */
static VkDeviceSize random_bytes(unsigned from, unsigned to)
{
    VkDeviceSize least = (VkDeviceSize)1 << (from + random_u64() % (to - from));
    return least + random_u64() % least;
}

#endif
