/* SPDX-License-Identifier: MIT */
#include "replayer/sparse/sparse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/sparse/sparse_internal.h"

static enum lap_status no_memory(struct replay *r)
{
    return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

static struct replay_sparse_device *device_of(struct replay_device *dev)
{
    if (!dev->memory.sparse) {
        dev->memory.sparse = calloc(1, sizeof *dev->memory.sparse);
        if (dev->memory.sparse)
            lap_map_init(&dev->memory.sparse->memories);
    }
    return dev->memory.sparse;
}

static void give_runs(struct replay *r, struct replay_sparse *sparse)
{
    replay_objects_release(r, sparse->counted - sparse->pages.count);
    sparse->counted = sparse->pages.count;
}

enum lap_status replay_sparse_count(struct replay *r, struct replay_sparse *sparse)
{
    enum lap_status status;

    if (sparse->pages.count <= sparse->counted) {
        give_runs(r, sparse);
        return LAP_OK;
    }
    status = replay_objects_reserve(r, sparse->pages.count - sparse->counted);
    if (status == LAP_OK)
        sparse->counted = sparse->pages.count;
    return status;
}

static void destroy_memory(struct replay *r, struct replay_device *dev, struct replay_sparse_memory *memory)
{
    for (struct replay_sparse *object = dev->memory.sparse->objects; object; object = object->next)
        if (object->pages.count) {
            replay_sparse_pages_drop(&object->pages, memory);
            give_runs(r, object);
        }
    replay_objects_release(r, 1);
    replay_overlay_buffer_destroy(r, dev, &memory->window);
    replay_memory_place_free(dev, &memory->place);
    free(memory);
}

struct visit {
    struct replay *r;
    struct replay_device *dev;
};

static void visit_memory(void *user, uint64_t key, void *memory)
{
    const struct visit *visit = user;
    destroy_memory(visit->r, visit->dev, memory);
}

void replay_sparse_finish(struct replay *r, struct replay_device *dev)
{
    struct visit visit = {r, dev};

    if (!dev->memory.sparse)
        return;
    lap_map_each(&dev->memory.sparse->memories, visit_memory, &visit);
    lap_map_finish(&dev->memory.sparse->memories);
    free(dev->memory.sparse);
    dev->memory.sparse = NULL;
}

/* ---- objects ---- */

void replay_sparse_destroy(struct replay *r, struct replay_sparse **sparse)
{
    struct replay_sparse *old = *sparse;

    if (!old)
        return;
    *old->previous = old->next;
    if (old->next)
        old->next->previous = old->previous;
    replay_sparse_pages_finish(&old->pages);
    give_runs(r, old);
    free((void *)(uintptr_t)old->blocks.aspects);
    free(old);
    *sparse = NULL;
}

static enum lap_status create_object(struct replay *r, struct replay_device *dev,
                                     const struct replay_memory_needs *needs, struct replay_sparse **out)
{
    struct replay_sparse_device *list = device_of(dev);
    struct replay_sparse *sparse = list ? calloc(1, sizeof *sparse) : NULL;

    if (!sparse)
        return no_memory(r);
    sparse->needs = *needs;
    sparse->blocks.bytes = needs->requirements.size;
    sparse->blocks.alignment = needs->requirements.alignment;
    sparse->next = list->objects;
    sparse->previous = &list->objects;
    if (sparse->next)
        sparse->next->previous = &sparse->next;
    list->objects = sparse;
    *out = sparse;
    return LAP_OK;
}

void replay_sparse_report_apart(const struct replay *r, enum gen_handle_type type, uint64_t index, const char *reason)
{
    lap_log(r->log, LAP_LOG_WARNING,
            "%s:%" PRIu64 " gets memory for all of its bytes (%s): it shares none with others, keeps its contents when "
            "other memory is bound, and has no unbound parts",
            gen_handle_names[type], index, reason);
}

enum lap_status replay_lapilliSparseBuffer(struct replay *r, struct replay_device *dev,
                                           struct gen_args_lapilliSparseBuffer *args)
{
    const struct replay_sparse_requirements recorded = {.bytes = args->size, .alignment = args->alignment};
    struct replay_memory_needs needs;
    enum lap_status status;
    uint64_t index;
    struct replay_buffer *buffer = replay_buffer_of(r, args->buffer, &index);

