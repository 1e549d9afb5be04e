/* SPDX-License-Identifier: MIT */
#include "replayer/memory/resource.h"

#include <stddef.h>
#include <string.h>

#include "replayer/core/handles.h"
#include "replayer/core/replay.h"

static void *record_of(struct replay *r, enum gen_handle_type type, uint64_t live, uint64_t *out_index)
{
    uint64_t index;
    struct replay_object *object = replay_object_of(r, type, live, &index);

    if (out_index)
        *out_index = index;
    return object ? object->record : NULL;
}

struct replay_buffer *replay_buffer_of(struct replay *r, VkBuffer buffer, uint64_t *out_index)
{
    return record_of(r, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer), out_index);
}

struct replay_image *replay_image_of(struct replay *r, VkImage image, uint64_t *out_index)
{
    return record_of(r, GEN_HANDLE_VkImage, gen_u64_VkImage(image), out_index);
}

/* In two halves: the compiler inlines stores for these, but uses a slow string instruction for larger sizes. */
static inline void zero(void *record, size_t bytes)
{
    size_t half = bytes / 2 & ~(size_t)15;

    memset(record, 0, half);
    memset((unsigned char *)record + half, 0, bytes - half);
}

/* Clears the first `zeroed` bytes of the record. */
static inline __attribute__((always_inline)) enum lap_status add(struct replay *r, struct replay_device *dev,
                                                                 enum gen_handle_type type, uint64_t index,
                                                                 uint64_t live, struct lap_slab *slab, size_t bytes,
                                                                 size_t zeroed, void **out_record)
{
    struct replay_object *object;

    if (!slab->piece_bytes)
        lap_slab_init(slab, (bytes + 15) & ~(size_t)15);
    *out_record = lap_slab_alloc(slab);
    if (!*out_record)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    object = replay_object_add_next(r, type, index, live, dev);
    if (!object) {
        enum lap_status status = replay_object_add(r, type, index, live, dev, NULL);
        if (status != LAP_OK) {
            lap_slab_free(slab, *out_record);
            return status;
        }
        object = replay_object_get(r, type, index);
    }
    zero(*out_record, zeroed);
    object->record = *out_record;
    return LAP_OK;
}

enum lap_status replay_buffer_add(struct replay *r, struct replay_device *dev, uint64_t index, VkBuffer buffer,
                                  struct replay_buffer **out_record)
{
    void *record = NULL;
    enum lap_status status = add(r, dev, GEN_HANDLE_VkBuffer, index, gen_u64_VkBuffer(buffer), &r->objects.buffers,
                                 sizeof **out_record, offsetof(struct replay_buffer, rounded), &record);

    *out_record = record;
    return status;
}

enum lap_status replay_image_add(struct replay *r, struct replay_device *dev, uint64_t index, VkImage image,
                                 struct replay_image **out_record)
{
    void *record = NULL;
    enum lap_status status = add(r, dev, GEN_HANDLE_VkImage, index, gen_u64_VkImage(image), &r->objects.images,
                                 sizeof **out_record, sizeof **out_record, &record);

    *out_record = record;
    return status;
}

void replay_buffer_free(struct replay *r, struct replay_buffer *record)
{
    lap_slab_free(&r->objects.buffers, record);
}

void replay_image_free(struct replay *r, struct replay_image *record)
{
    lap_slab_free(&r->objects.images, record);
}

void replay_buffer_rounded(struct replay_buffer *buffer, VkDeviceSize offset, VkDeviceSize bytes)
{
    VkDeviceSize begin = offset, end = offset + bytes;
    uint32_t left = 0;

    for (uint32_t i = 0; i < buffer->rounded_count; i++) {
        bool full = buffer->rounded_count == REPLAY_MAX_ROUNDED && i + 1 == buffer->rounded_count && left == i;
        if (full || (buffer->rounded[i].begin <= end && begin <= buffer->rounded[i].end)) {
            begin = buffer->rounded[i].begin < begin ? buffer->rounded[i].begin : begin;
            end = buffer->rounded[i].end > end ? buffer->rounded[i].end : end;
        } else {
            buffer->rounded[left++] = buffer->rounded[i];
        }
    }
    buffer->rounded[left].begin = begin;
    buffer->rounded[left].end = end;
    buffer->rounded_count = left + 1;
}

bool replay_buffer_is_rounded(const struct replay_buffer *buffer, VkDeviceSize offset, VkDeviceSize bytes)
{
    for (uint32_t i = 0; i < buffer->rounded_count; i++)
        if (buffer->rounded[i].begin < offset + bytes && offset < buffer->rounded[i].end)
            return true;
    return false;
}

bool replay_shares_image(struct replay *r, const struct replay_device *dev, VkImage image)
{
    const struct replay_image *record = dev->queues.family_count > 1 ? replay_image_of(r, image, NULL) : NULL;

    return record && record->info.sharingMode == VK_SHARING_MODE_CONCURRENT;
}
