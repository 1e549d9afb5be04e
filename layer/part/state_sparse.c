/* SPDX-License-Identifier: MIT */
/* Memory of sparse buffers and images: the current binds are made again at the beginning of the part, page by page. */
#include <stdlib.h>

#include "gen_encode_block.h"
#include "layer/core/keeper.h"
#include "layer/core/records.h"
#include "layer/memory/sparse_places.h"
#include "layer/part/live_objects.h"
#include "layer/part/lost.h"
#include "layer/part/readback.h"
#include "layer/part/state.h"
#include "layer/submit/host_update.h"
#include "layer/submit/sparse.h"

bool layer_state_has_pages(const struct layer_sparse_pages *pages)
{
    if (!pages || !pages->places.count)
        return false;
    for (uint32_t i = 0; i < pages->places.count; i++)
        if (!layer_keeper_lives(GEN_HANDLE_VkDeviceMemory, pages->places.items[i].index))
            return false;
    return true;
}

static enum lap_status find_queue(struct layer_device *dev, VkQueue *out)
{
    struct layer_live_objects queues;
    const enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkQueue, &queues);

    *out = NULL;
    for (size_t i = 0; i < queues.count && !*out; i++) {
        const struct layer_queue *queue = (const struct layer_queue *)queues.items[i];
        if (queue->device == dev && queue->flags & VK_QUEUE_SPARSE_BINDING_BIT)
            *out = queue->handle;
    }
    layer_live_objects_finish(&queues);
    return status;
}

static void write_bind(struct layer_device *dev, VkQueue queue, const VkBindSparseInfo *info)
{
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkQueueBindSparse, 0);

    if (!enc)
        return;
    gen_encode_vkQueueBindSparse(enc, queue, 1, info, VK_NULL_HANDLE);
    layer_packet_end();
}

static void write_wait(struct layer_device *dev, VkQueue queue)
{
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkQueueWaitIdle, 0);

    if (!enc)
        return;
    gen_encode_vkQueueWaitIdle(enc, queue, VK_SUCCESS);
    layer_packet_end();
}

/* False: out of memory. */
static bool bind_object(struct layer_device *dev, VkQueue queue, const struct lap_object *object)
{
    const struct layer_image *image = object->type == GEN_HANDLE_VkImage ? (const struct layer_image *)object : NULL;
    const struct layer_sparse_pages *pages = image ? image->pages : ((const struct layer_buffer *)object)->pages;
    VkBindSparseInfo info = {.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO};
    VkSparseBufferMemoryBindInfo buffer;
    VkSparseImageOpaqueMemoryBindInfo opaque;
    VkSparseImageMemoryBindInfo tiles;
    struct layer_sparse_binds binds;

    if (!pages)
        return true;
    if (!layer_sparse_binds_of(dev, image, pages, &binds))
        return false;
    if (image) {
        opaque = (VkSparseImageOpaqueMemoryBindInfo){gen_VkImage(object->handle), binds.range_count, binds.ranges};
        tiles = (VkSparseImageMemoryBindInfo){gen_VkImage(object->handle), binds.tile_count, binds.tiles};
        info.imageOpaqueBindCount = binds.range_count != 0;
        info.pImageOpaqueBinds = &opaque;
        info.imageBindCount = binds.tile_count != 0;
        info.pImageBinds = &tiles;
    } else {
        buffer = (VkSparseBufferMemoryBindInfo){gen_VkBuffer(object->handle), binds.range_count, binds.ranges};
        info.bufferBindCount = binds.range_count != 0;
        info.pBufferBinds = &buffer;
    }
    if (binds.range_count || binds.tile_count)
        write_bind(dev, queue, &info);
    layer_sparse_binds_finish(&binds);
    return true;
}

/* ---- pages that no object has now ---- */

/* They keep their contents, and may be bound again. The layer binds them to a sparse buffer of its own, here and in the
 * trace. */
struct lost_pages {
    struct layer_device *dev;
    const struct layer_memory *memory;
    struct layer_sparse_places left; /* of the memory */
    VkSparseMemoryBind *binds;
    VkBuffer buffer;
    VkDeviceSize bytes;
    VkMemoryRequirements requirements;
};

/* Takes out the pages of an object, except for a last page that it only partly covers. bytes: of the object. False: out
 * of memory. */
