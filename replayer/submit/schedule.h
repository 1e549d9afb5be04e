/* SPDX-License-Identifier: MIT */
/*
 * schedule: decides when queue operations of the trace are submitted to the driver. With timeline semaphores a program
 * may submit work that waits for a signal of later work. Where several recorded queues share one queue of the replay
 * device, and where the replay's own copies follow such work, an immediate submit could deadlock. So the schedule holds
 * an operation, and all later operations of its queue, until every signal that it waits for has been submitted to the
 * driver. Then all submitted work ends, on any set of real queues (docs/ordering.md, "Queues"). The schedule also holds
 * work that waits on the device for an event which the host sets later.
 *
 * It makes no Vulkan calls: the user interprets operations. One thread.
 */
#ifndef LAP_REPLAYER_SUBMIT_SCHEDULE_H
#define LAP_REPLAYER_SUBMIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "replayer/command/event_step.h"

/* The state of a semaphore. Zeroed: a binary one that is new to the schedule. The user owns it, and must not free it
 * while replay_schedule_names returns true. */
struct replay_semaphore {
    bool timeline;
    bool met;           /* binary */
    uint64_t submitted; /* timeline: the largest value that submitted work will signal; binary: submitted signals */
    uint64_t waits;     /* binary: waits added so far */
};

/* A wait or a signal. value is a timeline's; of a binary semaphore replay_schedule_add counts the waits. */
struct replay_point {
    struct replay_semaphore *semaphore;
    uint64_t value;
};

/* The state of an event. Zeroed: not set. The user owns it, as with a semaphore. */
struct replay_event {
    bool set;     /* after all submitted work */
    bool awaited; /* submitted work waits for the host to set it */
    bool then;    /* the value of `set` after the host has set it */
    struct {      /* the state after the batch of the last check */
        uint64_t look;
        bool set, awaited;
    } now;
};

/* The smallest part that can be submitted alone. Its points and steps follow those of the batch before it: waits,
 * then signals. */
struct replay_batch {
    uint32_t wait_count, signal_count, step_count;
};

/* One call of the program on one of its queues: batches in order. An operation without batches ends after all earlier
 * ones. */
struct replay_operation {
    struct replay_operation *next;   /* of the same queue */
    uint64_t order;                  /* operations were added by rising numbers */
    uint32_t batch_count, submitted; /* batches; submitted batches */
    uint32_t submitted_points, submitted_steps;
    const struct replay_batch *batches;
    struct replay_point *points;
    const struct replay_event_step *steps;
};

struct replay_recorded_queue {
    struct replay_recorded_queue *next;
    struct replay_operation *first, *last; /* held */
};

struct replay_schedule {
    struct replay_recorded_queue *queues;
    uint64_t held, orders, looks;
    uint64_t awaited; /* events for which submitted work waits and which the host has not set */
    void *user;
    /* Submits batches [first, first + count) of an operation to the driver; with the last one also its fence. An
     * error ends the replay. */
    enum lap_status (*submit)(void *user, struct replay_operation *operation, uint32_t first, uint32_t count);
    /* Makes a copy of a held operation that outlives the call; and frees such a copy. */
    enum lap_status (*copy)(void *user, const struct replay_operation *operation, struct replay_operation **out_copy);
    void (*drop)(void *user, struct replay_operation *copy);
};

/* queue: zeroed, and the user's until replay_schedule_finish. */
void replay_schedule_queue(struct replay_schedule *schedule, struct replay_recorded_queue *queue);

/* Submits the operation, or as many of its batches as possible. Holds a copy of the rest, or of all where its queue
 * holds others. Then submits operations that this releases. The caller still owns the operation and its points. */
enum lap_status replay_schedule_add(struct replay_schedule *schedule, struct replay_recorded_queue *queue,
                                    struct replay_operation *operation) LAP_MUST_CHECK;

/* Notes a signal without an operation: by the host (a timeline's value), or by the replay itself (a binary
 * semaphore; value is ignored). Submits operations that this releases. */
enum lap_status replay_schedule_signal(struct replay_schedule *schedule, struct replay_semaphore *semaphore,
                                       uint64_t value) LAP_MUST_CHECK;

/* Notes that the host sets an event, or resets it. Submits operations that this releases. */
enum lap_status replay_schedule_set(struct replay_schedule *schedule, struct replay_event *event) LAP_MUST_CHECK;
void replay_schedule_reset(struct replay_event *event);

/* Notes that the program saw the event set. If held work sets it before it waits for other events, this submits that
 * work, with all earlier work of its queue. */
enum lap_status replay_schedule_seen(struct replay_schedule *schedule, struct replay_event *event) LAP_MUST_CHECK;

/* Submits all held operations, oldest first, regardless of their waits: for a trace that could not be played otherwise.
 */
enum lap_status replay_schedule_flush(struct replay_schedule *schedule) LAP_MUST_CHECK;

/* Counts a wait of the replay's own for a binary semaphore. Returns whether its signal has been submitted. */
bool replay_schedule_wait(struct replay_semaphore *semaphore);

/* Whether a held operation waits for a semaphore or signals it. */
bool replay_schedule_names(const struct replay_schedule *schedule, const struct replay_semaphore *semaphore);

/* Forgets a destroyed event. */
void replay_schedule_forget(struct replay_schedule *schedule, const struct replay_event *event);

/* Whether a held operation uses an event. */
bool replay_schedule_names_event(const struct replay_schedule *schedule, const struct replay_event *event);

/* A wait of a held operation. */
struct replay_obstacle {
    const struct replay_operation *operation;
    const struct replay_semaphore *semaphore; /* NULL: it is an event */
    uint64_t value;                           /* of a timeline */
    const struct replay_event *event;
};

/* Finds a wait that holds back all that is held; where there is one, such that no held operation ends it. False:
 * nothing is held. */
bool replay_schedule_obstacle(const struct replay_schedule *schedule, struct replay_obstacle *out);

/* Drops all held operations. */
void replay_schedule_finish(struct replay_schedule *schedule);

#endif
