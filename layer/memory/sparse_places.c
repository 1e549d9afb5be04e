/* SPDX-License-Identifier: MIT */
#include "layer/memory/sparse_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The part of a place before `end`, or from `begin` on. */
static struct layer_sparse_place cut(const struct layer_sparse_place *place, uint64_t begin, uint64_t end)
{
    struct layer_sparse_place left = *place;

    if (begin > left.offset) {
        left.memory_offset += begin - left.offset;
        left.bytes -= begin - left.offset;
        left.offset = begin;
    }
    if (end < left.offset + left.bytes)
        left.bytes = end - left.offset;
    return left;
}

/* The first one that ends behind the offset. */
static uint32_t find(const struct layer_sparse_places *places, uint64_t offset)
{
    uint32_t first = 0, end = places->count;

    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (places->items[middle].offset + places->items[middle].bytes <= offset)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

bool layer_sparse_places_set(struct layer_sparse_places *places, const struct layer_sparse_place *place)
{
    const uint64_t end = place->offset + place->bytes;
    struct layer_sparse_place parts[3];
    uint32_t first = find(places, place->offset), last, count = 0;

    if (!place->bytes)
        return true;
    for (last = first; last < places->count && places->items[last].offset < end;)
        last++;
    if (first < last && places->items[first].offset < place->offset)
        parts[count++] = cut(&places->items[first], 0, place->offset);
    if (place->memory)
        parts[count++] = *place;
    if (first < last && places->items[last - 1].offset + places->items[last - 1].bytes > end)
        parts[count++] = cut(&places->items[last - 1], end, UINT64_MAX);
    if (!lap_array_grow_u32(&places->items, sizeof *places->items, &places->capacity,
                            (size_t)places->count - (last - first) + count)) {
        layer_sparse_places_finish(places);
        return false;
    }
    if (places->items) {
        memmove(&places->items[first + count], &places->items[last], (places->count - last) * sizeof *places->items);
        memcpy(&places->items[first], parts, count * sizeof *parts);
    }
    places->count = places->count - (last - first) + count;
    return true;
}

void layer_sparse_places_finish(struct layer_sparse_places *places)
{
    free(places->items);
    *places = (struct layer_sparse_places){0};
}

bool layer_sparse_pages_set(struct layer_sparse_pages **pages, bool metadata, const struct layer_sparse_place *place)
{
    if (!*pages)
        *pages = calloc(1, sizeof **pages);
    return *pages && layer_sparse_places_set(metadata ? &(*pages)->metadata : &(*pages)->places, place);
}

void layer_sparse_pages_destroy(struct layer_sparse_pages *pages)
{
    if (!pages)
        return;
    layer_sparse_places_finish(&pages->places);
    layer_sparse_places_finish(&pages->metadata);
    free(pages);
}
