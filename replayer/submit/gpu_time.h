/* SPDX-License-Identifier: MIT */
/*
 * gpu_time: measures the busy time of queues, with timestamps before and after each submitting call. The time runs from
 * the first timestamp, or the end of earlier work on the queue, to the second one. It includes waits of the work on the
 * device. One thread.
 */
#ifndef LAP_REPLAYER_SUBMIT_GPU_TIME_H
#define LAP_REPLAYER_SUBMIT_GPU_TIME_H

#include "replayer/core/replay.h"

struct replay_gpu_times;

/* Of the replay device's family; 0: it has no timestamps. */
uint32_t replay_timestamp_bits(const struct replay_device *dev, uint32_t family);

/* Reports the time of a submit in a frame; later, in any order of frames. */
typedef void (*replay_gpu_time_fn)(void *user, uint64_t frame, double ms);

/* NULL without memory. */
struct replay_gpu_times *replay_gpu_times_create(replay_gpu_time_fn took, void *user);
void replay_gpu_times_destroy(struct replay_gpu_times **times); /* after replay_gpu_times_finish for all devices */

/* Call them before and after a call that submits to a queue of the device. They do nothing for queues without
 * timestamps. */
void replay_gpu_times_begin(struct replay_gpu_times *times, const struct replay_device *dev, VkQueue queue,
                            uint64_t frame);
void replay_gpu_times_end(struct replay_gpu_times *times, const struct replay_device *dev, VkQueue queue);

/* Reports the remaining times and frees the device's objects. Call it when the device has nothing under way. */
void replay_gpu_times_finish(struct replay_gpu_times *times, const struct replay_device *dev);

#endif
