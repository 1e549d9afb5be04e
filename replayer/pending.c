/* SPDX-License-Identifier: MIT */
#include "replayer/pending.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/descriptor.h"
#include "replayer/planner.h"
#include "replayer/player.h"
#include "replayer/queues.h"
#include "replayer/submit.h"
#include "replayer/wait.h"

#define FIRST_ENDED 64u
#define MOST_ENDED  65536u /* then the device is waited for */
#define FIRST_TOLD  16u
#define MOST_TOLD   4096u /* of a queue; then the oldest is waited for */

/* ---- what is put aside ---- */

static void end_one(struct replay_device *dev, const struct replay_ended *ended)
{
    if (ended->type == GEN_HANDLE_VkDeviceMemory) {
        replay_memory_free(dev, ended->memory_type, gen_VkDeviceMemory(ended->live), ended->bytes);
    } else if (ended->type == GEN_HANDLE_VkCommandBuffer) {
        VkCommandBuffer commands = gen_VkCommandBuffer(ended->live);
        dev->vk.FreeCommandBuffers(dev->live, gen_VkCommandPool(ended->parent), 1, &commands);
    } else if (ended->type == GEN_HANDLE_VkDescriptorSet) {
        VkDescriptorSet set = gen_VkDescriptorSet(ended->live);
        (void)dev->vk.FreeDescriptorSets(dev->live, gen_VkDescriptorPool(ended->parent), 1, &set);
    } else if (ended->type == GEN_HANDLE_VkDescriptorPool && ended->parent) {
        replay_descriptor_pool_over(dev, (struct replay_descriptor_pool *)(uintptr_t)ended->parent,
                                    gen_VkDescriptorPool(ended->live));
    } else {
        gen_destroy_live(dev, ended->type, ended->live);
    }
}

static bool is_over(const struct replay_queue *queue)
{
    return queue->finished == queue->given;
}

/* After more is known to be over: the oldest first, so what belongs to something ends before it. */
static void look(struct replay_device *dev)
{
    struct replay_pending *pending = &dev->pending;
    uint64_t safe = UINT64_MAX;
    size_t gone = 0;

    for (uint32_t i = 0; i < dev->queue_count; i++)
        if (!is_over(&dev->queues[i]) && dev->queues[i].finished < safe)
            safe = dev->queues[i].finished;
    if (pending->bind_count && pending->binds->given - 1 < safe)
        safe = pending->binds->given - 1;
    while (pending->first < pending->count && pending->ended[pending->first].given <= safe) {
        end_one(dev, &pending->ended[pending->first++]);
        gone++;
    }
    if (gone)
        replay_objects_give(pending->r, gone);
    if (pending->first == pending->count)
        pending->first = pending->count = 0;
    pending->busy = safe != UINT64_MAX || pending->count;
}

static bool need_room(struct replay_pending *pending)
{
    size_t capacity = pending->capacity ? 2 * pending->capacity : FIRST_ENDED;
    struct replay_ended *more;

    if (pending->count < pending->capacity)
        return true;
    if (pending->first > pending->count / 2) {
        pending->count -= pending->first;
        memmove(pending->ended, pending->ended + pending->first, pending->count * sizeof *pending->ended);
        pending->first = 0;
        return true;
    }
    more = realloc(pending->ended, capacity * sizeof *more);
    if (!more)
        return false;
    pending->ended = more;
    pending->capacity = capacity;
    return true;
}

static bool is_full(const struct replay_pending *pending)
{
    return pending->count - pending->first >= MOST_ENDED;
}

/* False: there is no need, or no room. */
static bool add(struct replay_pending *pending, struct replay_ended ended)
{
    if (!pending->busy || !need_room(pending) || replay_objects_take(pending->r, 1) != LAP_OK)
        return false;
    ended.given = pending->given;
    pending->ended[pending->count++] = ended;
    return true;
}

