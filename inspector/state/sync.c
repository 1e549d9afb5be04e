/* SPDX-License-Identifier: MIT */
#include "inspector/state/sync.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "inspector/state/submit_steps.h"
#include "inspector/state/sync_change.h"
#include "vulkan/chain.h"

#define ARENA_BYTES  ((size_t)1 << 30)
#define MOST_QUERIES (1u << 20) /* of a pool */
#define MOST_OF_ALL  (1u << 22) /* queries */

struct sync_need {
    struct sync_need *next;
    const struct sync_work *work;
};

struct sync {
    struct lap_arena arena; /* holds the values of all maps */
    struct lap_map fences, semaphores, events, pools, queues, payloads;
    struct submit_steps steps;
    struct creation_facts facts; /* of render passes */
    struct sync_views views;
    uint64_t frame, submits;       /* of the current frame */
    uint32_t queries;              /* of all pools */
    const struct sync_work **over; /* that is found to be over */
    size_t over_count, over_capacity;
    enum lap_status status;
};

/* ---- creation ---- */

struct sync *sync_create(void)
{
    struct sync *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    lap_arena_init(&s->arena, ARENA_BYTES);
    struct lap_map *const maps[] = {&s->fences, &s->semaphores, &s->events, &s->pools, &s->queues, &s->payloads};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lap_map_init(maps[i]);
    submit_steps_init(&s->steps, &s->arena);
    creation_facts_init(&s->facts);
    return s;
}

static void free_semaphore(void *user, uint64_t index, void *semaphore)
{
    (void)user, (void)index;
    free(((struct sync_semaphore *)semaphore)->signals.at);
    free(((struct sync_semaphore *)semaphore)->waits.at);
}

static void free_pool(void *user, uint64_t index, void *pool)
{
    (void)user, (void)index;
    free(((struct sync_pool *)pool)->queries);
}

static void free_queue(void *user, uint64_t index, void *queue)
{
    (void)user, (void)index;
    free(((struct sync_queue *)queue)->pending);
}

void sync_destroy(struct sync *s)
{
    if (!s)
        return;
    lap_map_each(&s->semaphores, free_semaphore, NULL);
    lap_map_each(&s->pools, free_pool, NULL);
    lap_map_each(&s->queues, free_queue, NULL);
    struct lap_map *const maps[] = {&s->fences, &s->semaphores, &s->events, &s->pools, &s->queues, &s->payloads};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        lap_map_finish(maps[i]);
    submit_steps_finish(&s->steps);
    creation_facts_finish(&s->facts);
    lap_arena_finish(&s->arena);
    free(s->over);
    free(s);
}

static void no_memory(struct sync *s)
{
    s->status = lap_fail(LAP_ERROR_MEMORY, "out of memory for synchronization");
}

static void *add(struct sync *s, struct lap_map *map, uint64_t index, size_t bytes)
{
    void *value = index ? lap_arena_zalloc(&s->arena, 1, bytes, 8) : NULL;

    if (index && (!value || lap_map_put(map, index, value, NULL) != LAP_OK)) {
        no_memory(s);
        return NULL;
    }
    return value;
}

static struct sync_by by_call(const struct trace_call *call)
{
    return (struct sync_by){.ticket = call->packet->ticket, .call = (uint16_t)call->command};
}

static struct sync_by by_work(const struct trace_call *call, const struct sync_work *work)
{
    struct sync_by by = by_call(call);
    by.in = work ? &work->self : NULL;
    return by;
}

/* ---- work ---- */

static bool work_is_over(const struct sync_work *work)
{
    return work->number <= work->queue->over;
}

bool sync_is_over(const struct sync_by *by)
{
    return !by->in || work_is_over(by->in->work);
}

static struct sync_queue *queue_of(struct sync *s, uint64_t index)
{
    struct sync_queue *queue = lap_map_get(&s->queues, index);

    if (!queue && (queue = add(s, &s->queues, index, sizeof *queue))) {
        queue->index = index;
        queue->family = UINT32_MAX;
    }
    return queue;
}

static void see_queue(struct sync *s, VkDevice device, const VkQueue *handle, uint32_t family, uint32_t number)
{
    struct sync_queue *queue = handle ? queue_of(s, gen_u64_VkQueue(*handle)) : NULL;

    if (!queue)
        return;
    queue->device = gen_u64_VkDevice(device);
    queue->family = family;
    queue->number = number;
}

