/* SPDX-License-Identifier: MIT */
#include "replayer/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/group.h"
#include "replayer/sparse.h"

#define MIB               ((VkDeviceSize)1 << 20)
#define MAX_BLOCK_BYTES   (64 * MIB)
#define FIRST_BLOCK_BYTES (4 * MIB)
#define MIN_GRANULE_BYTES 64u
#define STAGING_BYTES     (4 * MIB)

struct memory_block {
    VkDeviceMemory memory;
    VkDeviceSize bytes;
    uint8_t *host;
};

/* Linear and optimal resources lie in different blocks where the device has a bufferImageGranularity. */
struct memory_pool {
    struct replay_device *dev;
    uint32_t type;
    struct replay_pool *pool;
};

struct replay_planner {
    struct memory_pool pools[VK_MAX_MEMORY_TYPES][2];
    VkDeviceSize atom, granularity;
    uint32_t max_allocations; /* maxMemoryAllocationCount */
    bool has_requirements2;
    struct replay_memory_stats stats;
    struct lap_readback readback;
    /* Staging: made when first needed. */
    VkBuffer staging;
    struct replay_place staging_place;
    VkCommandPool command_pool;
    VkCommandBuffer commands;
    VkFence fence;
};

static VkMemoryPropertyFlags type_flags(const struct replay_device *dev, uint32_t type)
{
    return dev->instance->memory.memoryTypes[type].propertyFlags;
}

enum lap_status replay_planner_create(struct replay *r, struct replay_device *dev)
{
    const VkPhysicalDeviceProperties *properties = &dev->instance->properties;
    struct replay_planner *planner = calloc(1, sizeof *planner);

    if (!planner)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    planner->atom = properties->limits.nonCoherentAtomSize ? properties->limits.nonCoherentAtomSize : 1;
    planner->granularity = properties->limits.bufferImageGranularity;
    planner->max_allocations = properties->limits.maxMemoryAllocationCount;
    planner->has_requirements2 = dev->instance->api_version >= VK_API_VERSION_1_1 &&
                                 properties->apiVersion >= VK_API_VERSION_1_1 && dev->vk.GetBufferMemoryRequirements2 &&
                                 dev->vk.GetImageMemoryRequirements2;
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES; i++)
        for (int optimal = 0; optimal < 2; optimal++)
            planner->pools[i][optimal] = (struct memory_pool){.dev = dev, .type = i};
    lap_readback_init(&planner->readback, dev->live, &dev->vk, &dev->instance->memory, NULL);
    dev->planner = planner;
    return LAP_OK;
}

void replay_planner_destroy(struct replay *r, struct replay_device *dev)
{
    struct replay_planner *planner = dev->planner;

    if (!planner)
        return;
    replay_sparse_finish(dev);
    lap_readback_finish(&planner->readback);
    if (planner->fence)
        dev->vk.DestroyFence(dev->live, planner->fence, NULL);
    if (planner->command_pool)
        dev->vk.DestroyCommandPool(dev->live, planner->command_pool, NULL);
    if (planner->staging)
        dev->vk.DestroyBuffer(dev->live, planner->staging, NULL);
    replay_place_free(dev, &planner->staging_place);
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES; i++)
        for (int optimal = 0; optimal < 2; optimal++)
            replay_pool_destroy(&planner->pools[i][optimal].pool);
    free(planner);
    dev->planner = NULL;
}

struct lap_readback *replay_device_readback(const struct replay_device *dev)
{
    return &dev->planner->readback;
}

struct replay_memory_stats replay_memory_stats(const struct replay_device *dev)
{
    struct replay_memory_stats stats = dev->planner->stats;

    stats.used_bytes -= dev->planner->staging_place.bytes;
    return stats;
}

/* ---- allocations of the driver ---- */

static void release(struct replay_device *dev, VkDeviceMemory memory, VkDeviceSize bytes)
{
    /* Freeing memory unmaps it. */
    dev->vk.FreeMemory(dev->live, memory, NULL);
    dev->planner->stats.allocations--;
    dev->planner->stats.allocated_bytes -= bytes;
}

