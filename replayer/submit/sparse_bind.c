/* SPDX-License-Identifier: MIT */
/* vkQueueBindSparse: the recorded binds with the memory of the replay device. */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/sparse/sparse_internal.h"
#include "replayer/submit/submit.h"
#include "vulkan/chain.h"

/* One batch of a vkQueueBindSparse in progress. */
struct binding {
    struct replay *r;
    struct replay_device *dev;
    VkSparseImageOpaqueMemoryBindInfo *opaque; /* of the batch for the replay device */
    uint32_t opaque_count;
};

static bool takes(const struct replay_sparse *sparse, const struct replay_sparse_memory *memory)
{
    return !memory->place.memory || (sparse->needs.requirements.memoryTypeBits >> memory->place.type & 1);
}

/* The replay's memory for the program's. NULL with LAP_OK: no memory, or the object has its own. */
static enum lap_status find_memory(const struct binding *b, struct replay_sparse *sparse, enum gen_handle_type type,
                                   uint64_t index, VkDeviceMemory handle, struct replay_sparse_memory **out_memory)
{
    uint64_t number = gen_u64_VkDeviceMemory(handle);
    struct replay_sparse_memory *memory;

    *out_memory = NULL;
    if (!number)
        return LAP_OK;
    memory = b->dev->memory.sparse ? lap_map_get(&b->dev->memory.sparse->memories, number) : NULL;
    if (!memory)
        return replay_fail(b->r, "VkDeviceMemory:%" PRIu64 " is bound and was not described", number);
    if (!sparse->apart && !takes(sparse, memory)) {
        if (sparse->bound)
            return replay_fail(b->r,
                               "%s:%" PRIu64 " can't lie in the memory that it was recorded in, whose type is "
                               "none of its own on this device",
                               gen_handle_names[type], index);
        sparse->apart = true;
        replay_sparse_report_apart(b->r, type, index,
                                   "it needs another type of memory on this device than those that it shares with");
    }
    *out_memory = memory;
    if (sparse->apart || memory->place.memory)
        return LAP_OK;
    return replay_sparse_allocate(b->r, b->dev, memory, &sparse->needs);
}

/* Allocates separate memory for the whole object when the trace first binds memory to it. more: bytes behind the
 * object's. */
static enum lap_status alloc_apart(const struct binding *b, struct replay_sparse *sparse,
                                   const struct replay_sparse_memory *memory, VkDeviceSize more,
                                   struct replay_memory_place *place, struct replay_overlay_buffer *own)
{
    struct replay_memory_needs needs = sparse->needs;
    enum lap_status status;
    bool is_written;

    needs.wanted = memory->wanted;
    needs.requirements.size += more;
    needs.dedicated = needs.alone = false; /* an allocation can't be dedicated to a sparse object */
    status = replay_memory_place_alloc(b->r, b->dev, &needs, place);
    if (status != LAP_OK)
        return status;
    sparse->bound = true;
    is_written = needs.linear && memory->wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    if (is_written && !place->host)
        return replay_fail(b->r, "a sparse object that the host writes gets no memory that it sees");
    return replay_new_memory_begin(b->r, b->dev, place, memory->contents, is_written, place->bytes, own);
}

static bool is_metadata(const VkSparseImageMemoryRequirements *aspect)
{
    return aspect->formatProperties.aspectMask & VK_IMAGE_ASPECT_METADATA_BIT;
}

/* Ranges that the driver needs bound in addition to an image's bytes: metadata, and a mip tail at another place. One
 * range for each layer, unless all layers share one. */
static uint32_t more_ranges(const VkSparseImageMemoryRequirements *aspect, const struct replay_image *image)
{
    if (!aspect->imageMipTailSize || (!is_metadata(aspect) && aspect->imageMipTailOffset < image->sparse->blocks.bytes))
        return 0;
    return aspect->formatProperties.flags & VK_SPARSE_IMAGE_FORMAT_SINGLE_MIPTAIL_BIT ? 1 : image->info.arrayLayers;
}

