/* SPDX-License-Identifier: MIT */
/* vkQueueSubmit and similar commands: packets of host writes are written before the work that may read them. */
#include "layer/submit/submit.h"
#include "vulkan/chain.h"

#include "gen_layer.h"
#include "gen_renamed.h"
#include "layer/command/build_inputs.h"
#include "layer/command/image_state.h"
#include "layer/core/unseen.h"
#include "layer/submit/external_sync.h"
#include "layer/submit/full_checks.h"
#include "layer/submit/host_gate.h"
#include "layer/submit/host_update.h"
#include "layer/submit/sparse.h"
#include "layer/submit/submission.h"

void hook_after_CreateSemaphore(struct layer_device *dev, VkDevice device, const VkSemaphoreCreateInfo *pCreateInfo,
                                const VkAllocationCallbacks *pAllocator, VkSemaphore *pSemaphore, VkResult result)
{
    struct layer_semaphore *record = LAYER_GET(dev, VkSemaphore, *pSemaphore);
    const VkSemaphoreTypeCreateInfo *type =
        lap_chain_find(pCreateInfo->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    if (!record || !type || type->semaphoreType != VK_SEMAPHORE_TYPE_TIMELINE)
        return;
    record->timeline = true;
    record->open = record->initial = type->initialValue;
    atomic_store_explicit(&record->known, type->initialValue, memory_order_relaxed);
}

/* One vkQueueSubmit under way. */
struct gathering {
    struct layer_device *dev;
    VkQueue queue;
    uint64_t first_serial, last_serial;
    struct layer_submission *submission; /* of the batch; NULL: its end need not be known */
    bool gated;                          /* the batch can't begin yet: host_gate.h */
    bool lets_go;                        /* gated work may wait for some of its signals */
    bool failed;
    bool ends_frame; /* the program says so */
};

static void gather_begin(struct gathering *g, struct layer_device *dev, VkQueue queue)
{
    *g = (struct gathering){.dev = dev, .queue = queue};
    pthread_mutex_lock(&dev->submit.mutex);
    g->first_serial = dev->submit.serial + 1;
    lap_touched_reset(&dev->submit.touched);
}

/* Makes sure that the batch, or its current part, has a record. */
static void need_record(struct gathering *g)
{
    if (!g->submission)
        g->submission = layer_submission_begin(g->dev, g->queue);
    if (g->submission && g->gated)
        layer_host_gate_shut(g->dev, g->submission);
}

/* Begins a batch, or the part of it after a wait for an event. */
static void begin_record(struct gathering *g)
{
    g->dev->submit.serial++;
    g->submission = NULL;
    g->dev->submit.progress_queries.count = 0;
    layer_touched_reset(&g->dev->submit.batch);
}

static void batch_begin(struct gathering *g)
{
    begin_record(g);
    g->gated = layer_host_gate_on_queue(g->dev, g->queue);
    if (g->gated || g->dev->submit.first)
        need_record(g);
}

static bool overlaps(const struct lap_touched *list, const struct lap_touched_range *range)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->ranges[i].object == range->object && list->ranges[i].offset < range->offset + range->bytes &&
            range->offset < list->ranges[i].offset + list->ranges[i].bytes)
            return true;
    return false;
}

/* Whether unwritten bytes of an object are the same in every run: host writes and the zeroes of new memory are;
 * indefinite results of earlier work and contents of other objects are not. */
static bool is_steady(struct lap_memobj *object)
{
    const struct layer_image *image = lap_memobj_user(object);
    if (layer.options.verify_all && image->object.type == GEN_HANDLE_VkBuffer) {
        struct lap_memobj_place place = lap_memobj_place(object);
        /* For mapped memory, a replay also gets the contents that other objects left. */
        return (place.mem && lap_mem_mapped(place.mem)) ||
               (((const struct layer_buffer *)image)->cleared && !lap_memobj_shares(object));
    }
    return image->object.type != GEN_HANDLE_VkImage ||
           (!image->loose && !(image->info.flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT) && !lap_memobj_shares(object));
}

