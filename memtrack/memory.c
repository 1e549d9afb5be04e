/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "memtrack/memtrack_internal.h"

struct lap_mem *lap_mem_add(struct lap_memtrack *tracker, uint64_t bytes, uint32_t flags)
{
    struct lap_mem *mem = calloc(1, sizeof(*mem));
    if (!mem)
        return NULL;
    mem->tracker = tracker;
    mem->bytes = bytes;
    mem->flags = flags;
    lap_shadow_init(&mem->shadow, bytes, &tracker->shadow_pages);
    mem->next = tracker->mems;
    if (mem->next)
        mem->next->previous = mem;
    tracker->mems = mem;
    return mem;
}

enum lap_status lap_mem_create(struct lap_memtrack *tracker, uint64_t bytes, uint32_t flags, struct lap_mem **out)
{
    lap_memtrack_lock(tracker);
    *out = lap_mem_add(tracker, bytes, flags);
    lap_memtrack_unlock(tracker);
    return *out ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "no memory for the record of a device memory");
}

void lap_mem_remove(struct lap_mem *mem)
{
    while (mem->pieces) {
        struct lap_piece *piece = LAP_PIECE_OF_MEM(mem->pieces);
        lap_memobj_drop_pending(piece->object, piece->in_object.begin, piece->in_object.end);
        lap_piece_destroy(piece);
    }
    if (mem->mapped) /* freeing unmaps; the writes are of no use any more */
        mem->watch->disarm(mem->region);
    if (mem->previous)
        mem->previous->next = mem->next;
    else
        mem->tracker->mems = mem->next;
    if (mem->next)
        mem->next->previous = mem->previous;
    lap_shadow_finish(&mem->shadow);
    lap_interval_finish(&mem->written);
    lap_interval_finish(&mem->device);
    lap_interval_finish(&mem->unread);
    lap_interval_finish(&mem->finished);
    lap_interval_finish(&mem->stale);
    lap_interval_finish(&mem->owed);
    lap_interval_finish(&mem->seen);
    lap_interval_finish(&mem->busy);
    lap_interval_finish(&mem->candidates);
    lap_interval_finish(&mem->todo);
    free(mem);
}

void lap_mem_destroy(struct lap_mem **mem)
{
    struct lap_mem *old = *mem;
    struct lap_memtrack *tracker;
    if (!old)
        return;
    tracker = old->tracker;
    lap_memtrack_lock(tracker);
    if (old->is_view)
        lap_view_remove(old);
    else
        lap_mem_remove(old);
    lap_memtrack_unlock(tracker);
    *mem = NULL;
}

/* The bytes of a fresh allocation that are mapped for the first time hold data of an earlier user of the pages. A
 * program that stores just these values can't be noticed by comparing, so they count as stored, except for the device's
 * writes. Pages that the program filled hold its own stores. Zeroes need not be sent: a replay's objects begin as
 * zeroes. */
static void first_sight(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t from, to;
    while (lap_interval_first_hole(&mem->device, begin, end, &from, &to)) {
        lap_mem_baseline(mem, begin, from);
        lap_mem_compare(mem, from, to, &mem->tracker->since);
        begin = to;
    }
    lap_mem_baseline(mem, begin, end);
}

/* Reads all that is mapped. */
static void take_baseline(struct lap_mem *mem)
{
    const uint32_t always = LAP_MEM_FILLED | LAP_MEM_SHARED;
    uint64_t begin = mem->map_begin, from, to;
    if ((mem->flags & always) == always) { /* others write it, mapped or not */
        first_sight(mem, begin, mem->map_end);
        return;
    }
    while (lap_interval_first_hole(&mem->seen, begin, mem->map_end, &from, &to)) {
        lap_mem_baseline(mem, begin, from);
        if (mem->flags & (LAP_MEM_FRESH | LAP_MEM_FILLED))
            first_sight(mem, from, to);
        else
            lap_mem_baseline(mem, from, to);
        begin = to;
    }
    lap_mem_baseline(mem, begin, mem->map_end);
    if (!lap_interval_add(&mem->seen, mem->map_begin, mem->map_end))
        lap_memtrack_break(mem->tracker);
}

static void read_piece(void *context, struct lap_tree_node *node)
{
    struct lap_mem *mem = context;
    uint64_t begin = node->begin > mem->map_begin ? node->begin : mem->map_begin;
    uint64_t end = node->end < mem->map_end ? node->end : mem->map_end;
    if (!LAP_PIECE_OF_MEM(node)->object->readable)
        return;
    if (mem->device_anywhere)
        lap_mem_baseline(mem, begin, end);
    else
        lap_mem_read_device(mem, begin, end);
}

