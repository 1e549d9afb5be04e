/* SPDX-License-Identifier: MIT */
/*
 * command_events: the uses of host-settable events in recorded command buffers, in the order of their commands. The
 * schedule of submits reads them (submit/submit.h) and holds back work that waits for the host. A device without such
 * events has no state.
 *
 * Several threads may record command buffers (parallel.h). All else runs on one thread.
 */
#ifndef LAP_REPLAYER_COMMAND_COMMAND_EVENTS_H
#define LAP_REPLAYER_COMMAND_COMMAND_EVENTS_H

#include "replayer/command/event_step.h"
#include "replayer/core/replay.h"

struct replay_command_events; /* replay_device.sync.events; NULL: the device has no event yet that the host can set
                               */

/* Call it with a device's first event that the host can set. Later calls do nothing. */
enum lap_status replay_command_events_create(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
/* Call it after the end of the device's command buffers; also where nothing was created. */
void replay_command_events_destroy(struct replay_device *dev);

/* A command buffer is begun again. */
void replay_command_events_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands);
/* A command of it (r->at.command) has been recorded. LAP_ERROR_LIMIT: all command buffers have too many steps. */
enum lap_status replay_command_events_note(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                           const void *args) LAP_MUST_CHECK;
/* A command buffer ends. */
void replay_command_events_forget(struct replay *r, struct replay_device *dev, VkCommandBuffer commands);

/* How many steps a command buffer has. */
uint32_t replay_command_events_count(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands);
/* Writes its steps of events that are alive, to room for all. Returns how many it wrote. */
uint32_t replay_command_events_write(struct replay *r, const struct replay_device *dev, VkCommandBuffer commands,
                                     struct replay_event_step *out);

/* The record of an event by its live handle; NULL: the host can't set it. */
struct replay_event *replay_event_of(struct replay *r, VkEvent event);

#endif