static bool is_checked(const struct layer_touched *batch, const struct lap_touched_range *range)
{
    return !overlaps(&batch->unchecked, range) && (!overlaps(&batch->partly, range) || is_steady(range->object));
}

/* From now on these images have texels that differ from run to run. */
static void loosen(const struct lap_touched *unchecked)
{
    for (size_t i = 0; i < unchecked->count; i++) {
        struct layer_image *image = lap_memobj_user(unchecked->ranges[i].object);
        if (image->object.type == GEN_HANDLE_VkImage)
            image->loose = true;
    }
}

static layer_resource resource_of(const struct lap_memobj *object)
{
    const struct lap_object *record = lap_memobj_user(object);
    return record->type == GEN_HANDLE_VkBuffer ? layer_resource_of_buffer((const struct layer_buffer *)record)
                                               : layer_resource_of_image((const struct layer_image *)record);
}

/* Gated work writes nothing before it begins, so pending host writes there need not wait for it. */
static bool append_as_read(struct lap_touched *touched, const struct lap_touched *gated)
{
    bool ok = true;
    touched->everything |= gated->everything;
    for (size_t i = 0; i < gated->count && ok; i++)
        ok = lap_touched_add(touched, gated->ranges[i].object, gated->ranges[i].offset, gated->ranges[i].bytes, false);
    return ok;
}

/* After the commands. Most work writes nothing that the host can see; if no other work is outstanding, it needs no
 * record. */
static void end_record(struct gathering *g)
{
    struct layer_device *dev = g->dev;
    struct lap_touched *batch = &dev->submit.batch.ranges;
    bool needed;

    batch->everything |= atomic_load_explicit(&dev->misses_touched, memory_order_relaxed);
    needed = batch->everything || layer.options.verify_all;
    layer_touched_seal(&dev->submit.batch);
    loosen(&dev->submit.batch.unchecked);
    for (size_t i = 0; i < batch->count && !needed; i++)
        needed = batch->ranges[i].written;
    if (needed)
        need_record(g);
    if (g->submission)
        g->submission->anywhere = g->submission->unsearched = batch->everything;
    if (batch->everything)
        atomic_store_explicit(&dev->submit.stored_anywhere, true, memory_order_relaxed);
    if (g->submission &&
        !layer_progress_queries_append(&g->submission->progress_queries, &dev->submit.progress_queries))
        g->failed = true;
    for (size_t i = 0; g->submission && i < batch->count; i++) {
        const struct lap_touched_range *range = &batch->ranges[i];
        struct layer_written written = {.offset = range->offset, .bytes = range->bytes};
        if (!range->written)
            continue;
        written.resource = resource_of(range->object);
        written.check = layer.options.verify && is_checked(&dev->submit.batch, range);
        if (!layer_submission_wrote(g->submission, written))
            g->failed = true;
    }
    if (!(g->gated ? append_as_read(&dev->submit.touched, batch) : lap_touched_append(&dev->submit.touched, batch)))
        g->failed = true;
}

/* Later commands wait for an event that the host has not set yet; earlier ones do not. */
static void wait_for_host(struct gathering *g, struct layer_host_gate gate)
{
    const struct lap_touched *batch = &g->dev->submit.batch.ranges;
    if (batch->count || batch->everything || g->dev->submit.progress_queries.count) {
        end_record(g);
        begin_record(g);
    }
    g->gated = true;
    need_record(g);
    if (g->submission && !layer_submission_gate(g->submission, gate))
        g->failed = true;
}

/* Of a part: copies of results that a replay can't have are told once. Results that the part itself makes count no
 * more. */
