/* SPDX-License-Identifier: MIT */
#include "layer/check.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/support/pixels.h"
#include "layer/records.h"

#define CHECK_BYTES (16u << 20) /* of one lapilliCheckBuffer */
#define MOST_UNSEEN 4096u       /* ranges that are remembered; the oldest go first */

/* ---- packets ---- */

struct look {
    struct layer_device *dev;
    const struct layer_buffer *buffer;
};

static bool write_check(const struct look *look, uint64_t offset, const void *data, uint64_t bytes)
{
    struct lap_enc *enc;
    uint64_t low, high;

    lap_pixels_hash(data, (size_t)bytes, &low, &high);
    enc = layer_packet_begin(&look->dev->tables, GEN_lapilliCheckBuffer, 0);
    if (!enc)
        return false;
    gen_encode_lapilliCheckBuffer(enc, gen_VkBuffer(look->buffer->object.handle), offset, bytes, low, high);
    layer_packet_end();
    return true;
}

static void check_run(void *context, uint64_t offset, const void *data, uint64_t bytes)
{
    const unsigned char *at = data;
    while (bytes) {
        uint64_t part = bytes < CHECK_BYTES ? bytes : CHECK_BYTES;
        if (!write_check(context, offset, at, part))
            return;
        offset += part;
        at += part;
        bytes -= part;
    }
}

/* Checks the first part of [*offset, *offset + *bytes) that the program can see now, and says which part that was. */
static bool check_first(struct layer_device *dev, struct lap_memobj *object, uint64_t *offset, uint64_t *bytes)
{
    struct look look = {dev, lap_memobj_user(object)};
    return lap_memobj_look_device(object, *offset, *bytes, check_run, &look, offset, bytes);
}

/* ---- what the program could not see when it learnt of it ---- */

static void remember(struct layer_device *dev, struct layer_written written)
{
    struct layer_unseen *unseen = &dev->unseen;
    uint64_t end = written.offset + written.bytes;

    for (uint32_t i = 0; i < unseen->count; i++) {
        struct layer_written *known = &unseen->ranges[i];
        if (known->resource == written.resource && known->offset <= end &&
            written.offset <= known->offset + known->bytes) {
            uint64_t known_end = known->offset + known->bytes;
            known->offset = known->offset < written.offset ? known->offset : written.offset;
            known->bytes = (known_end > end ? known_end : end) - known->offset;
            return;
        }
    }
    if (unseen->count == MOST_UNSEEN)
        memmove(unseen->ranges, unseen->ranges + 1, --unseen->count * sizeof *unseen->ranges);
    if (unseen->count == unseen->capacity) {
        uint32_t capacity = unseen->capacity ? unseen->capacity * 2 : 16;
        struct layer_written *more = realloc(unseen->ranges, capacity * sizeof *more);
        if (!more)
            return; /* one check less */
        unseen->ranges = more;
        unseen->capacity = capacity;
    }
    unseen->ranges[unseen->count++] = written;
}

/* Takes [begin, end) out of range number i. What is left of it stays in its place, a second part behind all others. */
static void take_out(struct layer_device *dev, uint32_t i, uint64_t begin, uint64_t end)
{
    struct layer_unseen *unseen = &dev->unseen;
    struct layer_written *range = &unseen->ranges[i], rest = *range;
    uint64_t range_end = range->offset + range->bytes;

    if (range->offset < begin) {
        range->bytes = begin - range->offset;
        rest.offset = end;
        rest.bytes = range_end - end;
        if (end < range_end)
            remember(dev, rest);
    } else if (end < range_end) {
        range->offset = end;
        range->bytes = range_end - end;
    } else {
        memmove(range, range + 1, (--unseen->count - i) * sizeof *range);
    }
}

void layer_check_forget(struct layer_device *dev, const struct layer_written *written)
{
    for (uint32_t i = dev->unseen.count; i-- > 0;) {
        const struct layer_written *range = &dev->unseen.ranges[i];
        uint64_t begin = range->offset > written->offset ? range->offset : written->offset;
        uint64_t range_end = range->offset + range->bytes, end = written->offset + written->bytes;
        if (layer_written_overlap(range, written))
            take_out(dev, i, begin, end < range_end ? end : range_end);
    }
}

void layer_check_written(struct layer_device *dev, const struct layer_written *written)
{
    struct lap_memobj *object = layer_resource_get(dev, written->resource);
    const struct layer_buffer *buffer = object ? lap_memobj_user(object) : NULL;
    struct layer_written rest = *written, seen = *written;
    uint64_t end = written->offset + written->bytes;

    if (!buffer || buffer->object.type != GEN_HANDLE_VkBuffer)
        return;
    while (!buffer->non_coherent && rest.bytes && check_first(dev, object, &seen.offset, &seen.bytes)) {
        layer_check_forget(dev, &seen);
        rest.bytes = seen.offset - rest.offset;
        if (rest.bytes)
            remember(dev, rest);
        rest.offset = seen.offset = seen.offset + seen.bytes;
        rest.bytes = seen.bytes = end - rest.offset;
    }
    if (rest.bytes)
        remember(dev, rest);
}

/* The part of a range that lies in [begin, end) of the memory; false when none does. */
static bool clip(const struct layer_written *range, const struct lap_memobj_place *place, uint64_t begin, uint64_t end,
                 struct layer_written *out)
{
    uint64_t from = range->offset + place->offset, to = from + range->bytes;
    from = from > begin ? from : begin;
    to = to < end ? to : end;
    if (from >= to)
        return false;
    *out = *range;
    out->offset = from - place->offset;
    out->bytes = to - from;
    return true;
}

static void check_visible(struct layer_device *dev, const struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    for (uint32_t i = dev->unseen.count; i-- > 0;) {
        struct lap_memobj *object = layer_resource_get(dev, dev->unseen.ranges[i].resource);
        struct lap_memobj_place place;
        struct layer_written part;
        if (!object) {
            take_out(dev, i, 0, UINT64_MAX);
            continue;
        }
        place = lap_memobj_place(object);
        if (place.mem == mem && clip(&dev->unseen.ranges[i], &place, begin, end, &part) &&
            !layer_submission_writes(dev, &part) && check_first(dev, object, &part.offset, &part.bytes))
            take_out(dev, i, part.offset, part.offset + part.bytes);
    }
}

void layer_check_visible(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize bytes)
{
    const struct layer_memory *record;

    if (!layer.options.verify || !layer_is_recording())
        return;
    pthread_mutex_lock(&dev->submit_mutex);
    record = LAYER_GET(dev, VkDeviceMemory, memory);
    if (record && record->mem)
        check_visible(dev, record->mem, offset, bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes);
    pthread_mutex_unlock(&dev->submit_mutex);
}

void layer_check_finish(struct layer_device *dev)
{
    free(dev->unseen.ranges);
    memset(&dev->unseen, 0, sizeof dev->unseen);
}
