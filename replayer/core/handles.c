/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"

/* Indices that a trace may skip: other threads of the program may have taken them. */
#define MAX_HOLES       1000000u

#define FIRST_SLOTS     64u
#define FEW_CHILDREN    1024u
#define MAX_SPARE_PAGES 256u /* 4 KiB each: enough for the objects that come and go with every frame */

/* ---- live handle -> index: open addressing with linear probing ---- */

static uint64_t slot_of(const struct replay_table *table, uint64_t live)
{
    return (live * 0x9e3779b97f4a7c15u >> 20) & (table->slot_count - 1);
}

static void slot_put(struct replay_table *table, uint64_t index)
{
    uint64_t at = slot_of(table, replay_table_get(table, index)->live);

    while (table->slots[at] != 0)
        at = (at + 1) & (table->slot_count - 1);
    table->slots[at] = index;
    table->slot_used++;
}

/* Rehashes into `count` slots, which must suffice. Without memory nothing changes. */
static bool slots_move(struct replay_table *table, uint64_t count)
{
    uint64_t *old = table->slots, old_count = table->slot_count;

    table->slot_count = count;
    table->slots = calloc(table->slot_count, sizeof *table->slots);
    if (!table->slots) {
        table->slots = old;
        table->slot_count = old_count;
        return false;
    }
    table->slot_used = 0;
    for (uint64_t i = 0; i < old_count; i++)
        if (old[i])
            slot_put(table, old[i]);
    free(old);
    return true;
}

static bool slots_grow(struct replay_table *table)
{
    return table->slot_used * 2 < table->slot_count ||
           slots_move(table, table->slot_count ? table->slot_count * 2 : FIRST_SLOTS);
}

/* Shrinks a table that grew for many objects once few are left. */
static void slots_shrink(struct replay_table *table)
{
    if (table->slot_count > FIRST_SLOTS && table->slot_used < table->slot_count / 16)
        (void)slots_move(table, table->slot_count / 4);
}

/* Most tables are never searched by live handle, except for the object that the current packet uses. So a table gets
 * its slots at the first search. Returns false without memory; the table then has no slots. */
static bool slots_fill(struct replay_table *table)
{
    for (uint64_t index = 1; index < table->live.count; index++) {
        if (!table->live.pages[index / REPLAY_PAGE_OBJECTS]) {
            index |= REPLAY_PAGE_OBJECTS - 1; /* continue with the next page */
            continue;
        }
        if (!replay_table_get(table, index))
            continue;
        if (!slots_grow(table)) {
            free(table->slots);
            table->slots = NULL;
            table->slot_count = table->slot_used = 0;
            return false;
        }
        slot_put(table, index);
    }
    return true;
}

static void slot_remove(struct replay_table *table, uint64_t index)
{
    uint64_t mask = table->slot_count - 1, hole = slot_of(table, replay_table_get(table, index)->live);

    while (table->slots[hole] != index) {
        if (table->slots[hole] == 0)
            return;
        hole = (hole + 1) & mask;
    }
    /* Moves entries into the hole if their probe sequence crosses it. */
    for (uint64_t at = (hole + 1) & mask; table->slots[at] != 0; at = (at + 1) & mask) {
        uint64_t home = slot_of(table, replay_table_get(table, table->slots[at])->live);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->slots[hole] = table->slots[at];
            hole = at;
        }
    }
    table->slots[hole] = 0;
    table->slot_used--;
}

/* ---- objects ---- */

void replay_tables_attach(struct replay *r)
{
    for (unsigned type = 0; type < GEN_HANDLE_COUNT; type++)
        r->objects.live[type] = &r->objects.tables[type].live;
    r->objects.several = (r->devices && r->devices->next) || (r->instances && r->instances->next);
    r->source.live = r->objects.several ? NULL : r->objects.live;
}

static struct replay_object_page *page_of(const struct replay_table *table, uint64_t number)
{
    return (struct replay_object_page *)table->live.pages[number];
}

