/* SPDX-License-Identifier: MIT */
/* Compares a mapping with its shadow. The three results are a host write, a baseline and a device write. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "memtrack/diff.h"
#include "memtrack/memtrack_internal.h"

/* The ranges as they lie in the object of the next piece. Pieces come in the order of their begins, so ranges before
 * one lie before all later ones. */
static struct lap_spans next_piece(struct lap_spans *spans, const struct lap_tree_node *node)
{
    struct lap_spans part;
    for (; spans->count && spans->at->end <= node->begin; spans->count--)
        spans->at++;
    part = (struct lap_spans){spans->at, 0, node->begin, node->end, 0};
    part.shift = LAP_PIECE_OF_MEM(node)->in_object.begin - node->begin; /* wraps, and wraps back */
    while (part.count < spans->count && part.at[part.count].begin < node->end)
        part.count++;
    return part;
}

static void piece_add(void *context, struct lap_tree_node *node)
{
    const struct lap_spans part = next_piece(context, node);
    lap_memobj_add_pending(LAP_PIECE_OF_MEM(node)->object, &part);
}

static void piece_drop(void *context, struct lap_tree_node *node)
{
    const struct lap_spans part = next_piece(context, node);
    lap_memobj_drop_all_pending(LAP_PIECE_OF_MEM(node)->object, &part);
}

/* Calls visit for the pieces in these ranges. One look at the tree is enough for ranges that lie close together in the
 * same piece. */
static void visit_pieces(struct lap_mem *mem, const struct lap_spans *spans,
                         void (*visit)(void *spans, struct lap_tree_node *node))
{
    const struct lap_span *span = spans->at, *end = span + spans->count;
    while (span < end) {
        const struct lap_tree_node *node = lap_tree_first(mem->pieces, span->begin, span->end);
        struct lap_spans run = {span, 1, 0, UINT64_MAX, 0};
        for (span++; node && span < end && span->end <= node->end && span->begin - span[-1].end < LAP_SHADOW_PAGE;
             span++)
            run.count++;
        if (node)
            lap_tree_visit(mem->pieces, run.at->begin, span[-1].end, visit, &run);
    }
}

static void host_wrote(struct lap_mem *mem, const struct lap_spans *spans)
{
    if (!lap_interval_add_all(&mem->written, spans) || !lap_interval_remove_all(&mem->device, spans) ||
        !lap_interval_remove_all(&mem->unread, spans))
        lap_memtrack_break(mem->tracker);
    lap_mem_overwritten(mem, spans);
    visit_pieces(mem, spans, piece_add);
}

void lap_mem_host_wrote(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    const struct lap_span span = {begin, end};
    const struct lap_spans spans = lap_spans_of_one(&span);
    host_wrote(mem, &spans);
}

/* Enters the host's writes that a comparison has found. */
static void enter_wrote(struct lap_mem *mem)
{
    struct lap_span_list *wrote = &mem->tracker->wrote;
    const struct lap_spans spans = lap_spans_of(wrote);
    if (!wrote->count)
        return;
    host_wrote(mem, &spans);
    wrote->count = 0;
}

static void add_wrote(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    if (lap_span_list_add(&mem->tracker->wrote, begin, end))
        return;
    enter_wrote(mem);
    lap_span_list_add(&mem->tracker->wrote, begin, end);
}

/* W and P lose the ranges. */
static void lose_host_writes(struct lap_mem *mem, const struct lap_spans *spans)
{
    if (!lap_interval_intersects(&mem->written, spans->at[0].begin, spans->at[spans->count - 1].end))
        return;
    if (!lap_interval_remove_all(&mem->written, spans))
        lap_memtrack_break(mem->tracker);
    visit_pieces(mem, spans, piece_drop); /* pending is part of what was written */
}

static inline const unsigned char *live_bytes(const struct lap_mem *mem, uint64_t offset)
{
    return mem->pointer + (offset - mem->map_begin);
}

