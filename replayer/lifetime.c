/* SPDX-License-Identifier: MIT */
#include "replayer/lifetime.h"

#include <stdlib.h>
#include <string.h>

#define STEPS      256u   /* a step is over when so small a part of what is alive has come or gone */
#define MOST_STEPS 8192u  /* planning takes time by the square of them, where cells run out */
#define MAX_HOLE   65536u /* numbers that other threads may have taken; else they are dense: */
#define MOST_MADE  16u    /* objects by one packet, on the average */
#define MAX_BYTES  ((uint64_t)1 << 55)

enum state { NONE, ALIVE, ENDED };

struct object {
    uint64_t state : 2;
    uint64_t item : 62; /* its number + 1; 0: it is over, and forgotten */
};

struct objects {
    struct object *at;
    uint64_t capacity;
};

struct replay_lifetimes {
    struct objects objects[2];
    uint64_t told;              /* how often something happened */
    uint64_t bytes;             /* alive */
    uint64_t alone, made_alone; /* of those, which lie alone; and of all */
    uint32_t limit;
    struct replay_plan_item *items; /* what is alive, and what had not ended when the replay was last heard of */
    size_t item_count, item_capacity;
    uint64_t *run; /* numbers of items that the current run has ended */
    size_t run_count, run_capacity;
    uint64_t run_ticket, run_bytes;
    struct replay_plan_step *steps;
    uint32_t step_count, step_capacity;
    uint32_t coarse;  /* steps are so many times twice as long */
    uint64_t changed; /* bytes that have come and gone in the last step */
    struct replay_cells cells;
};

static enum lap_status no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

enum lap_status replay_lifetimes_create(uint32_t limit, struct replay_lifetimes **out_lifetimes)
{
    struct replay_lifetimes *l = *out_lifetimes = calloc(1, sizeof *l);

    if (!l)
        return no_memory();
    l->limit = limit ? limit : 1;
    return LAP_OK;
}

void replay_lifetimes_destroy(struct replay_lifetimes **lifetimes)
{
    struct replay_lifetimes *l = *lifetimes;

    if (!l)
        return;
    free(l->objects[0].at);
    free(l->objects[1].at);
    free(l->items);
    free(l->run);
    free(l->steps);
    free(l->cells.at);
    free(l);
    *lifetimes = NULL;
}

bool replay_is_destruction(const char *command)
{
    return command && (!strncmp(command, "vkDestroy", 9) || !strncmp(command, "vkFree", 6) ||
                       !strncmp(command, "vkUnmapMemory", 13));
}

/* ---- steps ---- */

/* What would take too long to plan in so many steps is planned in half of them: each is as low as the lower of two. */
static void merge_steps(struct replay_lifetimes *l)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->step_count; i += 2) {
        struct replay_plan_step step = l->steps[i];
        if (i + 1 < l->step_count && l->steps[i + 1].low < step.low)
            step.low = l->steps[i + 1].low;
        l->steps[count++] = step;
    }
    l->step_count = count;
    l->coarse++;
}

/* Something happened at the ticket, after which so much is alive: in the last step, or in one of its own. */
static enum lap_status note_step(struct replay_lifetimes *l, uint64_t ticket, uint64_t bytes)
{
    uint64_t most = (l->bytes > REPLAY_FLOOR_BYTES ? l->bytes : REPLAY_FLOOR_BYTES) / STEPS << l->coarse;
    struct replay_plan_step *last = l->step_count ? &l->steps[l->step_count - 1] : NULL;

    l->changed += bytes;
    if (last && l->changed <= most) {
        last->low = l->bytes < last->low ? l->bytes : last->low;
        return LAP_OK;
    }
    if (l->step_count == MOST_STEPS)
        merge_steps(l);
    if (l->step_count == l->step_capacity) {
        uint32_t capacity = l->step_capacity ? l->step_capacity * 2 : 256;
        struct replay_plan_step *more = realloc(l->steps, capacity * sizeof *more);
        if (!more)
            return no_memory();
        l->steps = more;
        l->step_capacity = capacity;
    }
    l->steps[l->step_count++] = (struct replay_plan_step){ticket, l->bytes};
    l->changed = 0;
    return LAP_OK;
}

