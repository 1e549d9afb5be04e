/* SPDX-License-Identifier: MIT */
/*
 * Memories that have bytes in common: those made of the same host pages of the program's own, and those that are one
 * payload under several names.
 *
 * The state of a byte must be kept once: a device write through one memory is no host write in the other, and a host
 * write belongs to the objects of both. So an import is a view, and the state lies in parts: internal memories at
 * disjoint ranges of addresses. A view lies over one or more whole parts. Where a new view begins or ends inside a
 * part, the part is split. A part is destroyed with its last view, so no watch and no comparison ever accesses a page
 * that the program has got back. Memories of one payload have one part, all of it; lap_mem_point sets where it can be
 * read. All parts of an origin keep its offsets: only their mapped ranges differ.
 */
#include <stdlib.h>
#include <string.h>

#include "memtrack/memtrack_internal.h"

static struct lap_mem *part_at(struct lap_tree_node *node)
{
    return (struct lap_mem *)(void *)((char *)node - offsetof(struct lap_mem, in_pages));
}

bool lap_mem_next_part(struct lap_mem *mem, uint64_t *at, uint64_t end, struct lap_part *out)
{
    struct lap_tree_node *node;
    if (!mem->is_view || mem->whole) {
        *out = (struct lap_part){mem->whole ? mem->whole : mem, *at, end};
        *at = end;
        return out->begin < end;
    }
    end = end < mem->bytes ? end : mem->bytes;
    if (*at >= end)
        return false;
    node = lap_tree_first(mem->tracker->pages, mem->address + *at, mem->address + end);
    if (!node)
        return false;
    out->mem = part_at(node);
    out->begin = (node->begin > mem->address + *at ? node->begin : mem->address + *at) - out->mem->address;
    out->end = (node->end < mem->address + end ? node->end : mem->address + end) - out->mem->address;
    *at = out->end + out->mem->address - mem->address;
    return true;
}

uint64_t lap_piece_to_view(const struct lap_piece *piece, const struct lap_mem *view)
{
    return view->is_view && piece->view ? piece->mem->address - view->address : 0; /* may wrap, and wraps back */
}

bool lap_mem_may_show(const struct lap_mem *mem, const struct lap_piece *piece)
{
    if (!mem->is_view || mem->whole)
        return piece->mem == (mem->whole ? mem->whole : mem);
    return piece->view && !piece->view->whole;
}

/* ---- parts ---- */

static void enter_pages(struct lap_mem *part)
{
    part->in_pages.begin = part->address + part->map_begin;
    part->in_pages.end = part->address + part->map_end;
    part->in_pages.order = part->tracker->next_order++;
    lap_tree_insert(&part->tracker->pages, &part->in_pages);
}

static struct lap_mem *make_part(struct lap_memtrack *tracker, const struct lap_mem *view, uint64_t begin, uint64_t end)
{
    struct lap_mem *part = lap_mem_add(tracker, end - begin, view->flags);
    if (!part)
        return NULL;
    part->address = begin;
    part->users = 1;
    part->mapped = true;
    part->pointer = view->pointer + (begin - view->address);
    part->map_end = part->bytes;
    enter_pages(part);
    lap_mem_watch(part);
    return part;
}

static void leave_part(struct lap_mem *part)
{
    if (--part->users)
        return;
    lap_tree_remove(&part->tracker->pages, &part->in_pages);
    lap_mem_remove(part);
}

static void leave_whole(struct lap_mem *part)
{
    if (--part->users == 0)
        lap_mem_remove(part);
}

/* ---- splitting a part ---- */

static bool move_set(struct lap_interval *from, struct lap_interval *to, uint64_t at)
{
    uint64_t begin, end;
    for (uint64_t next = at; lap_interval_first_in(from, next, UINT64_MAX, &begin, &end); next = end)
        if (!lap_interval_add(to, begin, end))
            return false;
    return lap_interval_remove(from, at, UINT64_MAX);
}

