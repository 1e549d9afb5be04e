/* SPDX-License-Identifier: MIT */
#include "inspector/slice/slice_facts.h"

#include <stdlib.h>

#include "base/array.h"

void slice_fail(const struct slice_facts *f, enum lap_status status)
{
    if (*f->status == LAP_OK)
        *f->status = status;
}

void slice_no_memory(const struct slice_facts *f)
{
    slice_fail(f, lap_no_memory(NULL));
}

bool slice_make_room(const struct slice_facts *f, void *items, size_t item_bytes, size_t *capacity, size_t wanted)
{
    if (lap_array_grow(items, item_bytes, capacity, wanted))
        return true;
    slice_no_memory(f);
    return false;
}

bool slice_add_id(const struct slice_facts *f, struct slice_ids *to, uint32_t id)
{
    if (!slice_make_room(f, &to->at, sizeof *to->at, &to->capacity, to->count + 1))
        return false;
    to->at[to->count++] = id;
    return true;
}

bool slice_add_step(const struct slice_facts *f, struct slice_steps *to, uint64_t step)
{
    if (!slice_make_room(f, &to->at, sizeof *to->at, &to->capacity, to->count + 1))
        return false;
    to->at[to->count++] = step;
    return true;
}

struct slice_run slice_keep_ids(struct slice_facts *f, const struct slice_ids *from)
{
    struct slice_run run = {f->ids.count, (uint32_t)from->count};

    for (size_t i = 0; i < from->count; i++)
        if (!slice_add_id(f, &f->ids, from->at[i]))
            return (struct slice_run){0, 0};
    return run;
}

struct slice_run slice_keep_steps(struct slice_facts *f, const struct slice_steps *from)
{
    struct slice_run run = {f->steps.count, (uint32_t)from->count};

    for (size_t i = 0; i < from->count; i++)
        if (!slice_add_step(f, &f->steps, from->at[i]))
            return (struct slice_run){0, 0};
    return run;
}

void slice_facts_finish(struct slice_facts *f)
{
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        free(f->numbers[i].at);
    for (size_t i = 0; i < f->sets.count; i++) {
        free(f->sets.at[i].slots);
        free(f->sets.at[i].index);
    }
    for (size_t i = 0; i < f->sets.layout_count; i++)
        lap_set_layout_release(f->sets.layouts[i]);
    free(f->sets.layouts);
    free(f->sets.at);
    free(f->sets.written);
    free(f->packets);
    free(f->objects);
    free(f->ids.at);
    free(f->addressed.at);
    free(f->steps.at);
    free(f->blocks);
    free(f->places);
    free(f->order.syncs);
    free(f->order.needs);
    free(f->order.late);
    free(f->now.names.at);
    free(f->now.subjects.at);
    free(f->now.doing.at);
    free(f->now.seen);
}
