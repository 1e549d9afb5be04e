/* SPDX-License-Identifier: MIT */
/*
 * Work that goes on behind its submit: it waits for an event that the host sets, or for a semaphore that is signalled
 * later, or for such work. What is written up to there may be what it reads.
 */
#include <stdlib.h>
#include <string.h>

#include "inspector/slice/slice_see.h"

#define MOST_ROUNDS 100u

/* ---- events ---- */

static void add_events(struct slice_facts *f, enum slice_step kind, uint32_t count, const VkEvent *events)
{
    for (uint32_t i = 0; events && i < count; i++)
        if (events[i])
            slice_add_step(f, &f->now.doing, slice_step(kind, OBJECT(f, VkEvent, events[i])));
}

#define EVENT(command, kind)                                                                                           \
    case GEN_##command:                                                                                                \
        add_events(f, kind, 1, &((const struct gen_args_##command *)args)->event);                                     \
        break
#define WAITS(command)                                                                                                 \
    case GEN_##command: {                                                                                              \
        const struct gen_args_##command *a = args;                                                                     \
        add_events(f, SLICE_EVENT_WAIT, a->eventCount, a->pEvents);                                                    \
        break;                                                                                                         \
    }

void slice_see_events(struct slice_facts *f, uint32_t command, const void *args)
{
    switch (command) {
        EVENT(vkSetEvent, SLICE_EVENT_SET);
        EVENT(vkResetEvent, SLICE_EVENT_RESET);
        EVENT(vkCmdSetEvent, SLICE_EVENT_SET);
        EVENT(vkCmdSetEvent2, SLICE_EVENT_SET);
        EVENT(vkCmdResetEvent, SLICE_EVENT_RESET);
        EVENT(vkCmdResetEvent2, SLICE_EVENT_RESET);
        WAITS(vkCmdWaitEvents)
        WAITS(vkCmdWaitEvents2)
    default:
        break;
    }
}

struct event { /* its state behind the packets so far */
    bool set;
    bool waited;       /* waited for, before it is set: the wait ends when the host sets it */
    bool set_by_waits; /* the state after the work behind the wait */
    uint32_t wait;     /* 1 + the number of the last wait for it (struct waits); 0: none */
};

static void go_over(struct event *events, const uint64_t *steps, size_t count, bool host)
{
    for (size_t i = 0; i < count; i++) {
        enum slice_step kind = slice_step_kind(steps[i]);
        struct event *event;
        if (kind != SLICE_EVENT_SET && kind != SLICE_EVENT_RESET && kind != SLICE_EVENT_WAIT)
            continue;
        event = &events[slice_step_number(steps[i])];
        if (kind == SLICE_EVENT_WAIT && !event->set && !event->waited)
            event->waited = event->set_by_waits = true;
        if (kind == SLICE_EVENT_WAIT)
            continue;
        if (event->waited && !host)
            event->set_by_waits = kind == SLICE_EVENT_SET;
        else if (event->waited && kind == SLICE_EVENT_SET)
            *event = (struct event){.set = event->set_by_waits, .wait = event->wait};
        else
            event->set = kind == SLICE_EVENT_SET;
    }
}

/* ---- the places where it goes on ---- */

static bool goes_on(struct slice_facts *f, uint32_t packet, uint32_t end)
{
    if (end <= packet || end <= f->packets[packet].end)
        return false;
    f->packets[packet].end = end;
    return true;
}

/* The waits of a submit for events that are not set. */
struct waits {
    struct waiting {
        uint32_t submit, next;
    } * at;
    size_t count, capacity;
};

static void note_waits(struct slice_facts *f, struct waits *waits, struct event *events, uint32_t submit,
                       const uint64_t *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *first;
        if (slice_step_kind(steps[i]) != SLICE_EVENT_WAIT || !events[slice_step_number(steps[i])].waited)
            continue;
        first = &events[slice_step_number(steps[i])].wait;
        if (*first && waits->at[*first - 1].submit == submit)
            continue;
        if (!slice_make_room(f, &waits->at, sizeof *waits->at, &waits->capacity, waits->count + 1))
            return;
        waits->at[waits->count++] = (struct waiting){submit, *first};
        *first = (uint32_t)waits->count;
    }
}

/* By the host, which may set one. */
static void end_waits(struct slice_facts *f, struct waits *waits, struct event *events, uint32_t packet,
                      const uint64_t *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *first;
        if (slice_step_kind(steps[i]) != SLICE_EVENT_SET)
            continue;
        for (first = &events[slice_step_number(steps[i])].wait; *first; *first = waits->at[*first - 1].next)
            (void)goes_on(f, waits->at[*first - 1].submit, packet);
    }
}

