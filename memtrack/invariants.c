/* SPDX-License-Identifier: MIT */
#include "memtrack/invariants.h"

#ifdef LAP_ASSERTS
#include "base/assert.h"
#include "memtrack/memtrack_internal.h"

static bool contains(const struct lap_interval *set, uint64_t begin, uint64_t end)
{
    uint64_t from, to;
    return begin >= end || !lap_interval_first_hole(set, begin, end, &from, &to);
}

/* Every byte of `part` is in one of the two sets; b may be NULL. */
static bool is_within(const struct lap_interval *part, const struct lap_interval *a, const struct lap_interval *b)
{
    uint64_t begin, end, from, to;
    for (uint64_t at = 0; lap_interval_next(part, at, &begin, &end); at = end)
        for (uint64_t next = begin; lap_interval_first_hole(a, next, end, &from, &to); next = to)
            if (!b || !contains(b, from, to))
                return false;
    return true;
}

/* The intersection of a and b lies in `set`. */
static bool covers_intersection(const struct lap_interval *set, const struct lap_interval *a,
                                const struct lap_interval *b)
{
    uint64_t begin, end, from, to;
    for (uint64_t at = 0; lap_interval_next(a, at, &begin, &end); at = end)
        for (uint64_t next = begin; lap_interval_first_in(b, next, end, &from, &to); next = to)
            if (!contains(set, from, to))
                return false;
    return true;
}

static void check_memory(const struct lap_mem *mem)
{
    bool coherent = mem->flags & LAP_MEM_HOST_COHERENT;
    LAP_ASSERT(is_within(&mem->unread, &mem->device, NULL), "(10) U(m) is a part of D(m)");
    LAP_ASSERT(!mem->mapped || !mem->watch || mem->watch->exact ||
                   !lap_interval_intersects(&mem->unread, mem->map_begin, mem->map_end),
               "(10) without an exact watch nothing that is mapped is in U(m)");
    LAP_ASSERT(is_within(&mem->finished, &mem->device, NULL), "(11) F(m) is a part of D(m)");
    LAP_ASSERT(is_within(&mem->stale, &mem->finished, NULL), "(11) S(m) is a part of F(m)");
    LAP_ASSERT(!coherent || (is_within(&mem->stale, &mem->unread, NULL) &&
                             covers_intersection(&mem->stale, &mem->finished, &mem->unread)),
               "(11) of coherent memory S(m) is what F(m) and U(m) have in common");
    LAP_ASSERT(is_within(&mem->owed, &mem->stale, coherent ? NULL : &mem->written), "(11) O(m) is a part of S(m)");
    LAP_ASSERT(!coherent || !mem->mapped || !lap_interval_intersects(&mem->owed, mem->map_begin, mem->map_end),
               "(12) nothing is owed of coherent memory that is mapped");
}

static void check_pending(const struct lap_memobj *object, uint64_t begin, uint64_t end)
{
    for (uint64_t at = begin; at < end;) {
        struct lap_tree_node *node = lap_tree_first(object->pieces, at, end);
        LAP_ASSERT(node && node->begin <= at, "(1) what is pending is bound");
        const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
        uint64_t to = end < node->end ? end : node->end, to_mem = piece->in_mem.begin - node->begin;
        LAP_ASSERT(contains(&piece->mem->written, at + to_mem, to + to_mem), "(2) what is pending is the host's");
        LAP_ASSERT(!lap_interval_intersects(&piece->mem->device, at + to_mem, to + to_mem),
                   "(2) nothing that is pending is the device's");
        at = to;
    }
}

void lap_memtrack_check_invariants(const struct lap_memtrack *tracker)
{
    uint64_t with_pending = 0, listed = 0, begin, end;
    if (tracker->failed != LAP_OK) /* nothing is sent any more */
        return;
    for (const struct lap_mem *mem = tracker->mems; mem; mem = mem->next)
        check_memory(mem);
    for (const struct lap_memobj *object = tracker->objects; object; object = object->next) {
        LAP_ASSERT(object->readable || lap_interval_empty(&object->pending),
                   "(6) what can't be read has nothing pending");
        with_pending += !lap_interval_empty(&object->pending);
        for (uint64_t at = 0; lap_interval_next(&object->pending, at, &begin, &end); at = end)
            check_pending(object, begin, end);
    }
    for (const struct lap_memobj *object = tracker->pending_first; object; object = object->pending_next) {
        LAP_ASSERT(!lap_interval_empty(&object->pending), "(7) what is on the list has something pending");
        listed++;
    }
    LAP_ASSERT(listed == with_pending, "(7) what has something pending is on the list");
}
#endif
