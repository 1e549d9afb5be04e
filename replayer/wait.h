/* SPDX-License-Identifier: MIT */
/*
 * wait: the replay waits for its device, and not for ever. What has not come within a minute (--wait-limit) ends the
 * replay with a sentence that says what it was. Time in which this process computes counts a sixtieth only: a driver
 * that runs on the CPU may be at work. It counts in full while the driver has work that waits for an event of the host,
 * since some drivers look for that again and again.
 *
 * Waits are cut into slices. One thread.
 */
#ifndef LAP_REPLAYER_WAIT_H
#define LAP_REPLAYER_WAIT_H

#include "codegen/support/readback.h"
#include "replayer/context.h"

#define REPLAY_WAIT_LIMIT_S  60u
#define REPLAY_WAIT_SLICE_NS 200000000u

/* A wait in progress. */
struct replay_wait {
    uint64_t now_ms, cpu_ms; /* at the last look */
    uint64_t spent;          /* of the limit: sixtieths of a millisecond */
};

struct replay_wait replay_wait_begin(void);
/* After a look that found nothing: whether that was long enough. */
bool replay_wait_is_over(const struct replay *r, const struct replay_device *dev, struct replay_wait *wait);
/* The same with given clocks, for tests. computes: CPU time tells of work. */
bool replay_wait_count(struct replay_wait *wait, uint64_t limit_ms, uint64_t now_ms, uint64_t cpu_ms, bool computes);
/* The failure then. what: "a fence of the program's". */
enum lap_status replay_wait_fail(struct replay *r, const struct replay_device *dev, const char *what);

enum lap_status replay_wait_fence(struct replay *r, struct replay_device *dev, VkFence fence,
                                  const char *what) LAP_MUST_CHECK;
/* All that was submitted to a queue of the device; what was bound to sparse objects may still be under way. */
enum lap_status replay_wait_queue(struct replay *r, struct replay_device *dev, VkQueue live,
                                  const char *what) LAP_MUST_CHECK;
/* All queues, and what else the driver does. */
enum lap_status replay_wait_device(struct replay *r, struct replay_device *dev, const char *what) LAP_MUST_CHECK;

/* lap_readback.wait; its user is the struct replay. */
enum lap_status replay_wait_readback(const struct lap_readback *rb, VkFence fence) LAP_MUST_CHECK;

#endif
