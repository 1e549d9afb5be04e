/* SPDX-License-Identifier: MIT */
#include "layer/submit/sparse.h"

#include <stdlib.h>

#include "base/array.h"
#include "gen_layer.h"
#include "layer/memory/sparse_places.h"
#include "layer/submit/memory_checks.h"
#include "layer/submit/submission.h"

/* ---- tiles ---- */

/* The driver's sparse requirements of an image, and the size of a tile. */
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

/* Pages are bound later; but if no required memory type is mappable, that is known at once. */
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
    struct layer_sparse_pages **pages;
};

/* For parts of the run. */
static void remember(const struct target *target, bool metadata, VkDeviceSize offset, VkDeviceSize bytes,
                     VkDeviceMemory handle, VkDeviceSize memory_offset)
{
    struct layer_memory *memory = LAYER_GET(target->dev, VkDeviceMemory, handle);
    struct layer_sparse_place place = {.offset = offset,
                                       .bytes = bytes,
                                       .memory = memory ? memory->object.handle : 0,
                                       .index = memory ? memory->object.index : 0,
                                       .memory_offset = memory_offset};

    if (!layer.options.parts.on)
        return;
    if (!layer_sparse_pages_set(target->pages, metadata, &place))
        layer_stop("out of memory");
    if (!memory || metadata)
        return;
    if (!memory->paged)
        memory->paged = calloc(1, sizeof *memory->paged);
    place.offset = memory_offset;
    if (!memory->paged || !layer_sparse_places_set(memory->paged, &place))
        layer_stop("out of memory");
}

static void place(const struct target *target, VkDeviceSize offset, VkDeviceSize bytes, VkDeviceMemory handle,
                  VkDeviceSize memory_offset)
{
    struct layer_device *dev = target->dev;
    const struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, handle);
    const struct layer_written range = {.resource = target->resource, .offset = offset, .bytes = bytes};

    remember(target, false, offset, bytes, handle, memory_offset);
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
    if (bind->flags & VK_SPARSE_MEMORY_BIND_METADATA_BIT) /* they are the driver's own */
        remember(target, true, bind->resourceOffset, bind->size, bind->memory, bind->memoryOffset);
    else
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
    *out = (struct target){dev, layer_resource_of_image(image), image->memobj, &image->non_coherent, &image->pages};
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
        target = (struct target){dev, layer_resource_of_buffer(buffer), buffer->memobj, &buffer->non_coherent,
                                 &buffer->pages};
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

/* ---- current binds ---- */

static bool add_range(struct layer_sparse_binds *binds, const struct layer_sparse_place *place, VkDeviceSize end,
                      VkSparseMemoryBindFlags flags)
{
    const VkDeviceSize bytes = end - place->offset < place->bytes ? end - place->offset : place->bytes;

    if (!lap_array_grow_u32(&binds->ranges, sizeof *binds->ranges, &binds->range_capacity,
                            (size_t)binds->range_count + 1))
        return false;
    binds->ranges[binds->range_count++] = (VkSparseMemoryBind){.resourceOffset = place->offset,
                                                               .size = bytes,
                                                               .memory = gen_VkDeviceMemory(place->memory),
                                                               .memoryOffset = place->memory_offset,
                                                               .flags = flags};
    return true;
}

static uint32_t part_of(uint32_t extent, uint32_t level, uint32_t tile, uint64_t number)
{
    uint32_t left = extent >> level;

    left = left ? left : 1;
    left -= (uint32_t)number * tile;
    return left < tile ? left : tile;
}

