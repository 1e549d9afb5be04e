/* SPDX-License-Identifier: MIT */
/*
 * planner: what the files of the memory planner share (memory.c, memory_type.c, staging.c, shortage.c). Nobody else
 * includes this.
 */
#ifndef LAP_REPLAYER_PLANNER_H
#define LAP_REPLAYER_PLANNER_H

#include "replayer/memory.h"
#include "replayer/staging.h"

/* Linear and optimal resources lie in different blocks where the device has a bufferImageGranularity. */
struct replay_memory_pool {
    struct replay_device *dev;
    uint32_t type;
    struct replay_pool *pool;
};

struct replay_planner {
    struct replay_memory_pool pools[VK_MAX_MEMORY_TYPES][2]; /* [..][optimal] */
    VkDeviceSize atom, granularity;
    uint32_t max_allocations; /* maxMemoryAllocationCount */
    bool has_requirements2;
    struct replay_memory_stats stats;
    struct lap_readback readback;
    struct replay_staging *staging; /* staging.c; NULL until something is staged */
};

static inline VkMemoryPropertyFlags replay_type_flags(const struct replay_device *dev, uint32_t type)
{
    return dev->instance->memory.memoryTypes[type].propertyFlags;
}

/* ---- memory_type.c ---- */

/* The types that an object may lie in, best first; the count. */
uint32_t replay_rank_types(const struct replay_device *dev, const struct replay_needs *needs,
                           uint32_t out_types[VK_MAX_MEMORY_TYPES]);

/* ---- memory.c: an allocation of the driver; what the host can see is mapped ---- */

enum lap_status replay_memory_acquire(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                      VkDeviceMemory *out_memory, uint8_t **out_host) LAP_MUST_CHECK;

/* The same for the trace's objects: counted. flags: of VkMemoryAllocateFlagsInfo; 0: none. */
enum lap_status replay_memory_take(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                   VkMemoryAllocateFlags flags, VkDeviceMemory *out_memory,
                                   uint8_t **out_host) LAP_MUST_CHECK;
void replay_memory_give(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes);
/* A run of such memory as a place; and what it requires is counted until replay_place_free. */
void replay_place_fill(const struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize memory_bytes,
                       uint8_t *host, VkDeviceSize offset, VkDeviceSize bytes, struct replay_place *out_place);
void replay_place_count(struct replay_device *dev, const struct replay_place *place);

/* ---- shortage.c ---- */

/* The failure of an object that no allowed type had room for: what it needs, what there is, and what is in use. The
 * current error sentence becomes a part of it. types: as replay_rank_types gave them, count > 0. */
enum lap_status replay_shortage(struct replay *r, const struct replay_device *dev, const struct replay_needs *needs,
                                const uint32_t *types, uint32_t count);

#endif
