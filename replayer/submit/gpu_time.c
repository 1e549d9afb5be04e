/* SPDX-License-Identifier: MIT */
#include "replayer/submit/gpu_time.h"

#include "replayer/device/queues.h"

#include <stdlib.h>

/* The timestamps around one call; reused after the call has ended. */
struct slot {
    VkQueryPool queries;         /* two timestamps */
    VkCommandBuffer commands[2]; /* they write the timestamps */
    VkFence fence;               /* signalled behind the second command buffer */
    uint64_t frame;
    struct slot *next;
};

struct queue {
    const struct replay_device *dev;
    VkQueue live;
    VkCommandPool pool; /* null: this queue has no timestamps */
    uint64_t mask;      /* valid bits of a timestamp */
    double tick_ms;
    uint64_t last_end;
    bool has_last;
    struct slot *open;         /* between begin and end */
    struct slot *first, *last; /* in flight, oldest first */
    struct slot *idle;
    struct queue *next;
};

struct replay_gpu_times {
    replay_gpu_time_fn took;
    void *user;
    struct queue *queues;
};

struct replay_gpu_times *replay_gpu_times_create(replay_gpu_time_fn took, void *user)
{
    struct replay_gpu_times *times = calloc(1, sizeof *times);

    if (times)
        *times = (struct replay_gpu_times){.took = took, .user = user};
    return times;
}

void replay_gpu_times_destroy(struct replay_gpu_times **times)
{
    free(*times);
    *times = NULL;
}

/* ---- queues ---- */

uint32_t replay_timestamp_bits(const struct replay_device *dev, uint32_t family)
{
    uint32_t count = 0, bits = 0;
    VkQueueFamilyProperties *families;

    dev->instance->vk.GetPhysicalDeviceQueueFamilyProperties(dev->gpu, &count, NULL);
    families = calloc(count ? count : 1, sizeof *families);
    if (!families)
        return 0;
    dev->instance->vk.GetPhysicalDeviceQueueFamilyProperties(dev->gpu, &count, families);
    if (family < count)
        bits = families[family].timestampValidBits;
    free(families);
    return bits;
}

static void prepare(struct queue *queue)
{
    const struct replay_device *dev = queue->dev;
    const struct replay_queue *known = replay_queue_find(dev, queue->live);
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    uint32_t bits;

    if (!known || !(known->flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)))
        return;
    bits = replay_timestamp_bits(dev, known->family);
    info.queueFamilyIndex = known->family;
    if (bits == 0 || dev->vk.CreateCommandPool(dev->live, &info, NULL, &queue->pool) != VK_SUCCESS) {
        queue->pool = VK_NULL_HANDLE;
        return;
    }
    queue->mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
    queue->tick_ms = (double)dev->instance->properties.limits.timestampPeriod / 1e6;
}

/* NULL: out of memory. */
static struct queue *queue_of(struct replay_gpu_times *times, const struct replay_device *dev, VkQueue live)
{
    struct queue *queue = times->queues;

    while (queue && (queue->live != live || queue->dev != dev))
        queue = queue->next;
    if (queue)
        return queue;
    queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    *queue = (struct queue){.dev = dev, .live = live, .next = times->queues};
    times->queues = queue;
    prepare(queue);
    return queue;
}

/* ---- slots ---- */

static void destroy_slot(const struct queue *queue, struct slot *slot)
{
    const struct replay_device *dev = queue->dev;

    if (slot->fence)
        dev->vk.DestroyFence(dev->live, slot->fence, NULL);
    if (slot->queries)
        dev->vk.DestroyQueryPool(dev->live, slot->queries, NULL);
    free(slot); /* the pool frees its command buffers */
}

static bool record(const struct queue *queue, const struct slot *slot, uint32_t number)
{
    const struct replay_device *dev = queue->dev;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands = slot->commands[number];

    if (dev->vk.BeginCommandBuffer(commands, &info) != VK_SUCCESS)
        return false;
    if (number == 0)
        dev->vk.CmdResetQueryPool(commands, slot->queries, 0, 2);
    dev->vk.CmdWriteTimestamp(commands,
                              number == 0 ? VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                              slot->queries, number);
    return dev->vk.EndCommandBuffer(commands) == VK_SUCCESS;
}