static void put_aside(struct replay_device *dev, struct replay_ended ended)
{
    struct replay_pending *pending = &dev->pending;

    if (is_full(pending))
        (void)replay_pending_settle(dev);
    if (add(pending, ended))
        return;
    if (!pending->busy || replay_pending_settle(dev)) {
        end_one(dev, &ended);
    } else if (!pending->said_lost) {
        lap_log(pending->r->log, LAP_LOG_WARNING, "%s is not destroyed: there is no memory, and the device is at work",
                gen_handle_names[ended.type]);
        pending->said_lost = true;
    }
}

void replay_pending_end(struct replay_device *dev, enum gen_handle_type type, uint64_t live, uint64_t parent)
{
    if (live)
        put_aside(dev, (struct replay_ended){.type = type, .live = live, .parent = parent});
}

void replay_pending_end_memory(struct replay_device *dev, uint32_t memory_type, VkDeviceMemory memory,
                               VkDeviceSize bytes)
{
    put_aside(dev, (struct replay_ended){.type = GEN_HANDLE_VkDeviceMemory,
                                         .memory_type = memory_type,
                                         .live = gen_u64_VkDeviceMemory(memory),
                                         .bytes = bytes});
}

bool replay_pending_retire(struct replay_device *dev, struct replay_descriptor_pool *pool, VkDescriptorPool live)
{
    return !is_full(&dev->pending) && add(&dev->pending, (struct replay_ended){.type = GEN_HANDLE_VkDescriptorPool,
                                                                               .live = gen_u64_VkDescriptorPool(live),
                                                                               .parent = (uintptr_t)pool});
}

/* ---- what is over ---- */

static void finished(struct replay_queue *queue, uint64_t given)
{
    if (given > queue->finished)
        queue->finished = given;
}

/* Only what is under way is found. */
static struct replay_told *find(struct replay_device *dev, VkFence fence, struct replay_queue **out_queue)
{
    for (uint32_t i = 0; i < dev->queue_count; i++)
        for (uint32_t j = 0; j < dev->queues[i].told_count; j++)
            if (dev->queues[i].told[j].fence == fence && dev->queues[i].told[j].given > dev->queues[i].finished) {
                *out_queue = &dev->queues[i];
                return &dev->queues[i].told[j];
            }
    return NULL;
}

static void drop_bind(struct replay_device *dev, uint32_t number)
{
    struct replay_pending *pending = &dev->pending;
    struct replay_bind *bind = &pending->binds[number];

    if (bind->own)
        dev->vk.DestroyFence(dev->live, bind->fence, NULL);
    memmove(bind, bind + 1, (--pending->bind_count - number) * sizeof *bind);
}

static void drop(struct replay_queue *queue, struct replay_told *first, uint32_t count)
{
    queue->told_count -= count;
    memmove(first, first + count, (size_t)(queue->told + queue->told_count - first) * sizeof *first);
}

static void take_back(struct replay_device *dev, struct replay_queue *queue, VkFence fence)
{
    if (dev->vk.ResetFences(dev->live, 1, &fence) == VK_SUCCESS) {
        queue->spare[queue->spare_count++] = fence;
    } else {
        dev->vk.DestroyFence(dev->live, fence, NULL);
        queue->own_count--;
    }
}

/* Asks, from the oldest on; the replay's own in any case, since they are used again. */
static void poll(struct replay_device *dev, struct replay_queue *queue)
{
    uint32_t gone = 0;

    while (gone < queue->told_count) {
        const struct replay_told *told = &queue->told[gone];
        if ((told->own || told->given > queue->finished) &&
            dev->vk.GetFenceStatus(dev->live, told->fence) != VK_SUCCESS)
            break;
        finished(queue, told->given);
        if (told->own)
            take_back(dev, queue, told->fence);
        gone++;
    }
    if (gone)
        drop(queue, queue->told, gone);
}