static void go_over_events(struct slice_facts *f, struct slice_expansion *e, struct waits *waits, struct event *events)
{
    for (uint32_t i = 1; i < f->packet_count && *f->status == LAP_OK; i++) {
        const struct slice_run run = f->packets[i].steps;
        if (f->packets[i].kind == SLICE_STAYS) {
            end_waits(f, waits, events, i, f->steps.at + run.from, run.count);
            go_over(events, f->steps.at + run.from, run.count, true);
        }
        for (uint32_t k = 0; f->packets[i].kind == SLICE_SUBMIT && k < run.count; k++) {
            size_t count;
            const uint64_t *steps = slice_expand(f, e, slice_block_at(f, run, k), &count);
            go_over(events, steps, count, false);
            note_waits(f, waits, events, i, steps, count);
        }
    }
}

/* Of a part that ends with a command. */
static void check_events(const struct slice_facts *f, const struct event *events)
{
    for (size_t i = 1; i < f->object_count; i++)
        if (events[i].waited) {
            slice_fail(f, lap_fail(LAP_ERROR_UNSUPPORTED, "work waits for an event that is set behind the command, "
                                                          "which would not be there"));
            return;
        }
}

/* last: [object]: of a semaphore the packet that signals it; of a queue where its work goes on. */
static bool go_over_syncs(struct slice_facts *f, uint32_t *last, const struct slice_sync *raises, size_t raise_count)
{
    bool changed = false;

    for (size_t i = 0; i < f->order.sync_count; i++) {
        const struct slice_sync *sync = &f->order.syncs[i];
        uint32_t *of_object = &last[sync->object], signal;
        switch ((enum slice_sync_kind)sync->kind) {
        case SLICE_SYNC_GIVE:
            *of_object = sync->packet;
            break;
        case SLICE_SYNC_CONSUME:
            changed |= goes_on(f, sync->packet, f->packets[*of_object].end);
            break;
        case SLICE_SYNC_REACH:
            signal = slice_first_with(raises, raise_count, sync->object, sync->value);
            changed |= goes_on(f, sync->packet, signal);
            changed |= goes_on(f, sync->packet, f->packets[signal].end);
            break;
        case SLICE_SYNC_WORK:
            changed |= goes_on(f, sync->packet, *of_object);
            if (f->packets[sync->packet].end > *of_object)
                *of_object = f->packets[sync->packet].end;
            break;
        default:
            break;
        }
    }
    return changed;
}

static int compare_ends(const void *a, const void *b)
{
    const struct slice_late *x = a, *y = b;
    return x->end != y->end ? SLICE_ORDER(x->end, y->end) : SLICE_ORDER(x->submit, y->submit);
}

static void list(struct slice_facts *f)
{
    size_t capacity = 0;

    for (uint32_t i = 1; i < f->packet_count && i < f->first; i++) {
        if (f->packets[i].kind != SLICE_SUBMIT || !f->packets[i].end)
            continue;
        if (!slice_make_room(f, &f->order.late, sizeof *f->order.late, &capacity, f->order.late_count + 1))
            return;
        f->order.late[f->order.late_count++] = (struct slice_late){f->packets[i].end, i};
    }
    if (f->order.late_count)
        qsort(f->order.late, f->order.late_count, sizeof *f->order.late, compare_ends);
}

void slice_find_late(struct slice_facts *f, struct slice_expansion *e)
{
    struct waits waits = {0};
    struct event *events = calloc(f->object_count, sizeof *events);
    uint32_t *last = calloc(f->object_count, sizeof *last);
    size_t raise_count;
    struct slice_sync *raises = slice_sync_of_kind(f, SLICE_SYNC_RAISE, &raise_count);
    bool changed = true;

    if (!events || !last)
        slice_no_memory(f);
    if (*f->status == LAP_OK)
        go_over_events(f, e, &waits, events);
    if (*f->status == LAP_OK && f->draw.at)
        check_events(f, events);
    for (unsigned round = 0; *f->status == LAP_OK && changed && round < MOST_ROUNDS; round++) {
        memset(last, 0, f->object_count * sizeof *last);
        changed = go_over_syncs(f, last, raises, raise_count);
    }
    if (*f->status == LAP_OK)
        list(f);
    free(waits.at);
    free(events);
    free(last);
    free(raises);
}
