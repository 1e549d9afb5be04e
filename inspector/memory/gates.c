/* SPDX-License-Identifier: MIT */
#include "inspector/memory/gates.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/chain.h"

static enum lap_status put(struct gates *g, struct lap_map *map, uint64_t object, uint64_t value)
{
    uint64_t *at = lap_map_get(map, object);

    if (!at) {
        at = lap_arena_alloc(&g->arena, sizeof *at, 8);
        if (!at || lap_map_put(map, object, at, NULL) != LAP_OK)
            return lap_no_memory("what work waits for");
    }
    *at = value;
    return LAP_OK;
}

/* Work behind the gates runs: what it did to events counts now, or, where gates are left, what makes others wait. */
static void change_events(struct gates *g)
{
    for (size_t i = 0; i < g->late_count; i++) {
        uint64_t *set = lap_map_get(&g->events, g->late[i].object);
        if (set && (!g->late[i].value || !g->closed_count))
            *set = g->late[i].value;
    }
    if (!g->closed_count)
        g->late_count = 0;
}

static void open_gates(struct gates *g, bool is_event, uint64_t object, uint64_t value)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->closed_count; i++) {
        const struct gate *gate = &g->closed[i];
        if (gate->is_event == is_event && gate->object == object && gate->value <= value)
            g->opened++;
        else
            g->closed[kept++] = *gate;
    }
    if (g->closed_count == kept)
        return;
    g->closed_count = kept;
    change_events(g);
}

static enum lap_status close_gate(struct gates *g, bool is_event, uint64_t object, uint64_t value)
{
    for (size_t i = 0; i < g->closed_count; i++)
        if (g->closed[i].is_event == is_event && g->closed[i].object == object && g->closed[i].value == value)
            return LAP_OK;
    if (!lap_array_grow(&g->closed, sizeof *g->closed, &g->closed_capacity, g->closed_count + 1))
        return lap_no_memory("what work waits for");
    g->closed[g->closed_count++] = (struct gate){is_event, object, value, ++g->gate_count};
    return LAP_OK;
}

/* ---- semaphores ---- */

static enum lap_status see_semaphore(struct gates *g, const struct gen_args_vkCreateSemaphore *args)
{
    const VkSemaphoreTypeCreateInfo *type =
        args->pCreateInfo ? lap_chain_find(args->pCreateInfo->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
                          : NULL;

    if (!type || type->semaphoreType != VK_SEMAPHORE_TYPE_TIMELINE || !args->pSemaphore || !*args->pSemaphore)
        return LAP_OK;
    return put(g, &g->semaphores, gen_u64_VkSemaphore(*args->pSemaphore), type->initialValue);
}

/* Nothing where it is no timeline. */
static enum lap_status wait_for(struct gates *g, VkSemaphore semaphore, uint64_t value)
{
    const uint64_t *now = lap_map_get(&g->semaphores, gen_u64_VkSemaphore(semaphore));

    for (size_t i = g->waiting_count; i < g->signal_count; i++) /* of batches in front of it */
        if (g->signals[i].semaphore == gen_u64_VkSemaphore(semaphore) && g->signals[i].value >= value)
            return LAP_OK;
    return now && *now < value ? close_gate(g, false, gen_u64_VkSemaphore(semaphore), value) : LAP_OK;
}

static void signal_to(struct gates *g, uint64_t semaphore, uint64_t value)
{
    uint64_t *now = lap_map_get(&g->semaphores, semaphore);

    if (!now || *now >= value)
        return;
    *now = value;
    open_gates(g, false, semaphore, value);
}

static enum lap_status signal_later(struct gates *g, VkSemaphore semaphore, uint64_t value)
{
    if (!lap_array_grow(&g->signals, sizeof *g->signals, &g->signal_capacity, g->signal_count + 1))
        return lap_no_memory("what work waits for");
    g->signals[g->signal_count++] = (struct gate_signal){.semaphore = gen_u64_VkSemaphore(semaphore), .value = value};
    return LAP_OK;
}

static bool is_closed(const struct gates *g, uint64_t number)
{
    for (size_t i = 0; i < g->closed_count; i++)
        if (g->closed[i].number == number)
            return true;
    return false;
}

static bool waits(const struct gates *g, const struct gate_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_closed(g, list->numbers[i]))
            return true;
    return false;
}

/* Signals of work that waits no more, which may let other work go on. */
static void fire(struct gates *g)
{
    for (size_t i = 0; i < g->waiting_count;) {
        struct gate_signal signal = g->signals[i];
        if (waits(g, &signal.behind)) {
            i++;
            continue;
        }
        memmove(&g->signals[i], &g->signals[i + 1], (--g->signal_count - i) * sizeof *g->signals);
        g->waiting_count--;
        signal_to(g, signal.semaphore, signal.value);
        i = 0;
    }
}

/* The closed gates that the last submit waits for: those of the submit before it in its queue, and its own. */
static bool find_gates(struct gates *g, struct gate_list *out)
{
    const struct gate_list *before = lap_map_get(&g->queues, g->queue);
    struct gate_list *list = lap_arena_zalloc(&g->arena, 1, sizeof *list, 8);

    *out = (struct gate_list){.count = 0};
    out->numbers = lap_arena_alloc(&g->arena, (g->closed_count + 1) * sizeof *out->numbers, 8);
    if (!out->numbers || !list)
        return false;
    for (size_t i = 0; i < g->closed_count; i++) {
        uint64_t number = g->closed[i].number;
        bool is_before = false;
        for (size_t k = 0; before && k < before->count; k++)
            is_before |= before->numbers[k] == number;
        if (is_before || number >= g->first_gate)
            out->numbers[out->count++] = number;
    }
    *list = *out;
    return lap_map_put(&g->queues, g->queue, list, NULL) == LAP_OK;
}

