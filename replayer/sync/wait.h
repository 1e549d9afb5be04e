/* SPDX-License-Identifier: MIT */
/*
 * wait: waits for the device, with a time limit. A wait of over a minute (--wait-limit) ends the replay with a sentence
 * that names what it waited for. Time in which this process computes counts only a sixtieth, since a driver may compute
 * on the CPU. It counts in full while submitted work waits for an event of the host, since some drivers poll for that.
 *
 * Waits consist of slices. One thread.
 */
#ifndef LAP_REPLAYER_SYNC_WAIT_H
#define LAP_REPLAYER_SYNC_WAIT_H

#include "replayer/core/device.h"
#include "vulkan/readback.h"

#define REPLAY_WAIT_LIMIT_S  60u
#define REPLAY_WAIT_SLICE_NS 200000000u

/* Whether submitted work waits for an event that the host has not set: then later work does not end. Calls
 * replay_device.sync.awaits_host; NULL: there is no such work. */
static inline bool replay_device_awaits_host(const struct replay_device *dev)
{
    return dev->sync.awaits_host && dev->sync.awaits_host(dev);
}

/* A wait in progress. */
struct replay_wait {
    uint64_t now_ms, cpu_ms; /* at the last check */
    uint64_t spent;          /* in sixtieths of a millisecond, against the limit */
};

uint64_t replay_wait_limit_ms(const struct replay *r);
/* CPU time of all threads, the driver's included. */
uint64_t replay_wait_cpu_ms(void);

struct replay_wait replay_wait_begin(void);
/* Call it after a check without success. Returns whether the limit is reached. */
bool replay_wait_is_over(const struct replay *r, const struct replay_device *dev, struct replay_wait *wait);
/* The same with clocks as arguments, for tests. computes: CPU time counts as work. */
bool replay_wait_count(struct replay_wait *wait, uint64_t limit_ms, uint64_t now_ms, uint64_t cpu_ms, bool computes);
/* The end of the replay after that. LAP_ERROR_UNSUPPORTED: submitted work waits for an event that the host sets later,
 * and this wait may stand behind it. Else LAP_ERROR_REPLAY. what: "a fence of the program's". */
enum lap_status replay_wait_fail(struct replay *r, const struct replay_device *dev, const char *what);
/* The same, whatever submitted work waits for. Returns LAP_ERROR_REPLAY. */
enum lap_status replay_wait_too_long(struct replay *r, const char *what);

enum lap_status replay_wait_fence(struct replay *r, struct replay_device *dev, VkFence fence,
                                  const char *what) LAP_MUST_CHECK;
/* Waits for all submits to a queue of the device, but not for sparse binds. */
enum lap_status replay_wait_queue(struct replay *r, struct replay_device *dev, VkQueue live,
                                  const char *what) LAP_MUST_CHECK;
/* Waits for vkDeviceWaitIdle. */
enum lap_status replay_wait_device(struct replay *r, struct replay_device *dev, const char *what) LAP_MUST_CHECK;

/* Whether each of the device's queues finishes within this time. */
bool replay_device_finishes(struct replay_device *dev, uint64_t limit_ns);
#define REPLAY_FINISH_LIMIT_NS 5000000000u /* for unfinished work at the end */

/* lap_readback.wait; its user is the struct replay. */
enum lap_status replay_wait_readback(const struct lap_readback *rb, VkFence fence) LAP_MUST_CHECK;

#endif
