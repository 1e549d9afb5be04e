/* SPDX-License-Identifier: MIT */
/* The work at submit, and when the device is known to have finished. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "memtrack/invariants.h"
#include "memtrack/memtrack_internal.h"

struct collect {
    struct lap_memtrack *tracker;
    lap_emit_fn emit;
    void *emit_context;
    struct lap_collect_stats *stats;
    enum lap_status status; /* the first failure of emit */
};

/* ---- scanning ---- */

static bool exposed(const struct lap_mem *mem)
{
    return mem->mapped && (mem->flags & LAP_MEM_HOST_COHERENT);
}

/* Touched ranges overlap in objects, and objects overlap in memory: sets, so that no byte is read twice. */
struct to_scan {
    struct lap_mem *first, *mem;
    uint64_t begin, end;
};

static void add_to_scan(struct to_scan *to_scan, uint64_t begin, uint64_t end)
{
    struct lap_mem *mem = to_scan->mem;
    begin = begin > mem->map_begin ? begin : mem->map_begin;
    end = end < mem->map_end ? end : mem->map_end;
    if (begin >= end)
        return;
    if (lap_interval_empty(&mem->todo)) {
        mem->next_todo = to_scan->first;
        to_scan->first = mem;
    }
    if (!lap_interval_add(&mem->todo, begin, end))
        lap_memtrack_break(mem->tracker);
}

static void add_readable_piece(void *context, struct lap_tree_node *node)
{
    struct to_scan *to_scan = context;
    if (LAP_PIECE_OF_MEM(node)->object->readable)
        add_to_scan(to_scan, to_scan->begin > node->begin ? to_scan->begin : node->begin,
                    to_scan->end < node->end ? to_scan->end : node->end);
}

static struct lap_mem *touched_to_scan(const struct lap_touched *touched)
{
    struct to_scan to_scan = {0};
    for (size_t i = 0; i < touched->count; i++) {
        const struct lap_touched_range *range = &touched->ranges[i];
        uint64_t at = range->offset, end = range->offset + range->bytes;
        struct lap_tree_node *node;
        while ((range->object->readable || range->written) && (node = lap_tree_first(range->object->pieces, at, end))) {
            const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
            uint64_t to_mem = piece->in_mem.begin - node->begin;
            to_scan.mem = piece->mem;
            to_scan.begin = (at > node->begin ? at : node->begin) + to_mem;
            to_scan.end = (end < node->end ? end : node->end) + to_mem;
            at = node->end;
            if (!exposed(piece->mem))
                continue;
            if (range->object->readable)
                add_to_scan(&to_scan, to_scan.begin, to_scan.end);
            else /* the host's writes to a buffer in the same bytes precede the device's */
                lap_tree_visit(piece->mem->pieces, to_scan.begin, to_scan.end, add_readable_piece, &to_scan);
        }
    }
    return to_scan.first;
}

static void add_piece_todo(void *context, struct lap_tree_node *node)
{
    struct to_scan *to_scan = context;
    uint64_t begin = to_scan->begin > node->begin ? to_scan->begin : node->begin;
    uint64_t end = to_scan->end < node->end ? to_scan->end : node->end;
    if (LAP_PIECE_OF_MEM(node)->object->readable && !lap_interval_add(&to_scan->mem->todo, begin, end))
        lap_memtrack_break(to_scan->mem->tracker);
}

static uint64_t objects_end(const struct lap_mem *mem)
{
    return mem->pieces->max_end < mem->map_end ? mem->pieces->max_end : mem->map_end;
}

/* Only where objects are: other writes are found when an object is bound there, or at unmap. */
static void scan_objects(struct lap_mem *mem, struct lap_collect_stats *stats)
{
    struct to_scan to_scan = {.mem = mem, .begin = mem->map_begin, .end = mem->map_end};
    if (mem->watch->exact) { /* by written pages, not by bound objects */
        uint64_t end = objects_end(mem);
        while (lap_interval_first_in(&mem->candidates, to_scan.begin, end, &to_scan.begin, &to_scan.end)) {
            lap_tree_visit(mem->pieces, to_scan.begin, to_scan.end, add_piece_todo, &to_scan);
            to_scan.begin = to_scan.end;
        }
    } else {
        lap_tree_visit(mem->pieces, mem->map_begin, mem->map_end, add_piece_todo, &to_scan);
    }
    lap_mem_scan_todo(mem, stats);
}

