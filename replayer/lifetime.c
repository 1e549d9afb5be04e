/* SPDX-License-Identifier: MIT */
#include "replayer/lifetime.h"

#include <stdlib.h>
#include <string.h>

#define SHARE      8u     /* of what is alive, that may end in one period */
#define MOST_ALIVE 4096u  /* objects for which small_bytes grows; as many allocations as are made use of */
#define MAX_HOLE   65536u /* numbers that other threads may have taken; else they are dense: */
#define MOST_MADE  16u    /* objects by one packet, on the average */
#define MAX_BYTES  ((uint64_t)1 << 55)

enum state { NONE, ALIVE, ENDED };

struct object {
    uint64_t state : 2, small : 1;
    uint64_t sort : 5;
    uint64_t value : 56; /* ALIVE: its bytes; ENDED: its period */
};

struct objects {
    struct object *at;
    uint64_t capacity;
};

struct ending {
    unsigned kind;
    uint64_t index;
};

struct replay_lifetimes {
    struct objects objects[2];
    uint64_t told;                     /* how often something happened */
    uint64_t bytes, count;             /* alive */
    uint64_t small_bytes;              /* of it: of small objects */
    uint64_t sort_bytes[REPLAY_SORTS]; /* the same for each sort */
    struct ending *run;                /* what the current run has ended */
    size_t run_count, run_capacity;
    uint64_t run_ticket, run_bytes; /* bytes: of small objects */
    uint64_t run_sort_bytes[REPLAY_SORTS];
    struct replay_period *periods; /* [period - 1] */
    uint32_t period_count, period_capacity;
    struct replay_period never;
    bool sealed; /* what was told is a period of its own now */
    bool all;    /* nothing more will be told */
};

static enum lap_status no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

enum lap_status replay_lifetimes_create(struct replay_lifetimes **out_lifetimes)
{
    *out_lifetimes = calloc(1, sizeof **out_lifetimes);
    return *out_lifetimes ? LAP_OK : no_memory();
}

void replay_lifetimes_destroy(struct replay_lifetimes **lifetimes)
{
    if (!*lifetimes)
        return;
    free((*lifetimes)->objects[0].at);
    free((*lifetimes)->objects[1].at);
    free((*lifetimes)->run);
    free((*lifetimes)->periods);
    free(*lifetimes);
    *lifetimes = NULL;
}