static struct sync_work *give_work(struct sync *s, const struct trace_call *call, VkQueue handle)
{
    struct sync_queue *queue = queue_of(s, gen_u64_VkQueue(handle));
    struct sync_work *work = queue ? lap_arena_zalloc(&s->arena, 1, sizeof *work, 8) : NULL;

    if (queue && queue->first > queue->count / 2) {
        memmove(queue->pending, queue->pending + queue->first, (queue->count - queue->first) * sizeof *queue->pending);
        queue->count -= queue->first;
        queue->first = 0;
    }
    if (!work || !lap_array_grow(&queue->pending, sizeof(struct sync_work *), &queue->capacity, queue->count + 1)) {
        if (queue)
            no_memory(s);
        return NULL;
    }
    queue->pending[queue->count++] = work;
    *work = (struct sync_work){.self = {.work = work},
                               .ticket = call->packet->ticket,
                               .frame = call->packet->frame + 1,
                               .number = ++queue->given,
                               .call = (uint16_t)call->command,
                               .queue = queue};
    return work;
}

static void need(struct sync *s, struct sync_work *work, const struct sync_work *needed)
{
    struct sync_need *n;

    if (!needed || needed == work || work_is_over(needed))
        return;
    n = lap_arena_alloc(&s->arena, sizeof *n, 8);
    if (!n) {
        no_memory(s);
        return;
    }
    *n = (struct sync_need){work->needs, needed};
    work->needs = n;
}

static void push_over(struct sync *s, const struct sync_work *work)
{
    if (!lap_array_grow(&s->over, sizeof(struct sync_work *), &s->over_capacity, s->over_count + 1))
        no_memory(s);
    else
        s->over[s->over_count++] = work;
}

/* The program has learnt that work is over: so is all earlier work of the queue, and what these waited for. */
static void finish(struct sync *s, const struct sync_work *last)
{
    if (last)
        push_over(s, last);
    while (s->over_count) {
        const struct sync_work *work = s->over[--s->over_count];
        struct sync_queue *queue = work->queue;
        for (; queue->first < queue->count && queue->pending[queue->first]->number <= work->number; queue->first++)
            for (const struct sync_need *n = queue->pending[queue->first]->needs; n; n = n->next)
                push_over(s, n->work);
        queue->over = work->number > queue->over ? work->number : queue->over;
    }
}

static void finish_queue(struct sync *s, struct sync_queue *queue)
{
    if (queue && queue->first < queue->count)
        finish(s, queue->pending[queue->count - 1]);
}

struct idle {
    struct sync *sync;
    uint64_t device;
};

static void finish_of_device(void *user, uint64_t index, void *value)
{
    const struct idle *idle = user;
    struct sync_queue *queue = value;

    (void)index;
    if (queue->device == idle->device)
        finish_queue(idle->sync, queue);
}

static void finish_by(struct sync *s, const struct sync_by *by)
{
    finish(s, by->in ? by->in->work : NULL);
}

/* ---- fences ---- */

static struct sync_fence *fence_of(struct sync *s, VkFence handle)
{
    return handle ? lap_map_get(&s->fences, gen_u64_VkFence(handle)) : NULL;
}

static void add_fence(struct sync *s, const VkFence *handle, enum sync_state state, const struct trace_call *call)
{
    struct sync_fence *fence = handle ? add(s, &s->fences, gen_u64_VkFence(*handle), sizeof *fence) : NULL;

    if (fence)
        *fence = (struct sync_fence){.state = state, .by = by_call(call)};
}

static void signal_fence(struct sync *s, VkFence handle, const struct sync_work *work, const struct trace_call *call)
{
    struct sync_fence *fence = fence_of(s, handle);

    if (!fence)
        return;
    fence->state = SYNC_PENDING;
    fence->by = by_work(call, work);
    fence->seen = 0;
}

static void see_fence(struct sync *s, VkFence handle, const struct trace_call *call)
{
    struct sync_fence *fence = fence_of(s, handle);

    if (!fence || fence->shared || fence->shared_once)
        return;
    if (fence->state == SYNC_PENDING)
        finish_by(s, &fence->by);
    fence->state = SYNC_SIGNALED;
    fence->seen = call->packet->ticket;
}

static void reset_fence(struct sync *s, VkFence handle, const struct trace_call *call)
{
    struct sync_fence *fence = fence_of(s, handle);

    if (fence)
        *fence = (struct sync_fence){.state = SYNC_UNSIGNALED, .by = by_call(call), .shared = fence->shared};
}

