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

/* Lives that are expected and have not begun: by kind and index. */
struct expected {
    struct replay_plan_item *at; /* end 0: it has begun */
    size_t count, capacity;
    uint64_t bytes;
    bool sorted;
    bool divided; /* it is decided which of them lie alone */
};

struct replay_lifetimes {
    struct objects objects[REPLAY_LIFE_KINDS];
    struct expected expected;
    uint64_t told;              /* how often something happened */
    uint64_t ticket;            /* at which something began or ended last */
    uint64_t bytes;             /* alive */
    uint64_t alone, made_alone; /* of those, which lie alone; and of all */
    uint32_t limit;
    struct replay_plan_item *items; /* what is alive, and what had not ended when the replay was last heard of */
    size_t item_count, item_capacity;
    uint64_t *run; /* numbers of items that the current run has ended */
    size_t run_count, run_capacity;
    uint64_t run_ticket, run_bytes;
    struct replay_plan_step *steps;
    uint32_t step_count;
    size_t step_capacity;
    uint32_t coarse;  /* steps are so many times twice as long */
    uint64_t changed; /* bytes that have come and gone in the last step */
    struct replay_cells cells;
    uint64_t settled;
};

/* Room for `count` things of so many bytes each, and for some in any case. NULL: there is no memory, and the old array
 * is as it was. */
static void *grow(void *array, size_t *capacity, size_t count, size_t bytes)
{
    size_t more = *capacity;
    void *grown = array;

    while (more < count || more == 0)
        more = more ? more * 2 : 256;
    if (more > *capacity)
        grown = realloc(array, more * bytes);
    if (grown)
        *capacity = more;
    return grown;
}

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
    for (unsigned kind = 0; kind < REPLAY_LIFE_KINDS; kind++)
        free(l->objects[kind].at);
    free(l->expected.at);
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

/* What would take too long to plan in so many steps is planned in half of them, from `first` on: each is as low as the
 * lower of two. */
static uint32_t merge_steps(struct replay_plan_step *steps, uint32_t first, uint32_t count)
{
    uint32_t merged = first;

    for (uint32_t i = first; i < count; i += 2) {
        struct replay_plan_step step = steps[i];
        if (i + 1 < count && steps[i + 1].low < step.low)
            step.low = steps[i + 1].low;
        steps[merged++] = step;
    }
    return merged;
}

/* What comes or goes in a step of which so much is alive. */
static uint64_t step_bytes(uint64_t bytes, uint32_t coarse)
{
    return (bytes > REPLAY_FLOOR_BYTES ? bytes : REPLAY_FLOOR_BYTES) / STEPS << coarse;
}

static enum lap_status need_steps(struct replay_lifetimes *l, uint32_t count)
{
    void *steps = grow(l->steps, &l->step_capacity, count, sizeof *l->steps);

    if (!steps)
        return no_memory();
    l->steps = steps;
    return LAP_OK;
}

/* Something happened at the ticket, after which so much is alive: in the last step, or in one of its own. */
static enum lap_status note_step(struct replay_lifetimes *l, uint64_t ticket, uint64_t bytes)
{
    struct replay_plan_step *last = l->step_count ? &l->steps[l->step_count - 1] : NULL;
    enum lap_status status;

    l->changed += bytes;
    if (last && l->changed <= step_bytes(l->bytes, l->coarse)) {
        last->low = l->bytes < last->low ? l->bytes : last->low;
        return LAP_OK;
    }
    if (l->step_count == MOST_STEPS) {
        l->step_count = merge_steps(l->steps, 0, l->step_count);
        l->coarse++;
    }
    status = need_steps(l, l->step_count + 1);
    if (status != LAP_OK)
        return status;
    l->steps[l->step_count++] = (struct replay_plan_step){ticket, l->bytes};
    l->changed = 0;
    return LAP_OK;
}

/* Whether an object lies alone that comes beside so many that do: as memory.c has it, of what is not for cells. */
static bool lies_alone(const struct replay_lifetimes *l, uint64_t bytes, uint64_t alone, uint64_t made_alone)
{
    uint32_t limit = l->limit / 2;

    if (bytes > REPLAY_MAX_BLOCK_BYTES / 2)
        return true;
    if (alone >= limit / 2)
        return false;
    if (alone < limit / 8 && alone < REPLAY_FEW_ALLOCATIONS && made_alone < REPLAY_FEW_CHANGES)
        return true;
    return bytes >= replay_small_bytes(alone, limit);
}

static enum lap_status need_items(struct replay_lifetimes *l, size_t count)
{
    void *items = grow(l->items, &l->item_capacity, count, sizeof *l->items);

    if (!items)
        return no_memory();
    l->items = items;
    return LAP_OK;
}

/* ---- what is expected ---- */

enum lap_status replay_lifetimes_expect(struct replay_lifetimes *l, const struct replay_expected_life *life)
{
    struct expected *all = &l->expected;