/* Frees a page without live objects, unless the next objects will go into it. The page is all zero. */
static void drop_page(struct replay *r, struct replay_table *table, uint64_t number)
{
    struct replay_object_page *page = page_of(table, number);

    if (!page || page->alive || number == (table->live.count - 1) / REPLAY_PAGE_OBJECTS)
        return;
    table->live.pages[number] = NULL;
    r->objects.page_count--;
    if (r->objects.spare_count == MAX_SPARE_PAGES) {
        free(page);
        return;
    }
    page->next_spare = r->objects.spare_pages;
    r->objects.spare_pages = page;
    r->objects.spare_count++;
}

static struct replay_object_page *new_page(struct replay *r)
{
    struct replay_object_page *page = r->objects.spare_pages;

    if (!page)
        return calloc(1, sizeof *page);
    r->objects.spare_pages = page->next_spare;
    r->objects.spare_count--;
    page->next_spare = NULL;
    return page;
}

static bool pages_grow(struct replay_table *table, uint64_t number)
{
    uint64_t capacity = table->page_capacity ? table->page_capacity : 4;
    struct lap_live_page **pages;

    if (number < table->page_capacity)
        return true;
    while (capacity <= number)
        capacity *= 2;
    pages = realloc(table->live.pages, capacity * sizeof *pages);
    if (!pages)
        return false;
    memset(pages + table->page_capacity, 0, (capacity - table->page_capacity) * sizeof *pages);
    table->live.pages = pages;
    table->page_capacity = capacity;
    return true;
}

/* The page of an index, created on demand. NULL without memory. */
static struct replay_object_page *need_page(struct replay *r, struct replay_table *table, uint64_t index)
{
    uint64_t number = index / REPLAY_PAGE_OBJECTS;
    struct replay_object_page *page;

    if (!pages_grow(table, number))
        return NULL;
    if (table->live.pages[number])
        return page_of(table, number);
    page = new_page(r);
    table->live.pages[number] = page ? &page->handles : NULL;
    r->objects.page_count += page != NULL;
    return page;
}

static enum lap_status too_many(struct replay *r)
{
    enum lap_status status = lap_fail(LAP_ERROR_LIMIT, "more than %u million objects are alive at once",
                                      (unsigned)(REPLAY_MOST_OBJECTS >> 20));

    return replay_place(r, status);
}

enum lap_status replay_objects_reserve(struct replay *r, uint64_t count)
{
    if (r->objects.alive >= REPLAY_MOST_OBJECTS || count > REPLAY_MOST_OBJECTS - r->objects.alive)
        return too_many(r);
    r->objects.alive += count;
    return LAP_OK;
}

void replay_objects_release(struct replay *r, uint64_t count)
{
    LAP_ASSERT(count <= r->objects.alive, "what is given back was taken");
    r->objects.alive -= count;
}

/* Drops the last page, if it is empty, only when a new page begins: that is soon enough. */
static __attribute__((noinline)) enum lap_status add(struct replay *r, enum gen_handle_type type, uint64_t index,
                                                     uint64_t live, void *owner, struct replay_object **out_object)
{
    struct replay_table *table = &r->objects.tables[type];
    struct replay_object_page *page;
    struct replay_object *object;
    uint64_t last = table->live.count ? (table->live.count - 1) / REPLAY_PAGE_OBJECTS : 0;
    bool has_slots = table->slots || r->parallel; /* no thread may fill a table later that several threads read */
    uint64_t next = table->live.count ? table->live.count : 1;

    if (out_object)
        *out_object = NULL;
    if (index == 0 || live == 0)
        return replay_fail(r, "a %s without %s", gen_handle_names[type], index ? "a live handle" : "an index");
    if (index >= next && index - next > MAX_HOLES - r->objects.holes)
        return replay_fail(r, "%s:%" PRIu64 " can't be right: the trace has had %" PRIu64 " of them",
                           gen_handle_names[type], index, table->live.count ? table->live.count - 1 : 0);
    if (replay_table_get(table, index))
        return replay_fail(r, "%s:%" PRIu64 " is created while it is alive", gen_handle_names[type], index);
    if (r->objects.alive >= REPLAY_MOST_OBJECTS || r->objects.page_count >= REPLAY_MOST_PAGES)
        return too_many(r);
    page = !has_slots || slots_grow(table) ? need_page(r, table, index) : NULL;
    if (!page) {
        (void)lap_fail(LAP_ERROR_MEMORY, "out of memory for %s:%" PRIu64, gen_handle_names[type], index);
        return replay_place(r, LAP_ERROR_MEMORY);
    }
    if (index >= next) {
        r->objects.holes += index - next;
        table->live.count = index + 1;
    } else if (r->objects.holes) {
        r->objects.holes--;
    }
    object = replay_object_put(r, page, index, live, owner);
    if (has_slots)
        slot_put(table, index);
    if (index / REPLAY_PAGE_OBJECTS != last)
        drop_page(r, table, last);
    if (out_object)
        *out_object = object;
    return LAP_OK;
}

