/* SPDX-License-Identifier: MIT */
#include "replayer/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/address_memory.h"
#include "replayer/facts.h"
#include "replayer/fresh.h"
#include "replayer/group.h"
#include "replayer/lifetime.h"
#include "replayer/pending.h"
#include "replayer/planner.h"
#include "replayer/player.h"
#include "replayer/sparse.h"
#include "replayer/wait.h"

#define HOST_VISIBLE VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT

enum lap_status replay_planner_create(struct replay *r, struct replay_device *dev)
{
    const VkPhysicalDeviceProperties *properties = &dev->instance->properties;
    struct replay_planner *planner = calloc(1, sizeof *planner);

    if (!planner)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    planner->atom = properties->limits.nonCoherentAtomSize ? properties->limits.nonCoherentAtomSize : 1;
    planner->granularity = properties->limits.bufferImageGranularity;
    planner->max_allocations = properties->limits.maxMemoryAllocationCount;
    if (!r->most_allocations || replay_most_allocations(planner) < r->most_allocations)
        r->most_allocations = replay_most_allocations(planner);
    planner->r = r;
    planner->has_requirements2 = dev->instance->api_version >= VK_API_VERSION_1_1 &&
                                 properties->apiVersion >= VK_API_VERSION_1_1 && dev->vk.GetBufferMemoryRequirements2 &&
                                 dev->vk.GetImageMemoryRequirements2;
    lap_map_init(&planner->classes);
    lap_readback_init(&planner->readback, dev->live, &dev->vk, &dev->instance->memory, NULL);
    planner->readback.wait = replay_wait_readback;
    planner->readback.user = r;
    dev->planner = planner;
    return LAP_OK;
}

void replay_planner_destroy(struct replay *r, struct replay_device *dev)
{
    struct replay_planner *planner = dev->planner;

    if (!planner)
        return;
    replay_sparse_finish(r, dev);
    lap_readback_finish(&planner->readback);
    replay_staging_destroy(dev);
    replay_blocks_finish(dev);
    free(planner);
    dev->planner = NULL;
}

struct lap_readback *replay_device_readback(const struct replay_device *dev)
{
    return &dev->planner->readback;
}

/* ---- figures ---- */

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

static double ratio_to_floor(const struct replay_memory_use *use)
{
    return (double)use->allocated_bytes /
           (double)(use->used_bytes > REPLAY_FLOOR_BYTES ? use->used_bytes : REPLAY_FLOOR_BYTES);
}

/* After an object has come or gone. */
static void note(struct replay_device *dev, uint32_t type)
{
    struct replay_memory_stats *stats = &dev->planner->stats;
    struct replay_memory_use now = use_now(stats), *of_type = &stats->types[type];

    if (stats->allocations > stats->most_allocations)
        stats->most_allocations = stats->allocations;
    if (now.used_bytes > stats->peak.used_bytes) {
        stats->peak = now;
        stats->peak_fragmentation = -1; /* not asked yet: it rises with every object of a scene that is loaded */
    }
    if (of_type->used_bytes > stats->type_peaks[type].used_bytes)
        stats->type_peaks[type] = *of_type;
    if (now.allocated_bytes > REPLAY_FLOOR_BYTES && ratio_to_floor(&now) > ratio_to_floor(&stats->worst_moment))
        stats->worst_moment = now;
}

void replay_memory_in_use(struct replay_device *dev)
{
    struct replay_memory_stats *stats = &dev->planner->stats;
    struct replay_memory_use now = use_now(stats);

    replay_blocks_look(dev);
    if (stats->peak_fragmentation < 0)
        stats->peak_fragmentation = replay_memory_fragmentation(dev);
    if (!is_worse(&now, &stats->worst))
        return;
    stats->worst = now;
    stats->worst_fragmentation = replay_memory_fragmentation(dev);
}

struct replay_memory_stats replay_memory_stats(const struct replay_device *dev)
{
    struct replay_memory_stats stats = dev->planner->stats;

