/* SPDX-License-Identifier: MIT */
/* external_sync_calls: calls that name semaphores and fences which the program exported or imported. */
#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/submit/external_sync_objects.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"
#include "vulkan/block.h"
#include "vulkan/chain.h"

/* ---- submits and presents ---- */

/* A semaphore of a call, with its index in the trace, and its value if it is a timeline. */
struct mention {
    VkSemaphore *live;
    uint64_t index, *value;
};

static enum lap_status resolve_wait(struct replay *r, struct replay_device *dev, VkQueue queue, struct mention m)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSemaphore, m.index);
    struct borrowed **link = replay_external_sync_borrowed(dev, GEN_HANDLE_VkSemaphore, m.index), *b = *link;
    struct replay_semaphore_record *record;
    enum lap_status status = LAP_OK;

    if (!object)
        return LAP_OK; /* its use is refused */
    *m.live = gen_VkSemaphore(object->live);
    record = object->record;
    if (record && record->schedule.timeline) {
        if (record->from_outside && m.value && *m.value > record->schedule.submitted) {
            replay_external_sync_say_outside(r, dev);
            *m.value = 0; /* which is always signalled */
        }
    } else if (record && record->handed) {
        if (!record->pending) {
            replay_external_sync_say_outside(r, dev);
            status = replay_external_sync_signal(r, dev, VK_NULL_HANDLE, *m.live);
        }
        record->pending = false;
    }
    if (!b || status != LAP_OK)
        return status;
    if (b->fence && !r->options.blackhole)
        status = replay_wait_fence(r, b->awaited, b->fence, "a signal that was imported");
    if (b->fence && status == LAP_OK)
        status = replay_external_sync_signal(r, dev, VK_NULL_HANDLE, *m.live);
    return status == LAP_OK ? replay_external_sync_give_back_waited(r, dev, link, queue) : status;
}

static enum lap_status resolve_signal(struct replay *r, struct replay_device *dev, struct mention m)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSemaphore, m.index);
    struct replay_semaphore_record *record = object ? object->record : NULL;
    enum lap_status status = LAP_OK;

    if (!object)
        return LAP_OK;
    *m.live = gen_VkSemaphore(object->live);
    if (!record || !record->handed || record->schedule.timeline)
        return LAP_OK;
    if (record->pending) /* another object has waited for it */
        status = replay_external_sync_pass_on(r, dev, *m.live, 0, NULL, VK_NULL_HANDLE);
    record->pending = true;
    return status;
}

/* ---- decodes the current packet once more, with indices ---- */

static enum lap_status as_index(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    (void)user;
    (void)type;
    *out = index;
    return LAP_OK;
}

static enum lap_status decode_again(struct replay *r, struct replay_device *dev, struct lap_args *args)
{
    struct lap_dec_source source = r->source;
    struct lap_dec dec;

    lap_arena_reset(&dev->sync.handed->arena);
    source.live = NULL;
    source.handle = as_index;
    lap_dec_init(&dec, r->at.packet.body, r->at.packet.bytes, &dev->sync.handed->arena, &source);
    gen_decode_table[r->at.command](&dec, args->bytes);
    return dec.status;
}

struct list {
    uint32_t count;
    const VkSemaphore *live, *indices;
    const uint64_t *values;
    bool signals;
};

static enum lap_status resolve_list(struct replay *r, struct replay_device *dev, VkQueue queue, struct list list)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; list.live && list.indices && i < list.count && status == LAP_OK; i++) {
        struct mention m = {(VkSemaphore *)(uintptr_t)&list.live[i], gen_u64_VkSemaphore(list.indices[i]),
                            list.values ? (uint64_t *)(uintptr_t)&list.values[i] : NULL};
        status = list.signals ? resolve_signal(r, dev, m) : resolve_wait(r, dev, queue, m);
    }
    return status;
}

static enum lap_status resolve_old(struct replay *r, struct replay_device *dev,
                                   const struct gen_args_vkQueueSubmit *args,
                                   const struct gen_args_vkQueueSubmit *again)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->submitCount && status == LAP_OK; i++) {
        const VkSubmitInfo *info = &args->pSubmits[i], *named = &again->pSubmits[i];
        const VkTimelineSemaphoreSubmitInfo *values =
            lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        bool all = values && values->waitSemaphoreValueCount >= info->waitSemaphoreCount;
        status = resolve_list(r, dev, args->queue,
                              (struct list){info->waitSemaphoreCount, info->pWaitSemaphores, named->pWaitSemaphores,
                                            all ? values->pWaitSemaphoreValues : NULL, false});
        if (status == LAP_OK)
            status = resolve_list(r, dev, args->queue,
                                  (struct list){info->signalSemaphoreCount, info->pSignalSemaphores,
                                                named->pSignalSemaphores, NULL, true});
    }
    return status;
}