/* Allocates, and maps what the host can see. */
static enum lap_status acquire(struct replay_device *dev, uint32_t type, VkDeviceSize bytes, const void *chain,
                               VkDeviceMemory *out_memory, uint8_t **out_host)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = chain,
                                 .allocationSize = bytes,
                                 .memoryTypeIndex = type};
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .pNext = chain,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkResult result;
    void *host = NULL;

    if (dev->has_address_memory) /* any object may come to lie there */
        info.pNext = &flags;
    result = dev->vk.AllocateMemory(dev->live, &info, NULL, out_memory);
    *out_host = NULL;
    if (result < 0)
        return lap_fail(result == VK_ERROR_DEVICE_LOST ? LAP_ERROR_REPLAY : LAP_ERROR_MEMORY,
                        "vkAllocateMemory of %" PRIu64 " bytes of type %u gives %s", (uint64_t)bytes, type,
                        replay_result_name(result));
    dev->planner->stats.allocations++;
    dev->planner->stats.allocated_bytes += bytes;
    if (type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
        result = dev->vk.MapMemory(dev->live, *out_memory, 0, VK_WHOLE_SIZE, 0, &host);
        if (result < 0) {
            release(dev, *out_memory, bytes);
            return lap_fail(LAP_ERROR_MEMORY, "vkMapMemory of %" PRIu64 " bytes gives %s", (uint64_t)bytes,
                            replay_result_name(result));
        }
    }
    *out_host = host;
    return LAP_OK;
}

static enum lap_status create_block(void *user, uint64_t bytes, void **out_block)
{
    struct memory_pool *pool = user;
    struct memory_block *block = calloc(1, sizeof *block);
    enum lap_status status;

    if (!block)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    block->bytes = bytes;
    status = acquire(pool->dev, pool->type, bytes, NULL, &block->memory, &block->host);
    if (status != LAP_OK) {
        free(block);
        return status;
    }
    *out_block = block;
    return LAP_OK;
}

static void destroy_block(void *user, void *opaque)
{
    struct memory_pool *pool = user;
    struct memory_block *block = opaque;

    release(pool->dev, block->memory, block->bytes);
    free(block);
}

/* Blocks are at most an eighth of their heap, so that a small one (a window into device memory) is shared fairly. */
static VkDeviceSize heap_bytes(const struct replay_device *dev, uint32_t type)
{
    const VkPhysicalDeviceMemoryProperties *memory = &dev->instance->memory;
    return memory->memoryHeaps[memory->memoryTypes[type].heapIndex].size;
}

static VkDeviceSize max_block_bytes(const struct replay_device *dev, uint32_t type)
{
    VkDeviceSize bytes = heap_bytes(dev, type) / 8;
    return bytes > MAX_BLOCK_BYTES ? MAX_BLOCK_BYTES : bytes < FIRST_BLOCK_BYTES ? FIRST_BLOCK_BYTES : bytes;
}

static enum lap_status find_pool(struct replay_device *dev, uint32_t type, bool linear, struct memory_pool **out_pool)
{
    struct replay_planner *planner = dev->planner;
    struct memory_pool *pool = &planner->pools[type][!linear && planner->granularity > 1];
    struct replay_pool_options options = {
        .granule_bytes = planner->atom > MIN_GRANULE_BYTES ? planner->atom : MIN_GRANULE_BYTES,
        .first_block_bytes = FIRST_BLOCK_BYTES,
        .max_block_bytes = max_block_bytes(dev, type),
        .create_block = create_block,
        .destroy_block = destroy_block,
        .user = pool,
    };