    if (stats.peak_fragmentation < 0)
        stats.peak_fragmentation = 0;
    stats.own_bytes += dev->planner->readback.capacity;
    return stats;
}

/* ---- allocations of the driver ---- */

static enum lap_status allocate(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                VkMemoryAllocateFlags asked, VkDeviceMemory *out_memory, uint8_t **out_host)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = chain,
                                 .allocationSize = bytes,
                                 .memoryTypeIndex = type};
    VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, .pNext = chain, .flags = asked};
    VkResult result;
    void *host = NULL;

    if (asked)
        info.pNext = &flags;
    result = dev->vk.AllocateMemory(dev->live, &info, NULL, out_memory);
    if (result < 0 && dev->pending.count && replay_pending_settle(dev))
        result = dev->vk.AllocateMemory(dev->live, &info, NULL, out_memory);
    *out_host = NULL;
    if (result < 0)
        return lap_fail(result == VK_ERROR_DEVICE_LOST ? LAP_ERROR_REPLAY : LAP_ERROR_MEMORY,
                        "vkAllocateMemory of %" PRIu64 " bytes of type %u gives %s", (uint64_t)bytes, type,
                        replay_result_name(result));
    if (replay_type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
        result = dev->vk.MapMemory(dev->live, *out_memory, 0, VK_WHOLE_SIZE, 0, &host);
        if (result < 0) {
            dev->vk.FreeMemory(dev->live, *out_memory, NULL);
            return lap_fail(LAP_ERROR_MEMORY, "vkMapMemory of %" PRIu64 " bytes gives %s", (uint64_t)bytes,
                            replay_result_name(result));
        }
    }
    *out_host = host;
    return LAP_OK;
}

enum lap_status replay_memory_acquire(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                      VkDeviceMemory *out_memory, uint8_t **out_host)
{
    return allocate(dev, type, bytes, chain, replay_usual_flags(dev), out_memory, out_host);
}

enum lap_status replay_memory_take(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                                   VkMemoryAllocateFlags flags, VkDeviceMemory *out_memory, uint8_t **out_host)
{
    struct replay_memory_stats *stats = &dev->planner->stats;
    enum lap_status status = allocate(dev, type, bytes, chain, flags, out_memory, out_host);

    if (status != LAP_OK)
        return status;
    stats->made_allocations++;
    stats->allocations++;
    stats->allocated_bytes += bytes;
    stats->types[type].allocations++;
    stats->types[type].allocated_bytes += bytes;
    return LAP_OK;
}

static void free_memory(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes)
{
    struct replay_memory_stats *stats = &dev->planner->stats;

    dev->vk.FreeMemory(dev->live, memory, NULL); /* unmaps it */
    stats->allocations--;
    stats->allocated_bytes -= bytes;
    stats->types[type].allocations--;
    stats->types[type].allocated_bytes -= bytes;
}

void replay_memory_give(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes)
{
    if (!dev->pending.busy) {
        free_memory(dev, type, memory, bytes);
        return;
    }
    dev->planner->aside.allocations++;
    dev->planner->aside.allocated_bytes += bytes;
    replay_pending_end_memory(dev, type, memory, bytes);
}

void replay_memory_free(struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize bytes)
{
    dev->planner->aside.allocations--;
    dev->planner->aside.allocated_bytes -= bytes;
    free_memory(dev, type, memory, bytes);
}

void replay_memory_make_way(struct replay_device *dev, VkDeviceSize bytes, VkDeviceSize required)
{
    const struct replay_planner *planner = dev->planner;
    struct replay_memory_use alive = replay_memory_alive(dev);
    uint64_t limit = replay_count_limit(dev) - (bytes != 0), most, room;

    if (__builtin_expect(!planner->aside.allocations, 1))
        return;
    required += alive.used_bytes;
    alive.allocated_bytes += bytes;
    most = replay_memory_bound(required > REPLAY_FLOOR_BYTES ? required : REPLAY_FLOOR_BYTES);
    /* Where what is alive passes the bound by itself, what is put aside may be a quarter of it. */
    room = most > alive.allocated_bytes ? most - alive.allocated_bytes : most / 5;
    while (planner->aside.allocations &&
           (planner->aside.allocated_bytes > room || planner->stats.allocations > limit) && replay_pending_advance(dev))
        ;
}