static bool look_for_lost_queries(struct layer_device *dev, const struct layer_cmdbuf *cb)
{
    bool good = true;

    for (uint32_t i = 0; i < cb->copied_queries.count && !dev->submit.said_lost; i++)
        if (layer_progress_queries_any(&dev->submit.lost_queries, cb->copied_queries.items[i])) {
            dev->submit.said_lost = true;
            layer_note_unseen_of_part(LAP_UNSEEN_QUERIES);
        }
    for (uint32_t i = 0; i <= cb->part_count; i++) {
        const struct layer_progress_queries *made = layer_cmdbuf_part_at(cb, i).progress_queries;
        for (uint32_t j = 0; j < made->count; j++)
            good &= layer_progress_queries_remove(&dev->submit.lost_queries, made->items[j]);
    }
    return good;
}

static void batch_commands(struct gathering *g, VkCommandBuffer handle)
{
    const struct layer_cmdbuf *cb = layer_cmdbuf_of(handle);
    struct layer_host_gate gate;

    for (uint32_t i = 0; cb && i <= cb->part_count; i++) {
        struct layer_cmdbuf_part_view part = layer_cmdbuf_part_at(cb, i);
        for (uint32_t j = 0; j < part.events->count; j++)
            if (layer_host_gate_step(g->dev, &part.events->items[j], &gate))
                wait_for_host(g, gate);
        if (!layer_touch_resolve(g->dev, cb, i, g->dev->submit.serial, &g->dev->submit.batch) ||
            !layer_progress_queries_append(&g->dev->submit.progress_queries, part.progress_queries))
            g->failed = true;
    }
    if (cb && layer.options.reads_back)
        layer_image_steps_apply(g->dev, cb, layer_queue_of(g->queue)->family, g->dev->submit.serial);
    if (cb)
        layer_builds_apply(g->dev, cb);
    if (cb && g->dev->submit.lost_queries.count && !look_for_lost_queries(g->dev, cb))
        g->failed = true;
    if (!cb)
        g->failed = true;
}

/* Signals of one payload that has several names are counted with those of all such. */
static uint64_t signals_of(const struct layer_semaphore *record)
{
    return layer_semaphore_key(record) & LAYER_SHARED_BIT
               ? atomic_load_explicit(&layer.shared_signals, memory_order_relaxed)
               : record->signals;
}

struct signalled {
    uint64_t key;
    bool is;
};

static void set_same(void *user, uint64_t handle, void *record)
{
    const struct signalled *signalled = user;
    struct layer_semaphore *semaphore = record;

    (void)handle;
    if (layer_semaphore_key(semaphore) == signalled->key)
        semaphore->signalled = signalled->is;
}

/* Of a binary semaphore, and of all that share its payload. */
static void set_signalled(struct layer_device *dev, struct layer_semaphore *record, bool is)
{
    struct signalled signalled = {layer_semaphore_key(record), is};

    record->signalled = is;
    if (__builtin_expect((signalled.key & LAYER_SHARED_BIT) != 0, 0))
        lap_map_each(dev->maps[GEN_HANDLE_VkSemaphore], set_same, &signalled);
}

/* A temporarily imported payload ends with the wait. */
static void give_back(struct layer_device *dev, struct layer_semaphore *record)
{
    set_signalled(dev, record, false);
    record->work.serial = 0;
    atomic_store_explicit(&record->borrowed, 0, memory_order_relaxed);
}

/* False when the semaphore is not known. */
static bool point_of_wait(const struct gathering *g, VkSemaphore semaphore, uint64_t value, struct layer_point *out)
{
    const struct layer_semaphore *record = LAYER_GET(g->dev, VkSemaphore, semaphore);
    if (!record)
        return false;
    if (__builtin_expect(record->work.serial != 0, 0)) {
        *out =
            (struct layer_point){LAYER_POINT_WORK, (uint64_t)(uintptr_t)record->work.queue, record->work.serial, false};
        return true;
    }
    *out = (struct layer_point){.semaphore = layer_semaphore_key(record),
                                .handle = record->object.handle,
                                .value = record->timeline ? value : signals_of(record)};
    return true;
}