/* ---- semaphores ---- */

static struct sync_semaphore *semaphore_of(struct sync *s, VkSemaphore handle)
{
    return handle ? lap_map_get(&s->semaphores, gen_u64_VkSemaphore(handle)) : NULL;
}

static void see_semaphore(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_vkCreateSemaphore *a = call->args;
    const VkSemaphoreTypeCreateInfo *type =
        a->pCreateInfo ? lap_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO) : NULL;
    struct sync_semaphore *semaphore =
        a->pSemaphore ? add(s, &s->semaphores, gen_u64_VkSemaphore(*a->pSemaphore), sizeof *semaphore) : NULL;

    if (!semaphore)
        return;
    *semaphore = (struct sync_semaphore){.state = SYNC_UNSIGNALED, .by = by_call(call)};
    semaphore->timeline = type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
    semaphore->value = type ? type->initialValue : 0;
}

/* Removes values of work that is over. */
static void prune(struct sync_semaphore *semaphore, struct sync_values *values)
{
    size_t left = 0;

    for (size_t i = 0; i < values->count; i++) {
        const struct sync_value *value = &values->at[i];
        if (!work_is_over(value->work)) {
            values->at[left++] = *value;
        } else if (values == &semaphore->signals && value->value > semaphore->value) {
            semaphore->value = value->value;
            semaphore->by =
                (struct sync_by){.ticket = value->work->ticket, .in = &value->work->self, .call = value->work->call};
        }
    }
    values->count = left;
}

static void add_value(struct sync *s, struct sync_semaphore *semaphore, struct sync_values *values, uint64_t value,
                      const struct sync_work *work)
{
    if (values->count == values->capacity)
        prune(semaphore, values);
    if (!lap_array_grow(&values->at, sizeof *values->at, &values->capacity, values->count + 1))
        no_memory(s);
    else
        values->at[values->count++] = (struct sync_value){value, work};
}

/* work: NULL: a present, or an acquire. */
static void wait_semaphore(struct sync *s, VkSemaphore handle, uint64_t value, struct sync_work *work,
                           const struct trace_call *call)
{
    struct sync_semaphore *semaphore = semaphore_of(s, handle);
    bool shared = semaphore && (semaphore->shared || semaphore->shared_once);

    if (!semaphore)
        return;
    if (!semaphore->timeline) {
        if (work && !shared && semaphore->by.in && semaphore->state == SYNC_PENDING)
            need(s, work, semaphore->by.in->work);
        if (!semaphore->shared_once || semaphore->shared) {
            semaphore->state = SYNC_UNSIGNALED;
            semaphore->by = by_work(call, work);
        }
        semaphore->shared_once = false;
        return;
    }
    if (!work)
        return;
    for (size_t i = 0; i < semaphore->signals.count && !shared; i++)
        if (semaphore->signals.at[i].value >= value) {
            need(s, work, semaphore->signals.at[i].work);
            break;
        }
    add_value(s, semaphore, &semaphore->waits, value, work);
}

static void signal_semaphore(struct sync *s, VkSemaphore handle, uint64_t value, const struct sync_work *work,
                             const struct trace_call *call)
{
    struct sync_semaphore *semaphore = semaphore_of(s, handle);

    if (!semaphore)
        return;
    if (semaphore->timeline) {
        if (work)
            add_value(s, semaphore, &semaphore->signals, value, work);
        return;
    }
    semaphore->state = SYNC_PENDING;
    semaphore->by = by_work(call, work);
}

/* The program has seen the value. Signals of a timeline come in the order of their values. */
static void see_value(struct sync *s, VkSemaphore handle, uint64_t value, const struct trace_call *call)
{
    struct sync_semaphore *semaphore = semaphore_of(s, handle);

    if (!semaphore || !semaphore->timeline || semaphore->shared)
        return;
    for (size_t i = 0; i < semaphore->signals.count; i++)
        if (semaphore->signals.at[i].value <= value)
            finish(s, semaphore->signals.at[i].work);
    prune(semaphore, &semaphore->signals);
    prune(semaphore, &semaphore->waits);
    if (value >= semaphore->value) {
        semaphore->value = value;
        semaphore->by = by_call(call);
    }
}

