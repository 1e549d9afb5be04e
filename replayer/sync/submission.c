/* SPDX-License-Identifier: MIT */
#include "replayer/sync/submission.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "replayer/device/queues.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/queue_progress.h"
#include "replayer/sync/wait.h"

#define MOST_FENCES 4096u /* per queue; with more, the replay waits for the oldest */

/* A vkQueueBindSparse that may be executing. Only its own fence covers it: the fences of submits and of earlier binds
 * do not. */
struct bind {
    VkFence fence;
    uint64_t number;
    bool own;
};

struct replay_submissions {
    struct replay *r;
    uint64_t last; /* number of the newest submission */
    bool stuck;    /* the device did not finish in time: optional waits are skipped from now on */
    uint32_t bind_count;
    struct bind binds[REPLAY_MOST_BINDS]; /* in ascending order of numbers */
};

static enum lap_status need_submissions(struct replay *r, struct replay_device *dev)
{
    if (dev->sync.submissions)
        return LAP_OK;
    dev->sync.submissions = calloc(1, sizeof *dev->sync.submissions);
    if (!dev->sync.submissions)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for submits");
    dev->sync.submissions->r = r;
    return replay_deferred_destroy_create(r, dev);
}

struct replay_queue_progress *replay_queue_progress_of(struct replay_queue *queue)
{
    if (!queue->progress)
        queue->progress = calloc(1, sizeof *queue->progress);
    return queue->progress;
}

/* ---- finished work ---- */

static bool is_over(const struct replay_queue_progress *progress)
{
    return !progress || progress->finished == progress->submitted;
}

static void finish_up_to(struct replay_queue_progress *progress, uint64_t number)
{
    LAP_ASSERT(number <= progress->submitted, "what is over was submitted");
    if (number > progress->finished)
        progress->finished = number;
}

/* Runs the deferred destructions that finished work allows. */
static void look(struct replay_device *dev)
{
    const struct replay_submissions *submissions = dev->sync.submissions;
    uint64_t safe = UINT64_MAX;

    for (uint32_t i = 0; i < dev->queues.count; i++)
        if (!is_over(dev->queues.all[i].progress) && dev->queues.all[i].progress->finished < safe)
            safe = dev->queues.all[i].progress->finished;
    if (submissions->bind_count && submissions->binds->number - 1 < safe)
        safe = submissions->binds->number - 1;
    LAP_ASSERT(safe == UINT64_MAX || safe < submissions->last, "work that may be under way is no later than the last");
    replay_deferred_destroy_run(dev, safe);
    dev->busy = safe != UINT64_MAX || replay_deferred_destroy_count(dev);
}

/* Finds a fence that is not finished. */
static struct replay_queue_fence *find(struct replay_device *dev, VkFence fence,
                                       struct replay_queue_progress **out_progress)
{
    for (uint32_t i = 0; i < dev->queues.count; i++) {
        struct replay_queue_progress *progress = dev->queues.all[i].progress;
        for (uint32_t j = 0; progress && j < progress->fence_count; j++)
            if (progress->fences[j].fence == fence && progress->fences[j].number > progress->finished) {
                *out_progress = progress;
                return &progress->fences[j];
            }
    }
    return NULL;
}

static void drop_bind(struct replay_device *dev, uint32_t at)
{
    struct replay_submissions *submissions = dev->sync.submissions;
    struct bind *bind = &submissions->binds[at];

    if (bind->own)
        dev->vk.DestroyFence(dev->live, bind->fence, NULL);
    memmove(bind, bind + 1, (--submissions->bind_count - at) * sizeof *bind);
}

static void drop_fences(struct replay_queue_progress *progress, uint32_t count)
{
    progress->fence_count -= count;
    memmove(progress->fences, progress->fences + count, progress->fence_count * sizeof *progress->fences);
}

static void take_back(struct replay_device *dev, struct replay_queue_progress *progress, VkFence fence)
{
    if (dev->vk.ResetFences(dev->live, 1, &fence) == VK_SUCCESS) {
        progress->spare[progress->spare_count++] = fence;
    } else {
        dev->vk.DestroyFence(dev->live, fence, NULL);
        progress->own_count--;
    }
}

/* Polls from the oldest fence on. It polls the replay's own fences even if they are known to be finished, because they
 * are reused. */
