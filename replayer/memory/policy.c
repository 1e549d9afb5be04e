/* SPDX-License-Identifier: MIT */
#include "replayer/memory/policy.h"

#define KIB     ((VkDeviceSize)1 << 10)
#define MIB     ((VkDeviceSize)1 << 20)

#define VISIBLE VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
#define LOCAL   VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define LAZY    VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT

/* ---- memory types ---- */

/* An object gets these types only if the program chose them: they behave differently, or need an enabled feature. */
#define SPECIAL                                                                                                        \
    (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |                                   \
     VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD | VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)

/* The suitability of a type: larger is better. */
static int score_of(VkMemoryPropertyFlags flags, const struct replay_memory_needs *needs)
{
    VkMemoryPropertyFlags wanted = needs->wanted;
    int score = 0;

    /* Data that the host reads or writes should be host-visible; otherwise each access goes through staging. All other
     * data should stay out of device memory that is host-visible: it is scarce. */
    if ((flags & VISIBLE) == (wanted & VISIBLE))
        score += 32;
    else if (wanted & VISIBLE)
        return 0;
    if ((flags & LOCAL) == (wanted & LOCAL))
        score += 16;
    if (!(wanted & VISIBLE) && (flags & LOCAL))
        score += 24;
    if ((wanted & VISIBLE) && (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
        score += 8;
    if ((flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) == (wanted & VK_MEMORY_PROPERTY_HOST_CACHED_BIT))
        score += 4;
    /* A transient attachment needs no storage for its contents. */
    if (needs->transient && (flags & LAZY))
        score += 64;
    else if ((flags & LAZY) == (wanted & LAZY))
        score += 2;
    if ((flags & SPECIAL) == (wanted & SPECIAL))
        score += 1;
    return score;
}

static uint32_t rank(const VkPhysicalDeviceMemoryProperties *memory, const struct replay_memory_needs *needs,
                     VkMemoryPropertyFlags refused, uint32_t out_types[VK_MAX_MEMORY_TYPES])
{
    int scores[VK_MAX_MEMORY_TYPES];
    uint32_t count = 0;

    for (uint32_t type = 0; type < memory->memoryTypeCount; type++) {
        VkMemoryPropertyFlags flags = memory->memoryTypes[type].propertyFlags;
        uint32_t at = count;
        int score;
        if (!(needs->requirements.memoryTypeBits >> type & 1) || flags & refused)
            continue;
        score = score_of(flags, needs);
        for (; at > 0 && scores[at - 1] < score; at--) {
            scores[at] = scores[at - 1];
            out_types[at] = out_types[at - 1];
        }
        scores[at] = score;
        out_types[at] = type;
        count++;
    }
    return count;
}

uint32_t replay_memory_rank_types(const VkPhysicalDeviceMemoryProperties *memory,
                                  const struct replay_memory_needs *needs, uint32_t out_types[VK_MAX_MEMORY_TYPES])
{
    uint32_t count = rank(memory, needs, SPECIAL & ~needs->wanted, out_types);

    /* A protected object requires protected memory, even if the program chose other memory. */
    return count ? count : rank(memory, needs, SPECIAL & ~needs->wanted & ~VK_MEMORY_PROPERTY_PROTECTED_BIT, out_types);
}

/* ---- own allocation, or range of a block ---- */

/* The replay makes at most this many allocations, even if the device allows more: kernels are slow with many. */
#define MOST_ALLOCATIONS 4096u
/* Below this number of allocations each object has its own, unless FEW_CHANGES were made already. */
#define FEW_ALLOCATIONS 256u
#define FEW_CHANGES     1024u
/* Smaller objects share blocks. */
#define SMALL_BYTES (64 * KIB)

uint32_t replay_memory_allocation_limit(uint32_t max_allocations)
{
    return max_allocations == 0 ? 1 : max_allocations < MOST_ALLOCATIONS ? max_allocations : MOST_ALLOCATIONS;
}

/* The size below which objects share blocks doubles with each sixteenth of the allocation limit that is in use. */
static VkDeviceSize small_bytes(const struct replay_memory_load *load)
{
    uint64_t used = load->allocations < load->limit ? load->allocations : load->limit;

    return SMALL_BYTES << 16 * used / load->limit;
}

bool replay_memory_lies_alone(const struct replay_memory_load *load, const struct replay_memory_needs *needs,
                              VkDeviceSize heap_bytes)
{
    VkDeviceSize bytes = needs->requirements.size;

    if (needs->alone || needs->own || bytes > replay_memory_max_block_bytes(heap_bytes) / 2)
        return true;
    /* The second half of the allocations is for blocks, and for objects that need their own. */
    if (load->allocations >= load->limit / 2)
        return false;
    if (needs->dedicated)
        return true;
    if (load->allocations < load->limit / 8 && load->allocations < FEW_ALLOCATIONS &&
        load->made_allocations < FEW_CHANGES)
        return true;
    return bytes >= small_bytes(load);
}

/* ---- blocks ---- */

/* A block is at least this much larger than its first object, if the bound leaves room. */
#define MIN_GROWTH_BYTES (64 * KIB)
#define MAX_BLOCK_BYTES  (64 * MIB)

/* At most an eighth of the heap: then objects share a small heap, such as a window into device memory, fairly. */
VkDeviceSize replay_memory_max_block_bytes(VkDeviceSize heap_bytes)
{
    VkDeviceSize bytes = heap_bytes / 8;

    return bytes > MAX_BLOCK_BYTES ? MAX_BLOCK_BYTES : bytes < MIB ? MIB : bytes;
}

uint64_t replay_memory_bound(uint64_t required_bytes)
{
    return required_bytes + required_bytes / 4;
}

/* The extra room of a block equals the size of its list's blocks so far, but at most half of the room that the bound
 * leaves. When few allocations are left, larger blocks exceed the bound: this saves allocations. */
VkDeviceSize replay_memory_block_bytes(const struct replay_memory_load *load, VkDeviceSize need_bytes,
                                       VkDeviceSize held_bytes)
{
    uint64_t bound = replay_memory_bound(load->required_bytes + need_bytes);
    uint64_t allocated = load->allocated_bytes + need_bytes;
    uint64_t room = bound > allocated ? (bound - allocated) / 2 : 0;
    uint64_t most = held_bytes > MIN_GROWTH_BYTES ? held_bytes : MIN_GROWTH_BYTES;
    uint64_t least = load->allocations >= load->limit / 4 ? small_bytes(load) : 0;

    room = room < most ? room : most;
    return need_bytes + (room < least ? least : room);
}

/* ---- the bound ---- */

#define FLOOR_BYTES MIB /* smaller requirements count as this much for the bound of deferred memory */

bool replay_memory_is_past_bound(const struct replay_memory_load *load)
{
    return load->allocated_bytes > replay_memory_bound(load->required_bytes);
}

uint64_t replay_memory_deferrable_bytes(const struct replay_memory_load *load)
{
    uint64_t bound = replay_memory_bound(load->required_bytes > FLOOR_BYTES ? load->required_bytes : FLOOR_BYTES);

    /* If live objects alone exceed the bound, deferred memory may take a fifth of the bound. */
    return bound > load->allocated_bytes ? bound - load->allocated_bytes : bound / 5;
}
