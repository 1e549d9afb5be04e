/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "memtrack/memtrack_internal.h"

enum lap_status lap_memobj_create(struct lap_memtrack *tracker, void *user, uint64_t bytes, bool host_readable_layout,
                                  struct lap_memobj **out)
{
    struct lap_memobj *object = calloc(1, sizeof(*object));
    *out = NULL;
    if (!object)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the record of a bound object");
    object->tracker = tracker;
    object->user = user;
    object->bytes = bytes;
    object->readable = host_readable_layout;
    lap_memtrack_lock(tracker);
    object->order = tracker->next_order++;
    object->next = tracker->objects;
    if (object->next)
        object->next->previous = object;
    tracker->objects = object;
    lap_memtrack_unlock(tracker);
    *out = object;
    return LAP_OK;
}

void lap_memobj_only_read(struct lap_memobj *object)
{
    object->only_read = true;
}

/* ---- pending; an object is on the tracker's list if and only if it has some ---- */

static void list_pending(struct lap_memobj *object)
{
    struct lap_memtrack *tracker = object->tracker;
    object->pending_previous = tracker->pending_last;
    object->pending_next = NULL;
    if (tracker->pending_last)
        tracker->pending_last->pending_next = object;
    else
        tracker->pending_first = object;
    tracker->pending_last = object;
}

static void unlist_pending(struct lap_memobj *object)
{
    struct lap_memtrack *tracker = object->tracker;
    if (object->pending_previous)
        object->pending_previous->pending_next = object->pending_next;
    else
        tracker->pending_first = object->pending_next;
    if (object->pending_next)
        object->pending_next->pending_previous = object->pending_previous;
    else
        tracker->pending_last = object->pending_previous;
}

void lap_memobj_add_pending(struct lap_memobj *object, const struct lap_spans *spans)
{
    bool was_empty = lap_interval_empty(&object->pending);
    if (!object->readable)
        return;
    if (!lap_interval_add_all(&object->pending, spans))
        lap_memtrack_break(object->tracker);
    if (was_empty && !lap_interval_empty(&object->pending))
        list_pending(object);
}

void lap_memobj_drop_all_pending(struct lap_memobj *object, const struct lap_spans *spans)
{
    if (lap_interval_empty(&object->pending))
        return;
    if (!lap_interval_remove_all(&object->pending, spans))
        lap_memtrack_break(object->tracker);
    if (lap_interval_empty(&object->pending))
        unlist_pending(object);
}

void lap_memobj_drop_pending(struct lap_memobj *object, uint64_t begin, uint64_t end)
{
    const struct lap_span span = {begin, end};
    const struct lap_spans spans = lap_spans_of_one(&span);
    lap_memobj_drop_all_pending(object, &spans);
}

/* ---- pieces ---- */

static void link_piece(struct lap_piece *piece)
{
    if (!piece->object->only_read) {
        piece->mem->writables++;
        lap_mem_watch_chosen(piece->mem);
    }
    lap_tree_insert(&piece->mem->pieces, &piece->in_mem);
    lap_tree_insert(&piece->object->pieces, &piece->in_object);
}

static void unlink_piece(struct lap_piece *piece)
{
    piece->mem->writables -= !piece->object->only_read;
    lap_tree_remove(&piece->mem->pieces, &piece->in_mem);
    lap_tree_remove(&piece->object->pieces, &piece->in_object);
}

void lap_piece_destroy(struct lap_piece *piece)
{
    unlink_piece(piece);
    free(piece);
}

void lap_piece_set(struct lap_piece *piece, struct lap_memobj *object, uint64_t object_begin,
                   const struct lap_mem *view, struct lap_mem *mem, uint64_t begin, uint64_t bytes)
{
    *piece = (struct lap_piece){.mem = mem, .view = view, .object = object};
    piece->in_mem.begin = begin;
    piece->in_mem.end = begin + bytes;
    piece->in_object.begin = object_begin;
    piece->in_object.end = object_begin + bytes;
    piece->in_mem.order = piece->in_object.order = object->tracker->next_order++;
    link_piece(piece);
}

/* Takes [begin, end) of the object out of its memory. *spare is used up (and NULLed) when a piece falls in two. */
static void unbind(struct lap_memobj *object, uint64_t begin, uint64_t end, struct lap_piece **spare)
{
    struct lap_tree_node *node;
    if (begin >= end)
        return;
    lap_memobj_drop_pending(object, begin, end);
    while ((node = lap_tree_first(object->pieces, begin, end))) {
        struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
        uint64_t object_begin = node->begin, object_end = node->end, mem_begin = piece->in_mem.begin;
        const struct lap_mem *view = piece->view;
        struct lap_mem *mem = piece->mem;
        unlink_piece(piece);
        if (object_begin < begin) {
            lap_piece_set(piece, object, object_begin, view, mem, mem_begin, begin - object_begin);
            piece = NULL;
        }
        if (object_end > end) {
            if (!piece) {
                piece = *spare;
                *spare = NULL;
            }
            lap_piece_set(piece, object, end, view, mem, mem_begin + (end - object_begin), object_end - end);
            piece = NULL;
        }
        free(piece);
    }
}

