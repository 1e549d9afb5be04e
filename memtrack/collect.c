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
    /* Whose ranges in tracker->gathered were emitted and are still pending; and the piece that was emitted from last.
     */
    struct lap_memobj *sent;
    const struct lap_piece *piece;
};

/* ---- touched ranges ---- */

/* Whether every difference in the object's bytes is the host's, and the pages with differences were read anyway. */
static bool is_the_hosts(const struct lap_memobj *object)
{
    const struct lap_tree_node *node = object->pieces;
    const struct lap_mem *mem = node ? LAP_PIECE_OF_OBJECT(node)->mem : NULL;
    return mem && !node->left && !node->right && mem->mapped && mem->watch->exact && mem->writables == 0;
}

/* The next range. Reads in one page become one with the bytes between them: a write of the host may be sent before
 * something touches it, and a page that is looked at once costs less. Not so where differences may be unannounced
 * writes of the device, which are sent no earlier than they must be. */
static bool next_touched(const struct lap_touched *touched, size_t *at, struct lap_touched_range *out)
{
    const struct lap_touched_range *range = &touched->ranges[*at];
    if (*at == touched->count)
        return false;
    *out = *range;
    while (++*at < touched->count) {
        uint64_t end = out->offset + out->bytes;
        range++;
        if (range->object != out->object || range->written || out->written || range->offset < out->offset ||
            range->offset / LAP_SHADOW_PAGE > (end - 1) / LAP_SHADOW_PAGE || !is_the_hosts(range->object))
            break;
        if (range->offset + range->bytes > end)
            out->bytes = range->offset + range->bytes - out->offset;
    }
    return true;
}

/* A part of a touched range in a memory. */
struct part {
    const struct lap_piece *piece;
    uint64_t begin, end; /* in piece->mem */
};

/* The next part from *at on, which begins as the range's offset. `part` has the last one, of this or another range, or
 * is zeroed: many ranges in a row lie in the same piece. */
static inline bool next_part(const struct lap_touched_range *range, uint64_t *at, struct part *part)
{
    const struct lap_piece *piece = part->piece;
    uint64_t end = range->offset + range->bytes, to_mem;
    if (*at >= end)
        return false;
    if (!piece || piece->object != range->object || *at < piece->in_object.begin || *at >= piece->in_object.end) {
        const struct lap_tree_node *node = lap_tree_first(range->object->pieces, *at, end);
        if (!node)
            return false;
        piece = LAP_PIECE_OF_OBJECT(node);
    }
    to_mem = piece->in_mem.begin - piece->in_object.begin; /* wraps, and wraps back */
    part->piece = piece;
    part->begin = (*at > piece->in_object.begin ? *at : piece->in_object.begin) + to_mem;
    part->end = (end < piece->in_object.end ? end : piece->in_object.end) + to_mem;
    *at = piece->in_object.end;
    return true;
}

/* ---- scanning ---- */

static bool exposed(const struct lap_mem *mem)
{
    return mem->mapped && (mem->flags & LAP_MEM_HOST_COHERENT);
}

/* Touched ranges overlap in objects, and objects overlap in memory: sets, so that no byte is read twice. */
struct to_scan {
    struct lap_mem *first, *mem; /* gathered are ranges of `mem` */
    uint64_t begin, end;
};

static void enter_to_scan(struct to_scan *to_scan)
{
    struct lap_mem *mem = to_scan->mem;
    struct lap_span_list *gathered = mem ? &mem->tracker->gathered : NULL;
    struct lap_spans spans;
    if (!mem || !gathered->count)
        return;
    if (lap_interval_empty(&mem->todo)) {
        mem->next_todo = to_scan->first;
        to_scan->first = mem;
    }
    spans = lap_spans_of(gathered);
    if (!lap_interval_add_all(&mem->todo, &spans))
        lap_memtrack_break(mem->tracker);
    gathered->count = 0;
}

