/* SPDX-License-Identifier: MIT */
/*
 * pending: what work that the driver was given may still use. A program destroys nothing that such work uses (all
 * vkDestroy* and vkFree*); a trace may say anything, and a driver that computes on the CPU would follow what is gone.
 * So as long as a device has work of which it is not known that it is over, what ends is only put aside, and the driver
 * destroys it when all that was given before is over. Nobody waits for that: a trace's destructions come in the order
 * in which they were recorded, some frames later. Descriptor pools that are reset go the same way: the driver's pool is
 * put aside, and the trace's goes on with another one (descriptor.h).
 *
 * What is begun, reset or given again is waited for: command buffers and their pools, queries, and fences. Only for the
 * work that has it, so a program that knew by any means that it was over (fences, semaphores, queries, its other
 * queues) is not made to wait for what it gave later. That is why each submit has a fence: one of the replay's own
 * where the program gave none, and one behind it where the program's does not tell.
 *
 * One thread.
 */
#ifndef LAP_REPLAYER_PENDING_H
#define LAP_REPLAYER_PENDING_H

#include "gen_replay.h"
#include "replayer/context.h"

/* The fence that the driver gets with work, and whether its signal tells that the work is over: the program's does not
 * where it is signalled already. */
struct replay_telling {
    VkFence fence;
    bool tells, own;
};
/* Before the driver gets work with a fence of the program's, or with none (0). One that is under way is waited for. */
enum lap_status replay_pending_before(struct replay *r, struct replay_device *dev, VkQueue queue, VkFence fence,
                                      struct replay_telling *out_telling) LAP_MUST_CHECK;
/* The driver has it; done: it took it. */
void replay_pending_given(struct replay *r, struct replay_device *dev, VkQueue queue,
                          const struct replay_telling *telling, bool done);
/* Gives a fence of the program's alone: it is signalled behind all that the queue has, and is under way until then. */
enum lap_status replay_pending_signal(struct replay *r, struct replay_device *dev, VkQueue queue,
                                      VkFence fence) LAP_MUST_CHECK;
/* The same for a vkQueueBindSparse, which gets a fence in any case. */
enum lap_status replay_pending_before_bind(struct replay *r, struct replay_device *dev, VkFence fence,
                                           struct replay_telling *out_telling) LAP_MUST_CHECK;
void replay_pending_given_bind(struct replay *r, struct replay_device *dev, const struct replay_telling *telling,
                               bool done);
/* Waits for all binds that are under way: no fence behind other work tells of them. what: as in replay_wait_fence. */
enum lap_status replay_pending_await_binds(struct replay *r, struct replay_device *dev,
                                           const char *what) LAP_MUST_CHECK;
/* The fences are signalled. */
void replay_pending_seen(struct replay_device *dev, uint32_t count, const VkFence *fences);
/* All that the queue was given is over. */
void replay_pending_over(struct replay_device *dev, struct replay_queue *queue);
/* Before fences are reset: waits for those that are under way. */
enum lap_status replay_pending_reset(struct replay *r, struct replay_device *dev, uint32_t count,
                                     const VkFence *fences) LAP_MUST_CHECK;

/* Puts aside what ends; parent: the pool of what is freed, or 0. For devices that are busy. */
void replay_pending_end(struct replay_device *dev, enum gen_handle_type type, uint64_t live, uint64_t parent);
/* The same for memory of the trace's objects: replay_memory_free is called for it. */
void replay_pending_end_memory(struct replay_device *dev, uint32_t memory_type, VkDeviceMemory memory,
                               VkDeviceSize bytes);
/* The same for a driver's pool whose sets may be used, of one that goes on: replay_descriptor_pool_over is called for
 * it. False: there is no room, and nothing is done. */
struct replay_descriptor_pool;
bool replay_pending_retire(struct replay_device *dev, struct replay_descriptor_pool *pool, VkDescriptorPool live);
/* Destroys at once what was put aside, for whoever finds no room: waits for the device. False: nothing has changed. */
bool replay_pending_settle(struct replay_device *dev);
/* The same by and by: waits for the oldest work that is under way, if there is any that is not over by now. */
bool replay_pending_advance(struct replay_device *dev);
/* Whether command buffers, or pools of them, are put aside. */
bool replay_pending_has_commands(const struct replay_device *dev);
/* Whether the device is busy still, after a look at what is over; no wait. */
bool replay_pending_look(struct replay_device *dev);
/* Work with the number `given` (replay_pending.given; 0: none) of a queue, by its place in dev->queues: whether it is
 * known to be over, and a wait for it. what: "a command buffer". */
static inline bool replay_pending_is_over(const struct replay_device *dev, uint32_t queue, uint64_t given)
{
    return dev->queues[queue].finished >= given || dev->queues[queue].finished == dev->queues[queue].given;
}
enum lap_status replay_pending_await(struct replay *r, struct replay_device *dev, uint32_t queue, uint64_t given,
                                     const char *what) LAP_MUST_CHECK;

/* When the device is idle, and ends. */
void replay_pending_finish(struct replay_device *dev);

/* Of the replay's own objects, too, that the trace's work may use. */
static inline void replay_pending_destroy(struct replay_device *dev, enum gen_handle_type type, uint64_t live)
{
    if (__builtin_expect(dev->pending.busy, 0))
        replay_pending_end(dev, type, live, 0);
    else
        gen_destroy_live(dev, type, live);
}

#endif
