/* SPDX-License-Identifier: MIT */
/*
 * handles: adds objects to the tables, finds and removes them. One thread.
 */
#ifndef LAP_REPLAYER_CORE_HANDLES_H
#define LAP_REPLAYER_CORE_HANDLES_H

#include <stdio.h>

#include "base/assert.h"
#include "gen_ids.h"
#include "replayer/core/replay.h"

/* Makes the decoders of this context use its tables. Call it once for each copy of the context, and when the number
 * of instances or devices changes. */
void replay_tables_attach(struct replay *r);
/* index comes from the file, so it may have any value. Fails when the object is alive already, and when over a
 * million indices below the largest ones of all types are unused: indices are dense, so the size of the tables stays
 * in proportion to the trace. LAP_ERROR_LIMIT: there would be more than REPLAY_MOST_OBJECTS, or they would lie on
 * more than REPLAY_MOST_PAGES. */
enum lap_status replay_object_add(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t live,
                                  void *owner, struct replay_object **out_object) LAP_MUST_CHECK;
/* Counts further driver objects, which the replay creates on the trace's behalf, against the same limit. */
enum lap_status replay_objects_reserve(struct replay *r, uint64_t count) LAP_MUST_CHECK;
void replay_objects_release(struct replay *r, uint64_t count);
/* NULL when there is no such live object. Pointers are valid until it is removed. */
struct replay_object *replay_object_get(struct replay *r, enum gen_handle_type type, uint64_t index);
/* By live handle, for hand-written functions that only have decoded arguments (a probe of a hash map). Where a
 * driver returned one live handle for two creations: the one that the packet decoded last, or else any of them. */
uint64_t replay_object_index(struct replay *r, enum gen_handle_type type, uint64_t live);
void replay_object_remove(struct replay *r, enum gen_handle_type type, uint64_t index);
/* Gives a live object another handle of the driver's. */
void replay_object_move(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t live);

/* Both index (0 where there is none) and object (NULL) of a live handle. */
static inline struct replay_object *replay_object_of(struct replay *r, enum gen_handle_type type, uint64_t live,
                                                     uint64_t *out_index)
{
    const struct replay_table *table = &r->objects.tables[type];
    struct replay_object *object = replay_table_get(table, table->live.last);

    *out_index = table->live.last;
    if (__builtin_expect(object && object->live == live, 1))
        return object;
    *out_index = replay_object_index(r, type, live);
    return replay_table_get(table, *out_index);
}

/* See gen_keep_VkX in gen_replay.h. */
enum lap_status replay_keep(struct replay *r, enum gen_handle_type type, void *owner, uint64_t index,
                            uint64_t live) LAP_MUST_CHECK;
/* Removes a destroyed object from its table; 0 and handles that are not there are fine. */
void replay_object_forget(struct replay *r, enum gen_handle_type type, uint64_t live);
/* Destroys the live objects of `owner`, newest first, each by its own command. Objects that end with a parent end
 * with it. */
void replay_objects_destroy_left(struct replay *r, void *owner);
void replay_tables_finish(struct replay *r);
/* Prints the live objects, "VkImage:2" in a line, by type and index. */
void replay_objects_print(const struct replay *r, FILE *out);

/* Indices of objects that end with their pool. A child's record holds its position in the list, so the list owns the
 * record. */
struct replay_children {
    uint64_t *indices;
    uint64_t count;
    size_t capacity;
};
/* The object's parent is set too. */
enum lap_status replay_children_add(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                                    uint64_t index, uint64_t parent) LAP_MUST_CHECK;
/* Before a list of objects is freed, for each of them: fails for an object that is alive and not in the list, or is
 * freed twice. *checked: how many were checked so far, 0 before the first. The list's order changes. */
enum lap_status replay_children_check(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                                      uint64_t index, uint64_t *checked) LAP_MUST_CHECK;
/* Removes one child, if it is alive, from the list and from its table. */
void replay_children_remove(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                            uint64_t index);
/* Removes all of them, but not the list's memory. */
void replay_children_clear(struct replay *r, struct replay_children *children, enum gen_handle_type type);
void replay_children_finish(struct replay_children *children);