static void poll(struct replay_device *dev, struct replay_queue_progress *progress)
{
    uint32_t gone = 0;

    while (gone < progress->fence_count) {
        const struct replay_queue_fence *fence = &progress->fences[gone];
        if ((fence->own || fence->number > progress->finished) &&
            dev->vk.GetFenceStatus(dev->live, fence->fence) != VK_SUCCESS)
            break;
        finish_up_to(progress, fence->number);
        if (fence->own)
            take_back(dev, progress, fence->fence);
        gone++;
    }
    if (gone)
        drop_fences(progress, gone);
}

static void poll_all(struct replay_device *dev)
{
    for (uint32_t i = 0; i < dev->queues.count; i++)
        if (dev->queues.all[i].progress && dev->queues.all[i].progress->fence_count)
            poll(dev, dev->queues.all[i].progress);
    for (uint32_t i = dev->sync.submissions->bind_count; i-- > 0;)
        if (dev->vk.GetFenceStatus(dev->live, dev->sync.submissions->binds[i].fence) == VK_SUCCESS)
            drop_bind(dev, i);
    look(dev);
}

bool replay_submission_poll(struct replay_device *dev)
{
    if (dev->busy)
        poll_all(dev);
    return dev->busy;
}

void replay_submission_fences_seen(struct replay_device *dev, uint32_t count, const VkFence *fences)
{
    struct replay_queue_progress *progress;

    for (uint32_t i = 0; i < count && dev->busy; i++) {
        const struct replay_queue_fence *fence = find(dev, fences[i], &progress);
        if (fence)
            finish_up_to(progress, fence->number);
    }
    (void)replay_submission_poll(dev);
}

void replay_submission_queue_idle(struct replay_device *dev, struct replay_queue *queue)
{
    if (queue->progress)
        queue->progress->finished = queue->progress->submitted;
    (void)replay_submission_poll(dev);
}

uint64_t replay_submission_last(const struct replay_device *dev)
{
    return dev->sync.submissions ? dev->sync.submissions->last : 0;
}

bool replay_submission_is_over(const struct replay_device *dev, uint32_t queue, uint64_t number)
{
    const struct replay_queue_progress *progress = dev->queues.all[queue].progress;

    return is_over(progress) || progress->finished >= number;
}

/* ---- waits ---- */

enum lap_status replay_submission_await(struct replay *r, struct replay_device *dev, uint32_t queue, uint64_t number,
                                        const char *what)
{
    struct replay_queue_progress *progress = dev->queues.all[queue].progress;
    enum lap_status status;
    uint32_t at = 0;

    if (replay_submission_is_over(dev, queue, number))
        return LAP_OK;
    poll_all(dev);
    if (replay_submission_is_over(dev, queue, number))
        return LAP_OK;
    while (at < progress->fence_count && progress->fences[at].number < number)
        at++;
    if (at == progress->fence_count)
        return replay_wait_queue(r, dev, dev->queues.all[queue].live, what);
    number = progress->fences[at].number;
    status = replay_wait_fence(r, dev, progress->fences[at].fence, what);
    if (status == LAP_OK) {
        finish_up_to(progress, number);
        poll_all(dev);
    }
    return status;
}

static bool is_one_of(VkFence fence, uint32_t count, const VkFence *fences)
{
    uint32_t i = 0;

    while (i < count && fences[i] != fence)
        i++;
    return i < count;
}

enum lap_status replay_submission_await_fences(struct replay *r, struct replay_device *dev, uint32_t count,
                                               const VkFence *fences)
{
    enum lap_status status = LAP_OK;
    struct replay_queue_progress *progress;

    if (!dev->busy)
        return LAP_OK;
    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        const struct replay_queue_fence *fence = find(dev, fences[i], &progress);
        if (!fence)
            continue;
        status = replay_wait_fence(r, dev, fence->fence, "a fence that is under way");
        if (status == LAP_OK)
            finish_up_to(progress, fence->number);
    }
    for (uint32_t i = dev->sync.submissions->bind_count; i-- > 0 && status == LAP_OK;) {
        if (!is_one_of(dev->sync.submissions->binds[i].fence, count, fences))
            continue;
        status = replay_wait_fence(r, dev, dev->sync.submissions->binds[i].fence, "a fence that is under way");
        if (status == LAP_OK)
            drop_bind(dev, i);
    }
    look(dev);
    return status;
}

enum lap_status replay_submission_await_binds(struct replay *r, struct replay_device *dev, const char *what)
{
    enum lap_status status = LAP_OK;

    while (dev->sync.submissions && dev->sync.submissions->bind_count && status == LAP_OK) {
        status = replay_wait_fence(r, dev, dev->sync.submissions->binds->fence, what);
        if (status == LAP_OK)
            drop_bind(dev, 0);
    }
    (void)replay_submission_poll(dev);
    return status;
}

