/* SPDX-License-Identifier: MIT */
/*
 * sync: the state of synchronization, as the packets so far say: fences, semaphores, events, queries, and the work of
 * queues. Work is over when the program has learnt of its end: by a wait, or by a question that was answered. Nothing
 * else is known.
 *
 * A visitor of the one pass (inspector/analysis/trace_pass.h). One thread.
 */
#ifndef LAP_INSPECTOR_STATE_SYNC_H
#define LAP_INSPECTOR_STATE_SYNC_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "inspector/analysis/trace_pass.h"
#include "inspector/position/find.h"

struct sync;

struct sync_work;

/* An execution of a command buffer, or with buffer 0 a submit itself. */
struct sync_execution {
    const struct sync_execution *outer; /* where it is executed, by its command; NULL: the submit does */
    struct sync_work *work;
    uint32_t buffer; /* as in positions */
    uint32_t command;
};

/* Given to a queue by one call. */
struct sync_work {
    struct sync_execution self;
    uint64_t ticket;
    uint64_t frame, submit; /* its position; submit 0: it has none */
    uint64_t number;        /* of the queue's work, from 1 */
    uint16_t call;          /* enum gen_command */
    struct sync_queue *queue;
    struct sync_need *needs; /* the work that it waits for */
};

struct sync_queue {
    uint64_t index, device;
    uint32_t family, number; /* family UINT32_MAX: not known */
    uint64_t given, over;    /* work: how much, and how much of it is over */
    struct sync_work **pending;
    size_t first, count, capacity; /* pending[first to count]: work that is not over, in order */
    uint64_t presents, last_present;
};

/* The author of a change: a call, or a part of work, perhaps a command. */
struct sync_by {
    uint64_t ticket;                 /* of the call, or of the submit */
    const struct sync_execution *in; /* NULL: a call that is no work */
    uint32_t command;                /* in the command buffer */
    uint16_t call;                   /* enum gen_command: the call or the command */
};

enum sync_state { SYNC_NOT_KNOWN, SYNC_UNSIGNALED, SYNC_PENDING, SYNC_SIGNALED };

struct sync_fence {
    bool shared, shared_once; /* its payload is another's, too, for good or until a reset */
    enum sync_state state;
    struct sync_by by;
    uint64_t seen; /* ticket: the program has seen the signal; 0: it has not */
};

struct sync_value { /* of a timeline */
    uint64_t value;
    const struct sync_work *work;
};

struct sync_values {
    struct sync_value *at;
    size_t count, capacity;
};

struct sync_semaphore {
    bool timeline, shared, shared_once;
    enum sync_state state;             /* of a binary one */
    struct sync_by by;                 /* what gave it the state, or the value */
    uint64_t value;                    /* of a timeline: it has at least this one */
    struct sync_values signals, waits; /* of work that is not over */
};

struct sync_event {
    bool set;
    struct sync_by by;
    uint64_t seen; /* ticket: the program has seen that it is set */
};

enum sync_query_state { SYNC_QUERY_UNDEFINED, SYNC_QUERY_RESET, SYNC_QUERY_BEGUN, SYNC_QUERY_ENDED };

struct sync_query {
    struct sync_by by;
    enum sync_query_state state;
    bool seen; /* the program had its result */
};

struct sync_pool {
    uint32_t count;
    VkQueryType type;
    bool is_reset;              /* at its creation */
    bool lost;                  /* too many queries to follow */
    struct sync_query *queries; /* NULL: as at its creation */
};

struct sync *sync_create(void); /* NULL: no memory */
void sync_destroy(struct sync *sync);

/* last_ticket: later packets are not seen. end: of the submit that it is in, commands count up to there. NULL: all. */
void sync_visitor(struct sync *sync, uint64_t last_ticket, const struct position_found *end, struct trace_visitor *out);

/* By the index in the trace. NULL: the creation was not seen. Work that is over counts. */
const struct sync_fence *sync_fence(struct sync *sync, uint64_t index);
const struct sync_semaphore *sync_semaphore(struct sync *sync, uint64_t index);
const struct sync_event *sync_event(struct sync *sync, uint64_t index);
const struct sync_pool *sync_pool(struct sync *sync, uint64_t index);
const struct sync_queue *sync_queue(struct sync *sync, uint64_t index);

/* Whether work is over; a call is. */
bool sync_is_over(const struct sync_by *by);

#endif