/* Tile `number` of those of all aspects. False: out of memory. */
static bool add_tile(struct layer_sparse_binds *binds, const struct layer_image *image, const struct tiling *tiling,
                     uint64_t number, VkDeviceMemory memory, VkDeviceSize memory_offset)
{
    const VkSparseImageMemoryRequirements *aspect = tiling->aspects;
    VkSparseImageMemoryBind bind = {.memory = memory, .memoryOffset = memory_offset};
    const VkExtent3D *tile;
    uint64_t of_layer;
    uint32_t level = 0;
    struct grid grid;

    for (; aspect < tiling->aspects + tiling->count && number >= tiles_of_aspect(&image->info, aspect); aspect++)
        number -= tiles_of_aspect(&image->info, aspect);
    if (aspect == tiling->aspects + tiling->count)
        return true;
    tile = &aspect->formatProperties.imageGranularity;
    of_layer = tiles_before(&image->info, aspect, UINT32_MAX);
    bind.subresource.aspectMask = aspect->formatProperties.aspectMask;
    bind.subresource.arrayLayer = (uint32_t)(number / of_layer);
    number %= of_layer;
    while (number >= tiles_before(&image->info, aspect, level + 1))
        level++;
    number -= tiles_before(&image->info, aspect, level);
    grid = grid_of(&image->info, tile, level);
    bind.subresource.mipLevel = level;
    bind.offset =
        (VkOffset3D){(int32_t)(number % grid.x * tile->width), (int32_t)(number / grid.x % grid.y * tile->height),
                     (int32_t)(number / grid.x / grid.y * tile->depth)};
    bind.extent = (VkExtent3D){part_of(image->info.extent.width, level, tile->width, number % grid.x),
                               part_of(image->info.extent.height, level, tile->height, number / grid.x % grid.y),
                               part_of(image->info.extent.depth, level, tile->depth, number / grid.x / grid.y)};
    if (!lap_array_grow_u32(&binds->tiles, sizeof *binds->tiles, &binds->tile_capacity, (size_t)binds->tile_count + 1))
        return false;
    binds->tiles[binds->tile_count++] = bind;
    return true;
}

static bool add_tiles(struct layer_sparse_binds *binds, const struct layer_image *image, const struct tiling *tiling,
                      const struct layer_sparse_place *place)
{
    const VkDeviceSize tile_bytes = tiling->memory.alignment, first = place->offset - tiling->memory.size;

    for (VkDeviceSize at = 0; at < place->bytes; at += tile_bytes)
        if (!add_tile(binds, image, tiling, (first + at) / tile_bytes, gen_VkDeviceMemory(place->memory),
                      place->memory_offset + at))
            return false;
    return true;
}

/* Its memory may be freed by now. */
static bool is_there(const struct layer_device *dev, const struct layer_sparse_place *place)
{
    const struct lap_object *memory = layer_object_get(&dev->tables, GEN_HANDLE_VkDeviceMemory, place->memory);
    return memory && memory->index == place->index;
}

bool layer_sparse_binds_of(struct layer_device *dev, const struct layer_image *image,
                           const struct layer_sparse_pages *pages, struct layer_sparse_binds *out)
{
    struct tiling tiling = {.memory.size = UINT64_MAX};
    bool ok = !image || ask_tiling(dev, image, &tiling);

    *out = (struct layer_sparse_binds){0};
    for (uint32_t i = 0; i < pages->places.count && ok; i++) {
        const struct layer_sparse_place *place = &pages->places.items[i];
        if (!is_there(dev, place))
            continue;
        if (place->offset < tiling.memory.size)
            ok = add_range(out, place, tiling.memory.size, 0);
        else
            ok = add_tiles(out, image, &tiling, place);
    }
    for (uint32_t i = 0; i < pages->metadata.count && ok; i++)
        if (is_there(dev, &pages->metadata.items[i]))
            ok = add_range(out, &pages->metadata.items[i], UINT64_MAX, VK_SPARSE_MEMORY_BIND_METADATA_BIT);
    free(tiling.aspects);
    if (!ok)
        layer_sparse_binds_finish(out);
    return ok;
}

void layer_sparse_binds_finish(struct layer_sparse_binds *binds)
{
    free(binds->ranges);
    free(binds->tiles);
    *binds = (struct layer_sparse_binds){0};
}