/* The page that both have a share of is copied; neither uses the other's share. */
static bool move_shadow(struct lap_mem *head, struct lap_mem *tail, uint64_t at)
{
    uint64_t page = at / LAP_SHADOW_PAGE, end = (head->bytes + LAP_SHADOW_PAGE - 1) / LAP_SHADOW_PAGE;
    while (lap_shadow_next_owned(&head->shadow, &page, end)) {
        unsigned char *own = lap_shadow_own(&tail->shadow, page);
        if (!own)
            return false;
        memcpy(own, lap_shadow_page(&head->shadow, page), LAP_SHADOW_PAGE);
        page++;
    }
    lap_shadow_drop(&head->shadow, (at + LAP_SHADOW_PAGE - 1) / LAP_SHADOW_PAGE, end);
    return true;
}

/* Pending belongs to the object, so it stays as it is. */
static bool move_pieces(struct lap_mem *head, struct lap_mem *tail, uint64_t at)
{
    struct lap_tree_node *node;
    while ((node = lap_tree_first(head->pieces, at, UINT64_MAX))) {
        struct lap_piece *piece = LAP_PIECE_OF_MEM(node), *first = NULL;
        struct lap_memobj *object = piece->object;
        const struct lap_mem *view = piece->view;
        uint64_t begin = node->begin, end = node->end, object_begin = piece->in_object.begin;
        if (begin < at) {
            first = malloc(sizeof(*first));
            if (!first)
                return false;
        }
        lap_tree_remove(&head->pieces, &piece->in_mem);
        lap_tree_remove(&object->pieces, &piece->in_object);
        if (first) {
            lap_piece_set(first, object, object_begin, view, head, begin, at - begin);
            object_begin += at - begin;
            begin = at;
        }
        lap_piece_set(piece, object, object_begin, view, tail, begin, end - begin);
    }
    return true;
}

static void arm_part(struct lap_mem *part, const struct lap_watch_ops *watch)
{
    part->watch = watch;
    part->region = NULL;
    if (watch->arm(part->tracker->watch_context, part->pointer, (size_t)(part->map_end - part->map_begin),
                   &part->region) < 0)
        part->watch = &lap_watch_compare; /* the shadow is the content when it was last read, as this watch needs */
}

/* Both halves are watched before the watch of the whole ends, and its reports are kept: no store is missed. */
static void split_watch(struct lap_mem *head, struct lap_mem *tail, uint64_t at)
{
    const struct lap_watch_ops *watch = head->watch;
    void *region = head->region;
    arm_part(tail, watch);
    if (watch->exact)
        lap_mem_take(head, head->map_begin, head->map_end);
    head->map_end = at;
    arm_part(head, watch);
    watch->disarm(region);
}

/* Out of memory breaks the tracker, but leaves everything fit to be destroyed. */
static enum lap_status split(struct lap_mem *head, uint64_t at)
{
    struct lap_memtrack *tracker = head->tracker;
    struct lap_mem *tail = lap_mem_add(tracker, head->bytes, head->flags);
    if (!tail)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the record of imported pages");
    tail->address = head->address;
    tail->users = head->users;
    tail->device_anywhere = head->device_anywhere;
    tail->mapped = true;
    tail->map_begin = at;
    tail->map_end = head->map_end;
    tail->pointer = head->pointer + (at - head->map_begin);
    lap_tree_remove(&tracker->pages, &head->in_pages);
    split_watch(head, tail, at);
    enter_pages(head);
    enter_pages(tail);
    if (move_set(&head->written, &tail->written, at) && move_set(&head->device, &tail->device, at) &&
        move_set(&head->unread, &tail->unread, at) && move_set(&head->seen, &tail->seen, at) &&
        move_set(&head->finished, &tail->finished, at) && move_set(&head->stale, &tail->stale, at) &&
        move_set(&head->owed, &tail->owed, at) && move_set(&head->busy, &tail->busy, at) &&
        move_set(&head->candidates, &tail->candidates, at) && move_shadow(head, tail, at) &&
        move_pieces(head, tail, at))
        return LAP_OK;
    lap_memtrack_break(tracker);
    return lap_fail(LAP_ERROR_MEMORY, "no memory for the record of imported pages");
}

