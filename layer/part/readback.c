/* SPDX-License-Identifier: MIT */
#include "layer/part/readback.h"

#include "layer/command/image_state.h"
#include "layer/core/records.h"
#include "layer/memory/sparse_places.h"
#include "layer/part/live_objects.h"
#include "vulkan/texel/texels.h"

#define PIECE_BYTES (4u << 20) /* in one packet */

/* ---- queues ---- */

static enum lap_status find_queue(struct layer_readback *r)
{
    const VkQueueFlags able = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    struct layer_live_objects queues;
    enum lap_status status = layer_live_objects_of(r->dev, GEN_HANDLE_VkQueue, &queues);

    if (status != LAP_OK)
        return status;
    for (size_t i = 0; i < queues.count; i++) {
        const struct layer_queue *queue = (const struct layer_queue *)queues.items[i];
        if (queue->device == r->dev && queue->flags & able && !(r->flags & VK_QUEUE_GRAPHICS_BIT)) {
            r->at = (struct lap_readback_queue){.queue = queue->handle, .family = queue->family};
            r->flags = queue->flags;
        }
    }
    layer_live_objects_finish(&queues);
    return LAP_OK;
}

enum lap_status layer_readback_init(struct layer_readback *r, struct layer_device *dev)
{
    *r = (struct layer_readback){.dev = dev};
    clock_gettime(CLOCK_MONOTONIC, &r->said);
    for (size_t i = 0; i < sizeof r->slots / sizeof *r->slots; i++)
        lap_readback_init(&r->slots[i].readback, dev->handle, &dev->vk, &dev->physical_device->memory,
                          dev->loader.set_data);
    return find_queue(r);
}

void layer_readback_finish(struct layer_readback *r)
{
    const void *data;

    for (size_t i = 0; i < sizeof r->slots / sizeof *r->slots; i++) {
        if (r->slots[i].pending && lap_readback_take(&r->slots[i].readback, &data) != LAP_OK)
            lap_log(&layer.log, LAP_LOG_DEBUG, "%s", lap_error_message());
        r->slots[i].pending = false;
        lap_readback_finish(&r->slots[i].readback);
    }
}

/* ---- pieces ---- */

static void say_progress(struct layer_readback *r)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - r->said.tv_sec < 1 + (now.tv_nsec < r->said.tv_nsec))
        return;
    r->said = now;
    lap_log(&layer.log, LAP_LOG_INFO, "what there is is being written: %llu MiB of contents so far",
            (unsigned long long)(r->bytes >> 20));
}

static void write_piece(struct layer_readback *r, const struct layer_readback_slot *slot, const void *data)
{
    const enum gen_command command = slot->image ? GEN_lapilliWriteTexels : GEN_lapilliUpdateBuffer;
    struct lap_enc *enc = layer_packet_begin(&r->dev->tables, command, 0);

    if (!enc) /* the writer has stopped */
        return;
    if (slot->image) {
        gen_encode_lapilliWriteTexels(enc, gen_VkImage(slot->image->object.handle), slot->layout, slot->region.aspect,
                                      slot->region.level, slot->region.layer, 1, &slot->region.offset,
                                      &slot->region.extent, (size_t)slot->bytes, data);
        layer_packet_end();
    } else {
        gen_encode_lapilliUpdateBuffer(enc, slot->buffer, slot->offset, (size_t)slot->bytes, data);
        layer_packet_end();
        layer_count(LAP_COUNTER_UPDATES, 1);
        layer_count(LAP_COUNTER_UPDATE_BYTES, slot->bytes);
    }
    r->bytes += slot->bytes;
    say_progress(r);
}

static void leave_out(struct layer_readback *r, enum lap_unchecked reason)
{
    r->left_out++;
    r->reasons[reason]++;
}

/* Contents that can't be read are left out, unless out of memory is the reason. */
static enum lap_status left_out(struct layer_readback *r, const void *object, enum lap_status status)
{
    if (status == LAP_OK || status == LAP_ERROR_MEMORY)
        return status;
    lap_log(&layer.log, LAP_LOG_INFO, "%s", lap_error_message());
    if (r->lost != object)
        leave_out(r, LAP_UNCHECKED_FAILED);
    r->lost = object;
    return LAP_OK;
}

static enum lap_status take(struct layer_readback *r, struct layer_readback_slot *slot)
{
    const void *data;
    enum lap_status status;

    if (!slot->pending)
        return LAP_OK;
    slot->pending = false;
    status = lap_readback_take(&slot->readback, &data);
    if (status != LAP_OK)
        return left_out(r, slot->object, status);
    if (slot->image)
        lap_texels_clean(slot->image->info.format, slot->region.aspect, slot->readback.mapped, slot->bytes);
    if (slot->edit)
        slot->edit(slot->user, slot->readback.mapped, (size_t)slot->bytes);
    write_piece(r, slot, data);
    return LAP_OK;
}

enum lap_status layer_readback_flush(struct layer_readback *r)
{
    enum lap_status status = LAP_OK;