/* ---- alone, or beside others ---- */

/* Whether an object gets an allocation for itself, which is exactly as large as it. lifetime.c expects the same. */
static bool lies_alone(const struct replay_device *dev, const struct replay_needs *needs, uint32_t type)
{
    const struct replay_memory_stats *stats = &dev->planner->stats;
    struct replay_allocations made = replay_unplanned(dev);
    uint64_t bytes = needs->requirements.size;
    uint32_t cell;

    if (needs->alone || needs->own || bytes > replay_max_block_bytes(dev, type) / 2)
        return true;
    /* Half of the allocations are for what must be alone, and for blocks. */
    if (made.count >= made.limit / 2)
        return false;
    cell = replay_cell_of(dev, needs);
    if (cell != REPLAY_CELL_UNKNOWN && cell != REPLAY_CELL_ALONE)
        return false; /* the driver had rather have some of these alone, too: small ones */
    if (needs->dedicated || cell == REPLAY_CELL_ALONE)
        return true;
    if (made.count < made.limit / 8 && made.count < REPLAY_FEW_ALLOCATIONS &&
        stats->made_allocations < REPLAY_FEW_CHANGES)
        return true;
    return bytes >= replay_small_bytes(made.count, made.limit);
}

/* ---- choice ---- */

static void take_dedicated(const VkMemoryDedicatedRequirements *dedicated, struct replay_needs *needs)
{
    needs->alone = dedicated->requiresDedicatedAllocation;
    needs->dedicated = dedicated->prefersDedicatedAllocation || needs->alone;
}

void replay_buffer_needs(const struct replay_device *dev, VkBuffer buffer, struct replay_needs *out_needs)
{
    VkBufferMemoryRequirementsInfo2 info = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2,
                                            .buffer = buffer};
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, .pNext = &dedicated};

    *out_needs = (struct replay_needs){.linear = true, .buffer = buffer};
    if (!dev->planner->has_requirements2) {
        dev->vk.GetBufferMemoryRequirements(dev->live, buffer, &out_needs->requirements);
        return;
    }
    dev->vk.GetBufferMemoryRequirements2(dev->live, &info, &requirements);
    out_needs->requirements = requirements.memoryRequirements;
    take_dedicated(&dedicated, out_needs);
}

void replay_image_needs(const struct replay_device *dev, VkImage image, bool linear, VkImageAspectFlags plane,
                        struct replay_needs *out_needs)
{
    VkImagePlaneMemoryRequirementsInfo plane_info = {.sType = VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO,
                                                     .planeAspect = (VkImageAspectFlagBits)plane};
    VkImageMemoryRequirementsInfo2 info = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2,
                                           .image = image,
                                           .pNext = plane ? &plane_info : NULL};
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, .pNext = &dedicated};

    *out_needs = (struct replay_needs){.linear = linear, .plane = plane, .image = image};
    if (!dev->planner->has_requirements2) {
        dev->vk.GetImageMemoryRequirements(dev->live, image, &out_needs->requirements);
        return;
    }
    dev->vk.GetImageMemoryRequirements2(dev->live, &info, &requirements);
    out_needs->requirements = requirements.memoryRequirements;
    /* The planes of a disjoint image can't be named in an allocation (VUID-VkMemoryDedicatedAllocateInfo-image-01797).
     */
    if (!plane)
        take_dedicated(&dedicated, out_needs);
}

void replay_place_fill(const struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize memory_bytes,
                       uint8_t *host, VkDeviceSize offset, VkDeviceSize bytes, struct replay_place *out_place)
{
    out_place->memory = memory;
    out_place->offset = offset;
    out_place->bytes = bytes;
    out_place->host = host ? host + offset : NULL;
    out_place->type = type;
    out_place->coherent = replay_type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    out_place->memory_bytes = memory_bytes;
}

