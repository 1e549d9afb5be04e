/* SPDX-License-Identifier: MIT */
/*
 * gpu_time: how long queues are busy with what is submitted to them, by timestamps in front of and behind each call
 * that submits. From the first timestamp, or the end of what was under way on the queue, to the second one: with what
 * the work waits for on the device. One thread.
 */
#ifndef LAP_REPLAYER_GPU_TIME_H
#define LAP_REPLAYER_GPU_TIME_H

#include "replayer/context.h"

struct replay_gpu_times;

/* What was submitted as part of a frame took so long; comes later, in any order of frames. */
typedef void (*replay_gpu_time_fn)(void *user, uint64_t frame, double ms);

/* NULL without memory. */
struct replay_gpu_times *replay_gpu_times_create(replay_gpu_time_fn took, void *user);
void replay_gpu_times_destroy(struct replay_gpu_times **times); /* after replay_gpu_times_finish for all devices */

/* In front of and behind a call that submits to a queue of the device. Does nothing for queues that can't tell. */
void replay_gpu_times_begin(struct replay_gpu_times *times, const struct replay_device *dev, VkQueue queue,
                            uint64_t frame);
void replay_gpu_times_end(struct replay_gpu_times *times, const struct replay_device *dev, VkQueue queue);

/* Reports what has ended by now. */
void replay_gpu_times_collect(struct replay_gpu_times *times);
/* The device has nothing under way: reports the rest, and frees what belongs to it. */
void replay_gpu_times_finish(struct replay_gpu_times *times, const struct replay_device *dev);

#endif