static void record_wait(struct gathering *g, struct layer_point point)
{
    if (g->submission && !layer_submission_wait(g->submission, point))
        g->failed = true;
}

/* In front of the batch's commands. */
static void batch_wait(struct gathering *g, VkSemaphore semaphore, uint64_t value)
{
    struct layer_point point;
    if (!point_of_wait(g, semaphore, value, &point))
        return;
    give_back(g->dev, LAYER_GET(g->dev, VkSemaphore, semaphore));
    if (layer_host_gate_is_shut(g->dev, &point)) {
        g->gated = true;
        need_record(g);
    }
    record_wait(g, point);
}

static void batch_signal(struct gathering *g, VkSemaphore semaphore, uint64_t value, bool partial)
{
    struct layer_semaphore *record = LAYER_GET(g->dev, VkSemaphore, semaphore);
    struct layer_point point = {.value = value, .partial = partial};
    if (!record)
        return;
    point.semaphore = layer_semaphore_key(record);
    point.handle = record->object.handle;
    if (!record->timeline) {
        point.value = ++record->signals;
        set_signalled(g->dev, record, true);
    }
    if (!record->timeline && __builtin_expect((point.semaphore & LAYER_SHARED_BIT) != 0, 0))
        point.value = atomic_fetch_add_explicit(&layer.shared_signals, 1, memory_order_relaxed) + 1;
    if (!g->gated) {
        layer_host_gate_signalled(g->dev, &point);
        g->lets_go = true;
    }
    if (g->submission && !layer_submission_signal(g->submission, point))
        g->failed = true;
}

static void gather_fence(struct gathering *g, VkFence fence)
{
    const struct layer_fence *record = LAYER_GET(g->dev, VkFence, fence);
    if (!record)
        return;
    if (!g->submission && g->dev->submit.first) /* a submit of nothing but a fence */
        batch_begin(g);
    if (g->submission)
        g->submission->fence = layer_fence_key(record);
}

/* Everything is known: writes the updates. Then comes the packet, and gather_end. */
static void gather_updates(struct gathering *g)
{
    if (g->failed)
        layer_stop("out of memory");
    /* As when the host signals: the released work reads host writes that came after its submit. */
    if (g->lets_go && g->dev->submit.gated_count &&
        layer_host_gate_open(g->dev, &g->dev->submit.touched) < g->first_serial)
        g->dev->submit.touched.everything = true;
    lap_touched_seal(&g->dev->submit.touched);
    if (g->dev->submit.touched.count || g->dev->submit.touched.everything)
        layer_emit_updates(g->dev, &g->dev->submit.touched);
}

/* The packet is written before the mutex is released, so packets of submits have the order of their updates. From here
 * on the device may run the work. */
static void gather_end(struct gathering *g)
{
    struct layer_device *dev = g->dev;
    bool writes = false;
    for (size_t i = 0; i < dev->submit.touched.count && !writes; i++)
        writes = dev->submit.touched.ranges[i].written;
    if (writes && dev->memtrack)
        lap_memtrack_device_busy(dev->memtrack, &dev->submit.touched, false);
    g->last_serial = dev->submit.serial;
    layer_submission_end(dev);
    pthread_mutex_unlock(&dev->submit.mutex);
}

static VkResult submitted(struct gathering *g, uint64_t ticket, VkResult result)
{
    struct layer_device *dev = g->dev;
    if (result != VK_SUCCESS) {
        if (ticket)
            layer_packet_result(&dev->tables, ticket, result);
        pthread_mutex_lock(&dev->submit.mutex);
        layer_submission_cancel(dev, g->first_serial, g->last_serial);
        pthread_mutex_unlock(&dev->submit.mutex);
    }
    return result;
}

