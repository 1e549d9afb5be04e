/* SPDX-License-Identifier: MIT */
#include "replayer/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "replayer/memory/allocation.h"
#include "replayer/memory/memory_internal.h"
#include "replayer/memory/new_memory.h"
#include "replayer/sync/wait.h"

#define MIN_GRANULE_BYTES 16u
#define HOST_VISIBLE      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT

/* The blocks of one memory type. If the device has a bufferImageGranularity, linear and optimal resources use different
 * blocks. */
struct replay_memory_block_list {
    struct replay_device *dev;
    uint32_t type;
    bool optimal;
    VkDeviceSize required_bytes; /* of the object that is being placed */
    struct replay_suballocator *ranges;
    struct replay_memory_block_list *next;
};

static VkDeviceSize heap_bytes(const struct replay_device *dev, uint32_t type)
{
    const VkPhysicalDeviceMemoryProperties *memory = &dev->instance->memory;

    return memory->memoryHeaps[memory->memoryTypes[type].heapIndex].size;
}

/* ---- the planner ---- */

enum lap_status replay_memory_planner_create(struct replay *r, struct replay_device *dev)
{
    const VkPhysicalDeviceProperties *properties = &dev->instance->properties;
    struct replay_memory_planner *planner = calloc(1, sizeof *planner);

    if (!planner)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    planner->atom = properties->limits.nonCoherentAtomSize ? properties->limits.nonCoherentAtomSize : 1;
    planner->granularity = properties->limits.bufferImageGranularity;
    planner->allocation_limit = replay_memory_allocation_limit(properties->limits.maxMemoryAllocationCount);
    planner->r = r;
    planner->has_requirements2 = dev->instance->api_version >= VK_API_VERSION_1_1 &&
                                 properties->apiVersion >= VK_API_VERSION_1_1 && dev->vk.GetBufferMemoryRequirements2 &&
                                 dev->vk.GetImageMemoryRequirements2;
    lap_readback_init(&planner->readback, dev->live, &dev->vk, &dev->instance->memory, NULL);
    planner->readback.wait = replay_wait_readback;
    planner->readback.user = r;
    dev->memory.planner = planner;
    return LAP_OK;
}

void replay_memory_planner_destroy(struct replay *r, struct replay_device *dev)
{
    struct replay_memory_planner *planner = dev->memory.planner;

    if (!planner)
        return;
    lap_readback_finish(&planner->readback);
    replay_staging_destroy(dev);
    while (planner->block_lists) {
        struct replay_memory_block_list *list = planner->block_lists;
        planner->block_lists = list->next;
        replay_suballocator_destroy(&list->ranges);
        free(list);
    }
    LAP_ASSERT(!planner->stats.allocated_bytes || planner->stats.used_bytes,
               "a planner without objects leaves no memory behind");
    replay_new_memory_finish(dev);
    free(planner);
    dev->memory.planner = NULL;
}

struct lap_readback *replay_memory_readback(const struct replay_device *dev)
{
    return &dev->memory.planner->readback;
}

/* ---- statistics ---- */

static struct replay_memory_use use_now(const struct replay_memory_stats *stats)
{
    return (struct replay_memory_use){stats->allocations, stats->allocated_bytes, stats->used_bytes};
}

static bool is_worse(const struct replay_memory_use *now, const struct replay_memory_use *worst)
{
    if (!now->used_bytes || !worst->used_bytes)
        return now->used_bytes != 0;
    return (double)now->allocated_bytes * (double)worst->used_bytes >
           (double)worst->allocated_bytes * (double)now->used_bytes;
}