static void poll_all(struct replay_device *dev)
{
    for (uint32_t i = 0; i < dev->queue_count; i++)
        if (dev->queues[i].told_count)
            poll(dev, &dev->queues[i]);
    for (uint32_t i = dev->pending.bind_count; i-- > 0;)
        if (dev->vk.GetFenceStatus(dev->live, dev->pending.binds[i].fence) == VK_SUCCESS)
            drop_bind(dev, i);
    look(dev);
}

bool replay_pending_has_commands(const struct replay_device *dev)
{
    const struct replay_pending *pending = &dev->pending;
    size_t i = pending->first;

    while (i < pending->count && pending->ended[i].type != GEN_HANDLE_VkCommandBuffer &&
           pending->ended[i].type != GEN_HANDLE_VkCommandPool)
        i++;
    return i < pending->count;
}

bool replay_pending_look(struct replay_device *dev)
{
    if (dev->pending.busy)
        poll_all(dev);
    return dev->pending.busy;
}

enum lap_status replay_pending_await(struct replay *r, struct replay_device *dev, uint32_t number, uint64_t given,
                                     const char *what)
{
    struct replay_queue *queue = &dev->queues[number];
    const struct replay_told *told = queue->told;
    enum lap_status status;

    if (replay_pending_is_over(dev, number, given))
        return LAP_OK;
    poll_all(dev);
    if (replay_pending_is_over(dev, number, given))
        return LAP_OK;
    while (told < queue->told + queue->told_count && told->given < given)
        told++;
    if (told == queue->told + queue->told_count)
        return replay_wait_queue(r, dev, queue->live, what);
    given = told->given;
    status = replay_wait_fence(r, dev, told->fence, what);
    if (status == LAP_OK) {
        finished(queue, given);
        poll_all(dev);
    }
    return status;
}

bool replay_pending_settle(struct replay_device *dev)
{
    struct replay_pending *pending = &dev->pending;

    if (!pending->busy || pending->stuck || replay_submits_await(dev))
        return false;
    pending->stuck = replay_wait_device(pending->r, dev, "what objects that end are used by") != LAP_OK;
    return !pending->stuck;
}

/* The first of a queue's that is not over; NULL: none tells of it. */
static const struct replay_told *first_told(const struct replay_queue *queue)
{
    for (uint32_t i = 0; i < queue->told_count; i++)
        if (queue->told[i].given > queue->finished)
            return &queue->told[i];
    return NULL;
}

bool replay_pending_advance(struct replay_device *dev)
{
    struct replay_pending *pending = &dev->pending;
    size_t before = pending->count - pending->first;
    const struct replay_told *oldest = NULL;
    uint32_t number = 0;

    if (!pending->busy || pending->stuck)
        return false;
    poll_all(dev);
    if (pending->count - pending->first < before)
        return true;
    for (uint32_t i = 0; i < dev->queue_count; i++) {
        const struct replay_told *first = first_told(&dev->queues[i]);
        if (first && (!oldest || first->given < oldest->given)) {
            oldest = first;
            number = i;
        }
    }
    if (!oldest)
        return replay_pending_settle(dev);
    if (replay_submits_await(dev))
        return false;
    pending->stuck =
        replay_pending_await(pending->r, dev, number, oldest->given, "what objects that end are used by") != LAP_OK;
    return !pending->stuck;
}

/* ---- what is given ---- */

static bool need_told(struct replay_queue *queue)
{
    uint32_t capacity = queue->told_capacity ? 2 * queue->told_capacity : FIRST_TOLD;
    struct replay_told *more;

    if (queue->told_count < queue->told_capacity)
        return true;
    more = capacity <= MOST_TOLD ? realloc(queue->told, capacity * sizeof *more) : NULL;
    if (!more)
        return false;
    queue->told = more;
    queue->told_capacity = capacity;
    return true;
}