/* The values of timeline semaphores stand in a structure of their own. */
static void batch_waits(struct gathering *g, const void *chain, uint32_t count, const VkSemaphore *semaphores)
{
    const VkTimelineSemaphoreSubmitInfo *values =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    const uint64_t *numbers = values ? values->pWaitSemaphoreValues : NULL;
    for (uint32_t i = 0; i < count; i++)
        batch_wait(g, semaphores[i], numbers && i < values->waitSemaphoreValueCount ? numbers[i] : 0);
}

static void batch_signals(struct gathering *g, const void *chain, uint32_t count, const VkSemaphore *semaphores)
{
    const VkTimelineSemaphoreSubmitInfo *values =
        lap_chain_find(chain, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    const uint64_t *numbers = values ? values->pSignalSemaphoreValues : NULL;
    for (uint32_t i = 0; i < count; i++)
        batch_signal(g, semaphores[i], numbers && i < values->signalSemaphoreValueCount ? numbers[i] : 0, false);
}

/* ---- entry points ---- */

/* One call of vkQueueSubmit, vkQueueSubmit2 or vkQueueBindSparse. */
struct submit {
    VkQueue queue;
    uint32_t count;
    const void *infos;
    VkFence fence;
};

struct submit_kind {
    enum gen_command command;
    bool runs_commands; /* otherwise it ends no frame */
    void (*gather)(struct gathering *g, const struct submit *submit, uint32_t number);
    void (*encode)(struct lap_enc *enc, const struct submit *submit);
    VkResult (*call)(struct layer_device *dev, const struct submit *submit);
    /* Right before the packet, and right behind it; NULL: nothing. */
    void (*before)(struct layer_device *dev, const struct submit *submit);
    void (*behind)(struct layer_device *dev, const struct submit *submit);
};

static VkResult capture_submit(const struct submit_kind *kind, const struct submit *submit)
{
    struct layer_device *dev = layer_device_of_VkQueue(submit->queue);
    struct gathering g;
    uint64_t ticket = 0;
    VkResult result;
    int cancel = 0;

    if (!layer_is_recording() || dev->tables.inherited)
        return kind->call(dev, submit);
    layer_external_sync_look(dev);
    layer_queues_lock(dev, &cancel);
    gather_begin(&g, dev, submit->queue);
    for (uint32_t i = 0; i < submit->count; i++) {
        batch_begin(&g);
        kind->gather(&g, submit, i);
    }
    gather_fence(&g, submit->fence);
    gather_updates(&g);
    if (kind->before)
        kind->before(dev, submit);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, kind->command, 0);
    if (enc) {
        ticket = layer_packet_ticket();
        kind->encode(enc, submit);
        layer_packet_end();
    }
    if (kind->behind)
        kind->behind(dev, submit);
    gather_end(&g);
    result = submitted(&g, ticket, kind->call(dev, submit));
    if (layer.options.verify_all && kind->runs_commands && result == VK_SUCCESS)
        layer_verify_all_submitted(dev, submit->queue);
    layer_queues_unlock(dev, cancel);
    if (kind->runs_commands)
        layer_submit_ended();
    if (kind->runs_commands && !atomic_load_explicit(&layer.has_surface, memory_order_relaxed) &&
        (g.ends_frame || !atomic_load_explicit(&layer.has_boundaries, memory_order_relaxed)))
        layer_frame_end();
    return result;
}

#ifdef VK_EXT_frame_boundary
static void look_for_boundary(struct gathering *g, const void *chain)
{
    const VkFrameBoundaryEXT *boundary = chain ? lap_chain_find(chain, VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT) : NULL;
    if (!boundary)
        return;
    atomic_store_explicit(&layer.has_boundaries, true, memory_order_relaxed);
    g->ends_frame |= (boundary->flags & VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT) != 0;
}
#else
static void look_for_boundary(struct gathering *g, const void *chain)
{
    (void)g, (void)chain;
}
#endif