static inline void fetch(const struct lap_mem *mem)
{
    if (mem->fetch)
        mem->fetch(mem->fetch_user);
}

/* The part of [begin, end) that lies in begin's shadow page. */
static inline size_t part_of_page(uint64_t begin, uint64_t end)
{
    uint64_t left = LAP_SHADOW_PAGE - begin % LAP_SHADOW_PAGE;
    return (size_t)(left < end - begin ? left : end - begin);
}

static inline const unsigned char *known_bytes(const struct lap_mem *mem, uint64_t offset)
{
    return lap_shadow_page(&mem->shadow, offset / LAP_SHADOW_PAGE) + offset % LAP_SHADOW_PAGE;
}

static inline bool is_known(const struct lap_mem *mem, uint64_t offset, size_t bytes)
{
    return memcmp(live_bytes(mem, offset), known_bytes(mem, offset), bytes) == 0;
}

/* Joins spans that come in ascending order. */
struct joiner {
    struct lap_mem *mem;
    struct lap_span span; /* empty: none yet */
    struct lap_collect_stats *stats;
};

static void joiner_flush(struct joiner *joiner)
{
    if (joiner->span.begin == joiner->span.end)
        return;
    add_wrote(joiner->mem, joiner->span.begin, joiner->span.end);
    joiner->stats->changed_bytes += joiner->span.end - joiner->span.begin;
    joiner->span.begin = joiner->span.end = 0;
}

static void joiner_add(struct joiner *joiner, uint64_t begin, uint64_t end)
{
    struct lap_span *span = &joiner->span;
    /* The gap becomes part of an update. It must not have bytes that the device owns: the replay's device may have
     * written them already, where ours has yet to. */
    if (span->begin != span->end && begin - span->end < joiner->mem->tracker->gap_bytes &&
        !lap_interval_intersects(&joiner->mem->device, span->end, begin)) {
        span->end = end;
        return;
    }
    joiner_flush(joiner);
    *span = (struct lap_span){begin, end};
}

/* Bytes that the device wrote, that were not read since, in a page that the host wrote: any of them may be the host's,
 * so all count as such. It happens only where no readable object lay when the memory was mapped. */
static void take_unread(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats)
{
    uint64_t from, to;
    while (lap_interval_first_in(&mem->unread, begin, end, &from, &to)) {
        for (begin = from; begin < to; begin += part_of_page(begin, to)) {
            unsigned char *known = lap_shadow_own(&mem->shadow, begin / LAP_SHADOW_PAGE);
            if (!known) {
                lap_memtrack_break(mem->tracker);
                return;
            }
            memcpy(known + begin % LAP_SHADOW_PAGE, live_bytes(mem, begin), part_of_page(begin, to));
        }
        stats->changed_bytes += to - from;
        lap_mem_host_wrote(mem, from, to);
        if (mem->tracker->failed != LAP_OK)
            return;
    }
}

/* ---- changes, for whoever asks ---- */

/* Changes are told by whole words of so many bytes. */
#define TOLD_BYTES 4u

struct change {
    struct lap_mem *mem;
    const unsigned char *before, *now;
    uint64_t begin, end;
};

static void count_piece(void *context, struct lap_tree_node *node)
{
    ++*(unsigned *)context;
}

static void tell_piece(void *context, struct lap_tree_node *node)
{
    const struct change *change = context;
    const struct lap_memtrack *tracker = change->mem->tracker;
    const struct lap_piece *piece = LAP_PIECE_OF_MEM(node);
    uint64_t to_object = piece->in_object.begin - node->begin, from, to; /* wraps, and wraps back */
    uint64_t begin = (node->begin > change->begin ? node->begin : change->begin) + to_object;
    uint64_t end = (node->end < change->end ? node->end : change->end) + to_object;
    unsigned pieces = 0;
    if (!piece->object->readable)
        return;
    lap_tree_visit(change->mem->pieces, begin - to_object, end - to_object, count_piece, &pieces);
    for (; lap_interval_first_hole(&piece->object->pending, begin, end, &from, &to); begin = to)
        tracker->changed(tracker->changed_context, piece->object->user, pieces == 1, from,
                         change->before + (from - to_object - change->begin),
                         change->now + (from - to_object - change->begin), to - from);
}

