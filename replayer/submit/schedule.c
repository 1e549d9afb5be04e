/* SPDX-License-Identifier: MIT */
#include "replayer/submit/schedule.h"

#include <stddef.h>

#include "base/assert.h"

void replay_schedule_queue(struct replay_schedule *schedule, struct replay_recorded_queue *queue)
{
    queue->next = schedule->queues;
    schedule->queues = queue;
}

/* ---- submitted signals and waits ---- */

/* Signals and waits of a binary semaphore alternate on the device. A wait may be submitted only after its signal and
 * everything that the signal depends on, which includes the previous wait. So waits are submitted in the order of their
 * turns, and the n-th wait belongs to the n-th submitted signal. (The n-th signal may be submitted before earlier
 * signals that wait for a timeline semaphore; then it is held.) Where no signal came before the first wait, that signal
 * was submitted before the schedule began. */
static uint64_t number_wait(struct replay_semaphore *semaphore)
{
    if (!semaphore->met)
        semaphore->submitted = 1;
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
        semaphore->submitted++;
    else if (value > semaphore->submitted)
        semaphore->submitted = value;
}

/* Which part of an operation may be submitted. */
enum readiness {
    READY,   /* batches that finish */
    UP_TO,   /* batches that finish apart from events that the host sets */
    WHATEVER /* all batches */
};

/* Applies a batch's event steps. False: the batch waits for an event that is not set at that point. */
static bool look_at_events(struct replay_schedule *schedule, const struct replay_event_step *steps, uint32_t count)
{
    uint64_t look = ++schedule->looks;
    bool ends = true;

    for (uint32_t i = 0; i < count; i++) {
        struct replay_event *event = steps[i].event;
        if (event->now.look != look) {
            event->now.look = look;
            event->now.set = event->set;
            event->now.awaited = false;
        }
        if (steps[i].use == REPLAY_EVENT_WAIT && !event->now.set) {
            ends = false;
            event->now.awaited = true;
        }
        event->now.set = steps[i].use != REPLAY_EVENT_RESET; /* a wait ends when the event is set */
    }
    return ends;
}

/* Records the event state after the examined batch is submitted. */
static void note_events(struct replay_schedule *schedule, const struct replay_event_step *steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct replay_event *event = steps[i].event;
        event->set = event->now.set && !event->now.awaited;
        if (event->now.awaited) {
            schedule->awaited += !event->awaited;
            event->awaited = true;
            event->then = event->now.set;
        }
    }
}

static bool waits_end(const struct replay_point *waits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].semaphore->submitted < waits[i].value)
            return false;
    return true;
}

/* Counts the consecutive batches that can be submitted, `most` at most, each with the signals of the batches before
 * it. Marks them as submitted. */
static uint32_t take_ready(struct replay_schedule *schedule, struct replay_operation *operation,
                           enum readiness readiness, uint32_t most)
{
    uint32_t first = operation->submitted;

    for (; operation->submitted < operation->batch_count && operation->submitted - first < most;
         operation->submitted++) {
        const struct replay_batch *batch = &operation->batches[operation->submitted];
        const struct replay_point *waits = &operation->points[operation->submitted_points];
        const struct replay_point *signals = waits + batch->wait_count;
        const struct replay_event_step *steps =
            batch->step_count ? &operation->steps[operation->submitted_steps] : NULL;
        bool events = look_at_events(schedule, steps, batch->step_count);
        if ((readiness == READY && !events) || (readiness != WHATEVER && !waits_end(waits, batch->wait_count)))
            break;
        note_events(schedule, steps, batch->step_count);
        for (uint32_t i = 0; i < batch->signal_count; i++)
            note_signal(signals[i].semaphore, signals[i].value);
        operation->submitted_points += batch->wait_count + batch->signal_count;
        operation->submitted_steps += batch->step_count;
    }
    return operation->submitted - first;
}

static bool is_submitted(const struct replay_operation *operation)
{
    return operation->submitted == operation->batch_count;
}

/* Submits the ready part of an operation whose turn it is. *out_moved: a batch was submitted, or the operation
 * ended. */
static enum lap_status give(struct replay_schedule *schedule, struct replay_operation *operation,
                            enum readiness readiness, uint32_t most, bool *out_moved)
{
    uint32_t first = operation->submitted, count = take_ready(schedule, operation, readiness, most);

    *out_moved = count || is_submitted(operation);
    return *out_moved ? schedule->submit(schedule->user, operation, first, count) : LAP_OK;
}

/* ---- held operations ---- */

