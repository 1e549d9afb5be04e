/* SPDX-License-Identifier: MIT */
#include "replayer/memory/staging.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replayer/core/device.h"
#include "replayer/device/queues.h"
#include "replayer/memory/allocation.h"
#include "replayer/memory/memory_internal.h"
#include "replayer/memory/staging_image.h"
#include "replayer/sync/ownership_transfer.h"
#include "replayer/sync/wait.h"

#define RING_BYTES     ((VkDeviceSize)8 << 20)
#define MIN_RING_BYTES ((VkDeviceSize)64 << 10) /* used if host-visible memory is scarce */

struct copy {
    VkBuffer buffer; /* null: cancelled */
    VkDeviceSize from, to, bytes;
    uint64_t group;
    bool fill; /* zero fill: from is unused; to and bytes are multiples of 4 */
};

struct copies {
    struct copy *list;
    size_t count, capacity;
};

/* Submitted copies, or the idle objects to submit some with. */
struct batch {
    uint64_t number;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    uint64_t ring_end;
    struct batch *next;
};

struct replay_staging {
    VkBuffer buffer; /* null until bytes are staged */
    VkDeviceMemory memory;
    uint8_t *host;
    VkDeviceSize bytes;
    uint64_t head, tail;              /* the used part of the ring, in bytes since its creation */
    struct copies copies;             /* not yet submitted; they go into batch `number` */
    struct copies fresh;              /* the same, for fills that precede the copies */
    struct replay_image_steps images; /* the same, for images: between the copies */
    uint64_t number, group;
    struct batch *first, *last; /* submitted, oldest first */
    struct batch *idle;
    struct replay_staging_stats stats;
    enum lap_status failed; /* where no failure could be returned: the next flush returns it */
    char sentence[1536];    /* as long as one may be */
};

static void keep_failure(struct replay_staging *staging, enum lap_status status)
{
    if (status == LAP_OK || staging->failed != LAP_OK)
        return;
    staging->failed = status;
    (void)snprintf(staging->sentence, sizeof staging->sentence, "%s", lap_error_message());
}

static bool has_gathered(const struct replay_staging *staging)
{
    return staging->copies.count || staging->fresh.count || staging->images.count;
}

/* ---- the ring ---- */

/* Allocates memory for the ring's buffer from any type that the host can write directly. LAP_ERROR_MEMORY: no type has
 * enough. */
static enum lap_status allocate_ring(struct replay *r, struct replay_device *dev, struct replay_staging *staging)
{
    uint32_t types[VK_MAX_MEMORY_TYPES], count;
    struct replay_memory_needs needs;
    enum lap_status status = LAP_ERROR_MEMORY;

    replay_memory_buffer_needs(dev, staging->buffer, &needs);
    needs.wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    count = replay_memory_rank_types(&dev->instance->memory, &needs, types);
    for (uint32_t i = 0; i < count && status == LAP_ERROR_MEMORY; i++)
        if ((replay_memory_type_flags(dev, types[i]) & needs.wanted) == needs.wanted)
            status =
                replay_memory_allocate_own(dev, types[i], needs.requirements.size, &staging->memory, &staging->host);
    if (status != LAP_OK)
        return status;
    dev->memory.planner->stats.own_bytes += needs.requirements.size;
    return replay_result(r, dev->vk.BindBufferMemory(dev->live, staging->buffer, staging->memory, 0));
}

static enum lap_status create_ring(struct replay *r, struct replay_device *dev, struct replay_staging *staging)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    enum lap_status status = LAP_ERROR_MEMORY;

    replay_share_buffer(dev, &info);
    for (VkDeviceSize bytes = RING_BYTES; bytes >= MIN_RING_BYTES && status == LAP_ERROR_MEMORY; bytes /= 2) {
        info.size = staging->bytes = bytes;
        if (staging->buffer)
            dev->vk.DestroyBuffer(dev->live, staging->buffer, NULL);
        staging->buffer = VK_NULL_HANDLE;
        status = replay_result(r, dev->vk.CreateBuffer(dev->live, &info, NULL, &staging->buffer));
        if (status == LAP_OK)
            status = allocate_ring(r, dev, staging);
    }
    if (status == LAP_ERROR_MEMORY)
        return replay_fail(r, "there is no memory that the host can write to, not even %u KiB",
                           (unsigned)(MIN_RING_BYTES >> 10));
    return status;
}