static void tell_changes(struct lap_mem *mem, uint64_t begin, const unsigned char *before, const unsigned char *now,
                         size_t bytes)
{
    size_t from, to = 0;
    while (lap_diff_next(now, before, bytes, to, TOLD_BYTES, &from, &to)) {
        size_t within = (begin + from) % TOLD_BYTES;
        from -= within < from ? within : from;
        to += (TOLD_BYTES - (begin + to) % TOLD_BYTES) % TOLD_BYTES;
        to = to < bytes ? to : bytes;
        struct change change = {mem, before + from, now + from, begin + from, begin + to};
        lap_tree_visit(mem->pieces, change.begin, change.end, tell_piece, &change);
    }
}

/* The program may be writing here. One copy is compared, kept and sent; later stores differ from it next time. */
static void take_changes(struct joiner *joiner, uint64_t begin, size_t bytes, unsigned char *known, size_t gap)
{
    unsigned char *copy = joiner->mem->tracker->page;
    size_t from, to = 0;
    memcpy(copy, live_bytes(joiner->mem, begin), bytes);
    if (lap_memtrack_tells(joiner->mem->tracker))
        tell_changes(joiner->mem, begin, known, copy, bytes);
    while (lap_diff_next(copy, known, bytes, to, gap, &from, &to))
        joiner_add(joiner, begin + from, begin + to);
    memcpy(known, copy, bytes);
}

/* The changes enter the sets with enter_wrote. Until then only the ranges that were found, which are not compared
 * again, have another state than the sets say. */
static void compare(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats)
{
    struct lap_memtrack *tracker = mem->tracker;
    struct joiner joiner = {.mem = mem, .stats = stats};
    fetch(mem);
    stats->scanned_bytes += end - begin;
    take_unread(mem, begin, end, stats);
    while (begin < end && tracker->failed == LAP_OK) {
        size_t bytes = part_of_page(begin, end), from, to = 0, gap = 0;
        const unsigned char *live = live_bytes(mem, begin);
        unsigned char *known = NULL;
        /* Most pages lie in no cache: each byte is fetched once, and only changed bytes are stored. */
        while (lap_diff_next_blocks(live, known ? known : known_bytes(mem, begin), bytes, to, &from, &to)) {
            if (!known) {
                known = lap_shadow_own(&mem->shadow, begin / LAP_SHADOW_PAGE);
                if (!known) {
                    lap_memtrack_break(tracker);
                    break;
                }
                known += begin % LAP_SHADOW_PAGE;
                gap = lap_interval_intersects(&mem->device, begin, begin + bytes) ? 0 : tracker->gap_bytes;
            }
            take_changes(&joiner, begin + from, to - from, known + from, gap);
        }
        begin += bytes;
    }
    joiner_flush(&joiner);
}

void lap_mem_compare(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats)
{
    compare(mem, begin, end, stats);
    enter_wrote(mem);
}

/* Compares bytes that no submitted work is writing now. The rest stay candidates: they are compared when the work has
 * finished. */
static void compare_idle(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats)
{
    uint64_t from, to;
    while (lap_interval_first_in(&mem->busy, begin, end, &from, &to)) {
        if (begin < from)
            compare(mem, begin, from, stats);
        if (!lap_interval_add(&mem->candidates, from, to))
            lap_memtrack_break(mem->tracker);
        begin = to;
    }
    if (begin < end)
        compare(mem, begin, end, stats);
}

/* ---- reports of the watch ---- */