static uint64_t value_of(const uint64_t *values, uint32_t count, uint32_t i)
{
    return values && i < count ? values[i] : 0;
}

/* ---- payloads of descriptors ---- */

/* A copy takes the signal along. */
static void see_export(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_lapilliExportSync *a = call->args;
    struct sync_semaphore *semaphore = semaphore_of(s, a->semaphore);
    struct sync_fence *fence = fence_of(s, a->fence);
    const struct sync_by by = semaphore ? semaphore->by : fence ? fence->by : (struct sync_by){0};
    bool pending = semaphore ? semaphore->state == SYNC_PENDING : fence && fence->state == SYNC_PENDING;

    if (a->copies && pending && by.in &&
        lap_map_put(&s->payloads, a->payload, (void *)(uintptr_t)by.in->work, NULL) != LAP_OK)
        no_memory(s);
    if (!a->copies && semaphore)
        semaphore->shared = true;
    if (!a->copies && fence)
        fence->shared = true;
    if (a->copies)
        wait_semaphore(s, a->semaphore, 0, NULL, call);
    if (a->copies)
        reset_fence(s, a->fence, call);
}

static void see_import(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_lapilliImportSync *a = call->args;
    struct sync_semaphore *semaphore = semaphore_of(s, a->semaphore);
    struct sync_fence *fence = fence_of(s, a->fence);
    bool once = a->temporary || a->copies;

    if (semaphore)
        *(once ? &semaphore->shared_once : &semaphore->shared) = true;
    if (fence)
        *(once ? &fence->shared_once : &fence->shared) = true;
}

/* ---- events and queries ---- */

static struct sync_query *make_queries(struct sync *s, struct sync_pool *pool)
{
    if (pool->queries || pool->lost)
        return pool->queries;
    pool->lost = pool->count > MOST_QUERIES || pool->count > MOST_OF_ALL - s->queries;
    if (pool->lost)
        return NULL;
    pool->queries = calloc((size_t)pool->count + 1, sizeof *pool->queries);
    if (!pool->queries) {
        no_memory(s);
        return NULL;
    }
    s->queries += pool->count;
    for (uint32_t i = 0; pool->is_reset && i < pool->count; i++)
        pool->queries[i].state = SYNC_QUERY_RESET;
    return pool->queries;
}

static void change(struct sync *s, const struct sync_change *change, const struct sync_by *by)
{
    bool of_event = change->kind == SYNC_SET_EVENT || change->kind == SYNC_RESET_EVENT;
    struct sync_event *event = of_event ? lap_map_get(&s->events, change->object) : NULL;
    struct sync_pool *pool = of_event ? NULL : lap_map_get(&s->pools, change->object);
    struct sync_query *queries = pool ? make_queries(s, pool) : NULL;
    const struct sync_query query = {.by = *by,
                                     .state = change->kind == SYNC_RESET_QUERIES   ? SYNC_QUERY_RESET
                                              : change->kind == SYNC_BEGIN_QUERIES ? SYNC_QUERY_BEGUN
                                                                                   : SYNC_QUERY_ENDED};

    if (event)
        *event = (struct sync_event){.set = change->kind == SYNC_SET_EVENT, .by = *by};
    for (uint32_t i = 0; queries && i < change->count && i < pool->count && change->first < pool->count - i; i++)
        queries[change->first + i] = query;
}

static void see_pool(struct sync *s, const struct gen_args_vkCreateQueryPool *a)
{
    struct sync_pool *pool =
        a->pCreateInfo && a->pQueryPool ? add(s, &s->pools, gen_u64_VkQueryPool(*a->pQueryPool), sizeof *pool) : NULL;

    if (!pool)
        return;
    *pool = (struct sync_pool){.count = a->pCreateInfo->queryCount, .type = a->pCreateInfo->queryType};
#ifdef VK_KHR_maintenance9
    pool->is_reset = a->pCreateInfo->flags & VK_QUERY_POOL_CREATE_RESET_BIT_KHR;
#endif
}

/* Without waiting a part of a result says nothing. */
static void see_results(struct sync *s, const struct gen_args_vkGetQueryPoolResults *a)
{
    struct sync_pool *pool = lap_map_get(&s->pools, gen_u64_VkQueryPool(a->queryPool));
    bool available = !(a->flags & VK_QUERY_RESULT_PARTIAL_BIT) || a->flags & VK_QUERY_RESULT_WAIT_BIT;

    if (a->result != VK_SUCCESS || !available || !pool || !pool->queries)
        return;
    for (uint32_t i = 0; i < a->queryCount && i < pool->count && a->firstQuery < pool->count - i; i++)
        pool->queries[a->firstQuery + i].seen = pool->queries[a->firstQuery + i].state == SYNC_QUERY_ENDED;
}

