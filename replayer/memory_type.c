/* SPDX-License-Identifier: MIT */
/* Which memory type suits an object: docs/memory.md, "Where a replay puts objects". */
#include "replayer/planner.h"

#define VISIBLE VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
#define LOCAL   VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define LAZY    VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT

/* Types for those who ask for them: they behave otherwise, or need a feature to be enabled. */
#define SPECIAL                                                                                                        \
    (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |                                   \
     VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD | VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)

/* How well a type suits: larger is better. */
static int score_of(VkMemoryPropertyFlags flags, const struct replay_needs *needs)
{
    VkMemoryPropertyFlags wanted = needs->wanted;
    int score = 0;

    /* What the host writes or reads had better be visible: everything else goes through staging. What it does not had
     * better stay out of scarce visible device memory. */
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
    /* Of what is stored nowhere, memory is best that need not be there. */
    if (needs->transient && (flags & LAZY))
        score += 64;
    else if ((flags & LAZY) == (wanted & LAZY))
        score += 2;
    if ((flags & SPECIAL) == (wanted & SPECIAL))
        score += 1;
    return score;
}

static uint32_t rank(const struct replay_device *dev, const struct replay_needs *needs, VkMemoryPropertyFlags refused,
                     uint32_t out_types[VK_MAX_MEMORY_TYPES])
{
    int scores[VK_MAX_MEMORY_TYPES];
    uint32_t count = 0;

    for (uint32_t type = 0; type < dev->instance->memory.memoryTypeCount; type++) {
        VkMemoryPropertyFlags flags = replay_type_flags(dev, type);
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

uint32_t replay_rank_types(const struct replay_device *dev, const struct replay_needs *needs,
                           uint32_t out_types[VK_MAX_MEMORY_TYPES])
{
    uint32_t count = rank(dev, needs, SPECIAL & ~needs->wanted, out_types);

    /* Protected objects may lie in protected memory only, whatever it is that the program asked for. */
    return count ? count : rank(dev, needs, SPECIAL & ~needs->wanted & ~VK_MEMORY_PROPERTY_PROTECTED_BIT, out_types);
}