static bool splits_a_piece(const struct lap_memobj *object, uint64_t begin, uint64_t end)
{
    const struct lap_tree_node *node = lap_tree_first(object->pieces, begin, end);
    return node && node->begin < begin && node->end > end;
}

void lap_memobj_unbind(struct lap_memobj *object, uint64_t object_offset, uint64_t bytes)
{
    uint64_t end = bytes > UINT64_MAX - object_offset ? UINT64_MAX : object_offset + bytes;
    struct lap_piece *spare = NULL;
    lap_memtrack_lock(object->tracker);
    if (splits_a_piece(object, object_offset, end)) {
        spare = malloc(sizeof(*spare));
        if (!spare) { /* the far part goes too: its writes are lost, so nothing is valid from here on */
            lap_memtrack_break(object->tracker);
            end = UINT64_MAX;
        }
    }
    unbind(object, object_offset, end, &spare);
    lap_memtrack_unlock(object->tracker);
    free(spare);
}

void lap_memobj_destroy(struct lap_memobj **object)
{
    struct lap_memobj *old = *object;
    struct lap_memtrack *tracker;
    struct lap_piece *spare = NULL;
    if (!old)
        return;
    tracker = old->tracker;
    lap_memtrack_lock(tracker);
    unbind(old, 0, UINT64_MAX, &spare);
    lap_memobj_drop_pending(old, 0, UINT64_MAX);
    if (old->previous)
        old->previous->next = old->next;
    else
        tracker->objects = old->next;
    if (old->next)
        old->next->previous = old->previous;
    lap_memtrack_unlock(tracker);
    lap_interval_finish(&old->pending);
    free(old);
    *object = NULL;
}

/* As many pieces as the range has parts, in a list; NULL when out of memory, or when there is nothing. */
static struct lap_piece *make_pieces(struct lap_mem *mem, uint64_t at, uint64_t end)
{
    struct lap_piece *first = NULL;
    struct lap_part part;
    while (lap_mem_next_part(mem, &at, end, &part)) {
        struct lap_piece *piece = malloc(sizeof(*piece));
        if (!piece) {
            for (; first; first = piece) {
                piece = first->next;
                free(first);
            }
            return NULL;
        }
        piece->next = first;
        first = piece;
    }
    return first;
}

/* The replay's object is empty: all of the host's earlier writes here have to be sent, again if need be, and so have
 * inherited bytes. Other bytes of D are not sent: the device is about to write them, or an alias of the object has
 * them. */
static void expect_contents(struct lap_memobj *object, uint64_t object_begin, const struct lap_part *part)
{
    const struct lap_mem *mem = part->mem;
    uint64_t from, to, at = part->begin;
    while (lap_interval_first_in(&mem->written, at, part->end, &from, &to)) {
        uint64_t hole_begin, hole_end;
        for (at = to; lap_interval_first_hole(&mem->device, from, to, &hole_begin, &hole_end); from = hole_end) {
            const struct lap_span hole = {hole_begin - part->begin + object_begin,
                                          hole_end - part->begin + object_begin};
            const struct lap_spans spans = lap_spans_of_one(&hole);
            lap_memobj_add_pending(object, &spans);
        }
    }
}

static void share(void *context, struct lap_tree_node *node)
{
    struct lap_memobj *object = context, *other = LAP_PIECE_OF_MEM(node)->object;
    if (other != object)
        other->shared = object->shared = true;
}

static void find_sharers(struct lap_memobj *object, const struct lap_part *part)
{
    lap_tree_visit(part->mem->pieces, part->begin, part->end, share, object);
    if (part->mem->device_anywhere || lap_interval_intersects(&part->mem->device, part->begin, part->end))
        object->shared = true;
}

