/* SPDX-License-Identifier: MIT */
/* Lists of touched ranges. No lock: objects don't change in what is read here (order, bytes). */
#include <stdlib.h>
#include <string.h>

#include "memtrack/internal.h"

void lap_touched_init(struct lap_touched *touched)
{
    *touched = (struct lap_touched){0};
}

void lap_touched_finish(struct lap_touched *touched)
{
    free(touched->ranges);
    *touched = (struct lap_touched){0};
}

void lap_touched_reset(struct lap_touched *touched)
{
    touched->count = 0;
    touched->everything = false;
}

/* By the order of creation, so that a trace does not depend on addresses; written ranges after read ones. */
static int compare_ranges(const void *a, const void *b)
{
    const struct lap_touched_range *x = a, *y = b;
    if (x->object != y->object)
        return x->object->order < y->object->order ? -1 : 1;
    if (x->written != y->written)
        return x->written ? 1 : -1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool extend(struct lap_touched_range *range, const struct lap_touched_range *more)
{
    uint64_t end = more->offset + more->bytes;
    if (range->object != more->object || range->written != more->written || more->offset < range->offset ||
        more->offset > range->offset + range->bytes)
        return false;
    if (end > range->offset + range->bytes)
        range->bytes = end - range->offset;
    return true;
}

void lap_touched_seal(struct lap_touched *touched)
{
    size_t kept = 0;
    if (touched->count < 2)
        return;
    qsort(touched->ranges, touched->count, sizeof(*touched->ranges), compare_ranges);
    for (size_t i = 1; i < touched->count; i++)
        if (!extend(&touched->ranges[kept], &touched->ranges[i]))
            touched->ranges[++kept] = touched->ranges[i];
    touched->count = kept + 1;
}

static bool grow(struct lap_touched *touched)
{
    size_t capacity = touched->capacity ? touched->capacity * 2 : 8;
    struct lap_touched_range *ranges;
    /* A command buffer with many draws names the same few ranges again and again. */
    lap_touched_seal(touched);
    if (touched->count < touched->capacity / 2)
        return true;
    ranges = capacity > SIZE_MAX / sizeof(*ranges) ? NULL : realloc(touched->ranges, capacity * sizeof(*ranges));
    if (!ranges)
        return touched->count < touched->capacity;
    touched->ranges = ranges;
    touched->capacity = capacity;
    return true;
}

bool lap_touched_add(struct lap_touched *touched, struct lap_memobj *object, uint64_t offset, uint64_t bytes,
                     bool written)
{
    struct lap_touched_range range = {object, offset, bytes, written};
    if (offset >= object->bytes || bytes == 0)
        return true;
    if (bytes > object->bytes - offset)
        range.bytes = object->bytes - offset;
    if (touched->count && extend(&touched->ranges[touched->count - 1], &range))
        return true;
    if (touched->count == touched->capacity && !grow(touched))
        return false;
    touched->ranges[touched->count++] = range;
    return true;
}

bool lap_touched_append(struct lap_touched *touched, const struct lap_touched *more)
{
    if (more->everything)
        touched->everything = true;
    for (size_t i = 0; i < more->count; i++) {
        const struct lap_touched_range *range = &more->ranges[i];
        if (!lap_touched_add(touched, range->object, range->offset, range->bytes, range->written))
            return false;
    }
    return true;
}
