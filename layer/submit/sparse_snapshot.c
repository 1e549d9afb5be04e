/* SPDX-License-Identifier: MIT */
/* Former places of sparse objects that submitted work still writes to. */
#include <stdlib.h>

#include "base/array.h"
#include "layer/submit/submission.h"

#define SNAPSHOT_NUMBERS ((layer_resource)1 << 63) /* records are never counted so far */

/* A number for the current place of the range; 0: it has none, or out of memory (the recording stops). */
static layer_resource take_snapshot(struct layer_device *dev, const struct layer_written *range)
{
    struct lap_memobj *object = layer_resource_get(dev, range->resource), *copy;
    layer_resource number = SNAPSHOT_NUMBERS | ++dev->submit.snapshots.last_number;

    if (!object || lap_memobj_keep(object, range->offset, range->bytes, &copy) != LAP_OK) {
        if (object)
            layer_stop(lap_error_message());
        return 0;
    }
    if (!lap_array_grow_u32(&dev->submit.snapshots.all, sizeof *dev->submit.snapshots.all,
                            &dev->submit.snapshots.capacity, (size_t)dev->submit.snapshots.count + 1) ||
        !layer_resource_add(dev, number, copy)) {
        lap_memobj_destroy(&copy);
        layer_stop("out of memory");
        return 0;
    }
    dev->submit.snapshots.all[dev->submit.snapshots.count++] = (struct layer_sparse_snapshot){number, copy};
    return number;
}

/* Takes `range` out of number i of the submission's ranges; the rest on both sides stays, and the taken range belongs
 * to `number` from now on (0: dropped). False when out of memory. */
static bool move_part(struct layer_submission *submission, uint32_t i, const struct layer_written *range,
                      layer_resource number)
{
    struct layer_written old = submission->written[i], part = old;
    uint64_t old_end = old.offset + old.bytes, end = range->offset + range->bytes;

    part.offset = old.offset > range->offset ? old.offset : range->offset;
    part.bytes = (old_end < end ? old_end : end) - part.offset;
    submission->written[i].bytes = part.offset - old.offset; /* none: an empty range is nothing */
    old.offset = part.offset + part.bytes;
    old.bytes = old_end - old.offset;
    part.resource = number;
    part.check = false; /* a replay would read the object's new place */
    return (!old.bytes || layer_submission_wrote(submission, old)) &&
           (!number || layer_submission_wrote(submission, part));
}

void layer_submission_moves(struct layer_device *dev, const struct layer_written *range)
{
    layer_resource number = 0;
    bool ok = true;

    for (struct layer_submission *s = dev->submit.first; s && ok; s = s->next)
        for (uint32_t i = 0, count = s->written_count; i < count && ok; i++) {
            if (!s->written[i].bytes || !layer_written_overlap(&s->written[i], range))
                continue;
            if (!s->absorbed && !number)
                number = take_snapshot(dev, range);
            ok = move_part(s, i, range, s->absorbed ? 0 : number);
        }
    if (!ok)
        layer_stop("out of memory");
}

static bool is_written(const struct layer_device *dev, layer_resource number)
{
    for (const struct layer_submission *s = dev->submit.first; s; s = s->next)
        for (uint32_t i = 0; i < s->written_count && !s->absorbed; i++)
            if (s->written[i].resource == number)
                return true;
    return false;
}

void layer_sparse_snapshots_release(struct layer_device *dev, bool all)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < dev->submit.snapshots.count; i++) {
        struct layer_sparse_snapshot snapshot = dev->submit.snapshots.all[i];
        if (!all && is_written(dev, snapshot.number)) {
            dev->submit.snapshots.all[left++] = snapshot;
            continue;
        }
        lap_map_remove(&dev->submit.resources, snapshot.number);
        lap_memobj_destroy(&snapshot.memobj);
    }
    dev->submit.snapshots.count = left;
    if (left)
        return;
    free(dev->submit.snapshots.all);
    dev->submit.snapshots.all = NULL;
    dev->submit.snapshots.capacity = 0;
}