    for (unsigned i = 0; i < sizeof r->slots / sizeof *r->slots && status == LAP_OK; i++) {
        status = take(r, &r->slots[r->next]);
        r->next ^= 1;
    }
    return status;
}

/* The other piece is on its way while this one is written. */
static enum lap_status next_slot(struct layer_readback *r, struct layer_readback_slot **out)
{
    *out = &r->slots[r->next];
    r->next ^= 1;
    return take(r, *out);
}

static enum lap_status started(struct layer_readback *r, struct layer_readback_slot *slot, const void *object,
                               enum lap_status status)
{
    slot->pending = status == LAP_OK;
    if (slot->pending)
        r->at.wait_count = r->at.signal_count = 0;
    return left_out(r, object, status);
}

/* ---- buffers ---- */

enum lap_status layer_readback_range(struct layer_readback *r, const void *object, VkBuffer buffer, VkDeviceSize offset,
                                     VkDeviceSize bytes, layer_readback_edit_fn edit, void *user)
{
    const VkDeviceSize end = offset + bytes;
    enum lap_status status = LAP_OK;

    if (!r->at.queue) {
        leave_out(r, LAP_UNCHECKED_QUEUE);
        return LAP_OK;
    }
    for (uint64_t part; offset < end && status == LAP_OK && r->lost != object; offset += part) {
        struct layer_readback_slot *slot;
        part = end - offset < PIECE_BYTES ? end - offset : PIECE_BYTES;
        status = next_slot(r, &slot);
        if (status != LAP_OK)
            break;
        slot->image = NULL;
        slot->buffer = buffer;
        slot->object = object;
        slot->edit = edit;
        slot->user = user;
        slot->offset = offset;
        slot->bytes = part;
        status = started(r, slot, object, lap_readback_start_buffer(&slot->readback, &r->at, buffer, offset, part));
    }
    return status;
}

/* Whether a buffer can only contain acceleration structures, which are built again. */
static bool holds_structures(const struct layer_buffer *buffer)
{
    const VkBufferUsageFlags others =
        ~(VkBufferUsageFlags)(VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                              VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                              VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR);
    return buffer->usage & VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR && !(buffer->usage & others);
}

/* Of a sparse buffer, the pages that have memory. */
static enum lap_status read_pages(struct layer_readback *r, const struct layer_buffer *buffer)
{
    const struct layer_sparse_places *places = &buffer->pages->places;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < places->count && status == LAP_OK; i++) {
        const uint64_t offset = places->items[i].offset, bytes = places->items[i].bytes;
        if (offset < buffer->bytes) /* the last page may have more */
            status = layer_readback_range(r, buffer, gen_VkBuffer(buffer->object.handle), offset,
                                          bytes < buffer->bytes - offset ? bytes : buffer->bytes - offset, NULL, NULL);
    }
    return status;
}

/* Contents of scratch memory do not matter, but such a buffer may have other contents, too. */
enum lap_status layer_readback_buffer(struct layer_readback *r, const struct layer_buffer *buffer)
{
    if (holds_structures(buffer))
        return LAP_OK;
    if (!buffer->readable) {
        leave_out(r, LAP_UNCHECKED_USAGE);
        return LAP_OK;
    }
    return buffer->pages
               ? read_pages(r, buffer)
               : layer_readback_range(r, buffer, gen_VkBuffer(buffer->object.handle), 0, buffer->bytes, NULL, NULL);
}

/* ---- images ---- */

bool layer_readback_is_known(VkImageLayout layout)
{
    return layout != VK_IMAGE_LAYOUT_UNDEFINED && layout != VK_IMAGE_LAYOUT_PREINITIALIZED;
}

VkImageLayout layer_readback_layout(const struct layer_image *image, uint32_t level, uint32_t array_layer)
{
    VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;

    for (VkImageAspectFlags left = image->state->aspects; left; left &= left - 1) {
        const struct layer_subresource *s =
            layer_image_subresource(image, image->state, left & -left, level, array_layer);
        if (left != image->state->aspects && s->layout != layout)
            return VK_IMAGE_LAYOUT_UNDEFINED;
        layout = s->layout;
    }
    return layout;
}

static bool has_contents(const struct layer_image *image, const struct layer_subresource *s)
{
    return layer_readback_is_known(s->layout) && (s->written || image->info.tiling == VK_IMAGE_TILING_LINEAR);
}

/* Contents that a render pass has left undefined are not needed. */
static bool is_needed(const struct layer_image *image, const struct layer_subresource *s)
{
    return has_contents(image, s) && !s->discarded;
}

bool layer_readback_matters(const struct layer_image *image)
{
    if (!image->state) /* no work was submitted that names it, or its layouts can't be tracked */
        return !lap_texels_parts(image->info.format);
    for (VkImageAspectFlags left = image->state->aspects; left; left &= left - 1)
        for (uint32_t i = 0; i < image->info.arrayLayers; i++)
            for (uint32_t level = 0; level < image->info.mipLevels; level++)
                if (is_needed(image, layer_image_subresource(image, image->state, left & -left, level, i)))
                    return true;
    return false;
}