/* ---- what happens ---- */

/* *out NULL: the index is none that a trace has. */
static enum lap_status need_object(struct objects *objects, uint64_t index, uint64_t told, struct object **out)
{
    uint64_t capacity = objects->capacity;
    struct object *more;

    *out = NULL;
    if (index >= capacity) {
        if (index > MAX_HOLE + MOST_MADE * told)
            return LAP_OK;
        while (capacity <= index)
            capacity = capacity ? capacity * 2 : 1024;
        more = realloc(objects->at, capacity * sizeof *more);
        if (!more)
            return no_memory();
        memset(more + objects->capacity, 0, (capacity - objects->capacity) * sizeof *more);
        objects->at = more;
        objects->capacity = capacity;
    }
    *out = &objects->at[index];
    return LAP_OK;
}

/* Whether an object that comes now lies alone: as memory.c has it, of what is not for cells. */
static bool lies_alone(const struct replay_lifetimes *l, uint64_t bytes)
{
    uint32_t limit = l->limit / 2;

    if (bytes > REPLAY_MAX_BLOCK_BYTES / 2)
        return true;
    if (l->alone >= limit / 2)
        return false;
    if (l->alone < limit / 8 && l->alone < REPLAY_FEW_ALLOCATIONS && l->made_alone < REPLAY_FEW_CHANGES)
        return true;
    return bytes >= replay_small_bytes(l->alone, limit);
}

static enum lap_status begin_item(struct replay_lifetimes *l, struct object *object, unsigned kind, uint64_t index,
                                  uint64_t bytes, uint32_t property_flags, uint64_t ticket)
{
    bool alone = lies_alone(l, bytes);

    if (l->item_count == l->item_capacity) {
        size_t capacity = l->item_capacity ? l->item_capacity * 2 : 256;
        struct replay_plan_item *more = realloc(l->items, capacity * sizeof *more);
        if (!more)
            return no_memory();
        l->items = more;
        l->item_capacity = capacity;
    }
    l->items[l->item_count++] = (struct replay_plan_item){.begin = ticket,
                                                          .end = UINT64_MAX,
                                                          .index = index,
                                                          .cell = alone ? REPLAY_CELL_ALONE : REPLAY_CELL_UNKNOWN,
                                                          .sort = (uint8_t)replay_sort(kind, property_flags),
                                                          .kind = (uint8_t)kind};
    *object = (struct object){.state = ALIVE, .item = l->item_count};
    l->alone += alone;
    l->made_alone += alone;
    return LAP_OK;
}

enum lap_status replay_lifetimes_bind(struct replay_lifetimes *l, unsigned kind, uint64_t index, uint64_t bytes,
                                      uint32_t property_flags, uint64_t ticket)
{
    enum lap_status status = replay_lifetimes_use(l);
    struct object *object;

    if (status == LAP_OK)
        status = need_object(&l->objects[kind], index, l->told, &object);
    if (status != LAP_OK || !object || object->state == ENDED || bytes > MAX_BYTES - l->bytes)
        return status;
    if (object->state == NONE)
        status = begin_item(l, object, kind, index, bytes, property_flags, ticket);
    if (status != LAP_OK)
        return status;
    l->items[object->item - 1].bytes += replay_planned_bytes(bytes);
    l->items[object->item - 1].recorded_bytes += bytes;
    l->bytes += bytes;
    return note_step(l, ticket, bytes);
}

enum lap_status replay_lifetimes_end(struct replay_lifetimes *l, unsigned kind, uint64_t index, uint64_t ticket)
{
    struct object *object = index < l->objects[kind].capacity ? &l->objects[kind].at[index] : NULL;
    struct replay_plan_item *item;