static enum lap_status bind(struct lap_memobj *object, uint64_t object_offset, struct lap_mem *mem, uint64_t offset,
                            uint64_t bytes, bool sparse)
{
    struct lap_memtrack *tracker = object->tracker;
    struct lap_piece *pieces, *spare;
    struct lap_part part;
    uint64_t end;
    if (mem->tracker != tracker || object_offset > object->bytes || offset > mem->bytes)
        return lap_fail(LAP_ERROR_ARGUMENT, "an object was bound outside of its memory");
    if (bytes >
        object->bytes - object_offset) /* the padding of a sparse block, or of an allocation, belongs to no object */
        bytes = object->bytes - object_offset;
    if (bytes > mem->bytes - offset)
        return lap_fail(LAP_ERROR_ARGUMENT, "an object was bound across the end of its memory");
    if (bytes == 0)
        return LAP_OK;
    end = offset + bytes;
    spare = malloc(sizeof(*spare));
    lap_memtrack_lock(tracker);
    pieces = spare ? make_pieces(mem, offset, end) : NULL;
    if (!pieces) {
        lap_memtrack_unlock(tracker);
        free(spare);
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the place of an object");
    }
    unbind(object, object_offset, object_offset + bytes, &spare);
    object->sparse |= sparse;
    while (lap_mem_next_part(mem, &offset, end, &part)) {
        struct lap_piece *piece = pieces;
        pieces = piece->next;
        find_sharers(object, &part);
        if (object->readable && !object->sparse)
            lap_mem_inherit(part.mem, part.begin, part.end);
        lap_piece_set(piece, object, object_offset, mem->is_view ? mem : NULL, part.mem, part.begin,
                      part.end - part.begin);
        expect_contents(object, object_offset, &part);
        object_offset += part.end - part.begin;
    }
    lap_memtrack_unlock(tracker);
    free(spare);
    return LAP_OK;
}

enum lap_status lap_memobj_bind(struct lap_memobj *object, uint64_t object_offset, struct lap_mem *mem, uint64_t offset,
                                uint64_t bytes)
{
    return bind(object, object_offset, mem, offset, bytes, false);
}

enum lap_status lap_memobj_bind_sparse(struct lap_memobj *object, uint64_t object_offset, struct lap_mem *mem,
                                       uint64_t offset, uint64_t bytes)
{
    return bind(object, object_offset, mem, offset, bytes, true);
}

enum lap_status lap_memobj_keep(struct lap_memobj *object, uint64_t offset, uint64_t bytes, struct lap_memobj **out)
{
    uint64_t end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    enum lap_status status = lap_memobj_create(object->tracker, object->user, object->bytes, false, out);
    struct lap_tree_node *node;

    if (status != LAP_OK)
        return status;
    lap_memtrack_lock(object->tracker);
    while (offset < end && (node = lap_tree_first(object->pieces, offset, end))) {
        const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
        uint64_t from = node->begin > offset ? node->begin : offset, to = node->end < end ? node->end : end;
        struct lap_piece *copy = malloc(sizeof(*copy));
        if (!copy) {
            status = lap_fail(LAP_ERROR_MEMORY, "no memory for the place of an object");
            break;
        }
        lap_piece_set(copy, *out, from, piece->view, piece->mem, piece->in_mem.begin + (from - node->begin), to - from);
        offset = to;
    }
    lap_memtrack_unlock(object->tracker);
    if (status != LAP_OK)
        lap_memobj_destroy(out);
    return status;
}

bool lap_memobj_find(const struct lap_memobj *object, const struct lap_mem *mem, uint64_t begin, uint64_t end,
                     uint64_t *offset, uint64_t *bytes)
{
    uint64_t at = *offset, range_end = *bytes > UINT64_MAX - at ? UINT64_MAX : at + *bytes;
    struct lap_tree_node *node;
    bool found = false;

    lap_memtrack_lock(object->tracker);
    while (!found && at < range_end && (node = lap_tree_first(object->pieces, at, range_end))) {
        const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
        /* wraps, and wraps back */
        uint64_t to_object = node->begin - piece->in_mem.begin - lap_piece_to_view(piece, mem);
        uint64_t from = (node->begin > at ? node->begin : at) - to_object;
        uint64_t to = (node->end < range_end ? node->end : range_end) - to_object;
        from = from > begin ? from : begin;
        to = to < end ? to : end;
        found = lap_mem_may_show(mem, piece) && from < to;
        if (found) {
            *offset = from + to_object;
            *bytes = to - from;
        }
        at = node->end;
    }
    lap_memtrack_unlock(object->tracker);
    return found;
}

struct other_object {
    const struct lap_memobj *object;
    bool found;
};

static void find_other(void *context, struct lap_tree_node *node)
{
    struct other_object *other = context;
    if (LAP_PIECE_OF_MEM(node)->object != other->object)
        other->found = true;
}

static void find_others(void *context, struct lap_tree_node *node)
{
    const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
    lap_tree_visit(piece->mem->pieces, piece->in_mem.begin, piece->in_mem.end, find_other, context);
}

