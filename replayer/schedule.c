/* SPDX-License-Identifier: MIT */
#include "replayer/schedule.h"

#include <stddef.h>

void replay_schedule_queue(struct replay_schedule *schedule, struct replay_recorded_queue *queue)
{
    queue->next = schedule->queues;
    schedule->queues = queue;
}

/* ---- what has been given ---- */

/* Signals and waits of a binary semaphore take turns on the device. A wait may only be submitted when the signal that
 * it is for has been, with all that this depends on, so also the wait before: waits are submitted in the order of their
 * turns, and the n-th is for the n-th signal that is given. (The n-th signal may be submitted before earlier ones, if
 * it waits for a timeline semaphore; then it is held.) The signal for the first wait of all, where no signal was met
 * before, was given before the schedule began. */
static uint64_t number_wait(struct replay_semaphore *semaphore)
{
    if (!semaphore->met)
        semaphore->given = 1;
    semaphore->met = true;
    return ++semaphore->waits;
}

static void number_points(struct replay_operation *operation)
{
    struct replay_point *point = operation->points;

    for (uint32_t i = 0; i < operation->batch_count; i++) {
        for (uint32_t j = 0; j < operation->batches[i].wait_count; j++, point++)
            if (!point->semaphore->timeline)
                point->value = number_wait(point->semaphore);
        for (uint32_t j = 0; j < operation->batches[i].signal_count; j++, point++)
            point->semaphore->met = true;
    }
}

static void note_signal(struct replay_semaphore *semaphore, uint64_t value)
{
    semaphore->met = true;
    if (!semaphore->timeline)
        semaphore->given++;
    else if (value > semaphore->given)
        semaphore->given = value;
}

/* Counts batches that can be given in a row, each with the signals of those before it, and takes them as given. */
static uint32_t take_ready(struct replay_operation *operation, bool all)
{
    uint32_t first = operation->given;

    for (; operation->given < operation->batch_count; operation->given++) {
        const struct replay_batch *batch = &operation->batches[operation->given];
        const struct replay_point *waits = &operation->points[operation->given_points];
        const struct replay_point *signals = waits + batch->wait_count;
        for (uint32_t i = 0; i < batch->wait_count && !all; i++)
            if (waits[i].semaphore->given < waits[i].value)
                return operation->given - first;
        for (uint32_t i = 0; i < batch->signal_count; i++)
            note_signal(signals[i].semaphore, signals[i].value);
        operation->given_points += batch->wait_count + batch->signal_count;
    }
    return operation->given - first;
}

static bool is_given(const struct replay_operation *operation)
{
    return operation->given == operation->batch_count;
}

/* Gives what can be given of an operation whose turn it is. *out_moved: some, or its end, was. */
static enum lap_status give(struct replay_schedule *schedule, struct replay_operation *operation, bool all,
                            bool *out_moved)
{
    uint32_t first = operation->given, count = take_ready(operation, all);

    *out_moved = count || is_given(operation);
    return *out_moved ? schedule->give(schedule->user, operation, first, count) : LAP_OK;
}

/* ---- what is held ---- */

static void remove_first(struct replay_schedule *schedule, struct replay_recorded_queue *queue)
{
    struct replay_operation *operation = queue->first;

    queue->first = operation->next;
    if (!queue->first)
        queue->last = NULL;
    schedule->held--;
    schedule->drop(schedule->user, operation);
}

static enum lap_status hold(struct replay_schedule *schedule, struct replay_recorded_queue *queue,
                            const struct replay_operation *operation)
{
    struct replay_operation *copy;
    enum lap_status status = schedule->keep(schedule->user, operation, &copy);

    if (status != LAP_OK)
        return status;
    copy->next = NULL;
    if (queue->last)
        queue->last->next = copy;
    else
        queue->first = copy;
    queue->last = copy;
    schedule->held++;
    return LAP_OK;
}

/* One step: something of the oldest operation that can go on. LAP_END: none can. */
static enum lap_status step(struct replay_schedule *schedule, bool all)
{
    uint64_t after = 0; /* operations up to this one can't */

    for (;;) {
        struct replay_recorded_queue *oldest = NULL;
        enum lap_status status;
        bool moved;
        for (struct replay_recorded_queue *queue = schedule->queues; queue; queue = queue->next)
            if (queue->first && queue->first->order > after && (!oldest || queue->first->order < oldest->first->order))
                oldest = queue;
        if (!oldest)
            return LAP_END;
        after = oldest->first->order;
        status = give(schedule, oldest->first, all, &moved);
        if (status != LAP_OK)
            return status;
        if (is_given(oldest->first))
            remove_first(schedule, oldest);
        if (moved)
            return LAP_OK;
    }
}

static enum lap_status let_go(struct replay_schedule *schedule, bool all)
{
    enum lap_status status = LAP_OK;

    while (schedule->held && status == LAP_OK)
        status = step(schedule, all);
    return status == LAP_END ? LAP_OK : status;
}

/* ---- what the replay calls ---- */

enum lap_status replay_schedule_add(struct replay_schedule *schedule, struct replay_recorded_queue *queue,
                                    struct replay_operation *operation)
{
    enum lap_status status = LAP_OK;
    bool moved;

    operation->order = ++schedule->orders;
    operation->given = operation->given_points = 0;
    number_points(operation);
    if (!queue->first)
        status = give(schedule, operation, false, &moved);
    if (status == LAP_OK && (queue->first || !is_given(operation)))
        status = hold(schedule, queue, operation);
    return status == LAP_OK ? let_go(schedule, false) : status;
}

enum lap_status replay_schedule_signal(struct replay_schedule *schedule, struct replay_semaphore *semaphore,
                                       uint64_t value)
{
    note_signal(semaphore, value);
    return let_go(schedule, false);
}

bool replay_schedule_wait(struct replay_semaphore *semaphore)
{
    return semaphore->timeline || number_wait(semaphore) <= semaphore->given;
}

enum lap_status replay_schedule_flush(struct replay_schedule *schedule)
{
    return let_go(schedule, true);
}

static bool names(const struct replay_operation *operation, const struct replay_semaphore *semaphore)
{
    const struct replay_point *point = operation->points;

    for (uint32_t i = 0; i < operation->batch_count; i++)
        for (uint32_t j = 0; j < operation->batches[i].wait_count + operation->batches[i].signal_count; j++, point++)
            if (point->semaphore == semaphore)
                return true;
    return false;
}

bool replay_schedule_names(const struct replay_schedule *schedule, const struct replay_semaphore *semaphore)
{
    for (const struct replay_recorded_queue *queue = schedule->queues; queue; queue = queue->next)
        for (const struct replay_operation *operation = queue->first; operation; operation = operation->next)
            if (names(operation, semaphore))
                return true;
    return false;
}

void replay_schedule_finish(struct replay_schedule *schedule)
{
    for (struct replay_recorded_queue *queue = schedule->queues; queue; queue = queue->next)
        while (queue->first)
            remove_first(schedule, queue);
}