    *out_pool = pool;
    return pool->pool ? LAP_OK : replay_pool_create(&options, &pool->pool);
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

/* How well a type suits: larger is better, negative is not at all. */
static int score_of(VkMemoryPropertyFlags flags, VkMemoryPropertyFlags wanted)
{
    const VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    int score = 0;

    if (flags & (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |
                 VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV))
        return -1;
    /* What the host writes or reads must be visible; what it does not had better stay out of scarce visible device
     * memory. */
    if ((flags & visible) == (wanted & visible))
        score += 32;
    else if (wanted & visible)
        return 0;
    if ((flags & local) == (wanted & local))
        score += 16;
    if (!(wanted & visible) && (flags & local))
        score += 16;
    if ((wanted & visible) && (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
        score += 8;
    if ((flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) == (wanted & VK_MEMORY_PROPERTY_HOST_CACHED_BIT))
        score += 4;
    if ((flags & VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT) == (wanted & VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT))
        score += 2;
    return score;
}

/* The allowed types, best first; the count. */
static uint32_t rank_types(const struct replay_device *dev, uint32_t mask, VkMemoryPropertyFlags wanted,
                           uint32_t out_types[VK_MAX_MEMORY_TYPES])
{
    int scores[VK_MAX_MEMORY_TYPES];
    uint32_t count = 0;

    for (uint32_t type = 0; type < dev->instance->memory.memoryTypeCount; type++) {
        int score = mask >> type & 1 ? score_of(type_flags(dev, type), wanted) : -1;
        uint32_t at = count;
        if (score < 0)
            continue;
        for (; at > 0 && scores[at - 1] < score; at--) {
            scores[at] = scores[at - 1];
            out_types[at] = out_types[at - 1];
        }
        scores[at] = score;
        out_types[at] = type;
        count++;
    }
    return count;
}

static void fill_place(const struct replay_device *dev, uint32_t type, VkDeviceMemory memory, VkDeviceSize memory_bytes,
                       uint8_t *host, VkDeviceSize offset, VkDeviceSize bytes, struct replay_place *out_place)
{
    out_place->memory = memory;
    out_place->offset = offset;
    out_place->bytes = bytes;
    out_place->host = host ? host + offset : NULL;
    out_place->type = type;
    out_place->coherent = type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    out_place->memory_bytes = memory_bytes;
}

static enum lap_status alloc_own(struct replay_device *dev, const struct replay_needs *needs, uint32_t type,
                                 struct replay_place *out_place)
{
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = needs->image, .buffer = needs->buffer};
    VkDeviceSize bytes = needs->requirements.size;
    VkDeviceMemory memory;
    uint8_t *host;
    enum lap_status status = acquire(dev, type, bytes, needs->dedicated ? &dedicated : NULL, &memory, &host);

    if (status == LAP_OK)
        fill_place(dev, type, memory, bytes, host, 0, bytes, out_place);
    return status;
}

static enum lap_status alloc_shared(struct replay_device *dev, const struct replay_needs *needs, uint32_t type,
                                    struct replay_place *out_place)
{
    struct replay_pool_range range;
    const struct memory_block *block;
    struct memory_pool *pool;
    enum lap_status status = find_pool(dev, type, needs->linear, &pool);

    if (status == LAP_OK)
        status = replay_pool_alloc(pool->pool, needs->requirements.size, needs->requirements.alignment, &range);
    if (status != LAP_OK)
        return status;
    block = range.block;
    fill_place(dev, type, block->memory, block->bytes, block->host, range.offset, needs->requirements.size, out_place);
    out_place->pool = pool->pool;
    out_place->range = range;
    return LAP_OK;
}

enum lap_status replay_place_alloc(struct replay *r, struct replay_device *dev, const struct replay_needs *needs,
                                   struct replay_place *out_place)
{
    uint32_t types[VK_MAX_MEMORY_TYPES];
    uint32_t count = rank_types(dev, needs->requirements.memoryTypeBits, needs->wanted, types);
    enum lap_status status = LAP_ERROR_UNSUPPORTED;
    struct replay_needs all = *needs;

    *out_place = (struct replay_place){0};
    if (count == 0)
        return replay_refuse(r, "the device has no memory type for this object (of %#x)",
                             needs->requirements.memoryTypeBits);
    /* What need not be alone leaves half of the allocations that the device allows to what must, and to blocks. */
    if (!all.alone && dev->planner->stats.allocations >= dev->planner->max_allocations / 2)
        all.dedicated = false;
    /* A dedicated allocation is exactly as large as this host wants it
     * (VUID-VkMemoryDedicatedAllocateInfo-image-02964), and a trace may name any size. */
    if (!all.dedicated && all.requirements.size < all.at_capture && all.at_capture <= heap_bytes(dev, types[0]))
        all.requirements.size = all.at_capture;
    for (uint32_t i = 0; i < count; i++) {
        bool own = all.dedicated || all.own || all.requirements.size > max_block_bytes(dev, types[i]) / 2;
        status = own ? alloc_own(dev, &all, types[i], out_place) : alloc_shared(dev, &all, types[i], out_place);
        if (status == LAP_OK) {
            dev->planner->stats.used_bytes += out_place->bytes;
            return LAP_OK;
        }
        if (status != LAP_ERROR_MEMORY)
            break;
    }
    return replay_fail(r, "%s", lap_error_message());
}

enum lap_status replay_place_object(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                    uint64_t index, const struct replay_needs *needs, struct replay_place *out_place)
{
    enum lap_status status = replay_group_place(r, dev, type, index, needs, out_place);
    return status == LAP_END ? replay_place_alloc(r, dev, needs, out_place) : status;
}

void replay_place_free(struct replay_device *dev, struct replay_place *place)
{
    if (place->shared) {
        replay_group_leave(dev, place->shared);
    } else if (place->memory) {
        dev->planner->stats.used_bytes -= place->bytes;
        if (place->pool)
            replay_pool_free(place->pool, &place->range);
        else
            release(dev, place->memory, place->memory_bytes);
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

enum lap_status replay_place_invalidate(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                        VkDeviceSize offset, VkDeviceSize bytes)
{
    VkMappedMemoryRange range;

    if (place->coherent || bytes == 0)
        return LAP_OK;
    range = atoms_around(dev, place, offset, bytes);
    return replay_result(r, dev->vk.InvalidateMappedMemoryRanges(dev->live, 1, &range));
}

/* ---- staging ---- */

static enum lap_status create_staging(struct replay *r, struct replay_device *dev)
{
    struct replay_planner *planner = dev->planner;
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = STAGING_BYTES,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                    .queueFamilyIndex = dev->main_queue->family};
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct replay_needs needs;
    enum lap_status status;

    if (planner->fence)
        return LAP_OK;
    if (!planner->staging) {
        status = replay_result(r, dev->vk.CreateBuffer(dev->live, &buffer, NULL, &planner->staging));
        if (status != LAP_OK)
            return status;
        replay_buffer_needs(dev, planner->staging, &needs);
        needs.wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        status = replay_place_alloc(r, dev, &needs, &planner->staging_place);
        if (status != LAP_OK)
            return status;
        if (!planner->staging_place.host)
            return replay_fail(r, "the device has no memory that the host can see");
        status = replay_result(r, dev->vk.BindBufferMemory(dev->live, planner->staging, planner->staging_place.memory,
                                                           planner->staging_place.offset));
        if (status != LAP_OK)
            return status;
    }
    if (!planner->command_pool) {
        status = replay_result(r, dev->vk.CreateCommandPool(dev->live, &pool, NULL, &planner->command_pool));
        if (status != LAP_OK)
            return status;
    }
    commands.commandPool = planner->command_pool;
    status = replay_result(r, dev->vk.AllocateCommandBuffers(dev->live, &commands, &planner->commands));
    if (status != LAP_OK)
        return status;
    return replay_result(r, dev->vk.CreateFence(dev->live, &fence, NULL, &planner->fence));
}

/* Copies what lies in the staging buffer, and waits: the next piece needs the room. */
static enum lap_status copy_staged(struct replay *r, struct replay_device *dev, VkBuffer buffer, VkDeviceSize offset,
                                   VkDeviceSize bytes)
{
    struct replay_planner *planner = dev->planner;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT};
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &planner->commands};
    VkBufferCopy region = {0, offset, bytes};
    VkResult result = dev->vk.ResetCommandPool(dev->live, planner->command_pool, 0);

    if (result >= 0)
        result = dev->vk.BeginCommandBuffer(planner->commands, &begin);
    if (result < 0)
        return replay_result(r, result);
    dev->vk.CmdPipelineBarrier(planner->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                               1, &barrier, 0, NULL, 0, NULL);
    dev->vk.CmdCopyBuffer(planner->commands, planner->staging, buffer, 1, &region);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    dev->vk.CmdPipelineBarrier(planner->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                               1, &barrier, 0, NULL, 0, NULL);
    result = dev->vk.EndCommandBuffer(planner->commands);
    if (result >= 0)
        result = dev->vk.QueueSubmit(dev->main_queue->live, 1, &submit, planner->fence);
    if (result >= 0)
        result = dev->vk.WaitForFences(dev->live, 1, &planner->fence, VK_TRUE, UINT64_MAX);
    if (result >= 0)
        result = dev->vk.ResetFences(dev->live, 1, &planner->fence);
    return replay_result(r, result);
}

enum lap_status replay_stage_buffer(struct replay *r, struct replay_device *dev, VkBuffer buffer, VkDeviceSize offset,
                                    const void *data, size_t bytes)
{
    enum lap_status status =
        dev->main_queue ? create_staging(r, dev) : replay_fail(r, "the device has no queue for copies");

    for (size_t done = 0; status == LAP_OK && done < bytes;) {
        size_t piece = bytes - done < STAGING_BYTES ? bytes - done : (size_t)STAGING_BYTES;
        status = replay_place_write(r, dev, &dev->planner->staging_place, 0, data ? (const uint8_t *)data + done : NULL,
                                    piece);
        if (status == LAP_OK)
            status = copy_staged(r, dev, buffer, offset + done, piece);
        done += piece;
    }
    return status;
}
