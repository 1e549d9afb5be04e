/* SPDX-License-Identifier: MIT */
/*
 * Bytes that finished device work left in a memory. An object inherits them that is bound there while no other live
 * object would share them in a replay (docs/memory.md, "Bind"). Inherited bytes become the host's, as if the host had
 * stored them, because from then on the trace has to give them to a replay.
 *
 * F, S and O are lap_mem's sets `finished`, `stale` and `owed`.
 */
#include "memtrack/memtrack_internal.h"

static void add(struct lap_mem *mem, struct lap_interval *set, uint64_t begin, uint64_t end)
{
    if (!lap_interval_add(set, begin, end))
        lap_memtrack_break(mem->tracker);
}

static void take_away(struct lap_mem *mem, struct lap_interval *set, uint64_t begin, uint64_t end)
{
    if (!lap_interval_remove(set, begin, end))
        lap_memtrack_break(mem->tracker);
}

void lap_mem_overwritten(struct lap_mem *mem, const struct lap_spans *spans)
{
    if (!lap_interval_remove_all(&mem->finished, spans) || !lap_interval_remove_all(&mem->stale, spans) ||
        !lap_interval_remove_all(&mem->owed, spans))
        lap_memtrack_break(mem->tracker);
}

void lap_mem_left(struct lap_mem *mem, const struct lap_spans *spans)
{
    if (!lap_interval_add_all(&mem->finished, spans) || !lap_interval_add_all(&mem->stale, spans))
        lap_memtrack_break(mem->tracker);
}

void lap_mem_lose(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t from, to;
    for (; lap_interval_first_in(&mem->finished, begin, end, &from, &to); begin = to)
        add(mem, &mem->stale, from, to);
}

/* ---- bind ---- */

/* In memory that is not coherent the mapping shows the host's view, which may differ from the device's writes. There is
 * nothing better; an invalidate or unmap corrects it. */
static void inherit_host_view(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t from, to;
    while (lap_interval_first_in(&mem->stale, begin, end, &from, &to)) {
        lap_mem_host_wrote(mem, begin, to);
        add(mem, &mem->owed, from, to);
        begin = to;
    }
    lap_mem_host_wrote(mem, begin, end);
}

static void inherit_unmapped(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t from, to;
    while (lap_interval_first_hole(&mem->stale, begin, end, &from, &to)) {
        add(mem, &mem->owed, begin, from);
        lap_mem_host_wrote(mem, from, to);
        begin = to;
    }
    add(mem, &mem->owed, begin, end);
}

/* [begin, end) is in F. The mapping also has the device's changes since it was known to have finished. */
static void inherit(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t from = end, to = end;
    if (mem->mapped && begin < mem->map_end && end > mem->map_begin) {
        from = begin > mem->map_begin ? begin : mem->map_begin;
        to = end < mem->map_end ? end : mem->map_end;
    }
    inherit_unmapped(mem, begin, from);
    if (from < to && mem->flags & LAP_MEM_HOST_COHERENT) {
        lap_mem_read(mem, from, to);
        lap_mem_host_wrote(mem, from, to);
    } else {
        inherit_host_view(mem, from, to);
    }
    inherit_unmapped(mem, to, end);
}

struct uncovered {
    struct lap_mem *mem;
    uint64_t begin, end; /* the part that is still to be checked */
};

/* Pieces come in the order of their begins. */
static void skip_covered(void *context, struct lap_tree_node *node)
{
    struct uncovered *rest = context;
    const struct lap_piece *piece = LAP_PIECE_OF_MEM(node);
    if (!piece->object->readable || piece->object->sparse) /* a replay does not share its bytes with the new object */
        return;
    if (rest->begin < node->begin)
        inherit(rest->mem, rest->begin, node->begin);
    if (rest->begin < node->end)
        rest->begin = node->end;
}

static void inherit_uncovered(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    struct uncovered rest = {mem, begin, end};
    lap_tree_visit(mem->pieces, begin, end, skip_covered, &rest);
    if (rest.begin < end)
        inherit(mem, rest.begin, end);
}

void lap_mem_inherit(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t from, to, idle_from, idle_to;
    for (; lap_interval_first_in(&mem->finished, begin, end, &from, &to); begin = to)
        for (; lap_interval_first_hole(&mem->busy, from, to, &idle_from, &idle_to); from = idle_to)
            inherit_uncovered(mem, idle_from, idle_to);
}

/* ---- bytes that could not be read when an object was bound ---- */

void lap_mem_settle(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t owed_from, owed_to, from, to;
    while (lap_interval_first_in(&mem->owed, begin, end, &owed_from, &owed_to)) {
        take_away(mem, &mem->owed, owed_from, owed_to);
        for (begin = owed_from; lap_interval_first_in(&mem->finished, begin, owed_to, &from, &to); begin = to) {
            lap_mem_read(mem, from, to);
            lap_mem_host_wrote(mem, from, to);
        }
        lap_mem_compare(mem, owed_from, owed_to, &mem->tracker->since); /* the host's view was given before */
        begin = owed_to;
    }
}

void lap_mem_becomes_coherent(struct lap_mem *mem)
{
    uint64_t from, to, at = mem->map_begin;
    if (!mem->mapped)
        return;
    lap_mem_settle(mem, mem->map_begin, mem->map_end);
    for (; lap_interval_first_in(&mem->stale, at, mem->map_end, &from, &to); at = to)
        lap_mem_read(mem, from, to);
}

void lap_mem_settle_host_view(struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    uint64_t owed_from, owed_to, from, to;
    for (; lap_interval_first_in(&mem->owed, begin, end, &owed_from, &owed_to); begin = owed_to)
        for (; lap_interval_first_in(&mem->finished, owed_from, owed_to, &from, &to); owed_from = to)
            inherit_host_view(mem, from, to);
}

bool lap_mem_has_unread(const struct lap_mem *mem, uint64_t *out_offset, uint64_t *out_bytes)
{
    uint64_t begin, end = 0, at = 0;
    bool owes;
    lap_memtrack_lock(mem->tracker);
    owes = !mem->mapped && lap_interval_next(&mem->owed, 0, out_offset, &end);
    while (owes && lap_interval_next(&mem->owed, at, &begin, &end))
        at = end;
    if (owes)
        *out_bytes = end - *out_offset;
    lap_memtrack_unlock(mem->tracker);
    return owes;
}

void lap_mem_show(struct lap_mem *mem, void *pointer, uint64_t offset, uint64_t bytes)
{
    lap_memtrack_lock(mem->tracker);
    if (!mem->mapped && !mem->is_view && offset <= mem->bytes && bytes <= mem->bytes - offset) {
        mem->pointer = pointer;
        mem->map_begin = offset;
        mem->map_end = offset + bytes;
        lap_mem_settle(mem, offset, offset + bytes);
    }
    lap_memtrack_unlock(mem->tracker);
}
