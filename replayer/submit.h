/* SPDX-License-Identifier: MIT */
/*
 * submit: vkQueueSubmit, vkQueueSubmit2 and vkQueueBindSparse. As long as a device has no timeline semaphore they go to
 * the driver as they come: without one, what work waits for was submitted before it. From the first timeline semaphore,
 * or event that the host can set, on they go through a schedule (schedule.h), which holds back what waits for a later
 * signal.
 *
 * The replay's own work goes to the driver's queues straight: whatever the driver has been given ends.
 */
#ifndef LAP_REPLAYER_SUBMIT_H
#define LAP_REPLAYER_SUBMIT_H

#include <stdbool.h>

#include "replayer/context.h"

/* With the device's first timeline semaphore, or event that the host can set; later calls do nothing. */
enum lap_status replay_submits_begin(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
/* Before the device's objects end: drops what is held back. Also without a schedule. */
void replay_submits_end(struct replay_device *dev);

/* Tells of a signal that no submit of the trace gives: the host's of a timeline semaphore, or the replay's own of a
 * binary one (value is not looked at). */
enum lap_status replay_submits_signal(struct replay *r, struct replay_device *dev, VkSemaphore semaphore,
                                      uint64_t value) LAP_MUST_CHECK;

struct replay_event;
/* The host has set it; NULL: it is none that is held back for. */
enum lap_status replay_submits_set_event(struct replay_device *dev, struct replay_event *event) LAP_MUST_CHECK;
/* Before the replay waits for it as the program did: what sets it must not be held back. NULL: as above. */
enum lap_status replay_submits_seen_event(struct replay *r, struct replay_device *dev,
                                          struct replay_event *event) LAP_MUST_CHECK;
/* Whether the driver has work that waits for an event which the host is still to set. */
bool replay_submits_await(const struct replay_device *dev);
/* The event ends. */
void replay_submits_forget_event(struct replay_device *dev, const struct replay_event *event);
bool replay_submits_name_event(const struct replay_device *dev, const struct replay_event *event);

/* Before something waits for binary semaphores on the driver's queue itself: makes sure that their signals are there.
 * *out_stuck: behind work that waits for the host. */
enum lap_status replay_submits_need(struct replay *r, struct replay_device *dev, uint32_t count,
                                    const VkSemaphore *semaphores, bool *out_stuck) LAP_MUST_CHECK;

/* Gives the driver all that is held back, oldest first. *out_any: there was something. For waits that only this can
 * end: of a program that knows more than the specification allows, or that asked an event which work sets before the
 * stage that waits. */
enum lap_status replay_submits_flush(struct replay *r, struct replay_device *dev, bool *out_any) LAP_MUST_CHECK;
/* The same, if something of this queue is held back; then the driver has all that was submitted to it. */
enum lap_status replay_submits_flush_queue(struct replay *r, struct replay_device *dev, VkQueue queue) LAP_MUST_CHECK;

/* vkQueueBindSparse with binds for this host, which lie in the replay's arena; args are the recorded ones. */
struct gen_args_vkQueueBindSparse;
enum lap_status replay_submit_binds(struct replay *r, struct replay_device *dev,
                                    struct gen_args_vkQueueBindSparse *args) LAP_MUST_CHECK;

#endif
