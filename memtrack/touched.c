/* SPDX-License-Identifier: MIT */
/* Lists of touched ranges. No lock: the fields of objects read here (order, bytes) don't change, and they are read only
 * when a range is added. */
#include <stdlib.h>
#include <string.h>

#include "memtrack/memtrack_internal.h"

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
static inline bool comes_before(const struct lap_touched_range *x, const struct lap_touched_range *y)
{
    if (x->order != y->order)
        return x->order < y->order;
    if (x->written != y->written)
        return y->written;
    return x->offset < y->offset;
}

static int compare_ranges(const void *a, const void *b)
{
    return comes_before(a, b) ? -1 : comes_before(b, a);
}

/* The end of the run that begins at `at`: ranges that are sorted already, or few enough for an insertion sort. */
static size_t make_run(struct lap_touched_range *ranges, size_t at, size_t count)
{
    enum { FEW = 12 };
    size_t end = at + 1;
    while (end < count && !comes_before(&ranges[end], &ranges[end - 1]))
        end++;
    for (; end < count && end - at < FEW; end++) {
        struct lap_touched_range range = ranges[end];
        size_t place = end;
        for (; place > at && comes_before(&range, &ranges[place - 1]); place--)
            ranges[place] = ranges[place - 1];
        ranges[place] = range;
    }
    return end;
}

/* Two runs that lie one behind the other become one in `out`. */
static void merge_runs(const struct lap_touched_range *ranges, size_t at, size_t middle, size_t end,
                       struct lap_touched_range *out)
{
    size_t second = middle;
    for (size_t i = at; i < end; i++)
        out[i] = second == end || (at < middle && !comes_before(&ranges[second], &ranges[at])) ? ranges[at++]
                                                                                               : ranges[second++];
}

/* Command buffers are sealed, so the list consists of runs; and no function is called for each comparison. False: there
 * is no memory. */
static bool sort_by_runs(struct lap_touched_range *ranges, size_t count)
{
    struct lap_touched_range *other = malloc(count * sizeof(*other)), *from = ranges, *to = other;
    size_t *ends = malloc((count / 2 + 2) * sizeof(*ends)), runs = 0;
    bool good = other && ends;
    for (size_t at = 0; good && at < count; at = ends[runs++])
        ends[runs] = make_run(ranges, at, count);
    while (good && runs > 1) {
        size_t at = 0, merged = 0;
        for (size_t i = 0; i < runs; i += 2) {
            size_t end = i + 1 < runs ? ends[i + 1] : ends[i];
            merge_runs(from, at, ends[i], end, to);
            at = ends[merged++] = end;
        }
        runs = merged;
        struct lap_touched_range *swap = from;
        from = to;
        to = swap;
    }
    if (good && from != ranges)
        memcpy(ranges, from, count * sizeof(*ranges));
    free(other);
    free(ends);
    return good;
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
    /* Nearly always it is: command buffers are sealed when they are recorded. */
    if (!is_sorted(touched) && !sort_by_runs(touched->ranges, touched->count))
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
