/* SPDX-License-Identifier: MIT */
#include "layer/submit/host_update.h"
#include "layer/image/image_rows.h"

#include "layer/image/span_batch.h"
#include "layer/memory/payload.h"

#include <time.h>

struct emission {
    struct layer_device *dev;
    uint64_t packets, bytes;
    struct layer_image_rows rows; /* of the current image, whose spans are in sequence */
    /* Short spans of a buffer, or of a subresource, which is one of `rows`; at most one of both is not NULL. */
    struct layer_span_batch spans;
    const struct layer_buffer *gathered_buffer;
    const struct layer_rows *gathered_rows;
    uint64_t gathered_end; /* of the last span of the buffer */
};

/* A longer span is a packet of its own, so that equal bytes are stored once. */
static bool is_short(uint64_t bytes)
{
    return bytes < LAP_BLOB_MIN_BYTES;
}

/* ---- packets ---- */

static struct lap_enc *packet_begin(struct emission *e, enum gen_command command)
{
    return layer_packet_begin(&e->dev->tables, command, 0);
}

static bool packet_end(struct emission *e, uint64_t bytes)
{
    layer_packet_end();
    e->packets++;
    e->bytes += bytes;
    return true;
}

static bool send_row(struct emission *e, const struct layer_rows *rows, const struct layer_span *span, const void *data)
{
    struct lap_enc *enc = packet_begin(e, GEN_lapilliUpdateImage);
    if (!enc)
        return false;
    gen_encode_lapilliUpdateImage(enc, gen_VkImage(e->rows.image->object.handle), rows->aspect, rows->mip_level,
                                  rows->array_layer, span->slice, span->row, span->at, (size_t)span->bytes, data);
    return packet_end(e, span->bytes);
}

static bool send_range(struct emission *e, const struct layer_buffer *buffer, uint64_t offset, uint64_t bytes,
                       const void *data)
{
    struct lap_enc *enc = packet_begin(e, GEN_lapilliUpdateBuffer);
    if (!enc)
        return false;
    gen_encode_lapilliUpdateBuffer(enc, gen_VkBuffer(buffer->object.handle), offset, (size_t)bytes, data);
    return packet_end(e, bytes);
}

/* ---- gathering ---- */

static bool send_gathered_rows(struct emission *e)
{
    const struct layer_span_batch *spans = &e->spans;
    const struct layer_rows *rows = e->gathered_rows;
    const struct layer_span first = {spans->at[0], spans->sizes[0], spans->slices[0], spans->rows[0]};
    struct lap_enc *enc;
    if (spans->count == 1)
        return send_row(e, rows, &first, spans->data);
    enc = packet_begin(e, GEN_lapilliUpdateImageSpans);
    if (!enc)
        return false;
    gen_encode_lapilliUpdateImageSpans(enc, gen_VkImage(e->rows.image->object.handle), rows->aspect, rows->mip_level,
                                       rows->array_layer, spans->count, spans->slices, spans->rows, spans->at,
                                       spans->sizes, spans->bytes, spans->data);
    return packet_end(e, spans->bytes);
}

static bool send_gathered_ranges(struct emission *e)
{
    const struct layer_span_batch *spans = &e->spans;
    struct lap_enc *enc;
    if (spans->count == 1)
        return send_range(e, e->gathered_buffer, spans->at[0], spans->bytes, spans->data);
    enc = packet_begin(e, GEN_lapilliUpdateBufferSpans);
    if (!enc)
        return false;
    gen_encode_lapilliUpdateBufferSpans(enc, gen_VkBuffer(e->gathered_buffer->object.handle), spans->count, spans->at,
                                        spans->sizes, spans->bytes, spans->data);
    return packet_end(e, spans->bytes);
}

/* Writes the packet of the gathered spans, if there are any. */
static bool flush(struct emission *e)
{
    bool sent = e->spans.count == 0 || (e->gathered_rows ? send_gathered_rows(e) : send_gathered_ranges(e));
    layer_span_batch_clear(&e->spans);
    e->gathered_buffer = NULL;
    e->gathered_rows = NULL;
    e->gathered_end = 0;
    return sent;
}

static bool gather_row(void *context, const struct layer_rows *rows, uint32_t slice, uint32_t row,
                       uint64_t offset_in_row, const unsigned char *data, uint64_t bytes)
{
    struct emission *e = context;
    const struct layer_span span = {offset_in_row, bytes, slice, row};
    if (!is_short(bytes))
        return send_row(e, rows, &span, data);
    if (e->gathered_rows != rows && !flush(e))
        return false;
    e->gathered_rows = rows;
    if (layer_span_batch_add(&e->spans, &span, data))
        return true;
    if (!flush(e))
        return false;
    e->gathered_rows = rows;
    return layer_span_batch_add(&e->spans, &span, data) || send_row(e, rows, &span, data);
}

