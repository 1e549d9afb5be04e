/* SPDX-License-Identifier: MIT */
#include "replayer/resource.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/player.h"

static void *record_of(struct replay *r, enum gen_handle_type type, uint64_t live, uint64_t *out_index)
{
    uint64_t index = replay_object_index(r, type, live);
    struct replay_object *object = replay_object_get(r, type, index);

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

enum lap_status replay_record_add(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                  uint64_t index, uint64_t live, const void *record, size_t record_bytes)
{
    void *copy = malloc(record_bytes);
    struct replay_object *object;
    enum lap_status status;

    if (!copy)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    memcpy(copy, record, record_bytes);
    status = replay_object_add(r, type, index, live, dev, &object);
    if (status == LAP_OK)
        object->record = copy;
    else
        free(copy);
    return status;
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

void replay_chain_drop(const void **head, const VkStructureType *types, size_t count)
{
    VkBaseInStructure first = {.pNext = *head}, *last = &first;

    while (last->pNext) {
        VkBaseInStructure *s = (VkBaseInStructure *)(uintptr_t)last->pNext;
        bool drop = false;
        for (size_t i = 0; i < count; i++)
            drop |= s->sType == types[i];
        if (drop)
            last->pNext = s->pNext;
        else
            last = s;
    }
    *head = first.pNext;
}

const void *replay_chain_find(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s; s = s->pNext)
        if (s->sType == type)
            return s;
    return NULL;
}
