/* SPDX-License-Identifier: MIT */
/* Lists of touched ranges. No lock: objects don't change in what is read here (order, bytes), and only when they are
 * added. */
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
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
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

static bool is_sorted(const struct lap_touched *touched)
{
    for (size_t i = 1; i < touched->count; i++)
        if (compare_ranges(&touched->ranges[i - 1], &touched->ranges[i]) > 0)
            return false;
    return true;
}

void lap_touched_seal(struct lap_touched *touched)
{
    size_t kept = 0;
    if (touched->count < 2)
        return;
    if (!is_sorted(touched)) /* nearly always it is: command buffers are sealed when they are recorded */
        qsort(touched->ranges, touched->count, sizeof(*touched->ranges), compare_ranges);
    for (size_t i = 1; i < touched->count; i++)
        if (!extend(&touched->ranges[kept], &touched->ranges[i]))
            touched->ranges[++kept] = touched->ranges[i];
    touched->count = kept + 1;
}

static bool reserve(struct lap_touched *touched, size_t capacity)
{
    struct lap_touched_range *ranges =
        capacity > SIZE_MAX / sizeof(*ranges) ? NULL : realloc(touched->ranges, capacity * sizeof(*ranges));
    if (!ranges)
        return false;
    touched->ranges = ranges;
    touched->capacity = capacity;
    return true;
}

static bool grow(struct lap_touched *touched)
{
    /* A command buffer with many draws names the same few ranges again and again. */
    lap_touched_seal(touched);
    if (touched->count < touched->capacity / 2)
        return true;
    return reserve(touched, touched->capacity ? touched->capacity * 2 : 8) || touched->count < touched->capacity;
}

bool lap_touched_add(struct lap_touched *touched, struct lap_memobj *object, uint64_t offset, uint64_t bytes,
                     bool written)
{
    struct lap_touched_range range = {object, offset, bytes, written, object->order};
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
    const struct lap_touched_range *ranges = more->ranges;
    size_t count = more->count;
    if (more->everything)
        touched->everything = true;
    for (; count && touched->count && extend(&touched->ranges[touched->count - 1], ranges); count--)
        ranges++;
    if (count > touched->capacity - touched->count) {
        size_t needed, doubled = touched->capacity * 2;
        lap_touched_seal(touched); /* secondary command buffers may be executed again and again */
        needed = touched->count + count;
        if (needed > touched->capacity / 2 && !reserve(touched, needed > doubled ? needed : doubled) &&
            needed > touched->capacity)
            return false;
    }
    if (count)
        memcpy(touched->ranges + touched->count, ranges, count * sizeof(*ranges));
    touched->count += count;
    return true;
}
