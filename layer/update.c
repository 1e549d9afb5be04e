/* SPDX-License-Identifier: MIT */
#include "layer/update.h"

#include <stdlib.h>

#include "layer/format_utils.h"
#include "layer/resource.h"
#include "layer/rows.h"

struct emission {
    struct layer_device *dev;
    uint64_t packets, bytes;
    /* The image that is being sent: its spans come one after the other. */
    struct layer_image *image;
    struct layer_rows *rows;
    size_t count, capacity;
};

/* ---- where the rows of an image lie ---- */

struct aspects {
    VkImageAspectFlags bits[LAYER_MAX_PLANES];
    uint32_t count;
};

static struct aspects aspects_of(VkFormat format)
{
    struct aspects aspects = {.bits = {VK_IMAGE_ASPECT_COLOR_BIT}, .count = 1};
    uint32_t planes = FormatPlaneCount(format);
    if (FormatIsDepthOrStencil(format)) {
        aspects.bits[0] = FormatIsStencilOnly(format) ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT;
        aspects.bits[1] = VK_IMAGE_ASPECT_STENCIL_BIT;
        aspects.count = FormatIsDepthAndStencil(format) ? 2 : 1;
    } else if (planes > 1 && planes <= LAYER_MAX_PLANES) {
        aspects.count = planes;
        for (uint32_t i = 0; i < planes; i++)
            aspects.bits[i] = (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << i;
    }
    return aspects;
}

static VkSubresourceLayout ask_layout(const struct emission *e, VkImageAspectFlags aspect, uint32_t level,
                                      uint32_t array_layer)
{
    VkImageSubresource which = {.aspectMask = aspect, .mipLevel = level, .arrayLayer = array_layer};
    VkSubresourceLayout layout = {0};
    e->dev->vk.GetImageSubresourceLayout(e->dev->handle, gen_VkImage(e->image->object.handle), &which, &layout);
    return layout;
}

/* All aspects of one level of one layer. */
static void describe_level(struct emission *e, const struct aspects *aspects, const struct layer_image_planes *planes,
                           uint32_t level, uint32_t array_layer)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < aspects->count; i++) {
        VkSubresourceLayout layout = ask_layout(e, aspects->bits[i], level, array_layer);
        uint64_t base = planes->count > 1 ? planes->offsets[i] : 0;
        bool depth_first = aspects->count > 1 && i == 0 && aspects->bits[0] == VK_IMAGE_ASPECT_DEPTH_BIT;
        bool interleaved = false;
        if (depth_first) {
            VkSubresourceLayout stencil = ask_layout(e, VK_IMAGE_ASPECT_STENCIL_BIT, level, array_layer);
            interleaved =
                stencil.offset < layout.offset + layout.rowPitch && layout.offset < stencil.offset + stencil.rowPitch;
            first = stencil.offset < layout.offset ? stencil.offset : layout.offset;
        }
        if (interleaved)
            layout.offset = first;
        layer_rows_describe(&e->image->info, aspects->bits[i], level, array_layer, &layout, base, interleaved,
                            &e->rows[e->count++]);
        if (interleaved) /* the depth aspect's rows have the stencil values too */
            return;
    }
}

static bool describe_image(struct emission *e, struct layer_image *image)
{
    struct aspects aspects = aspects_of(image->info.format);
    size_t count = (size_t)aspects.count * image->info.mipLevels * image->info.arrayLayers;
    struct layer_image_planes planes = {.count = 1};

    e->image = NULL;
    e->count = 0;
    if (count > e->capacity) {
        struct layer_rows *more = realloc(e->rows, count * sizeof *more);
        if (!more)
            return false;
        e->rows = more;
        e->capacity = count;
    }
    e->image = image;
    if (image->info.flags & VK_IMAGE_CREATE_DISJOINT_BIT)
        layer_image_planes(e->dev, image, &planes);
    for (uint32_t array_layer = 0; array_layer < image->info.arrayLayers; array_layer++)
        for (uint32_t level = 0; level < image->info.mipLevels; level++)
            describe_level(e, &aspects, &planes, level, array_layer);
    return true;
}

/* ---- packets ---- */

static bool send_row(void *context, const struct layer_rows *rows, uint32_t slice, uint32_t row, uint64_t offset_in_row,
                     const unsigned char *data, uint64_t bytes)
{
    struct emission *e = context;
    struct lap_enc *enc = layer_packet_begin(&e->dev->tables, GEN_lapilliUpdateImage, 0);
    if (!enc)
        return false;
    gen_encode_lapilliUpdateImage(enc, gen_VkImage(e->image->object.handle), rows->aspect, rows->mip_level,
                                  rows->array_layer, slice, row, offset_in_row, (size_t)bytes, data);
    layer_packet_end();
    e->packets++;
    e->bytes += bytes;
    return true;
}

static enum lap_status send_image(struct emission *e, struct layer_image *image, uint64_t offset, const void *data,
                                  uint64_t bytes)
{
    if (e->image != image && !describe_image(e, image))
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the rows of an image");
    for (size_t i = 0; i < e->count; i++)
        if (!layer_rows_split(&e->rows[i], offset, data, bytes, send_row, e))
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
    free(e.rows);
    writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    if (writer && e.packets) {
        lap_writer_count(writer, LAP_COUNTER_UPDATES, e.packets);
        lap_writer_count(writer, LAP_COUNTER_UPDATE_BYTES, e.bytes);
    }
    if (status < 0 && status != LAP_ERROR_STOPPED)
        layer_stop(lap_error_message());
}
