/* SPDX-License-Identifier: MIT */
#include "layer/sparse.h"

#include <stdlib.h>

#include "gen_layer.h"
#include "layer/check.h"
#include "layer/submission.h"

/* ---- tiles ---- */

/* What the driver says of an image's tiles, and the size of one. */
struct tiling {
    VkMemoryRequirements memory;
    VkSparseImageMemoryRequirements *aspects;
    uint32_t count;
};

static bool ask_tiling(struct layer_device *dev, const struct layer_image *image, struct tiling *out)
{
    VkImage handle = gen_VkImage(image->object.handle);

    *out = (struct tiling){.count = 0};
    dev->vk.GetImageMemoryRequirements(dev->handle, handle, &out->memory);
    if (!(image->info.flags & VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT))
        return true;
    dev->vk.GetImageSparseMemoryRequirements(dev->handle, handle, &out->count, NULL);
    if (!out->count)
        return true;
    out->aspects = calloc(out->count, sizeof *out->aspects);
    if (!out->aspects) {
        layer_stop("out of memory");
        return false;
    }
    dev->vk.GetImageSparseMemoryRequirements(dev->handle, handle, &out->count, out->aspects);
    return true;
}

struct grid {
    uint64_t x, y, z; /* tiles */
};

static uint32_t tiles_along(uint32_t texels, uint32_t level, uint32_t granularity)
{
    uint32_t left = texels >> level;
    left = left ? left : 1;
    return granularity ? (left - 1) / granularity + 1 : 1;
}

static struct grid grid_of(const VkImageCreateInfo *info, const VkExtent3D *tile, uint32_t level)
{
    return (struct grid){tiles_along(info->extent.width, level, tile->width),
                         tiles_along(info->extent.height, level, tile->height),
                         tiles_along(info->extent.depth, level, tile->depth)};
}

/* The tiles of all levels before this one; those from the mip tail on have none. */
static uint64_t tiles_before(const VkImageCreateInfo *info, const VkSparseImageMemoryRequirements *aspect,
                             uint32_t level)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < level && i < info->mipLevels && i < aspect->imageMipTailFirstLod; i++) {
        struct grid grid = grid_of(info, &aspect->formatProperties.imageGranularity, i);
        count += grid.x * grid.y * grid.z;
    }
    return count;
}

static uint64_t tiles_of_aspect(const VkImageCreateInfo *info, const VkSparseImageMemoryRequirements *aspect)
{
    return tiles_before(info, aspect, UINT32_MAX) * info->arrayLayers;
}

VkDeviceSize layer_sparse_tile_bytes(struct layer_device *dev, const struct layer_image *image)
{
    struct tiling tiling;
    VkDeviceSize bytes = 0;

    if (!(image->info.flags & VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT) || !ask_tiling(dev, image, &tiling))
        return 0;
    for (uint32_t i = 0; i < tiling.count; i++)
        bytes += tiles_of_aspect(&image->info, &tiling.aspects[i]) * tiling.memory.alignment;
    free(tiling.aspects);
    return bytes;
}

/* ---- creation ---- */

/* Pages come later; but of a driver that wants none that the program could map it is known at once. */
static bool is_device_only(const struct layer_device *dev, uint32_t type_bits)
{
    const VkPhysicalDeviceMemoryProperties *memory = &dev->physical_device->memory;

    for (uint32_t i = 0; i < memory->memoryTypeCount; i++)
        if (type_bits >> i & 1 && memory->memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
            return false;
    return true;
}

void layer_sparse_created_buffer(struct layer_device *dev, struct layer_buffer *buffer)
{
    VkBuffer handle = gen_VkBuffer(buffer->object.handle);
    VkMemoryRequirements requirements;
    struct lap_enc *enc;

    dev->vk.GetBufferMemoryRequirements(dev->handle, handle, &requirements);
    buffer->device_only = is_device_only(dev, requirements.memoryTypeBits);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliSparseBuffer, 0);
    if (enc) {
        gen_encode_lapilliSparseBuffer(enc, handle, requirements.size, requirements.alignment);
        layer_packet_end();
    }
}

void layer_sparse_created_image(struct layer_device *dev, struct layer_image *image)
{
    struct tiling tiling;
    struct lap_enc *enc;

    if (!layer_is_recording() || !ask_tiling(dev, image, &tiling))
        return;
    image->device_only = is_device_only(dev, tiling.memory.memoryTypeBits);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliSparseImage, 0);
    if (enc) {
        gen_encode_lapilliSparseImage(enc, gen_VkImage(image->object.handle), tiling.memory.size,
                                      tiling.memory.alignment, tiling.count, tiling.aspects);
        layer_packet_end();
    }
    free(tiling.aspects);
}

/* ---- memory ---- */

static void announce(struct layer_device *dev, VkDeviceMemory handle)
{
    struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, handle);
    struct lap_enc *enc;

    if (!memory || memory->sparse)
        return;
    memory->sparse = true;
    enc = layer_packet_begin(&dev->tables, GEN_lapilliSparseMemory, 0);
    if (enc) {
        gen_encode_lapilliSparseMemory(enc, dev->handle, handle, memory->bytes, memory->shown_flags);
        layer_packet_end();
    }
}

void layer_sparse_announce(struct layer_device *dev, const VkBindSparseInfo *info)
{
    for (uint32_t i = 0; i < info->bufferBindCount; i++)
        for (uint32_t j = 0; j < info->pBufferBinds[i].bindCount; j++)
            announce(dev, info->pBufferBinds[i].pBinds[j].memory);
    for (uint32_t i = 0; i < info->imageOpaqueBindCount; i++)
        for (uint32_t j = 0; j < info->pImageOpaqueBinds[i].bindCount; j++)
            announce(dev, info->pImageOpaqueBinds[i].pBinds[j].memory);
    for (uint32_t i = 0; i < info->imageBindCount; i++)
        for (uint32_t j = 0; j < info->pImageBinds[i].bindCount; j++)
            announce(dev, info->pImageBinds[i].pBinds[j].memory);
}