    if (!object || object->state != ALIVE)
        return LAP_OK;
    if (l->run_count == l->run_capacity) {
        size_t capacity = l->run_capacity ? l->run_capacity * 2 : 256;
        uint64_t *more = realloc(l->run, capacity * sizeof *more);
        if (!more)
            return no_memory();
        l->run = more;
        l->run_capacity = capacity;
    }
    if (l->run_count == 0)
        l->run_ticket = ticket;
    l->run[l->run_count++] = object->item - 1;
    item = &l->items[object->item - 1];
    l->bytes -= item->recorded_bytes;
    l->run_bytes += item->recorded_bytes;
    l->alone -= item->cell == REPLAY_CELL_ALONE;
    object->state = ENDED;
    return LAP_OK;
}

enum lap_status replay_lifetimes_use(struct replay_lifetimes *l)
{
    enum lap_status status;

    l->told++;
    if (l->run_count == 0)
        return LAP_OK;
    status = note_step(l, l->run_ticket, l->run_bytes);
    if (status != LAP_OK)
        return status;
    for (size_t i = 0; i < l->run_count; i++)
        l->items[l->run[i]].end = l->run_ticket;
    l->run_count = 0;
    l->run_bytes = 0;
    return LAP_OK;
}

/* What was over when the replay was here is of no use any more: neither objects nor their cells. */
static void forget(struct replay_lifetimes *l, uint64_t now)
{
    size_t kept = 0;
    uint32_t first = 0;

    for (size_t i = 0; i < l->item_count; i++) {
        const struct replay_plan_item *item = &l->items[i];
        struct object *object = &l->objects[item->kind].at[item->index];
        if (item->end <= now) {
            object->item = 0;
            continue;
        }
        l->items[kept++] = *item;
        object->item = kept;
    }
    l->item_count = kept;
    replay_cells_drop(&l->cells, now);
    while (first + 1 < l->step_count && l->steps[first + 1].time <= now)
        first++;
    l->step_count -= first;
    memmove(l->steps, l->steps + first, l->step_count * sizeof *l->steps);
    if (l->coarse && l->step_count < MOST_STEPS / 4)
        l->coarse--;
}

enum lap_status replay_lifetimes_seal(struct replay_lifetimes *l, bool all, uint64_t now)
{
    enum lap_status status = replay_lifetimes_use(l);

    if (status != LAP_OK || l->step_count == 0)
        return status;
    forget(l, now);
    for (size_t i = 0; i < l->item_count; i++) {
        struct replay_plan_item *item = &l->items[i];
        if (item->cell == REPLAY_CELL_UNKNOWN)
            item->wanted = item->begin >= now && item->bytes > 0 && (all || item->end != UINT64_MAX);
    }
    return replay_plan(l->steps, l->step_count, l->items, l->item_count, replay_most_planned(l->limit), &l->cells);
}

/* ---- afterwards ---- */

static const struct object *find(const struct replay_lifetimes *l, unsigned kind, uint64_t index)
{
    return index < l->objects[kind].capacity ? &l->objects[kind].at[index] : NULL;
}

bool replay_lifetimes_has_ended(const struct replay_lifetimes *l, unsigned kind, uint64_t index)
{
    const struct object *object = find(l, kind, index);
    return object && object->state == ENDED;
}

uint32_t replay_lifetimes_cell(const struct replay_lifetimes *l, unsigned kind, uint64_t index)
{
    const struct object *object = find(l, kind, index);
    return object && object->item ? l->items[object->item - 1].cell : REPLAY_CELL_UNKNOWN;
}

uint64_t replay_lifetimes_bytes(const struct replay_lifetimes *l, unsigned kind, uint64_t index)
{
    const struct object *object = find(l, kind, index);
    return object && object->item ? l->items[object->item - 1].bytes : 0;
}

const struct replay_cell *replay_lifetimes_get(const struct replay_lifetimes *l, uint32_t cell)
{
    return replay_cells_find(&l->cells, cell);
}