static void add_candidate(void *context, const void *reported, size_t bytes)
{
    struct lap_mem *mem = context;
    uint64_t begin = mem->map_begin + (uint64_t)((const unsigned char *)reported - mem->pointer);
    if (!lap_interval_add(&mem->candidates, begin, begin + bytes))
        lap_memtrack_break(mem->tracker);
}

void lap_mem_take(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    if (begin < end &&
        mem->watch->take(mem->region, live_bytes(mem, begin), (size_t)(end - begin), add_candidate, mem) < 0)
        add_candidate(mem, live_bytes(mem, begin), (size_t)(end - begin));
}

/* Takes the next candidates in [*begin, end) out of the set. */
static bool next_candidate(struct lap_mem *mem, uint64_t *begin, uint64_t end, uint64_t *out_begin, uint64_t *out_end)
{
    if (!lap_interval_first_in(&mem->candidates, *begin, end, out_begin, out_end))
        return false;
    *begin = *out_end;
    if (lap_interval_remove(&mem->candidates, *out_begin, *out_end))
        return true;
    lap_memtrack_break(mem->tracker);
    return false;
}

static void compare_reported(struct lap_mem *mem, struct lap_collect_stats *stats)
{
    struct lap_span_list *reported = &mem->tracker->reported;
    const struct lap_spans spans = lap_spans_of(reported);
    if (!lap_interval_remove_all(&mem->candidates, &spans))
        lap_memtrack_break(mem->tracker);
    for (size_t i = 0; i < reported->count; i++)
        compare_idle(mem, reported->at[i].begin, reported->at[i].end, stats);
    reported->count = 0;
}

/* Gathers them, and compares them when they are many. */
static void find_reported(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats)
{
    uint64_t from, to;
    for (; lap_interval_first_in(&mem->candidates, begin, end, &from, &to); begin = to)
        if (!lap_span_list_add(&mem->tracker->reported, from, to)) {
            compare_reported(mem, stats);
            lap_span_list_add(&mem->tracker->reported, from, to);
        }
}

static void scan_all(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats)
{
    /* Candidates were busy last time; all of the range is compared now. */
    if (!lap_interval_remove(&mem->candidates, begin, end))
        lap_memtrack_break(mem->tracker);
    compare_idle(mem, begin, end, stats);
    if (!mem->chosen)
        stats->unwatched_bytes += end - begin;
    if (!mem->chosen || mem->compare_left == UINT64_MAX)
        return;
    mem->compare_left -= end - begin < mem->compare_left ? end - begin : mem->compare_left;
    if (mem->compare_left == 0) /* it lives, and is looked at again and again */
        lap_mem_watch_chosen(mem);
}

void lap_mem_scan(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats)
{
    if (begin >= end)
        return;
    if (mem->watch->exact) {
        lap_mem_take(mem, begin, end);
        find_reported(mem, begin, end, stats);
        compare_reported(mem, stats);
    } else {
        scan_all(mem, begin, end, stats);
    }
    enter_wrote(mem);
}

/* A second range costs one more system call; asking for the gap between two ranges costs one or two nanoseconds a
 * page. */
#define TAKE_GAP_BYTES (UINT64_C(1) << 20)

static bool reserve_asked(struct lap_memtrack *tracker)
{
    return lap_array_grow(&tracker->asked, sizeof(*tracker->asked), &tracker->asked_capacity,
                          (size_t)tracker->asked_count + 1);
}

void lap_mem_ask(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    struct lap_memtrack *tracker = mem->tracker;
    if (begin >= end || !mem->watch->exact)
        return;
    if (!reserve_asked(tracker)) { /* one by one works without it */
        lap_mem_take(mem, begin, end);
        return;
    }
    tracker->asked[tracker->asked_count++] = (struct lap_watch_range){
        .region = mem->region, .begin = live_bytes(mem, begin), .bytes = (size_t)(end - begin), .report_context = mem};
}