struct lap_memobj_place lap_memobj_place(const struct lap_memobj *object)
{
    struct lap_memobj_place place = {0};
    struct lap_tree_node *node;
    lap_memtrack_lock(object->tracker);
    node = lap_tree_first(object->pieces, 0, UINT64_MAX);
    if (node) {
        const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
        struct other_object other = {.object = object};
        place.mem = piece->view ? piece->view : piece->mem;
        place.offset = piece->in_mem.begin + lap_piece_to_view(piece, place.mem);
        lap_tree_visit(object->pieces, 0, UINT64_MAX, find_others, &other);
        place.aliased = other.found;
    }
    lap_memtrack_unlock(object->tracker);
    return place;
}

struct aliases {
    const struct lap_memobj *object;
    uint64_t begin, end; /* of the object, then of the memory */
    lap_alias_fn visit;
    void *context;
};

static void visit_alias(void *context, struct lap_tree_node *node)
{
    const struct aliases *aliases = context;
    const struct lap_piece *piece = LAP_PIECE_OF_MEM(node);
    uint64_t from = node->begin > aliases->begin ? node->begin : aliases->begin;
    uint64_t to = node->end < aliases->end ? node->end : aliases->end;
    if (piece->object != aliases->object)
        aliases->visit(aliases->context, piece->object, piece->in_object.begin + (from - node->begin), to - from);
}

static void visit_aliases(void *context, struct lap_tree_node *node)
{
    const struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
    struct aliases inside = *(const struct aliases *)context;
    uint64_t to_mem = piece->in_mem.begin - node->begin; /* wraps, and wraps back */
    inside.begin = (inside.begin > node->begin ? inside.begin : node->begin) + to_mem;
    inside.end = (inside.end < node->end ? inside.end : node->end) + to_mem;
    lap_tree_visit(piece->mem->pieces, inside.begin, inside.end, visit_alias, &inside);
}

void lap_memobj_each_alias(struct lap_memobj *object, uint64_t offset, uint64_t bytes, lap_alias_fn visit,
                           void *context)
{
    uint64_t end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    struct aliases aliases = {object, offset, end, visit, context};
    lap_memtrack_lock(object->tracker);
    lap_tree_visit(object->pieces, offset, end, visit_aliases, &aliases);
    lap_memtrack_unlock(object->tracker);
}

/* The first part of [*begin, *end) of the object that lies in one piece and is mapped; the range becomes that part. */
static struct lap_piece *first_mapped(const struct lap_memobj *object, uint64_t *begin, uint64_t *end)
{
    struct lap_tree_node *node;
    while (*begin < *end && (node = lap_tree_first(object->pieces, *begin, *end))) {
        struct lap_piece *piece = LAP_PIECE_OF_OBJECT(node);
        uint64_t to_object = node->begin - piece->in_mem.begin; /* wraps, and wraps back */
        uint64_t from = *begin > node->begin ? *begin : node->begin, to = *end < node->end ? *end : node->end;
        if (piece->mem->mapped && from - to_object < piece->mem->map_end && to - to_object > piece->mem->map_begin) {
            uint64_t map_begin = piece->mem->map_begin + to_object, map_end = piece->mem->map_end + to_object;
            *begin = from - to_object > piece->mem->map_begin ? from : map_begin;
            *end = to - to_object < piece->mem->map_end ? to : map_end;
            return piece;
        }
        *begin = node->end;
    }
    return NULL;
}

bool lap_memobj_look_device(struct lap_memobj *object, uint64_t offset, uint64_t bytes, lap_look_fn visit,
                            void *context, uint64_t *out_offset, uint64_t *out_bytes)
{
    struct lap_memtrack *tracker = object->tracker;
    uint64_t end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes, from, to, idle_from, idle_to;
    const struct lap_piece *piece;
    lap_memtrack_lock(tracker);
    piece = first_mapped(object, &offset, &end);
    if (piece) {
        struct lap_mem *mem = piece->mem;
        uint64_t to_object = piece->in_object.begin - piece->in_mem.begin; /* wraps, and wraps back */
        uint64_t at = offset - to_object;
        if (mem->flags & LAP_MEM_HOST_COHERENT)
            lap_mem_scan(mem, at, end - to_object, &tracker->since);
        for (; lap_interval_first_in(&mem->device, at, end - to_object, &from, &to); at = to)
            for (; lap_interval_first_hole(&mem->busy, from, to, &idle_from, &idle_to); from = idle_to)
                visit(context, idle_from + to_object, mem->pointer + (idle_from - mem->map_begin), idle_to - idle_from);
        *out_offset = offset;
        *out_bytes = end - offset;
    }
    lap_memtrack_unlock(tracker);
    return piece;
}

bool lap_memobj_shares(const struct lap_memobj *object)
{
    bool shared;
    lap_memtrack_lock(object->tracker);
    shared = object->shared;
    lap_memtrack_unlock(object->tracker);
    return shared;
}

void *lap_memobj_user(const struct lap_memobj *object)
{
    return object->user;
}