struct level {
    struct layer_readback *r;
    const struct layer_image *image;
    VkImageLayout layout;
};

static enum lap_status start_piece(void *context, const struct lap_texel_region *piece, size_t bytes)
{
    const struct level *level = context;
    struct layer_readback *r = level->r;
    const struct layer_image *image = level->image;
    /* A barrier covers all aspects together, and all slices: with maintenance9 a volume has them as layers. */
    const VkImageSubresourceRange range = {lap_texels_range_of(image->state->aspects), piece->level, 1, piece->layer,
                                           image->info.extent.depth > 1 ? VK_REMAINING_ARRAY_LAYERS : 1};
    const VkBufferImageCopy region = {.imageSubresource = {piece->aspect, piece->level, piece->layer, 1},
                                      .imageOffset = piece->offset,
                                      .imageExtent = piece->extent};
    struct layer_readback_slot *slot;
    enum lap_status status;

    if (r->lost == image)
        return LAP_OK;
    status = next_slot(r, &slot);
    if (status != LAP_OK)
        return status;
    slot->image = image;
    slot->object = image;
    slot->edit = NULL;
    slot->layout = level->layout;
    slot->region = *piece;
    slot->bytes = bytes;
    return started(r, slot, image,
                   lap_readback_start_region(&slot->readback, &r->at, gen_VkImage(image->object.handle), level->layout,
                                             &range, &region, bytes));
}

static enum lap_status read_aspect(struct layer_readback *r, const struct layer_image *image, VkImageLayout layout,
                                   const struct lap_texels *texels)
{
    const struct lap_texel_region all = {.aspect = texels->aspect,
                                         .level = texels->level,
                                         .layer = texels->layer,
                                         .layer_count = 1,
                                         .extent = texels->extent};
    /* Queues for transfers alone may copy whole levels only. */
    const bool cuts = r->flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT);
    struct level level = {r, image, layout};
    struct lap_texel_block block;

    if (!lap_texels_block(image->info.format, texels->aspect, &block))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "images of format %d can't be read back", (int)image->info.format);
    return lap_texels_cut(&block, &all, cuts ? PIECE_BYTES : UINT64_MAX, start_piece, &level);
}

/* *fault: why some of it can't be read; unchanged where all of it can. */
static enum lap_status read_level(struct layer_readback *r, const struct layer_image *image, uint32_t level,
                                  uint32_t array_layer, enum lap_unchecked *fault)
{
    const VkImageAspectFlags deep = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    const VkImageLayout layout = layer_readback_layout(image, level, array_layer);
    enum lap_status status = LAP_OK;

    for (VkImageAspectFlags left = image->state->aspects; left && status == LAP_OK; left &= left - 1) {
        const VkImageAspectFlags aspect = left & -left;
        const struct layer_subresource *s = layer_image_subresource(image, image->state, aspect, level, array_layer);
        struct lap_texels texels;
        if (!has_contents(image, s))
            continue;
        if (!layer_readback_is_known(layout) || s->between)
            *fault = LAP_UNCHECKED_LAYOUT;
        else if (!lap_texels_describe(&image->info, aspect, level, array_layer, &texels))
            *fault = LAP_UNCHECKED_FORMAT;
        else if (aspect & deep && !(r->flags & VK_QUEUE_GRAPHICS_BIT))
            *fault = LAP_UNCHECKED_QUEUE;
        else
            status = read_aspect(r, image, layout, &texels);
    }
    return left_out(r, image, status);
}

/* Why nothing of an image can be read; LAP_UNCHECKED_COUNT: it can. */
static enum lap_unchecked image_fault(const struct layer_readback *r, const struct layer_image *image, bool readable)
{
    if (image->info.samples != VK_SAMPLE_COUNT_1_BIT)
        return LAP_UNCHECKED_SAMPLES;
    if (!readable)
        return LAP_UNCHECKED_USAGE;
    if (!image->state)
        return LAP_UNCHECKED_FORMAT;
    return r->at.queue ? LAP_UNCHECKED_COUNT : LAP_UNCHECKED_QUEUE;
}

enum lap_status layer_readback_image(struct layer_readback *r, const struct layer_image *image, bool readable)
{
    enum lap_unchecked fault = image_fault(r, image, readable);
    enum lap_status status = LAP_OK;

    if (fault != LAP_UNCHECKED_COUNT) {
        if (layer_readback_matters(image))
            leave_out(r, fault);
        return LAP_OK;
    }
    for (uint32_t i = 0; i < image->info.arrayLayers && status == LAP_OK; i++)
        for (uint32_t level = 0; level < image->info.mipLevels && status == LAP_OK; level++)
            status = read_level(r, image, level, i, &fault);
    if (fault != LAP_UNCHECKED_COUNT && r->lost != image)
        leave_out(r, fault);
    return status;
}
