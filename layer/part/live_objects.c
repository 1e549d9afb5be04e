/* SPDX-License-Identifier: MIT */
#include "layer/part/live_objects.h"

#include <stdlib.h>

#include "base/array.h"
#include "layer/core/keeper.h"

static void add(void *user, uint64_t handle, void *record)
{
    struct layer_live_objects *records = user;
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

enum lap_status layer_live_objects_of(struct layer_device *dev, enum gen_handle_type type,
                                      struct layer_live_objects *out)
{
    *out = (struct layer_live_objects){.dev = dev, .type = type};
    lap_map_each(dev->maps[type], add, out);
    if (out->failed) {
        layer_live_objects_finish(out);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), by_index);
    return LAP_OK;
}

void layer_live_objects_finish(struct layer_live_objects *records)
{
    free(records->items);
    *records = (struct layer_live_objects){0};
}