/* 0: there is none. */
static VkFence take_own(struct replay_device *dev, struct replay_queue *queue)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;

    if (!dev->vk.CreateFence || !dev->vk.ResetFences)
        return VK_NULL_HANDLE;
    if (queue->told_count && queue->told->own)
        poll(dev, queue);
    if (queue->spare_count)
        return queue->spare[--queue->spare_count];
    if (queue->own_count == REPLAY_OWN_FENCES || dev->vk.CreateFence(dev->live, &info, NULL, &fence) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    queue->own_count++;
    return fence;
}

enum lap_status replay_pending_before(struct replay *r, struct replay_device *dev, VkQueue live, VkFence fence,
                                      struct replay_telling *out_telling)
{
    struct replay_queue *queue = replay_queue_find(dev, live);
    enum lap_status status = LAP_OK;

    *out_telling = (struct replay_telling){.fence = fence};
    if (!queue || !dev->vk.GetFenceStatus)
        return LAP_OK;
    if (fence)
        status = replay_pending_reset(r, dev, 1, &fence);
    if (status == LAP_OK && queue->told_count == MOST_TOLD)
        status = replay_pending_await(r, dev, (uint32_t)(queue - dev->queues), queue->told->given, "the oldest work");
    if (status != LAP_OK || !need_told(queue))
        return status;
    if (fence) {
        out_telling->tells = dev->vk.GetFenceStatus(dev->live, fence) == VK_NOT_READY;
    } else {
        out_telling->fence = take_own(dev, queue);
        out_telling->tells = out_telling->own = out_telling->fence != VK_NULL_HANDLE;
    }
    return LAP_OK;
}

static void tell(struct replay_queue *queue, VkFence fence, bool own)
{
    queue->told[queue->told_count++] = (struct replay_told){fence, queue->given, own};
}

/* Behind work whose own fence does not tell, for whoever waits for that. */
static void mark(struct replay_device *dev, struct replay_queue *queue)
{
    VkFence fence = need_told(queue) ? take_own(dev, queue) : VK_NULL_HANDLE;

    if (!fence)
        return;
    if (dev->vk.QueueSubmit(queue->live, 0, NULL, fence) == VK_SUCCESS)
        tell(queue, fence, true);
    else
        queue->spare[queue->spare_count++] = fence;
}

void replay_pending_given(struct replay *r, struct replay_device *dev, VkQueue live,
                          const struct replay_telling *telling, bool done)
{
    struct replay_queue *queue = replay_queue_find(dev, live);
    struct replay_pending *pending = &dev->pending;

    if (!queue)
        return;
    pending->r = r;
    pending->busy = true;
    queue->given = ++pending->given;
    if (telling->tells && done)
        tell(queue, telling->fence, telling->own);
    else if (telling->own)
        queue->spare[queue->spare_count++] = telling->fence;
    else if (telling->fence)
        mark(dev, queue);
    if (pending->count)
        poll_all(dev);
}

enum lap_status replay_pending_signal(struct replay *r, struct replay_device *dev, VkQueue queue, VkFence fence)
{
    struct replay_telling telling;
    enum lap_status status = replay_pending_before(r, dev, queue, fence, &telling);

    if (status != LAP_OK)
        return status;
    status = replay_result(r, dev->vk.QueueSubmit(queue, 0, NULL, fence));
    replay_pending_given(r, dev, queue, &telling, status == LAP_OK);
    return status;
}

enum lap_status replay_pending_before_bind(struct replay *r, struct replay_device *dev, VkFence fence,
                                           struct replay_telling *out_telling)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct replay_pending *pending = &dev->pending;
    enum lap_status status = LAP_OK;

    *out_telling = (struct replay_telling){.fence = fence};
    if (!dev->vk.GetFenceStatus || !dev->vk.CreateFence)
        return LAP_OK;
    if (fence)
        status = replay_pending_reset(r, dev, 1, &fence);
    if (status == LAP_OK && pending->bind_count == REPLAY_MOST_BINDS)
        status = replay_pending_await_binds(r, dev, "sparse binds");
    if (status != LAP_OK)
        return status;
    if (!pending->binds)
        pending->binds = malloc(REPLAY_MOST_BINDS * sizeof *pending->binds);
    if (!pending->binds)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for sparse binds");
    out_telling->tells = true;
    if (fence && dev->vk.GetFenceStatus(dev->live, fence) == VK_NOT_READY)
        return LAP_OK;
    out_telling->own = true;
    return replay_result(r, dev->vk.CreateFence(dev->live, &info, NULL, &out_telling->fence));
}

