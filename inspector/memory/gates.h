/* SPDX-License-Identifier: MIT */
/*
 * gates: whether submitted work may still wait for the host: for an event that it sets, or for a value of a timeline
 * semaphore that it signals. Such work runs later than its place in the trace says. One thread.
 */
#ifndef LAP_INSPECTOR_MEMORY_GATES_H
#define LAP_INSPECTOR_MEMORY_GATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "inspector/analysis/trace_pass.h"

struct gate {
    bool is_event;
    uint64_t object, value;
    uint64_t number; /* from 1, in the order in which they were closed */
};

struct gates {
    struct lap_map events, semaphores; /* uint64_t: 1 if it is set; the largest value that was signalled */
    struct lap_map queues;             /* struct gate_list: what the last submit waits for */
    struct lap_arena arena;
    struct gate *closed;
    size_t closed_count, closed_capacity;
    struct gate *late; /* events that work behind closed gates sets (value 1) or resets */
    size_t late_count, late_capacity;
    /* Signals of the last submit, which come behind its commands; and in front of them those of work that waits. */
    struct gate_signal {
        uint64_t semaphore, value;
        struct gate_list {
            uint64_t *numbers; /* of gates; in the arena */
            size_t count;
        } behind;
    } * signals;
    size_t signal_count, signal_capacity;
    size_t waiting_count;       /* of the signals, those of work that waits */
    uint64_t queue, first_gate; /* of the last submit, and the first gate that it may have closed */
    uint64_t gate_count;
    uint64_t opened; /* counts gates that were opened */
};

void gates_init(struct gates *gates);
void gates_finish(struct gates *gates);

/* For the list of a trace_visitor's commands. */
#define GATES_CALLS                                                                                                    \
    GEN_vkCreateSemaphore, GEN_vkSignalSemaphore, GEN_vkSetEvent, GEN_vkResetEvent, GEN_vkQueueSubmit,                 \
        GEN_vkQueueSubmit2
/* A visited call, a submit in front of its commands. Settles the one before. LAP_ERROR_MEMORY. */
enum lap_status gates_see(struct gates *gates, const struct trace_call *call) LAP_MUST_CHECK;

/* Behind the commands of a submit: its signals, unless it waits. LAP_ERROR_MEMORY. */
enum lap_status gates_settle(struct gates *gates) LAP_MUST_CHECK;

/* Commands that run. LAP_ERROR_MEMORY. */
enum lap_status gates_wait(struct gates *gates, uint64_t event) LAP_MUST_CHECK;
enum lap_status gates_set(struct gates *gates, uint64_t event, bool set) LAP_MUST_CHECK;

#endif
