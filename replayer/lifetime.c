/* SPDX-License-Identifier: MIT */
#include "replayer/lifetime.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/course.h"

#define MAX_HOLE     65536u /* numbers that other threads may have taken; else they are dense: */
#define MOST_MADE    16u    /* objects by one packet, on the average */
#define MOST_COURSES 64u    /* at once, as replay_life_object.course has it: what is on other devices is not planned */

struct ended {
    struct replay_course *course;
    uint64_t item;
};

struct replay_lifetimes {
    struct replay_life_objects objects[REPLAY_LIFE_KINDS];
    struct replay_course *courses[MOST_COURSES];
    unsigned course_count;
    uint64_t told;   /* how often something happened */
    uint64_t ticket; /* at which something began or ended last */
    uint64_t bytes;  /* alive */
    uint32_t limit;
    struct ended *run; /* what the current run has ended */
    size_t run_count, run_capacity;
    uint64_t run_ticket;
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
    for (unsigned kind = 0; kind < REPLAY_LIFE_KINDS; kind++)
        free(l->objects[kind].at);
    for (unsigned i = 0; i < l->course_count; i++) {
        replay_course_finish(l->courses[i]);
        free(l->courses[i]);
    }
    free(l->run);
    free(l);
    *lifetimes = NULL;
}

bool replay_is_destruction(const char *command)
{
    return command && (!strncmp(command, "vkDestroy", 9) || !strncmp(command, "vkFree", 6) ||
                       !strncmp(command, "vkUnmapMemory", 13));
}

/* ---- devices ---- */

/* NULL: nothing is known of it. */
static struct replay_course *find_course(const struct replay_lifetimes *l, uint64_t device)
{
    for (unsigned i = 0; i < l->course_count; i++)
        if (l->courses[i]->device == device)
            return l->courses[i];
    return NULL;
}

/* One that nobody needs any more, or a new one; *out NULL: there are too many. */
static enum lap_status add_course(struct replay_lifetimes *l, uint64_t device, struct replay_course **out)
{
    struct replay_course *course = NULL;
    uint32_t made = 0;

    for (unsigned i = 0; i < l->course_count; i++) {
        struct replay_course *other = l->courses[i];
        made = other->cells.made > made ? other->cells.made : made;
        course = replay_course_is_over(other) ? other : course;
    }
    *out = course;
    if (!course && l->course_count == MOST_COURSES)
        return LAP_OK;
    if (!course) {
        *out = course = calloc(1, sizeof *course);
        if (!course)
            return no_memory();
        course->number = l->course_count;
        l->courses[l->course_count++] = course;
    }
    replay_course_begin(course, device, l->limit, made);
    return LAP_OK;
}

static enum lap_status need_course(struct replay_lifetimes *l, uint64_t device, struct replay_course **out)
{
    *out = find_course(l, device);
    return *out ? LAP_OK : add_course(l, device, out);
}

/* ---- what happens ---- */

enum lap_status replay_lifetimes_expect(struct replay_lifetimes *l, const struct replay_expected_life *life)
{
    struct replay_course *course;
    enum lap_status status = need_course(l, life->device, &course);

    return status == LAP_OK && course ? replay_course_expect(course, life) : status;
}

/* *out NULL: the index is none that a trace has. */
static enum lap_status need_object(struct replay_life_objects *objects, uint64_t index, uint64_t told,
                                   struct replay_life_object **out)
{
    uint64_t capacity = objects->capacity;
    struct replay_life_object *more;

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

enum lap_status replay_lifetimes_bind(struct replay_lifetimes *l, uint64_t device, unsigned kind, uint64_t index,
                                      uint64_t bytes, uint32_t property_flags, uint64_t ticket)
{
    enum lap_status status = replay_lifetimes_use(l);
    struct replay_life_object *object;
    struct replay_course *course = NULL;

    if (status == LAP_OK)
        status = need_object(&l->objects[kind], index, l->told, &object);
    if (status != LAP_OK || !object || object->state == REPLAY_LIFE_ENDED || bytes > REPLAY_MAX_LIFE_BYTES - l->bytes)
        return status;
    l->ticket = ticket > l->ticket ? ticket : l->ticket;
    if (object->state == REPLAY_LIFE_ALIVE)
        course = l->courses[object->course];
    else
        status = need_course(l, device, &course);
    if (status != LAP_OK || !course)
        return status;
    status = replay_course_bind(course, object, kind, index, bytes, property_flags, ticket);
    l->bytes += status == LAP_OK ? bytes : 0;
    return status;
}

enum lap_status replay_lifetimes_end(struct replay_lifetimes *l, unsigned kind, uint64_t index, uint64_t ticket)
{
    struct replay_life_object *object = index < l->objects[kind].capacity ? &l->objects[kind].at[index] : NULL;
    struct replay_course *course;

