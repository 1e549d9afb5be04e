/* SPDX-License-Identifier: MIT */
/*
 * The synchronization of work: the packets that each packet needs for it. The signal and the wait of a binary semaphore
 * both stay or neither does, and so do the acquire and the present of an image, and the signal of a fence with the
 * waits and the reset that follow. A wait for a value needs the signal that reaches it. Waits for idle stay behind all
 * remaining work.
 */
#include <stdlib.h>
#include <string.h>

#include "inspector/slice/slice_see.h"

/* ---- noting ---- */

static void note(struct slice_facts *f, enum slice_sync_kind kind, uint32_t packet, uint32_t object, uint64_t value)
{
    if (!object && kind != SLICE_SYNC_IDLE)
        return;
    if (!slice_make_room(f, &f->order.syncs, sizeof *f->order.syncs, &f->order.sync_capacity, f->order.sync_count + 1))
        return;
    f->order.syncs[f->order.sync_count++] =
        (struct slice_sync){.value = value, .packet = packet, .object = object, .kind = (uint8_t)kind};
}

static void note_semaphore(struct slice_facts *f, bool wait, uint32_t packet, VkSemaphore semaphore, uint64_t value)
{
    uint32_t object = OBJECT(f, VkSemaphore, semaphore);
    bool timeline = f->objects[object].timeline;

    note(f, wait ? (timeline ? SLICE_SYNC_REACH : SLICE_SYNC_CONSUME) : (timeline ? SLICE_SYNC_RAISE : SLICE_SYNC_GIVE),
         packet, object, value);
}

static void note_fence(struct slice_facts *f, enum slice_sync_kind kind, uint32_t packet, VkFence fence)
{
    note(f, kind, packet, OBJECT(f, VkFence, fence), 0);
}

static uint64_t value_of(const uint64_t *values, uint32_t count, uint32_t i)
{
    return values && i < count ? values[i] : 0;
}

static void submit1(struct slice_facts *f, const VkSubmitInfo *info, uint32_t packet)
{
    const VkTimelineSemaphoreSubmitInfo *values = NULL;

    for (const VkBaseInStructure *c = info->pNext; c; c = c->pNext)
        if (c->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
            values = (const void *)c;
    for (uint32_t i = 0; info->pWaitSemaphores && i < info->waitSemaphoreCount; i++)
        note_semaphore(f, true, packet, info->pWaitSemaphores[i],
                       values ? value_of(values->pWaitSemaphoreValues, values->waitSemaphoreValueCount, i) : 0);
    for (uint32_t i = 0; info->pSignalSemaphores && i < info->signalSemaphoreCount; i++)
        note_semaphore(f, false, packet, info->pSignalSemaphores[i],
                       values ? value_of(values->pSignalSemaphoreValues, values->signalSemaphoreValueCount, i) : 0);
}

static void submit2(struct slice_facts *f, const VkSubmitInfo2 *info, uint32_t packet)
{
    for (uint32_t i = 0; info->pWaitSemaphoreInfos && i < info->waitSemaphoreInfoCount; i++)
        note_semaphore(f, true, packet, info->pWaitSemaphoreInfos[i].semaphore, info->pWaitSemaphoreInfos[i].value);
    for (uint32_t i = 0; info->pSignalSemaphoreInfos && i < info->signalSemaphoreInfoCount; i++)
        note_semaphore(f, false, packet, info->pSignalSemaphoreInfos[i].semaphore,
                       info->pSignalSemaphoreInfos[i].value);
}

static void acquire(struct slice_facts *f, VkSwapchainKHR swapchain, const uint32_t *image, VkSemaphore semaphore,
                    VkFence fence, uint32_t packet)
{
    uint32_t object = OBJECT(f, VkSwapchainKHR, swapchain);
    struct slice_run images = f->objects[object].refs;

    if (object && image && *image < images.count)
        note(f, SLICE_SYNC_GIVE, packet, f->ids.at[images.from + *image], 0);
    note_semaphore(f, false, packet, semaphore, 0);
    note_fence(f, SLICE_SYNC_SIGNAL, packet, fence);
}

static void present(struct slice_facts *f, const VkPresentInfoKHR *info, uint32_t packet)
{
    for (uint32_t i = 0; info && info->pWaitSemaphores && i < info->waitSemaphoreCount; i++)
        note_semaphore(f, true, packet, info->pWaitSemaphores[i], 0);
    for (uint32_t i = 0; info && info->pSwapchains && info->pImageIndices && i < info->swapchainCount; i++) {
        uint32_t swapchain = OBJECT(f, VkSwapchainKHR, info->pSwapchains[i]);
        struct slice_run images = f->objects[swapchain].refs;
        note(f, SLICE_SYNC_SHOW, packet, swapchain, 0);
        if (swapchain && info->pImageIndices[i] < images.count)
            note(f, SLICE_SYNC_CONSUME, packet, f->ids.at[images.from + info->pImageIndices[i]], 0);
    }
    /* Fences that its chain names. */
    for (size_t i = 0; i < f->now.names.count; i++)
        if (f->objects[f->now.names.at[i]].type == GEN_HANDLE_VkFence)
            note(f, SLICE_SYNC_SIGNAL, packet, f->now.names.at[i], 0);
}

static void note_work(struct slice_facts *f, VkQueue queue, VkFence fence, uint32_t packet)
{
    note_fence(f, SLICE_SYNC_SIGNAL, packet, fence);
    note(f, SLICE_SYNC_IDLE, packet, 0, 0);
    note(f, SLICE_SYNC_WORK, packet, OBJECT(f, VkQueue, queue), 0);
}

#define SUBMIT(command, submit)                                                                                        \
    case GEN_##command: {                                                                                              \
        const struct gen_args_##command *a = call->args;                                                               \
        for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)                                                   \
            submit(f, &a->pSubmits[i], packet);                                                                        \
        note_work(f, a->queue, a->fence, packet);                                                                      \
        return true;                                                                                                   \
    }