static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    struct sync *s = state;
    struct sync_change found, *copy;

    if (!sync_change_of(&s->views, &s->facts, call, &found))
        return submit_steps_execute(&s->steps, call);
    copy = lap_arena_alloc(&s->arena, sizeof *copy, 8);
    if (!copy)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for synchronization");
    *copy = found;
    return submit_steps_add(&s->steps, call, copy);
}

/* ---- submits ---- */

struct submitting {
    struct sync *sync;
    struct sync_work *work;
};

static struct sync_execution *execution_of(struct submitting *submitting, struct submit_where *where)
{
    struct sync_execution *outer = where->outer && !where->note ? execution_of(submitting, where->outer) : NULL;
    struct sync_execution *execution = where->note;

    if (execution || (where->outer && !outer))
        return execution;
    execution = lap_arena_alloc(&submitting->sync->arena, sizeof *execution, 8);
    if (execution)
        *execution = (struct sync_execution){.outer = outer,
                                             .work = submitting->work,
                                             .buffer = where->buffer,
                                             .command = where->outer ? where->outer->command : 0};
    where->note = execution;
    return execution;
}

static bool apply(void *user, const void *what, struct submit_where *where)
{
    struct submitting *submitting = user;
    const struct sync_change *found = what;
    struct sync_by by = {.ticket = submitting->work->ticket,
                         .in = execution_of(submitting, where),
                         .command = where->command,
                         .call = found->command};

    if (by.in)
        change(submitting->sync, found, &by);
    else
        no_memory(submitting->sync);
    return submitting->sync->status == LAP_OK;
}

static void order1(struct sync *s, const VkSubmitInfo *info, struct sync_work *work, const struct trace_call *call)
{
    const VkTimelineSemaphoreSubmitInfo *values =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);

    for (uint32_t i = 0; info->pWaitSemaphores && i < info->waitSemaphoreCount; i++)
        wait_semaphore(s, info->pWaitSemaphores[i],
                       values ? value_of(values->pWaitSemaphoreValues, values->waitSemaphoreValueCount, i) : 0, work,
                       call);
    for (uint32_t i = 0; info->pSignalSemaphores && i < info->signalSemaphoreCount; i++)
        signal_semaphore(s, info->pSignalSemaphores[i],
                         values ? value_of(values->pSignalSemaphoreValues, values->signalSemaphoreValueCount, i) : 0,
                         work, call);
}

static void order2(struct sync *s, const VkSubmitInfo2 *info, struct sync_work *work, const struct trace_call *call)
{
    for (uint32_t i = 0; info->pWaitSemaphoreInfos && i < info->waitSemaphoreInfoCount; i++)
        wait_semaphore(s, info->pWaitSemaphoreInfos[i].semaphore, info->pWaitSemaphoreInfos[i].value, work, call);
    for (uint32_t i = 0; info->pSignalSemaphoreInfos && i < info->signalSemaphoreInfoCount; i++)
        signal_semaphore(s, info->pSignalSemaphoreInfos[i].semaphore, info->pSignalSemaphoreInfos[i].value, work, call);
}

static void see_commands(struct sync *s, const struct trace_call *call, struct sync_work *work)
{
    struct submitting submitting = {.sync = s, .work = work};

    s->submits = s->frame == work->frame ? s->submits + 1 : 1;
    s->frame = work->frame;
    work->submit = s->submits;
    if (!submit_steps_give(&s->steps, call, apply, &submitting))
        s->status = lap_fail(LAP_ERROR_LIMIT, "command buffers execute too many others");
}

static void see_submit(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_vkQueueSubmit *a = call->args;
    struct sync_work *work = give_work(s, call, a->queue);

    for (uint32_t i = 0; work && a->pSubmits && i < a->submitCount; i++)
        order1(s, &a->pSubmits[i], work, call);
    signal_fence(s, a->fence, work, call);
    if (work)
        see_commands(s, call, work);
}