/* With a watch that reports all later writes, only bytes that the shadow can't know are read: imported memory at its
 * first map, and the device's writes meanwhile. See docs/memory.md, "What a map reads". */
static void take_least_baseline(struct lap_mem *mem)
{
    uint64_t begin = mem->map_begin, from, to;
    while (!(mem->flags & LAP_MEM_FRESH) && lap_interval_first_hole(&mem->seen, begin, mem->map_end, &from, &to)) {
        if (mem->flags & LAP_MEM_FILLED)
            first_sight(mem, from, to);
        else
            lap_mem_baseline(mem, from, to);
        begin = to;
        if (!lap_interval_add(&mem->seen, from, to))
            lap_memtrack_break(mem->tracker);
    }
    if (mem->device_anywhere || !lap_interval_empty(&mem->unread))
        lap_tree_visit(mem->pieces, mem->map_begin, mem->map_end, read_piece, mem);
    /* Later these bytes may be a store that is not flushed yet. */
    if (!(mem->flags & LAP_MEM_HOST_COHERENT))
        lap_mem_read_device(mem, mem->map_begin, mem->map_end);
}

static enum lap_status others_write(void)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "its pages are shared, or not plain memory: others may write them");
}

static enum lap_status arm(struct lap_mem *mem)
{
    const struct lap_memtrack *tracker = mem->tracker;
    mem->watch = tracker->watch;
    mem->region = NULL;
    if (mem->flags & LAP_MEM_SHARED && mem->watch->exact)
        return others_write();
    return mem->watch->arm(tracker->watch_context, mem->pointer, (size_t)(mem->map_end - mem->map_begin), &mem->region);
}

static void count_compared(struct lap_memtrack *tracker)
{
    if (tracker->watch_counts.compared++ > 0)
        return;
    snprintf(tracker->compared_reason, sizeof(tracker->compared_reason), "%s", lap_error_message());
    lap_log(tracker->log, LAP_LOG_INFO, "a mapping is compared: %s", tracker->compared_reason);
}

#define YOUNG_TIMES 4u  /* of small_bytes: as large a mapping is compared while it is young */
#define READINGS    64u /* of small_bytes: after that it isn't */

/* To begin and end a watch takes four system calls that interrupt the other processors, and a fault for each page that
 * is stored to. Only where work writes nothing: a comparison sees its unannounced writes, a watch mostly does not. */
static bool is_better_compared(const struct lap_mem *mem)
{
    uint64_t bytes = mem->map_end - mem->map_begin;
    return bytes <= (uint64_t)mem->tracker->small_bytes * YOUNG_TIMES && mem->tracker->watch->exact &&
           !(mem->flags & (LAP_MEM_SHARED | LAP_MEM_FILLED)) && !mem->writables && !mem->device_anywhere &&
           lap_interval_empty(&mem->device) && lap_interval_empty(&mem->busy);
}

static void compare_instead(struct lap_mem *mem)
{
    mem->watch = &lap_watch_compare;
    mem->region = NULL;
}

/* First the watch begins, then the memory is read: a write in between is in the baseline and reported. The program has
 * not got its pointer yet, but memory that was imported has other users. */
void lap_mem_watch(struct lap_mem *mem)
{
    uint64_t small = mem->tracker->small_bytes;
    mem->tracker->watch_counts.mappings++;
    mem->chosen = is_better_compared(mem);
    if (mem->chosen) {
        mem->tracker->watch_counts.small++;
        mem->compare_left = mem->map_end - mem->map_begin <= small ? UINT64_MAX : small * READINGS;
        compare_instead(mem);
    } else if (arm(mem) < 0) {
        count_compared(mem->tracker);
        compare_instead(mem);
    }
    if (mem->flags & LAP_MEM_HOST_COHERENT)
        lap_mem_settle(mem, mem->map_begin, mem->map_end);
    if (mem->watch->exact)
        take_least_baseline(mem);
    else
        take_baseline(mem);
    if (!(mem->flags & LAP_MEM_HOST_COHERENT))
        lap_mem_settle_host_view(mem, mem->map_begin, mem->map_end);
    if (mem->map_begin == 0 && mem->map_end == mem->bytes)
        mem->device_anywhere = false;
}