/* 1 - largest free range / all free ranges, over all blocks; 0 if nothing is free. */
static double fragmentation(const struct replay_memory_planner *planner)
{
    uint64_t all = 0, largest = 0;

    for (const struct replay_memory_block_list *list = planner->block_lists; list; list = list->next) {
        struct replay_suballocator_stats stats = replay_suballocator_stats(list->ranges);
        uint64_t bytes = replay_suballocator_largest_free(list->ranges);
        all += stats.block_bytes - stats.used_bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return all ? 1 - (double)largest / (double)all : 0;
}

/* Updates the peaks after an object is placed or freed. */
static void note(struct replay_device *dev, uint32_t type)
{
    struct replay_memory_stats *stats = &dev->memory.planner->stats;
    struct replay_memory_use now = use_now(stats), *of_type = &stats->types[type];

    LAP_ASSERT(!of_type->used_bytes || of_type->allocations, "an object lies in memory of its type");
    LAP_ASSERT(dev->memory.planner->deferred.allocations <= stats->allocations &&
                   dev->memory.planner->deferred.allocated_bytes <= stats->allocated_bytes,
               "deferred memory is allocated");
    if (stats->allocations > stats->most_allocations)
        stats->most_allocations = stats->allocations;
    if (now.used_bytes > stats->peak.used_bytes) {
        stats->peak = now;
        stats->peak_fragmentation = -1; /* computed on demand: the peak rises with every object of a scene that loads */
    }
    if (of_type->used_bytes > stats->type_peaks[type].used_bytes)
        stats->type_peaks[type] = *of_type;
}

void replay_memory_in_use(struct replay_device *dev)
{
    struct replay_memory_stats *stats = &dev->memory.planner->stats;
    struct replay_memory_use now = use_now(stats);

    if (stats->peak_fragmentation < 0)
        stats->peak_fragmentation = fragmentation(dev->memory.planner);
    if (!is_worse(&now, &stats->worst))
        return;
    stats->worst = now;
    stats->worst_fragmentation = fragmentation(dev->memory.planner);
}

struct replay_memory_stats replay_memory_stats(const struct replay_device *dev)
{
    struct replay_memory_stats stats = dev->memory.planner->stats;

    if (stats.peak_fragmentation < 0)
        stats.peak_fragmentation = 0;
    stats.own_bytes += dev->memory.planner->readback.capacity;
    return stats;
}

uint64_t replay_memory_peak_bytes(const struct replay_device *dev)
{
    struct replay_memory_stats stats;

    if (!dev->memory.planner)
        return 0;
    stats = replay_memory_stats(dev);
    return stats.peak.allocated_bytes + stats.own_bytes;
}

/* ---- requirements ---- */

static void take_dedicated(const VkMemoryDedicatedRequirements *dedicated, struct replay_memory_needs *needs)
{
    needs->alone = dedicated->requiresDedicatedAllocation;
    needs->dedicated = dedicated->prefersDedicatedAllocation || needs->alone;
}

void replay_memory_buffer_needs(const struct replay_device *dev, VkBuffer buffer, struct replay_memory_needs *out_needs)
{
    VkBufferMemoryRequirementsInfo2 info = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2,
                                            .buffer = buffer};
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, .pNext = &dedicated};

    *out_needs = (struct replay_memory_needs){.linear = true, .buffer = buffer};
    if (!dev->memory.planner->has_requirements2) {
        dev->vk.GetBufferMemoryRequirements(dev->live, buffer, &out_needs->requirements);
        return;
    }
    dev->vk.GetBufferMemoryRequirements2(dev->live, &info, &requirements);
    out_needs->requirements = requirements.memoryRequirements;
    take_dedicated(&dedicated, out_needs);
}

void replay_memory_image_needs(const struct replay_device *dev, VkImage image, bool linear, VkImageAspectFlags plane,
                               struct replay_memory_needs *out_needs)
{
    VkImagePlaneMemoryRequirementsInfo plane_info = {.sType = VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO,
                                                     .planeAspect = (VkImageAspectFlagBits)plane};
    VkImageMemoryRequirementsInfo2 info = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2,
                                           .image = image,
                                           .pNext = plane ? &plane_info : NULL};
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, .pNext = &dedicated};

    *out_needs = (struct replay_memory_needs){.linear = linear, .plane = plane, .image = image};
    if (!dev->memory.planner->has_requirements2) {
        dev->vk.GetImageMemoryRequirements(dev->live, image, &out_needs->requirements);
        return;
    }
    dev->vk.GetImageMemoryRequirements2(dev->live, &info, &requirements);
    out_needs->requirements = requirements.memoryRequirements;
    /* A dedicated allocation can't reference one plane of a disjoint image
     * (VUID-VkMemoryDedicatedAllocateInfo-image-01797). */
    if (!plane)
        take_dedicated(&dedicated, out_needs);
}

/* ---- blocks ---- */

static enum lap_status create_block(void *user, uint64_t bytes, void **out_block)
{
    struct replay_memory_block_list *list = user;
    struct replay_memory_block *block = calloc(1, sizeof *block);
    enum lap_status status;

    if (!block)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    block->bytes = bytes;
    block->type = list->type;
    replay_memory_wait_for_room(list->dev, bytes, list->required_bytes);
    status = replay_memory_allocate(list->dev, list->type, bytes, NULL, replay_memory_usual_flags(list->dev),
                                    &block->memory, &block->host);
    if (status != LAP_OK) {
        free(block);
        return status;
    }
    *out_block = block;
    return LAP_OK;
}