    if (life->bytes == 0 || life->bytes > MAX_BYTES - all->bytes || life->begin >= life->end || life->end == UINT64_MAX)
        return LAP_OK;
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? all->capacity * 2 : 256;
        struct replay_plan_item *more = realloc(all->at, capacity * sizeof *more);
        if (!more)
            return no_memory();
        all->at = more;
        all->capacity = capacity;
    }
    all->at[all->count++] = (struct replay_plan_item){.begin = life->begin,
                                                      .end = life->end,
                                                      .bytes = replay_planned_bytes(life->bytes),
                                                      .recorded_bytes = life->bytes,
                                                      .index = life->index,
                                                      .sort = (uint8_t)replay_sort(life->kind, life->property_flags),
                                                      .kind = (uint8_t)life->kind,
                                                      .wanted = true,
                                                      .expected = true};
    all->bytes += life->bytes;
    all->sorted = false;
    return LAP_OK;
}

static int by_object(const void *one, const void *other)
{
    const struct replay_plan_item *a = one, *b = other;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* NULL: nothing is said of it, or not that it is there at the ticket. */
static struct replay_plan_item *find_expected(struct replay_lifetimes *l, unsigned kind, uint64_t index,
                                              uint64_t ticket)
{
    const struct replay_plan_item wanted = {.kind = (uint8_t)kind, .index = index};
    struct expected *all = &l->expected;
    struct replay_plan_item *found;

    if (all->count == 0)
        return NULL;
    if (!all->sorted)
        qsort(all->at, all->count, sizeof *all->at, by_object);
    all->sorted = true;
    found = bsearch(&wanted, all->at, all->count, sizeof *all->at, by_object);
    return found && found->end > ticket ? found : NULL;
}

/* Of a cell one item more is as certain as any; end 0: there is no such item. */
static void settle(struct replay_lifetimes *l, uint32_t number, uint64_t end)
{
    struct replay_cell *cell = replay_cells_find(&l->cells, number);

    if (!cell)
        return;
    cell->expected--;
    cell->known_end = end > cell->known_end ? end : cell->known_end;
    if (cell->expected == 0 || cell->known_end > cell->end)
        cell->end = cell->known_end;
    l->settled += cell->expected == 0;
}

/* What did not begin when it was expected to is not expected any more; all: nothing is. */
static void drop_expected(struct replay_lifetimes *l, bool everything)
{
    struct expected *all = &l->expected;
    size_t kept = 0;

    for (size_t i = 0; i < all->count; i++) {
        if (all->at[i].end && !everything && all->at[i].begin > l->ticket)
            all->at[kept++] = all->at[i];
        else if (all->at[i].end)
            settle(l, all->at[i].cell, 0);
    }
    all->count = kept;
}

/* What is alive though it was expected to have ended lives for ever, as far as anybody knows. */
static void give_up(struct replay_lifetimes *l, struct replay_plan_item *item)
{
    struct replay_cell *cell = replay_cells_find(&l->cells, item->cell);

    item->end = UINT64_MAX;
    if (cell)
        cell->end = UINT64_MAX;
}

/* Something that is expected to happen. */
struct event {
    uint64_t time;
    struct replay_plan_item *item;
    bool ends;
};

static int by_time(const void *one, const void *other)
{
    const struct event *a = one, *b = other;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* In order; *out NULL: nothing is. The caller frees it. */
static enum lap_status list_events(struct replay_lifetimes *l, size_t item_count, struct event **out, size_t *out_count)
{
    struct event *events;
    size_t count = 0;

    *out = NULL;
    *out_count = 0;
    for (size_t i = 0; i < item_count; i++)
        count += l->items[i].expected && l->items[i].end != UINT64_MAX;
    if (count == 0)
        return LAP_OK;
    *out = events = malloc(2 * count * sizeof *events);
    if (!events)
        return no_memory();
    count = 0;
    for (size_t i = 0; i < item_count; i++) {
        struct replay_plan_item *item = &l->items[i];
        if (!item->expected || item->end == UINT64_MAX)
            continue;
        if (i >= l->item_count)
            events[count++] = (struct event){item->begin, item, false};
        events[count++] = (struct event){item->end, item, true};
    }
    qsort(events, count, sizeof *events, by_time);
    *out_count = count;
    return LAP_OK;
}

/* Which of the lives to come lie alone, of which that is not decided yet. */
static void divide(struct replay_lifetimes *l, const struct event *events, size_t count)
{
    uint64_t alone = l->alone, made_alone = l->made_alone;

    for (size_t i = 0; i < count && !l->expected.divided; i++) {
        struct replay_plan_item *item = events[i].item;
        if (!events[i].ends && lies_alone(l, item->recorded_bytes, alone, made_alone)) {
            item->cell = REPLAY_CELL_ALONE;
            made_alone++;
            alone++;
        } else if (events[i].ends && item->cell == REPLAY_CELL_ALONE) {
            alone--;
        }
    }
    l->expected.divided = true;
}

/* Steps behind those that were told of, in which no less is alive than what is expected to be. */
static enum lap_status foresee(struct replay_lifetimes *l, const struct event *events, size_t count,
                               uint32_t *out_steps)
{
    uint64_t alive = l->bytes, changed = 0;
    struct replay_plan_step *last = NULL;
    uint32_t coarse = l->coarse;

    *out_steps = l->step_count;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = events[i].item->recorded_bytes;
        enum lap_status status;
        alive += events[i].ends ? 0 - bytes : bytes;
        changed += bytes;
        if (last && changed <= step_bytes(alive, coarse)) {
            last->low = alive < last->low ? alive : last->low;
            continue;
        }
        if (*out_steps - l->step_count == MOST_STEPS) {
            *out_steps = merge_steps(l->steps, l->step_count, *out_steps);
            coarse++;
        }
        status = need_steps(l, *out_steps + 1);
        if (status != LAP_OK)
            return status;
        last = &l->steps[(*out_steps)++];
        *last = (struct replay_plan_step){events[i].time, alive};
        changed = 0;
    }
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

static enum lap_status begin_item(struct replay_lifetimes *l, struct object *object, unsigned kind, uint64_t index,
                                  uint64_t bytes, uint32_t property_flags, uint64_t ticket)
{
    struct replay_plan_item *expected = find_expected(l, kind, index, ticket);
    struct replay_plan_item item = {.begin = ticket,
                                    .end = UINT64_MAX,
                                    .index = index,
                                    .sort = (uint8_t)replay_sort(kind, property_flags),
                                    .kind = (uint8_t)kind};
    enum lap_status status = need_items(l, l->item_count + 1);

    if (status != LAP_OK)
        return status;
    if (expected) {
        item = *expected;
        item.begin = ticket;
        item.recorded_bytes = 0;
        expected->end = 0;
    }
    if (item.cell == REPLAY_CELL_UNKNOWN && !(expected && l->expected.divided) &&
        lies_alone(l, bytes, l->alone, l->made_alone))
        item.cell = REPLAY_CELL_ALONE;
    l->items[l->item_count++] = item;
    *object = (struct object){.state = ALIVE, .item = l->item_count};
    l->alone += item.cell == REPLAY_CELL_ALONE;
    l->made_alone += item.cell == REPLAY_CELL_ALONE;
    return LAP_OK;
}

enum lap_status replay_lifetimes_bind(struct replay_lifetimes *l, unsigned kind, uint64_t index, uint64_t bytes,
                                      uint32_t property_flags, uint64_t ticket)
{
    enum lap_status status = replay_lifetimes_use(l);
    struct replay_plan_item *item;
    struct object *object;

    if (status == LAP_OK)
        status = need_object(&l->objects[kind], index, l->told, &object);
    if (status != LAP_OK || !object || object->state == ENDED || bytes > MAX_BYTES - l->bytes)
        return status;
    l->ticket = ticket > l->ticket ? ticket : l->ticket;
    if (object->state == NONE)
        status = begin_item(l, object, kind, index, bytes, property_flags, ticket);
    if (status != LAP_OK)
        return status;
    item = &l->items[object->item - 1];
    if (!item->expected) /* it was planned for all parts */
        item->bytes += replay_planned_bytes(bytes);
    item->recorded_bytes += bytes;
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
    l->ticket = ticket > l->ticket ? ticket : l->ticket;
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
    for (size_t i = 0; i < l->run_count; i++) {
        struct replay_plan_item *item = &l->items[l->run[i]];
        item->end = l->run_ticket;
        if (item->expected)
            settle(l, item->cell, item->end);
        item->expected = false;
    }
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
        if (item->end <= now && !item->expected) {
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

/* What is expected stands behind what there is. */
static enum lap_status plan_all(struct replay_lifetimes *l)
{
    struct expected *expected = &l->expected;
    size_t count = l->item_count + expected->count, event_count;
    enum lap_status status = need_items(l, count);
    struct event *events = NULL;
    uint32_t step_count;

    if (status != LAP_OK)
        return status;
    for (size_t i = 0; i < expected->count; i++)
        l->items[l->item_count + i] = expected->at[i];
    status = list_events(l, count, &events, &event_count);
    if (status == LAP_OK) {
        divide(l, events, event_count);
        status = foresee(l, events, event_count, &step_count);
    }
    free(events);
    if (status == LAP_OK)
        status = replay_plan(l->steps, step_count, l->items, count, replay_most_planned(l->limit), &l->cells);
    for (size_t i = 0; i < expected->count; i++)
        expected->at[i] = l->items[l->item_count + i];
    return status;
}

enum lap_status replay_lifetimes_seal(struct replay_lifetimes *l, bool all, uint64_t now)
{
    enum lap_status status = replay_lifetimes_use(l);

    if (status != LAP_OK || l->step_count == 0)
        return status;
    forget(l, now);
    drop_expected(l, all);
    for (size_t i = 0; i < l->item_count; i++) {
        struct replay_plan_item *item = &l->items[i];
        if (item->expected && (all || item->end <= l->ticket))
            give_up(l, item);
        if (item->cell == REPLAY_CELL_UNKNOWN)
            item->wanted = item->begin >= now && item->bytes > 0 && (all || item->end != UINT64_MAX);
    }
    return plan_all(l);
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

uint64_t replay_lifetimes_settled(const struct replay_lifetimes *l)
{
    return l->settled;
}