enum lap_status replay_object_add(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t live,
                                  void *owner, struct replay_object **out_object)
{
    struct replay_object *object = replay_object_add_next(r, type, index, live, owner);

    if (!object)
        return add(r, type, index, live, owner, out_object);
    if (out_object)
        *out_object = object;
    return LAP_OK;
}

struct replay_object *replay_object_get(struct replay *r, enum gen_handle_type type, uint64_t index)
{
    return replay_table_get(&r->objects.tables[type], index);
}

static uint64_t find_without_slots(const struct replay_table *table, uint64_t live)
{
    for (uint64_t index = 1; index < table->live.count; index++) {
        const struct replay_object *object = replay_table_get(table, index);
        if (object && object->live == live)
            return index;
    }
    return 0;
}

uint64_t replay_object_index(struct replay *r, enum gen_handle_type type, uint64_t live)
{
    struct replay_table *table = &r->objects.tables[type];
    const struct replay_object *last = replay_object_get(r, type, table->live.last);

    if (live == 0)
        return 0;
    if (last && last->live == live)
        return table->live.last;
    if (!table->slots && !slots_fill(table))
        return find_without_slots(table, live); /* out of memory */
    if (!table->slots)
        return 0; /* no object is alive */
    for (uint64_t at = slot_of(table, live); table->slots[at] != 0; at = (at + 1) & (table->slot_count - 1))
        if (replay_table_get(table, table->slots[at])->live == live)
            return table->slots[at];
    return 0;
}

static void drop_references(struct replay *r, enum gen_handle_type type, struct replay_object *object)
{
    if (type != GEN_HANDLE_VkImageView && object->references)
        r->objects.drop_references(r, object);
}

void replay_object_end_known(struct replay *r, enum gen_handle_type type, uint64_t index, struct replay_object *object)
{
    struct replay_table *table = &r->objects.tables[type];

    if (table->slots) {
        slot_remove(table, index);
        slots_shrink(table);
    }
    drop_references(r, type, object);
    if (r->objects.caller_seen.type == type)
        r->objects.caller_seen.type = GEN_HANDLE_NONE;
    replay_object_take_out(r, type, index, object, replay_page_of(table, index));
    drop_page(r, table, index / REPLAY_PAGE_OBJECTS);
}

void replay_object_remove(struct replay *r, enum gen_handle_type type, uint64_t index)
{
    struct replay_object *object = replay_table_get(&r->objects.tables[type], index);

    if (object)
        replay_object_end(r, type, index, object);
}

void replay_object_move(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t live)
{
    struct replay_table *table = &r->objects.tables[type];

    if (table->slots)
        slot_remove(table, index);
    replay_table_get(table, index)->live = live;
    table->live.pages[index / REPLAY_PAGE_OBJECTS]->live[index % REPLAY_PAGE_OBJECTS] = live;
    if (table->slots)
        slot_put(table, index);
}

/* Destroys an object that has no index in the trace, or an unusable one: nothing would destroy it later. */
static __attribute__((noinline)) enum lap_status keep(struct replay *r, enum gen_handle_type type, void *owner,
                                                      uint64_t index, uint64_t live)
{
    enum lap_status status;
    char message[512];

    if (index == 0 && live != 0) {
        status = gen_destroy_object(r, owner, type, live);
        return status < 0 ? status : LAP_OK;
    }
    if (index == 0)
        return LAP_OK;
    if (live == 0)
        return replay_fail(r, "%s makes no %s:%" PRIu64, gen_command_names[r->at.command], gen_handle_names[type],
                           index);
    status = replay_object_add(r, type, index, live, owner, NULL);
    if (status == LAP_OK)
        return LAP_OK;
    /* The trace's index is unusable. */
    snprintf(message, sizeof message, "%s", lap_error_message());
    if (gen_destroy_object(r, owner, type, live) < 0)
        lap_log(r->log, LAP_LOG_WARNING, "%s", lap_error_message());
    return lap_fail(status, "%s", message);
}

