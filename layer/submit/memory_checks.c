/* SPDX-License-Identifier: MIT */
#include "layer/submit/memory_checks.h"
#include "base/array.h"
#include "layer/image/image_rows.h"

#include <stdlib.h>
#include <string.h>

#include "layer/command/overwritten.h"
#include "layer/core/records.h"
#include "layer/image/format_utils.h"
#include "layer/memory/payload.h"
#include "layer/submit/full_checks.h"
#include "vulkan/texel/pixels.h"

#define CHECK_BYTES (16u << 20) /* of one packet */
#define KEPT_BYTES  (4u << 20)  /* of one packet with contents */
#define MOST_UNSEEN 4096u       /* remembered ranges; the oldest are dropped first */

/* ---- packets ---- */

/* Bytes that lie at the same place of consecutive rows. */
struct block {
    const struct layer_rows *rows;
    uint32_t slice, row, row_count;
    uint64_t offset_in_row, bytes_in_row;
};

struct look {
    struct layer_device *dev;
    const struct lap_object *record;
    /* Of images: the block that is being gathered. */
    struct layer_image_rows rows;
    struct block block;
    unsigned char *bytes;
    size_t capacity;
};

void layer_check_count(enum lap_counter kind)
{
    layer_count(kind, 1);
}

void layer_check_bytes(struct layer_device *dev, const void *data, size_t bytes, uint64_t low, uint64_t high)
{
    const unsigned char *at = data;

    for (size_t offset = 0, part; layer.options.verify_bytes && offset < bytes; offset += part) {
        struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_lapilliCheckedBytes, 0);
        part = bytes - offset < KEPT_BYTES ? bytes - offset : KEPT_BYTES;
        if (!enc)
            return;
        gen_encode_lapilliCheckedBytes(enc, dev->handle, low, high, offset, part, at + offset);
        layer_packet_end();
    }
}

static void check_buffer(struct look *look, uint64_t offset, const unsigned char *data, uint64_t bytes)
{
    while (bytes) {
        uint64_t part = bytes < CHECK_BYTES ? bytes : CHECK_BYTES, low, high;
        struct lap_enc *enc;
        lap_pixels_hash(data, (size_t)part, &low, &high);
        enc = layer_packet_begin(&look->dev->tables, GEN_lapilliCheckBuffer, 0);
        if (!enc)
            return;
        gen_encode_lapilliCheckBuffer(enc, gen_VkBuffer(look->record->handle), offset, part, low, high);
        layer_packet_end();
        layer_check_count(LAP_COUNTER_BUFFER_CHECKS);
        offset += part;
        data += part;
        bytes -= part;
    }
}

static void end_block(struct look *look)
{
    const struct block *b = &look->block;
    uint64_t low, high;
    struct lap_enc *enc;

    if (!b->row_count)
        return;
    lap_pixels_hash(look->bytes, (size_t)(b->row_count * b->bytes_in_row), &low, &high);
    layer_check_bytes(look->dev, look->bytes, (size_t)(b->row_count * b->bytes_in_row), low, high);
    enc = layer_packet_begin(&look->dev->tables, GEN_lapilliCheckImage, 0);
    if (enc) {
        gen_encode_lapilliCheckImage(enc, gen_VkImage(look->record->handle), b->rows->aspect, b->rows->mip_level,
                                     b->rows->array_layer, b->slice, b->row, b->row_count, b->offset_in_row,
                                     b->bytes_in_row, low, high);
        layer_packet_end();
        layer_check_count(LAP_COUNTER_IMAGE_CHECKS);
    }
    look->block.row_count = 0;
}

static bool goes_on(const struct block *b, const struct layer_rows *rows, uint32_t slice, uint32_t row,
                    uint64_t offset_in_row, uint64_t bytes)
{
    return b->row_count && b->rows == rows && b->slice == slice && b->row + b->row_count == row &&
           b->offset_in_row == offset_in_row && b->bytes_in_row == bytes && (b->row_count + 1) * bytes <= CHECK_BYTES;
}

