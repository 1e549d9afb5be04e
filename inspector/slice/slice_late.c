/* SPDX-License-Identifier: MIT */
/*
 * Work that goes on behind its submit: it waits for an event that the host sets, or for a semaphore that is signalled
 * later, or for such work. What is written up to there may be what it reads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/slice/slice_internal.h"

#define MOST_ROUNDS 100u

static void no_memory(struct slice *s)
{
    slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

void slice_go_over_events(struct slice_event *events, const uint64_t *steps, size_t count, bool host)
{
    for (size_t i = 0; i < count; i++) {
        enum slice_step kind = slice_step_kind(steps[i]);
        struct slice_event *event;
        if (kind != SLICE_EVENT_SET && kind != SLICE_EVENT_RESET && kind != SLICE_EVENT_WAIT)
            continue;
        event = &events[slice_step_number(steps[i])];
        if (kind == SLICE_EVENT_WAIT && !event->set && !event->waited)
            *event = (struct slice_event){.waited = true, .set_by_waits = true};
        if (kind == SLICE_EVENT_WAIT)
            continue;
        if (event->waited && !host)
            event->set_by_waits = kind == SLICE_EVENT_SET;
        else if (event->waited && kind == SLICE_EVENT_SET)
            *event = (struct slice_event){.set = event->set_by_waits};
        else
            event->set = kind == SLICE_EVENT_SET;
    }
}

/* ---- the places where it goes on ---- */

static bool goes_on(struct slice *s, uint32_t packet, uint32_t end)
{
    if (end <= packet || end <= s->packets[packet].end)
        return false;
    s->packets[packet].end = end;
    return true;
}

/* The waits of a submit for events that are not set. */
struct waits {
    uint32_t *first; /* [event]: 1 + the number of its last one; 0: none */
    struct waiting {
        uint32_t submit, next;
    } * at;
    size_t count, capacity;
};

static void note_waits(struct slice *s, struct waits *waits, const struct slice_event *events, uint32_t submit,
                       const uint64_t *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *first;
        if (slice_step_kind(steps[i]) != SLICE_EVENT_WAIT || !events[slice_step_number(steps[i])].waited)
            continue;
        first = &waits->first[slice_step_number(steps[i])];
        if (*first && waits->at[*first - 1].submit == submit)
            continue;
        if (!lap_array_grow(&waits->at, sizeof *waits->at, &waits->capacity, waits->count + 1)) {
            no_memory(s);
            return;
        }
        waits->at[waits->count++] = (struct waiting){submit, *first};
        *first = (uint32_t)waits->count;
    }
}

/* By the host, which may set one. */
static void end_waits(struct slice *s, struct waits *waits, uint32_t packet, const uint64_t *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *first;
        if (slice_step_kind(steps[i]) != SLICE_EVENT_SET)
            continue;
        for (first = &waits->first[slice_step_number(steps[i])]; *first; *first = waits->at[*first - 1].next)
            (void)goes_on(s, waits->at[*first - 1].submit, packet);
    }
}

static void go_over_events(struct slice *s, struct waits *waits, struct slice_event *events)
{
    for (uint32_t i = 1; i < s->packet_count && s->status == LAP_OK; i++) {
        const struct slice_run run = s->packets[i].steps;
        if (s->packets[i].kind == SLICE_STAYS) {
            end_waits(s, waits, i, s->steps.at + run.from, run.count);
            slice_go_over_events(events, s->steps.at + run.from, run.count, true);
        }
        for (uint32_t k = 0; s->packets[i].kind == SLICE_SUBMIT && k < run.count; k++) {
            size_t count;
            const uint64_t *steps = slice_expand(s, (uint32_t)slice_step_number(s->steps.at[run.from + k]), &count);
            slice_go_over_events(events, steps, count, false);
            note_waits(s, waits, events, i, steps, count);
        }
    }
}

/* last: [object]: of a semaphore the packet that signals it; of a queue where its work goes on. */
static bool go_over_syncs(struct slice *s, uint32_t *last, const struct slice_sync *raises, size_t raise_count)
{
    bool changed = false;

    for (size_t i = 0; i < s->sync_count; i++) {
        const struct slice_sync *sync = &s->syncs[i];
        uint32_t *of_object = &last[sync->object], signal;
        switch ((enum slice_sync_kind)sync->kind) {
        case SLICE_SYNC_GIVE:
            *of_object = sync->packet;
            break;
        case SLICE_SYNC_CONSUME:
            changed |= goes_on(s, sync->packet, s->packets[*of_object].end);
            break;
        case SLICE_SYNC_REACH:
            signal = slice_first_with(raises, raise_count, sync->object, sync->value);
            changed |= goes_on(s, sync->packet, signal);
            changed |= goes_on(s, sync->packet, s->packets[signal].end);
            break;
        case SLICE_SYNC_WORK:
            changed |= goes_on(s, sync->packet, *of_object);
            if (s->packets[sync->packet].end > *of_object)
                *of_object = s->packets[sync->packet].end;
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

    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->submit < y->submit ? -1 : x->submit > y->submit;
}

static void list(struct slice *s)
{
    size_t capacity = 0;

    for (uint32_t i = 1; i < s->packet_count && i < s->first; i++) {
        if (s->packets[i].kind != SLICE_SUBMIT || !s->packets[i].end)
            continue;
        if (!lap_array_grow(&s->late, sizeof *s->late, &capacity, s->late_count + 1)) {
            no_memory(s);
            return;
        }
        s->late[s->late_count++] = (struct slice_late){s->packets[i].end, i};
    }
    if (s->late_count)
        qsort(s->late, s->late_count, sizeof *s->late, compare_ends);
}

void slice_find_late(struct slice *s)
{
    struct waits waits = {.first = calloc(s->object_count, sizeof *waits.first)};
    struct slice_event *events = calloc(s->object_count, sizeof *events);
    uint32_t *last = calloc(s->object_count, sizeof *last);
    size_t raise_count;
    struct slice_sync *raises = slice_sync_of_kind(s, SLICE_SYNC_RAISE, &raise_count);
    bool changed = true;

    if (!waits.first || !events || !last)
        no_memory(s);
    if (s->status == LAP_OK)
        go_over_events(s, &waits, events);
    for (unsigned round = 0; s->status == LAP_OK && changed && round < MOST_ROUNDS; round++) {
        memset(last, 0, s->object_count * sizeof *last);
        changed = go_over_syncs(s, last, raises, raise_count);
    }
    if (s->status == LAP_OK)
        list(s);
    free(waits.first);
    free(waits.at);
    free(events);
    free(last);
    free(raises);
}