static void see_submit2(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_vkQueueSubmit2 *a = call->args;
    struct sync_work *work = give_work(s, call, a->queue);

    for (uint32_t i = 0; work && a->pSubmits && i < a->submitCount; i++)
        order2(s, &a->pSubmits[i], work, call);
    signal_fence(s, a->fence, work, call);
    if (work)
        see_commands(s, call, work);
}

static void see_sparse(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_vkQueueBindSparse *a = call->args;
    struct sync_work *work = give_work(s, call, a->queue);

    for (uint32_t i = 0; work && a->pBindInfo && i < a->bindInfoCount; i++) {
        const VkBindSparseInfo *info = &a->pBindInfo[i];
        const VkSubmitInfo as = {.pNext = info->pNext,
                                 .waitSemaphoreCount = info->waitSemaphoreCount,
                                 .pWaitSemaphores = info->pWaitSemaphores,
                                 .signalSemaphoreCount = info->signalSemaphoreCount,
                                 .pSignalSemaphores = info->pSignalSemaphores};
        order1(s, &as, work, call);
    }
    signal_fence(s, a->fence, work, call);
}

static void see_present(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_vkQueuePresentKHR *a = call->args;
    const VkPresentInfoKHR *info = a->pPresentInfo;
    struct sync_queue *queue = queue_of(s, gen_u64_VkQueue(a->queue));

    for (uint32_t i = 0; info && info->pWaitSemaphores && i < info->waitSemaphoreCount; i++)
        wait_semaphore(s, info->pWaitSemaphores[i], 0, NULL, call);
    if (queue) {
        queue->presents++;
        queue->last_present = call->packet->ticket;
    }
#ifdef VK_EXT_swapchain_maintenance1
    const VkSwapchainPresentFenceInfoEXT *fences =
        info ? lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT) : NULL;
    for (uint32_t i = 0; fences && fences->pFences && i < fences->swapchainCount; i++)
        signal_fence(s, fences->pFences[i], NULL, call);
#endif
}

static void see_acquire(struct sync *s, VkSemaphore semaphore, VkFence fence, const struct trace_call *call)
{
    signal_semaphore(s, semaphore, 0, NULL, call);
    signal_fence(s, fence, NULL, call);
}

/* ---- waits ---- */

static void see_fence_wait(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_vkWaitForFences *a = call->args;

    for (uint32_t i = 0;
         a->result == VK_SUCCESS && (a->waitAll || a->fenceCount == 1) && a->pFences && i < a->fenceCount; i++)
        see_fence(s, a->pFences[i], call);
}

static void see_semaphore_wait(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_vkWaitSemaphores *a = call->args;
    const VkSemaphoreWaitInfo *info = a->pWaitInfo;
    bool all = info && (info->semaphoreCount == 1 || !(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT));

    for (uint32_t i = 0; a->result == VK_SUCCESS && all && info->pSemaphores && i < info->semaphoreCount; i++)
        see_value(s, info->pSemaphores[i], value_of(info->pValues, info->semaphoreCount, i), call);
}

