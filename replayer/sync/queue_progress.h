/* SPDX-License-Identifier: MIT */
/* queue_progress: the finished work of a queue. Only for submission.c and wait.c. */
#ifndef LAP_REPLAYER_SYNC_QUEUE_PROGRESS_H
#define LAP_REPLAYER_SYNC_QUEUE_PROGRESS_H

#include "replayer/core/device.h"

#define REPLAY_OWN_FENCES 32u /* of a queue */
#define REPLAY_MOST_BINDS 64u /* unfinished ones of a device */

/* When it is signalled, the queue's work up to this number is over. */
struct replay_queue_fence {
    VkFence fence;
    uint64_t number;
    bool own; /* the replay's, not the program's */
};

struct replay_queue_progress {
    uint64_t submitted, finished;      /* the last submission, and the last one up to which all are over */
    struct replay_queue_fence *fences; /* of unfinished work, by rising numbers; the replay's own may be later */
    uint32_t fence_count, fence_capacity;
    VkFence spare[REPLAY_OWN_FENCES];
    uint32_t spare_count, own_count;
    VkFence idle_fence; /* wait.c: signalled when all work is over; created when needed */
    bool idle_pending;
};

/* The queue's, created at the first call; NULL without memory. */
struct replay_queue_progress *replay_queue_progress_of(struct replay_queue *queue);

#endif