/* The shadow is the content when it was last read, so all writes that a watch would have reported since differ from
 * it. */
void lap_mem_watch_chosen(struct lap_mem *mem)
{
    if (!mem->mapped || !mem->chosen)
        return;
    mem->chosen = false;
    if (arm(mem) < 0) {
        count_compared(mem->tracker);
        compare_instead(mem);
    } else if (!lap_interval_add(&mem->candidates, mem->map_begin, mem->map_end)) {
        lap_memtrack_break(mem->tracker);
    }
}

void lap_mem_compare_always(struct lap_mem *mem)
{
    mem->flags |= LAP_MEM_SHARED;
    mem->chosen = false;
    if (!mem->mapped || !mem->watch->exact)
        return;
    mem->watch->disarm(mem->region);
    mem->region = NULL;
    mem->watch = &lap_watch_compare;
    if (others_write() < 0)
        count_compared(mem->tracker);
}

enum lap_status lap_mem_map(struct lap_mem *mem, void *pointer, uint64_t offset, uint64_t bytes)
{
    struct lap_memtrack *tracker = mem->tracker;
    enum lap_status status = LAP_OK;
    if (!pointer || !(mem->flags & LAP_MEM_HOST_VISIBLE) || offset >= mem->bytes || bytes == 0)
        return lap_fail(LAP_ERROR_ARGUMENT, "this range of this memory can't be mapped");
    if (bytes > mem->bytes - offset)
        bytes = mem->bytes - offset;
    lap_memtrack_lock(tracker);
    if (mem->mapped || mem->is_view) {
        status = lap_fail(LAP_ERROR_ARGUMENT, "the memory is mapped already");
        goto out;
    }
    mem->mapped = true;
    mem->pointer = pointer;
    mem->map_begin = offset;
    mem->map_end = offset + bytes;
    lap_mem_watch(mem);
    lap_memtrack_told(tracker);
    if (tracker->failed != LAP_OK) {
        mem->watch->disarm(mem->region);
        mem->mapped = false;
        status = lap_fail(tracker->failed, "out of memory for the baseline of mapped memory");
    }
out:
    lap_memtrack_unlock(tracker);
    return status;
}

struct visit {
    void (*visit)(void *context, void *user);
    void *context;
};

static void visit_object(void *context, struct lap_tree_node *node)
{
    const struct visit *visit = context;
    visit->visit(visit->context, LAP_PIECE_OF_MEM(node)->object->user);
}

void lap_mem_becomes_visible(struct lap_mem *mem, uint32_t flags, void (*visit)(void *context, void *user),
                             void *context)
{
    struct visit each = {visit, context};
    LAP_ASSERT(!mem->is_view && !mem->mapped, "only memory of its own, that is not mapped, becomes visible");
    lap_memtrack_lock(mem->tracker);
    mem->flags |= flags | LAP_MEM_HOST_VISIBLE;
    lap_tree_visit(mem->pieces, 0, mem->bytes, visit_object, &each);
    lap_memtrack_unlock(mem->tracker);
}

/* Between maps only the host's writes have to be known, and, if the next map is not to read them again, the device's.
 * Everything else is compared with nothing but the next baseline, for which any old value does. */
static void forget_unwritten(struct lap_mem *mem)
{
    uint64_t first = mem->map_begin / LAP_SHADOW_PAGE, end = (mem->map_end + LAP_SHADOW_PAGE - 1) / LAP_SHADOW_PAGE;
    bool keep_device = mem->watch->exact;
    if (mem->flags & LAP_MEM_FILLED) /* the program's own pages are read once */
        return;
    while (lap_shadow_next_owned(&mem->shadow, &first, end)) {
        /* A page may also hold bytes outside the mapping that the host wrote through an earlier one. */
        uint64_t begin = first * LAP_SHADOW_PAGE, page_end = begin + LAP_SHADOW_PAGE, from, to;
        first++;
        if (lap_interval_intersects(&mem->written, begin, page_end) ||
            (keep_device && lap_interval_intersects(&mem->device, begin, page_end)))
            continue;
        lap_shadow_drop(&mem->shadow, begin / LAP_SHADOW_PAGE, first);
        if (!(mem->flags & LAP_MEM_FRESH) && !lap_interval_remove(&mem->seen, begin, page_end))
            lap_memtrack_break(mem->tracker);
        lap_mem_lose(mem, begin, page_end);
        while (lap_interval_first_in(&mem->device, begin, page_end, &from, &to)) {
            if (!lap_interval_add(&mem->unread, from, to))
                lap_memtrack_break(mem->tracker);
            begin = to;
        }
    }
}