    if (!buffer || buffer->sparse || buffer->place.memory)
        return replay_fail(r, "a buffer becomes sparse that is not new");
    replay_memory_buffer_needs(dev, args->buffer, &needs);
    status = create_object(r, dev, &needs, &buffer->sparse);
    if (status == LAP_OK && !replay_sparse_blocks_fit(&recorded, &buffer->sparse->blocks)) {
        buffer->sparse->apart = true;
        replay_sparse_report_apart(r, GEN_HANDLE_VkBuffer, index, "blocks of buffers are larger on this device");
    }
    return status;
}

static enum lap_status ask_aspects(struct replay *r, struct replay_device *dev, VkImage image,
                                   const VkImageCreateInfo *info, struct replay_sparse_requirements *blocks)
{
    VkSparseImageMemoryRequirements *aspects;
    uint32_t count = 0;

    if (!(info->flags & VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT))
        return LAP_OK;
    dev->vk.GetImageSparseMemoryRequirements(dev->live, image, &count, NULL);
    aspects = count ? calloc(count, sizeof *aspects) : NULL;
    if (!aspects)
        return count ? no_memory(r) : LAP_OK;
    dev->vk.GetImageSparseMemoryRequirements(dev->live, image, &count, aspects);
    blocks->aspects = aspects;
    blocks->aspect_count = count;
    return LAP_OK;
}

enum lap_status replay_lapilliSparseImage(struct replay *r, struct replay_device *dev,
                                          struct gen_args_lapilliSparseImage *args)
{
    const struct replay_sparse_requirements recorded = {.bytes = args->size,
                                                        .alignment = args->alignment,
                                                        .aspect_count =
                                                            args->pRequirements ? args->requirementCount : 0,
                                                        .aspects = args->pRequirements};
    struct replay_memory_needs needs;
    enum lap_status status;
    uint64_t index;
    struct replay_image *image = replay_image_of(r, args->image, &index);
    bool linear;

    if (!image || image->sparse || image->bound)
        return replay_fail(r, "an image becomes sparse that is not new");
    linear = image->info.tiling == VK_IMAGE_TILING_LINEAR;
    replay_memory_image_needs(dev, args->image, linear, 0, &needs);
    status = create_object(r, dev, &needs, &image->sparse);
    if (status == LAP_OK)
        status = ask_aspects(r, dev, args->image, &image->info, &image->sparse->blocks);
    if (status != LAP_OK)
        return status;
    image->sparse->apart = linear || !replay_sparse_tiles_fit(&recorded, &image->sparse->blocks);
    if (image->sparse->apart)
        replay_sparse_report_apart(r, GEN_HANDLE_VkImage, index,
                                   linear ? "it is of linear tiling"
                                          : "its size, its tiles or its mip tail differ on this device");
    return LAP_OK;
}

/* ---- memory ---- */

enum lap_status replay_lapilliSparseMemory(struct replay *r, struct replay_device *dev,
                                           struct gen_args_lapilliSparseMemory *args)
{
    uint64_t index = gen_u64_VkDeviceMemory(args->memory);
    struct replay_sparse_device *list = device_of(dev);
    struct replay_sparse_memory *memory = list ? calloc(1, sizeof *memory) : NULL;
    enum lap_status status;

    if (!memory)
        return no_memory(r);
    if (!index || lap_map_get(&list->memories, index) || !args->size || args->size > UINT64_MAX / 2) {
        free(memory);
        return replay_fail(r, "VkDeviceMemory:%" PRIu64 " is described twice, or has no bytes", index);
    }
    memory->bytes = args->size;
    memory->order = ++r->objects.next_order;
    memory->wanted = args->propertyFlags;
    memory->contents = replay_new_memory_is_zeroed(dev, index) ? REPLAY_CONTENTS_ZERO : REPLAY_CONTENTS_NEW;
    status = replay_objects_reserve(r, 1);
    if (status == LAP_OK && lap_map_put(&list->memories, index, memory, NULL) != LAP_OK) {
        replay_objects_release(r, 1);
        status = no_memory(r);
    }
    if (status != LAP_OK)
        free(memory);
    return status;
}

uint64_t replay_sparse_memory_order(const struct replay_device *dev, uint64_t index)
{
    const struct replay_sparse_memory *memory =
        dev->memory.sparse ? lap_map_get(&dev->memory.sparse->memories, index) : NULL;
    return memory ? memory->order : 0;
}

enum lap_status replay_lapilliFreeSparseMemory(struct replay *r, struct replay_device *dev,
                                               struct gen_args_lapilliFreeSparseMemory *args)
{
    uint64_t index = gen_u64_VkDeviceMemory(args->memory);
    struct replay_sparse_memory *memory =
        dev->memory.sparse ? lap_map_remove(&dev->memory.sparse->memories, index) : NULL;

