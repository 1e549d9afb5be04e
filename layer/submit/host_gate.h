/* SPDX-License-Identifier: MIT */
/*
 * host_gate: submitted work that can't have begun. It waits for a value of a timeline that nobody signals who could do
 * so yet, for an event that the host has yet to set, for something that such work signals, or behind it on its queue:
 * it is *gated* until the host, or work that isn't gated, has signalled. What it will write is the host's until then
 * (docs/memory.md, "Waits before signals").
 *
 * All of it under dev->submit_mutex.
 */
#ifndef LAP_LAYER_HOST_GATE_H
#define LAP_LAYER_HOST_GATE_H

#include "layer/command/cmdbuf_parts.h"
#include "layer/submit/submission.h"

/* Whether a wait for this can't end before the host, or work that is not submitted yet, has done something. */
bool layer_host_gate_is_shut(struct layer_device *dev, const struct layer_point *point);
/* Whether some of the work on the queue is gated, and all that comes behind it with that. */
bool layer_host_gate_on_queue(const struct layer_device *dev, VkQueue queue);
/* What submitted commands do with an event, in the order of submission. True: what comes behind it waits for the host;
 * *out says for what. */
bool layer_host_gate_step(struct layer_device *dev, const struct layer_event_step *step, struct layer_host_gate *out);

/* vkSetEvent and vkResetEvent. */
void layer_host_gate_host_set(struct layer_device *dev, VkEvent event);
void layer_host_gate_host_reset(struct layer_device *dev, VkEvent event);

/* Submitted work is gated; and isn't, because all that it waits for was signalled or because it is known to be done. */
void layer_host_gate_shut(struct layer_device *dev, struct layer_submission *submission);
void layer_host_gate_lift(struct layer_device *dev, struct layer_submission *submission);
/* The signal comes without anything more from the host. */
void layer_host_gate_signalled(struct layer_device *dev, const struct layer_point *point);

/* Lifts the gates of all that doesn't wait any more, and adds what that writes. Returns the serial of the oldest;
 * UINT64_MAX: there is none. */
uint64_t layer_host_gate_open(struct layer_device *dev, struct lap_touched *opened);

#endif
