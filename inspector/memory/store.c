/* SPDX-License-Identifier: MIT */
#include "inspector/memory/store.h"

#include <stdlib.h>

#define LAP_SEGMENT_OF(node) ((struct memory_segment *)(void *)(node)) /* its first member */

struct memory_event *memory_event_new(enum memory_kind kind)
{
    struct memory_event *event = calloc(1, sizeof *event);

    if (event) {
        event->references = 1;
        event->kind = kind;
    }
    return event;
}

void memory_event_release(struct memory_event *event)
{
    if (event && --event->references == 0)
        free(event);
}

static void drop(struct memory_store *store, struct memory_segment *segment)
{
    memory_event_release(segment->origin);
    memory_event_release(segment->copy);
    free(segment);
    --*store->count;
}

static enum lap_status insert(struct memory_store *store, uint64_t begin, uint64_t end,
                              const struct memory_segment *like, uint64_t skip)
{
    struct memory_segment *segment;

    if (*store->count == MEMORY_MOST_SEGMENTS)
        return lap_fail(LAP_ERROR_LIMIT, "more parts of memory were written than can be followed");
    segment = malloc(sizeof *segment);
    if (!segment)
        return lap_no_memory("what wrote the memory");
    *segment = *like;
    segment->node = (struct lap_tree_node){.begin = begin, .end = end};
    segment->skip = skip;
    segment->origin->references++;
    if (segment->copy)
        segment->copy->references++;
    lap_tree_insert(&store->root, &segment->node);
    ++*store->count;
    return LAP_OK;
}

enum lap_status memory_store_clear(struct memory_store *store, uint64_t begin, uint64_t end)
{
    struct lap_tree_node *node;
    enum lap_status status = LAP_OK;

    while (begin < end && status == LAP_OK && (node = lap_tree_first(store->root, begin, end))) {
        struct memory_segment *segment = LAP_SEGMENT_OF(node);
        lap_tree_remove(&store->root, node);
        if (node->begin < begin)
            status = insert(store, node->begin, begin, segment, segment->skip);
        if (node->end > end && status == LAP_OK)
            status = insert(store, end, node->end, segment, segment->skip + (end - node->begin));
        drop(store, segment);
    }
    return status;
}

/* Whether bytes go on behind a segment. */
static bool goes_on(const struct memory_segment *segment, const struct memory_event *origin,
                    const struct memory_event *copy, uint64_t skip)
{
    return segment->origin == origin && segment->copy == copy &&
           (origin->kind >= MEMORY_DEVICE || segment->skip + (segment->node.end - segment->node.begin) == skip);
}

enum lap_status memory_store_put(struct memory_store *store, uint64_t begin, uint64_t end, struct memory_event *origin,
                                 struct memory_event *copy, uint64_t skip, uint64_t serial)
{
    const struct memory_segment like = {.origin = origin, .copy = copy, .serial = serial};
    struct lap_tree_node *before;
    enum lap_status status;

    if (end > store->end)
        end = store->end;
    if (begin >= end)
        return LAP_OK;
    status = memory_store_clear(store, begin, end);
    before = begin && status == LAP_OK ? lap_tree_first(store->root, begin - 1, begin) : NULL;
    if (before && goes_on(LAP_SEGMENT_OF(before), origin, copy, skip)) { /* the rows of one copy, for example */
        struct memory_segment *segment = LAP_SEGMENT_OF(before);
        lap_tree_remove(&store->root, before);
        status = insert(store, before->begin, end, &like, segment->skip);
        drop(store, segment);
        return status;
    }
    return status == LAP_OK ? insert(store, begin, end, &like, skip) : status;
}

const struct memory_segment *memory_store_at(const struct memory_store *store, uint64_t begin, uint64_t end,
                                             uint64_t *out_end)
{
    struct lap_tree_node *node = begin < end ? lap_tree_first(store->root, begin, end) : NULL;

    *out_end = end;
    if (!node)
        return NULL;
    if (node->begin > begin) {
        *out_end = node->begin;
        return NULL;
    }
    if (node->end < end)
        *out_end = node->end;
    return LAP_SEGMENT_OF(node);
}

void memory_store_finish(struct memory_store *store)
{
    struct lap_tree_node *node;

    while ((node = store->root)) {
        lap_tree_remove(&store->root, node);
        drop(store, LAP_SEGMENT_OF(node));
    }
}