enum lap_status replay_keep(struct replay *r, enum gen_handle_type type, void *owner, uint64_t index, uint64_t live)
{
    return replay_object_add_next(r, type, index, live, owner) ? LAP_OK : keep(r, type, owner, index, live);
}

void replay_object_forget(struct replay *r, enum gen_handle_type type, uint64_t live)
{
    uint64_t index;
    struct replay_object *object = replay_object_of(r, type, live, &index);

    if (object)
        replay_object_end(r, type, index, object);
}

/* ---- objects that end with their owner ---- */

struct left {
    uint64_t order, index;
    enum gen_handle_type type;
};

static int newest_first(const void *a, const void *b)
{
    const struct left *x = a, *y = b;
    return x->order < y->order ? 1 : x->order > y->order ? -1 : 0;
}

#define WITHOUT_MEMORY 256u /* entries per pass when memory is short */

/* The newest objects, as many as fit. */
struct found {
    struct left *items;
    size_t count, capacity, oldest;
};

static void find(struct found *found, struct left left)
{
    if (found->count < found->capacity)
        found->items[found->count++] = left;
    else if (found->items[found->oldest].order < left.order)
        found->items[found->oldest] = left;
    else
        return;
    if (found->count < found->capacity)
        return;
    for (size_t i = found->oldest = 0; i < found->count; i++)
        if (found->items[i].order < found->items[found->oldest].order)
            found->oldest = i;
}

/* Collects the live objects of owner that end with nothing else. Returns their number. It starts at the end of a type's
 * table, where the newest usually are: most objects that do not fit are then rejected at once as older. */
static size_t collect(struct replay *r, const void *owner, struct found *found)
{
    size_t count = 0;

    for (uint32_t type = 1; type < GEN_HANDLE_COUNT; type++) {
        const struct replay_table *table = &r->objects.tables[type];
        for (uint64_t i = table->live.count; i-- > 1;) {
            const struct replay_object *object = replay_table_get(table, i);
            if (!table->live.pages[i / REPLAY_PAGE_OBJECTS])
                i &= ~(uint64_t)(REPLAY_PAGE_OBJECTS - 1); /* continue with the next page */
            if (!object || object->owner != owner || object->parent)
                continue;
            if (found)
                find(found, (struct left){object->order, i, (enum gen_handle_type)type});
            count++;
        }
    }
    return count;
}

static void destroy(struct replay *r, void *owner, const struct left *left)
{
    struct replay_object *object = replay_object_get(r, left->type, left->index);
    enum lap_status status;

    if (!object)
        return;
    r->objects.tables[left->type].live.last = left->index;
    status = gen_destroy_object(r, owner, left->type, object->live);
    if (status == LAP_END)
        replay_object_remove(r, left->type, left->index);
    else if (status < 0)
        lap_log(r->log, LAP_LOG_WARNING, "%s", lap_error_message());
}

void replay_objects_destroy_left(struct replay *r, void *owner)
{
    struct left few[WITHOUT_MEMORY];
    size_t count, before = SIZE_MAX;

    while ((count = collect(r, owner, NULL)) > 0 && count < before) {
        struct left *all = malloc(count * sizeof *all);
        struct found found = {all ? all : few, 0, all ? count : WITHOUT_MEMORY, 0};
        collect(r, owner, &found);
        qsort(found.items, found.count, sizeof *found.items, newest_first);
        for (size_t i = 0; i < found.count; i++)
            destroy(r, owner, &found.items[i]);
        free(all);
        before = count;
    }
}

