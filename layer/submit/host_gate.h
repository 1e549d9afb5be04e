/* SPDX-License-Identifier: MIT */
/*
 * host_gate: submitted work that can't have begun: *gated* work. It waits for a timeline value that no runnable work
 * signals, for an event that the host has not set, for a signal of gated work, or follows gated work on its queue. It
 * is gated until the host, or work that isn't gated, has signalled. Until then the host may use the memory that the
 * work will write (docs/memory.md, "Waits before signals").
 *
 * All of it under dev->submit.mutex.
 */
#ifndef LAP_LAYER_HOST_GATE_H
#define LAP_LAYER_HOST_GATE_H

#include "layer/command/cmdbuf_parts.h"
#include "layer/submit/submission.h"

/* Whether a wait for this point can't end without a further action of the host or a later submit. */
bool layer_host_gate_is_shut(struct layer_device *dev, const struct layer_point *point);
/* Whether some of the work on the queue is gated, and so all later work on it. */
bool layer_host_gate_on_queue(const struct layer_device *dev, VkQueue queue);
/* An event command of submitted work, in the order of submission. True: later commands wait for the host; *out has the
 * event. */
bool layer_host_gate_step(struct layer_device *dev, const struct layer_event_step *step, struct layer_host_gate *out);

/* vkSetEvent and vkResetEvent. */
void layer_host_gate_host_set(struct layer_device *dev, VkEvent event);
void layer_host_gate_host_reset(struct layer_device *dev, VkEvent event);

/* Submitted work becomes gated; and ungated, because all its waits were signalled or it is known to be done. */
void layer_host_gate_shut(struct layer_device *dev, struct layer_submission *submission);
void layer_host_gate_lift(struct layer_device *dev, struct layer_submission *submission);
/* The signal needs no further action of the host. */
void layer_host_gate_signalled(struct layer_device *dev, const struct layer_point *point);

/* Lifts the gates of all work that doesn't wait any more, and adds its writes. Returns the serial of the oldest such
 * work; UINT64_MAX: there is none. */
uint64_t layer_host_gate_open(struct layer_device *dev, struct lap_touched *opened);

#endif
