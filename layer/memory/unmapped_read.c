/* SPDX-License-Identifier: MIT */
#include "layer/memory/unmapped_read.h"

#include "base/cancel.h"
#include "layer/core/records.h"
#include "layer/memory/backing.h"

/* The whole atoms around the missing bytes: non-coherent memory must be invalidated in atoms. */
static VkMappedMemoryRange atoms_around(const struct layer_device *dev, const struct layer_memory *record,
                                        VkDeviceSize begin, VkDeviceSize end)
{
    VkDeviceSize atom = dev->physical_device->properties.limits.nonCoherentAtomSize;
    VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE};

    atom = atom ? atom : 1;
    end = (end + atom - 1) / atom * atom;
    range.offset = begin / atom * atom;
    range.size = (end < record->bytes ? end : record->bytes) - range.offset;
    return range;
}

static void show(struct layer_device *dev, VkDeviceMemory handle, struct layer_memory *record, VkDeviceSize begin,
                 VkDeviceSize bytes)
{
    VkMappedMemoryRange range = atoms_around(dev, record, begin, begin + bytes);
    VkResult result;
    void *pointer;

    range.memory = layer_backing_driver_memory(record, handle);
    result = dev->vk.MapMemory(dev->handle, range.memory, range.offset, range.size, 0, &pointer);
    if (result < 0) {
        lap_log(&layer.log, LAP_LOG_DEBUG, "memory can't be mapped to be read (VkResult %d)", (int)result);
        return;
    }
    pointer = layer_backing_map(dev, record, range.offset, pointer);
    if (!(record->real_flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
        result = dev->vk.InvalidateMappedMemoryRanges(dev->handle, 1, &range);
    if (result >= 0)
        lap_mem_show(record->mem, (unsigned char *)pointer + (begin - range.offset), begin, bytes);
    layer_backing_unmap(dev, record);
    dev->vk.UnmapMemory(dev->handle, range.memory);
}

void layer_read_unmapped(struct layer_device *dev, VkDeviceMemory memory)
{
    struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, memory);
    uint64_t begin, bytes;

    /* Memory of a group of devices may have an instance on each, and can't be mapped then; that of a payload may be
     * mapped under another name. */
    if (!record || !record->mem || record->payload || dev->is_group ||
        !(record->shown_flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) || !layer_is_recording())
        return;
    int cancel = lap_cancel_off(); /* the driver's map may have cancellation points */
    pthread_mutex_lock(&dev->map_mutex);
    if (layer_is_recording() && lap_mem_has_unread(record->mem, &begin, &bytes))
        show(dev, memory, record, begin, bytes);
    pthread_mutex_unlock(&dev->map_mutex);
    lap_cancel_restore(cancel);
}
