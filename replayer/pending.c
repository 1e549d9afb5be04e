/* SPDX-License-Identifier: MIT */
#include "replayer/pending.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/player.h"
#include "replayer/queues.h"
#include "replayer/submit.h"
#include "replayer/wait.h"

#define FIRST_ENDED 64u
#define MOST_ENDED  65536u /* then the device is waited for */

/* ---- what is put aside ---- */

static void end_one(struct replay_device *dev, const struct replay_ended *ended)
{
    if (ended->type == GEN_HANDLE_VkDeviceMemory) {
        dev->vk.FreeMemory(dev->live, gen_VkDeviceMemory(ended->live), NULL);
    } else if (ended->type == GEN_HANDLE_VkCommandBuffer) {
        VkCommandBuffer commands = gen_VkCommandBuffer(ended->live);
        dev->vk.FreeCommandBuffers(dev->live, gen_VkCommandPool(ended->parent), 1, &commands);
    } else if (ended->type == GEN_HANDLE_VkDescriptorSet) {
        VkDescriptorSet set = gen_VkDescriptorSet(ended->live);
        (void)dev->vk.FreeDescriptorSets(dev->live, gen_VkDescriptorPool(ended->parent), 1, &set);
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

void replay_pending_end(struct replay_device *dev, enum gen_handle_type type, uint64_t live, uint64_t parent)
{
    struct replay_pending *pending = &dev->pending;
    struct replay_ended ended = {.type = type, .given = pending->given, .live = live, .parent = parent};

    if (!live)
        return;
    if (pending->count - pending->first >= MOST_ENDED)
        (void)replay_pending_settle(dev);
    if (!pending->busy) {
        end_one(dev, &ended);
    } else if (need_room(pending) && replay_objects_take(pending->r, 1) == LAP_OK) {
        pending->ended[pending->count++] = ended;
    } else if (replay_pending_settle(dev)) {
        end_one(dev, &ended);
    } else if (!pending->said_lost) {
        lap_log(pending->r->log, LAP_LOG_WARNING, "%s is not destroyed: there is no memory, and the device is at work",
                gen_handle_names[type]);
        pending->said_lost = true;
    }
}

void replay_pending_reset_pool(struct replay_device *dev, VkDescriptorPool pool)
{
    struct replay_pending *pending = &dev->pending;

    for (size_t i = pending->first; i < pending->count; i++)
        if (pending->ended[i].type == GEN_HANDLE_VkDescriptorSet &&
            pending->ended[i].parent == gen_u64_VkDescriptorPool(pool))
            pending->ended[i].type = GEN_HANDLE_NONE;
}

bool replay_pending_settle(struct replay_device *dev)
{
    struct replay_pending *pending = &dev->pending;

    if (!pending->busy || replay_submits_await(dev))
        return false;
    return replay_wait_device(pending->r, dev, "what objects that end are used by") == LAP_OK;
}

void replay_pending_finish(struct replay_device *dev)
{
    struct replay_pending *pending = &dev->pending;

    for (uint32_t i = 0; i < dev->queue_count; i++)
        dev->queues[i].finished = dev->queues[i].given;
    look(dev);
    for (uint32_t i = 0; i < dev->queue_count; i++)
        if (dev->queues[i].mark)
            dev->vk.DestroyFence(dev->live, dev->queues[i].mark, NULL);
    free(pending->ended);
    pending->ended = NULL;
    pending->capacity = 0;
}

/* ---- what is over ---- */

static void finished(struct replay_queue *queue, uint64_t given)
{
    if (given > queue->finished)
        queue->finished = given;
}

static struct replay_known_fence *find(struct replay_device *dev, VkFence fence, struct replay_queue **out_queue)
{
    for (uint32_t i = 0; i < dev->queue_count; i++)
        for (uint32_t j = 0; j < REPLAY_KNOWN_FENCES; j++)
            if (dev->queues[i].known[j].fence == fence) {
                *out_queue = &dev->queues[i];
                return &dev->queues[i].known[j];
            }
    return NULL;
}

bool replay_pending_tells(struct replay_device *dev, VkFence fence)
{
    struct replay_queue *queue;
    struct replay_known_fence *known = fence ? find(dev, fence, &queue) : NULL;
    bool under_way = known && known->given > queue->finished;

    if (known)
        *known = (struct replay_known_fence){0};
    return fence && !under_way && dev->vk.GetFenceStatus && dev->vk.GetFenceStatus(dev->live, fence) == VK_NOT_READY;
}

/* What the queue's mark tells. False: that is still under way, or can't be used any more. */
static bool look_at_mark(struct replay_device *dev, struct replay_queue *queue)
{
    if (!queue->marked)
        return true;
    if (dev->vk.GetFenceStatus(dev->live, queue->mark) != VK_SUCCESS)
        return false;
    finished(queue, queue->marked);
    queue->marked = 0;
    return dev->vk.ResetFences(dev->live, 1, &queue->mark) == VK_SUCCESS;
}

/* Without memory for a fence, what was put aside stays so until the program waits. */
static void mark(struct replay_device *dev, struct replay_queue *queue)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    if (!look_at_mark(dev, queue) || is_over(queue))
        return;
    if (!queue->mark && dev->vk.CreateFence(dev->live, &info, NULL, &queue->mark) != VK_SUCCESS) {
        queue->mark = VK_NULL_HANDLE;
        return;
    }
    if (dev->vk.QueueSubmit(queue->live, 0, NULL, queue->mark) == VK_SUCCESS)
        queue->marked = queue->given;
}

void replay_pending_given(struct replay *r, struct replay_device *dev, VkQueue live, VkFence fence, bool tells)
{
    struct replay_queue *queue = replay_queue_find(dev, live);
    struct replay_pending *pending = &dev->pending;

    if (!queue)
        return;
    pending->r = r;
    pending->busy = true;
    queue->given = ++pending->given;
    if (tells) {
        queue->known[queue->next_known] = (struct replay_known_fence){fence, queue->given};
        queue->next_known = (queue->next_known + 1) % REPLAY_KNOWN_FENCES;
    } else if (fence) {
        mark(dev, queue); /* for whoever waits for it */
    }
    if (!pending->count)
        return;
    for (uint32_t i = 0; i < dev->queue_count; i++)
        if (!is_over(&dev->queues[i]))
            mark(dev, &dev->queues[i]);
    look(dev);
}

void replay_pending_seen(struct replay_device *dev, uint32_t count, const VkFence *fences)
{
    struct replay_queue *queue;
    bool all_known = true;

    for (uint32_t i = 0; i < count && dev->pending.busy; i++) {
        const struct replay_known_fence *known = find(dev, fences[i], &queue);
        if (known)
            finished(queue, known->given);
        else
            all_known = false;
    }
    for (uint32_t i = 0; i < dev->queue_count && !all_known; i++)
        (void)look_at_mark(dev, &dev->queues[i]);
    if (dev->pending.busy)
        look(dev);
}

void replay_pending_over(struct replay_device *dev, struct replay_queue *queue)
{
    finished(queue, queue->given);
    if (dev->pending.busy)
        look(dev);
}

enum lap_status replay_pending_reset(struct replay *r, struct replay_device *dev, uint32_t count, const VkFence *fences)
{
    enum lap_status status = LAP_OK;
    struct replay_queue *queue;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        struct replay_known_fence *known = find(dev, fences[i], &queue);
        if (!known)
            continue;
        if (known->given > queue->finished)
            status = replay_wait_fence(r, dev, fences[i], "a fence that is reset");
        if (status == LAP_OK)
            finished(queue, known->given);
        *known = (struct replay_known_fence){0};
    }
    if (dev->pending.busy)
        look(dev);
    return status;
}