enum lap_status gates_settle(struct gates *g)
{
    struct gate_list behind;

    if (!g->queue) { /* no submit */
        fire(g);
        return LAP_OK;
    }
    if (g->closed_count) {
        if (!find_gates(g, &behind))
            return lap_no_memory("what work waits for");
        for (size_t i = g->waiting_count; i < g->signal_count; i++)
            g->signals[i].behind = behind;
    }
    g->waiting_count = g->signal_count;
    g->queue = 0;
    fire(g);
    return LAP_OK;
}

static enum lap_status see_batch(struct gates *g, const VkSubmitInfo *info)
{
    const VkTimelineSemaphoreSubmitInfo *values =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    enum lap_status status = LAP_OK;

    if (!values)
        return LAP_OK;
    for (uint32_t i = 0; info->pWaitSemaphores && values->pWaitSemaphoreValues && i < info->waitSemaphoreCount &&
                         i < values->waitSemaphoreValueCount && status == LAP_OK;
         i++)
        status = wait_for(g, info->pWaitSemaphores[i], values->pWaitSemaphoreValues[i]);
    for (uint32_t i = 0; info->pSignalSemaphores && values->pSignalSemaphoreValues && i < info->signalSemaphoreCount &&
                         i < values->signalSemaphoreValueCount && status == LAP_OK;
         i++)
        status = signal_later(g, info->pSignalSemaphores[i], values->pSignalSemaphoreValues[i]);
    return status;
}

static enum lap_status see_batch2(struct gates *g, const VkSubmitInfo2 *info)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; info->pWaitSemaphoreInfos && i < info->waitSemaphoreInfoCount && status == LAP_OK; i++)
        status = wait_for(g, info->pWaitSemaphoreInfos[i].semaphore, info->pWaitSemaphoreInfos[i].value);
    for (uint32_t i = 0; info->pSignalSemaphoreInfos && i < info->signalSemaphoreInfoCount && status == LAP_OK; i++)
        status = signal_later(g, info->pSignalSemaphoreInfos[i].semaphore, info->pSignalSemaphoreInfos[i].value);
    return status;
}

/* ---- events ---- */

enum lap_status gates_wait(struct gates *g, uint64_t event)
{
    const uint64_t *set = lap_map_get(&g->events, event);

    for (size_t i = g->late_count; i-- > 0;) /* work behind the same gates may set it */
        if (g->late[i].object == event)
            return g->late[i].value ? LAP_OK : close_gate(g, true, event, 0);
    return set && *set ? LAP_OK : close_gate(g, true, event, 0);
}

enum lap_status gates_set(struct gates *g, uint64_t event, bool set)
{
    if (g->closed_count) {
        if (!lap_array_grow(&g->late, sizeof *g->late, &g->late_capacity, g->late_count + 1))
            return lap_no_memory("what work waits for");
        g->late[g->late_count++] = (struct gate){true, event, set, 0};
        return lap_map_get(&g->events, event) ? LAP_OK : put(g, &g->events, event, 0);
    }
    return put(g, &g->events, event, set);
}

static enum lap_status set_by_host(struct gates *g, VkEvent event, bool set)
{
    enum lap_status status = put(g, &g->events, gen_u64_VkEvent(event), set);

    if (set)
        open_gates(g, true, gen_u64_VkEvent(event), 0);
    return status;
}

/* ---- calls ---- */

enum lap_status gates_see(struct gates *g, const struct trace_call *call)
{
    enum lap_status status = gates_settle(g);

    if (status != LAP_OK)
        return status;
    switch (call->command) {
    case GEN_vkCreateSemaphore:
        return see_semaphore(g, call->args);
    case GEN_vkSignalSemaphore: {
        const VkSemaphoreSignalInfo *info = ((const struct gen_args_vkSignalSemaphore *)call->args)->pSignalInfo;
        if (info)
            signal_to(g, gen_u64_VkSemaphore(info->semaphore), info->value);
        return LAP_OK;
    }
    case GEN_vkSetEvent:
        return set_by_host(g, ((const struct gen_args_vkSetEvent *)call->args)->event, true);
    case GEN_vkResetEvent:
        return set_by_host(g, ((const struct gen_args_vkResetEvent *)call->args)->event, false);
    case GEN_vkQueueSubmit: {
        const struct gen_args_vkQueueSubmit *args = call->args;
        g->queue = gen_u64_VkQueue(args->queue);
        g->first_gate = g->gate_count + 1;
        for (uint32_t i = 0; args->pSubmits && i < args->submitCount && status == LAP_OK; i++)
            status = see_batch(g, &args->pSubmits[i]);
        return status;
    }
    case GEN_vkQueueSubmit2: {
        const struct gen_args_vkQueueSubmit2 *args = call->args;
        g->queue = gen_u64_VkQueue(args->queue);
        g->first_gate = g->gate_count + 1;
        for (uint32_t i = 0; args->pSubmits && i < args->submitCount && status == LAP_OK; i++)
            status = see_batch2(g, &args->pSubmits[i]);
        return status;
    }
    default:
        return LAP_OK;
    }
}

void gates_init(struct gates *g)
{
    *g = (struct gates){.closed = NULL};
    lap_map_init(&g->events);
    lap_map_init(&g->semaphores);
    lap_map_init(&g->queues);
    lap_arena_init(&g->arena, 0);
}

void gates_finish(struct gates *g)
{
    lap_map_finish(&g->events);
    lap_map_finish(&g->semaphores);
    lap_map_finish(&g->queues);
    lap_arena_finish(&g->arena);
    free(g->closed);
    free(g->late);
    free(g->signals);
}