static bool check_row(void *context, const struct layer_rows *rows, uint32_t slice, uint32_t row,
                      uint64_t offset_in_row, const unsigned char *data, uint64_t bytes)
{
    struct look *look = context;
    size_t used;

    if (!goes_on(&look->block, rows, slice, row, offset_in_row, bytes)) {
        end_block(look);
        look->block = (struct block){rows, slice, row, 0, offset_in_row, bytes};
    }
    used = (size_t)(look->block.row_count * bytes);
    if (!lap_array_grow(&look->bytes, 1, &look->capacity, used + (size_t)bytes))
        return false; /* one check less */
    memcpy(look->bytes + used, data, (size_t)bytes);
    look->block.row_count++;
    return true;
}

static void check_image(struct look *look, uint64_t offset, const void *data, uint64_t bytes)
{
    for (size_t i = 0; i < look->rows.count; i++)
        if (look->rows.rows[i].element_bytes)
            layer_rows_split(&look->rows.rows[i], offset, data, bytes, check_row, look);
}

static void check_run(void *context, uint64_t offset, const void *data, uint64_t bytes)
{
    struct look *look = context;
    if (look->record->type == GEN_HANDLE_VkBuffer)
        check_buffer(look, offset, data, bytes);
    else
        check_image(look, offset, data, bytes);
}

/* Checks the first part of [*offset, *offset + *bytes) that the program can see now, and returns that part. */
static bool check_first(struct layer_device *dev, struct lap_memobj *object, uint64_t *offset, uint64_t *bytes)
{
    struct look look = {.dev = dev, .record = lap_memobj_user(object)};
    bool seen;

    if (look.record->type != GEN_HANDLE_VkBuffer &&
        !layer_image_rows_describe(&look.rows, dev, (const struct layer_image *)look.record))
        return false;
    layer_payload_look(dev);
    seen = lap_memobj_look_device(object, *offset, *bytes, check_run, &look, offset, bytes);
    layer_payload_looked(dev);
    end_block(&look);
    layer_image_rows_finish(&look.rows);
    free(look.bytes);
    return seen;
}

/* ---- ranges that the program could not see when it learnt that the work is finished ---- */

static void remember(struct layer_device *dev, struct layer_written written)
{
    struct layer_unseen *unseen = &dev->submit.unseen;
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
    if (!lap_array_grow_u32(&unseen->ranges, sizeof *unseen->ranges, &unseen->capacity, (size_t)unseen->count + 1))
        return; /* one check less */
    unseen->ranges[unseen->count++] = written;
}

/* Takes [begin, end) out of range number i. The rest stays in its place; a second rest is appended. */
static void take_out(struct layer_device *dev, uint32_t i, uint64_t begin, uint64_t end)
{
    struct layer_unseen *unseen = &dev->submit.unseen;
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
    for (uint32_t i = dev->submit.unseen.count; i-- > 0;) {
        const struct layer_written *range = &dev->submit.unseen.ranges[i];
        uint64_t begin = range->offset > written->offset ? range->offset : written->offset;
        uint64_t range_end = range->offset + range->bytes, end = written->offset + written->bytes;
        if (layer_written_overlap(range, written))
            take_out(dev, i, begin, end < range_end ? end : range_end);
    }
}

/* Optimal images have no layout that could be compared, depth and stencil have undefined bits, and acceleration
 * structures are specific to the driver. */
static bool can_be_checked(const struct lap_object *record, bool *out_coherent)
{
    const struct layer_buffer *buffer = (const struct layer_buffer *)record;
    const struct layer_image *image = (const struct layer_image *)record;
    bool is_buffer = record->type == GEN_HANDLE_VkBuffer;
    *out_coherent = is_buffer ? !buffer->non_coherent : !image->non_coherent;
    if (is_buffer)
        return !atomic_load_explicit(&buffer->opaque, memory_order_relaxed);
    return image->info.tiling == VK_IMAGE_TILING_LINEAR && !FormatIsDepthOrStencil(image->info.format);
}