static bool may_wait(const struct replay_device *dev)
{
    return dev->busy && !dev->sync.submissions->stuck && !replay_device_awaits_host(dev);
}

bool replay_submission_await_all(struct replay_device *dev)
{
    struct replay_submissions *submissions = dev->sync.submissions;

    if (!may_wait(dev))
        return false;
    submissions->stuck = replay_wait_device(submissions->r, dev, "what objects that end are used by") != LAP_OK;
    return !submissions->stuck;
}

/* The first unfinished fence of a queue; NULL: there is none. */
static const struct replay_queue_fence *first_fence(const struct replay_queue_progress *progress)
{
    for (uint32_t i = 0; progress && i < progress->fence_count; i++)
        if (progress->fences[i].number > progress->finished)
            return &progress->fences[i];
    return NULL;
}

bool replay_submission_await_oldest(struct replay_device *dev)
{
    struct replay_submissions *submissions = dev->sync.submissions;
    size_t before = replay_deferred_destroy_count(dev);
    const struct replay_queue_fence *oldest = NULL;
    uint32_t queue = 0;

    if (!dev->busy || submissions->stuck)
        return false;
    poll_all(dev);
    if (replay_deferred_destroy_count(dev) < before)
        return true;
    for (uint32_t i = 0; i < dev->queues.count; i++) {
        const struct replay_queue_fence *first = first_fence(dev->queues.all[i].progress);
        if (first && (!oldest || first->number < oldest->number)) {
            oldest = first;
            queue = i;
        }
    }
    if (!oldest)
        return replay_submission_await_all(dev);
    if (!may_wait(dev))
        return false;
    submissions->stuck = replay_submission_await(submissions->r, dev, queue, oldest->number,
                                                 "what objects that end are used by") != LAP_OK;
    return !submissions->stuck;
}

/* ---- submissions ---- */

static bool need_fence(struct replay_queue_progress *progress)
{
    return progress->fence_count < MOST_FENCES &&
           lap_array_grow_u32(&progress->fences, sizeof *progress->fences, &progress->fence_capacity,
                              progress->fence_count + 1);
}

/* Returns VK_NULL_HANDLE if no fence is available. */
static VkFence take_own(struct replay_device *dev, struct replay_queue_progress *progress)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;

    if (!dev->vk.CreateFence || !dev->vk.ResetFences)
        return VK_NULL_HANDLE;
    if (progress->fence_count && progress->fences->own)
        poll(dev, progress);
    if (progress->spare_count)
        return progress->spare[--progress->spare_count];
    if (progress->own_count == REPLAY_OWN_FENCES || dev->vk.CreateFence(dev->live, &info, NULL, &fence) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    progress->own_count++;
    return fence;
}

enum lap_status replay_submission_begin(struct replay *r, struct replay_device *dev, VkQueue live, VkFence fence,
                                        struct replay_submission *out)
{
    struct replay_queue *queue = replay_queue_find(dev, live);
    struct replay_queue_progress *progress = queue ? replay_queue_progress_of(queue) : NULL;
    enum lap_status status = need_submissions(r, dev);

    *out = (struct replay_submission){.fence = fence};
    if (queue && !progress)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory for submits");
    if (status != LAP_OK || !queue || !dev->vk.GetFenceStatus)
        return status;
    if (fence)
        status = replay_submission_await_fences(r, dev, 1, &fence);
    if (status == LAP_OK && progress->fence_count == MOST_FENCES)
        status = replay_submission_await(r, dev, (uint32_t)(queue - dev->queues.all), progress->fences->number,
                                         "the oldest work");
    if (status != LAP_OK || !need_fence(progress))
        return status;
    if (fence) {
        out->tracked = dev->vk.GetFenceStatus(dev->live, fence) == VK_NOT_READY;
    } else {
        out->fence = take_own(dev, progress);
        out->tracked = out->own = out->fence != VK_NULL_HANDLE;
    }
    return LAP_OK;
}

static void add_fence(struct replay_queue_progress *progress, VkFence fence, bool own)
{
    LAP_ASSERT(!progress->fence_count || progress->fences[progress->fence_count - 1].number <= progress->submitted,
               "fences of a queue lie by rising numbers");
    progress->fences[progress->fence_count++] = (struct replay_queue_fence){fence, progress->submitted, own};
}

