/* SPDX-License-Identifier: MIT */
/*
 * planner: what the files of the memory planner share (memory.c, blocks.c, memory_type.c, staging.c, shortage.c).
 * Nobody else includes this.
 */
#ifndef LAP_REPLAYER_PLANNER_H
#define LAP_REPLAYER_PLANNER_H

#include "base/map.h"
#include "replayer/byte_buffer.h"
#include "replayer/lifetime.h"
#include "replayer/memory.h"
#include "replayer/staging.h"

/* What objects of a sort took here that lie in cells, and when they were recorded. */
struct replay_sort_figures {
    uint64_t bytes, recorded_bytes;
    uint64_t least_alignment, most_alignment;
    uint64_t alignments, objects; /* sum and count */
};

struct replay_planner {
    struct replay *r;
    struct lap_map classes;              /* blocks.c: by their cell */
    struct replay_memory_class **ending; /* of these, a heap by their end */
    size_t ending_count, ending_capacity;
    uint64_t cell_blocks; /* allocations of cells */
    uint64_t expecting;   /* classes whose end is not certain yet */
    uint64_t settled;     /* replay_lifetimes_settled when these were last looked at */
    struct replay_sort_figures sorts[REPLAY_SORTS];
    VkDeviceSize atom, granularity;
    uint32_t max_allocations; /* maxMemoryAllocationCount */
    bool has_requirements2;
    struct replay_memory_stats stats; /* with all that the driver has not freed yet */
    struct replay_memory_use aside;   /* of these: freed by the trace, while work is under way (pending.h) */
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

/* VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT, which older registries lack. */
#define REPLAY_ALLOCATE_ZERO_INITIALIZE ((VkMemoryAllocateFlags)0x8)

/* As memory is allocated for most: where a device has addresses any object may come to lie that has one, and where it
 * zeroes memory any that has to begin as zeroes. */
static inline VkMemoryAllocateFlags replay_usual_flags(const struct replay_device *dev)
{
    return (dev->has_address_memory ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0) |
           (dev->zeroes_memory ? REPLAY_ALLOCATE_ZERO_INITIALIZE : 0);
}

/* The same for the trace's objects: counted. flags: of VkMemoryAllocateFlagsInfo; 0: none. */
enum lap_status replay_memory_take(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                   VkMemoryAllocateFlags flags, VkDeviceMemory *out_memory,
                                   uint8_t **out_host) LAP_MUST_CHECK;
/* While work is under way it is put aside, and counts until the driver frees it. */
void replay_memory_give(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes);
/* Frees what was put aside: pending.c. */
void replay_memory_free(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes);
/* Before such memory is taken, for an object that requires so much of it, and after an object has ended (0, 0): where
 * all that is allocated would pass the bound, or its number the limit, because of what was put aside, work is waited
 * for, from the oldest on, until it does not. */
void replay_memory_make_way(struct replay_device *dev, VkDeviceSize bytes, VkDeviceSize required);
/* A run of such memory as a place; and what it requires is counted until replay_place_free. */
void replay_place_fill(const struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize memory_bytes,
                       uint8_t *host, VkDeviceSize offset, VkDeviceSize bytes, struct replay_place *out_place);
void replay_place_count(struct replay_device *dev, const struct replay_place *place);

/* What is allocated for objects that are alive. */
static inline struct replay_memory_use replay_memory_alive(const struct replay_device *dev)
{
    const struct replay_planner *planner = dev->planner;
    return (struct replay_memory_use){planner->stats.allocations - planner->aside.allocations,
                                      planner->stats.allocated_bytes - planner->aside.allocated_bytes,
                                      planner->stats.used_bytes};
}
/* What may be allocated for objects that require so much: a quarter more. */
static inline uint64_t replay_memory_bound(uint64_t required_bytes)
{
    return required_bytes + required_bytes / 4;
}

/* ---- blocks.c: what small objects share ---- */

struct replay_block {
    VkDeviceMemory memory;
    VkDeviceSize bytes;
    uint32_t type;
    uint8_t *host;
    struct replay_byte_buffer whole; /* over it, where something is zeroed that the host can't see */
    bool has_no_buffer;              /* none can lie there */
};

/* How many allocations are made use of, though a device allows more. */
static inline uint32_t replay_most_allocations(const struct replay_planner *planner)
{
    uint32_t most = planner->max_allocations;
    return most == 0 ? 1 : most < REPLAY_MOST_ALLOCATIONS ? most : REPLAY_MOST_ALLOCATIONS;
}

static inline uint64_t replay_count_limit(const struct replay_device *dev)
{
    return replay_most_allocations(dev->planner);
}
/* Allocations other than those of cells, and how many there can be of them. */
struct replay_allocations {
    uint64_t count, limit;
};
struct replay_allocations replay_unplanned(const struct replay_device *dev);
/* The object's or group's, as far as that is known yet; REPLAY_CELL_ALONE, REPLAY_CELL_UNKNOWN. */
uint32_t replay_cell_of(const struct replay_device *dev, const struct replay_needs *needs);
/* The object or group lies elsewhere: its cell needs no room for it. */
void replay_blocks_miss(struct replay_device *dev, const struct replay_needs *needs);
VkDeviceSize replay_max_block_bytes(const struct replay_device *dev, uint32_t type);

/* A range of a block: sets out_place->pool and range. */
enum lap_status replay_blocks_alloc(struct replay_device *dev, const struct replay_needs *needs, uint32_t type,
                                    struct replay_place *out_place, struct replay_block *out_block) LAP_MUST_CHECK;
void replay_blocks_free(struct replay_device *dev, struct replay_place *place);
/* Blocks that nobody uses end where there is more than the bound. */
void replay_blocks_trim(struct replay_device *dev);
void replay_blocks_finish(struct replay_device *dev);
/* Looks for ends that are only expected so far; when something is freed, and now and then. */
void replay_blocks_look(struct replay_device *dev);

/* ---- shortage.c ---- */

/* The failure of an object that no allowed type had room for: what it needs, what there is, and what is in use. The
 * current error sentence becomes a part of it. types: as replay_rank_types gave them, count > 0. */
enum lap_status replay_shortage(struct replay *r, const struct replay_device *dev, const struct replay_needs *needs,
                                const uint32_t *types, uint32_t count);

#endif
