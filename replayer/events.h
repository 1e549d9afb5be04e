/* SPDX-License-Identifier: MIT */
/*
 * events: what command buffers do with events that the host can set, so that work which waits for the host can be held
 * back until then (schedule.h). Looked at from the first such event of a device on.
 *
 * A command buffer may tell the program something (an event, a query) before it waits for the host. Then it has several
 * *parts* here, each a command buffer of the driver's: what comes before the wait runs, what comes behind it is held
 * (docs/ordering.md, "Queues"). Parts of a secondary one are executed one after the other, by parts of its primary.
 *
 * Command buffers may be recorded by several threads (parallel.h); all else is one thread's.
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
/* The command buffer is gone; its pool too, if that is null. */
void replay_events_forget(struct replay *r, struct replay_device *dev, VkCommandPool pool, VkCommandBuffer commands);
void replay_events_finish(struct replay_device *dev);

/* How many steps a command buffer has; and writes those of a part, of events that are alive. Returns how many were
 * written. */
uint32_t replay_events_count(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands);
uint32_t replay_events_write(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands, uint32_t part,
                             struct replay_event_step *out);

/* ---- parts ---- */

/* Whether a secondary command buffer waits for an event that it does not set itself. */
bool replay_events_waits(struct replay *r, const struct replay_device *dev, VkCommandBuffer secondary);
/* Whether the program may have learnt how far the part that is being recorded has come. */
bool replay_events_told(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands);
/* Whether a new part had better begin with the command that comes next (r->command): it waits for an event that the
 * command buffer does not set itself, or executes a secondary one that does, and the program may have learnt before how
 * far it has come. */
bool replay_events_divide(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                          const void *args);
/* The same about a part of a secondary one, which is executed next. */
bool replay_events_divide_executed(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                                   VkCommandBuffer secondary, uint32_t part);
/* It has been executed (replay_events_note does this for those that have no parts). */
enum lap_status replay_events_note_executed(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                            VkCommandBuffer secondary, uint32_t part) LAP_MUST_CHECK;
/* A new part of a command buffer, of the same level, which is to be begun. */
enum lap_status replay_events_add_part(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                       VkCommandBuffer *out_part) LAP_MUST_CHECK;
/* How many there are; the first one is the command buffer itself. */
uint32_t replay_events_parts(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands);
VkCommandBuffer replay_events_part(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                                   uint32_t number);

/* What is known of an event; NULL: the host can't set it. */
struct replay_event *replay_event_of(struct replay *r, VkEvent event);

#endif