/* Binds all of an image with separate memory, with its mip tail and its metadata. */
static enum lap_status bind_apart(struct binding *b, VkImage handle, struct replay_image *image,
                                  const struct replay_sparse_memory *memory)
{
    struct replay_sparse *sparse = image->sparse;
    const VkSparseImageMemoryRequirements *aspects = sparse->blocks.aspects;
    VkDeviceSize more = 0, at = sparse->blocks.bytes;
    struct replay_memory_place *place = &image->places[0];
    VkSparseMemoryBind *binds;
    enum lap_status status;
    uint64_t count = 1;

    for (uint32_t i = 0; i < sparse->blocks.aspect_count; i++) {
        count += more_ranges(&aspects[i], image);
        more += more_ranges(&aspects[i], image) * aspects[i].imageMipTailSize;
    }
    binds = replay_scratch(b->r, count, sizeof *binds);
    if (!binds)
        return replay_no_scratch(b->r);
    status = alloc_apart(b, sparse, memory, more, place, &image->bytes[0]);
    if (status != LAP_OK)
        return status;
    image->bound = true;
    b->opaque[b->opaque_count++] = (VkSparseImageOpaqueMemoryBindInfo){handle, (uint32_t)count, binds};
    *binds++ = (VkSparseMemoryBind){0, sparse->blocks.bytes, place->memory, place->offset, 0};
    for (uint32_t i = 0; i < sparse->blocks.aspect_count; i++)
        for (uint32_t j = 0; j < more_ranges(&aspects[i], image); j++, at += aspects[i].imageMipTailSize)
            *binds++ = (VkSparseMemoryBind){aspects[i].imageMipTailOffset + j * aspects[i].imageMipTailStride,
                                            aspects[i].imageMipTailSize, place->memory, place->offset + at,
                                            is_metadata(&aspects[i]) ? VK_SPARSE_MEMORY_BIND_METADATA_BIT : 0};
    return LAP_OK;
}

static bool inside(const struct replay_sparse_memory *memory, VkDeviceSize offset, VkDeviceSize bytes)
{
    return offset <= memory->place.bytes && bytes <= memory->place.bytes - offset;
}

/* Translates one range of a buffer or of an image's opaque bytes. LAP_END: the replay device has no such range. */
static enum lap_status translate(const struct binding *b, struct replay_sparse *sparse, enum gen_handle_type type,
                                 uint64_t index, VkSparseMemoryBind *bind)
{
    struct replay_sparse_memory *memory;
    enum lap_status status = find_memory(b, sparse, type, index, bind->memory, &memory);

    if (status != LAP_OK || sparse->apart)
        return status == LAP_OK ? LAP_END : status;
    if (type == GEN_HANDLE_VkBuffer) {
        bind->size = replay_sparse_blocks_clip(&sparse->blocks, bind->resourceOffset, bind->size);
        if (!bind->size)
            return LAP_END;
        status = replay_sparse_pages_put(&sparse->pages, bind->resourceOffset, bind->size, memory, bind->memoryOffset);
        if (status != LAP_OK)
            return replay_place(b->r, status);
        status = replay_sparse_count(b->r, sparse);
        if (status != LAP_OK)
            return status;
    }
    if (type == GEN_HANDLE_VkImage && !sparse->blocks.aspect_count && /* the driver chooses the place of mip tails */
        (bind->resourceOffset > sparse->blocks.bytes || bind->size > sparse->blocks.bytes - bind->resourceOffset))
        return replay_fail(b->r, "pages are bound behind the end of VkImage:%" PRIu64, index);
    bind->memory = VK_NULL_HANDLE;
    if (!memory)
        return LAP_OK;
    if (!inside(memory, bind->memoryOffset, bind->size))
        return replay_fail(b->r, "%s:%" PRIu64 " is bound across the end of its memory", gen_handle_names[type], index);
    bind->memory = memory->place.memory;
    bind->memoryOffset += memory->place.offset;
    sparse->bound = true;
    return LAP_OK;
}

