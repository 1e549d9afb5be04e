/* SPDX-License-Identifier: MIT */
/*
 * submit_parts: cuts a recorded submit into smaller batches: in front of each command buffer, and of each part of one
 * (events.h), that waits for an event which is not set by then. So the schedule may give what comes before such a wait
 * while it holds what comes behind it. The first batch has the waits of the recorded one, and the last its signals;
 * both reach over all that stands behind or before them on the queue. What is chained goes along: what counts for work
 * with each of them, and all of it with the last.
 *
 * Knows nothing of queues and of what is held. One thread.
 */
#ifndef LAP_REPLAYER_SUBMIT_PARTS_H
#define LAP_REPLAYER_SUBMIT_PARTS_H

#include "replayer/context.h"
#include "replayer/schedule.h"

/* What the batches do with events; in the replay's arena. */
struct replay_parts {
    uint32_t batch_count;
    const uint32_t *step_counts; /* of each batch; NULL: there are no steps at all */
    const struct replay_event_step *steps;
    /* Where something was cut: the batches' command buffers as the trace names them, in a row as the batches' arrays
     * are themselves; else NULL. */
    const VkCommandBuffer *recorded;
};

/* command: vkQueueSubmit or vkQueueSubmit2; its arguments are the replay's own, decoded for this call, and have other
 * arrays afterwards where something was cut. look: a number that the events' `now` has not had (schedule.h). */
enum lap_status replay_submit_cut(struct replay *r, const struct replay_device *dev, uint32_t command, void *args,
                                  uint64_t look, struct replay_parts *out) LAP_MUST_CHECK;

#endif