static enum lap_status need_staging(struct replay *r, struct replay_device *dev)
{
    struct replay_staging *staging;

    if (dev->memory.planner->staging)
        return LAP_OK;
    if (!dev->queues.main)
        return replay_fail(r, "the device has no queue for copies");
    staging = calloc(1, sizeof *staging);
    if (!staging)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    staging->number = staging->group = 1;
    dev->memory.planner->staging = staging;
    return LAP_OK;
}

static enum lap_status need_ring(struct replay *r, struct replay_device *dev)
{
    enum lap_status status = need_staging(r, dev);

    if (status != LAP_OK || dev->memory.planner->staging->buffer)
        return status;
    status = create_ring(r, dev, dev->memory.planner->staging);
    if (status != LAP_OK)
        replay_staging_destroy(dev);
    return status;
}

static void destroy_batches(struct replay_device *dev, struct batch *batch)
{
    while (batch) {
        struct batch *next = batch->next;
        if (batch->fence)
            dev->vk.DestroyFence(dev->live, batch->fence, NULL);
        if (batch->pool)
            dev->vk.DestroyCommandPool(dev->live, batch->pool, NULL);
        free(batch);
        batch = next;
    }
}

void replay_staging_destroy(struct replay_device *dev)
{
    struct replay_staging *staging = dev->memory.planner->staging;

    if (!staging)
        return;
    destroy_batches(dev, staging->first);
    destroy_batches(dev, staging->idle);
    if (staging->buffer)
        dev->vk.DestroyBuffer(dev->live, staging->buffer, NULL);
    if (staging->memory)
        dev->vk.FreeMemory(dev->live, staging->memory, NULL);
    free(staging->copies.list);
    free(staging->fresh.list);
    free(staging->images.list);
    free(staging);
    dev->memory.planner->staging = NULL;
}

struct replay_staging_stats replay_staging_stats(const struct replay_device *dev)
{
    const struct replay_staging *staging = dev->memory.planner->staging;
    return staging ? staging->stats : (struct replay_staging_stats){0};
}

/* ---- batches ---- */

/* Removes a finished batch from the list. If older batches are still running, its part of the ring becomes free with
 * theirs. */
static void retire(struct replay_device *dev, struct batch *batch)
{
    struct replay_staging *staging = dev->memory.planner->staging;
    struct batch **at = &staging->first, *previous = NULL;

    while (*at != batch) {
        previous = *at;
        at = &(*at)->next;
    }
    if (previous)
        previous->ring_end = batch->ring_end;
    else
        staging->tail = batch->ring_end;
    *at = batch->next;
    if (staging->last == batch)
        staging->last = previous;
    batch->next = staging->idle;
    staging->idle = batch;
}

/* LAP_AGAIN: the batch did not finish in time. */
static enum lap_status wait_batch(struct replay *r, struct replay_device *dev, struct batch *batch, uint64_t limit_ns)
{
    VkResult result = dev->vk.GetFenceStatus(dev->live, batch->fence);

    if (result == VK_NOT_READY && limit_ns) {
        dev->memory.planner->staging->stats.waits++;
        result = dev->vk.WaitForFences(dev->live, 1, &batch->fence, VK_TRUE, limit_ns);
    }
    if (result == VK_TIMEOUT || result == VK_NOT_READY)
        return LAP_AGAIN;
    if (result >= 0) {
        retire(dev, batch);
        result = dev->vk.ResetFences(dev->live, 1, &batch->fence);
    }
    return replay_result(r, result);
}

/* Waits up to the time limit of a replay's waits. */
static enum lap_status wait_for_batch(struct replay *r, struct replay_device *dev, struct batch *batch)
{
    struct replay_wait wait = replay_wait_begin();
    enum lap_status status;

    do
        status = wait_batch(r, dev, batch, REPLAY_WAIT_SLICE_NS);
    while (status == LAP_AGAIN && !replay_wait_is_over(r, dev, &wait));
    return status == LAP_AGAIN ? replay_wait_fail(r, dev, "copies of what the host wrote") : status;
}