static enum lap_status split_at(struct lap_memtrack *tracker, uint64_t address)
{
    struct lap_tree_node *node = lap_tree_first(tracker->pages, address, address + 1);
    if (!node || node->begin == address)
        return LAP_OK;
    return split(part_at(node), address - part_at(node)->address);
}

/* ---- views ---- */

static void add_flags(struct lap_mem *part, uint32_t flags)
{
    bool becomes_coherent = flags & ~part->flags & LAP_MEM_HOST_COHERENT;
    part->flags |= flags;
    if (becomes_coherent)
        lap_mem_becomes_coherent(part);
}

static void join_part(struct lap_mem *part, uint32_t flags)
{
    part->users++;
    add_flags(part, flags & LAP_MEM_HOST_COHERENT);
    if (flags & LAP_MEM_SHARED && !(part->flags & LAP_MEM_SHARED))
        lap_mem_compare_always(part);
}

static void leave_parts(const struct lap_mem *view, uint64_t begin, uint64_t end)
{
    struct lap_tree_node *node;
    while (begin < end && (node = lap_tree_first(view->tracker->pages, begin, end))) {
        begin = node->end;
        leave_part(part_at(node));
    }
}

static enum lap_status enter_parts(const struct lap_mem *view)
{
    struct lap_memtrack *tracker = view->tracker;
    uint64_t at = view->address, end = view->address + view->bytes;
    enum lap_status status = split_at(tracker, at);
    if (status == LAP_OK)
        status = split_at(tracker, end);
    while (status == LAP_OK && at < end) {
        struct lap_tree_node *node = lap_tree_first(tracker->pages, at, end);
        if (node && node->begin == at) {
            join_part(part_at(node), view->flags);
            at = node->end;
        } else if (make_part(tracker, view, at, node ? node->begin : end)) {
            at = node ? node->begin : end;
        } else {
            status = lap_fail(LAP_ERROR_MEMORY, "no memory for the record of imported pages");
        }
    }
    if (status == LAP_OK && tracker->failed != LAP_OK)
        status = lap_fail(tracker->failed, "out of memory for the baseline of imported pages");
    if (status != LAP_OK)
        leave_parts(view, view->address, at);
    return status;
}

static void list_view(struct lap_mem *view)
{
    view->next = view->tracker->views;
    if (view->next)
        view->next->previous = view;
    view->tracker->views = view;
}

enum lap_status lap_mem_import(struct lap_memtrack *tracker, void *pointer, uint64_t bytes, uint32_t flags,
                               struct lap_mem **out)
{
    struct lap_mem *view;
    enum lap_status status;
    *out = NULL;
    if (!pointer || bytes == 0 || bytes > UINTPTR_MAX - (uintptr_t)pointer || !(flags & LAP_MEM_HOST_VISIBLE))
        return lap_fail(LAP_ERROR_ARGUMENT, "these pages can't be memory");
    view = calloc(1, sizeof(*view));
    if (!view)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the record of a device memory");
    view->tracker = tracker;
    view->is_view = true;
    view->pointer = pointer;
    view->address = (uintptr_t)pointer;
    view->bytes = bytes;
    view->flags = (flags & ~(uint32_t)LAP_MEM_FRESH) | LAP_MEM_FILLED;
    lap_memtrack_lock(tracker);
    status = enter_parts(view);
    if (status == LAP_OK)
        list_view(view);
    lap_memtrack_unlock(tracker);
    if (status == LAP_OK)
        *out = view;
    else
        free(view);
    return status;
}

