/* SPDX-License-Identifier: MIT */
/*
 * submit_events: events that the host can set, and their uses in the command buffers of a submit. One thread.
 */
#ifndef LAP_REPLAYER_SUBMIT_SUBMIT_EVENTS_H
#define LAP_REPLAYER_SUBMIT_SUBMIT_EVENTS_H

#include "replayer/command/event_step.h"
#include "replayer/core/replay.h"

/* In the replay's arena. */
struct replay_submit_events {
    const uint32_t *step_counts; /* of each batch; NULL: there are no steps */
    const struct replay_event_step *steps;
};

/* Collects the events in the batches of a submit. command: vkQueueSubmit or vkQueueSubmit2, with its arguments. */
enum lap_status replay_submit_events(struct replay *r, const struct replay_device *dev, uint32_t command,
                                     const void *args, struct replay_submit_events *out) LAP_MUST_CHECK;

#endif
