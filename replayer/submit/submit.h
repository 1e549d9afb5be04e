/* SPDX-License-Identifier: MIT */
/*
 * submit: vkQueueSubmit, vkQueueSubmit2 and vkQueueBindSparse. While a device has no timeline semaphore, they go to the
 * driver at once: work then waits only for earlier submits. From the first timeline semaphore, or event that the host
 * can set, they go through a schedule (schedule.h), which holds work that waits for a later signal.
 *
 * The replay's own work goes to the driver's queues directly, since all submitted work ends.
 */
#ifndef LAP_REPLAYER_SUBMIT_SUBMIT_H
#define LAP_REPLAYER_SUBMIT_SUBMIT_H

#include <stdbool.h>

#include "replayer/core/replay.h"

/* Called before and after each call that submits recorded work. replay.submit_observer; NULL: none. */
struct replay_submit_observer {
    void (*before)(struct replay *r, const struct replay_device *dev, VkQueue queue);
    void (*after)(struct replay *r, const struct replay_device *dev, VkQueue queue);
};

/* Call it with the device's first timeline semaphore, or event that the host can set. Later calls do nothing. */
enum lap_status replay_submits_begin(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
/* Drops held work, before the end of the device's objects. Also without a schedule. */
void replay_submits_end(struct replay_device *dev);

/* Notes a signal without a submit of the trace: the host's of a timeline semaphore, or the replay's own of a binary
 * one (value is ignored). */
enum lap_status replay_submits_signal(struct replay *r, struct replay_device *dev, VkSemaphore semaphore,
                                      uint64_t value) LAP_MUST_CHECK;

struct replay_semaphore;
/* Whether held work waits for it or signals it. */
bool replay_submits_name_semaphore(const struct replay_device *dev, const struct replay_semaphore *semaphore);

struct replay_event;
/* Notes that the host has set an event; NULL: no work can wait for it. */
enum lap_status replay_submits_set_event(struct replay_device *dev, struct replay_event *event) LAP_MUST_CHECK;
/* Releases the work that sets an event, before the replay waits for the event as the program did. NULL: as above. */
enum lap_status replay_submits_seen_event(struct replay *r, struct replay_device *dev,
                                          struct replay_event *event) LAP_MUST_CHECK;
/* Forgets a destroyed event. */
void replay_submits_forget_event(struct replay_device *dev, const struct replay_event *event);
bool replay_submits_name_event(const struct replay_device *dev, const struct replay_event *event);

/* Makes sure that the signals of binary semaphores are submitted, before the replay itself waits for them on a
 * queue. *out_stuck: a signal is behind work that waits for the host. LAP_ERROR_REPLAY: there is no signal. */
enum lap_status replay_submits_need(struct replay *r, struct replay_device *dev, uint32_t count,
                                    const VkSemaphore *semaphores, bool *out_stuck) LAP_MUST_CHECK;

/* Submits all held work, oldest first. *out_any: there was some. For waits that only this can end: of a program that
 * relies on more than the specification guarantees, or that queries an event which work sets before the stage that
 * waits. */
enum lap_status replay_submits_flush(struct replay *r, struct replay_device *dev, bool *out_any) LAP_MUST_CHECK;
/* The same, if work of this queue is held. Then the driver has all of its work. */
enum lap_status replay_submits_flush_queue(struct replay *r, struct replay_device *dev, VkQueue queue) LAP_MUST_CHECK;
/* Whether any work is held. */
bool replay_submits_hold(const struct replay_device *dev);
struct replay_obstacle;
/* A wait that holds it back, and the packet with that wait. False: nothing is held. */
bool replay_submits_obstacle(const struct replay_device *dev, struct replay_obstacle *out, uint64_t *out_ticket);
/* The failure where work is held, or waits for an event of the host: what it waits for, and the later call that ends
 * that. LAP_ERROR_REPLAY. Else LAP_OK. */
enum lap_status replay_submits_refuse_held(struct replay *r, const struct replay_device *dev) LAP_MUST_CHECK;

/* vkQueueBindSparse with translated binds, in the replay's arena. */
struct gen_args_vkQueueBindSparse;
enum lap_status replay_submit_binds(struct replay *r, struct replay_device *dev,
                                    struct gen_args_vkQueueBindSparse *args) LAP_MUST_CHECK;

#endif
