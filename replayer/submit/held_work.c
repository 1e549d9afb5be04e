/* SPDX-License-Identifier: MIT */
/* The sentence about work that waits for a later call of the trace. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gen_decode.h"
#include "inspector/analysis/trace_pass.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/submit/external_sync.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/wait.h"
#include "vulkan/chain.h"

/* The wait, and the call behind `after` that ends it. Of a timeline's later values the smallest one comes first. */
struct search {
    uint64_t semaphore, event, value; /* indices in the trace; 0: none */
    bool timeline;
    uint64_t after;
    struct lap_packet found; /* ticket 0: none */
    uint32_t command;
    uint64_t signalled; /* by that call */
};

/* Whether that ends the wait, and nothing that was found does earlier. */
static bool is_it(struct search *s, VkSemaphore semaphore, uint64_t value)
{
    if (gen_u64_VkSemaphore(semaphore) != s->semaphore || !s->semaphore || (s->timeline && value < s->value) ||
        (s->found.ticket && value >= s->signalled))
        return false;
    s->signalled = value;
    return true;
}

static bool signals_old(struct search *s, const void *chain, uint32_t count, const VkSemaphore *signals)
{
    const VkTimelineSemaphoreSubmitInfo *values =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);

    for (uint32_t i = 0; signals && i < count; i++)
        if (is_it(s, signals[i],
                  values && values->pSignalSemaphoreValues && i < values->signalSemaphoreValueCount
                      ? values->pSignalSemaphoreValues[i]
                      : 0))
            return true;
    return false;
}

static bool signals_new(struct search *s, const VkSubmitInfo2 *info)
{
    for (uint32_t i = 0; info->pSignalSemaphoreInfos && i < info->signalSemaphoreInfoCount; i++)
        if (is_it(s, info->pSignalSemaphoreInfos[i].semaphore, info->pSignalSemaphoreInfos[i].value))
            return true;
    return false;
}

static bool ends(struct search *s, const struct trace_call *call)
{
    bool found = false;

    switch (call->command) {
    case GEN_vkSetEvent:
        return s->event && gen_u64_VkEvent(((const struct gen_args_vkSetEvent *)call->args)->event) == s->event;
    case GEN_vkSignalSemaphore: {
        const VkSemaphoreSignalInfo *info = ((const struct gen_args_vkSignalSemaphore *)call->args)->pSignalInfo;
        return info && is_it(s, info->semaphore, info->value);
    }
    case GEN_vkQueueSubmit: {
        const struct gen_args_vkQueueSubmit *args = call->args;
        for (uint32_t i = 0; args->pSubmits && i < args->submitCount && !found; i++)
            found = signals_old(s, args->pSubmits[i].pNext, args->pSubmits[i].signalSemaphoreCount,
                                args->pSubmits[i].pSignalSemaphores);
        return found;
    }
    case GEN_vkQueueBindSparse: {
        const struct gen_args_vkQueueBindSparse *args = call->args;
        for (uint32_t i = 0; args->pBindInfo && i < args->bindInfoCount && !found; i++)
            found = signals_old(s, args->pBindInfo[i].pNext, args->pBindInfo[i].signalSemaphoreCount,
                                args->pBindInfo[i].pSignalSemaphores);
        return found;
    }
    default: {
        const struct gen_args_vkQueueSubmit2 *args = call->args;
        for (uint32_t i = 0; args->pSubmits && i < args->submitCount && !found; i++)
            found = signals_new(s, &args->pSubmits[i]);
        return found;
    }
    }
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct search *s = state;

    if (call->packet->ticket <= s->after || !ends(s, call))
        return LAP_OK;
    s->found = *call->packet;
    s->command = call->command;
    return s->timeline && s->signalled > s->value ? LAP_OK : LAP_END;
}

/* In the file: the reader may end the trace where the replay stands. Without success nothing is found. */
static void find_end(const struct replay *r, struct search *s)
{
    static const uint16_t commands[] = {GEN_vkSetEvent,     GEN_vkSignalSemaphore, GEN_vkQueueSubmit,
                                        GEN_vkQueueSubmit2, GEN_vkQueueBindSparse, GEN_COMMAND_NONE};
    const struct trace_visitor visitor = {.commands = commands, .visit = visit, .state = s};
    const struct lap_reader_options options = {.from = r->options.from};
    struct lap_reader *reader = NULL;

    s->after = r->at.call_ticket;
    if (!r->program && lap_reader_open(r->options.file, &options, &reader) == LAP_OK)
        (void)!trace_pass_run(reader, 0, &visitor, 1);
    lap_reader_close(&reader);
}

/* The index of the object whose record that is. */
static uint64_t index_of(struct replay *r, enum gen_handle_type type, const void *record)
{
    const struct replay_table *table = &r->objects.tables[type];

    for (uint64_t i = 1; i < table->live.count; i++) {
        const struct replay_object *object = replay_table_get(table, i);
        if (object && object->record == record)
            return i;
    }
    return 0;
}

/* An event that submitted work waits for, and that the host has not set; 0: none. */
static uint64_t awaited_event(struct replay *r, const struct replay_device *dev)
{
    const struct replay_table *table = &r->objects.tables[GEN_HANDLE_VkEvent];

    for (uint64_t i = 1; i < table->live.count; i++) {
        const struct replay_object *object = replay_table_get(table, i);
        const struct replay_event *event = object && object->owner == dev ? object->record : NULL;
        if (event && event->awaited)
            return i;
    }
    return 0;
}

enum lap_status replay_submits_refuse_held(struct replay *r, const struct replay_device *dev)
{
    struct replay_obstacle wait = {.operation = NULL};
    struct search s = {.semaphore = 0};
    char who[48] = "it", what[96], end[96] = "no later call";
    uint64_t ticket;

    if (replay_submits_obstacle(dev, &wait, &ticket)) {
        snprintf(who, sizeof who, "packet %" PRIu64, ticket);
        s.value = wait.value;
        s.timeline = wait.semaphore && wait.semaphore->timeline;
        if (wait.semaphore) /* the first member of its record */
            s.semaphore = index_of(r, GEN_HANDLE_VkSemaphore, wait.semaphore);
        else
            s.event = index_of(r, GEN_HANDLE_VkEvent, wait.event);
    } else if (replay_device_awaits_host(dev)) {
        s.event = awaited_event(r, dev);
    } else if (!replay_submits_hold(dev)) {
        return LAP_OK;
    }
    if (s.timeline)
        snprintf(what, sizeof what, "the value %" PRIu64 " of VkSemaphore:%" PRIu64, s.value, s.semaphore);
    else
        snprintf(what, sizeof what, "%s:%" PRIu64, s.semaphore ? "VkSemaphore" : "VkEvent",
                 s.semaphore ? s.semaphore : s.event);
    find_end(r, &s);
    if (s.found.ticket)
        snprintf(end, sizeof end, "packet %" PRIu64 " (%s, frame %" PRIu64 ")", s.found.ticket,
                 gen_command_names[s.command], s.found.frame + 1);
    return replay_fail(r, "submitted work waits for a later call of the trace: %s waits for %s, which %s %s", who, what,
                       end, s.event ? "sets" : "signals");
}