/* Binds an object with separate memory once, with its first memory. */
static enum lap_status first_memory(const struct binding *b, struct replay_sparse *sparse, enum gen_handle_type type,
                                    uint64_t index, uint32_t count, const VkSparseMemoryBind *binds,
                                    struct replay_sparse_memory **out_memory)
{
    enum lap_status status = LAP_OK;

    *out_memory = NULL;
    for (uint32_t i = 0; i < count && !*out_memory && status == LAP_OK; i++)
        status = find_memory(b, sparse, type, index, binds[i].memory, out_memory);
    return status;
}

/* Translates the binds of a range list, in place where all is as recorded. *count becomes the number of remaining
 * binds. */
static enum lap_status translate_all(const struct binding *b, struct replay_sparse *sparse, enum gen_handle_type type,
                                     uint64_t index, uint32_t *count, VkSparseMemoryBind *binds)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < *count; i++) {
        enum lap_status status = translate(b, sparse, type, index, &binds[i]);
        if (status == LAP_OK)
            binds[left++] = binds[i];
        else if (status != LAP_END)
            return status;
    }
    *count = left;
    return LAP_OK;
}

static enum lap_status bind_buffer(const struct binding *b, VkSparseBufferMemoryBindInfo *info)
{
    uint64_t index;
    struct replay_buffer *buffer = replay_buffer_of(b->r, info->buffer, &index);
    VkSparseMemoryBind *binds = (VkSparseMemoryBind *)(uintptr_t)info->pBinds; /* the decoder owns it */
    struct replay_sparse *sparse = buffer ? buffer->sparse : NULL;
    struct replay_sparse_memory *memory;
    enum lap_status status;

    if (!sparse || !binds)
        return replay_fail(b->r, "pages are bound to a buffer that is not sparse");
    status = first_memory(b, sparse, GEN_HANDLE_VkBuffer, index, info->bindCount, binds, &memory);
    if (status != LAP_OK)
        return status;
    if (!sparse->apart)
        return translate_all(b, sparse, GEN_HANDLE_VkBuffer, index, &info->bindCount, binds);
    info->bindCount = 0;
    if (sparse->bound || !memory)
        return LAP_OK;
    status = alloc_apart(b, sparse, memory, 0, &buffer->place, NULL);
    info->bindCount = status == LAP_OK;
    binds[0] = (VkSparseMemoryBind){0, sparse->blocks.bytes, buffer->place.memory, buffer->place.offset, 0};
    return status;
}

static enum lap_status bind_opaque(struct binding *b, const VkSparseImageOpaqueMemoryBindInfo *recorded)
{
    uint64_t index;
    struct replay_image *image = replay_image_of(b->r, recorded->image, &index);
    VkSparseMemoryBind *binds = (VkSparseMemoryBind *)(uintptr_t)recorded->pBinds;
    struct replay_sparse *sparse = image ? image->sparse : NULL;
    uint32_t count = recorded->bindCount;
    struct replay_sparse_memory *memory;
    enum lap_status status;

    if (!sparse || !binds)
        return replay_fail(b->r, "pages are bound to an image that is not sparse");
    status = first_memory(b, sparse, GEN_HANDLE_VkImage, index, count, binds, &memory);
    if (status == LAP_OK && sparse->apart)
        return sparse->bound || !memory ? LAP_OK : bind_apart(b, recorded->image, image, memory);
    if (status == LAP_OK)
        status = translate_all(b, sparse, GEN_HANDLE_VkImage, index, &count, binds);
    if (status == LAP_OK && count)
        b->opaque[b->opaque_count++] = (VkSparseImageOpaqueMemoryBindInfo){recorded->image, count, binds};
    return status;
}

static enum lap_status bind_tiles(struct binding *b, VkSparseImageMemoryBindInfo *info)
{
    uint64_t index;
    struct replay_image *image = replay_image_of(b->r, info->image, &index);
    VkSparseImageMemoryBind *binds = (VkSparseImageMemoryBind *)(uintptr_t)info->pBinds;
    struct replay_sparse *sparse = image ? image->sparse : NULL;
    enum lap_status status = LAP_OK;
    uint32_t left = 0;