/* Whether full_checks.h checks the object: sparse objects, unmapped memory, which only the device can write, and
 * objects that can't be checked here. */
static bool is_read_back(struct lap_memobj *object)
{
    struct lap_memobj_place place = lap_memobj_place(object);
    bool exists;

    if (!layer.options.verify_all)
        return false;
    return !(exists = place.mem != NULL) || !lap_mem_mapped(place.mem) ||
           !can_be_checked(lap_memobj_user(object), &exists);
}

static void check_written(struct layer_device *dev, const struct layer_submission *submission,
                          const struct layer_written *written)
{
    struct lap_memobj *object = layer_resource_get(dev, written->resource);
    struct layer_written rest = *written, seen = *written;
    uint64_t end = written->offset + written->bytes;
    bool coherent;

    if (object && is_read_back(object)) {
        layer_verify_all_written(dev, object, submission, written->offset, written->bytes);
        return;
    }
    if (!object || !can_be_checked(lap_memobj_user(object), &coherent))
        return;
    while (coherent && rest.bytes && check_first(dev, object, &seen.offset, &seen.bytes)) {
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

/* Of buffers the parts that no image has overwritten since. */
void layer_check_written(struct layer_device *dev, const struct layer_submission *submission,
                         const struct layer_written *written)
{
    uint64_t end = written->offset + written->bytes, at = written->offset, from, to;
    struct lap_memobj *object = layer_resource_get(dev, written->resource);
    struct layer_buffer *buffer = object ? lap_memobj_user(object) : NULL;
    struct layer_written part = *written;

    if (!layer.options.verify_all || !buffer || buffer->object.type != GEN_HANDLE_VkBuffer) {
        check_written(dev, submission, written);
        return;
    }
    if (layer_overwritten_perhaps(object, at, written->bytes, submission->serial))
        at = end;
    if (at == end || lap_interval_intersects(&buffer->overwritten, at, end))
        layer_check_left_out(dev, &buffer->object, LAP_UNCHECKED_SHARED);
    for (; lap_interval_first_hole(&buffer->overwritten, at, end, &from, &to); at = to) {
        part.offset = from;
        part.bytes = to - from;
        check_written(dev, submission, &part);
    }
}

/* The part of one range in [begin, end) of the memory. */
static void check_visible_range(struct layer_device *dev, struct lap_memobj *object, uint32_t i,
                                const struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    struct layer_written part = dev->submit.unseen.ranges[i];
    const uint64_t range_end = part.offset + part.bytes;

    while (part.bytes && lap_memobj_find(object, mem, begin, end, &part.offset, &part.bytes)) {
        if (!layer_submission_writes(dev, &part) && check_first(dev, object, &part.offset, &part.bytes))
            layer_check_forget(dev, &part);
        part.offset += part.bytes;
        part.bytes = range_end - part.offset;
    }
}

static void check_visible(struct layer_device *dev, const struct lap_mem *mem, uint64_t begin, uint64_t end)
{
    for (uint32_t i = dev->submit.unseen.count; i-- > 0;) {
        struct lap_memobj *object;
        if (i >= dev->submit.unseen.count) /* more than one went */
            continue;
        object = layer_resource_get(dev, dev->submit.unseen.ranges[i].resource);
        if (object)
            check_visible_range(dev, object, i, mem, begin, end);
        else
            take_out(dev, i, 0, UINT64_MAX);
    }
}

void layer_check_visible(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize bytes)
{
    const struct layer_memory *record;

    if (!layer.options.verify || !layer_is_writing())
        return;
    pthread_mutex_lock(&dev->submit.mutex);
    record = LAYER_GET(dev, VkDeviceMemory, memory);
    if (record && record->mem)
        check_visible(dev, record->mem, offset, bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes);
    pthread_mutex_unlock(&dev->submit.mutex);
}

void layer_check_finish(struct layer_device *dev)
{
    free(dev->submit.unseen.ranges);
    memset(&dev->submit.unseen, 0, sizeof dev->submit.unseen);
}
