/* SPDX-License-Identifier: MIT */
/*
 * A part that ends with a command: only earlier commands of its command buffers matter. Each of these gets a packet
 * behind all others, for a block with the effects of its commands up to there (struct slice_draw).
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/slice/cut_draw.h"
#include "inspector/slice/slice_internal.h"

/* ---- blocks ---- */

/* Keeps only the first ones of the executions among the steps of one command. */
static void drop_executions(struct slice_steps *steps, size_t from, uint32_t stay)
{
    for (size_t i = from; i < steps->count; i++)
        if (slice_step_kind(steps->at[i]) == SLICE_EXECUTE && stay-- == 0)
            steps->count = i;
}

static void take(struct slice *s, struct slice_prefix *prefix)
{
    prefix->names = (struct slice_run){s->ids.count, (uint32_t)s->names.count};
    for (size_t i = 0; i < s->names.count; i++)
        if (!slice_add_id(s, &s->ids, s->names.at[i]))
            return;
    prefix->steps.from = s->steps.count;
    for (size_t i = 0; i < s->doing.count; i++)
        if (!slice_add_step(s, &s->steps, s->doing.at[i]))
            return;
    if (s->saw_addresses)
        slice_add_step(s, &s->steps, slice_step(SLICE_ADDRESSES, 0));
    prefix->steps.count = (uint32_t)(s->steps.count - prefix->steps.from);
}

void slice_draw_see(struct slice *s, const struct trace_call *call, size_t steps_before)
{
    const struct position_found *at = s->draw.at;

    for (unsigned i = 0; at && i < at->place_count; i++) {
        const struct position_place *place = &at->places[i];
        if (call->block != place->block || call->index != place->command)
            continue;
        if (i + 1 < at->place_count) { /* the block's own steps stay as they are */
            size_t all = s->doing.count;
            drop_executions(&s->doing, steps_before, place->executed + 1);
            take(s, &s->draw.prefixes[i]);
            s->doing.count = all;
        } else {
            take(s, &s->draw.prefixes[i]);
        }
    }
}

/* ---- packets ---- */

/* The blocks that the whole block executes up to there; the last one, where it is cut, too, is `inner`. */
static struct slice_run executed(struct slice *s, const struct slice_prefix *prefix, const struct slice_packet *whole,
                                 uint32_t inner)
{
    struct slice_run run = {s->ids.count, 0};

    for (uint32_t i = 0; i < prefix->steps.count; i++)
        if (slice_step_kind(s->steps.at[prefix->steps.from + i]) == SLICE_EXECUTE &&
            run.count < whole->subjects.count && slice_add_id(s, &s->ids, s->ids.at[whole->subjects.from + run.count]))
            run.count++;
    if (inner && run.count)
        s->ids.at[run.from + run.count - 1] = inner;
    return run;
}

uint32_t slice_draw_add(struct slice *s)
{
    const struct position_found *at = s->draw.at;
    size_t first_block = s->block_capacity, first = s->packet_count, before = s->packet_capacity;

    if (!lap_array_grow(&s->packets, sizeof *s->packets, &s->packet_capacity, first + at->place_count) ||
        !lap_array_grow(&s->blocks, sizeof *s->blocks, &s->block_capacity, first_block + at->place_count)) {
        slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
        return 0;
    }
    memset(s->packets + before, 0, (s->packet_capacity - before) * sizeof *s->packets);
    memset(s->blocks + first_block, 0, (s->block_capacity - first_block) * sizeof *s->blocks);
    for (unsigned i = 0; i < at->place_count; i++) {
        const struct slice_prefix *prefix = &s->draw.prefixes[i];
        const struct slice_packet *whole = &s->packets[at->places[i].recorded];
        struct slice_run subjects = executed(s, prefix, whole, i + 1 < at->place_count ? (uint32_t)first + i + 1 : 0);
        s->blocks[first_block + i].names = prefix->names;
        s->blocks[first_block + i].steps = prefix->steps;
        s->packets[first + i] = (struct slice_packet){.names = whole->names,
                                                      .subjects = subjects,
                                                      .steps = {first_block + i, 0},
                                                      .kind = SLICE_BLOCK,
                                                      .kept = true,
                                                      .whole = true};
    }
    s->packet_count = first + at->place_count;
    return (uint32_t)first;
}