bool replay_is_destruction(const char *command)
{
    return command && (!strncmp(command, "vkDestroy", 9) || !strncmp(command, "vkFree", 6) ||
                       !strncmp(command, "vkUnmapMemory", 13));
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

enum lap_status replay_lifetimes_bind(struct replay_lifetimes *l, unsigned kind, uint64_t index, uint64_t bytes,
                                      uint32_t property_flags)
{
    enum lap_status status = replay_lifetimes_use(l);
    struct object *object;

    if (status == LAP_OK)
        status = need_object(&l->objects[kind], index, l->told, &object);
    if (status != LAP_OK || !object || object->state == ENDED || bytes > MAX_BYTES - l->bytes)
        return status;
    if (object->state == NONE) {
        *object = (struct object){.state = ALIVE, .sort = replay_sort(kind, property_flags) & (REPLAY_SORTS - 1)};
        l->count++;
    }
    if (object->small) {
        l->small_bytes -= object->value;
        l->sort_bytes[object->sort] -= object->value;
    }
    object->value += bytes;
    object->small = object->value < replay_small_bytes(l->count, MOST_ALIVE);
    if (object->small) {
        l->small_bytes += object->value;
        l->sort_bytes[object->sort] += object->value;
    }
    l->bytes += bytes;
    return LAP_OK;
}

enum lap_status replay_lifetimes_end(struct replay_lifetimes *l, unsigned kind, uint64_t index, uint64_t ticket)
{
    struct object *object = index < l->objects[kind].capacity ? &l->objects[kind].at[index] : NULL;

    if (!object || object->state != ALIVE)
        return LAP_OK;
    if (l->run_count == l->run_capacity) {
        size_t capacity = l->run_capacity ? l->run_capacity * 2 : 256;
        struct ending *more = realloc(l->run, capacity * sizeof *more);
        if (!more)
            return no_memory();
        l->run = more;
        l->run_capacity = capacity;
    }
    if (l->run_count == 0)
        l->run_ticket = ticket;
    l->run[l->run_count++] = (struct ending){kind, index};
    l->bytes -= object->value;
    l->count--;
    if (object->small) {
        l->small_bytes -= object->value;
        l->sort_bytes[object->sort] -= object->value;
        l->run_bytes += object->value;
        l->run_sort_bytes[object->sort] += object->value;
    }
    *object = (struct object){.state = ENDED, .value = REPLAY_PERIOD_UNKNOWN};
    return LAP_OK;
}

static enum lap_status begin_period(struct replay_lifetimes *l)
{
    if (l->period_count == l->period_capacity) {
        uint32_t capacity = l->period_capacity ? l->period_capacity * 2 : 64;
        struct replay_period *more = realloc(l->periods, capacity * sizeof *more);
        if (!more)
            return no_memory();
        l->periods = more;
        l->period_capacity = capacity;
    }
    l->periods[l->period_count++] = (struct replay_period){.first_ticket = l->run_ticket,
                                                           .last_ticket = l->run_ticket,
                                                           .low_bytes = UINT64_MAX,
                                                           .low_before_bytes = UINT64_MAX};
    return LAP_OK;
}

enum lap_status replay_lifetimes_use(struct replay_lifetimes *l)
{
    struct replay_period *period = l->period_count ? &l->periods[l->period_count - 1] : NULL;
    uint64_t low;

    l->told++;
    if (l->run_count == 0)
        return LAP_OK;
    /* What is to end with the period may all be empty from its first run on, until its last one begins. */
    low = period && period->low_bytes > REPLAY_FLOOR_BYTES ? period->low_bytes : REPLAY_FLOOR_BYTES;
    if (!period || l->sealed || period->bytes > low / SHARE) {
        enum lap_status status = begin_period(l);
        if (status != LAP_OK)
            return status;
        period = &l->periods[l->period_count - 1];
        l->sealed = false;
    }
    period->last_ticket = l->run_ticket;
    period->bytes += l->run_bytes;
    for (unsigned i = 0; i < REPLAY_SORTS && l->run_bytes; i++) {
        period->sort_bytes[i] += l->run_sort_bytes[i];
        l->run_sort_bytes[i] = 0;
    }
    period->low_before_bytes = period->low_bytes;
    period->low_before_ticket = period->low_ticket;
    if (l->bytes < period->low_bytes) {
        period->low_bytes = l->bytes;
        period->low_ticket = l->run_ticket;
    }
    for (size_t i = 0; i < l->run_count; i++)
        l->objects[l->run[i].kind].at[l->run[i].index].value = l->period_count;
    l->run_count = 0;
    l->run_bytes = 0;
    return LAP_OK;
}

enum lap_status replay_lifetimes_seal(struct replay_lifetimes *l, bool all)
{
    enum lap_status status = replay_lifetimes_use(l);

    l->sealed = true;
    l->all = all;
    l->never = (struct replay_period){
        .first_ticket = UINT64_MAX, .last_ticket = UINT64_MAX, .low_bytes = UINT64_MAX, .bytes = l->small_bytes};
    memcpy(l->never.sort_bytes, l->sort_bytes, sizeof l->sort_bytes);
    return status;
}

/* ---- afterwards ---- */

uint32_t replay_lifetimes_period(const struct replay_lifetimes *l, unsigned kind, uint64_t index)
{
    const struct object *object = index < l->objects[kind].capacity ? &l->objects[kind].at[index] : NULL;

    if (!object || object->state == NONE || (object->state == ALIVE && !l->all))
        return REPLAY_PERIOD_UNKNOWN;
    return object->state == ALIVE ? REPLAY_PERIOD_NEVER : (uint32_t)object->value;
}

const struct replay_period *replay_lifetimes_get(const struct replay_lifetimes *l, uint32_t period)
{
    if (period == REPLAY_PERIOD_NEVER)
        return &l->never;
    return period && period <= l->period_count ? &l->periods[period - 1] : NULL;
}

uint32_t replay_lifetimes_count(const struct replay_lifetimes *l)
{
    return l->period_count;
}

uint64_t replay_lifetimes_low(const struct replay_lifetimes *l, uint64_t ticket, uint32_t period)
{
    uint32_t first = 0, end = period - 1 < l->period_count ? period - 1 : l->period_count;
    uint64_t low = UINT64_MAX;

    if (end < l->period_count && l->periods[end].low_before_ticket > ticket)
        low = l->periods[end].low_before_bytes;
    /* The last period that has begun, or the first one. */
    for (uint32_t step = end; step > 0; step /= 2)
        while (first + step < end && l->periods[first + step].first_ticket <= ticket)
            first += step;
    for (; first < end; first++)
        if (l->periods[first].low_ticket > ticket && l->periods[first].low_bytes < low)
            low = l->periods[first].low_bytes;
    return low;
}