    if (!memory)
        return replay_fail(r, "VkDeviceMemory:%" PRIu64 " is freed and was not described", index);
    destroy_memory(r, dev, memory);
    return LAP_OK;
}

static enum lap_status write_memory(struct replay *r, struct replay_device *dev, struct replay_sparse_memory *memory,
                                    VkDeviceSize offset, const void *data, size_t bytes)
{
    struct replay_overlay_buffer *window = &memory->window;
    enum lap_status status;

    if (memory->place.host)
        return replay_memory_place_write(r, dev, &memory->place, offset, data, bytes);
    status = replay_overlay_buffer_need(r, dev, &memory->place, window);
    if (status != LAP_OK)
        return status;
    return replay_staging_write(r, dev, &window->staged, window->buffer, window->skip + offset, data, bytes);
}

enum lap_status replay_sparse_allocate(struct replay *r, struct replay_device *dev, struct replay_sparse_memory *memory,
                                       const struct replay_memory_needs *object)
{
    VkDeviceSize alignment = object->requirements.alignment;
    struct replay_memory_needs needs = {
        .requirements = object->requirements, .wanted = memory->wanted, .linear = object->linear, .own = true};
    enum lap_status status;

    needs.requirements.size = (memory->bytes + alignment - 1) / alignment * alignment;
    status = replay_memory_place_alloc(r, dev, &needs, &memory->place);
    return status != LAP_OK ? status
                            : replay_new_memory_begin(r, dev, &memory->place, memory->contents,
                                                      memory->wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                                      memory->place.bytes, &memory->window);
}

/* ---- host writes and reads ---- */

bool replay_sparse_has_pages(const struct replay_buffer *buffer)
{
    return buffer->sparse && !buffer->sparse->apart;
}

/* Writes to the memory that the binds submitted so far place there, even if the queue has not executed them yet. */
static enum lap_status write_pages(struct replay *r, struct replay_device *dev, const struct replay_buffer *buffer,
                                   VkDeviceSize offset, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    enum lap_status status = LAP_OK;
    struct replay_sparse_run run;

    while (status == LAP_OK && bytes) {
        if (!replay_sparse_pages_find(&buffer->sparse->pages, offset, bytes, &run) || run.offset != offset)
            return replay_fail(r, "a sparse buffer is updated where it has no memory");
        status = write_memory(r, dev, run.memory, run.memory_offset, from, (size_t)run.bytes);
        from += run.bytes;
        offset += run.bytes;
        bytes -= (size_t)run.bytes;
    }
    return status;
}

static enum lap_status read_memory(struct replay *r, struct replay_device *dev, struct replay_sparse_memory *memory,
                                   VkDeviceSize offset, size_t bytes, void *out)
{
    const void *data;
    enum lap_status status;

    if (memory->place.host) {
        status = replay_memory_place_invalidate(r, dev, &memory->place, offset, bytes);
        if (status == LAP_OK)
            memcpy(out, memory->place.host + offset, bytes);
        return status;
    }
    status = replay_overlay_buffer_need(r, dev, &memory->place, &memory->window);
    if (status == LAP_OK)
        status = replay_memory_read_back(r, dev, memory->window.buffer, memory->window.skip + offset, bytes, &data);
    if (status != LAP_OK)
        return status;
    memcpy(out, data, bytes);
    return LAP_OK;
}

enum lap_status replay_sparse_read(struct replay *r, struct replay_device *dev, const struct replay_buffer *buffer,
                                   VkDeviceSize offset, size_t bytes, const void **out_data)
{
    unsigned char *copy = replay_scratch(r, bytes, 1);
    uint64_t at = offset, end = offset + bytes;
    enum lap_status status = LAP_OK;
    struct replay_sparse_run run;

    if (!copy)
        return replay_no_scratch(r);
    while (status == LAP_OK && at < end && replay_sparse_pages_find(&buffer->sparse->pages, at, end - at, &run)) {
        status = read_memory(r, dev, run.memory, run.memory_offset, (size_t)run.bytes, copy + (run.offset - offset));
        at = run.offset + run.bytes;
    }
    *out_data = copy;
    return status;
}

enum lap_status replay_buffer_write(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                    struct replay_buffer *record, VkDeviceSize offset, const void *data, size_t bytes)
{
    if (replay_sparse_has_pages(record))
        return write_pages(r, dev, record, offset, data, bytes);
    if (record->place.host)
        return replay_memory_place_write(r, dev, &record->place, offset, data, bytes);
    return replay_staging_write(r, dev, &record->staged, buffer, offset, data, bytes);
}

bool replay_sparse_is_bound(const struct replay_sparse *sparse)
{
    return sparse && sparse->bound;
}
