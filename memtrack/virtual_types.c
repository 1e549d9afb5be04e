/* SPDX-License-Identifier: MIT */
#include "memtrack/virtual_types.h"

#include <string.h>

/* VkMemoryPropertyFlagBits */
enum {
    DEVICE_LOCAL = 0x1,
    HOST_VISIBLE = 0x2,
    HOST_COHERENT = 0x4,
    HOST_CACHED = 0x8,
    DEVICE_COHERENT_AMD = 0x40,
    DEVICE_UNCACHED_AMD = 0x80,
    PLAIN = DEVICE_LOCAL | HOST_VISIBLE | HOST_COHERENT | HOST_CACHED,
    LAST = DEVICE_COHERENT_AMD | DEVICE_UNCACHED_AMD
};

struct candidate {
    struct lap_type type;
    uint32_t real;
};

/* Lazily allocated, protected, AMD's coherent and uncached, RDMA-capable and later kinds of types: a program takes such
 * a type for that very property, so its choice is clear. */
static bool is_combined(struct lap_type type)
{
    return (type.flags & (DEVICE_LOCAL | HOST_VISIBLE)) == (DEVICE_LOCAL | HOST_VISIBLE) &&
           !(type.flags & ~(uint32_t)PLAIN);
}

/* The shown heap for types that are not DEVICE_LOCAL; UINT32_MAX: there is no room for one. */
static uint32_t host_heap(struct lap_virtual_types *types, uint32_t real, struct lap_heaps heaps)
{
    if (real >= LAP_HEAPS_MAX || !(heaps.local >> real & 1))
        return real;
    for (uint32_t i = types->real_heap_count; i < types->shown_heap_count; i++)
        if (types->real_heap_of[i] == real)
            return i;
    if (types->shown_heap_count == LAP_HEAPS_MAX)
        return UINT32_MAX;
    types->real_heap_of[types->shown_heap_count] = real;
    return types->shown_heap_count++;
}

/* Adds one half of real type `real`, unless the machine has a type of these flags, or it has been added. */
static void add_half(struct candidate *list, uint32_t *count, const struct lap_type *reals, uint32_t real_count,
                     uint32_t real, uint32_t flags)
{
    for (uint32_t i = 0; i < real_count; i++)
        if (reals[i].flags == flags)
            return;
    for (uint32_t i = 0; i < *count; i++)
        if (list[i].type.flags == flags)
            return;
    list[*count].type.flags = flags;
    list[*count].type.heap = reals[real].heap;
    list[(*count)++].real = real;
}

/* VkPhysicalDeviceMemoryProperties: X comes before Y if Y alone has one of AMD's two, or X's flags are a strict subset.
 */
static bool must_precede(struct lap_type x, struct lap_type y)
{
    if (!(x.flags & LAST) != !(y.flags & LAST))
        return !(x.flags & LAST);
    return x.flags != y.flags && (x.flags & ~y.flags) == 0;
}

static bool may_come_next(const struct candidate *list, uint32_t count, uint32_t at)
{
    for (uint32_t i = 0; i < count; i++)
        if (must_precede(list[i].type, list[at].type))
            return false;
    return true;
}

static void show_real(struct lap_virtual_types *types)
{
    memcpy(types->shown, types->real, sizeof(types->shown));
    types->shown_count = types->real_count;
    types->split = false;
    types->shown_heap_count = types->real_heap_count;
    for (uint32_t i = 0; i < types->real_count; i++)
        types->real_of[i] = i;
}

/* False: there is no room for another heap. */
static bool give_heaps(struct lap_virtual_types *types, struct candidate *list, uint32_t count, struct lap_heaps heaps)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].type.flags != types->real[list[i].real].flags && !(list[i].type.flags & DEVICE_LOCAL)) {
            list[i].type.heap = host_heap(types, types->real[list[i].real].heap, heaps);
            if (list[i].type.heap == UINT32_MAX)
                return false;
        }
    return true;
}

void lap_virtual_types_init(struct lap_virtual_types *types, const struct lap_type *real, uint32_t real_count,
                            struct lap_heaps heaps, bool real_only)
{
    struct candidate list[3 * LAP_TYPES_MAX];
    uint32_t count = 0;
    memset(types, 0, sizeof(*types));
    if (real_count > LAP_TYPES_MAX)
        real_count = LAP_TYPES_MAX;
    types->real_count = real_count;
    types->real_heap_count = types->shown_heap_count = heaps.count < LAP_HEAPS_MAX ? heaps.count : LAP_HEAPS_MAX;
    for (uint32_t i = 0; i < types->real_heap_count; i++)
        types->real_heap_of[i] = i;
    if (real_count)
        memcpy(types->real, real, real_count * sizeof(*real));
    for (uint32_t i = 0; i < real_count && !real_only; i++) { /* halves right before the type that they are of */
        if (is_combined(real[i])) {
            add_half(list, &count, real, real_count, i, DEVICE_LOCAL);
            add_half(list, &count, real, real_count, i, real[i].flags & ~(uint32_t)DEVICE_LOCAL);
        }
        list[count].type = real[i];
        list[count++].real = i;
    }
    if (count <= real_count || count > LAP_TYPES_MAX || !give_heaps(types, list, count, heaps)) {
        show_real(types);
        return;
    }
    /* Takes the first type that no remaining one has to precede. The rule is a partial order, so there is one. */
    types->split = true;
    while (count) {
        uint32_t at = 0;
        while (!may_come_next(list, count, at))
            at++;
        types->shown[types->shown_count] = list[at].type;
        types->real_of[types->shown_count++] = list[at].real;
        memmove(&list[at], &list[at + 1], (--count - at) * sizeof(*list));
    }
}

static uint32_t all_of(uint32_t count)
{
    return count >= 32 ? UINT32_MAX : (1u << count) - 1;
}

uint32_t lap_virtual_types_shown_mask(const struct lap_virtual_types *types, uint32_t real_mask)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < types->shown_count; i++)
        if (real_mask >> types->real_of[i] & 1)
            shown |= 1u << i;
    /* Only bits of types that don't exist: a driver's error, and no reason to report that no type will do. */
    return shown || !real_mask ? shown : all_of(types->shown_count);
}

uint32_t lap_virtual_types_real_index(const struct lap_virtual_types *types, uint32_t shown_index)
{
    return shown_index < types->shown_count ? types->real_of[shown_index] : UINT32_MAX;
}

uint32_t lap_virtual_types_real_heap(const struct lap_virtual_types *types, uint32_t shown_heap)
{
    return shown_heap < types->shown_heap_count ? types->real_heap_of[shown_heap] : UINT32_MAX;
}
