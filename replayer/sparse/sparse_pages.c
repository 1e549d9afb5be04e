/* SPDX-License-Identifier: MIT */
#include "replayer/sparse/sparse_pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The first run that ends after `offset`. */
static size_t first_behind(const struct replay_sparse_pages *pages, uint64_t offset)
{
    size_t low = 0, high = pages->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pages->runs[middle].offset + pages->runs[middle].bytes > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Room for two more runs: cutting a range out of a run leaves one on either side. */
static bool reserve(struct replay_sparse_pages *pages)
{
    return lap_array_grow(&pages->runs, sizeof *pages->runs, &pages->capacity, pages->count + 2);
}

static void insert(struct replay_sparse_pages *pages, size_t at, struct replay_sparse_run run)
{
    memmove(pages->runs + at + 1, pages->runs + at, (pages->count - at) * sizeof run);
    pages->runs[at] = run;
    pages->count++;
}

/* Removes [begin, end) from the runs. Returns the index at which a run there would be inserted. */
static size_t cut(struct replay_sparse_pages *pages, uint64_t begin, uint64_t end)
{
    size_t at = first_behind(pages, begin), last;

    if (at < pages->count && pages->runs[at].offset < begin) {
        struct replay_sparse_run *run = &pages->runs[at], rest = *run;
        uint64_t run_end = run->offset + run->bytes;
        run->bytes = begin - run->offset;
        at++;
        if (run_end > end) {
            rest.memory_offset += end - rest.offset;
            rest.offset = end;
            rest.bytes = run_end - end;
            insert(pages, at, rest);
            return at;
        }
    }
    for (last = at; last < pages->count && pages->runs[last].offset + pages->runs[last].bytes <= end;)
        last++;
    memmove(pages->runs + at, pages->runs + last, (pages->count - last) * sizeof *pages->runs);
    pages->count -= last - at;
    if (at < pages->count && pages->runs[at].offset < end) {
        struct replay_sparse_run *run = &pages->runs[at];
        uint64_t gone = end - run->offset;
        run->offset += gone;
        run->memory_offset += gone;
        run->bytes -= gone;
    }
    return at;
}

enum lap_status replay_sparse_pages_put(struct replay_sparse_pages *pages, uint64_t offset, uint64_t bytes,
                                        void *memory, uint64_t memory_offset)
{
    size_t at;

    if (bytes == 0)
        return LAP_OK;
    if (!reserve(pages))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    at = cut(pages, offset, offset + bytes);
    if (memory)
        insert(pages, at, (struct replay_sparse_run){offset, bytes, memory, memory_offset});
    return LAP_OK;
}

void replay_sparse_pages_drop(struct replay_sparse_pages *pages, const void *memory)
{
    size_t left = 0;

    for (size_t i = 0; i < pages->count; i++)
        if (pages->runs[i].memory != memory)
            pages->runs[left++] = pages->runs[i];
    pages->count = left;
}

bool replay_sparse_pages_find(const struct replay_sparse_pages *pages, uint64_t offset, uint64_t bytes,
                              struct replay_sparse_run *out_run)
{
    size_t at = first_behind(pages, offset);
    uint64_t end = offset + bytes, skipped;

    if (at == pages->count || pages->runs[at].offset >= end)
        return false;
    *out_run = pages->runs[at];
    skipped = out_run->offset < offset ? offset - out_run->offset : 0;
    out_run->offset += skipped;
    out_run->memory_offset += skipped;
    out_run->bytes -= skipped;
    if (out_run->bytes > end - out_run->offset)
        out_run->bytes = end - out_run->offset;
    return true;
}

void replay_sparse_pages_finish(struct replay_sparse_pages *pages)
{
    free(pages->runs);
    memset(pages, 0, sizeof *pages);
}

/* ---- blocks and tiles ---- */

bool replay_sparse_blocks_fit(const struct replay_sparse_requirements *recorded,
                              const struct replay_sparse_requirements *actual)
{
    return recorded->alignment && actual->alignment && recorded->alignment % actual->alignment == 0;
}

static bool same_aspect(const VkSparseImageMemoryRequirements *a, const VkSparseImageMemoryRequirements *b)
{
    const VkExtent3D *tile_a = &a->formatProperties.imageGranularity, *tile_b = &b->formatProperties.imageGranularity;

    return a->formatProperties.aspectMask == b->formatProperties.aspectMask &&
           a->formatProperties.flags == b->formatProperties.flags && tile_a->width == tile_b->width &&
           tile_a->height == tile_b->height && tile_a->depth == tile_b->depth &&
           a->imageMipTailFirstLod == b->imageMipTailFirstLod && a->imageMipTailSize == b->imageMipTailSize &&
           a->imageMipTailOffset == b->imageMipTailOffset && a->imageMipTailStride == b->imageMipTailStride;
}

bool replay_sparse_tiles_fit(const struct replay_sparse_requirements *recorded,
                             const struct replay_sparse_requirements *actual)
{
    bool same = recorded->bytes == actual->bytes && recorded->alignment == actual->alignment &&
                recorded->aspect_count == actual->aspect_count;

    for (uint32_t i = 0; same && i < actual->aspect_count; i++)
        same = same_aspect(&recorded->aspects[i], &actual->aspects[i]);
    return same;
}

VkDeviceSize replay_sparse_blocks_clip(const struct replay_sparse_requirements *actual, VkDeviceSize offset,
                                       VkDeviceSize bytes)
{
    VkDeviceSize end;

    if (offset >= actual->bytes)
        return 0;
    if (bytes >= actual->bytes - offset)
        return actual->bytes - offset;
    end = (offset + bytes + actual->alignment - 1) / actual->alignment * actual->alignment;
    return end > actual->bytes ? actual->bytes - offset : end - offset;
}