static bool take_out(struct lost_pages *lost, const struct layer_sparse_pages *pages, VkDeviceSize bytes)
{
    for (uint32_t i = 0; pages && i < pages->places.count; i++) {
        const struct layer_sparse_place *place = &pages->places.items[i];
        const struct layer_sparse_place gone = {.offset = place->memory_offset, .bytes = place->bytes};
        if (place->index == lost->memory->object.index && place->offset + place->bytes <= bytes &&
            !layer_sparse_places_set(&lost->left, &gone))
            return false;
    }
    return true;
}

static bool find_lost(struct lost_pages *lost, const struct layer_live_objects *buffers,
                      const struct layer_live_objects *images)
{
    bool ok = true;

    for (uint32_t i = 0; i < lost->memory->paged->count && ok; i++)
        ok = layer_sparse_places_set(&lost->left, &lost->memory->paged->items[i]);
    for (size_t i = 0; i < buffers->count && ok; i++)
        ok = take_out(lost, ((const struct layer_buffer *)buffers->items[i])->pages,
                      ((const struct layer_buffer *)buffers->items[i])->bytes);
    for (size_t i = 0; i < images->count && ok; i++)
        ok = take_out(lost, ((const struct layer_image *)images->items[i])->pages, UINT64_MAX);
    return ok;
}

/* On the device. False: it can't be. */
static bool bind_lost(struct lost_pages *lost, VkQueue queue)
{
    struct layer_device *dev = lost->dev;
    const VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkSparseBufferMemoryBindInfo buffer = {lost->buffer, lost->left.count, lost->binds};
    const VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .bufferBindCount = 1, .pBufferBinds = &buffer};
    const VkDeviceSize alignment = lost->requirements.alignment;
    VkFence fence;
    bool bound;

    for (uint32_t i = 0; i < lost->left.count; i++)
        if (lost->binds[i].memoryOffset % alignment || lost->binds[i].size % alignment)
            return false;
    if (!(lost->requirements.memoryTypeBits >> lost->memory->real_type & 1) ||
        dev->vk.CreateFence(dev->handle, &create, NULL, &fence) != VK_SUCCESS)
        return false;
    bound = dev->vk.QueueBindSparse(queue, 1, &info, fence) == VK_SUCCESS &&
            dev->vk.WaitForFences(dev->handle, 1, &fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS;
    dev->vk.DestroyFence(dev->handle, fence, NULL);
    return bound;
}

/* Drops pending host writes there: the readback has them. False: out of memory. */
static bool drop_writes(struct lost_pages *lost, void *record)
{
    struct lap_memtrack *tracker = lost->dev->memtrack;
    struct lap_touched touched;
    struct lap_memobj *object;
    bool ok;

    if (!tracker || !lost->memory->mem)
        return true;
    if (lap_memobj_create(tracker, record, lost->bytes, true, &object) != LAP_OK)
        return false;
    lap_touched_init(&touched);
    ok = lap_touched_add(&touched, object, 0, lost->bytes, false);
    for (uint32_t i = 0; i < lost->left.count && ok; i++)
        ok = lap_memobj_bind_sparse(object, lost->binds[i].resourceOffset, lost->memory->mem,
                                    lost->binds[i].memoryOffset, lost->binds[i].size) == LAP_OK;
    lap_touched_seal(&touched);
    if (ok)
        layer_drop_updates(lost->dev, &touched);
    lap_touched_finish(&touched);
    lap_memobj_destroy(&object);
    return ok;
}

/* False: it can't be. */
static bool read_lost(const struct lost_pages *lost, struct layer_readback *reading)
{
    const uint64_t left_out = reading->left_out;
    enum lap_status status = layer_readback_range(reading, lost, lost->buffer, 0, lost->bytes, NULL, NULL);

    if (status == LAP_OK) /* the buffer will be destroyed */
        status = layer_readback_flush(reading);
    reading->lost = NULL; /* the next object may have the same address */
    return status == LAP_OK && reading->left_out == left_out;
}

