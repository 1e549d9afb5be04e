/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "gen_ids.h"
#include "inspector/state/sync.h"
#include "tools/show/state_print.h"
#include "tools/show/text.h"

#define NOT_OVER "not known to be over"

static const char *const states[] = {[SYNC_NOT_KNOWN] = "not known",
                                     [SYNC_UNSIGNALED] = "unsignaled",
                                     [SYNC_PENDING] = "pending",
                                     [SYNC_SIGNALED] = "signaled"};
static const char *const query_states[] = {[SYNC_QUERY_UNDEFINED] = "undefined",
                                           [SYNC_QUERY_RESET] = "reset",
                                           [SYNC_QUERY_BEGUN] = "begun",
                                           [SYNC_QUERY_ENDED] = "ended"};

/* ---- what did it ---- */

/* Up to the number of a command buffer, if there is one. */
static void put_execution(FILE *out, const struct sync_execution *in)
{
    if (in->outer) {
        put_execution(out, in->outer);
        fprintf(out, ".%" PRIu32, in->command);
    } else {
        fprintf(out, "%" PRIu64 ".%" PRIu64, in->work->frame, in->work->submit);
    }
    if (in->buffer)
        fprintf(out, ".%" PRIu32, in->buffer);
}

static bool has_position(const struct sync_by *by)
{
    return by->in && by->in->work->submit;
}

static void put_place(FILE *out, const struct sync_by *by)
{
    put_execution(out, by->in);
    if (by->in->buffer)
        fprintf(out, ".%" PRIu32, by->command);
}

/* "2.1.1.4 vkCmdSetEvent" */
static void put_what(FILE *out, const struct sync_by *by)
{
    if (has_position(by))
        put_place(out, by);
    else
        fprintf(out, "#%" PRIu64, by->ticket - 1);
    fprintf(out, " %s", gen_command_names[by->call]);
}

static void put_by(FILE *out, const struct sync_by *by)
{
    fputs(" by ", out);
    put_what(out, by);
}

static void put_by_json(FILE *out, const struct sync_by *by)
{
    if (!by->ticket) {
        fputs("null", out);
        return;
    }
    fputs("{\"position\": ", out);
    if (has_position(by)) {
        fputc('"', out);
        put_place(out, by);
        fputc('"', out);
    } else {
        fputs("null", out);
    }
    fprintf(out, ", \"packet\": %" PRIu64 ", \"name\": \"%s\", \"over\": %s}", by->ticket - 1,
            gen_command_names[by->call], sync_is_over(by) ? "true" : "false");
}

static void put_seen(const struct lap_state_view *view, uint64_t seen)
{
    if (view->json && seen)
        fprintf(view->out, ", \"seen\": %" PRIu64, seen - 1);
    else if (view->json)
        fputs(", \"seen\": null", view->out);
    else if (seen)
        fprintf(view->out, ", seen by #%" PRIu64, seen - 1);
}

/* What stands behind "by" is not said of what is not known. */
static void put_state(const struct lap_state_view *view, const char *state, bool known, const struct sync_by *by)
{
    if (view->json) {
        fprintf(view->out, "\"state\": \"%s\", \"by\": ", state);
        put_by_json(view->out, known ? by : &(struct sync_by){0});
        return;
    }
    lap_state_put_title(view, "state");
    fprintf(view->out, "%s%s", state, known ? "" : ": its payload is also another's");
    if (known)
        put_by(view->out, by);
}

static struct sync_by by_work(const struct sync_work *work)
{
    return (struct sync_by){.ticket = work->ticket, .in = &work->self, .call = work->call};
}

/* ---- fences, semaphores and events ---- */

static void put_fence(const struct lap_state_view *view, const struct sync_fence *fence)
{
    put_state(view, states[fence->state], fence->state != SYNC_NOT_KNOWN, &fence->by);
    put_seen(view, fence->seen);
}

