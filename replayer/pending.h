/* SPDX-License-Identifier: MIT */
/*
 * pending: what work that the driver was given may still use. A program destroys nothing that such work uses (all
 * vkDestroy* and vkFree*); a trace may say anything, and a driver that computes on the CPU would follow what is gone.
 * So as long as a device has work of which it is not known that it is over, what ends is only put aside, and the driver
 * destroys it when all that was given before is over. Nobody waits for that: a trace's destructions come in the order
 * in which they were recorded, some frames later.
 *
 * What is over is known from waits for fences of the program's and of the replay's (wait.h), and, where something has
 * been put aside, or the program's fence does not tell, from a fence of its own on each queue that is busy.
 *
 * One thread.
 */
#ifndef LAP_REPLAYER_PENDING_H
#define LAP_REPLAYER_PENDING_H

#include "gen_replay.h"
#include "replayer/context.h"

/* Before the driver gets work with this fence of the program's: whether its signal will tell that the work is over. One
 * that is signalled already, or under way, does not. */
bool replay_pending_tells(struct replay_device *dev, VkFence fence);
/* The driver has it. tells: what was said of the fence. */
void replay_pending_given(struct replay *r, struct replay_device *dev, VkQueue queue, VkFence fence, bool tells);
/* The fences are signalled. */
void replay_pending_seen(struct replay_device *dev, uint32_t count, const VkFence *fences);
/* All that the queue was given is over. */
void replay_pending_over(struct replay_device *dev, struct replay_queue *queue);
/* Before fences are reset: waits for those that are under way. */
enum lap_status replay_pending_reset(struct replay *r, struct replay_device *dev, uint32_t count,
                                     const VkFence *fences) LAP_MUST_CHECK;

/* Puts aside what ends; parent: the pool of what is freed, or 0. For devices that are busy. */
void replay_pending_end(struct replay_device *dev, enum gen_handle_type type, uint64_t live, uint64_t parent);
/* The pool is reset, and frees its sets itself. */
void replay_pending_reset_pool(struct replay_device *dev, VkDescriptorPool pool);
/* Destroys at once what was put aside, for whoever finds no room: waits for the device. False: nothing has changed. */
bool replay_pending_settle(struct replay_device *dev);
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