/* Writes the buffer and its contents into the trace. */
static bool write_lost(struct lost_pages *lost, VkQueue queue, struct layer_readback *reading,
                       const VkBufferCreateInfo *create)
{
    struct layer_device *dev = lost->dev;
    const VkSparseBufferMemoryBindInfo buffer = {lost->buffer, lost->left.count, lost->binds};
    const VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .bufferBindCount = 1, .pBufferBinds = &buffer};
    void *record = LAYER_ADD(dev, VkBuffer, lost->buffer);
    struct lap_enc *enc;
    bool all;

    if (!record)
        return false;
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkCreateBuffer, 0))) {
        gen_encode_vkCreateBuffer(enc, dev->handle, create, NULL, &lost->buffer, VK_SUCCESS);
        layer_packet_end();
    }
    if ((enc = layer_packet_begin(&dev->tables, GEN_lapilliSparseBuffer, 0))) {
        gen_encode_lapilliSparseBuffer(enc, lost->buffer, lost->requirements.size, lost->requirements.alignment);
        layer_packet_end();
    }
    write_bind(dev, queue, &info);
    all = drop_writes(lost, record) && read_lost(lost, reading);
    write_wait(dev, queue);
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkDestroyBuffer, 0))) {
        gen_encode_vkDestroyBuffer(enc, dev->handle, lost->buffer, NULL);
        layer_packet_end();
    }
    layer_object_remove(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(lost->buffer));
    return all;
}

static bool keep_lost(struct lost_pages *lost, VkQueue queue, struct layer_readback *reading)
{
    struct layer_device *dev = lost->dev;
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    bool kept;

    lost->binds = calloc(lost->left.count, sizeof *lost->binds);
    if (!lost->binds)
        return false;
    for (uint32_t i = 0; i < lost->left.count; i++) {
        lost->binds[i] = (VkSparseMemoryBind){.resourceOffset = lost->bytes,
                                              .size = lost->left.items[i].bytes,
                                              .memory = gen_VkDeviceMemory(lost->memory->object.handle),
                                              .memoryOffset = lost->left.items[i].offset};
        lost->bytes += lost->left.items[i].bytes;
    }
    create.size = lost->bytes;
    kept = dev->vk.CreateBuffer(dev->handle, &create, NULL, &lost->buffer) == VK_SUCCESS;
    if (kept) {
        dev->vk.GetBufferMemoryRequirements(dev->handle, lost->buffer, &lost->requirements);
        kept = bind_lost(lost, queue) && write_lost(lost, queue, reading, &create);
        dev->vk.DestroyBuffer(dev->handle, lost->buffer, NULL);
    }
    free(lost->binds);
    return kept;
}

static enum lap_status keep_all_lost(struct layer_device *dev, VkQueue queue, const struct layer_live_objects *buffers,
                                     const struct layer_live_objects *images)
{
    struct layer_readback reading;
    struct layer_live_objects memories;
    uint32_t without[LAP_UNCHECKED_COUNT] = {0};
    enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkDeviceMemory, &memories), begun;

    begun = layer_readback_init(&reading, dev);
    status = status == LAP_OK ? begun : status;
    for (size_t i = 0; i < memories.count && status == LAP_OK; i++) {
        struct lost_pages lost = {.dev = dev, .memory = (const struct layer_memory *)memories.items[i]};
        if (!lost.memory->paged)
            continue;
        if (!find_lost(&lost, buffers, images) || (lost.left.count && !keep_lost(&lost, queue, &reading)))
            without[LAP_UNCHECKED_SPARSE]++;
        layer_sparse_places_finish(&lost.left);
    }
    layer_readback_finish(&reading);
    layer_live_objects_finish(&memories);
    layer_lost_note(without);
    if (without[LAP_UNCHECKED_SPARSE])
        lap_log(&layer.log, LAP_LOG_WARNING,
                "pages of %u allocations, which no sparse object has now, can't be read: a part of the run begins "
                "without what they hold",
                without[LAP_UNCHECKED_SPARSE]);
    return status;
}

static enum lap_status bind_all(struct layer_device *dev, VkQueue queue, const struct layer_live_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        if (!bind_object(dev, queue, objects->items[i]))
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    return LAP_OK;
}

enum lap_status layer_state_sparse(struct layer_device *dev)
{
    struct layer_live_objects buffers = {0}, images = {0};
    VkQueue queue;
    enum lap_status status = find_queue(dev, &queue);

    if (status != LAP_OK || !queue)
        return status;
    status = layer_live_objects_of(dev, GEN_HANDLE_VkBuffer, &buffers);
    if (status == LAP_OK)
        status = layer_live_objects_of(dev, GEN_HANDLE_VkImage, &images);
    if (status == LAP_OK)
        status = bind_all(dev, queue, &buffers);
    if (status == LAP_OK)
        status = bind_all(dev, queue, &images);
    if (status == LAP_OK)
        write_wait(dev, queue);
    if (status == LAP_OK)
        status = keep_all_lost(dev, queue, &buffers, &images);
    layer_live_objects_finish(&buffers);
    layer_live_objects_finish(&images);
    return status;
}
