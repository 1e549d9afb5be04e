/* SPDX-License-Identifier: MIT */
#include "layer/submit/change_checks.h"

#include <stdlib.h>
#include <string.h>

#include "layer/submit/full_checks.h"
#include "layer/submit/memory_checks.h"
#include "vulkan/texel/pixels.h"

#define MOST_BYTES (1u << 20) /* of one packet */

struct layer_changes {
    struct layer_device *dev;
    bool running;
    struct layer_buffer *buffer; /* the run that is gathered; NULL: none */
    uint64_t offset;
    size_t bytes;
    unsigned char before[MOST_BYTES], now[MOST_BYTES];
};

static void write_run(struct layer_changes *c)
{
    struct lap_enc *enc = c->buffer ? layer_packet_begin(&c->dev->tables, GEN_lapilliCheckStores, 0) : NULL;
    uint64_t low, high;
    if (enc) {
        lap_pixels_hash(c->now, c->bytes, &low, &high);
        gen_encode_lapilliCheckStores(enc, gen_VkBuffer(c->buffer->object.handle), c->offset, low, high, c->bytes,
                                      c->before, c->now);
        layer_packet_end();
        layer_check_count(LAP_COUNTER_BUFFER_CHECKS);
    }
    c->buffer = NULL;
    c->bytes = 0;
}

static bool may_be_stored_to(const struct lap_object *object)
{
    const struct layer_buffer *buffer = (const struct layer_buffer *)object;
    return object->type == GEN_HANDLE_VkBuffer && buffer->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT &&
           !buffer->non_coherent && !atomic_load_explicit(&buffer->opaque, memory_order_relaxed);
}

static void changed(void *context, void *object_user, bool alone, uint64_t offset, const void *before, const void *now,
                    uint64_t bytes)
{
    struct layer_changes *c = context;
    struct layer_buffer *buffer = object_user;

    if (!object_user || buffer != c->buffer || offset != c->offset + c->bytes || bytes > MOST_BYTES - c->bytes)
        write_run(c);
    if (!object_user || !may_be_stored_to(object_user))
        return;
    if (c->running || !alone) {
        layer_check_left_out(c->dev, &buffer->object, alone ? LAP_UNCHECKED_PENDING : LAP_UNCHECKED_SHARED);
        return;
    }
    if (!c->buffer)
        c->offset = offset;
    c->buffer = buffer;
    memcpy(c->before + c->bytes, before, (size_t)bytes);
    memcpy(c->now + c->bytes, now, (size_t)bytes);
    c->bytes += (size_t)bytes;
}

struct layer_changes *layer_changes_begin(struct layer_device *dev, bool running)
{
    struct layer_changes *c = layer.options.verify && layer_is_writing() ? malloc(sizeof *c) : NULL;
    if (!c)
        return NULL; /* checks less */
    c->dev = dev;
    c->running = running;
    c->buffer = NULL;
    c->bytes = 0;
    lap_memtrack_on_change(dev->memtrack, changed, c);
    return c;
}

void layer_changes_end(struct layer_changes *c)
{
    if (!c)
        return;
    lap_memtrack_on_change(c->dev->memtrack, NULL, NULL);
    free(c);
}
