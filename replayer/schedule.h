/* SPDX-License-Identifier: MIT */
/*
 * schedule: when queue operations of the trace are given to the driver. With timeline semaphores a program may submit
 * work whose wait is signalled by what it submits later. Where several recorded queues are one here, and where the
 * replay's own copies follow such work, a driver that got it at once would wait for ever. So an operation is held back,
 * and with it all that was recorded behind it on its queue, until every signal that it waits for has been given to the
 * driver; then all that was given ends, whatever real queues there are (docs/ordering.md, "Queues"). The same goes for
 * work that waits, on the device, for an event which the host sets later.
 *
 * Knows no Vulkan: what an operation is, the user knows. One thread.
 */
#ifndef LAP_REPLAYER_SCHEDULE_H
#define LAP_REPLAYER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* What is known of a semaphore. Zeroed: a binary one that the schedule has not met. Belongs to the user, who keeps it
 * as long as replay_schedule_names says so. */
struct replay_semaphore {
    bool timeline;
    bool met;       /* binary */
    uint64_t given; /* timeline: the largest value that comes without more being given; binary: signals given */
    uint64_t waits; /* binary: waits added so far */
};

/* A wait or a signal. value is a timeline's; of a binary semaphore replay_schedule_add counts the waits. */
struct replay_point {
    struct replay_semaphore *semaphore;
    uint64_t value;
};

/* What is known of an event. Zeroed: it is not set. Belongs to the user, as a semaphore does. */
struct replay_event {
    bool set;     /* when all that was given has run */
    bool awaited; /* something was given that waits for the host to set it */
    bool then;    /* `set` when the host has */
    /* Whose look is the last one: the schedule's, at a batch, or submit_parts.c's, at a submit. */
    struct {
        uint64_t look;
        bool set, awaited;
    } now;
};

/* What command buffers do with an event, in their order. */
enum replay_event_use { REPLAY_EVENT_SET, REPLAY_EVENT_RESET, REPLAY_EVENT_WAIT };
struct replay_event_step {
    struct replay_event *event;
    enum replay_event_use use;
};

/* The smallest part that is given alone. Its points follow those of the batch before it: waits, then signals; and so do
 * its steps. */
struct replay_batch {
    uint32_t wait_count, signal_count, step_count;
};

/* One call of the program on one of its queues: batches in order. One without batches ends when all before it does. */
struct replay_operation {
    struct replay_operation *next; /* of the same queue */
    uint64_t order;                /* operations were added by rising numbers */
    uint32_t batch_count, given;   /* batches; how many of them the driver has */
    uint32_t given_points, given_steps;
    const struct replay_batch *batches;
    struct replay_point *points;
    const struct replay_event_step *steps;
};

struct replay_recorded_queue {
    struct replay_recorded_queue *next;
    struct replay_operation *first, *last; /* held back */
};

struct replay_schedule {
    struct replay_recorded_queue *queues;
    uint64_t held, orders, looks;
    uint64_t awaited; /* events that the driver has work for which waits for the host to set them */
    void *user;
    /* Gives batches [first, first + count) of an operation to the driver; with the last one what ends an operation. An
     * error ends the replay. */
    enum lap_status (*give)(void *user, struct replay_operation *operation, uint32_t first, uint32_t count);
    /* Makes a copy that outlives the call, since the operation has to wait; and ends such a copy. */
    enum lap_status (*keep)(void *user, const struct replay_operation *operation, struct replay_operation **out_copy);
    void (*drop)(void *user, struct replay_operation *copy);
};

/* queue: zeroed, and the user's until replay_schedule_finish. */
void replay_schedule_queue(struct replay_schedule *schedule, struct replay_recorded_queue *queue);

/* Gives the operation, or as many of its batches as can be given; what is left of it, or all where its queue holds
 * others, is kept. Then gives what that lets go. The operation and its points are the caller's again. */
enum lap_status replay_schedule_add(struct replay_schedule *schedule, struct replay_recorded_queue *queue,
                                    struct replay_operation *operation) LAP_MUST_CHECK;

/* What was signalled without an operation: by the host (a timeline's value), or by the replay itself (a binary
 * semaphore; value is not looked at). Gives what that lets go. */
enum lap_status replay_schedule_signal(struct replay_schedule *schedule, struct replay_semaphore *semaphore,
                                       uint64_t value) LAP_MUST_CHECK;

/* The host has set an event, or resets it. Gives what that lets go. */
enum lap_status replay_schedule_set(struct replay_schedule *schedule, struct replay_event *event) LAP_MUST_CHECK;
void replay_schedule_reset(struct replay_event *event);

/* The program saw the event set. If that is done by work which is held, in front of where it waits for other events,
 * then this work goes now, with what stands before it on its queue. */
enum lap_status replay_schedule_seen(struct replay_schedule *schedule, struct replay_event *event) LAP_MUST_CHECK;

/* Gives all that is held, oldest first, whatever it waits for: for a trace that could not be played otherwise. */
enum lap_status replay_schedule_flush(struct replay_schedule *schedule) LAP_MUST_CHECK;

/* A wait of the replay's own for a binary semaphore: whether its signal has been given. */
bool replay_schedule_wait(struct replay_semaphore *semaphore);

/* Whether something that is held waits for a semaphore or signals it. */
bool replay_schedule_names(const struct replay_schedule *schedule, const struct replay_semaphore *semaphore);

/* An event ends. */
void replay_schedule_forget(struct replay_schedule *schedule, const struct replay_event *event);

/* Whether something that is held names an event. */
bool replay_schedule_names_event(const struct replay_schedule *schedule, const struct replay_event *event);

/* Drops what is still held. */
void replay_schedule_finish(struct replay_schedule *schedule);

#endif
