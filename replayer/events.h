/* SPDX-License-Identifier: MIT */
/*
 * events: what command buffers do with events that the host can set, so that work which waits for the host can be held
 * back until then (schedule.h). Looked at from the first such event of a device on. Command
 * buffers may be recorded by several threads (parallel.h); all else is one thread's.
 */
#ifndef LAP_REPLAYER_EVENTS_H
#define LAP_REPLAYER_EVENTS_H

#include "replayer/context.h"
#include "replayer/schedule.h"

struct replay_events; /* replay_device.events; NULL: no such event was made yet */

/* A command buffer is recorded anew. */
void replay_events_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands);
/* A command of it (r->command) has been recorded. */
enum lap_status replay_events_note(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                   const void *args) LAP_MUST_CHECK;
/* The command buffer is gone. */
void replay_events_forget(struct replay *r, struct replay_device *dev, VkCommandBuffer commands);
void replay_events_finish(struct replay_device *dev);

/* How many steps a command buffer has; and writes them, of events that are alive. Returns how many were written. */
uint32_t replay_events_count(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands);
uint32_t replay_events_write(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                             struct replay_event_step *out);

/* What is known of an event; NULL: the host can't set it. */
struct replay_event *replay_event_of(struct replay *r, VkEvent event);

#endif