/* Submits a fence of the replay's own behind work whose own fence can't be tracked. */
static void mark(struct replay_device *dev, struct replay_queue *queue)
{
    struct replay_queue_progress *progress = queue->progress;
    VkFence fence = need_fence(progress) ? take_own(dev, progress) : VK_NULL_HANDLE;

    if (!fence)
        return;
    if (dev->vk.QueueSubmit(queue->live, 0, NULL, fence) == VK_SUCCESS)
        add_fence(progress, fence, true);
    else
        progress->spare[progress->spare_count++] = fence;
}

void replay_submission_end(struct replay_device *dev, VkQueue live, const struct replay_submission *submission,
                           bool done)
{
    struct replay_queue *queue = replay_queue_find(dev, live);

    if (!queue)
        return;
    dev->busy = true;
    queue->progress->submitted = ++dev->sync.submissions->last;
    if (submission->tracked && done)
        add_fence(queue->progress, submission->fence, submission->own);
    else if (submission->own)
        queue->progress->spare[queue->progress->spare_count++] = submission->fence;
    else if (submission->fence)
        mark(dev, queue);
    if (replay_deferred_destroy_count(dev))
        poll_all(dev);
}

enum lap_status replay_submission_signal(struct replay *r, struct replay_device *dev, VkQueue queue, VkFence fence)
{
    struct replay_submission submission;
    enum lap_status status = replay_submission_begin(r, dev, queue, fence, &submission);

    if (status != LAP_OK)
        return status;
    status = replay_result(r, dev->vk.QueueSubmit(queue, 0, NULL, fence));
    replay_submission_end(dev, queue, &submission, status == LAP_OK);
    return status;
}

enum lap_status replay_submission_begin_bind(struct replay *r, struct replay_device *dev, VkFence fence,
                                             struct replay_submission *out)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    enum lap_status status = need_submissions(r, dev);

    *out = (struct replay_submission){.fence = fence};
    if (status != LAP_OK || !dev->vk.GetFenceStatus || !dev->vk.CreateFence)
        return status;
    if (fence)
        status = replay_submission_await_fences(r, dev, 1, &fence);
    if (status == LAP_OK && dev->sync.submissions->bind_count == REPLAY_MOST_BINDS)
        status = replay_submission_await_binds(r, dev, "sparse binds");
    if (status != LAP_OK)
        return status;
    out->tracked = true;
    if (fence && dev->vk.GetFenceStatus(dev->live, fence) == VK_NOT_READY)
        return LAP_OK;
    out->own = true;
    return replay_result(r, dev->vk.CreateFence(dev->live, &info, NULL, &out->fence));
}

void replay_submission_end_bind(struct replay_device *dev, const struct replay_submission *submission, bool done)
{
    struct replay_submissions *submissions = dev->sync.submissions;

    if (!submission->tracked)
        return;
    dev->busy = true;
    LAP_ASSERT(submissions->bind_count < REPLAY_MOST_BINDS, "there is room for a bind");
    submissions->binds[submissions->bind_count++] =
        (struct bind){submission->fence, ++submissions->last, submission->own};
    if (!done)
        drop_bind(dev, submissions->bind_count - 1);
    poll_all(dev);
}

/* ---- the end ---- */

static void finish_queue(struct replay_device *dev, struct replay_queue *queue)
{
    struct replay_queue_progress *progress = queue->progress;

    if (!progress)
        return;
    for (uint32_t i = 0; i < progress->fence_count; i++)
        if (progress->fences[i].own)
            dev->vk.DestroyFence(dev->live, progress->fences[i].fence, NULL);
    while (progress->spare_count)
        dev->vk.DestroyFence(dev->live, progress->spare[--progress->spare_count], NULL);
    if (progress->idle_fence)
        dev->vk.DestroyFence(dev->live, progress->idle_fence, NULL);
    free(progress->fences);
    free(progress);
    queue->progress = NULL;
}

void replay_submission_all_over(struct replay_device *dev)
{
    for (uint32_t i = 0; i < dev->queues.count; i++)
        if (dev->queues.all[i].progress)
            dev->queues.all[i].progress->finished = dev->queues.all[i].progress->submitted;
    while (dev->sync.submissions && dev->sync.submissions->bind_count)
        drop_bind(dev, dev->sync.submissions->bind_count - 1);
    if (dev->sync.submissions)
        look(dev);
}

void replay_submission_finish(struct replay_device *dev)
{
    replay_submission_all_over(dev);
    for (uint32_t i = 0; i < dev->queues.count; i++)
        finish_queue(dev, &dev->queues.all[i]);
    replay_deferred_destroy_finish(dev);
    free(dev->sync.submissions);
    dev->sync.submissions = NULL;
}