static void scan(struct collect *collect, const struct lap_touched *touched)
{
    struct lap_memtrack *tracker = collect->tracker;
    struct lap_mem *mem, *first;
    if (!touched || touched->everything) {
        for (mem = tracker->mems; mem; mem = mem->next) {
            if (touched && mem->pieces)
                mem->device_anywhere = true;
            if (exposed(mem) && mem->pieces)
                lap_mem_ask(mem, mem->map_begin, objects_end(mem));
        }
        lap_memtrack_take_asked(tracker);
        for (mem = tracker->mems; mem; mem = mem->next)
            if (exposed(mem) && mem->pieces)
                scan_objects(mem, collect->stats);
        return;
    }
    first = touched_to_scan(touched);
    for (mem = first; mem; mem = mem->next_todo)
        lap_mem_ask_todo(mem);
    lap_memtrack_take_asked(tracker);
    for (mem = first; mem; mem = mem->next_todo)
        lap_mem_scan_todo(mem, collect->stats);
}

/* ---- emitting ---- */

/* Where [begin, end) of the object's data lies in one run, cut to the part that is in one run. */
static const unsigned char *emit_data(struct lap_memtrack *tracker, const struct lap_piece *piece, uint64_t begin,
                                      uint64_t *end)
{
    uint64_t at = begin - piece->in_object.begin + piece->in_mem.begin, left = LAP_SHADOW_PAGE - at % LAP_SHADOW_PAGE;
    const struct lap_shadow *shadow = &piece->mem->shadow;
    if (*end > piece->in_object.end)
        *end = piece->in_object.end;
    if (*end - begin > LAP_EMIT_BYTES)
        *end = begin + LAP_EMIT_BYTES;
    if (*end - begin > left) {
        if (!tracker->chunk)
            tracker->chunk = malloc(LAP_EMIT_BYTES);
        if (tracker->chunk) {
            lap_shadow_read(shadow, at, tracker->chunk, (size_t)(*end - begin));
            return tracker->chunk;
        }
        *end = begin + left; /* page by page works without it */
    }
    return lap_shadow_page(shadow, at / LAP_SHADOW_PAGE) + at % LAP_SHADOW_PAGE;
}

static void emit_range(struct collect *collect, struct lap_memobj *object, uint64_t begin, uint64_t end)
{
    uint64_t from, to, at = begin;
    while (collect->status == LAP_OK && lap_interval_first_in(&object->pending, at, end, &from, &to)) {
        /* Pending is bound: unbinding drops it. */
        const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(lap_tree_first(object->pieces, from, to));
        const unsigned char *data = emit_data(collect->tracker, piece, from, &to);
        LAP_ASSERT(!lap_interval_intersects(&piece->mem->device, from - piece->in_object.begin + piece->in_mem.begin,
                                            to - piece->in_object.begin + piece->in_mem.begin),
                   "(8) an update contains no byte of D(m)");
        collect->status = collect->emit(collect->emit_context, object->user, from, data, to - from);
        if (collect->status != LAP_OK)
            break;
        collect->stats->emitted_bytes += to - from;
        collect->stats->spans++;
        at = to;
    }
    lap_memobj_drop_pending(object, begin, at);
}

struct emit_alias {
    struct collect *collect;
    uint64_t begin, end;
};

static void emit_piece(void *context, struct lap_tree_node *node)
{
    struct emit_alias *alias = context;
    const struct lap_piece *piece = LAP_PIECE_OF_MEM(node);
    uint64_t begin = alias->begin > node->begin ? alias->begin : node->begin;
    uint64_t end = alias->end < node->end ? alias->end : node->end;
    uint64_t to_object = piece->in_object.begin - node->begin;
    if (!lap_interval_empty(&piece->object->pending))
        emit_range(alias->collect, piece->object, begin + to_object, end + to_object);
}

/* The device is about to write a range of an object. Pending writes of other objects to the same bytes must go out now:
 * sent later, they would undo the device's writes. */
static void emit_before_device(struct collect *collect, const struct lap_touched_range *range)
{
    uint64_t at = range->offset, end = range->offset + range->bytes;
    struct lap_tree_node *node;
    while (collect->status == LAP_OK && (node = lap_tree_first(range->object->pieces, at, end))) {
        const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
        uint64_t to_mem = piece->in_mem.begin - node->begin;
        struct emit_alias alias = {collect, (at > node->begin ? at : node->begin) + to_mem,
                                   (end < node->end ? end : node->end) + to_mem};
        if (lap_interval_intersects(&piece->mem->written, alias.begin, alias.end))
            lap_tree_visit(piece->mem->pieces, alias.begin, alias.end, emit_piece, &alias);
        at = node->end;
    }
}