static void add_to_scan(struct to_scan *to_scan, uint64_t begin, uint64_t end)
{
    struct lap_mem *mem = to_scan->mem;
    begin = begin > mem->map_begin ? begin : mem->map_begin;
    end = end < mem->map_end ? end : mem->map_end;
    if (begin >= end || lap_span_list_add(&mem->tracker->gathered, begin, end))
        return;
    enter_to_scan(to_scan);
    lap_span_list_add(&mem->tracker->gathered, begin, end);
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
    struct lap_touched_range range;
    struct part part = {0};
    for (size_t i = 0; next_touched(touched, &i, &range);) {
        uint64_t at = range.offset;
        while ((range.object->readable || range.written) && next_part(&range, &at, &part)) {
            struct lap_mem *mem = part.piece->mem;
            if (!exposed(mem))
                continue;
            if (to_scan.mem != mem)
                enter_to_scan(&to_scan);
            to_scan.mem = mem;
            to_scan.begin = part.begin;
            to_scan.end = part.end;
            if (range.object->readable)
                add_to_scan(&to_scan, part.begin, part.end);
            else /* the host's writes to a buffer in the same bytes precede the device's */
                lap_tree_visit(mem->pieces, part.begin, part.end, add_readable_piece, &to_scan);
        }
    }
    enter_to_scan(&to_scan);
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

/* What was sent is not pending any more. */
static void drop_sent(struct collect *collect)
{
    struct lap_span_list *gathered = &collect->tracker->gathered;
    const struct lap_spans spans = lap_spans_of(gathered);
    if (gathered->count)
        lap_memobj_drop_all_pending(collect->sent, &spans);
    gathered->count = 0;
}

static void add_sent(struct collect *collect, uint64_t begin, uint64_t end)
{
    if (begin >= end || lap_span_list_add(&collect->tracker->gathered, begin, end))
        return;
    drop_sent(collect);
    lap_span_list_add(&collect->tracker->gathered, begin, end);
}

static void emit_range(struct collect *collect, struct lap_memobj *object, uint64_t begin, uint64_t end)
{
    const struct lap_span_list *gathered = &collect->tracker->gathered;
    uint64_t from, to, at = begin;
    if (gathered->count && (collect->sent != object || begin < gathered->at[gathered->count - 1].end))
        drop_sent(collect);
    if (collect->sent != object)
        collect->piece = NULL;
    collect->sent = object;
    while (collect->status == LAP_OK && lap_interval_first_in(&object->pending, at, end, &from, &to)) {
        const struct lap_piece *piece = collect->piece;
        const unsigned char *data;
        /* Pending is bound: unbinding drops it. */
        if (!piece || from < piece->in_object.begin || from >= piece->in_object.end)
            collect->piece = piece = LAP_PIECE_OF_OBJECT(lap_tree_first(object->pieces, from, to));
        data = emit_data(collect->tracker, piece, from, &to);
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
    add_sent(collect, begin, at);
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
static void emit_before_device(struct collect *collect, const struct lap_touched_range *range, struct part *part)
{
    uint64_t at = range->offset;
    while (collect->status == LAP_OK && next_part(range, &at, part)) {
        struct emit_alias alias = {collect, part->begin, part->end};
        if (lap_interval_intersects(&part->piece->mem->written, part->begin, part->end))
            lap_tree_visit(part->piece->mem->pieces, part->begin, part->end, emit_piece, &alias);
    }
}

static void emit_touched(struct collect *collect, const struct lap_touched *touched)
{
    struct lap_touched_range range;
    struct part part = {0};
    for (size_t i = 0; next_touched(touched, &i, &range);) {
        if (range.written)
            emit_before_device(collect, &range, &part);
        else if (!lap_interval_empty(&range.object->pending))
            emit_range(collect, range.object, range.offset, range.offset + range.bytes);
    }
    drop_sent(collect);
}

static void emit_everything(struct collect *collect)
{
    struct lap_memobj *next;
    for (struct lap_memobj *object = collect->tracker->pending_first; object; object = next) {
        next = object->pending_next;
        emit_range(collect, object, 0, object->bytes);
        drop_sent(collect);
    }
}

/* ---- device writes ---- */

typedef void (*visit_fn)(struct lap_mem *mem, const struct lap_spans *spans);

static void visit_gathered(struct lap_mem *mem, visit_fn visit)
{
    const struct lap_spans spans = mem ? lap_spans_of(&mem->tracker->gathered) : (struct lap_spans){0};
    if (spans.count)
        visit(mem, &spans);
    if (mem)
        mem->tracker->gathered.count = 0;
}

/* Calls visit with many ranges of a memory at a time. */
static void each_written_range(struct lap_memtrack *tracker, const struct lap_touched *touched, visit_fn visit)
{
    struct lap_mem *mem = NULL;
    struct part part = {0};
    for (size_t i = 0; i < touched->count; i++) {
        const struct lap_touched_range *range = &touched->ranges[i];
        uint64_t at = range->offset;
        while (range->written && next_part(range, &at, &part)) {
            if (!(part.piece->mem->flags & LAP_MEM_HOST_VISIBLE))
                continue;
            if (part.piece->mem == mem && lap_span_list_add(&tracker->gathered, part.begin, part.end))
                continue;
            visit_gathered(mem, visit);
            mem = part.piece->mem;
            lap_span_list_add(&tracker->gathered, part.begin, part.end);
        }
    }
    visit_gathered(mem, visit);
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
    lap_memtrack_told(tracker);
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
        each_written_range(tracker, touched, lap_mem_expect_device);
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
    each_written_range(tracker, touched, lap_mem_absorb_device);
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

void lap_memtrack_told(struct lap_memtrack *tracker)
{
    if (lap_memtrack_tells(tracker))
        tracker->changed(tracker->changed_context, NULL, false, 0, NULL, NULL, 0);
}

void lap_memtrack_on_change(struct lap_memtrack *tracker, lap_changed_fn changed, void *context)
{
    lap_memtrack_lock(tracker);
    tracker->changed = changed;
    tracker->changed_context = context;
    tracker->changed_thread = pthread_self();
    lap_memtrack_unlock(tracker);
}

static void set_busy(struct lap_mem *mem, const struct lap_spans *spans)
{
    if (!lap_interval_add_all(&mem->busy, spans))
        lap_memtrack_break(mem->tracker);
}

void lap_memtrack_device_busy(struct lap_memtrack *tracker, const struct lap_touched *touched, bool only)
{
    lap_memtrack_lock(tracker);
    for (struct lap_mem *mem = only ? tracker->mems : NULL; mem; mem = mem->next)
        lap_interval_clear(&mem->busy);
    if (touched)
        each_written_range(tracker, touched, set_busy);
    lap_memtrack_unlock(tracker);
}