    if (!sparse || !binds)
        return replay_fail(b->r, "tiles are bound to an image that is not sparse");
    for (uint32_t i = 0; i < info->bindCount; i++) {
        struct replay_sparse_memory *memory;
        status = find_memory(b, sparse, GEN_HANDLE_VkImage, index, binds[i].memory, &memory);
        if (status == LAP_OK && sparse->apart && memory && !sparse->bound)
            status = bind_apart(b, info->image, image, memory);
        if (status != LAP_OK)
            return status;
        if (sparse->apart)
            continue;
        if (memory && !inside(memory, binds[i].memoryOffset, sparse->blocks.alignment))
            return replay_fail(b->r, "VkImage:%" PRIu64 " is bound across the end of its memory", index);
        binds[left] = binds[i];
        binds[left].memory = memory ? memory->place.memory : VK_NULL_HANDLE;
        binds[left++].memoryOffset += memory ? memory->place.offset : 0;
        sparse->bound = sparse->bound || memory;
    }
    info->bindCount = left;
    return LAP_OK;
}

/* Builds a batch for the replay device. Leaves out lists without binds: drivers do not accept empty ones. */
static enum lap_status bind_batch(struct replay *r, struct replay_device *dev, VkBindSparseInfo *info)
{
    VkSparseBufferMemoryBindInfo *buffers = (VkSparseBufferMemoryBindInfo *)(uintptr_t)info->pBufferBinds;
    VkSparseImageMemoryBindInfo *images = (VkSparseImageMemoryBindInfo *)(uintptr_t)info->pImageBinds;
    uint32_t buffer_count = buffers ? info->bufferBindCount : 0, image_count = images ? info->imageBindCount : 0;
    uint32_t opaque_count = info->pImageOpaqueBinds ? info->imageOpaqueBindCount : 0;
    uint64_t opaque_room = (uint64_t)opaque_count + image_count;
    struct binding b = {.r = r, .dev = dev};
    enum lap_status status = LAP_OK;

    info->bufferBindCount = info->imageBindCount = 0;
    if (opaque_room) {
        b.opaque = replay_scratch(r, opaque_room, sizeof *b.opaque);
        if (!b.opaque)
            return replay_no_scratch(r);
    }
    for (uint32_t i = 0; i < buffer_count && status == LAP_OK; i++) {
        status = bind_buffer(&b, &buffers[i]);
        if (status == LAP_OK && buffers[i].bindCount)
            buffers[info->bufferBindCount++] = buffers[i];
    }
    for (uint32_t i = 0; i < opaque_count && status == LAP_OK; i++)
        status = bind_opaque(&b, &info->pImageOpaqueBinds[i]);
    for (uint32_t i = 0; i < image_count && status == LAP_OK; i++) {
        status = bind_tiles(&b, &images[i]);
        if (status == LAP_OK && images[i].bindCount)
            images[info->imageBindCount++] = images[i];
    }
    info->imageOpaqueBindCount = b.opaque_count;
    info->pImageOpaqueBinds = b.opaque;
    return status;
}

enum lap_status replay_QueueBindSparse(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkQueueBindSparse *args)
{
    static const VkStructureType dropped[] = {
        VK_STRUCTURE_TYPE_DEVICE_GROUP_BIND_SPARSE_INFO}; /* one GPU substitutes all of a device group */
    VkBindSparseInfo *infos = (VkBindSparseInfo *)(uintptr_t)args->pBindInfo; /* the decoder owns it */

    for (uint32_t i = 0; i < args->bindInfoCount; i++) {
        enum lap_status status = bind_batch(r, dev, &infos[i]);
        if (status != LAP_OK)
            return status;
        lap_chain_drop(&infos[i].pNext, dropped, sizeof dropped / sizeof *dropped);
    }
    return replay_submit_binds(r, dev, args);
}