static void destroy_block(void *user, void *opaque)
{
    struct replay_memory_block_list *list = user;
    struct replay_memory_block *block = opaque;

    replay_overlay_buffer_destroy(list->dev->memory.planner->r, list->dev, &block->whole);
    replay_memory_release(list->dev, list->type, block->memory, block->bytes);
    free(block);
}

static uint64_t choose_block_bytes(void *user, uint64_t need_bytes, uint64_t held_bytes)
{
    const struct replay_memory_block_list *list = user;
    struct replay_memory_load load = replay_memory_load(list->dev);

    return replay_memory_block_bytes(&load, need_bytes, held_bytes);
}

/* In memory that is flushed and invalidated, two objects never share an atom. */
static uint64_t granule_bytes(const struct replay_device *dev, uint32_t type)
{
    VkMemoryPropertyFlags flags = replay_memory_type_flags(dev, type);
    bool has_atoms = flags & HOST_VISIBLE && !(flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);

    return has_atoms && dev->memory.planner->atom > MIN_GRANULE_BYTES ? dev->memory.planner->atom : MIN_GRANULE_BYTES;
}

static enum lap_status need_block_list(struct replay_device *dev, uint32_t type, bool optimal,
                                       struct replay_memory_block_list **out_list)
{
    struct replay_suballocator_options options = {
        .granule_bytes = granule_bytes(dev, type),
        .max_block_bytes = replay_memory_max_block_bytes(heap_bytes(dev, type)),
        .create_block = create_block,
        .destroy_block = destroy_block,
        .choose_block_bytes = choose_block_bytes,
    };
    struct replay_memory_block_list *list = dev->memory.planner->block_lists;
    enum lap_status status;

    while (list && (list->type != type || list->optimal != optimal))
        list = list->next;
    *out_list = list;
    if (list)
        return LAP_OK;
    list = calloc(1, sizeof *list);
    if (!list)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    *list = (struct replay_memory_block_list){
        .dev = dev, .type = type, .optimal = optimal, .next = dev->memory.planner->block_lists};
    options.user = list;
    status = replay_suballocator_create(&options, &list->ranges);
    if (status != LAP_OK) {
        free(list);
        return status;
    }
    dev->memory.planner->block_lists = list;
    *out_list = list;
    return LAP_OK;
}

static bool is_past_bound(const struct replay_device *dev)
{
    struct replay_memory_load load = replay_memory_load(dev);

    return replay_memory_is_past_bound(&load);
}

/* Frees empty blocks while the allocated memory exceeds the bound. */
static void trim_blocks(struct replay_device *dev)
{
    for (struct replay_memory_block_list *list = dev->memory.planner->block_lists; list && is_past_bound(dev);
         list = list->next)
        replay_suballocator_trim(list->ranges);
}

/* ---- places ---- */

void replay_memory_place_fill(const struct replay_device *dev, uint32_t type, VkDeviceMemory memory,
                              VkDeviceSize memory_bytes, uint8_t *host, VkDeviceSize offset, VkDeviceSize bytes,
                              struct replay_memory_place *out_place)
{
    LAP_ASSERT(offset <= memory_bytes && bytes <= memory_bytes - offset, "a place lies inside of its memory");
    out_place->memory = memory;
    out_place->offset = offset;
    out_place->bytes = bytes;
    out_place->host = host ? host + offset : NULL;
    out_place->type = type;
    out_place->coherent = replay_memory_type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    out_place->memory_bytes = memory_bytes;
}

void replay_memory_place_count(struct replay_device *dev, const struct replay_memory_place *place)
{
    dev->memory.planner->stats.used_bytes += place->used_bytes;
    dev->memory.planner->stats.types[place->type].used_bytes += place->used_bytes;
    note(dev, place->type);
}

/* is_named: makes a dedicated allocation (VkMemoryDedicatedAllocateInfo). */
static enum lap_status alloc_own(struct replay_device *dev, const struct replay_memory_needs *needs, uint32_t type,
                                 bool is_named, struct replay_memory_place *out_place)
{
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = needs->image, .buffer = needs->buffer};
    VkDeviceSize bytes = needs->requirements.size;
    VkDeviceMemory memory;
    enum lap_status status;
    uint8_t *host;

    replay_memory_wait_for_room(dev, bytes, bytes);
    status = replay_memory_allocate(dev, type, bytes, is_named ? &dedicated : NULL, replay_memory_usual_flags(dev),
                                    &memory, &host);
    if (status != LAP_OK)
        return status;
    replay_memory_place_fill(dev, type, memory, bytes, host, 0, bytes, out_place);
    out_place->used_bytes = bytes;
    return LAP_OK;
}