void lap_mem_end_mapping(struct lap_mem *mem)
{
    if (mem->flags & LAP_MEM_HOST_COHERENT)
        lap_mem_scan(mem, mem->map_begin, mem->map_end, &mem->tracker->since);
    else if (mem->watch->exact) /* stored and never flushed: the next map does not look for it */
        lap_mem_baseline_written(mem, mem->map_begin, mem->map_end);
    else if (mem->tracker->watch->exact) /* the next one may be watched */
        lap_mem_baseline(mem, mem->map_begin, mem->map_end);
    mem->watch->disarm(mem->region);
    mem->mapped = false;
    lap_interval_clear(&mem->candidates);
    forget_unwritten(mem);
}

void lap_mem_unmap(struct lap_mem *mem)
{
    lap_memtrack_lock(mem->tracker);
    if (mem->mapped)
        lap_mem_end_mapping(mem);
    lap_memtrack_unlock(mem->tracker);
}

bool lap_mem_mapped(const struct lap_mem *mem)
{
    bool mapped;
    lap_memtrack_lock(mem->tracker);
    mapped = mem->whole ? mem->whole->mapped : mem->mapped || mem->is_view;
    lap_memtrack_unlock(mem->tracker);
    return mapped;
}

/* The part of [offset, offset + bytes) that is mapped; false when none is. */
static bool clip_to_mapping(const struct lap_mem *mem, uint64_t offset, uint64_t bytes, uint64_t *out_begin,
                            uint64_t *out_end)
{
    uint64_t end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    if (!mem->mapped)
        return false;
    *out_begin = offset > mem->map_begin ? offset : mem->map_begin;
    *out_end = end < mem->map_end ? end : mem->map_end;
    return *out_begin < *out_end;
}

static void flush_part(const struct lap_part *part, uint64_t begin, uint64_t end)
{
    struct lap_mem *mem = part->mem;
    if (!(mem->flags & LAP_MEM_HOST_COHERENT) && clip_to_mapping(mem, begin, end - begin, &begin, &end))
        lap_mem_scan(mem, begin, end, &mem->tracker->since);
}

void lap_mem_flush(struct lap_mem *mem, uint64_t offset, uint64_t bytes)
{
    uint64_t atom = mem->tracker->atom_bytes, end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    struct lap_part part;
    if (mem->flags & LAP_MEM_HOST_COHERENT) /* adds nothing: all mapped bytes count */
        return;
    /* Caches flush whole atoms, not just the given range. */
    offset -= offset % atom;
    if (end % atom != 0)
        end = end > UINT64_MAX - atom ? UINT64_MAX : end + (atom - end % atom);
    lap_memtrack_lock(mem->tracker);
    while (lap_mem_next_part(mem, &offset, end, &part))
        flush_part(&part, part.begin, part.end);
    lap_memtrack_unlock(mem->tracker);
}

static void invalidate_part(const struct lap_part *part, uint64_t begin, uint64_t end)
{
    struct lap_mem *mem = part->mem;
    uint64_t from, to, at;
    if (mem->flags & LAP_MEM_HOST_COHERENT || !clip_to_mapping(mem, begin, end - begin, &begin, &end))
        return;
    lap_mem_settle(mem, begin, end);
    if (mem->watch->exact && !mem->device_anywhere) {
        for (at = begin; lap_interval_first_in(&mem->stale, at, end, &from, &to); at = to)
            lap_mem_read(mem, from, to);
        lap_mem_baseline_written(mem, begin, end);
    } else {
        lap_mem_baseline(mem, begin, end);
    }
    if (!lap_interval_remove(&mem->stale, begin, end))
        lap_memtrack_break(mem->tracker);
}

void lap_mem_invalidate(struct lap_mem *mem, uint64_t offset, uint64_t bytes)
{
    uint64_t end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    struct lap_part part;
    /* On coherent memory programs call it out of habit, also over bytes that they have just written. */
    if (mem->flags & LAP_MEM_HOST_COHERENT)
        return;
    lap_memtrack_lock(mem->tracker);
    while (lap_mem_next_part(mem, &offset, end, &part))
        invalidate_part(&part, part.begin, part.end);
    lap_memtrack_unlock(mem->tracker);
}