static void put_values(const struct lap_state_view *view, const char *name, const struct sync_values *values)
{
    if (view->json)
        fprintf(view->out, ", \"%s\": [", name);
    for (size_t i = 0; i < values->count; i++) {
        const struct sync_by by = by_work(values->at[i].work);
        if (view->json) {
            fprintf(view->out, "%s{\"value\": %" PRIu64 ", \"by\": ", i ? ", " : "", values->at[i].value);
            put_by_json(view->out, &by);
            fputc('}', view->out);
            continue;
        }
        fputc('\n', view->out);
        lap_state_put_title(view, i ? "" : name);
        fprintf(view->out, "%" PRIu64, values->at[i].value);
        put_by(view->out, &by);
    }
    fputs(view->json ? "]" : "", view->out);
}

static void put_semaphore(const struct lap_state_view *view, const struct sync_semaphore *semaphore)
{
    bool known = semaphore->state != SYNC_NOT_KNOWN;

    if (!semaphore->timeline) {
        put_state(view, states[semaphore->state], known, &semaphore->by);
        return;
    }
    if (known && !view->json) {
        lap_state_put_title(view, "value");
        fprintf(view->out, "%" PRIu64 " or more", semaphore->value);
        put_by(view->out, &semaphore->by);
    } else {
        put_state(view, known ? "timeline" : "not known", known, &semaphore->by);
    }
    if (view->json && known)
        fprintf(view->out, ", \"value\": %" PRIu64, semaphore->value);
    else if (view->json)
        fputs(", \"value\": null", view->out);
    put_values(view, "signals", &semaphore->signals);
    put_values(view, "waits", &semaphore->waits);
}

static void put_event(const struct lap_state_view *view, const struct sync_event *event)
{
    put_state(view, event->set ? "set" : "reset", true, &event->by);
    if (!view->json && !sync_is_over(&event->by))
        fputs(", " NOT_OVER, view->out);
    put_seen(view, event->seen);
}

/* ---- queries ---- */

static bool is_available(const struct sync_query *query)
{
    return query->state == SYNC_QUERY_ENDED && (query->seen || sync_is_over(&query->by));
}

static bool are_same(const struct sync_query *a, const struct sync_query *b)
{
    return a->state == b->state && a->by.ticket == b->by.ticket && a->by.in == b->by.in &&
           a->by.command == b->by.command && is_available(a) == is_available(b);
}

static void put_queries(const struct lap_state_view *view, const struct sync_query *query, uint32_t first,
                        uint32_t count)
{
    FILE *out = view->out;

    if (view->json) {
        fprintf(out,
                "%s{\"first\": %" PRIu32 ", \"count\": %" PRIu32 ", \"state\": \"%s\", \"by\": ", first ? ", " : "",
                first, count, query_states[query->state]);
        put_by_json(out, &query->by);
        fprintf(out, ", \"available\": %s}", is_available(query) ? "true" : "false");
        return;
    }
    lap_state_put_title(view, first ? "" : "queries");
    fprintf(out, "%" PRIu32, first);
    if (count > 1)
        fprintf(out, " to %" PRIu32, first + count - 1);
    fprintf(out, ": %s", query_states[query->state]);
    if (query->by.ticket)
        put_by(out, &query->by);
    if (query->by.ticket && !is_available(query) && !sync_is_over(&query->by))
        fputs(", " NOT_OVER, out);
    fputc('\n', out);
}

static void put_pool(const struct lap_state_view *view, const struct sync_pool *pool)
{
    uint32_t available = 0;
    FILE *out = view->out;

    for (uint32_t i = 0; pool->queries && i < pool->count; i++)
        available += is_available(&pool->queries[i]);
    fputs(view->json ? "\"queries\": [" : "", out);
    for (uint32_t i = 0, count; pool->queries && i < pool->count; i += count) {
        for (count = 1; count < pool->count - i && are_same(&pool->queries[i], &pool->queries[i + count]);)
            count++;
        put_queries(view, &pool->queries[i], i, count);
    }
    if (view->json) {
        fprintf(out, "], \"count\": %" PRIu32 ", \"available\": ", pool->count);
        if (pool->queries)
            fprintf(out, "%" PRIu32, available);
        else
            fputs("null", out);
        return;
    }
    lap_state_put_title(view, pool->queries ? "available" : "queries");
    if (pool->queries)
        fprintf(out, "%" PRIu32 " of %" PRIu32, available, pool->count);
    else
        fprintf(out, "not followed: %" PRIu32 " are too many", pool->count);
}