#define SHOWN(command)                                                                                                 \
    case GEN_##command:                                                                                                \
        note(f, SLICE_SYNC_SHOWN, packet,                                                                              \
             OBJECT(f, VkSwapchainKHR, ((const struct gen_args_##command *)call->args)->swapchain), 0);                \
        return true

/* False: the packet stays in any case. */
bool slice_note_sync(struct slice_facts *f, const struct trace_call *call, uint32_t packet)
{
    switch (call->command) {
        SUBMIT(vkQueueSubmit, submit1)
        SUBMIT(vkQueueSubmit2, submit2)
    case GEN_vkQueueBindSparse: {
        const struct gen_args_vkQueueBindSparse *a = call->args;
        for (uint32_t i = 0; a->pBindInfo && i < a->bindInfoCount; i++) {
            const VkBindSparseInfo *info = &a->pBindInfo[i];
            VkSubmitInfo as = {.pNext = info->pNext,
                               .waitSemaphoreCount = info->waitSemaphoreCount,
                               .pWaitSemaphores = info->pWaitSemaphores,
                               .signalSemaphoreCount = info->signalSemaphoreCount,
                               .pSignalSemaphores = info->pSignalSemaphores};
            submit1(f, &as, packet);
        }
        note_work(f, a->queue, a->fence, packet);
        return false;
    }
    case GEN_vkAcquireNextImageKHR: {
        const struct gen_args_vkAcquireNextImageKHR *a = call->args;
        acquire(f, a->swapchain, a->pImageIndex, a->semaphore, a->fence, packet);
        return true;
    }
    case GEN_vkAcquireNextImage2KHR: {
        const struct gen_args_vkAcquireNextImage2KHR *a = call->args;
        if (a->pAcquireInfo)
            acquire(f, a->pAcquireInfo->swapchain, a->pImageIndex, a->pAcquireInfo->semaphore, a->pAcquireInfo->fence,
                    packet);
        return true;
    }
    case GEN_vkQueuePresentKHR:
        present(f, ((const struct gen_args_vkQueuePresentKHR *)call->args)->pPresentInfo, packet);
        note(f, SLICE_SYNC_IDLE, packet, 0, 0);
        return true;
    case GEN_vkWaitForFences: {
        const struct gen_args_vkWaitForFences *a = call->args;
        for (uint32_t i = 0; a->pFences && i < a->fenceCount; i++)
            note_fence(f, SLICE_SYNC_SEE, packet, a->pFences[i]);
        return true;
    }
    case GEN_vkResetFences: {
        const struct gen_args_vkResetFences *a = call->args;
        for (uint32_t i = 0; a->pFences && i < a->fenceCount; i++)
            note_fence(f, SLICE_SYNC_RESET, packet, a->pFences[i]);
        return true;
    }
    case GEN_vkGetFenceStatus:
        note_fence(f, SLICE_SYNC_SEE, packet, ((const struct gen_args_vkGetFenceStatus *)call->args)->fence);
        return true;
    case GEN_vkWaitSemaphores: {
        const VkSemaphoreWaitInfo *info = ((const struct gen_args_vkWaitSemaphores *)call->args)->pWaitInfo;
        for (uint32_t i = 0; info && info->pSemaphores && i < info->semaphoreCount; i++)
            note(f, SLICE_SYNC_REACHED, packet, OBJECT(f, VkSemaphore, info->pSemaphores[i]),
                 value_of(info->pValues, info->semaphoreCount, i));
        return true;
    }
    case GEN_vkGetSemaphoreCounterValue: {
        const struct gen_args_vkGetSemaphoreCounterValue *a = call->args;
        note(f, SLICE_SYNC_REACHED, packet, OBJECT(f, VkSemaphore, a->semaphore), a->pValue ? *a->pValue : 0);
        return true;
    }
    case GEN_vkSignalSemaphore: {
        const VkSemaphoreSignalInfo *info = ((const struct gen_args_vkSignalSemaphore *)call->args)->pSignalInfo;
        if (info)
            note(f, SLICE_SYNC_RAISE, packet, OBJECT(f, VkSemaphore, info->semaphore), info->value);
        return true;
    }
        SHOWN(vkWaitForPresentKHR);
#ifdef VK_KHR_present_wait2
        SHOWN(vkWaitForPresent2KHR);
#endif
    case GEN_vkQueueWaitIdle:
    case GEN_vkDeviceWaitIdle:
        note(f, SLICE_SYNC_IDLE, packet, 0, 1);
        return true;
    case GEN_lapilliExportSync:
    case GEN_lapilliImportSync:
    case GEN_lapilliSeenSync:
        for (size_t i = 0; i < f->now.names.count; i++)
            f->objects[f->now.names.at[i]].chained = true;
        return false;
    default:
        return false;
    }
}

/* ---- needs between packets ---- */

struct last { /* of an object */
    uint32_t signal, reset;
};

static void need(struct slice_facts *f, uint32_t packet, uint32_t needed)
{
    if (!packet || !needed || packet == needed)
        return;
    if (!slice_make_room(f, &f->order.needs, sizeof *f->order.needs, &f->order.need_capacity, f->order.need_count + 1))
        return;
    f->order.needs[f->order.need_count++] = (struct slice_need){packet, needed};
}

static void need_both(struct slice_facts *f, uint32_t a, uint32_t b)
{
    need(f, a, b);
    need(f, b, a);
}

static void join_sync(struct slice_facts *f, const struct slice_sync *sync, struct last *last)
{
    f->packets[sync->packet].stays |= f->objects[sync->object].chained;
    switch ((enum slice_sync_kind)sync->kind) {
    case SLICE_SYNC_GIVE:
        last->signal = sync->packet;
        break;
    case SLICE_SYNC_CONSUME:
        need_both(f, sync->packet, last->signal);
        last->signal = 0;
        break;
    case SLICE_SYNC_SIGNAL:
        need(f, sync->packet, last->reset);
        last->signal = sync->packet;
        break;
    case SLICE_SYNC_SEE:
        need_both(f, sync->packet, last->signal);
        f->packets[last->signal].seen = true;
        break;
    case SLICE_SYNC_RESET:
        need(f, last->signal, sync->packet);
        last->signal = 0;
        last->reset = sync->packet;
        break;
    case SLICE_SYNC_SHOW:
        last->signal = sync->packet;
        break;
    case SLICE_SYNC_SHOWN:
        need(f, sync->packet, last->signal);
        break;
    default:
        break;
    }
}

static int compare_values(const void *a, const void *b)
{
    const struct slice_sync *x = a, *y = b;
    return x->object != y->object ? SLICE_ORDER(x->object, y->object)
           : x->value != y->value ? SLICE_ORDER(x->value, y->value)
                                  : SLICE_ORDER(x->packet, y->packet);
}

uint32_t slice_first_with(const struct slice_sync *syncs, size_t count, uint32_t object, uint64_t value)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (syncs[middle].object < object || (syncs[middle].object == object && syncs[middle].value < value))
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && syncs[low].object == object ? syncs[low].packet : 0;
}

struct slice_sync *slice_sync_of_kind(const struct slice_facts *f, enum slice_sync_kind kind, size_t *out_count)
{
    struct slice_sync *found = calloc(f->order.sync_count + 1, sizeof *found);

    *out_count = 0;
    for (size_t i = 0; found && i < f->order.sync_count; i++)
        if (f->order.syncs[i].kind == (uint8_t)kind)
            found[(*out_count)++] = f->order.syncs[i];
    if (found)
        qsort(found, *out_count, sizeof *found, compare_values);
    else
        slice_no_memory(f);
    return found;
}

/* A signal stays with the host's first wait for it, since the program went on after that. */
static void join_values(struct slice_facts *f)
{
    size_t raise_count, reached_count;
    struct slice_sync *raises = slice_sync_of_kind(f, SLICE_SYNC_RAISE, &raise_count),
                      *reached = slice_sync_of_kind(f, SLICE_SYNC_REACHED, &reached_count);

    for (size_t i = 0; raises && reached && i < f->order.sync_count; i++) {
        const struct slice_sync *sync = &f->order.syncs[i];
        if (sync->kind == SLICE_SYNC_REACH || sync->kind == SLICE_SYNC_REACHED) {
            uint32_t signal = slice_first_with(raises, raise_count, sync->object, sync->value);
            need(f, sync->packet, signal);
            f->packets[sync->packet].unreached |= !signal && sync->value > f->objects[sync->object].bytes;
        } else if (sync->kind == SLICE_SYNC_RAISE)
            need(f, sync->packet, slice_first_with(reached, reached_count, sync->object, sync->value));
    }
    free(raises);
    free(reached);
}

/* Work stays with the next wait for idle. Where no packet shows when it is complete, the program may know it from later
 * work in the queue. */
static void join_idle(struct slice_facts *f, struct last *last)
{
    uint32_t wait = 0;

    for (size_t i = f->order.sync_count; i-- > 0;) {
        const struct slice_sync *sync = &f->order.syncs[i];
        struct last *of_queue = &last[sync->object];
        if (sync->kind == SLICE_SYNC_WORK && !f->packets[sync->packet].seen)
            need(f, sync->packet, of_queue->signal);
        else if (sync->kind == SLICE_SYNC_WORK)
            of_queue->signal = sync->packet;
        if (sync->kind != SLICE_SYNC_IDLE)
            continue;
        if (sync->value)
            wait = sync->packet;
        else
            need(f, sync->packet, wait);
    }
}

static int compare_needs(const void *a, const void *b)
{
    const struct slice_need *x = a, *y = b;
    return x->packet != y->packet ? SLICE_ORDER(x->packet, y->packet) : SLICE_ORDER(x->needed, y->needed);
}

void slice_join_syncs(struct slice_facts *f)
{
    struct last *last = calloc(f->object_count, sizeof *last);

    if (!last) {
        slice_no_memory(f);
        return;
    }
    for (size_t i = 0; i < f->order.sync_count; i++)
        join_sync(f, &f->order.syncs[i], &last[f->order.syncs[i].object]);
    join_values(f);
    join_idle(f, last);
    free(last);
    if (f->order.need_count)
        qsort(f->order.needs, f->order.need_count, sizeof *f->order.needs, compare_needs);
}

/* The first need of a packet; they end at the count. */
size_t slice_needs_of(const struct slice_facts *f, uint32_t packet)
{
    size_t low = 0, high = f->order.need_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->order.needs[middle].packet < packet)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
