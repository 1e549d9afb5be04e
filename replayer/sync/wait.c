/* SPDX-License-Identifier: MIT */
#include "replayer/sync/wait.h"

#include <time.h>

#include "replayer/core/device.h"
#include "replayer/device/queues.h"
#include "replayer/sync/queue_progress.h"
#include "replayer/sync/submission.h"

#define COMPUTING 20u /* one twentieth of the time on any processor: polling alone takes less */
#define SIXTIETHS 60u

/* ---- the time limit ---- */

uint64_t replay_wait_cpu_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct replay_wait replay_wait_begin(void)
{
    return (struct replay_wait){.now_ms = replay_now_ms(), .cpu_ms = replay_wait_cpu_ms()};
}

bool replay_wait_count(struct replay_wait *wait, uint64_t limit_ms, uint64_t now, uint64_t cpu, bool computes)
{
    uint64_t passed = now - wait->now_ms;

    wait->spent += computes && passed && (cpu - wait->cpu_ms) * COMPUTING >= passed ? passed : passed * SIXTIETHS;
    wait->now_ms = now;
    wait->cpu_ms = cpu;
    return wait->spent > limit_ms * SIXTIETHS;
}

uint64_t replay_wait_limit_ms(const struct replay *r)
{
    return r->options.wait_limit_ms ? r->options.wait_limit_ms : REPLAY_WAIT_LIMIT_S * 1000u;
}

bool replay_wait_is_over(const struct replay *r, const struct replay_device *dev, struct replay_wait *wait)
{
    uint64_t now = replay_now_ms();

    replay_watch_step(&r->watch);
    if (now - wait->now_ms < REPLAY_WAIT_SLICE_NS / 2000000u && now - wait->now_ms < replay_wait_limit_ms(r))
        return false; /* too short for the clocks to be meaningful */
    return replay_wait_count(wait, replay_wait_limit_ms(r), now, replay_wait_cpu_ms(), !replay_device_awaits_host(dev));
}

enum lap_status replay_wait_fail(struct replay *r, const struct replay_device *dev, const char *what)
{
    if (replay_device_awaits_host(dev))
        return replay_refuse(r,
                             "the device waits for an event that the host sets later: this wait of the replay (%s) "
                             "stands behind that, where the recorded machine had a queue of its own for it",
                             what);
    return replay_wait_too_long(r, what);
}

enum lap_status replay_wait_too_long(struct replay *r, const char *what)
{
    return replay_fail(r, "the device does not finish: %g s were not enough for %s (--wait-limit)",
                       (double)replay_wait_limit_ms(r) / 1000, what);
}

/* ---- waits ---- */

enum lap_status replay_wait_fence(struct replay *r, struct replay_device *dev, VkFence fence, const char *what)
{
    struct replay_wait wait = replay_wait_begin();
    VkResult result;

    do
        result = dev->vk.WaitForFences(dev->live, 1, &fence, VK_TRUE, REPLAY_WAIT_SLICE_NS);
    while (result == VK_TIMEOUT && !replay_wait_is_over(r, dev, &wait));
    return result == VK_TIMEOUT ? replay_wait_fail(r, dev, what) : replay_result(r, result);
}

/* Waits for the queue's idle fence and resets it. */
static enum lap_status take_idle_fence(struct replay *r, struct replay_device *dev,
                                       struct replay_queue_progress *progress, const char *what)
{
    enum lap_status status = replay_wait_fence(r, dev, progress->idle_fence, what);

    if (status != LAP_OK)
        return status;
    progress->idle_pending = false;
    return replay_result(r, dev->vk.ResetFences(dev->live, 1, &progress->idle_fence));
}

/* Submits a fence behind all work on the queue and waits for it. vkQueueWaitIdle has no time limit. */
enum lap_status replay_wait_queue(struct replay *r, struct replay_device *dev, VkQueue live, const char *what)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct replay_queue *queue = replay_queue_find(dev, live);
    struct replay_queue_progress *progress = queue ? replay_queue_progress_of(queue) : NULL;
    enum lap_status status = LAP_OK;

    if (!queue)
        return replay_fail(r, "a queue that its device does not have");
    if (!progress)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a wait");
    if (!progress->idle_fence)
        status = replay_result(r, dev->vk.CreateFence(dev->live, &info, NULL, &progress->idle_fence));
    if (status == LAP_OK && progress->idle_pending)
        status = take_idle_fence(r, dev, progress, what);
    if (status == LAP_OK)
        status = replay_result(r, dev->vk.QueueSubmit(queue->live, 0, NULL, progress->idle_fence));
    if (status != LAP_OK)
        return status;
    progress->idle_pending = true;
    status = take_idle_fence(r, dev, progress, what);
    if (status == LAP_OK)
        replay_submission_queue_idle(dev, queue);
    return status;
}

enum lap_status replay_wait_device(struct replay *r, struct replay_device *dev, const char *what)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < dev->queues.count && status == LAP_OK; i++)
        status = replay_wait_queue(r, dev, dev->queues.all[i].live, what);
    if (status == LAP_OK)
        status = replay_submission_await_binds(r, dev, what);
    return status == LAP_OK ? replay_result(r, dev->vk.DeviceWaitIdle(dev->live)) : status;
}

static bool queue_finishes(struct replay_device *dev, struct replay_queue *queue, uint64_t limit_ns)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct replay_queue_progress *progress = replay_queue_progress_of(queue);

    if (!progress || (!progress->idle_fence && dev->vk.CreateFence(dev->live, &info, NULL, &progress->idle_fence) < 0))
        return false;
    /* A pending idle fence covers only earlier work, so a second one follows it. */
    for (int left = 1 + progress->idle_pending; left; left--) {
        if (!progress->idle_pending && dev->vk.QueueSubmit(queue->live, 0, NULL, progress->idle_fence) != VK_SUCCESS)
            return false;
        progress->idle_pending = true;
        if (dev->vk.WaitForFences(dev->live, 1, &progress->idle_fence, VK_TRUE, limit_ns) != VK_SUCCESS)
            return false;
        progress->idle_pending = false;
        if (dev->vk.ResetFences(dev->live, 1, &progress->idle_fence) != VK_SUCCESS)
            return false;
    }
    return true;
}

bool replay_device_finishes(struct replay_device *dev, uint64_t limit_ns)
{
    if (!dev->live || !dev->vk.CreateFence || !dev->queues.all)
        return true;
    for (uint32_t i = 0; i < dev->queues.count; i++)
        if (!queue_finishes(dev, &dev->queues.all[i], limit_ns))
            return false;
    return true;
}

enum lap_status replay_wait_readback(const struct lap_readback *rb, VkFence fence)
{
    struct replay *r = rb->user;
    struct replay_device *dev = r->devices;

    while (dev && dev->live != rb->device)
        dev = dev->next;
    return dev ? replay_wait_fence(r, dev, fence, "what is read back") : lap_fail(LAP_ERROR_REPLAY, "no such device");
}