    if (!object || object->state != REPLAY_LIFE_ALIVE)
        return LAP_OK;
    if (l->run_count == l->run_capacity) {
        size_t capacity = l->run_capacity ? l->run_capacity * 2 : 256;
        struct ended *more = realloc(l->run, capacity * sizeof *more);
        if (!more)
            return no_memory();
        l->run = more;
        l->run_capacity = capacity;
    }
    if (l->run_count == 0)
        l->run_ticket = ticket;
    l->ticket = ticket > l->ticket ? ticket : l->ticket;
    course = l->courses[object->course];
    l->run[l->run_count++] = (struct ended){course, object->item - 1};
    l->bytes -= replay_course_end(course, object->item - 1);
    object->state = REPLAY_LIFE_ENDED;
    return LAP_OK;
}

enum lap_status replay_lifetimes_use(struct replay_lifetimes *l)
{
    l->told++;
    for (size_t i = 0; i < l->run_count; i++) {
        enum lap_status status = replay_course_end_run(l->run[i].course, l->run_ticket);
        if (status != LAP_OK)
            return status;
    }
    for (size_t i = 0; i < l->run_count; i++)
        replay_course_ended(l->run[i].course, l->run[i].item, l->run_ticket);
    l->run_count = 0;
    return LAP_OK;
}

enum lap_status replay_lifetimes_seal(struct replay_lifetimes *l, bool all, uint64_t now)
{
    enum lap_status status = replay_lifetimes_use(l);

    for (unsigned i = 0; i < l->course_count && status == LAP_OK; i++)
        status = replay_course_seal(l->courses[i], l->objects, all, l->ticket, now);
    return status;
}

/* ---- afterwards ---- */

static const struct replay_life_object *find(const struct replay_lifetimes *l, unsigned kind, uint64_t index)
{
    return index < l->objects[kind].capacity ? &l->objects[kind].at[index] : NULL;
}

bool replay_lifetimes_has_ended(const struct replay_lifetimes *l, unsigned kind, uint64_t index)
{
    const struct replay_life_object *object = find(l, kind, index);
    return object && object->state == REPLAY_LIFE_ENDED;
}

uint32_t replay_lifetimes_cell(const struct replay_lifetimes *l, uint64_t device, unsigned kind, uint64_t index)
{
    const struct replay_life_object *object = find(l, kind, index);
    const struct replay_course *course = object && object->item ? l->courses[object->course] : NULL;
    return course && course->device == device ? course->items[object->item - 1].cell : REPLAY_CELL_UNKNOWN;
}

uint64_t replay_lifetimes_bytes(const struct replay_lifetimes *l, unsigned kind, uint64_t index)
{
    const struct replay_life_object *object = find(l, kind, index);
    return object && object->item ? l->courses[object->course]->items[object->item - 1].bytes : 0;
}

const struct replay_cell *replay_lifetimes_get(const struct replay_lifetimes *l, uint64_t device, uint32_t cell)
{
    const struct replay_course *course = find_course(l, device);
    return course ? replay_cells_find(&course->cells, cell) : NULL;
}

uint64_t replay_lifetimes_settled(const struct replay_lifetimes *l)
{
    uint64_t settled = 0;

    for (unsigned i = 0; i < l->course_count; i++)
        settled += l->courses[i]->settled;
    return settled;
}