static enum lap_status alloc_own(struct replay_device *dev, const struct replay_needs *needs, uint32_t type,
                                 struct replay_place *out_place)
{
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = needs->image, .buffer = needs->buffer};
    VkDeviceSize bytes = needs->requirements.size;
    VkDeviceMemory memory;
    enum lap_status status;
    uint8_t *host;

    replay_memory_make_way(dev, bytes, bytes);
    status = replay_memory_take(dev, type, bytes, needs->dedicated ? &dedicated : NULL, replay_usual_flags(dev),
                                &memory, &host);
    if (status == LAP_OK)
        replay_place_fill(dev, type, memory, bytes, host, 0, bytes, out_place);
    out_place->used_bytes = bytes;
    return status;
}

static enum lap_status alloc_shared(struct replay_device *dev, const struct replay_needs *needs, uint32_t type,
                                    struct replay_place *out_place)
{
    struct replay_block block;
    enum lap_status status = replay_blocks_alloc(dev, needs, type, out_place, &block);

    if (status != LAP_OK)
        return status;
    replay_place_fill(dev, type, block.memory, block.bytes, block.host, out_place->range.offset,
                      needs->requirements.size, out_place);
    out_place->used_bytes =
        (needs->requirements.size + needs->requirements.alignment - 1) & ~(needs->requirements.alignment - 1);
    out_place->stale_bytes =
        out_place->range.used_bytes < out_place->bytes ? out_place->range.used_bytes : out_place->bytes;
    return LAP_OK;
}

void replay_place_count(struct replay_device *dev, const struct replay_place *place)
{
    dev->planner->stats.used_bytes += place->used_bytes;
    dev->planner->stats.types[place->type].used_bytes += place->used_bytes;
    note(dev, place->type);
}

enum lap_status replay_place_alloc(struct replay *r, struct replay_device *dev, const struct replay_needs *needs,
                                   struct replay_place *out_place)
{
    uint32_t types[VK_MAX_MEMORY_TYPES];
    uint32_t count = replay_rank_types(dev, needs, types);
    enum lap_status status = LAP_ERROR_UNSUPPORTED;

    *out_place = (struct replay_place){0};
    if (r->lifetimes)
        replay_lifetimes_find(r); /* it goes on */
    if (count == 0)
        return replay_refuse(r, "the device has no memory type for this object (of %#x)",
                             needs->requirements.memoryTypeBits);
    for (uint32_t i = 0; i < count; i++) {
        struct replay_needs here = *needs;
        bool alone = lies_alone(dev, needs, types[i]);
        /* What can't be alone, and an image that is written through a buffer in the same memory: */
        if (!alone ||
            (needs->image && !needs->alone && !(replay_type_flags(dev, types[i]) & HOST_VISIBLE) &&
             ((needs->linear && needs->wanted & HOST_VISIBLE) || replay_fresh_is_stale(r, dev, needs->contents))))
            here.dedicated = false;
        status = alone ? alloc_own(dev, &here, types[i], out_place) : alloc_shared(dev, &here, types[i], out_place);
        if (status == LAP_OK) {
            if (alone)
                replay_blocks_miss(dev, needs);
            replay_place_count(dev, out_place);
            return LAP_OK;
        }
        if (status != LAP_ERROR_MEMORY)
            return replay_fail(r, "%s", lap_error_message());
    }
    return replay_shortage(r, dev, needs, types, count);
}

enum lap_status replay_place_object(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                    uint64_t index, const struct replay_needs *needs, struct replay_place *out_place)
{
    struct replay_needs alone = *needs;
    enum lap_status status = replay_group_place(r, dev, type, index, needs, out_place);

    if (status != LAP_END)
        return status;
    alone.wanted = replay_facts_wanted(r, dev, type, index, needs->wanted);
    alone.asked = needs->wanted;
    alone.type = type;
    alone.index = index;
    return replay_place_alloc(r, dev, &alone, out_place);
}

