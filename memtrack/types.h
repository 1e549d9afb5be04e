/* SPDX-License-Identifier: MIT */
/*
 * types: virtual memory types (docs/memory.md). Where a machine has only memory types that are both DEVICE_LOCAL and
 * HOST_VISIBLE, types with only one of the two are shown in front of them, so that the program's choice tells which of
 * the two it wants. Pure functions over small tables; flag values are
 * VkMemoryPropertyFlagBits, given as plain bits so that this module needs no Vulkan header.
 */
#ifndef LAP_MEMTRACK_TYPES_H
#define LAP_MEMTRACK_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#define LAP_TYPES_MAX 32u

struct lap_type {
    uint32_t flags, heap;
};

struct lap_types {
    struct lap_type real[LAP_TYPES_MAX], shown[LAP_TYPES_MAX];
    uint32_t real_count, shown_count;
    uint32_t real_of[LAP_TYPES_MAX]; /* [shown] -> real */
    bool split;                      /* false: shown is real */
};

/* Splits where it can (never past 32 types; the order keeps the rule of VkPhysicalDeviceMemoryProperties that a type
 * whose flags are a subset of another's comes first). real_only shows the machine as it is. */
void lap_types_init(struct lap_types *types, const struct lap_type *real, uint32_t real_count, bool real_only);

/* A memoryTypeBits mask as the program sees it; never 0 unless real_mask is 0. */
uint32_t lap_types_shown_mask(const struct lap_types *types, uint32_t real_mask);
/* The way back: the real types behind a mask of shown ones; never 0 unless shown_mask is 0. */
uint32_t lap_types_real_mask(const struct lap_types *types, uint32_t shown_mask);
/* The real index for a shown one; UINT32_MAX when out of range. */
uint32_t lap_types_real_index(const struct lap_types *types, uint32_t shown_index);

#endif
