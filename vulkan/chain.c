/* SPDX-License-Identifier: MIT */
#include "vulkan/chain.h"

void lap_chain_drop(const void **head, const VkStructureType *types, size_t count)
{
    VkBaseInStructure first = {.pNext = *head}, *last = &first;

    while (last->pNext) {
        VkBaseInStructure *s = (VkBaseInStructure *)(uintptr_t)last->pNext;
        bool drop = false;
        for (size_t i = 0; i < count; i++)
            drop |= s->sType == types[i];
        if (drop)
            last->pNext = s->pNext;
        else
            last = s;
    }
    *head = first.pNext;
}

const void *lap_chain_find(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s; s = s->pNext)
        if (s->sType == type)
            return s;
    return NULL;
}

const uint64_t *lap_chain_present_ids(const VkPresentInfoKHR *info, uint32_t *out_count)
{
    const VkPresentIdKHR *ids = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PRESENT_ID_KHR);

    *out_count = ids && ids->pPresentIds ? ids->swapchainCount : 0;
#ifdef VK_KHR_present_id2
    const VkPresentId2KHR *newer = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PRESENT_ID_2_KHR);
    if (newer && newer->pPresentIds) {
        *out_count = newer->swapchainCount;
        return newer->pPresentIds;
    }
#endif
    return *out_count ? ids->pPresentIds : NULL;
}

uint64_t lap_chain_buffer_usage(const VkBufferCreateInfo *info)
{
    /* VkBufferUsageFlags2CreateInfo, which older headers lack */
    const struct {
        VkStructureType type;
        const void *next;
        uint64_t usage;
    } *replaced = lap_chain_find(info->pNext, (VkStructureType)1000470006);

    return replaced ? replaced->usage : info->usage;
}