static bool gather_range(struct emission *e, const struct layer_buffer *buffer, uint64_t offset, const void *data,
                         uint64_t bytes)
{
    struct layer_span span = {.bytes = bytes};
    if (!is_short(bytes))
        return send_range(e, buffer, offset, bytes, data);
    /* Gaps can't be negative: a span before the last one is in another touched range, and needs a new packet. */
    if ((e->gathered_buffer != buffer || offset < e->gathered_end) && !flush(e))
        return false;
    span.at = offset - e->gathered_end;
    e->gathered_buffer = buffer;
    e->gathered_end = offset + bytes;
    if (layer_span_batch_add(&e->spans, &span, data))
        return true;
    if (!flush(e))
        return false;
    span.at = offset;
    e->gathered_buffer = buffer;
    e->gathered_end = offset + bytes;
    return layer_span_batch_add(&e->spans, &span, data) || send_range(e, buffer, offset, bytes, data);
}

static enum lap_status send_image(struct emission *e, struct layer_image *image, uint64_t offset, const void *data,
                                  uint64_t bytes)
{
    if (e->rows.image != image) {
        if (!flush(e)) /* it needs the rows of the image before */
            return LAP_ERROR_STOPPED;
        if (!layer_image_rows_describe(&e->rows, e->dev, image))
            return lap_fail(LAP_ERROR_MEMORY, "no memory for the rows of an image");
    }
    for (size_t i = 0; i < e->rows.count; i++)
        if (!layer_rows_split(&e->rows.rows[i], offset, data, bytes, gather_row, e))
            return LAP_ERROR_STOPPED;
    return LAP_OK;
}

static enum lap_status emit(void *context, void *object_user, uint64_t object_offset, const void *data, uint64_t bytes)
{
    struct lap_object *object = object_user;
    if (object->type == GEN_HANDLE_VkBuffer)
        return gather_range(context, object_user, object_offset, data, bytes) ? LAP_OK : LAP_ERROR_STOPPED;
    return send_image(context, object_user, object_offset, data, bytes);
}

static enum lap_status emit_image(void *context, void *object_user, uint64_t object_offset, const void *data,
                                  uint64_t bytes)
{
    const struct lap_object *object = object_user;
    return object->type == GEN_HANDLE_VkImage ? send_image(context, object_user, object_offset, data, bytes) : LAP_OK;
}

static enum lap_status emitted(void *context)
{
    return flush(context) ? LAP_OK : LAP_ERROR_STOPPED;
}

/* ---- the cost of memory that can't be watched ---- */

#define SLOW_NS    2000000u
#define SLOW_TIMES 16u /* before it is said: a program may map much while it starts */

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Says once what makes recording slow where nothing watches mapped memory. */
static void note_cost(struct layer_device *dev, const struct lap_collect_stats *stats, uint64_t ns)
{
    const struct layer_backing_plan *plan = &dev->backing.plan;
    const char *unwatched, *unbacked = plan->reason;

    if (ns <= SLOW_NS || stats->unwatched_bytes < stats->scanned_bytes / 2 || ++dev->submit.slow_compares != SLOW_TIMES)
        return;
    lap_memtrack_watch_counts(dev->memtrack, &unwatched);
    if (plan->types || !unbacked)
        unbacked = "it is shared, or has an object that can't lie there";
    lap_log(&layer.log, LAP_LOG_WARNING,
            "each submit compares %llu MiB of mapped memory, which takes %.1f ms. It can't be watched for writes: %s. "
            "Pages of the layer do not stand in for it: %s. Memory costs this only while it is mapped",
            (unsigned long long)(stats->unwatched_bytes >> 20), (double)ns / 1e6,
            unwatched ? unwatched : lap_memtrack_watch_reason(dev->memtrack), unbacked);
}

static void emit_by(struct layer_device *dev, const struct lap_touched *touched, lap_emit_fn emit_one)
{
    struct lap_collect_stats stats;
    struct emission e;
    enum lap_status status;
    uint64_t begin;

    if (!dev->memtrack || !layer_is_writing())
        return;
    e.dev = dev;
    e.packets = e.bytes = e.gathered_end = 0;
    e.rows = (struct layer_image_rows){0};
    e.gathered_buffer = NULL;
    e.gathered_rows = NULL;
    layer_span_batch_init(&e.spans);
    layer_payload_look(dev);
    begin = now_ns();
    status = lap_memtrack_collect(dev->memtrack, touched, emit_one, emitted, &e, &stats);
    note_cost(dev, &stats, now_ns() - begin);
    layer_payload_looked(dev);
    layer_span_batch_finish(&e.spans);
    layer_image_rows_finish(&e.rows);
    if (e.packets) {
        layer_count(LAP_COUNTER_UPDATES, e.packets);
        layer_count(LAP_COUNTER_UPDATE_BYTES, e.bytes);
    }
    if (status < 0 && status != LAP_ERROR_STOPPED)
        layer_stop(lap_error_message());
}

void layer_emit_updates(struct layer_device *dev, const struct lap_touched *touched)
{
    emit_by(dev, touched, emit);
}

void layer_emit_image_updates(struct layer_device *dev)
{
    emit_by(dev, NULL, emit_image);
}

static enum lap_status drop(void *context, void *object_user, uint64_t object_offset, const void *data, uint64_t bytes)
{
    return LAP_OK;
}

void layer_drop_updates(struct layer_device *dev, const struct lap_touched *touched)
{
    emit_by(dev, touched, drop);
}