static inline struct replay_object_page *replay_page_of(const struct replay_table *table, uint64_t index)
{
    return (struct replay_object_page *)table->live.pages[index / REPLAY_PAGE_OBJECTS];
}

/* Puts an object into a free slot of a page, which is zeroed. */
static inline struct replay_object *replay_object_put(struct replay *r, struct replay_object_page *page, uint64_t index,
                                                      uint64_t live, void *owner)
{
    struct replay_object *object = &page->objects[index % REPLAY_PAGE_OBJECTS];

    object->live = live;
    object->owner = owner;
    object->order = ++r->objects.next_order;
    page->handles.live[index % REPLAY_PAGE_OBJECTS] = live;
    page->alive++;
    r->objects.alive++;
    return object;
}

/* The usual case of replay_object_add: the next number, in the page of the one before. NULL: another case. */
static inline struct replay_object *replay_object_add_next(struct replay *r, enum gen_handle_type type, uint64_t index,
                                                           uint64_t live, void *owner)
{
    struct replay_table *table = &r->objects.tables[type];
    struct replay_object_page *page;

    if (index != table->live.count || index % REPLAY_PAGE_OBJECTS == 0 || live == 0 || table->slots || r->parallel)
        return NULL;
    page = replay_page_of(table, index);
    if (!page)
        return NULL;
    table->live.count = index + 1;
    return replay_object_put(r, page, index, live, owner);
}

/* replay_keep, with the usual case inline. */
static inline enum lap_status replay_object_keep(struct replay *r, enum gen_handle_type type, void *owner,
                                                 uint64_t index, uint64_t live)
{
    return replay_object_add_next(r, type, index, live, owner) ? LAP_OK : replay_keep(r, type, owner, index, live);
}

/* Whether recorded command buffers may use the object, so that its end makes them invalid: r->objects.ends counts
 * such ends. */
static inline bool replay_object_may_be_recorded(enum gen_handle_type type, const struct replay_object *object)
{
    switch (type) {
    case GEN_HANDLE_VkCommandBuffer:
        return object->secondary;
    case GEN_HANDLE_VkCommandPool: /* these are copied, or no command buffer uses them */
    case GEN_HANDLE_VkDescriptorPool:
    case GEN_HANDLE_VkDescriptorSetLayout:
    case GEN_HANDLE_VkDescriptorUpdateTemplate:
    case GEN_HANDLE_VkFence:
    case GEN_HANDLE_VkPipelineCache:
    case GEN_HANDLE_VkPipelineLayout:
    case GEN_HANDLE_VkSemaphore:
    case GEN_HANDLE_VkShaderModule:
        return false;
    default:
        return true;
    }
}

/* Removes the object from its page only. */
static inline void replay_object_take_out(struct replay *r, enum gen_handle_type type, uint64_t index,
                                          struct replay_object *object, struct replay_object_page *page)
{
    LAP_ASSERT(page->alive && r->objects.alive && object->live, "tables count what is alive");
    r->objects.removed++;
    r->objects.ends += replay_object_may_be_recorded(type, object);
    *object = (struct replay_object){0};
    page->handles.live[index % REPLAY_PAGE_OBJECTS] = 0;
    page->alive--;
    r->objects.alive--;
}

/* The end of an object that other places than its table refer to. */
void replay_object_end_known(struct replay *r, enum gen_handle_type type, uint64_t index, struct replay_object *object);

/* object: that of the index, alive. The caller frees its record. */
static inline __attribute__((always_inline)) void replay_object_end(struct replay *r, enum gen_handle_type type,
                                                                    uint64_t index, struct replay_object *object)
{
    const struct replay_table *table = &r->objects.tables[type];
    struct replay_object_page *page = replay_page_of(table, index);
    bool names = object->references && type != GEN_HANDLE_VkImageView;

    if (__builtin_expect(table->slots || names || page->alive == 1 || r->objects.caller_seen.type == type, 0))
        replay_object_end_known(r, type, index, object);
    else
        replay_object_take_out(r, type, index, object, page);
}

#endif