void lap_mem_ask_todo(struct lap_mem *mem)
{
    uint64_t begin = 0, end = 0, from, to, at = 0;
    while (mem->watch->exact && lap_interval_next(&mem->todo, at, &from, &to)) {
        if (begin == end || from - end > TAKE_GAP_BYTES) {
            lap_mem_ask(mem, begin, end);
            begin = from;
        }
        at = end = to;
    }
    lap_mem_ask(mem, begin, end);
}

void lap_memtrack_take_asked(struct lap_memtrack *tracker)
{
    if (!tracker->asked_count)
        return;
    lap_watch_take_many(tracker->watch, tracker->asked, tracker->asked_count, add_candidate);
    for (size_t i = 0; i < tracker->asked_count; i++)
        if (tracker->asked[i].failed)
            add_candidate(tracker->asked[i].report_context, tracker->asked[i].begin, tracker->asked[i].bytes);
    tracker->asked_count = 0;
}

void lap_mem_scan_todo(struct lap_mem *mem, struct lap_collect_stats *stats)
{
    uint64_t begin, end, from = 0;
    for (; lap_interval_next(&mem->todo, from, &begin, &end); from = end) {
        if (mem->watch->exact)
            find_reported(mem, begin, end, stats);
        else
            scan_all(mem, begin, end, stats);
    }
    compare_reported(mem, stats);
    enter_wrote(mem);
    lap_interval_clear(&mem->todo);
}

/* ---- writes that are not the host's ---- */

/* Without coherence only an invalidate shows the device's writes. */
static void were_read(struct lap_mem *mem, const struct lap_spans *spans)
{
    if (!lap_interval_remove_all(&mem->unread, spans) ||
        (mem->flags & LAP_MEM_HOST_COHERENT && !lap_interval_remove_all(&mem->stale, spans)))
        lap_memtrack_break(mem->tracker);
}

static void was_read(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    const struct lap_span span = {begin, end};
    const struct lap_spans spans = lap_spans_of_one(&span);
    were_read(mem, &spans);
}

/* Copies the mapping to the shadow. */
static void copy_to_shadow(struct lap_mem *mem, uint64_t begin, size_t bytes)
{
    unsigned char *known;
    if (bytes == LAP_SHADOW_PAGE && lap_diff_is_zero(live_bytes(mem, begin), bytes)) {
        lap_shadow_drop(&mem->shadow, begin / LAP_SHADOW_PAGE, begin / LAP_SHADOW_PAGE + 1);
        return;
    }
    known = lap_shadow_own(&mem->shadow, begin / LAP_SHADOW_PAGE);
    if (known)
        memcpy(known + begin % LAP_SHADOW_PAGE, live_bytes(mem, begin), bytes);
    else
        lap_memtrack_break(mem->tracker);
}

/* Bytes of W have changed, and the shadow is about to be a copy of the mapping. */
static void device_changed(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    const struct lap_span span = {begin, end};
    const struct lap_spans spans = lap_spans_of_one(&span);
    lose_host_writes(mem, &spans);
    if (!lap_interval_add(&mem->device, begin, end))
        lap_memtrack_break(mem->tracker);
    lap_mem_left(mem, &spans);
    were_read(mem, &spans);
}

/* Work may have stored here unannounced while it was not mapped. What was announced is in U. */
static void tell_device_changes(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    unsigned char *now = mem->tracker->page;
    uint64_t from, to, at;
    for (; begin < end; begin += part_of_page(begin, end)) {
        size_t bytes = part_of_page(begin, end);
        if (is_known(mem, begin, bytes))
            continue;
        memcpy(now, live_bytes(mem, begin), bytes);
        for (at = begin; lap_interval_first_hole(&mem->unread, at, begin + bytes, &from, &to); at = to)
            tell_changes(mem, from, known_bytes(mem, from), now + (from - begin), (size_t)(to - from));
    }
}