static void remove_first(struct replay_schedule *schedule, struct replay_recorded_queue *queue)
{
    struct replay_operation *operation = queue->first;

    queue->first = operation->next;
    if (!queue->first)
        queue->last = NULL;
    LAP_ASSERT(schedule->held, "the schedule counts what it holds");
    schedule->held--;
    schedule->drop(schedule->user, operation);
}

static enum lap_status hold(struct replay_schedule *schedule, struct replay_recorded_queue *queue,
                            const struct replay_operation *operation)
{
    struct replay_operation *copy;
    enum lap_status status = schedule->copy(schedule->user, operation, &copy);

    if (status != LAP_OK)
        return status;
    LAP_ASSERT(!queue->last || queue->last->order < copy->order, "a queue holds operations by rising numbers");
    copy->next = NULL;
    if (queue->last)
        queue->last->next = copy;
    else
        queue->first = copy;
    queue->last = copy;
    schedule->held++;
    return LAP_OK;
}

/* One step: submits a part of the oldest operation that can proceed. LAP_END: none can. */
static enum lap_status step(struct replay_schedule *schedule, enum readiness readiness)
{
    uint64_t after = 0; /* operations up to this one are blocked */

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
        status = give(schedule, oldest->first, readiness, UINT32_MAX, &moved);
        if (status != LAP_OK)
            return status;
        if (is_submitted(oldest->first))
            remove_first(schedule, oldest);
        if (moved)
            return LAP_OK;
    }
}

static enum lap_status let_go(struct replay_schedule *schedule, enum readiness readiness)
{
    enum lap_status status = LAP_OK;

    while (schedule->held && status == LAP_OK)
        status = step(schedule, readiness);
    return status == LAP_END ? LAP_OK : status;
}

/* ---- calls from the replay ---- */

enum lap_status replay_schedule_add(struct replay_schedule *schedule, struct replay_recorded_queue *queue,
                                    struct replay_operation *operation)
{
    enum lap_status status = LAP_OK;
    bool moved;

    operation->order = ++schedule->orders;
    operation->submitted = operation->submitted_points = operation->submitted_steps = 0;
    number_points(operation);
    if (!queue->first)
        status = give(schedule, operation, READY, UINT32_MAX, &moved);
    if (status == LAP_OK && (queue->first || !is_submitted(operation)))
        status = hold(schedule, queue, operation);
    return status == LAP_OK ? let_go(schedule, READY) : status;
}

enum lap_status replay_schedule_signal(struct replay_schedule *schedule, struct replay_semaphore *semaphore,
                                       uint64_t value)
{
    note_signal(semaphore, value);
    return let_go(schedule, READY);
}

enum lap_status replay_schedule_set(struct replay_schedule *schedule, struct replay_event *event)
{
    event->set = !event->awaited || event->then;
    LAP_ASSERT(schedule->awaited >= event->awaited, "the schedule counts the events that work waits for");
    schedule->awaited -= event->awaited;
    event->awaited = false;
    return let_go(schedule, READY);
}

void replay_schedule_forget(struct replay_schedule *schedule, const struct replay_event *event)
{
    schedule->awaited -= event->awaited;
}

void replay_schedule_reset(struct replay_event *event)
{
    event->set = false;
}

/* How many batches of a held operation must be submitted to set an event; 0: none sets it. */
static uint32_t setting(const struct replay_operation *operation, const struct replay_event *event)
{
    const struct replay_event_step *steps = operation->steps;
    uint32_t at = operation->submitted_steps;

    for (uint32_t i = operation->submitted; i < operation->batch_count; i++)
        for (uint32_t end = at + operation->batches[i].step_count; at < end; at++)
            if (steps[at].event == event && steps[at].use == REPLAY_EVENT_SET)
                return i + 1 - operation->submitted;
    return 0;
}

/* The queue that holds such batches, and the operation; NULL: none. */
static struct replay_recorded_queue *find_setting(const struct replay_schedule *schedule,
                                                  const struct replay_event *event,
                                                  const struct replay_operation **out_operation)
{
    for (struct replay_recorded_queue *queue = schedule->queues; queue; queue = queue->next)
        for (const struct replay_operation *operation = queue->first; operation; operation = operation->next)
            if (setting(operation, event)) {
                *out_operation = operation;
                return queue;
            }
    return NULL;
}

enum lap_status replay_schedule_seen(struct replay_schedule *schedule, struct replay_event *event)
{
    const struct replay_operation *sets;
    struct replay_recorded_queue *queue = schedule->held ? find_setting(schedule, event, &sets) : NULL;
    enum lap_status status = LAP_OK;
    bool more = queue != NULL, moved;