static struct slot *create_slot(const struct queue *queue)
{
    const struct replay_device *dev = queue->dev;
    VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = queue->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 2};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct slot *slot = calloc(1, sizeof *slot);

    if (!slot)
        return NULL;
    if (dev->vk.CreateQueryPool(dev->live, &queries, NULL, &slot->queries) == VK_SUCCESS &&
        dev->vk.CreateFence(dev->live, &fence, NULL, &slot->fence) == VK_SUCCESS &&
        dev->vk.AllocateCommandBuffers(dev->live, &commands, slot->commands) == VK_SUCCESS && record(queue, slot, 0) &&
        record(queue, slot, 1))
        return slot;
    destroy_slot(queue, slot);
    return NULL;
}

static bool submit(const struct queue *queue, const struct slot *slot, uint32_t number)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &slot->commands[number]};

    return queue->dev->vk.QueueSubmit(queue->live, 1, &info, number ? slot->fence : VK_NULL_HANDLE) == VK_SUCCESS;
}

/* ---- results ---- */

static void report(struct replay_gpu_times *times, struct queue *queue, const struct slot *slot)
{
    const struct replay_device *dev = queue->dev;
    uint64_t ticks[2], begin, busy;

    if (dev->vk.GetQueryPoolResults(dev->live, slot->queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                    VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
        return;
    /* Differences are modulo the valid bits: the clock may have wrapped. */
    begin = ticks[0] & queue->mask;
    if (queue->has_last && ((queue->last_end - begin) & queue->mask) < queue->mask / 2)
        begin = queue->last_end;
    queue->last_end = ticks[1] & queue->mask;
    queue->has_last = true;
    busy = (queue->last_end - begin) & queue->mask;
    if (busy < queue->mask / 2) /* otherwise the clock ran backwards */
        times->took(times->user, slot->frame, (double)busy * queue->tick_ms);
}

static void collect(struct replay_gpu_times *times, struct queue *queue)
{
    const struct replay_device *dev = queue->dev;
    struct slot *slot;

    while ((slot = queue->first) != NULL && dev->vk.GetFenceStatus(dev->live, slot->fence) == VK_SUCCESS) {
        queue->first = slot->next;
        report(times, queue, slot);
        if (dev->vk.ResetFences(dev->live, 1, &slot->fence) != VK_SUCCESS) {
            destroy_slot(queue, slot);
            continue;
        }
        slot->next = queue->idle;
        queue->idle = slot;
    }
}

void replay_gpu_times_begin(struct replay_gpu_times *times, const struct replay_device *dev, VkQueue live,
                            uint64_t frame)
{
    struct queue *queue = queue_of(times, dev, live);
    struct slot *slot;

    if (!queue || !queue->pool || queue->open)
        return;
    collect(times, queue);
    slot = queue->idle;
    if (slot)
        queue->idle = slot->next;
    else
        slot = create_slot(queue);
    if (!slot)
        return;
    slot->frame = frame;
    slot->next = NULL;
    if (submit(queue, slot, 0))
        queue->open = slot;
    else
        destroy_slot(queue, slot);
}

void replay_gpu_times_end(struct replay_gpu_times *times, const struct replay_device *dev, VkQueue live)
{
    struct queue *queue = queue_of(times, dev, live);
    struct slot *slot = queue ? queue->open : NULL;

    if (!slot || !submit(queue, slot, 1))
        return;
    queue->open = NULL;
    if (queue->first)
        queue->last->next = slot;
    else
        queue->first = slot;
    queue->last = slot;
}

void replay_gpu_times_finish(struct replay_gpu_times *times, const struct replay_device *dev)
{
    for (struct queue **at = &times->queues; *at;) {
        struct queue *queue = *at;
        if (queue->dev != dev) {
            at = &queue->next;
            continue;
        }
        collect(times, queue);
        if (queue->open)
            destroy_slot(queue, queue->open);
        for (struct slot *slot = queue->first, *next; slot; slot = next) {
            next = slot->next;
            destroy_slot(queue, slot);
        }
        for (struct slot *slot = queue->idle, *next; slot; slot = next) {
            next = slot->next;
            destroy_slot(queue, slot);
        }
        if (queue->pool)
            dev->vk.DestroyCommandPool(dev->live, queue->pool, NULL);
        *at = queue->next;
        free(queue);
    }
}
