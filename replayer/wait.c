/* SPDX-License-Identifier: MIT */
#include "replayer/wait.h"

#include <time.h>

#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/queues.h"
#include "replayer/submit.h"

#define COMPUTING 20u /* a twentieth of the time on any processor is more than looking again takes */
#define SIXTIETHS 60u

/* ---- how long ---- */

/* Of all threads, the driver's too. */
static uint64_t cpu_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct replay_wait replay_wait_begin(void)
{
    return (struct replay_wait){.now_ms = replay_now_ms(), .cpu_ms = cpu_ms()};
}

bool replay_wait_count(struct replay_wait *wait, uint64_t limit_ms, uint64_t now, uint64_t cpu, bool computes)
{
    uint64_t passed = now - wait->now_ms;

    wait->spent += computes && passed && (cpu - wait->cpu_ms) * COMPUTING >= passed ? passed : passed * SIXTIETHS;
    wait->now_ms = now;
    wait->cpu_ms = cpu;
    return wait->spent > limit_ms * SIXTIETHS;
}

static uint64_t limit_ms(const struct replay *r)
{
    return r->options.wait_limit_ms ? r->options.wait_limit_ms : REPLAY_WAIT_LIMIT_S * 1000u;
}

bool replay_wait_is_over(const struct replay *r, const struct replay_device *dev, struct replay_wait *wait)
{
    uint64_t now = replay_now_ms();

    if (now - wait->now_ms < REPLAY_WAIT_SLICE_NS / 2000000u && now - wait->now_ms < limit_ms(r))
        return false; /* too little for the clocks to say anything */
    return replay_wait_count(wait, limit_ms(r), now, cpu_ms(), !replay_submits_await(dev));
}

enum lap_status replay_wait_fail(struct replay *r, const struct replay_device *dev, const char *what)
{
    if (replay_submits_await(dev))
        return replay_fail(r,
                           "the device waits for an event that the host sets later: what is waited for here (%s) "
                           "stands behind that, where the recorded machine had a queue of its own for it",
                           what);
    return replay_fail(r, "the device does not finish: %g s were not enough for %s (--wait-limit)",
                       (double)limit_ms(r) / 1000, what);
}

/* ---- for what ---- */

enum lap_status replay_wait_fence(struct replay *r, struct replay_device *dev, VkFence fence, const char *what)
{
    struct replay_wait wait = replay_wait_begin();
    VkResult result;

    do
        result = dev->vk.WaitForFences(dev->live, 1, &fence, VK_TRUE, REPLAY_WAIT_SLICE_NS);
    while (result == VK_TIMEOUT && !replay_wait_is_over(r, dev, &wait));
    return result == VK_TIMEOUT ? replay_wait_fail(r, dev, what) : replay_result(r, result);
}

/* The queue's fence that was submitted last. */
static enum lap_status take_idle_fence(struct replay *r, struct replay_device *dev, struct replay_queue *queue,
                                       const char *what)
{
    enum lap_status status = replay_wait_fence(r, dev, queue->idle_fence, what);

    if (status != LAP_OK)
        return status;
    queue->idle_pending = false;
    return replay_result(r, dev->vk.ResetFences(dev->live, 1, &queue->idle_fence));
}

/* A fence behind all that was submitted is signalled when that is done. vkQueueWaitIdle would have no limit. */
enum lap_status replay_wait_queue(struct replay *r, struct replay_device *dev, VkQueue live, const char *what)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct replay_queue *queue = replay_queue_find(dev, live);
    enum lap_status status = LAP_OK;

    if (!queue)
        return replay_fail(r, "a queue that its device does not have");
    if (!queue->idle_fence)
        status = replay_result(r, dev->vk.CreateFence(dev->live, &info, NULL, &queue->idle_fence));
    if (status == LAP_OK && queue->idle_pending)
        status = take_idle_fence(r, dev, queue, what);
    if (status == LAP_OK)
        status = replay_result(r, dev->vk.QueueSubmit(queue->live, 0, NULL, queue->idle_fence));
    if (status != LAP_OK)
        return status;
    queue->idle_pending = true;
    status = take_idle_fence(r, dev, queue, what);
    if (status == LAP_OK)
        replay_pending_over(dev, queue);
    return status;
}

enum lap_status replay_wait_device(struct replay *r, struct replay_device *dev, const char *what)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < dev->queue_count && status == LAP_OK; i++)
        status = replay_wait_queue(r, dev, dev->queues[i].live, what);
    if (status == LAP_OK)
        status = replay_pending_await_binds(r, dev, what);
    return status == LAP_OK ? replay_result(r, dev->vk.DeviceWaitIdle(dev->live)) : status;
}

enum lap_status replay_wait_readback(const struct lap_readback *rb, VkFence fence)
{
    struct replay *r = rb->user;
    struct replay_device *dev = r->devices;

    while (dev && dev->live != rb->device)
        dev = dev->next;
    return dev ? replay_wait_fence(r, dev, fence, "what is read back") : lap_fail(LAP_ERROR_REPLAY, "no such device");
}