    while (more && status == LAP_OK) {
        bool last = queue->first == sets;
        status = give(schedule, queue->first, UP_TO, last ? setting(sets, event) : UINT32_MAX, &moved);
        more = !last && is_submitted(queue->first);
        if (status == LAP_OK && is_submitted(queue->first))
            remove_first(schedule, queue);
    }
    return status == LAP_OK ? let_go(schedule, READY) : status;
}

bool replay_schedule_wait(struct replay_semaphore *semaphore)
{
    return semaphore->timeline || number_wait(semaphore) <= semaphore->submitted;
}

enum lap_status replay_schedule_flush(struct replay_schedule *schedule)
{
    return let_go(schedule, WHATEVER);
}

static bool names(const struct replay_operation *operation, const struct replay_semaphore *semaphore)
{
    const struct replay_point *point = operation->points + operation->submitted_points;

    for (uint32_t i = operation->submitted; i < operation->batch_count; i++)
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

bool replay_schedule_names_event(const struct replay_schedule *schedule, const struct replay_event *event)
{
    for (const struct replay_recorded_queue *queue = schedule->queues; queue; queue = queue->next)
        for (const struct replay_operation *operation = queue->first; operation; operation = operation->next) {
            const struct replay_event_step *step =
                operation->steps ? operation->steps + operation->submitted_steps : NULL;
            for (uint32_t i = operation->submitted; i < operation->batch_count; i++)
                for (uint32_t j = 0; j < operation->batches[i].step_count; j++, step++)
                    if (step->event == event)
                        return true;
        }
    return false;
}

/* ---- what holds work back ---- */

static bool signals(const struct replay_operation *operation, const struct replay_semaphore *semaphore, uint64_t value)
{
    const struct replay_point *point = operation->points + operation->submitted_points;

    for (uint32_t i = operation->submitted; i < operation->batch_count; i++) {
        point += operation->batches[i].wait_count;
        for (uint32_t j = 0; j < operation->batches[i].signal_count; j++, point++)
            if (point->semaphore == semaphore && (!semaphore->timeline || point->value >= value))
                return true;
    }
    return false;
}

static bool is_ended_by_held(const struct replay_schedule *schedule, const struct replay_obstacle *wait)
{
    for (const struct replay_recorded_queue *queue = schedule->queues; queue; queue = queue->next)
        for (const struct replay_operation *operation = queue->first; operation; operation = operation->next)
            if (wait->semaphore ? signals(operation, wait->semaphore, wait->value)
                                : setting(operation, wait->event) != 0)
                return true;
    return false;
}

/* Whether an event is set in front of a step. */
static bool is_set(const struct replay_event_step *steps, uint32_t number)
{
    for (uint32_t i = number; i-- > 0;)
        if (steps[i].event == steps[number].event)
            return steps[i].use != REPLAY_EVENT_RESET;
    return steps[number].event->set;
}

/* The number-th wait of the operation's next batch. False: it has fewer. It may be over. */
static bool wait_of(const struct replay_operation *operation, uint32_t number, struct replay_obstacle *out,
                    bool *out_over)
{
    const struct replay_batch *batch = &operation->batches[operation->submitted];
    const struct replay_point *wait = operation->points + operation->submitted_points + number;

    *out = (struct replay_obstacle){.operation = operation};
    if (number < batch->wait_count) {
        out->semaphore = wait->semaphore;
        out->value = wait->value;
        *out_over = wait->semaphore->submitted >= wait->value;
        return true;
    }
    number -= batch->wait_count;
    if (number >= batch->step_count)
        return false;
    out->event = operation->steps[operation->submitted_steps + number].event;
    *out_over = operation->steps[operation->submitted_steps + number].use != REPLAY_EVENT_WAIT ||
                is_set(operation->steps + operation->submitted_steps, number);
    return true;
}

bool replay_schedule_obstacle(const struct replay_schedule *schedule, struct replay_obstacle *out)
{
    struct replay_obstacle wait;
    bool found = false, over;

    for (const struct replay_recorded_queue *queue = schedule->queues; queue; queue = queue->next)
        for (uint32_t i = 0; queue->first && !is_submitted(queue->first) && wait_of(queue->first, i, &wait, &over);
             i++) {
            if (over)
                continue;
            *out = wait;
            found = true;
            if (!is_ended_by_held(schedule, out))
                return true;
        }
    return found;
}

void replay_schedule_finish(struct replay_schedule *schedule)
{
    for (struct replay_recorded_queue *queue = schedule->queues; queue; queue = queue->next)
        while (queue->first)
            remove_first(schedule, queue);
}