static enum lap_status create_batch(struct replay *r, struct replay_device *dev, uint32_t family,
                                    struct batch **out_batch)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                    .queueFamilyIndex = family};
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct batch *batch = calloc(1, sizeof *batch);
    VkResult result;

    if (!batch)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    batch->family = family;
    result = dev->vk.CreateFence(dev->live, &fence, NULL, &batch->fence);
    if (result >= 0)
        result = dev->vk.CreateCommandPool(dev->live, &pool, NULL, &batch->pool);
    commands.commandPool = batch->pool;
    if (result >= 0)
        result = dev->vk.AllocateCommandBuffers(dev->live, &commands, &batch->commands);
    if (result < 0) {
        destroy_batches(dev, batch);
        return replay_result(r, result);
    }
    *out_batch = batch;
    return LAP_OK;
}

static enum lap_status take_batch(struct replay *r, struct replay_device *dev, uint32_t family,
                                  struct batch **out_batch)
{
    for (struct batch **at = &dev->memory.planner->staging->idle; *at; at = &(*at)->next) {
        struct batch *batch = *at;
        if (batch->family != family)
            continue;
        *at = batch->next;
        batch->next = NULL;
        *out_batch = batch;
        return replay_result(r, dev->vk.ResetCommandPool(dev->live, batch->pool, 0));
    }
    return create_batch(r, dev, family, out_batch);
}