static void see_event_status(struct sync *s, const struct trace_call *call)
{
    const struct gen_args_vkGetEventStatus *a = call->args;
    struct sync_event *event = lap_map_get(&s->events, gen_u64_VkEvent(a->event));

    if (event && a->result == VK_EVENT_SET)
        event->seen = call->packet->ticket;
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct sync *s = state;
    const struct sync_by by = by_call(call);

    switch (call->command) {
    case GEN_vkCreateRenderPass:
    case GEN_vkCreateRenderPass2:
        return creation_facts_see(&s->facts, call);
    case GEN_lapilliBlock:
        return submit_steps_record(&s->steps, call);
    case GEN_vkGetDeviceQueue: {
        const struct gen_args_vkGetDeviceQueue *a = call->args;
        see_queue(s, a->device, a->pQueue, a->queueFamilyIndex, a->queueIndex);
        break;
    }
    case GEN_vkGetDeviceQueue2: {
        const struct gen_args_vkGetDeviceQueue2 *a = call->args;
        if (a->pQueueInfo)
            see_queue(s, a->device, a->pQueue, a->pQueueInfo->queueFamilyIndex, a->pQueueInfo->queueIndex);
        break;
    }
    case GEN_vkCreateFence: {
        const struct gen_args_vkCreateFence *a = call->args;
        bool signaled = a->pCreateInfo && a->pCreateInfo->flags & VK_FENCE_CREATE_SIGNALED_BIT;
        add_fence(s, a->pFence, signaled ? SYNC_SIGNALED : SYNC_UNSIGNALED, call);
        break;
    }
    case GEN_vkRegisterDeviceEventEXT:
        add_fence(s, ((const struct gen_args_vkRegisterDeviceEventEXT *)call->args)->pFence, SYNC_PENDING, call);
        break;
    case GEN_vkRegisterDisplayEventEXT:
        add_fence(s, ((const struct gen_args_vkRegisterDisplayEventEXT *)call->args)->pFence, SYNC_PENDING, call);
        break;
    case GEN_vkCreateSemaphore:
        see_semaphore(s, call);
        break;
    case GEN_vkCreateEvent: {
        const struct gen_args_vkCreateEvent *a = call->args;
        struct sync_event *event = a->pEvent ? add(s, &s->events, gen_u64_VkEvent(*a->pEvent), sizeof *event) : NULL;
        if (event)
            event->by = by;
        break;
    }
    case GEN_vkCreateQueryPool:
        see_pool(s, call->args);
        break;
    case GEN_vkQueueSubmit:
        see_submit(s, call);
        break;
    case GEN_vkQueueSubmit2:
        see_submit2(s, call);
        break;
    case GEN_vkQueueBindSparse:
        see_sparse(s, call);
        break;
    case GEN_vkQueuePresentKHR:
        see_present(s, call);
        break;
    case GEN_vkAcquireNextImageKHR: {
        const struct gen_args_vkAcquireNextImageKHR *a = call->args;
        see_acquire(s, a->semaphore, a->fence, call);
        break;
    }
    case GEN_vkAcquireNextImage2KHR: {
        const struct gen_args_vkAcquireNextImage2KHR *a = call->args;
        if (a->pAcquireInfo)
            see_acquire(s, a->pAcquireInfo->semaphore, a->pAcquireInfo->fence, call);
        break;
    }
    case GEN_vkWaitForFences:
        see_fence_wait(s, call);
        break;
    case GEN_vkGetFenceStatus: {
        const struct gen_args_vkGetFenceStatus *a = call->args;
        if (a->result == VK_SUCCESS)
            see_fence(s, a->fence, call);
        break;
    }
    case GEN_vkResetFences: {
        const struct gen_args_vkResetFences *a = call->args;
        for (uint32_t i = 0; a->pFences && i < a->fenceCount; i++)
            reset_fence(s, a->pFences[i], call);
        break;
    }
    case GEN_vkWaitSemaphores:
        see_semaphore_wait(s, call);
        break;
    case GEN_vkGetSemaphoreCounterValue: {
        const struct gen_args_vkGetSemaphoreCounterValue *a = call->args;
        if (a->result == VK_SUCCESS && a->pValue)
            see_value(s, a->semaphore, *a->pValue, call);
        break;
    }
    case GEN_vkSignalSemaphore: {
        const VkSemaphoreSignalInfo *info = ((const struct gen_args_vkSignalSemaphore *)call->args)->pSignalInfo;
        if (info)
            see_value(s, info->semaphore, info->value, call);
        break;
    }
    case GEN_vkSetEvent:
        change(
            s,
            &(struct sync_change){.kind = SYNC_SET_EVENT,
                                  .object = gen_u64_VkEvent(((const struct gen_args_vkSetEvent *)call->args)->event)},
            &by);
        break;
    case GEN_vkResetEvent:
        change(
            s,
            &(struct sync_change){.kind = SYNC_RESET_EVENT,
                                  .object = gen_u64_VkEvent(((const struct gen_args_vkResetEvent *)call->args)->event)},
            &by);
        break;
    case GEN_vkGetEventStatus:
        see_event_status(s, call);
        break;
    case GEN_vkResetQueryPool: {
        const struct gen_args_vkResetQueryPool *a = call->args;
        change(s,
               &(struct sync_change){.kind = SYNC_RESET_QUERIES,
                                     .object = gen_u64_VkQueryPool(a->queryPool),
                                     .first = a->firstQuery,
                                     .count = a->queryCount},
               &by);
        break;
    }
    case GEN_vkGetQueryPoolResults:
        see_results(s, call->args);
        break;
    case GEN_vkQueueWaitIdle:
        finish_queue(
            s, lap_map_get(&s->queues, gen_u64_VkQueue(((const struct gen_args_vkQueueWaitIdle *)call->args)->queue)));
        break;
    case GEN_lapilliWaitQueue:
        finish_queue(
            s, lap_map_get(&s->queues, gen_u64_VkQueue(((const struct gen_args_lapilliWaitQueue *)call->args)->queue)));
        break;
    case GEN_vkDeviceWaitIdle: {
        struct idle idle = {s, gen_u64_VkDevice(((const struct gen_args_vkDeviceWaitIdle *)call->args)->device)};
        lap_map_each(&s->queues, finish_of_device, &idle);
        break;
    }
    case GEN_lapilliExportSync:
        see_export(s, call);
        break;
    case GEN_lapilliImportSync:
        see_import(s, call);
        break;
    case GEN_lapilliSeenSync:
        finish(s, lap_map_get(&s->payloads, ((const struct gen_args_lapilliSeenSync *)call->args)->payload));
        break;
    default:
        break;
    }
    return s->status;
}

