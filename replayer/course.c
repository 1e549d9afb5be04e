/* SPDX-License-Identifier: MIT */
#include "replayer/course.h"

#include <stdlib.h>
#include <string.h>

#define STEPS      256u  /* a step is over when so small a part of what is alive has come or gone */
#define MOST_STEPS 8192u /* planning takes time by the square of them, where cells run out */

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

void replay_course_begin(struct replay_course *course, uint64_t device, uint32_t limit, uint32_t made)
{
    course->device = device;
    course->limit = limit;
    course->expected.count = 0;
    course->expected.bytes = 0;
    course->expected.divided = false;
    course->bytes = course->alone = course->made_alone = 0;
    course->item_count = 0;
    course->step_count = course->coarse = 0;
    course->changed = 0;
    course->cells.count = 0;
    course->cells.made = made;
}

void replay_course_finish(struct replay_course *course)
{
    free(course->expected.at);
    free(course->items);
    free(course->steps);
    free(course->cells.at);
}

bool replay_course_is_over(const struct replay_course *course)
{
    return course->item_count == 0 && course->expected.count == 0;
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

static enum lap_status need_steps(struct replay_course *course, uint32_t count)
{
    void *steps = grow(course->steps, &course->step_capacity, count, sizeof *course->steps);

    if (!steps)
        return no_memory();
    course->steps = steps;
    return LAP_OK;
}

/* Something happened at the ticket, after which so much is alive: in the last step, or in one of its own. */
static enum lap_status note_step(struct replay_course *course, uint64_t ticket, uint64_t bytes)
{
    struct replay_plan_step *last = course->step_count ? &course->steps[course->step_count - 1] : NULL;
    enum lap_status status;

    course->changed += bytes;
    if (last && course->changed <= step_bytes(course->bytes, course->coarse)) {
        last->low = course->bytes < last->low ? course->bytes : last->low;
        return LAP_OK;
    }
    if (course->step_count == MOST_STEPS) {
        course->step_count = merge_steps(course->steps, 0, course->step_count);
        course->coarse++;
    }
    status = need_steps(course, course->step_count + 1);
    if (status != LAP_OK)
        return status;
    course->steps[course->step_count++] = (struct replay_plan_step){ticket, course->bytes};
    course->changed = 0;
    return LAP_OK;
}

/* Whether an object lies alone that comes beside so many that do: as memory.c has it, of what is not for cells. */
static bool lies_alone(const struct replay_course *course, uint64_t bytes, uint64_t alone, uint64_t made_alone)
{
    uint32_t limit = course->limit / 2;

    if (bytes > REPLAY_MAX_BLOCK_BYTES / 2)
        return true;
    if (alone >= limit / 2)
        return false;
    if (alone < limit / 8 && alone < REPLAY_FEW_ALLOCATIONS && made_alone < REPLAY_FEW_CHANGES)
        return true;
    return bytes >= replay_small_bytes(alone, limit);
}

static enum lap_status need_items(struct replay_course *course, size_t count)
{
    void *items = grow(course->items, &course->item_capacity, count, sizeof *course->items);

    if (!items)
        return no_memory();
    course->items = items;
    return LAP_OK;
}

/* ---- what is expected ---- */

enum lap_status replay_course_expect(struct replay_course *course, const struct replay_expected_life *life)
{
    struct replay_expected_lives *all = &course->expected;
    void *at;

    if (life->bytes == 0 || life->bytes > REPLAY_MAX_LIFE_BYTES - all->bytes || life->begin >= life->end ||
        life->end == UINT64_MAX)
        return LAP_OK;
    at = grow(all->at, &all->capacity, all->count + 1, sizeof *all->at);
    if (!at)
        return no_memory();
    all->at = at;
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
static struct replay_plan_item *find_expected(struct replay_course *course, unsigned kind, uint64_t index,
                                              uint64_t ticket)
{
    const struct replay_plan_item wanted = {.kind = (uint8_t)kind, .index = index};
    struct replay_expected_lives *all = &course->expected;
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
static void settle(struct replay_course *course, uint32_t number, uint64_t end)
{
    struct replay_cell *cell = replay_cells_find(&course->cells, number);

    if (!cell)
        return;
    cell->expected--;
    cell->known_end = end > cell->known_end ? end : cell->known_end;
    if (cell->expected == 0 || cell->known_end > cell->end)
        cell->end = cell->known_end;
    course->settled += cell->expected == 0;
}

/* What did not begin when it was expected to is not expected any more; all: nothing is. */
static void drop_expected(struct replay_course *course, bool everything, uint64_t ticket)
{
    struct replay_expected_lives *all = &course->expected;
    size_t kept = 0;

    for (size_t i = 0; i < all->count; i++) {
        if (all->at[i].end && !everything && all->at[i].begin > ticket)
            all->at[kept++] = all->at[i];
        else if (all->at[i].end)
            settle(course, all->at[i].cell, 0);
    }
    all->count = kept;
}

/* What is alive though it was expected to have ended lives for ever, as far as anybody knows. */
static void give_up(struct replay_course *course, struct replay_plan_item *item)
{
    struct replay_cell *cell = replay_cells_find(&course->cells, item->cell);

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
static enum lap_status list_events(struct replay_course *course, size_t item_count, struct event **out,
                                   size_t *out_count)
{
    struct event *events;
    size_t count = 0;

    *out = NULL;
    *out_count = 0;
    for (size_t i = 0; i < item_count; i++)
        count += course->items[i].expected && course->items[i].end != UINT64_MAX;
    if (count == 0)
        return LAP_OK;
    *out = events = malloc(2 * count * sizeof *events);
    if (!events)
        return no_memory();
    count = 0;
    for (size_t i = 0; i < item_count; i++) {
        struct replay_plan_item *item = &course->items[i];
        if (!item->expected || item->end == UINT64_MAX)
            continue;
        if (i >= course->item_count)
            events[count++] = (struct event){item->begin, item, false};
        events[count++] = (struct event){item->end, item, true};
    }
    qsort(events, count, sizeof *events, by_time);
    *out_count = count;
    return LAP_OK;
}

/* Which of the lives to come lie alone, of which that is not decided yet. */
static void divide(struct replay_course *course, const struct event *events, size_t count)
{
    uint64_t alone = course->alone, made_alone = course->made_alone;

    for (size_t i = 0; i < count && !course->expected.divided; i++) {
        struct replay_plan_item *item = events[i].item;
        if (!events[i].ends && lies_alone(course, item->recorded_bytes, alone, made_alone)) {
            item->cell = REPLAY_CELL_ALONE;
            made_alone++;
            alone++;
        } else if (events[i].ends && item->cell == REPLAY_CELL_ALONE) {
            alone--;
        }
    }
    course->expected.divided = true;
}

/* Steps behind those that were told of, in which no less is alive than what is expected to be. */
static enum lap_status foresee(struct replay_course *course, const struct event *events, size_t count,
                               uint32_t *out_steps)
{
    uint64_t alive = course->bytes, changed = 0;
    struct replay_plan_step *last = NULL;
    uint32_t coarse = course->coarse;

    *out_steps = course->step_count;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = events[i].item->recorded_bytes;
        enum lap_status status;
        alive += events[i].ends ? 0 - bytes : bytes;
        changed += bytes;
        if (last && changed <= step_bytes(alive, coarse)) {
            last->low = alive < last->low ? alive : last->low;
            continue;
        }
        if (*out_steps - course->step_count == MOST_STEPS) {
            *out_steps = merge_steps(course->steps, course->step_count, *out_steps);
            coarse++;
        }
        status = need_steps(course, *out_steps + 1);
        if (status != LAP_OK)
            return status;
        last = &course->steps[(*out_steps)++];
        *last = (struct replay_plan_step){events[i].time, alive};
        changed = 0;
    }
    return LAP_OK;
}

/* ---- what happens ---- */

static enum lap_status begin_item(struct replay_course *course, struct replay_life_object *object, unsigned kind,
                                  uint64_t index, uint64_t bytes, uint32_t property_flags, uint64_t ticket)
{
    struct replay_plan_item *expected = find_expected(course, kind, index, ticket);
    struct replay_plan_item item = {.begin = ticket,
                                    .end = UINT64_MAX,
                                    .index = index,
                                    .sort = (uint8_t)replay_sort(kind, property_flags),
                                    .kind = (uint8_t)kind};
    enum lap_status status = need_items(course, course->item_count + 1);

    if (status != LAP_OK)
        return status;
    if (expected) {
        item = *expected;
        item.begin = ticket;
        item.recorded_bytes = 0;
        expected->end = 0;
    }
    if (item.cell == REPLAY_CELL_UNKNOWN && !(expected && course->expected.divided) &&
        lies_alone(course, bytes, course->alone, course->made_alone))
        item.cell = REPLAY_CELL_ALONE;
    course->items[course->item_count++] = item;
    *object = (struct replay_life_object){REPLAY_LIFE_ALIVE, course->number, course->item_count};
    course->alone += item.cell == REPLAY_CELL_ALONE;
    course->made_alone += item.cell == REPLAY_CELL_ALONE;
    return LAP_OK;
}

enum lap_status replay_course_bind(struct replay_course *course, struct replay_life_object *object, unsigned kind,
                                   uint64_t index, uint64_t bytes, uint32_t property_flags, uint64_t ticket)
{
    enum lap_status status = LAP_OK;
    struct replay_plan_item *item;

    if (object->state == REPLAY_LIFE_NONE)
        status = begin_item(course, object, kind, index, bytes, property_flags, ticket);
    if (status != LAP_OK)
        return status;
    item = &course->items[object->item - 1];
    if (!item->expected) /* it was planned for all parts */
        item->bytes += replay_planned_bytes(bytes);
    item->recorded_bytes += bytes;
    course->bytes += bytes;
    return note_step(course, ticket, bytes);
}

uint64_t replay_course_end(struct replay_course *course, uint64_t number)
{
    const struct replay_plan_item *item = &course->items[number];

    course->bytes -= item->recorded_bytes;
    course->run_bytes += item->recorded_bytes;
    course->alone -= item->cell == REPLAY_CELL_ALONE;
    return item->recorded_bytes;
}

enum lap_status replay_course_end_run(struct replay_course *course, uint64_t ticket)
{
    enum lap_status status = course->run_bytes ? note_step(course, ticket, course->run_bytes) : LAP_OK;

    if (status == LAP_OK)
        course->run_bytes = 0;
    return status;
}

void replay_course_ended(struct replay_course *course, uint64_t number, uint64_t ticket)
{
    struct replay_plan_item *item = &course->items[number];

    item->end = ticket;
    if (item->expected)
        settle(course, item->cell, item->end);
    item->expected = false;
}

/* What was over when the replay was here is of no use any more: neither objects nor their cells. */
static void forget(struct replay_course *course, struct replay_life_objects *objects, uint64_t now)
{
    size_t kept = 0;
    uint32_t first = 0;

    for (size_t i = 0; i < course->item_count; i++) {
        const struct replay_plan_item *item = &course->items[i];
        struct replay_life_object *object = &objects[item->kind].at[item->index];
        if (item->end <= now && !item->expected) {
            object->item = 0;
            continue;
        }
        course->items[kept++] = *item;
        object->item = kept;
    }
    course->item_count = kept;
    replay_cells_drop(&course->cells, now);
    while (first + 1 < course->step_count && course->steps[first + 1].time <= now)
        first++;
    course->step_count -= first;
    memmove(course->steps, course->steps + first, course->step_count * sizeof *course->steps);
    if (course->coarse && course->step_count < MOST_STEPS / 4)
        course->coarse--;
}

/* What is expected stands behind what there is. */
static enum lap_status plan_all(struct replay_course *course)
{
    struct replay_expected_lives *expected = &course->expected;
    size_t count = course->item_count + expected->count, event_count;
    enum lap_status status = need_items(course, count);
    struct event *events = NULL;
    uint32_t step_count;

    if (status != LAP_OK)
        return status;
    for (size_t i = 0; i < expected->count; i++)
        course->items[course->item_count + i] = expected->at[i];
    status = list_events(course, count, &events, &event_count);
    if (status == LAP_OK) {
        divide(course, events, event_count);
        status = foresee(course, events, event_count, &step_count);
    }
    free(events);
    if (status == LAP_OK)
        status = replay_plan(course->steps, step_count, course->items, count, replay_most_planned(course->limit),
                             &course->cells);
    for (size_t i = 0; i < expected->count; i++)
        expected->at[i] = course->items[course->item_count + i];
    return status;
}

enum lap_status replay_course_seal(struct replay_course *course, struct replay_life_objects *objects, bool all,
                                   uint64_t ticket, uint64_t now)
{
    if (course->step_count)
        forget(course, objects, now);
    drop_expected(course, all, ticket);
    if (course->step_count == 0)
        return LAP_OK;
    for (size_t i = 0; i < course->item_count; i++) {
        struct replay_plan_item *item = &course->items[i];
        if (item->expected && (all || item->end <= ticket))
            give_up(course, item);
        if (item->cell == REPLAY_CELL_UNKNOWN)
            item->wanted = item->begin >= now && item->bytes > 0 && (all || item->end != UINT64_MAX);
    }
    return plan_all(course);
}
