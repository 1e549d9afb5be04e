/* SPDX-License-Identifier: MIT */
/* Host reads and writes of objects (memory.h). */
#include <string.h>

#include "base/assert.h"
#include "replayer/memory/memory_internal.h"

/* The range in whole atoms. Blocks consist of whole atoms, so at worst the flush includes neighbours. */
static VkMappedMemoryRange atoms_around(const struct replay_device *dev, const struct replay_memory_place *place,
                                        VkDeviceSize offset, VkDeviceSize bytes)
{
    VkDeviceSize atom = dev->memory.planner->atom, begin = (place->offset + offset) / atom * atom;
    VkDeviceSize end = (place->offset + offset + bytes + atom - 1) / atom * atom;
    return (VkMappedMemoryRange){.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                                 .memory = place->memory,
                                 .offset = begin,
                                 .size = end >= place->memory_bytes ? VK_WHOLE_SIZE : end - begin};
}

enum lap_status replay_memory_place_write(struct replay *r, struct replay_device *dev,
                                          const struct replay_memory_place *place, VkDeviceSize offset,
                                          const void *data, size_t bytes)
{
    VkMappedMemoryRange range = {.size = bytes};
    enum lap_status status = LAP_OK;

    if (bytes == 0)
        return LAP_OK;
    if (!place->coherent)
        range = atoms_around(dev, place, offset, bytes);
    /* The flush covers the whole atom, so the host first needs the device's writes to its other bytes. Invalidation
     * loses no host write: earlier ones are flushed. */
    if (!place->coherent && range.size != bytes)
        status = replay_result(r, dev->vk.InvalidateMappedMemoryRanges(dev->live, 1, &range));
    if (status != LAP_OK)
        return status;
    if (data)
        memcpy(place->host + offset, data, bytes);
    else
        memset(place->host + offset, 0, bytes);
    if (place->coherent)
        return LAP_OK;
    return replay_result(r, dev->vk.FlushMappedMemoryRanges(dev->live, 1, &range));
}

/* Merges the spans' atoms into ranges without overlap. Returns the number of ranges. */
static uint32_t atoms_of_spans(const struct replay_device *dev, const struct replay_memory_place *place, uint32_t count,
                               const struct replay_memory_span *spans, VkMappedMemoryRange *ranges)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        VkMappedMemoryRange range = atoms_around(dev, place, spans[i].offset, spans[i].bytes), *last;
        if (!spans[i].bytes)
            continue;
        last = found ? &ranges[found - 1] : NULL;
        if (!last || (last->size != VK_WHOLE_SIZE && range.offset > last->offset + last->size))
            ranges[found++] = range;
        else if (last->size != VK_WHOLE_SIZE)
            last->size = range.size == VK_WHOLE_SIZE ? VK_WHOLE_SIZE : range.offset + range.size - last->offset;
    }
    return found;
}

enum lap_status replay_memory_place_write_spans(struct replay *r, struct replay_device *dev,
                                                const struct replay_memory_place *place, uint32_t count,
                                                const struct replay_memory_span *spans)
{
    VkMappedMemoryRange *ranges = NULL;
    enum lap_status status = LAP_OK;
    uint32_t range_count = 0;

    if (!place->coherent) {
        ranges = replay_scratch(r, count, sizeof *ranges);
        if (!ranges)
            return replay_no_scratch(r);
        range_count = atoms_of_spans(dev, place, count, spans, ranges);
    }
    if (range_count) /* see replay_memory_place_write */
        status = replay_result(r, dev->vk.InvalidateMappedMemoryRanges(dev->live, range_count, ranges));
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        memcpy(place->host + spans[i].offset, spans[i].data, spans[i].bytes);
    if (!range_count)
        return LAP_OK;
    return replay_result(r, dev->vk.FlushMappedMemoryRanges(dev->live, range_count, ranges));
}

enum lap_status replay_memory_place_invalidate(struct replay *r, struct replay_device *dev,
                                               const struct replay_memory_place *place, VkDeviceSize offset,
                                               VkDeviceSize bytes)
{
    VkMappedMemoryRange range;

    if (place->coherent || bytes == 0)
        return LAP_OK;
    range = atoms_around(dev, place, offset, bytes);
    return replay_result(r, dev->vk.InvalidateMappedMemoryRanges(dev->live, 1, &range));
}

enum lap_status replay_memory_read_back(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                        VkDeviceSize offset, VkDeviceSize bytes, const void **out_data)
{
    struct lap_readback_queue at = {0};
    enum lap_status status;

    if (!dev->queues.main)
        return replay_fail(r, "the device has no queue for copies");
    at.queue = dev->queues.main->live;
    at.family = dev->queues.main->family;
    status = replay_staging_flush(r, dev, at.queue);
    if (status != LAP_OK)
        return status;
    status = lap_readback_buffer(&dev->memory.planner->readback, &at, buffer, offset, bytes, out_data);
    return status == LAP_OK ? LAP_OK : replay_place(r, status);
}