void sync_visitor(struct sync *s, uint64_t last_ticket, const struct position_found *end, struct trace_visitor *out)
{
    static const uint16_t commands[] = {GEN_vkCreateRenderPass,
                                        GEN_vkCreateRenderPass2,
                                        GEN_lapilliBlock,
                                        GEN_vkGetDeviceQueue,
                                        GEN_vkGetDeviceQueue2,
                                        GEN_vkCreateFence,
                                        GEN_vkRegisterDeviceEventEXT,
                                        GEN_vkRegisterDisplayEventEXT,
                                        GEN_vkCreateSemaphore,
                                        GEN_vkCreateEvent,
                                        GEN_vkCreateQueryPool,
                                        GEN_vkQueueSubmit,
                                        GEN_vkQueueSubmit2,
                                        GEN_vkQueueBindSparse,
                                        GEN_vkQueuePresentKHR,
                                        GEN_vkAcquireNextImageKHR,
                                        GEN_vkAcquireNextImage2KHR,
                                        GEN_vkWaitForFences,
                                        GEN_vkGetFenceStatus,
                                        GEN_vkResetFences,
                                        GEN_vkWaitSemaphores,
                                        GEN_vkGetSemaphoreCounterValue,
                                        GEN_vkSignalSemaphore,
                                        GEN_vkSetEvent,
                                        GEN_vkResetEvent,
                                        GEN_vkGetEventStatus,
                                        GEN_vkResetQueryPool,
                                        GEN_vkGetQueryPoolResults,
                                        GEN_vkQueueWaitIdle,
                                        GEN_lapilliWaitQueue,
                                        GEN_vkDeviceWaitIdle,
                                        GEN_lapilliExportSync,
                                        GEN_lapilliImportSync,
                                        GEN_lapilliSeenSync,
                                        0};
    s->steps.end = end;
    *out = (struct trace_visitor){
        .commands = commands, .visit = visit, .visit_in_block = visit_in_block, .state = s, .last_ticket = last_ticket};
}

/* ---- queries ---- */

const struct sync_fence *sync_fence(struct sync *s, uint64_t index)
{
    struct sync_fence *fence = lap_map_get(&s->fences, index);

    if (fence && (fence->shared || fence->shared_once))
        fence->state = SYNC_NOT_KNOWN;
    else if (fence && fence->state == SYNC_PENDING && fence->by.in && sync_is_over(&fence->by))
        fence->state = SYNC_SIGNALED;
    return fence;
}

const struct sync_semaphore *sync_semaphore(struct sync *s, uint64_t index)
{
    struct sync_semaphore *semaphore = lap_map_get(&s->semaphores, index);

    if (!semaphore)
        return NULL;
    prune(semaphore, &semaphore->signals);
    prune(semaphore, &semaphore->waits);
    if (semaphore->shared || semaphore->shared_once)
        semaphore->state = SYNC_NOT_KNOWN;
    else if (semaphore->state == SYNC_PENDING && semaphore->by.in && sync_is_over(&semaphore->by))
        semaphore->state = SYNC_SIGNALED;
    return semaphore;
}

const struct sync_event *sync_event(struct sync *s, uint64_t index)
{
    return lap_map_get(&s->events, index);
}

const struct sync_pool *sync_pool(struct sync *s, uint64_t index)
{
    struct sync_pool *pool = lap_map_get(&s->pools, index);

    if (pool)
        (void)make_queries(s, pool);
    return pool;
}

const struct sync_queue *sync_queue(struct sync *s, uint64_t index)
{
    return lap_map_get(&s->queues, index);
}