void replay_place_free(struct replay_device *dev, struct replay_place *place)
{
    uint32_t type = place->type;

    if (place->shared) {
        replay_group_leave(dev, place->shared);
    } else if (place->memory) {
        dev->planner->stats.used_bytes -= place->used_bytes;
        dev->planner->stats.types[type].used_bytes -= place->used_bytes;
        if (place->pool)
            replay_blocks_free(dev, place);
        else if (place->address_memory)
            replay_address_leave(dev, place->address_memory);
        else
            replay_memory_give(dev, type, place->memory, place->memory_bytes);
        replay_blocks_trim(dev);
        replay_memory_make_way(dev, 0, 0);
        note(dev, type);
    }
    *place = (struct replay_place){0};
}

/* ---- access by the host ---- */

/* Whole atoms around the bytes; blocks consist of whole atoms, so neighbours are at worst flushed along. */
static VkMappedMemoryRange atoms_around(const struct replay_device *dev, const struct replay_place *place,
                                        VkDeviceSize offset, VkDeviceSize bytes)
{
    VkDeviceSize atom = dev->planner->atom, begin = (place->offset + offset) / atom * atom;
    VkDeviceSize end = (place->offset + offset + bytes + atom - 1) / atom * atom;
    return (VkMappedMemoryRange){.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                                 .memory = place->memory,
                                 .offset = begin,
                                 .size = end >= place->memory_bytes ? VK_WHOLE_SIZE : end - begin};
}

enum lap_status replay_place_write(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                   VkDeviceSize offset, const void *data, size_t bytes)
{
    VkMappedMemoryRange range = {.size = bytes};
    enum lap_status status = LAP_OK;

    if (bytes == 0)
        return LAP_OK;
    if (!place->coherent)
        range = atoms_around(dev, place, offset, bytes);
    /* What the device has written beside the bytes, in the same atom, goes along as the host sees it. Nothing of the
     * host's is lost: all that was written before has been flushed. */
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

/* The atoms that spans lie in, each once; how many ranges that are. */
static uint32_t atoms_of_spans(const struct replay_device *dev, const struct replay_place *place, uint32_t count,
                               const struct replay_place_span *spans, VkMappedMemoryRange *ranges)
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

enum lap_status replay_place_write_spans(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                         uint32_t count, const struct replay_place_span *spans)
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
    if (range_count) /* see replay_place_write */
        status = replay_result(r, dev->vk.InvalidateMappedMemoryRanges(dev->live, range_count, ranges));
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        memcpy(place->host + spans[i].offset, spans[i].data, spans[i].bytes);
    if (!range_count)
        return LAP_OK;
    return replay_result(r, dev->vk.FlushMappedMemoryRanges(dev->live, range_count, ranges));
}

enum lap_status replay_place_invalidate(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                        VkDeviceSize offset, VkDeviceSize bytes)
{
    VkMappedMemoryRange range;

    if (place->coherent || bytes == 0)
        return LAP_OK;
    range = atoms_around(dev, place, offset, bytes);
    return replay_result(r, dev->vk.InvalidateMappedMemoryRanges(dev->live, 1, &range));
}

enum lap_status replay_read_back(struct replay *r, struct replay_device *dev, VkBuffer buffer, VkDeviceSize offset,
                                 VkDeviceSize bytes, const void **out_data)
{
    struct lap_readback_queue at = {0};
    enum lap_status status;

    if (!dev->main_queue)
        return replay_fail(r, "the device has no queue for copies");
    at.queue = dev->main_queue->live;
    at.family = dev->main_queue->family;
    status = replay_staging_flush(r, dev, at.queue);
    if (status != LAP_OK)
        return status;
    status = lap_readback_buffer(&dev->planner->readback, &at, buffer, offset, bytes, out_data);
    return status == LAP_OK ? LAP_OK : replay_place(r, status);
}