static enum lap_status resolve_new(struct replay *r, struct replay_device *dev,
                                   const struct gen_args_vkQueueSubmit2 *args,
                                   const struct gen_args_vkQueueSubmit2 *again)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->submitCount && status == LAP_OK; i++) {
        const VkSubmitInfo2 *info = &args->pSubmits[i], *named = &again->pSubmits[i];
        VkSemaphoreSubmitInfo *waits = (VkSemaphoreSubmitInfo *)(uintptr_t)info->pWaitSemaphoreInfos;
        VkSemaphoreSubmitInfo *signals = (VkSemaphoreSubmitInfo *)(uintptr_t)info->pSignalSemaphoreInfos;
        for (uint32_t j = 0; waits && j < info->waitSemaphoreInfoCount && status == LAP_OK; j++)
            status = resolve_wait(r, dev, args->queue,
                                  (struct mention){&waits[j].semaphore,
                                                   gen_u64_VkSemaphore(named->pWaitSemaphoreInfos[j].semaphore),
                                                   &waits[j].value});
        for (uint32_t j = 0; signals && j < info->signalSemaphoreInfoCount && status == LAP_OK; j++)
            status = resolve_signal(r, dev,
                                    (struct mention){&signals[j].semaphore,
                                                     gen_u64_VkSemaphore(named->pSignalSemaphoreInfos[j].semaphore),
                                                     &signals[j].value});
    }
    return status;
}

static enum lap_status resolve_binds(struct replay *r, struct replay_device *dev,
                                     const struct gen_args_vkQueueBindSparse *args,
                                     const struct gen_args_vkQueueBindSparse *again)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->bindInfoCount && i < again->bindInfoCount && status == LAP_OK; i++) {
        const VkBindSparseInfo *info = &args->pBindInfo[i], *named = &again->pBindInfo[i];
        status = resolve_list(
            r, dev, args->queue,
            (struct list){info->waitSemaphoreCount, info->pWaitSemaphores, named->pWaitSemaphores, NULL, false});
        if (status == LAP_OK)
            status = resolve_list(r, dev, args->queue,
                                  (struct list){info->signalSemaphoreCount, info->pSignalSemaphores,
                                                named->pSignalSemaphores, NULL, true});
    }
    return status;
}

enum lap_status replay_external_sync_resolve(struct replay *r, struct replay_device *dev, uint32_t command, void *args)
{
    struct lap_args again;
    enum lap_status status = decode_again(r, dev, &again);
    const void *named = again.bytes;

    if (status != LAP_OK)
        return status;
    replay_external_sync_destroy_retired(dev);
    if (command == GEN_vkQueueSubmit)
        return resolve_old(r, dev, args, named);
    if (command == GEN_vkQueueSubmit2)
        return resolve_new(r, dev, args, named);
    if (command == GEN_vkQueueBindSparse)
        return resolve_binds(r, dev, args, named);
    const struct gen_args_vkQueuePresentKHR *present = args, *present_again = named;
    return resolve_list(r, dev, present->queue,
                        (struct list){present->pPresentInfo->waitSemaphoreCount, present->pPresentInfo->pWaitSemaphores,
                                      present_again->pPresentInfo->pWaitSemaphores, NULL, false});
}

/* ---- fences ---- */

enum lap_status replay_external_sync_await(struct replay *r, struct replay_device *dev, VkFence fence, bool *out_over)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkFence, gen_u64_VkFence(fence));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkFence, index);
    const struct replay_semaphore_record *record = object ? object->record : NULL;
    enum lap_status status = LAP_OK;

    *out_over = false;
    if (!dev->sync.handed)
        return LAP_OK;
    for (const struct borrowed *b = dev->sync.handed->borrowed; b && status == LAP_OK; b = b->next)
        if (b->type == GEN_HANDLE_VkFence && b->index == index && b->awaited)
            status = replay_wait_fence(r, b->awaited, b->fence, "a fence that was imported");
    if (status != LAP_OK || !record || !record->handed)
        return status;
    status = replay_submission_await_fences(r, dev, 1, &fence);
    *out_over = status == LAP_OK && dev->vk.GetFenceStatus(dev->live, fence) == VK_NOT_READY;
    if (*out_over)
        replay_external_sync_say_outside(r, dev);
    return status;
}

enum lap_status replay_external_sync_reset(struct replay *r, struct replay_device *dev, uint32_t count, VkFence *fences)
{
    struct lap_args again;
    const struct gen_args_vkResetFences *named = (const void *)again.bytes;
    enum lap_status status;

    if (!dev->sync.handed || !dev->sync.handed->borrowed)
        return LAP_OK;
    status = decode_again(r, dev, &again);
    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        uint64_t index = gen_u64_VkFence(named->pFences[i]);
        struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkFence, index);
        if (!object)
            continue;
        replay_external_sync_give_back(r, dev, GEN_HANDLE_VkFence, index);
        fences[i] = gen_VkFence(object->live);
    }
    return status;
}