static void emit_touched(struct collect *collect, const struct lap_touched *touched)
{
    for (size_t i = 0; i < touched->count; i++) {
        const struct lap_touched_range *range = &touched->ranges[i];
        if (range->written)
            emit_before_device(collect, range);
        else if (!lap_interval_empty(&range->object->pending))
            emit_range(collect, range->object, range->offset, range->offset + range->bytes);
    }
}

static void emit_everything(struct collect *collect)
{
    struct lap_memobj *next;
    for (struct lap_memobj *object = collect->tracker->pending_first; object; object = next) {
        next = object->pending_next;
        emit_range(collect, object, 0, object->bytes);
    }
}

/* ---- device writes ---- */

static void each_written_range(const struct lap_touched *touched,
                               void (*visit)(struct lap_mem *mem, uint64_t begin, uint64_t end))
{
    for (size_t i = 0; i < touched->count; i++) {
        const struct lap_touched_range *range = &touched->ranges[i];
        uint64_t at = range->offset, end = range->offset + range->bytes;
        struct lap_tree_node *node;
        while (range->written && (node = lap_tree_first(range->object->pieces, at, end))) {
            const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
            uint64_t to_mem = piece->in_mem.begin - node->begin;
            if (piece->mem->flags & LAP_MEM_HOST_VISIBLE)
                visit(piece->mem, (at > node->begin ? at : node->begin) + to_mem,
                      (end < node->end ? end : node->end) + to_mem);
            at = node->end;
        }
    }
}

/* ---- */

enum lap_status lap_memtrack_collect(struct lap_memtrack *tracker, const struct lap_touched *touched, lap_emit_fn emit,
                                     lap_emitted_fn emitted, void *context, struct lap_collect_stats *stats)
{
    struct lap_collect_stats ignored;
    struct collect collect = {
        .tracker = tracker, .emit = emit, .emit_context = context, .stats = stats ? stats : &ignored};
    lap_memtrack_lock(tracker);
    lap_memtrack_check_invariants(tracker);
    *collect.stats = tracker->since;
    tracker->since = (struct lap_collect_stats){0};
    if (tracker->failed == LAP_OK)
        scan(&collect, touched);
    if (tracker->failed == LAP_OK) {
        if (!touched || touched->everything)
            emit_everything(&collect);
        else
            emit_touched(&collect, touched);
    }
    if (emitted) {
        enum lap_status status = emitted(context);
        if (collect.status == LAP_OK)
            collect.status = status;
    }
    if (touched && tracker->failed == LAP_OK && collect.status == LAP_OK)
        each_written_range(touched, lap_mem_expect_device);
    if (tracker->failed != LAP_OK)
        collect.status = lap_fail(tracker->failed, "out of memory while tracking what the program writes");
    else if (collect.status == LAP_OK)
        lap_memtrack_check_invariants(tracker);
    lap_memtrack_unlock(tracker);
    return collect.status;
}

void lap_memtrack_device_wrote(struct lap_memtrack *tracker, const struct lap_touched *touched)
{
    if (!touched)
        return;
    lap_memtrack_lock(tracker);
    each_written_range(touched, lap_mem_absorb_device);
    lap_memtrack_check_invariants(tracker);
    lap_memtrack_unlock(tracker);
}

void lap_memtrack_doubt(struct lap_memtrack *tracker)
{
    lap_memtrack_lock(tracker);
    for (struct lap_mem *mem = tracker->mems; mem; mem = mem->next)
        if (mem->flags & LAP_MEM_READ_BACK && exposed(mem) && mem->watch->exact &&
            !lap_interval_add(&mem->candidates, mem->map_begin, mem->map_end))
            lap_memtrack_break(tracker);
    lap_memtrack_unlock(tracker);
}

static void set_busy(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    if (!lap_interval_add(&mem->busy, begin, end))
        lap_memtrack_break(mem->tracker);
}

void lap_memtrack_device_busy(struct lap_memtrack *tracker, const struct lap_touched *touched, bool only)
{
    lap_memtrack_lock(tracker);
    for (struct lap_mem *mem = only ? tracker->mems : NULL; mem; mem = mem->next)
        lap_interval_clear(&mem->busy);
    if (touched)
        each_written_range(touched, set_busy);
    lap_memtrack_unlock(tracker);
}