static enum lap_status alloc_shared(struct replay_device *dev, const struct replay_memory_needs *needs, uint32_t type,
                                    struct replay_memory_place *out_place)
{
    VkDeviceSize bytes = needs->requirements.size, alignment = needs->requirements.alignment;
    bool optimal = !needs->linear && dev->memory.planner->granularity > 1;
    const struct replay_memory_block *block;
    struct replay_memory_block_list *list;
    enum lap_status status = need_block_list(dev, type, optimal, &list);

    if (status != LAP_OK)
        return status;
    list->required_bytes = bytes;
    status = replay_suballocator_alloc(list->ranges, bytes, alignment, &out_place->range);
    if (status != LAP_OK)
        return status;
    block = out_place->range.block;
    LAP_ASSERT((out_place->range.offset & (alignment - 1)) == 0, "an object lies where its alignment allows");
    out_place->block_list = list;
    replay_memory_place_fill(dev, type, block->memory, block->bytes, block->host, out_place->range.offset, bytes,
                             out_place);
    out_place->used_bytes = (bytes + alignment - 1) & ~(alignment - 1);
    if (out_place->used_bytes > block->bytes - out_place->offset)
        out_place->used_bytes = block->bytes - out_place->offset;
    out_place->stale_bytes = out_place->range.used_bytes < bytes ? out_place->range.used_bytes : bytes;
    return LAP_OK;
}

/* Whether an object's own allocation is a dedicated one. An image that the replay writes through a buffer on the same
 * memory needs a plain one. */
static bool is_named(const struct replay *r, const struct replay_device *dev, const struct replay_memory_needs *needs,
                     uint32_t type)
{
    bool goes_through_buffer =
        needs->image && !needs->alone && !(replay_memory_type_flags(dev, type) & HOST_VISIBLE) &&
        ((needs->linear && needs->wanted & HOST_VISIBLE) || replay_new_memory_is_stale(r, dev, needs->contents));

    return needs->dedicated && !goes_through_buffer;
}

enum lap_status replay_memory_place_alloc(struct replay *r, struct replay_device *dev,
                                          const struct replay_memory_needs *needs,
                                          struct replay_memory_place *out_place)
{
    uint32_t types[VK_MAX_MEMORY_TYPES];
    uint32_t count = replay_memory_rank_types(&dev->instance->memory, needs, types);
    enum lap_status status = LAP_ERROR_UNSUPPORTED;

    *out_place = (struct replay_memory_place){0};
    if (count == 0)
        return replay_refuse(r, "the device has no memory type for this object (of %#x)",
                             needs->requirements.memoryTypeBits);
    for (uint32_t i = 0; i < count; i++) {
        struct replay_memory_load load = replay_memory_load(dev);
        if (replay_memory_lies_alone(&load, needs, heap_bytes(dev, types[i])))
            status = alloc_own(dev, needs, types[i], is_named(r, dev, needs, types[i]), out_place);
        else
            status = alloc_shared(dev, needs, types[i], out_place);
        if (status == LAP_OK) {
            replay_memory_place_count(dev, out_place);
            return LAP_OK;
        }
        if (status != LAP_ERROR_MEMORY)
            return replay_fail(r, "%s", lap_error_message());
    }
    return replay_memory_shortage(r, dev, needs, types, count);
}

void replay_memory_place_free(struct replay_device *dev, struct replay_memory_place *place)
{
    struct replay_memory_stats *stats = &dev->memory.planner->stats;
    uint32_t type = place->type;

    if (!place->memory)
        return;
    LAP_ASSERT(stats->types[type].used_bytes >= place->used_bytes, "what an object required was counted");
    stats->used_bytes -= place->used_bytes;
    stats->types[type].used_bytes -= place->used_bytes;
    if (place->holder)
        place->holder->leave(dev, place->holder);
    else if (place->block_list)
        replay_suballocator_free(place->block_list->ranges, &place->range);
    else
        replay_memory_release(dev, type, place->memory, place->memory_bytes);
    trim_blocks(dev);
    replay_memory_wait_for_room(dev, 0, 0);
    note(dev, type);
    *place = (struct replay_memory_place){0};
}
