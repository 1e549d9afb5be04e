/* SPDX-License-Identifier: MIT */
#include "replayer/verify/read_buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "replayer/address/address.h"
#include "replayer/core/handles.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/resource.h"
#include "replayer/verify/read_image.h"

#define PIECE_BYTES ((uint64_t)4 << 20)

enum lap_status replay_read_buffer_of(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                      const struct replay_buffer *record, uint64_t offset, uint64_t bytes,
                                      const void **out_data)
{
    if (!record->place.host)
        return replay_memory_read_back(r, dev, buffer, offset, bytes, out_data);
    *out_data = record->place.host + offset;
    return replay_memory_place_invalidate(r, dev, &record->place, offset, bytes);
}

enum lap_status replay_read_buffer(struct replay *r, uint64_t index, uint64_t offset, uint64_t bytes,
                                   const void **out_data)
{
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkBuffer, index);
    const struct replay_buffer *record = object ? object->record : NULL;

    if (!record || !record->place.memory || record->sparse)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "is not alive, or has no memory of its own");
    if (offset > record->bytes || bytes > record->bytes - offset)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "has fewer bytes");
    return replay_read_buffer_of(r, (struct replay_device *)(uintptr_t)object->owner, gen_VkBuffer(object->live),
                                 record, offset, bytes, out_data);
}

/* Restores recorded addresses, also those that cross either end of the piece. offset: a multiple of 4. */
static enum lap_status read_piece(struct replay *r, const struct replay_object *object, uint64_t offset, uint64_t bytes,
                                  const void **out)
{
    struct replay_device *dev = (struct replay_device *)(uintptr_t)object->owner;
    const struct replay_buffer *record = object->record;
    const uint64_t begin = dev->addresses.translated && offset ? offset - 4 : offset;
    uint64_t end = offset + bytes;
    enum lap_status status;
    uint8_t *copy;

    if (dev->addresses.translated)
        end = record->bytes - end < 8 ? record->bytes : end + 8;
    status = replay_read_buffer_of(r, dev, gen_VkBuffer(object->live), record, begin, end - begin, out);
    if (status != LAP_OK || !dev->addresses.translated)
        return status;
    lap_arena_reset(&r->arena);
    copy = replay_scratch(r, end - begin, 1);
    if (!copy)
        return replay_no_scratch(r);
    memcpy(copy, *out, (size_t)(end - begin));
    replay_address_restore(dev, copy, (size_t)(end - begin));
    *out = copy + (offset - begin);
    return LAP_OK;
}

enum lap_status replay_read_recorded(struct replay *r, uint64_t index, uint64_t offset, uint64_t bytes,
                                     enum lap_status (*put)(void *user, const void *data, uint64_t bytes), void *user)
{
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkBuffer, index);
    const struct replay_buffer *record = object ? object->record : NULL;
    enum lap_status status = LAP_OK;
    const void *data = NULL;

    if (!record || !record->place.memory || record->sparse)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "is not alive, or has no memory of its own");
    if (offset > record->bytes || bytes > record->bytes - offset || offset % 4)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "has fewer bytes, or they don't begin at a multiple of 4");
    if (record->holds_descriptors)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "holds descriptors of this device");
    for (uint64_t done = 0; done < bytes && status == LAP_OK; done += PIECE_BYTES) {
        const uint64_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        status = read_piece(r, object, offset + done, piece, &data);
        if (status == LAP_OK)
            status = put(user, data, piece);
    }
    return status;
}

static enum lap_status put_out(void *user, const void *data, uint64_t bytes)
{
    const size_t skipped = *(size_t *)user;

    *(size_t *)user = 0;
    return fwrite((const char *)data + skipped, 1, (size_t)bytes - skipped, stdout) == bytes - skipped
               ? LAP_OK
               : lap_fail(LAP_ERROR_IO, "the bytes can't be written: %s", strerror(errno));
}

enum lap_status replay_write_buffer(struct replay *r)
{
    const struct after_wish *wish = &r->options.pictures.wish;
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkBuffer, wish->index);
    const struct replay_buffer *record = object ? object->record : NULL;
    const uint64_t all = record && record->bytes > wish->offset ? record->bytes - wish->offset : 0;
    size_t skipped = wish->offset % 4;
    enum lap_status status = replay_settle(r);

    if (status == LAP_OK && record && !all)
        return lap_fail(LAP_ERROR_ARGUMENT, "VkBuffer:%" PRIu64 " has %" PRIu64 " bytes", wish->index, record->bytes);
    if (status == LAP_OK)
        status =
            replay_read_recorded(r, wish->index, wish->offset - skipped,
                                 (wish->bytes && wish->bytes < all ? wish->bytes : all) + skipped, put_out, &skipped);
    return status == LAP_ERROR_UNSUPPORTED
               ? lap_fail(LAP_ERROR_UNSUPPORTED, "VkBuffer:%" PRIu64 " %s", wish->index, lap_error_message())
               : status;
}