/* ---- waits that never end ---- */

static void add_event(struct slice *s, enum slice_step kind, VkEvent event)
{
    if (event)
        slice_add_step(s, &s->doing, slice_step(kind, slice_object_of(s, GEN_HANDLE_VkEvent, gen_u64_VkEvent(event))));
}

static void add_waits(struct slice *s, uint32_t count, const VkEvent *events)
{
    for (uint32_t i = 0; events && i < count; i++)
        add_event(s, SLICE_EVENT_WAIT, events[i]);
}

void slice_draw_see_events(struct slice *s, uint32_t command, const void *args)
{
    switch (command) {
    case GEN_vkSetEvent:
        add_event(s, SLICE_EVENT_SET, ((const struct gen_args_vkSetEvent *)args)->event);
        break;
    case GEN_vkResetEvent:
        add_event(s, SLICE_EVENT_RESET, ((const struct gen_args_vkResetEvent *)args)->event);
        break;
    case GEN_vkCmdSetEvent:
        add_event(s, SLICE_EVENT_SET, ((const struct gen_args_vkCmdSetEvent *)args)->event);
        break;
    case GEN_vkCmdSetEvent2:
        add_event(s, SLICE_EVENT_SET, ((const struct gen_args_vkCmdSetEvent2 *)args)->event);
        break;
    case GEN_vkCmdResetEvent:
        add_event(s, SLICE_EVENT_RESET, ((const struct gen_args_vkCmdResetEvent *)args)->event);
        break;
    case GEN_vkCmdResetEvent2:
        add_event(s, SLICE_EVENT_RESET, ((const struct gen_args_vkCmdResetEvent2 *)args)->event);
        break;
    case GEN_vkCmdWaitEvents:
        add_waits(s, ((const struct gen_args_vkCmdWaitEvents *)args)->eventCount,
                  ((const struct gen_args_vkCmdWaitEvents *)args)->pEvents);
        break;
    case GEN_vkCmdWaitEvents2:
        add_waits(s, ((const struct gen_args_vkCmdWaitEvents2 *)args)->eventCount,
                  ((const struct gen_args_vkCmdWaitEvents2 *)args)->pEvents);
        break;
    default:
        break;
    }
}

enum lap_status slice_draw_check_events(struct slice *s)
{
    struct slice_event *events = calloc(s->object_count, sizeof *events);
    bool waits = false;

    if (!events)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 1; i <= s->last && i < s->packet_count; i++) {
        struct slice_run run = s->packets[i].steps;
        if (s->packets[i].kind == SLICE_STAYS)
            slice_go_over_events(events, s->steps.at + run.from, run.count, true);
        for (uint32_t k = 0; s->packets[i].kind == SLICE_SUBMIT && k < run.count; k++) {
            size_t count;
            const uint64_t *steps = slice_expand(s, (uint32_t)slice_step_number(s->steps.at[run.from + k]), &count);
            slice_go_over_events(events, steps, count, false);
        }
    }
    for (size_t i = 1; i < s->object_count; i++)
        waits |= events[i].waited;
    free(events);
    return waits ? lap_fail(LAP_ERROR_UNSUPPORTED,
                            "work waits for an event that is set behind the command, which would not be there")
                 : s->status;
}

enum lap_status slice_draw_check(const struct slice *s)
{
    for (size_t i = 1; i < s->packet_count; i++)
        if (s->packets[i].unreached && s->packets[i].kept)
            return lap_fail(LAP_ERROR_UNSUPPORTED,
                            "packet #%zu waits for a value of a semaphore that is signalled behind the command, which "
                            "would not be there",
                            i - 1);
    return LAP_OK;
}

bool slice_executes(const struct slice *s, uint64_t ticket)
{
    return slice_fate_of(s, ticket) == SLICE_KEPT && s->packets[ticket].subjects.count;
}

uint64_t slice_next_number(const struct slice *s, uint32_t type)
{
    for (size_t index = s->numbers[type].capacity; index-- > 1;) {
        uint32_t object = s->numbers[type].at[index], maker = object ? s->objects[object].maker : 0;
        if (maker && s->packets[maker].kept)
            return index + 1;
    }
    return 1;
}