void lap_mem_baseline(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    struct lap_memtrack *tracker = mem->tracker;
    fetch(mem);
    if (mem->device_anywhere && lap_memtrack_tells(tracker))
        tell_device_changes(mem, begin, end);
    was_read(mem, begin, end);
    while (begin < end && tracker->failed == LAP_OK) {
        size_t bytes = part_of_page(begin, end), within = (size_t)(begin % LAP_SHADOW_PAGE), from, to = 0;
        if (is_known(mem, begin, bytes)) {
            ; /* nearly always, and nothing to do */
        } else if (!lap_interval_intersects(&mem->written, begin, begin + bytes)) {
            copy_to_shadow(mem, begin, bytes);
        } else {
            unsigned char *known = lap_shadow_own(&mem->shadow, begin / LAP_SHADOW_PAGE);
            if (!known) {
                lap_memtrack_break(tracker);
                return;
            }
            /* Byte by byte: unchanged bytes of the host are still the host's, and may be pending. */
            memcpy(tracker->page, live_bytes(mem, begin), bytes);
            while (lap_diff_next(tracker->page, known + within, bytes, to, 0, &from, &to))
                if (lap_interval_intersects(&mem->written, begin + from, begin + to))
                    device_changed(mem, begin + from, begin + to);
            memcpy(known + within, tracker->page, bytes);
        }
        begin += bytes;
    }
}

void lap_mem_baseline_written(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t from, to;
    lap_mem_take(mem, begin, end);
    while (next_candidate(mem, &begin, end, &from, &to))
        lap_mem_baseline(mem, from, to);
}

static void read_bytes(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    fetch(mem);
    while (begin < end && mem->tracker->failed == LAP_OK) {
        size_t bytes = part_of_page(begin, end);
        if (!is_known(mem, begin, bytes))
            copy_to_shadow(mem, begin, bytes);
        begin += bytes;
    }
}

void lap_mem_read(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    was_read(mem, begin, end);
    read_bytes(mem, begin, end);
}

void lap_mem_read_device(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t from, to;
    while (lap_interval_first_in(&mem->unread, begin, end, &from, &to)) {
        lap_mem_read(mem, from, to);
        begin = to;
        if (mem->tracker->failed != LAP_OK)
            return;
    }
}

static bool lie_in_mapping(const struct lap_mem *mem, const struct lap_spans *spans)
{
    return mem->mapped && spans->at[0].begin >= mem->map_begin && spans->at[spans->count - 1].end <= mem->map_end;
}

static void expect_unread(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t before = mem->mapped && mem->map_begin < end ? mem->map_begin : end;
    uint64_t after = mem->mapped && mem->map_end > begin ? mem->map_end : begin;
    if (!lap_interval_add(&mem->unread, begin, before) || !lap_interval_add(&mem->unread, after, end))
        lap_memtrack_break(mem->tracker);
}

void lap_mem_expect_device(struct lap_mem *mem, const struct lap_spans *spans)
{
    if (!lap_interval_add_all(&mem->device, spans))
        lap_memtrack_break(mem->tracker);
    for (size_t i = 0; !lie_in_mapping(mem, spans) && i < spans->count; i++)
        expect_unread(mem, spans->at[i].begin, spans->at[i].end);
    lap_mem_overwritten(mem, spans);
}

void lap_mem_absorb_device(struct lap_mem *mem, const struct lap_spans *spans)
{
    lose_host_writes(mem, spans);
    lap_mem_expect_device(mem, spans);
    lap_mem_left(mem, spans);
    if (!mem->mapped) /* the shadow is behind, and is never sent: nothing in it is pending. The next map reads it. */
        return;
    if (lie_in_mapping(mem, spans)) {
        were_read(mem, spans);
        for (size_t i = 0; i < spans->count; i++)
            read_bytes(mem, spans->at[i].begin, spans->at[i].end);
        return;
    }
    for (size_t i = 0; i < spans->count; i++) {
        const struct lap_span *span = &spans->at[i];
        lap_mem_read(mem, span->begin > mem->map_begin ? span->begin : mem->map_begin,
                     span->end < mem->map_end ? span->end : mem->map_end);
    }
}
