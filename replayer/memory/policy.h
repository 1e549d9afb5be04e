/* SPDX-License-Identifier: MIT */
/*
 * policy: where objects lie. It decides which memory types suit an object, whether the object gets an
 * allocation of its own or a range of a shared block, how large a block is, and how much may be allocated. It has all
 * numbers of that policy, makes no Vulkan calls and has no state. docs/memory.md, "Where a replay puts objects". Any
 * thread.
 */
#ifndef LAP_REPLAYER_MEMORY_POLICY_H
#define LAP_REPLAYER_MEMORY_POLICY_H

#include "replayer/memory/memory.h"

/* The memory of live objects. */
struct replay_memory_load {
    uint64_t allocations, limit; /* limit: the most allocations */
    uint64_t made_allocations;   /* so far */
    uint64_t allocated_bytes, required_bytes;
};

/* The memory types that an object may use, best first. Returns their count; 0: there is none. */
uint32_t replay_memory_rank_types(const VkPhysicalDeviceMemoryProperties *memory,
                                  const struct replay_memory_needs *needs, uint32_t out_types[VK_MAX_MEMORY_TYPES]);

/* How many allocations a replay makes at once on a device that allows max_allocations of them; at least 1. */
uint32_t replay_memory_allocation_limit(uint32_t max_allocations);

/* Whether an object gets an allocation of its own, which is exactly as large as the object. */
bool replay_memory_lies_alone(const struct replay_memory_load *load, const struct replay_memory_needs *needs,
                              VkDeviceSize heap_bytes);

/* The size of the largest shared block in a heap, in bytes. */
VkDeviceSize replay_memory_max_block_bytes(VkDeviceSize heap_bytes);
/* The size of a new shared block for an object of need_bytes. held_bytes: of the blocks that such objects share now. */
VkDeviceSize replay_memory_block_bytes(const struct replay_memory_load *load, VkDeviceSize need_bytes,
                                       VkDeviceSize held_bytes);

/* How much memory may be allocated, while the device has work, for objects that require so much: a quarter more. */
uint64_t replay_memory_bound(uint64_t required_bytes);
/* Whether more is allocated than the bound allows. Then empty shared blocks are freed. */
bool replay_memory_is_past_bound(const struct replay_memory_load *load);
/* How much deferred memory (of ended objects) may be allocated in addition. */
uint64_t replay_memory_deferrable_bytes(const struct replay_memory_load *load);

#endif