void layer_sparse_freed(struct layer_device *dev, const struct layer_memory *memory)
{
    struct lap_enc *enc = memory->sparse ? layer_packet_begin(&dev->tables, GEN_lapilliFreeSparseMemory, 0) : NULL;

    if (enc) {
        gen_encode_lapilliFreeSparseMemory(enc, dev->handle, gen_VkDeviceMemory(memory->object.handle));
        layer_packet_end();
    }
}

/* ---- binding ---- */

/* An object of which parts are bound. */
struct target {
    struct layer_device *dev;
    layer_resource resource;
    struct lap_memobj *memobj;
    bool *non_coherent;
};

static void place(const struct target *target, VkDeviceSize offset, VkDeviceSize bytes, VkDeviceMemory handle,
                  VkDeviceSize memory_offset)
{
    struct layer_device *dev = target->dev;
    const struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, handle);
    const struct layer_written range = {.resource = target->resource, .offset = offset, .bytes = bytes};

    if (!target->memobj)
        return;
    layer_submission_moves(dev, &range);
    layer_check_forget(dev, &range);
    if (memory)
        *target->non_coherent |= !(memory->real_flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    if (memory && memory->mem)
        layer_tracking_result(lap_memobj_bind_sparse(target->memobj, offset, memory->mem, memory_offset, bytes));
    else
        lap_memobj_unbind(target->memobj, offset, bytes);
}

static void bind_range(const struct target *target, const VkSparseMemoryBind *bind)
{
    if (!(bind->flags & VK_SPARSE_MEMORY_BIND_METADATA_BIT)) /* metadata are the driver's own */
        place(target, bind->resourceOffset, bind->size, bind->memory, bind->memoryOffset);
}

/* The tiles of one bind follow one another in memory, row by row. */
static void bind_tiles(const struct target *target, const struct layer_image *image, const struct tiling *tiling,
                       const VkSparseImageMemoryBind *bind)
{
    VkDeviceSize tile_bytes = tiling->memory.alignment, first = tiling->memory.size, from = bind->memoryOffset;
    const VkSparseImageMemoryRequirements *aspect = tiling->aspects;
    uint32_t level = bind->subresource.mipLevel;
    struct grid grid, count;
    const VkExtent3D *tile;

    for (; aspect < tiling->aspects + tiling->count; aspect++) {
        if (aspect->formatProperties.aspectMask & bind->subresource.aspectMask)
            break;
        first += tiles_of_aspect(&image->info, aspect) * tile_bytes;
    }
    if (aspect == tiling->aspects + tiling->count || level >= image->info.mipLevels)
        return;
    tile = &aspect->formatProperties.imageGranularity;
    if (!tile->width || !tile->height || !tile->depth)
        return;
    first += (bind->subresource.arrayLayer * tiles_before(&image->info, aspect, UINT32_MAX) +
              tiles_before(&image->info, aspect, level)) *
             tile_bytes;
    grid = grid_of(&image->info, tile, level);
    count = (struct grid){tiles_along(bind->extent.width, 0, tile->width),
                          tiles_along(bind->extent.height, 0, tile->height),
                          tiles_along(bind->extent.depth, 0, tile->depth)};
    for (uint64_t z = 0; z < count.z; z++)
        for (uint64_t y = 0; y < count.y; y++, from += count.x * tile_bytes) {
            uint64_t row =
                ((uint32_t)bind->offset.z / tile->depth + z) * grid.y + (uint32_t)bind->offset.y / tile->height + y;
            uint64_t at = row * grid.x + (uint32_t)bind->offset.x / tile->width;
            place(target, first + at * tile_bytes, count.x * tile_bytes, bind->memory, from);
        }
}

static bool target_image(struct layer_device *dev, VkImage handle, struct target *out, struct layer_image **out_image)
{
    struct layer_image *image = LAYER_GET(dev, VkImage, handle);

    if (!image)
        return false;
    *out = (struct target){dev, layer_resource_of_image(image), image->memobj, &image->non_coherent};
    *out_image = image;
    return true;
}

void layer_sparse_bind(struct layer_device *dev, const VkBindSparseInfo *info)
{
    struct layer_image *image;
    struct target target;

    for (uint32_t i = 0; i < info->bufferBindCount; i++) {
        struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, info->pBufferBinds[i].buffer);
        if (!buffer)
            continue;
        target = (struct target){dev, layer_resource_of_buffer(buffer), buffer->memobj, &buffer->non_coherent};
        for (uint32_t j = 0; j < info->pBufferBinds[i].bindCount; j++)
            bind_range(&target, &info->pBufferBinds[i].pBinds[j]);
    }
    for (uint32_t i = 0; i < info->imageOpaqueBindCount; i++)
        for (uint32_t j = 0; target_image(dev, info->pImageOpaqueBinds[i].image, &target, &image) &&
                             j < info->pImageOpaqueBinds[i].bindCount;
             j++)
            bind_range(&target, &info->pImageOpaqueBinds[i].pBinds[j]);
    for (uint32_t i = 0; i < info->imageBindCount; i++) {
        struct tiling tiling;
        if (!target_image(dev, info->pImageBinds[i].image, &target, &image) || !ask_tiling(dev, image, &tiling))
            continue;
        for (uint32_t j = 0; j < info->pImageBinds[i].bindCount; j++)
            bind_tiles(&target, image, &tiling, &info->pImageBinds[i].pBinds[j]);
        free(tiling.aspects);
    }
}