static void gather_submit(struct gathering *g, const struct submit *submit, uint32_t number)
{
    const VkSubmitInfo *info = (const VkSubmitInfo *)submit->infos + number;
    look_for_boundary(g, info->pNext);
    batch_waits(g, info->pNext, info->waitSemaphoreCount, info->pWaitSemaphores);
    for (uint32_t i = 0; i < info->commandBufferCount; i++)
        batch_commands(g, info->pCommandBuffers[i]);
    end_record(g);
    batch_signals(g, info->pNext, info->signalSemaphoreCount, info->pSignalSemaphores);
}

static void encode_submit(struct lap_enc *enc, const struct submit *submit)
{
    gen_encode_vkQueueSubmit(enc, submit->queue, submit->count, submit->infos, submit->fence);
}

static VkResult call_submit(struct layer_device *dev, const struct submit *submit)
{
    return dev->vk.QueueSubmit(submit->queue, submit->count, submit->infos, submit->fence);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_QueueSubmit(VkQueue queue, uint32_t submitCount, const VkSubmitInfo *pSubmits,
                                                   VkFence fence)
{
    static const struct submit_kind kind = {GEN_vkQueueSubmit, true, gather_submit, encode_submit,
                                            call_submit,       NULL, NULL};
    return capture_submit(&kind, &(struct submit){queue, submitCount, pSubmits, fence});
}

static void gather_submit2(struct gathering *g, const struct submit *submit, uint32_t number)
{
    const VkPipelineStageFlags2 all = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT;
    const VkSubmitInfo2 *info = (const VkSubmitInfo2 *)submit->infos + number;
    look_for_boundary(g, info->pNext);
    for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++)
        batch_wait(g, info->pWaitSemaphoreInfos[i].semaphore, info->pWaitSemaphoreInfos[i].value);
    for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
        batch_commands(g, info->pCommandBufferInfos[i].commandBuffer);
    end_record(g);
    for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++)
        batch_signal(g, info->pSignalSemaphoreInfos[i].semaphore, info->pSignalSemaphoreInfos[i].value,
                     !(info->pSignalSemaphoreInfos[i].stageMask & all));
}

static void encode_submit2(struct lap_enc *enc, const struct submit *submit)
{
    gen_encode_vkQueueSubmit2(enc, submit->queue, submit->count, submit->infos, submit->fence);
}

