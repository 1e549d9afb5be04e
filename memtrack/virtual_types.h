/* SPDX-License-Identifier: MIT */
/*
 * virtual_types: virtual memory types (docs/memory.md). Where a machine has only memory types that are both
 * DEVICE_LOCAL and HOST_VISIBLE, types with only one of the two are shown in front of them, so that the program's
 * choice shows which of the two it wants. A type is DEVICE_LOCAL if and only if its heap is (VkMemoryPropertyFlagBits),
 * so that a heap of the device is shown a second time for shown types that are not. Pure functions over small tables;
 * flag values are VkMemoryPropertyFlagBits, given as plain bits so that this module needs no Vulkan header.
 */
#ifndef LAP_MEMTRACK_VIRTUAL_TYPES_H
#define LAP_MEMTRACK_VIRTUAL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#define LAP_TYPES_MAX 32u
#define LAP_HEAPS_MAX 16u

struct lap_type {
    uint32_t flags, heap;
};

struct lap_virtual_types {
    struct lap_type real[LAP_TYPES_MAX], shown[LAP_TYPES_MAX];
    uint32_t real_count, shown_count;
    uint32_t real_of[LAP_TYPES_MAX];            /* [shown] -> real */
    bool split;                                 /* false: shown is real */
    uint32_t real_heap_count, shown_heap_count; /* shown: the real ones, and behind them the host's names for some */
    uint32_t real_heap_of[LAP_HEAPS_MAX];       /* [shown] -> real */
};

struct lap_heaps {
    uint32_t count, local; /* local: a bit for each that is DEVICE_LOCAL */
};

/* Splits where it can (never past 32 types and 16 heaps; the order keeps the rule of VkPhysicalDeviceMemoryProperties
 * that a type whose flags are a subset of another's comes first). real_only shows the machine as it is. */
void lap_virtual_types_init(struct lap_virtual_types *types, const struct lap_type *real, uint32_t real_count,
                            struct lap_heaps heaps, bool real_only);

/* A memoryTypeBits mask as the program sees it; never 0 unless real_mask is 0. */
uint32_t lap_virtual_types_shown_mask(const struct lap_virtual_types *types, uint32_t real_mask);
/* The real index for a shown one; UINT32_MAX when out of range. */
uint32_t lap_virtual_types_real_index(const struct lap_virtual_types *types, uint32_t shown_index);
/* The same for heaps. */
uint32_t lap_virtual_types_real_heap(const struct lap_virtual_types *types, uint32_t shown_heap);

#endif
