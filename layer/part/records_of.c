/* SPDX-License-Identifier: MIT */
#include "layer/part/records_of.h"

#include <stdlib.h>

#include "base/array.h"
#include "layer/core/keeper.h"

static void add(void *user, uint64_t handle, void *record)
{
    struct layer_records *records = user;
    struct lap_object *object = record;

    if (!layer_keeper_lives(records->type, object->index))
        return;
    if (!lap_array_grow(&records->items, sizeof(*records->items), &records->capacity, records->count + 1))
        records->failed = true;
    else
        records->items[records->count++] = object;
}

static int by_index(const void *a, const void *b)
{
    const struct lap_object *x = *(struct lap_object *const *)a, *y = *(struct lap_object *const *)b;
    return x->index < y->index ? -1 : x->index > y->index;
}

enum lap_status layer_records_of(struct layer_device *dev, enum gen_handle_type type, struct layer_records *out)
{
    *out = (struct layer_records){.dev = dev, .type = type};
    lap_map_each(dev->maps[type], add, out);
    if (out->failed) {
        layer_records_finish(out);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), by_index);
    return LAP_OK;
}

void layer_records_finish(struct layer_records *records)
{
    free(records->items);
    *records = (struct layer_records){0};
}