static VkResult call_submit2(struct layer_device *dev, const struct submit *submit)
{
    return dev->vk.QueueSubmit2(submit->queue, submit->count, submit->infos, submit->fence);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_QueueSubmit2(VkQueue queue, uint32_t submitCount, const VkSubmitInfo2 *pSubmits,
                                                    VkFence fence)
{
    static const struct submit_kind kind = {
        GEN_vkQueueSubmit2, true, gather_submit2, encode_submit2, call_submit2, NULL, NULL};
    return capture_submit(&kind, &(struct submit){queue, submitCount, pSubmits, fence});
}

/* There are no updates, except for work that the signals release. */
static void gather_sparse(struct gathering *g, const struct submit *submit, uint32_t number)
{
    const VkBindSparseInfo *info = (const VkBindSparseInfo *)submit->infos + number;
    batch_waits(g, info->pNext, info->waitSemaphoreCount, info->pWaitSemaphores);
    end_record(g);
    batch_signals(g, info->pNext, info->signalSemaphoreCount, info->pSignalSemaphores);
}

static void encode_sparse(struct lap_enc *enc, const struct submit *submit)
{
    gen_encode_vkQueueBindSparse(enc, submit->queue, submit->count, submit->infos, submit->fence);
}

static VkResult call_sparse(struct layer_device *dev, const struct submit *submit)
{
    return dev->vk.QueueBindSparse(submit->queue, submit->count, submit->infos, submit->fence);
}

static void announce_sparse(struct layer_device *dev, const struct submit *submit)
{
    for (uint32_t i = 0; i < submit->count; i++)
        layer_sparse_announce(dev, (const VkBindSparseInfo *)submit->infos + i);
}

/* Later submissions use the objects with their new places, and their updates stand behind the packet. */
static void bind_sparse(struct layer_device *dev, const struct submit *submit)
{
    for (uint32_t i = 0; i < submit->count; i++)
        layer_sparse_bind(dev, (const VkBindSparseInfo *)submit->infos + i);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_QueueBindSparse(VkQueue queue, uint32_t bindInfoCount,
                                                       const VkBindSparseInfo *pBindInfo, VkFence fence)
{
    static const struct submit_kind kind = {GEN_vkQueueBindSparse, false,           gather_sparse, encode_sparse,
                                            call_sparse,           announce_sparse, bind_sparse};
    return capture_submit(&kind, &(struct submit){queue, bindInfoCount, pBindInfo, fence});
}

/* ---- presents ---- */

/* A present writes no memory and delays no later work, even if it waits. */
static void present_waits(struct gathering *g, const VkPresentInfoKHR *info, VkQueue queue)
{
    struct layer_point point;
    g->dev->submit.serial++;
    g->submission = layer_submission_begin(g->dev, queue);
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
        if (point_of_wait(g, info->pWaitSemaphores[i], 0, &point))
            record_wait(g, point);
}

/* The program may wait for a present by its id: as for fences, that is a queue of its own, named by the swapchain. */
static void number_presents(struct gathering *g, const VkPresentInfoKHR *info)
{
    uint32_t count;
    const uint64_t *ids = lap_chain_present_ids(info, &count);

    for (uint32_t i = 0; i < count && i < info->swapchainCount; i++) {
        struct layer_swapchain *record = LAYER_GET(g->dev, VkSwapchainKHR, info->pSwapchains[i]);
        if (!record || !ids[i])
            continue;
        present_waits(g, info, (VkQueue)(uintptr_t)record);
        if (!g->submission)
            continue;
        const uint32_t at = record->present_count++ % (sizeof record->presents / sizeof *record->presents);
        record->presents[at].id = ids[i];
        record->presents[at].serial = g->submission->serial;
    }
}

void layer_work_finished_present(struct layer_device *dev, VkSwapchainKHR swapchain, uint64_t id)
{
    const struct layer_swapchain *record = LAYER_GET(dev, VkSwapchainKHR, swapchain);
    struct layer_work work = {(VkQueue)(uintptr_t)record, 0};

    if (!record)
        return;
    pthread_mutex_lock(&dev->submit.mutex);
    for (uint32_t i = 0; i < sizeof record->presents / sizeof *record->presents; i++)
        if (record->presents[i].id && record->presents[i].id <= id && record->presents[i].serial > work.serial)
            work.serial = record->presents[i].serial;
    pthread_mutex_unlock(&dev->submit.mutex);
    if (work.serial)
        layer_work_finished_work(dev, work);
}

/* If the swapchain is out of date or lost, the waits still happen. A fence of the present
 * (VK_EXT_swapchain_maintenance1) is signalled after these waits, independent of other work on the queue: so it is
 * recorded on a separate queue, named by the fence. */
void layer_submit_present(struct layer_device *dev, VkQueue queue, const VkPresentInfoKHR *info)
{
    const VkSwapchainPresentFenceInfoEXT *fences =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT);
    struct gathering g = {.dev = dev, .queue = queue};
    pthread_mutex_lock(&dev->submit.mutex);
    if (dev->submit.first && info->waitSemaphoreCount) {
        present_waits(&g, info, queue);
        for (uint32_t i = 0; fences && fences->pFences && i < fences->swapchainCount; i++) {
            const struct layer_fence *record = LAYER_GET(dev, VkFence, fences->pFences[i]);
            if (!record)
                continue;
            present_waits(&g, info, (VkQueue)(uintptr_t)record);
            if (g.submission)
                g.submission->fence = layer_fence_key(record);
        }
        number_presents(&g, info);
        layer_submission_end(dev);
    }
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++) {
        struct layer_semaphore *record = LAYER_GET(dev, VkSemaphore, info->pWaitSemaphores[i]);
        if (record)
            give_back(dev, record);
    }
    for (uint32_t i = 0; i < info->swapchainCount; i++) {
        struct layer_swapchain *record = LAYER_GET(dev, VkSwapchainKHR, info->pSwapchains[i]);
        if (record && info->pImageIndices[i] < LAYER_HELD_IMAGES)
            record->held[info->pImageIndices[i]].acquired = false;
    }
    pthread_mutex_unlock(&dev->submit.mutex);
    if (g.failed)
        layer_stop("out of memory");
}