void replay_tables_finish(struct replay *r)
{
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        struct replay_table *table = &r->objects.tables[type];
        for (uint64_t i = 0; i < table->page_capacity; i++) {
            struct replay_object_page *page = page_of(table, i);
            for (unsigned j = 0; page && j < REPLAY_PAGE_OBJECTS; j++)
                if (page->objects[j].live)
                    drop_references(r, (enum gen_handle_type)type, &page->objects[j]);
            free(page);
        }
        free(table->live.pages);
        free(table->slots);
        *table = (struct replay_table){0};
    }
    while (r->objects.spare_pages)
        free(new_page(r));
    r->objects.alive = r->objects.page_count = 0;
}

/* ---- children of pools ---- */

enum lap_status replay_children_add(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                                    uint64_t index, uint64_t parent)
{
    struct replay_object *object = replay_object_get(r, type, index);

    if (!object)
        return LAP_OK;
    if (!lap_array_grow(&children->indices, sizeof *children->indices, &children->capacity, children->count + 1)) {
        (void)lap_fail(LAP_ERROR_MEMORY, "out of memory for %s:%" PRIu64, gen_handle_names[type], index);
        return replay_place(r, LAP_ERROR_MEMORY);
    }
    object->parent = parent;
    object->record = (void *)(uintptr_t)children->count;
    children->indices[children->count++] = index;
    return LAP_OK;
}

static void put_child(struct replay *r, struct replay_children *children, enum gen_handle_type type, uint64_t at,
                      uint64_t index)
{
    children->indices[at] = index;
    replay_object_get(r, type, index)->record = (void *)(uintptr_t)at;
}

/* Checked children move to the end. */
enum lap_status replay_children_check(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                                      uint64_t index, uint64_t *checked)
{
    const struct replay_object *object = replay_object_get(r, type, index);
    uint64_t at = object ? (uint64_t)(uintptr_t)object->record : 0, last;

    if (!object)
        return LAP_OK;
    if (at >= children->count || children->indices[at] != index)
        return replay_fail(r, "%s:%" PRIu64 " is freed from a pool that it is not of", gen_handle_names[type], index);
    if (at >= children->count - *checked)
        return replay_fail(r, "%s:%" PRIu64 " is freed twice", gen_handle_names[type], index);
    last = children->count - ++*checked;
    put_child(r, children, type, at, children->indices[last]);
    put_child(r, children, type, last, index);
    return LAP_OK;
}

/* Shrinks an array that grew for many children once few are left. */
static void children_shrink(struct replay_children *children)
{
    size_t capacity = children->capacity;
    uint64_t *indices;

    while (capacity > FEW_CHILDREN && children->count < capacity / 16)
        capacity /= 4;
    if (capacity == children->capacity)
        return;
    indices = realloc(children->indices, capacity * sizeof *indices);
    if (!indices)
        return;
    children->indices = indices;
    children->capacity = capacity;
}

void replay_children_remove(struct replay *r, struct replay_children *children, enum gen_handle_type type,
                            uint64_t index)
{
    struct replay_object *object = replay_object_get(r, type, index);
    uint64_t at = object ? (uint64_t)(uintptr_t)object->record : 0, moved;

    if (!object)
        return;
    moved = children->indices[--children->count];
    put_child(r, children, type, at, moved);
    replay_object_remove(r, type, index);
    children_shrink(children);
}

void replay_children_clear(struct replay *r, struct replay_children *children, enum gen_handle_type type)
{
    for (uint64_t i = 0; i < children->count; i++)
        replay_object_remove(r, type, children->indices[i]);
    children->count = 0;
    children_shrink(children);
}

void replay_children_finish(struct replay_children *children)
{
    free(children->indices);
    *children = (struct replay_children){0};
}

void replay_objects_print(const struct replay *r, FILE *out)
{
    for (unsigned type = 0; type < GEN_HANDLE_COUNT; type++) {
        const struct replay_table *table = &r->objects.tables[type];
        for (uint64_t index = 1; index < table->live.count; index++) {
            if (!table->live.pages[index / REPLAY_PAGE_OBJECTS])
                index |= REPLAY_PAGE_OBJECTS - 1; /* continue with the next page */
            else if (replay_table_get(table, index))
                fprintf(out, "%s:%" PRIu64 "\n", gen_handle_names[type], index);
        }
    }
}
