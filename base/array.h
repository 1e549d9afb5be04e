/* SPDX-License-Identifier: MIT */
/* array: arrays that grow. The caller owns the memory and frees it with free(). No locks. */
#ifndef LAP_BASE_ARRAY_H
#define LAP_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LAP_ARRAY_LEAST 16u /* the first capacity */

static inline bool lap_array_grow_to(void *items, size_t item_bytes, size_t *capacity, size_t wanted, size_t most)
{
    size_t more = *capacity ? *capacity : LAP_ARRAY_LEAST;
    void *old, *grown;
    if (wanted <= *capacity)
        return true;
    if (most > SIZE_MAX / item_bytes)
        most = SIZE_MAX / item_bytes;
    if (wanted > most)
        return false;
    while (more < wanted)
        more = more > most / 2 ? most : more * 2;
    memcpy(&old, items, sizeof(old)); /* the caller's pointer has another type */
    if (!(grown = realloc(old, more * item_bytes)))
        return false;
    memcpy(items, &grown, sizeof(grown));
    *capacity = more;
    return true;
}

/* Makes room for `wanted` items of `item_bytes` bytes in the array whose pointer is at `items`; doubles the capacity.
 * New items are not initialised. False: out of memory; the array is unchanged. */
static inline bool lap_array_grow(void *items, size_t item_bytes, size_t *capacity, size_t wanted)
{
    return lap_array_grow_to(items, item_bytes, capacity, wanted, SIZE_MAX);
}

/* The same for a capacity of 32 bits. */
static inline bool lap_array_grow_u32(void *items, size_t item_bytes, uint32_t *capacity, size_t wanted)
{
    size_t bigger = *capacity;
    if (!lap_array_grow_to(items, item_bytes, &bigger, wanted, UINT32_MAX))
        return false;
    *capacity = (uint32_t)bigger;
    return true;
}

#endif
