/* SPDX-License-Identifier: MIT */
#include "replayer/verify/read_buffer.h"

#include "replayer/core/handles.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/resource.h"

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