void layer_submit_acquired(struct layer_device *dev, VkSwapchainKHR swapchain, uint32_t image, VkSemaphore semaphore)
{
    struct layer_swapchain *record = LAYER_GET(dev, VkSwapchainKHR, swapchain);
    struct layer_semaphore *signalled = LAYER_GET(dev, VkSemaphore, semaphore);

    if (record && image < LAYER_HELD_IMAGES) {
        record->held[image].acquired = true;
        record->held[image].semaphore = gen_u64_VkSemaphore(semaphore);
    }
    if (signalled)
        signalled->signalled = true;
}

#ifdef VK_EXT_swapchain_maintenance1
void hook_before_ReleaseSwapchainImagesEXT(struct layer_device *dev, VkDevice device,
                                           const VkReleaseSwapchainImagesInfoEXT *info)
{
    struct layer_swapchain *record = LAYER_GET(dev, VkSwapchainKHR, info->swapchain);

    pthread_mutex_lock(&dev->submit.mutex);
    for (uint32_t i = 0; record && i < info->imageIndexCount; i++)
        if (info->pImageIndices[i] < LAYER_HELD_IMAGES)
            record->held[info->pImageIndices[i]].acquired = false;
    pthread_mutex_unlock(&dev->submit.mutex);
}
#endif

/* ---- the host releases submitted work, which reads the host writes until then ---- */

void hook_before_SignalSemaphore(struct layer_device *dev, VkDevice device, const VkSemaphoreSignalInfo *pSignalInfo)
{
    struct layer_semaphore *record = LAYER_GET(dev, VkSemaphore, pSignalInfo->semaphore);
    pthread_mutex_lock(&dev->submit.mutex);
    if (record && pSignalInfo->value > record->open)
        record->open = pSignalInfo->value;
    layer_submission_let_go(dev);
    pthread_mutex_unlock(&dev->submit.mutex);
}

#ifdef VK_NV_low_latency2
/* The driver signals the semaphore at any time from here on. */
void hook_before_LatencySleepNV(struct layer_device *dev, VkDevice device, VkSwapchainKHR swapchain,
                                const VkLatencySleepInfoNV *pSleepInfo)
{
    const VkSemaphoreSignalInfo signal = {.semaphore = pSleepInfo->signalSemaphore, .value = pSleepInfo->value};
    hook_before_SignalSemaphore(dev, device, &signal);
}
#endif

#if defined VK_NV_low_latency && VK_NV_LOW_LATENCY_SPEC_VERSION >= 2
void hook_before_LatencySleepLegacyNV(struct layer_device *dev, VkDevice device, VkSemaphore signalSemaphore,
                                      uint64_t value)
{
    const VkSemaphoreSignalInfo signal = {.semaphore = signalSemaphore, .value = value};
    hook_before_SignalSemaphore(dev, device, &signal);
}
#endif

void hook_before_SetEvent(struct layer_device *dev, VkDevice device, VkEvent event)
{
    pthread_mutex_lock(&dev->submit.mutex);
    layer_host_gate_host_set(dev, event);
    layer_submission_let_go(dev);
    pthread_mutex_unlock(&dev->submit.mutex);
}

void hook_before_ResetEvent(struct layer_device *dev, VkDevice device, VkEvent event)
{
    pthread_mutex_lock(&dev->submit.mutex);
    layer_host_gate_host_reset(dev, event);
    pthread_mutex_unlock(&dev->submit.mutex);
}