void lap_mem_share(struct lap_mem *mem)
{
    struct lap_part part;
    uint64_t at = 0;
    lap_memtrack_lock(mem->tracker);
    while (mem->is_view && lap_mem_next_part(mem, &at, mem->bytes, &part))
        if (!(part.mem->flags & LAP_MEM_SHARED))
            lap_mem_compare_always(part.mem);
    lap_memtrack_unlock(mem->tracker);
}

struct gone {
    const struct lap_mem *view;
    struct lap_piece *first;
};

static void find_gone(void *context, struct lap_tree_node *node)
{
    struct gone *gone = context;
    struct lap_piece *piece = LAP_PIECE_OF_MEM(node);
    if (piece->view != gone->view)
        return;
    piece->next = gone->first;
    gone->first = piece;
}

void lap_view_remove(struct lap_mem *view)
{
    struct lap_memtrack *tracker = view->tracker;
    struct gone gone = {.view = view};
    struct lap_part part;
    uint64_t at = 0;
    while (lap_mem_next_part(view, &at, view->bytes, &part))
        lap_tree_visit(part.mem->pieces, part.begin, part.end, find_gone, &gone);
    while (gone.first) {
        struct lap_piece *piece = gone.first;
        gone.first = piece->next;
        lap_memobj_drop_pending(piece->object, piece->in_object.begin, piece->in_object.end);
        lap_piece_destroy(piece);
    }
    if (view->whole)
        leave_whole(view->whole);
    else
        leave_parts(view, view->address, view->address + view->bytes);
    if (view->previous)
        view->previous->next = view->next;
    else
        tracker->views = view->next;
    if (view->next)
        view->next->previous = view->previous;
    free(view);
}

/* ---- payloads ---- */

static struct lap_mem *enter_whole(struct lap_memtrack *tracker, uint64_t key, uint64_t bytes, uint32_t flags)
{
    struct lap_mem *part = NULL;
    for (struct lap_mem *view = tracker->views; view && !part; view = view->next)
        if (view->whole && view->key == key)
            part = view->whole;
    if (!part)
        part = lap_mem_add(tracker, bytes, LAP_MEM_FILLED | LAP_MEM_SHARED);
    if (part) {
        part->users++;
        add_flags(part, flags & (LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT));
    }
    return part;
}

enum lap_status lap_mem_join(struct lap_memtrack *tracker, uint64_t key, uint64_t bytes, uint32_t flags,
                             struct lap_mem **out)
{
    struct lap_mem *view = calloc(1, sizeof(*view));
    *out = NULL;
    if (!view)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the record of a device memory");
    view->tracker = tracker;
    view->is_view = true;
    view->key = key;
    view->bytes = bytes;
    view->flags = flags;
    lap_memtrack_lock(tracker);
    view->whole = enter_whole(tracker, key, bytes, flags);
    if (view->whole)
        list_view(view);
    lap_memtrack_unlock(tracker);
    if (!view->whole) {
        free(view);
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the record of a device memory");
    }
    *out = view;
    return LAP_OK;
}

void lap_mem_fetch_with(struct lap_mem *mem, lap_mem_fetch_fn fetch, void *user)
{
    struct lap_mem *part = mem->whole;
    if (!part)
        return;
    lap_memtrack_lock(mem->tracker);
    part->fetch = fetch;
    part->fetch_user = user;
    lap_memtrack_unlock(mem->tracker);
}

void lap_mem_point(struct lap_mem *mem, void *pointer)
{
    struct lap_mem *part = mem->whole;
    if (!part)
        return;
    lap_memtrack_lock(mem->tracker);
    if (!pointer) {
        if (part->mapped)
            lap_mem_end_mapping(part);
    } else if (part->flags & LAP_MEM_HOST_VISIBLE) {
        part->pointer = pointer;
        if (!part->mapped) {
            part->mapped = true;
            part->map_end = part->bytes;
            lap_mem_watch(part);
        }
    }
    lap_memtrack_unlock(mem->tracker);
}