void replay_pending_given_bind(struct replay *r, struct replay_device *dev, const struct replay_telling *telling,
                               bool done)
{
    struct replay_pending *pending = &dev->pending;

    if (!telling->tells)
        return;
    pending->r = r;
    pending->busy = true;
    pending->binds[pending->bind_count++] = (struct replay_bind){telling->fence, ++pending->given, telling->own};
    if (!done)
        drop_bind(dev, pending->bind_count - 1);
    poll_all(dev);
}

enum lap_status replay_pending_await_binds(struct replay *r, struct replay_device *dev, const char *what)
{
    enum lap_status status = LAP_OK;

    while (dev->pending.bind_count && status == LAP_OK) {
        status = replay_wait_fence(r, dev, dev->pending.binds->fence, what);
        if (status == LAP_OK)
            drop_bind(dev, 0);
    }
    if (dev->pending.busy)
        poll_all(dev);
    return status;
}

void replay_pending_seen(struct replay_device *dev, uint32_t count, const VkFence *fences)
{
    struct replay_queue *queue;

    for (uint32_t i = 0; i < count && dev->pending.busy; i++) {
        const struct replay_told *told = find(dev, fences[i], &queue);
        if (told)
            finished(queue, told->given);
    }
    if (dev->pending.busy)
        poll_all(dev);
}

void replay_pending_over(struct replay_device *dev, struct replay_queue *queue)
{
    finished(queue, queue->given);
    if (dev->pending.busy)
        poll_all(dev);
}

static bool is_one_of(VkFence fence, uint32_t count, const VkFence *fences)
{
    uint32_t i = 0;

    while (i < count && fences[i] != fence)
        i++;
    return i < count;
}

enum lap_status replay_pending_reset(struct replay *r, struct replay_device *dev, uint32_t count, const VkFence *fences)
{
    enum lap_status status = LAP_OK;
    struct replay_queue *queue;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        const struct replay_told *told = find(dev, fences[i], &queue);
        if (!told)
            continue;
        status = replay_wait_fence(r, dev, told->fence, "a fence that is under way");
        if (status == LAP_OK)
            finished(queue, told->given);
    }
    for (uint32_t i = dev->pending.bind_count; i-- > 0 && status == LAP_OK;) {
        if (!is_one_of(dev->pending.binds[i].fence, count, fences))
            continue;
        status = replay_wait_fence(r, dev, dev->pending.binds[i].fence, "a fence that is under way");
        if (status == LAP_OK)
            drop_bind(dev, i);
    }
    if (dev->pending.busy)
        look(dev);
    return status;
}

void replay_pending_finish(struct replay_device *dev)
{
    struct replay_pending *pending = &dev->pending;

    for (uint32_t i = 0; i < dev->queue_count; i++)
        finished(&dev->queues[i], dev->queues[i].given);
    while (pending->bind_count)
        drop_bind(dev, pending->bind_count - 1);
    look(dev);
    for (uint32_t i = 0; i < dev->queue_count; i++) {
        struct replay_queue *queue = &dev->queues[i];
        for (uint32_t j = 0; j < queue->told_count; j++)
            if (queue->told[j].own)
                dev->vk.DestroyFence(dev->live, queue->told[j].fence, NULL);
        while (queue->spare_count)
            dev->vk.DestroyFence(dev->live, queue->spare[--queue->spare_count], NULL);
        queue->told_count = 0;
        free(queue->told);
        queue->told = NULL;
    }
    free(pending->binds);
    pending->binds = NULL;
    free(pending->ended);
    pending->ended = NULL;
    pending->capacity = 0;
}
