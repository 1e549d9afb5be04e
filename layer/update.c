/* SPDX-License-Identifier: MIT */
#include "layer/update.h"

#include "layer/image_rows.h"
#include "layer/resource.h"

struct emission {
    struct layer_device *dev;
    uint64_t packets, bytes;
    struct layer_image_rows rows; /* of the image that is being sent: its spans come one after the other */
};

/* ---- packets ---- */

static bool send_row(void *context, const struct layer_rows *rows, uint32_t slice, uint32_t row, uint64_t offset_in_row,
                     const unsigned char *data, uint64_t bytes)
{
    struct emission *e = context;
    struct lap_enc *enc = layer_packet_begin(&e->dev->tables, GEN_lapilliUpdateImage, 0);
    if (!enc)
        return false;
    gen_encode_lapilliUpdateImage(enc, gen_VkImage(e->rows.image->object.handle), rows->aspect, rows->mip_level,
                                  rows->array_layer, slice, row, offset_in_row, (size_t)bytes, data);
    layer_packet_end();
    e->packets++;
    e->bytes += bytes;
    return true;
}

static enum lap_status send_image(struct emission *e, struct layer_image *image, uint64_t offset, const void *data,
                                  uint64_t bytes)
{
    if (e->rows.image != image && !layer_image_rows_describe(&e->rows, e->dev, image))
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the rows of an image");
    for (size_t i = 0; i < e->rows.count; i++)
        if (!layer_rows_split(&e->rows.rows[i], offset, data, bytes, send_row, e))
            return LAP_ERROR_STOPPED;
    return LAP_OK;
}

static enum lap_status send_buffer(struct emission *e, const struct layer_buffer *buffer, uint64_t offset,
                                   const void *data, uint64_t bytes)
{
    struct lap_enc *enc = layer_packet_begin(&e->dev->tables, GEN_lapilliUpdateBuffer, 0);
    if (!enc)
        return LAP_ERROR_STOPPED;
    gen_encode_lapilliUpdateBuffer(enc, gen_VkBuffer(buffer->object.handle), offset, (size_t)bytes, data);
    layer_packet_end();
    e->packets++;
    e->bytes += bytes;
    return LAP_OK;
}

static enum lap_status emit(void *context, void *object_user, uint64_t object_offset, const void *data, uint64_t bytes)
{
    struct lap_object *object = object_user;
    if (object->type == GEN_HANDLE_VkBuffer)
        return send_buffer(context, object_user, object_offset, data, bytes);
    return send_image(context, object_user, object_offset, data, bytes);
}

void layer_emit_updates(struct layer_device *dev, const struct lap_touched *touched)
{
    struct emission e = {.dev = dev};
    struct lap_writer *writer;
    enum lap_status status;

    if (!dev->memtrack || !layer_is_recording())
        return;
    status = lap_memtrack_collect(dev->memtrack, touched, emit, &e, NULL);
    layer_image_rows_finish(&e.rows);
    writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer && e.packets) {
        lap_writer_count(writer, LAP_COUNTER_UPDATES, e.packets);
        lap_writer_count(writer, LAP_COUNTER_UPDATE_BYTES, e.bytes);
    }
    if (status < 0 && status != LAP_ERROR_STOPPED)
        layer_stop(lap_error_message());
}
