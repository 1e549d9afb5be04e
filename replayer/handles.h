/* SPDX-License-Identifier: MIT */
/*
 * handles: how an object comes into its table and leaves it, in place where that is what is nearly always so.
 * What else is done with tables is in context.h and player.h. One thread.
 */
#ifndef LAP_REPLAYER_HANDLES_H
#define LAP_REPLAYER_HANDLES_H

#include "replayer/context.h"
#include "replayer/named.h"
#include "replayer/player.h"

static inline struct replay_object_page *replay_page_of(const struct replay_table *table, uint64_t index)
{
    return (struct replay_object_page *)table->live.pages[index / REPLAY_PAGE_OBJECTS];
}

/* Into a page, where nothing has been or what was has been zeroed. */
static inline struct replay_object *replay_object_put(struct replay *r, struct replay_object_page *page, uint64_t index,
                                                      uint64_t live, void *owner)
{
    struct replay_object *object = &page->objects[index % REPLAY_PAGE_OBJECTS];

    object->live = live;
    object->owner = owner;
    object->order = ++r->next_order;
    page->handles.live[index % REPLAY_PAGE_OBJECTS] = live;
    page->alive++;
    r->alive++;
    return object;
}

/* The usual case of replay_object_add: the next number, in the page of the one before. NULL: it is not that. */
static inline struct replay_object *replay_object_add_next(struct replay *r, enum gen_handle_type type, uint64_t index,
                                                           uint64_t live, void *owner)
{
    struct replay_table *table = &r->tables[type];
    struct replay_object_page *page;

    if (index != table->live.count || index % REPLAY_PAGE_OBJECTS == 0 || live == 0 || table->slots || r->parallel)
        return NULL;
    page = replay_page_of(table, index);
    if (!page)
        return NULL;
    table->live.count = index + 1;
    return replay_object_put(r, page, index, live, owner);
}

/* replay_keep, where that is nearly always the usual case. */
static inline enum lap_status replay_object_keep(struct replay *r, enum gen_handle_type type, void *owner,
                                                 uint64_t index, uint64_t live)
{
    return replay_object_add_next(r, type, index, live, owner) ? LAP_OK : replay_keep(r, type, owner, index, live);
}

/* Out of its page, and nothing else. */
static inline void replay_object_take_out(struct replay *r, enum gen_handle_type type, uint64_t index,
                                          struct replay_object *object, struct replay_object_page *page)
{
    r->removed++;
    r->ends += replay_named_counts(type, object);
    *object = (struct replay_object){0};
    page->handles.live[index % REPLAY_PAGE_OBJECTS] = 0;
    page->alive--;
    r->alive--;
}

/* Where more than its table knows of it. */
void replay_object_end_known(struct replay *r, enum gen_handle_type type, uint64_t index, struct replay_object *object);

/* object: that of the index, alive. Its record is somebody else's to free. */
static inline __attribute__((always_inline)) void replay_object_end(struct replay *r, enum gen_handle_type type,
                                                                    uint64_t index, struct replay_object *object)
{
    const struct replay_table *table = &r->tables[type];
    struct replay_object_page *page = replay_page_of(table, index);
    bool names = object->named && type != GEN_HANDLE_VkImageView;

    if (__builtin_expect(table->slots || names || page->alive == 1 || r->caller_seen.type == type, 0))
        replay_object_end_known(r, type, index, object);
    else
        replay_object_take_out(r, type, index, object, page);
}

#endif
