/* SPDX-License-Identifier: MIT */
/*
 * allocation: allocates and counts device memory for the trace's objects, for the planner (memory.c), and for
 * captured_memory.c, whose memory must have a recorded address. Host-visible memory is mapped. Memory that is freed
 * while work is under way is deferred: the driver frees it when that work is over, and it counts until then. One
 * thread.
 */
#ifndef LAP_REPLAYER_MEMORY_ALLOCATION_H
#define LAP_REPLAYER_MEMORY_ALLOCATION_H

#include "replayer/memory/policy.h"

/* VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT, which older registries lack. */
#define REPLAY_ALLOCATE_ZERO_INITIALIZE ((VkMemoryAllocateFlags)0x8)

static inline VkMemoryPropertyFlags replay_memory_type_flags(const struct replay_device *dev, uint32_t type)
{
    return dev->instance->memory.memoryTypes[type].propertyFlags;
}

/* The flags of most allocations: on a device with buffer addresses, and on a device that zeroes memory, any object
 * in a shared block may need either. */
static inline VkMemoryAllocateFlags replay_memory_usual_flags(const struct replay_device *dev)
{
    return (dev->addresses.need_memory ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0) |
           (dev->memory.zeroed ? REPLAY_ALLOCATE_ZERO_INITIALIZE : 0);
}

/* Allocates and maps memory. flags: of VkMemoryAllocateFlagsInfo, 0: none; chain: goes behind that. *out_host: the
 * first byte, NULL where memory is not host-visible. LAP_ERROR_MEMORY: no memory; LAP_ERROR_REPLAY: the device is
 * lost. */
enum lap_status replay_memory_allocate(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                       VkMemoryAllocateFlags flags, VkDeviceMemory *out_memory,
                                       uint8_t **out_host) LAP_MUST_CHECK;
/* The same for the replay's own use, which no bound includes. The caller frees it with vkFreeMemory. */
enum lap_status replay_memory_allocate_own(struct replay_device *dev, uint32_t type, VkDeviceSize bytes,
                                           VkDeviceMemory *out_memory, uint8_t **out_host) LAP_MUST_CHECK;
/* Frees memory of replay_memory_allocate; defers that while work is under way. */
void replay_memory_release(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes);
/* Call it before an allocation of `bytes` for an object that requires `required`, and after the end of an object (0,
 * 0). Where deferred memory exceeds the bound, or the limit of allocations, it waits for work, oldest first. */
void replay_memory_wait_for_room(struct replay_device *dev, VkDeviceSize bytes, VkDeviceSize required);

/* The memory of live objects, without deferred memory. */
struct replay_memory_load replay_memory_load(const struct replay_device *dev);

/* The first makes a place of a range of such memory. The second counts its requirements until replay_memory_place_free.
 */
void replay_memory_place_fill(const struct replay_device *dev, uint32_t type, VkDeviceMemory memory,
                              VkDeviceSize memory_bytes, uint8_t *host, VkDeviceSize offset, VkDeviceSize bytes,
                              struct replay_memory_place *out_place);
void replay_memory_place_count(struct replay_device *dev, const struct replay_memory_place *place);

/* The failure of an object for which no allowed type had room: its requirements, the heaps, and the memory in use.
 * Includes the current error sentence. types: from replay_memory_rank_types, count > 0. */
enum lap_status replay_memory_shortage(struct replay *r, const struct replay_device *dev,
                                       const struct replay_memory_needs *needs, const uint32_t *types, uint32_t count);

#endif