static void barrier(const struct replay_device *dev, VkCommandBuffer commands, VkPipelineStageFlags before,
                    VkAccessFlags from, VkPipelineStageFlags after, VkAccessFlags to)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = from, .dstAccessMask = to};

    dev->vk.CmdPipelineBarrier(commands, before, after, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* Consecutive copies of a group into the same buffer become one command. */
static enum lap_status record_copies(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    const struct replay_staging *staging = dev->memory.planner->staging;
    const struct copies *copies = &staging->copies;
    VkBufferCopy *regions = malloc((copies->count ? copies->count : 1) * sizeof *regions);
    uint64_t group = 0;
    size_t image_step = 0;

    if (!regions)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    for (size_t i = 0; i < copies->count;) {
        const struct copy *copy = &copies->list[i];
        uint32_t count = 0;
        if (replay_image_steps_record(dev, commands, staging->buffer, &staging->images, i, &image_step) ||
            (group && copy->group != group))
            barrier(dev, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                    VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
        group = copy->group;
        if (!copy->buffer || copy->fill) {
            if (copy->buffer)
                dev->vk.CmdFillBuffer(commands, copy->buffer, copy->to, copy->bytes, 0);
            i++;
            continue;
        }
        for (; i < copies->count && copies->list[i].buffer == copy->buffer && !copies->list[i].fill &&
               copies->list[i].group == group;
             i++)
            regions[count++] = (VkBufferCopy){copies->list[i].from, copies->list[i].to, copies->list[i].bytes};
        dev->vk.CmdCopyBuffer(commands, staging->buffer, copy->buffer, count, regions);
    }
    if (image_step < staging->images.count && copies->count)
        barrier(dev, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    (void)replay_image_steps_record(dev, commands, staging->buffer, &staging->images, copies->count, &image_step);
    free(regions);
    return LAP_OK;
}

static int by_place(const void *left, const void *right)
{
    const struct copy *a = left, *b = right;
    uint64_t first = gen_u64_VkBuffer(a->buffer), second = gen_u64_VkBuffer(b->buffer);

    if (first != second)
        return first < second ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Fills of new memory may run in any order, before all copies. Adjacent and overlapping ranges become one fill. */
static void record_fresh(const struct replay_device *dev, VkCommandBuffer commands)
{
    const struct copies *fresh = &dev->memory.planner->staging->fresh;

    if (!fresh->count)
        return;
    qsort(fresh->list, fresh->count, sizeof *fresh->list, by_place);
    for (size_t i = 0; i < fresh->count;) {
        const struct copy *first = &fresh->list[i];
        VkDeviceSize end = first->to;
        for (; i < fresh->count && fresh->list[i].buffer == first->buffer && fresh->list[i].to <= end; i++)
            end = fresh->list[i].to + fresh->list[i].bytes > end ? fresh->list[i].to + fresh->list[i].bytes : end;
        if (first->buffer)
            dev->vk.CmdFillBuffer(commands, first->buffer, first->to, end - first->to, 0);
    }
    barrier(dev, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_WRITE_BIT);
}

/* Barriers order the copies behind earlier work on the queue, and later work behind the copies. */
static enum lap_status record(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands)
{
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const struct replay_staging *staging = dev->memory.planner->staging;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    enum lap_status status = replay_result(r, dev->vk.BeginCommandBuffer(commands, &begin));

    if (status != LAP_OK)
        return status;
    barrier(dev, commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, all, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_WRITE_BIT | (staging->images.count ? VK_ACCESS_TRANSFER_READ_BIT : 0));
    record_fresh(dev, commands);
    status = record_copies(r, dev, commands);
    if (status != LAP_OK)
        return status;
    barrier(dev, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, all);
    return replay_result(r, dev->vk.EndCommandBuffer(commands));
}

static enum lap_status hand_over(struct replay *r, struct replay_device *dev, const struct replay_queue *queue)
{
    struct replay_staging *staging = dev->memory.planner->staging;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1};
    struct batch *batch = NULL;
    enum lap_status status = take_batch(r, dev, queue->family, &batch);

    if (status == LAP_OK)
        status = record(r, dev, batch->commands);
    if (status == LAP_OK) {
        submit.pCommandBuffers = &batch->commands;
        status = replay_result(r, dev->vk.QueueSubmit(queue->live, 1, &submit, batch->fence));
    }
    if (status != LAP_OK) {
        destroy_batches(dev, batch);
        return status;
    }
    batch->number = staging->number++;
    batch->queue = queue->live;
    batch->ring_end = staging->head;
    if (staging->last)
        staging->last->next = batch;
    else
        staging->first = batch;
    staging->last = batch;
    staging->copies.count = staging->fresh.count = staging->images.count = 0;
    staging->group++;
    staging->stats.batches++;
    return LAP_OK;
}

/* ---- collection ---- */

static enum lap_status retire_finished(struct replay *r, struct replay_device *dev)
{
    enum lap_status status = LAP_OK;

    while (status == LAP_OK && dev->memory.planner->staging->first)
        status = wait_batch(r, dev, dev->memory.planner->staging->first, 0);
    return status == LAP_AGAIN ? LAP_OK : status;
}

/* Reserves contiguous bytes of the ring. */
static enum lap_status reserve(struct replay *r, struct replay_device *dev, VkDeviceSize bytes,
                               VkDeviceSize *out_offset)
{
    struct replay_staging *staging = dev->memory.planner->staging;
    VkDeviceSize left = staging->bytes - staging->head % staging->bytes, skip = left < bytes ? left : 0;
    enum lap_status status = LAP_OK;

    if (staging->head + skip + bytes - staging->tail > staging->bytes)
        status = retire_finished(r, dev);
    while (status == LAP_OK && staging->head + skip + bytes - staging->tail > staging->bytes) {
        if (!staging->first && !staging->copies.count && !staging->images.count) {
            staging->tail = staging->head; /* only skipped or cancelled bytes remain */
            continue;
        }
        if (!staging->first)
            status = replay_staging_flush(r, dev, dev->queues.main->live);
        if (status == LAP_OK && staging->first)
            status = wait_for_batch(r, dev, staging->first);
    }
    staging->head += skip;
    *out_offset = staging->head % staging->bytes;
    staging->head += bytes;
    return status;
}

static enum lap_status need_room(struct replay *r, struct copies *copies)
{
    return lap_array_grow(&copies->list, sizeof *copies->list, &copies->capacity, copies->count + 1)
               ? LAP_OK
               : replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

static enum lap_status add_copy(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                const struct copy *what)
{
    struct replay_staging *staging = dev->memory.planner->staging;
    enum lap_status status = need_room(r, &staging->copies);
    struct copy copy = *what;

    if (status != LAP_OK)
        return status;
    /* Copies of a group may run in any order, so an overlapping write begins a new group. */
    if (staged->batch == staging->number && staged->group == staging->group) {
        if (copy.to < staged->end && staged->begin < copy.to + copy.bytes)
            staging->group++;
    }
    if (staged->batch != staging->number || staged->group != staging->group) {
        staged->begin = copy.to;
        staged->end = copy.to + copy.bytes;
    } else {
        staged->begin = copy.to < staged->begin ? copy.to : staged->begin;
        staged->end = copy.to + copy.bytes > staged->end ? copy.to + copy.bytes : staged->end;
    }
    staged->batch = staging->number;
    staged->group = copy.group = staging->group;
    staging->copies.list[staging->copies.count++] = copy;
    staging->stats.copies++;
    staging->stats.bytes += copy.bytes;
    return LAP_OK;
}

/* data NULL: writes zeroes. */
static enum lap_status stage_bytes(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                   VkBuffer buffer, VkDeviceSize offset, const uint8_t *data, size_t bytes)
{
    struct replay_staging *staging = dev->memory.planner->staging;
    enum lap_status status = LAP_OK;

    while (status == LAP_OK && bytes) {
        size_t most = (size_t)staging->bytes / 4, piece = bytes < most ? bytes : most;
        struct copy copy = {.buffer = buffer, .to = offset, .bytes = piece};
        status = reserve(r, dev, piece, &copy.from);
        if (status != LAP_OK)
            return status;
        if (data)
            memcpy(staging->host + copy.from, data, piece);
        else
            memset(staging->host + copy.from, 0, piece);
        status = add_copy(r, dev, staged, &copy);
        data = data ? data + piece : NULL;
        offset += piece;
        bytes -= piece;
    }
    return status;
}

enum lap_status replay_staging_write(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                     VkBuffer buffer, VkDeviceSize offset, const void *data, size_t bytes)
{
    VkDeviceSize first = (offset + 3) & ~(VkDeviceSize)3, last = (offset + bytes) & ~(VkDeviceSize)3;
    struct copy fill = {.buffer = buffer, .to = first, .bytes = last - first, .fill = true};
    enum lap_status status = need_ring(r, dev);

    if (status != LAP_OK || data || first >= last)
        return status == LAP_OK ? stage_bytes(r, dev, staged, buffer, offset, data, bytes) : status;
    status = stage_bytes(r, dev, staged, buffer, offset, NULL, (size_t)(first - offset));
    if (status == LAP_OK)
        status = add_copy(r, dev, staged, &fill);
    return status == LAP_OK ? stage_bytes(r, dev, staged, buffer, last, NULL, (size_t)(offset + bytes - last)) : status;
}

enum lap_status replay_staging_zero_new(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                        VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes)
{
    enum lap_status status = need_staging(r, dev);
    struct replay_staging *staging;

    if (status == LAP_OK)
        status = need_room(r, &dev->memory.planner->staging->fresh);
    if (status != LAP_OK)
        return status;
    staging = dev->memory.planner->staging;
    staging->fresh.list[staging->fresh.count++] =
        (struct copy){.buffer = buffer, .to = offset, .bytes = bytes, .fill = true};
    staged->batch = staging->number;
    staged->group = 0; /* in no group: the next copy through the same buffer begins one */
    staging->stats.fresh_bytes += bytes;
    return LAP_OK;
}

/* ---- images ---- */

static enum lap_status add_step(struct replay *r, struct replay_device *dev, struct replay_staged *to,
                                struct replay_staged *from, const struct replay_image_step *step)
{
    struct replay_staging *staging = dev->memory.planner->staging;
    struct replay_image_steps *images = &staging->images;

    if (!lap_array_grow(&images->list, sizeof *images->list, &images->capacity, images->count + 1))
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    images->list[images->count] = *step;
    images->list[images->count++].at = staging->copies.count;
    staging->group++;
    staging->stats.copies++;
    to->batch = staging->number;
    if (from)
        from->batch = staging->number;
    return LAP_OK;
}

enum lap_status replay_staging_image_limit(struct replay *r, struct replay_device *dev, uint64_t *out_bytes)
{
    enum lap_status status = need_ring(r, dev);

    *out_bytes = status == LAP_OK ? dev->memory.planner->staging->bytes / 4 : 0;
    return status;
}

enum lap_status replay_staging_image_step(struct replay *r, struct replay_device *dev, struct replay_staged *to,
                                          struct replay_staged *from, const struct replay_image_step *step)
{
    enum lap_status status = need_staging(r, dev);

    return status == LAP_OK ? add_step(r, dev, to, from, step) : status;
}

enum lap_status replay_staging_image_write(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                           const struct replay_image_step *step, const void *texels, size_t bytes,
                                           uint32_t texel_bytes)
{
    /* A multiple of the size of a block, and of 4 (VUID-vkCmdCopyBufferToImage-dstImage-07975 and 07978). */
    const uint32_t alignment = texel_bytes * (texel_bytes % 4 == 0 ? 1 : texel_bytes % 2 == 0 ? 2 : 4);
    enum lap_status status = need_ring(r, dev);
    struct replay_image_step placed = *step;
    struct replay_staging *staging;
    VkDeviceSize offset = 0;

    if (status != LAP_OK)
        return status;
    staging = dev->memory.planner->staging;
    if (bytes + alignment > staging->bytes)
        return replay_fail(r, "%zu bytes of texels don't fit into %" PRIu64, bytes, (uint64_t)staging->bytes);
    status = reserve(r, dev, bytes + alignment, &offset);
    if (status != LAP_OK)
        return status;
    placed.region.bufferOffset = (offset + alignment - 1) / alignment * alignment;
    memcpy(staging->host + placed.region.bufferOffset, texels, bytes);
    staging->stats.bytes += bytes;
    return add_step(r, dev, staged, NULL, &placed);
}

void replay_staging_order(struct replay_device *dev)
{
    if (dev->memory.planner->staging)
        dev->memory.planner->staging->group++;
}

/* ---- submission ---- */

static bool has_fills(const struct replay_staging *staging)
{
    for (size_t i = 0; i < staging->copies.count; i++)
        if (staging->copies.list[i].fill)
            return true;
    return staging->fresh.count != 0;
}

/* The requested queue if it can copy, else the main one. */
static const struct replay_queue *queue_for(const struct replay_device *dev, VkQueue live)
{
    const VkQueueFlags work = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    const struct replay_queue *queue = replay_queue_find(dev, live);

    if (dev->memory.planner->staging->images.count) /* of any aspect and extent */
        return dev->queues.main;
    /* Before Vulkan 1.1, transfer-only queues do not support vkCmdFillBuffer. */
    if (queue &&
        (queue->flags & work || (queue->flags & VK_QUEUE_TRANSFER_BIT && !has_fills(dev->memory.planner->staging))))
        return queue;
    return dev->queues.main;
}

/* Queues run independently, so the host waits for the batches on other queues. */
static enum lap_status wait_for_other_queues(struct replay *r, struct replay_device *dev, VkQueue queue)
{
    struct replay_staging *staging = dev->memory.planner->staging;
    enum lap_status status = LAP_OK;

    for (struct batch *batch = staging->first, *next; batch && status == LAP_OK; batch = next) {
        next = batch->next;
        if (batch->queue != queue)
            status = wait_for_batch(r, dev, batch);
    }
    return status;
}

enum lap_status replay_staging_flush(struct replay *r, struct replay_device *dev, VkQueue queue)
{
    struct replay_staging *staging = dev->memory.planner ? dev->memory.planner->staging : NULL;
    const struct replay_queue *copies_on;
    enum lap_status status;

    if (staging && staging->failed != LAP_OK)
        return lap_fail(staging->failed, "%s", staging->sentence);
    if (!staging || (!staging->first && !has_gathered(staging)))
        return LAP_OK;
    status = retire_finished(r, dev);
    copies_on = queue_for(dev, queue);
    if (status == LAP_OK && has_gathered(staging)) {
        status = wait_for_other_queues(r, dev, copies_on->live);
        if (status == LAP_OK)
            status = hand_over(r, dev, copies_on);
    }
    return status == LAP_OK && dev->queues.count > 1 ? wait_for_other_queues(r, dev, queue) : status;
}

/* A host signal may release work on any queue that reads the staged bytes. */
static enum lap_status finish_all(struct replay *r, struct replay_device *dev)
{
    enum lap_status status = replay_staging_flush(r, dev, dev->queues.main ? dev->queues.main->live : VK_NULL_HANDLE);

    for (struct batch *batch = dev->memory.planner->staging->first, *next; batch && status == LAP_OK; batch = next) {
        next = batch->next;
        status = wait_for_batch(r, dev, batch);
    }
    return status;
}

enum lap_status replay_staging_finish(struct replay *r, struct replay_device *dev)
{
    struct replay_staging *staging = dev->memory.planner ? dev->memory.planner->staging : NULL;
    enum lap_status status = LAP_OK;

    if (!staging || (staging->failed == LAP_OK && !staging->first && !has_gathered(staging)))
        return LAP_OK;
    status = finish_all(r, dev);
    while (status == LAP_OK && staging->first)
        status = wait_for_batch(r, dev, staging->first);
    return status;
}

bool replay_staging_is_settled_by(uint32_t command)
{
    return command == GEN_vkQueueSubmit || command == GEN_vkQueueSubmit2 || command == GEN_vkSetEvent ||
           command == GEN_vkSignalSemaphore;
}

enum lap_status replay_staging_before(struct replay *r, struct replay_device *dev, uint32_t command, const void *args)
{
    bool staged = dev->memory.planner && dev->memory.planner->staging;

    if (!dev->memory.planner)
        return LAP_OK;
    switch (command) {
    case GEN_vkQueueSubmit:
        replay_memory_in_use(dev);
        return staged ? replay_staging_flush(r, dev, ((const struct gen_args_vkQueueSubmit *)args)->queue) : LAP_OK;
    case GEN_vkQueueSubmit2:
        replay_memory_in_use(dev);
        return staged ? replay_staging_flush(r, dev, ((const struct gen_args_vkQueueSubmit2 *)args)->queue) : LAP_OK;
    case GEN_vkSetEvent:
    case GEN_vkSignalSemaphore:
        return staged ? finish_all(r, dev) : LAP_OK;
    default:
        return LAP_OK;
    }
}

static void drop(const struct copies *copies, VkBuffer buffer)
{
    for (size_t i = 0; i < copies->count; i++)
        if (copies->list[i].buffer == buffer)
            copies->list[i].buffer = VK_NULL_HANDLE;
}

void replay_staging_settle(struct replay *r, struct replay_device *dev, struct replay_staged *staged, VkBuffer buffer)
{
    struct replay_staging *staging = dev->memory.planner ? dev->memory.planner->staging : NULL;
    enum lap_status status;

    if (!staging || !staged->batch)
        return;
    status = staging->failed;
    if (staged->batch == staging->number) {
        drop(&staging->copies, buffer);
        drop(&staging->fresh, buffer);
    }
    for (struct batch *batch = staging->first, *next; batch && status == LAP_OK; batch = next) {
        next = batch->next;
        if (batch->number <= staged->batch)
            status = wait_for_batch(r, dev, batch);
    }
    keep_failure(staging, status);
    *staged = (struct replay_staged){0};
}

/* Whether other images get copies of this one's contents. */
static bool is_copied_from(const struct replay_image_steps *steps, VkImage image)
{
    for (size_t i = 0; i < steps->count; i++)
        if (steps->list[i].kind == REPLAY_STEP_COPY && steps->list[i].to.image && steps->list[i].from.image == image &&
            steps->list[i].to.image != image)
            return true;
    return false;
}

void replay_staging_settle_image(struct replay *r, struct replay_device *dev, struct replay_staged *staged,
                                 VkImage image)
{
    struct replay_staging *staging = dev->memory.planner ? dev->memory.planner->staging : NULL;

    if (!staging || !staged->batch)
        return;
    if (staged->batch == staging->number && is_copied_from(&staging->images, image))
        keep_failure(staging, replay_staging_flush(r, dev, VK_NULL_HANDLE));
    if (staged->batch == staging->number)
        for (size_t i = 0; i < staging->images.count; i++)
            if (staging->images.list[i].to.image == image || staging->images.list[i].from.image == image)
                staging->images.list[i].to.image = VK_NULL_HANDLE;
    replay_staging_settle(r, dev, staged, VK_NULL_HANDLE);
}