/* ---- queues ---- */

static void put_queue(const struct lap_state_view *view, const struct sync_queue *queue)
{
    FILE *out = view->out;

    if (view->json) {
        fprintf(out, "\"family\": %" PRIi64 ", \"number\": %" PRIu32 ", \"given\": %" PRIu64 ", \"pending\": [",
                queue->family == UINT32_MAX ? -1 : (int64_t)queue->family, queue->number, queue->given);
    } else {
        lap_state_put_title(view, "family");
        if (queue->family == UINT32_MAX)
            fputs("not known\n", out);
        else
            fprintf(out, "%" PRIu32 ", number %" PRIu32 "\n", queue->family, queue->number);
        lap_state_put_title(view, "work");
        fprintf(out, "%" PRIu64 " given, %zu " NOT_OVER, queue->given, queue->count - queue->first);
    }
    for (size_t i = queue->first; i < queue->count; i++) {
        const struct sync_by by = by_work(queue->pending[i]);
        if (view->json) {
            fputs(i > queue->first ? ", " : "", out);
            put_by_json(out, &by);
            continue;
        }
        fputc('\n', out);
        lap_state_put_title(view, i > queue->first ? "" : "pending");
        put_what(out, &by);
    }
    if (view->json) {
        fprintf(out, "], \"presents\": %" PRIu64 ", \"last_present\": ", queue->presents);
        if (queue->presents)
            fprintf(out, "%" PRIu64, queue->last_present - 1);
        else
            fputs("null", out);
    } else if (queue->presents) {
        fputc('\n', out);
        lap_state_put_title(view, "presents");
        fprintf(out, "%" PRIu64 ", last #%" PRIu64, queue->presents, queue->last_present - 1);
    }
}

/* ---- one object ---- */

/* False: it is none of these. */
static bool put_object(const struct lap_state_view *view, struct sync *sync, const struct object_life *life)
{
    const struct sync_fence *fence = life->type == GEN_HANDLE_VkFence ? sync_fence(sync, life->index) : NULL;
    const struct sync_semaphore *semaphore =
        life->type == GEN_HANDLE_VkSemaphore ? sync_semaphore(sync, life->index) : NULL;
    const struct sync_event *event = life->type == GEN_HANDLE_VkEvent ? sync_event(sync, life->index) : NULL;
    const struct sync_pool *pool = life->type == GEN_HANDLE_VkQueryPool ? sync_pool(sync, life->index) : NULL;
    const struct sync_queue *queue = life->type == GEN_HANDLE_VkQueue ? sync_queue(sync, life->index) : NULL;

    if (!fence && !semaphore && !event && !pool && !queue)
        return false;
    fputs(view->json ? "{" : "", view->out);
    if (fence)
        put_fence(view, fence);
    if (semaphore)
        put_semaphore(view, semaphore);
    if (event)
        put_event(view, event);
    if (pool)
        put_pool(view, pool);
    if (queue)
        put_queue(view, queue);
    fputs(view->json ? "}" : "\n", view->out);
    return true;
}

static bool has_state(uint32_t type)
{
    return type == GEN_HANDLE_VkFence || type == GEN_HANDLE_VkSemaphore || type == GEN_HANDLE_VkEvent ||
           type == GEN_HANDLE_VkQueryPool || type == GEN_HANDLE_VkQueue;
}

enum lap_status lap_state_sync(const struct lap_state_view *view, const struct object_life *life)
{
    struct trace_visitor visitor;
    enum lap_status status;
    struct sync *sync;

    if (view->json)
        fputs(", \"sync\": ", view->out);
    if (!has_state(life->type)) {
        fputs(view->json ? "null" : "", view->out);
        return LAP_OK;
    }
    sync = sync_create();
    if (!sync)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    sync_visitor(sync, view->last, &view->found, &visitor);
    status = lap_state_read(view, &visitor);
    if (status == LAP_OK && !put_object(view, sync, life) && view->json)
        fputs("null", view->out);
    sync_destroy(sync);
    return status;
}
