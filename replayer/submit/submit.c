/* SPDX-License-Identifier: MIT */
#include "replayer/submit/submit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/command/reference_check.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/sparse/sparse.h"
#include "replayer/submit/acquired_images.h"
#include "replayer/submit/binary_semaphores.h"
#include "replayer/submit/external_sync.h"
#include "replayer/submit/schedule.h"
#include "replayer/submit/submit_events.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"
#include "vulkan/block.h"
#include "vulkan/chain.h"

struct queue {
    struct replay_recorded_queue recorded; /* first */
    uint64_t index;                        /* in the trace: several indices may share one live handle */
    struct queue *next;
};

struct replay_submits {
    struct replay *r;
    struct replay_device *dev;
    struct replay_schedule schedule;
    struct queue *queues;
    struct lap_arena arena; /* arguments that the submit decodes again */
    size_t held_bytes;      /* of the arguments of held calls */
    uint64_t since;         /* during a check: the job's */
};

#define HELD_MOST_BYTES  ((size_t)256 << 20)
#define HELD_LEAST_BYTES ((size_t)16 << 10) /* an arena's first block */

/* One call on a queue. A held call owns the arena with its decoded arguments. */
struct job {
    struct replay_operation operation; /* first */
    uint32_t command;                  /* enum gen_command */
    struct lap_args *args;
    uint64_t since;   /* held: objects created or recorded later, by replay.next_order, do not count; else UINT64_MAX */
    uint64_t removed; /* held: replay.removed when all its references were alive */
    struct lap_packet packet;
    struct lap_arena arena;
};

static struct job *job_of(const struct replay_operation *operation)
{
    return (struct job *)(uintptr_t)operation;
}

/* ---- calls to the driver ---- */

/* Leaves only waits and signals. The arguments belong to the replay, decoded for this call. */
static void leave_out_commands(const struct job *job)
{
    if (job->command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *args = (const void *)job->args->bytes;
        for (uint32_t i = 0; i < args->submitCount; i++) {
            VkSubmitInfo *info = (VkSubmitInfo *)(uintptr_t)&args->pSubmits[i];
            VkDeviceGroupSubmitInfo *group = (VkDeviceGroupSubmitInfo *)(uintptr_t)lap_chain_find(
                info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
            info->commandBufferCount = 0;
            if (group)
                group->commandBufferCount = 0;
        }
    } else if (job->command == GEN_vkQueueSubmit2) {
        const struct gen_args_vkQueueSubmit2 *args = (const void *)job->args->bytes;
        for (uint32_t i = 0; i < args->submitCount; i++)
            ((VkSubmitInfo2 *)(uintptr_t)&args->pSubmits[i])->commandBufferInfoCount = 0;
    }
}

static enum lap_status add_translations2(struct replay *r, struct replay_device *dev, VkSubmitInfo2 *info)
{
    uint32_t count = info->commandBufferInfoCount;
    VkCommandBuffer *handles = replay_scratch(r, count, sizeof *handles);
    const VkCommandBuffer *all = handles;
    VkCommandBufferSubmitInfo *infos;
    enum lap_status status;

    if (!count)
        return LAP_OK;
    for (uint32_t i = 0; handles && i < count; i++)
        handles[i] = info->pCommandBufferInfos[i].commandBuffer;
    status = handles ? replay_descriptor_buffers_submit(r, dev, &count, &all) : replay_no_scratch(r);
    if (status != LAP_OK || all == handles)
        return status;
    infos = replay_scratch(r, count, sizeof *infos);
    if (!infos)
        return replay_no_scratch(r);
    for (uint32_t i = 0, from = 0; i < count; i++) {
        infos[i] = info->pCommandBufferInfos[from];
        infos[i].commandBuffer = all[i];
        from += all[i] == handles[from];
    }
    info->commandBufferInfoCount = count;
    info->pCommandBufferInfos = infos;
    return LAP_OK;
}

/* Puts command buffers of the replay's own in front of those that bind descriptors in buffers. */
static enum lap_status add_translations(struct replay *r, struct replay_device *dev, const struct job *job,
                                        uint32_t first, uint32_t count)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = first; i < first + count && status == LAP_OK; i++) {
        if (job->command == GEN_vkQueueSubmit) {
            const struct gen_args_vkQueueSubmit *args = (const void *)job->args->bytes;
            VkSubmitInfo *info = (VkSubmitInfo *)(uintptr_t)&args->pSubmits[i];
            uint32_t before = info->commandBufferCount;
            status = replay_descriptor_buffers_submit(r, dev, &info->commandBufferCount, &info->pCommandBuffers);
            if (info->commandBufferCount != before &&
                lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO))
                return replay_refuse(r, "descriptors in buffers on a group of devices");
        } else {
            const struct gen_args_vkQueueSubmit2 *args = (const void *)job->args->bytes;
            status = add_translations2(r, dev, (VkSubmitInfo2 *)(uintptr_t)&args->pSubmits[i]);
        }
    }
    return status;
}

static enum lap_status look_at_one(struct replay *r, struct replay_device *dev, const struct job *job, VkQueue queue,
                                   VkCommandBuffer commands)
{
    enum lap_status status = replay_reference_check_submit(r, commands, job->since);

    return status == LAP_OK ? replay_reference_check_use(r, dev, commands, queue) : status;
}

static enum lap_status look_at_commands(struct replay *r, struct replay_device *dev, const struct job *job,
                                        uint32_t first, uint32_t count)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = first; i < first + count && status == LAP_OK; i++) {
        if (job->command == GEN_vkQueueSubmit) {
            const struct gen_args_vkQueueSubmit *args = (const void *)job->args->bytes;
            const VkSubmitInfo *info = &args->pSubmits[i];
            for (uint32_t j = 0; j < info->commandBufferCount && status == LAP_OK; j++)
                status = look_at_one(r, dev, job, args->queue, info->pCommandBuffers[j]);
        } else if (job->command == GEN_vkQueueSubmit2) {
            const struct gen_args_vkQueueSubmit2 *args = (const void *)job->args->bytes;
            const VkSubmitInfo2 *info = &args->pSubmits[i];
            for (uint32_t j = 0; j < info->commandBufferInfoCount && status == LAP_OK; j++)
                status = look_at_one(r, dev, job, args->queue, info->pCommandBufferInfos[j].commandBuffer);
        }
    }
    return status;
}

static enum lap_status give_binds(struct replay *r, struct replay_device *dev, const struct job *job, uint32_t first,
                                  uint32_t count, bool last)
{
    const struct gen_args_vkQueueBindSparse *args = (const void *)job->args->bytes;
    struct replay_submission submission;
    enum lap_status status = replay_submission_begin_bind(r, dev, last ? args->fence : VK_NULL_HANDLE, &submission);
    VkResult result;

    if (status != LAP_OK)
        return status;
    result = dev->vk.QueueBindSparse(args->queue, count, args->pBindInfo + first, submission.fence);
    replay_submission_end_bind(dev, &submission, result >= 0);
    return replay_result(r, result);
}

static enum lap_status give_work(struct replay *r, struct replay_device *dev, const struct job *job, uint32_t first,
                                 uint32_t count, bool last)
{
    const struct gen_args_vkQueueSubmit *one = (const void *)job->args->bytes;
    const struct gen_args_vkQueueSubmit2 *two = (const void *)job->args->bytes;
    bool is_one = job->command == GEN_vkQueueSubmit;
    VkQueue queue = is_one ? one->queue : two->queue;
    VkFence fence = is_one ? one->fence : two->fence;
    struct replay_submission submission;
    enum lap_status status = replay_submission_begin(r, dev, queue, last ? fence : VK_NULL_HANDLE, &submission);
    VkResult result;

    if (status != LAP_OK)
        return status;
    if (r->submit_observer)
        r->submit_observer->before(r, dev, queue);
    result = is_one ? dev->vk.QueueSubmit(queue, count, one->pSubmits + first, submission.fence)
                    : dev->vk.QueueSubmit2(queue, count, two->pSubmits + first, submission.fence);
    replay_submission_end(dev, queue, &submission, result >= 0);
    if (r->submit_observer)
        r->submit_observer->after(r, dev, queue);
    return replay_result(r, result);
}

static enum lap_status call(struct replay *r, struct replay_device *dev, const struct job *job, uint32_t first,
                            uint32_t count)
{
    bool last = first + count == job->operation.batch_count;
    enum lap_status status = look_at_commands(r, dev, job, first, count);

    if (status == LAP_OK)
        status = replay_binary_semaphores_before(r, dev, job->command, job->args->bytes, first, count);
    if (status == LAP_OK)
        status = replay_acquired_images_before(r, dev, job->command, job->args->bytes, first, count);
    if (status != LAP_OK)
        return status;
    if (job->command == GEN_vkQueueBindSparse)
        return give_binds(r, dev, job, first, count, last);
    if (r->options.blackhole)
        leave_out_commands(job);
    else if (dev->descriptors.buffers)
        status = add_translations(r, dev, job, first, count);
    if (status != LAP_OK)
        return status;
    return give_work(r, dev, job, first, count, last);
}

/* As the context's source, but skips objects created since the submit that reuse a number. */
static enum lap_status held_handle(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    struct replay *r = user;
    const struct replay_device *dev = r->objects.caller;
    const struct replay_object *object = replay_object_get(r, (enum gen_handle_type)type, index);
    uint64_t order = object ? object->order : 0;

    *out = index;
    /* Queues end with the device. Semaphores can't end while a held call refers to them. The submit of a batch
     * checks its command buffers: those of an earlier batch may be gone. */
    if (type == GEN_HANDLE_VkQueue || type == GEN_HANDLE_VkSemaphore || type == GEN_HANDLE_VkCommandBuffer)
        return LAP_OK;
    /* It may belong to a batch that was submitted: look_at_binds. */
    if (r->at.command == GEN_vkQueueBindSparse &&
        (type == GEN_HANDLE_VkBuffer || type == GEN_HANDLE_VkImage || type == GEN_HANDLE_VkDeviceMemory))
        return LAP_OK;
    if (order > dev->sync.submits->since)
        return lap_fail(LAP_ERROR_REPLAY, "%s:%" PRIu64 " is not alive any more, another one has its number",
                        gen_handle_names[type], index);
    return r->source.handle(user, type, index, out);
}

/* Of the objects that a batch of vkQueueBindSparse refers to, by index. */
static bool is_gone(const struct replay_submits *s, enum gen_handle_type type, uint64_t index)
{
    const struct replay_object *object = replay_object_get(s->r, type, index);
    uint64_t order = object                              ? object->order
                     : type == GEN_HANDLE_VkDeviceMemory ? replay_sparse_memory_order(s->dev, index)
                                                         : 0;
    return index && (order == 0 || order > s->since);
}

static bool are_binds_gone(const struct replay_submits *s, uint32_t count, const VkSparseMemoryBind *binds)
{
    bool gone = false;

    for (uint32_t i = 0; binds && i < count; i++)
        gone |= is_gone(s, GEN_HANDLE_VkDeviceMemory, gen_u64_VkDeviceMemory(binds[i].memory));
    return gone;
}

static bool is_batch_gone(const struct replay_submits *s, const VkBindSparseInfo *info)
{
    bool gone = false;

    for (uint32_t i = 0; info->pBufferBinds && i < info->bufferBindCount; i++)
        gone |= is_gone(s, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(info->pBufferBinds[i].buffer)) ||
                are_binds_gone(s, info->pBufferBinds[i].bindCount, info->pBufferBinds[i].pBinds);
    for (uint32_t i = 0; info->pImageOpaqueBinds && i < info->imageOpaqueBindCount; i++)
        gone |= is_gone(s, GEN_HANDLE_VkImage, gen_u64_VkImage(info->pImageOpaqueBinds[i].image)) ||
                are_binds_gone(s, info->pImageOpaqueBinds[i].bindCount, info->pImageOpaqueBinds[i].pBinds);
    for (uint32_t i = 0; info->pImageBinds && i < info->imageBindCount; i++) {
        const VkSparseImageMemoryBindInfo *image = &info->pImageBinds[i];
        gone |= is_gone(s, GEN_HANDLE_VkImage, gen_u64_VkImage(image->image));
        for (uint32_t j = 0; image->pBinds && j < image->bindCount; j++)
            gone |= is_gone(s, GEN_HANDLE_VkDeviceMemory, gen_u64_VkDeviceMemory(image->pBinds[j].memory));
    }
    return gone;
}

/* Checks the binds as recorded: the binds for the driver are built for the replay device (sparse_bind.c). */
static enum lap_status look_at_binds(const struct replay_submits *s, const VkBindSparseInfo *recorded, uint32_t first,
                                     uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        if (is_batch_gone(s, &recorded[i]))
            return lap_fail(LAP_ERROR_REPLAY, "a buffer, an image or memory that is bound is not alive any more");
    return LAP_OK;
}

/* Programs keep their submitted objects alive, but a trace may be wrong. If any object has ended since, all handles
 * are looked up again. */
static enum lap_status check_alive(struct replay_submits *s, struct job *job, uint32_t first, uint32_t count)
{
    struct lap_dec_source source = s->r->source;
    struct lap_args args;
    struct lap_dec dec;
    bool sparse = job->command == GEN_vkQueueBindSparse; /* their memory may be gone before the object ends */

    if (!sparse && job->removed == s->r->objects.removed)
        return LAP_OK;
    lap_arena_reset(&s->arena);
    s->r->objects.caller = s->dev;
    s->since = job->since;
    source.live = NULL;
    source.handle = held_handle;
    lap_dec_init(&dec, job->packet.body, job->packet.bytes, &s->arena, &source);
    gen_decode_table[job->command](&dec, args.bytes);
    if (dec.status == LAP_OK && sparse)
        return look_at_binds(s, ((const struct gen_args_vkQueueBindSparse *)(const void *)args.bytes)->pBindInfo, first,
                             count);
    job->removed = dec.status == LAP_OK ? s->r->objects.removed : job->removed;
    return dec.status;
}

static bool is_held(const struct job *job)
{
    return job->since != UINT64_MAX;
}

static enum lap_status give(void *user, struct replay_operation *operation, uint32_t first, uint32_t count)
{
    struct replay_submits *s = user;
    struct replay *r = s->r;
    struct job *job = job_of(operation);
    struct lap_packet packet = r->at.packet;
    uint32_t command = r->at.command;
    enum lap_status status;

    if (!is_held(job))
        return call(r, s->dev, job, first, count);
    r->at.packet = job->packet; /* messages refer to the packet of the call */
    r->at.command = job->command;
    status = check_alive(s, job, first, count);
    if (status == LAP_OK)
        status = call(r, s->dev, job, first, count);
    if (status < 0)
        status = replay_place(r, status);
    r->at.packet = packet;
    r->at.command = command;
    return status;
}

/* The arguments lie in the replay's arena with everything that they point to. The copy takes the arena over. */
static enum lap_status keep(void *user, const struct replay_operation *operation, struct replay_operation **out_copy)
{
    struct replay_submits *s = user;
    struct replay *r = s->r;
    struct job *copy = malloc(sizeof *copy);
    uint8_t *body = lap_arena_alloc(&r->arena, r->at.packet.bytes, 1);
    struct lap_args *args = lap_arena_alloc(&r->arena, sizeof *args, 16);

    if (!copy || !body || !args) {
        free(copy);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for submits");
    }
    if (lap_arena_used_bytes(&r->arena) + HELD_LEAST_BYTES > HELD_MOST_BYTES - s->held_bytes) {
        free(copy);
        return lap_fail(LAP_ERROR_LIMIT, "work that waits for later signals takes more than %zu MiB",
                        HELD_MOST_BYTES >> 20);
    }
    *copy = *job_of(operation);
    memcpy(args, copy->args, sizeof *args);
    memcpy(body, r->at.packet.body, r->at.packet.bytes);
    copy->args = args;
    copy->packet = r->at.packet;
    copy->packet.body = body;
    copy->since = r->objects.next_order;
    copy->removed = r->objects.removed;
    copy->arena = r->arena;
    s->held_bytes += lap_arena_used_bytes(&copy->arena) + HELD_LEAST_BYTES;
    lap_arena_init(&r->arena, copy->arena.limit_bytes);
    *out_copy = &copy->operation;
    return LAP_OK;
}

static void drop(void *user, struct replay_operation *operation)
{
    struct job *job = job_of(operation);

    ((struct replay_submits *)user)->held_bytes -= lap_arena_used_bytes(&job->arena) + HELD_LEAST_BYTES;
    lap_arena_finish(&job->arena);
    free(job);
}

/* ---- dependencies ---- */

static bool awaits_host(const struct replay_device *dev)
{
    return dev->sync.submits->schedule.awaited;
}

enum lap_status replay_submits_begin(struct replay *r, struct replay_device *dev)
{
    struct replay_submits *s;

    if (dev->sync.submits)
        return LAP_OK;
    s = calloc(1, sizeof *s);
    if (!s)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    s->r = r;
    s->dev = dev;
    s->schedule = (struct replay_schedule){.user = s, .submit = give, .copy = keep, .drop = drop};
    lap_arena_init(&s->arena, r->arena.limit_bytes);
    dev->sync.submits = s;
    dev->sync.awaits_host = awaits_host;
    return LAP_OK;
}

void replay_submits_end(struct replay_device *dev)
{
    struct replay_submits *s = dev->sync.submits;

    replay_acquired_images_finish(dev);
    if (!s)
        return;
    replay_schedule_finish(&s->schedule);
    while (s->queues) {
        struct queue *queue = s->queues;
        s->queues = queue->next;
        free(queue);
    }
    lap_arena_finish(&s->arena);
    free(s);
    dev->sync.submits = NULL;
    dev->sync.awaits_host = NULL;
}

/* NULL: out of memory. */
static struct queue *queue_of(struct replay_submits *s, VkQueue live)
{
    uint64_t index =
        replay_object_index(s->r, GEN_HANDLE_VkQueue, gen_u64_VkQueue(live)); /* the index of the queue in the call */
    struct queue *queue = s->queues;

    while (queue && queue->index != index)
        queue = queue->next;
    if (queue)
        return queue;
    queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->index = index;
    queue->next = s->queues;
    s->queues = queue;
    replay_schedule_queue(&s->schedule, &queue->recorded);
    return queue;
}

/* The record of a live semaphore, created on first use; NULL: no such semaphore, or out of memory. */
static struct replay_semaphore *semaphore_of(struct replay *r, VkSemaphore live)
{
    struct replay_semaphore_record *record = replay_semaphore_record_of(r, live);

    return record ? &record->schedule : NULL;
}

/* A call on its way into the schedule. */
struct builder {
    struct replay *r;
    struct replay_batch *batches;
    struct replay_point *points;
    uint64_t capacity, count; /* of points */
    bool failed;
};

static bool builder_init(struct builder *b, struct replay *r, uint32_t batches, uint64_t points)
{
    *b = (struct builder){.r = r, .capacity = points};
    b->batches = batches ? replay_scratch(r, batches, sizeof *b->batches) : NULL;
    b->points = points ? replay_scratch(r, points, sizeof *b->points) : NULL;
    return (b->batches || !batches) && (b->points || !points);
}

static void add_point(struct builder *b, VkSemaphore semaphore, uint64_t value)
{
    struct replay_point *point = &b->points[b->count++];

    *point = (struct replay_point){semaphore_of(b->r, semaphore), value};
    b->failed = b->failed || !point->semaphore;
}

static void add_old_points(struct builder *b, uint32_t count, const VkSemaphore *semaphores, const uint64_t *values,
                           uint32_t value_count)
{
    for (uint32_t i = 0; i < count; i++)
        add_point(b, semaphores[i], values && i < value_count ? values[i] : 0);
}

/* The common shape of VkSubmitInfo and VkBindSparseInfo. */
struct old_batch {
    const void *chain;
    uint32_t wait_count, signal_count;
    const VkSemaphore *waits, *signals;
};

static struct old_batch old_batch_of(const struct job *job, uint32_t number)
{
    if (job->command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *args = (const void *)job->args->bytes;
        const VkSubmitInfo *info = &args->pSubmits[number];
        return (struct old_batch){info->pNext, info->waitSemaphoreCount, info->signalSemaphoreCount,
                                  info->pWaitSemaphores, info->pSignalSemaphores};
    }
    const struct gen_args_vkQueueBindSparse *args = (const void *)job->args->bytes;
    const VkBindSparseInfo *info = &args->pBindInfo[number];
    return (struct old_batch){info->pNext, info->waitSemaphoreCount, info->signalSemaphoreCount, info->pWaitSemaphores,
                              info->pSignalSemaphores};
}

static enum lap_status build_old(struct builder *b, struct replay *r, const struct job *job, uint32_t count)
{
    uint64_t points = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct old_batch batch = old_batch_of(job, i);
        if ((batch.wait_count && !batch.waits) || (batch.signal_count && !batch.signals))
            return replay_absent(r, batch.wait_count && !batch.waits ? "pWaitSemaphores" : "pSignalSemaphores");
        points += (uint64_t)batch.wait_count + batch.signal_count;
    }
    if (!builder_init(b, r, count, points))
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < count; i++) {
        struct old_batch batch = old_batch_of(job, i);
        const VkTimelineSemaphoreSubmitInfo *values =
            lap_chain_find(batch.chain, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        b->batches[i] = (struct replay_batch){batch.wait_count, batch.signal_count, 0};
        add_old_points(b, batch.wait_count, batch.waits, values ? values->pWaitSemaphoreValues : NULL,
                       values ? values->waitSemaphoreValueCount : 0);
        add_old_points(b, batch.signal_count, batch.signals, values ? values->pSignalSemaphoreValues : NULL,
                       values ? values->signalSemaphoreValueCount : 0);
    }
    return LAP_OK;
}

static enum lap_status build_new(struct builder *b, struct replay *r, const VkSubmitInfo2 *infos, uint32_t count)
{
    uint64_t points = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t waits = infos[i].waitSemaphoreInfoCount, signals = infos[i].signalSemaphoreInfoCount;
        if ((waits && !infos[i].pWaitSemaphoreInfos) || (signals && !infos[i].pSignalSemaphoreInfos))
            return replay_absent(r, waits && !infos[i].pWaitSemaphoreInfos ? "pWaitSemaphoreInfos"
                                                                           : "pSignalSemaphoreInfos");
        points += (uint64_t)waits + signals;
    }
    if (!builder_init(b, r, count, points))
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < count; i++) {
        b->batches[i] = (struct replay_batch){infos[i].waitSemaphoreInfoCount, infos[i].signalSemaphoreInfoCount, 0};
        for (uint32_t j = 0; j < infos[i].waitSemaphoreInfoCount; j++)
            add_point(b, infos[i].pWaitSemaphoreInfos[j].semaphore, infos[i].pWaitSemaphoreInfos[j].value);
        for (uint32_t j = 0; j < infos[i].signalSemaphoreInfoCount; j++)
            add_point(b, infos[i].pSignalSemaphoreInfos[j].semaphore, infos[i].pSignalSemaphoreInfos[j].value);
    }
    return LAP_OK;
}

/* ---- recorded calls ---- */

static enum lap_status submit(struct replay *r, struct replay_device *dev, VkQueue live, struct job *job)
{
    struct replay_submits *s = dev->sync.submits;
    uint32_t count = job->operation.batch_count;
    struct replay_submit_events events = {0};
    struct builder b = {0};
    struct queue *queue;
    enum lap_status status = replay_external_sync_before(r, dev, job->command, job->args);

    if (status != LAP_OK)
        return status;
    if (!s)
        return call(r, dev, job, 0, count);
    if (job->command != GEN_vkQueueBindSparse)
        status = replay_submit_events(r, dev, job->command, job->args, &events);
    if (status != LAP_OK)
        return status;
    status = job->command == GEN_vkQueueSubmit2
                 ? build_new(&b, r, ((const struct gen_args_vkQueueSubmit2 *)(const void *)job->args->bytes)->pSubmits,
                             count)
                 : build_old(&b, r, job, count);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count && events.step_counts; i++)
        b.batches[i].step_count = events.step_counts[i];
    queue = queue_of(s, live);
    if (!queue || b.failed)
        return b.failed ? replay_fail(r, "a semaphore that is not alive, or no memory for it") : replay_no_scratch(r);
    job->operation.batches = b.batches;
    job->operation.points = b.points;
    job->operation.steps = events.steps;
    return replay_schedule_add(&s->schedule, &queue->recorded, &job->operation);
}

/* The pass of counters means nothing where timestamps substitute the queries. */
static void drop_passes(const struct replay_device *dev, const void **chain)
{
    static const VkStructureType type = VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR;
    if (*chain && !dev->queries.has_lock)
        lap_chain_drop(chain, &type, 1);
}

enum lap_status replay_QueueSubmit(struct replay *r, struct replay_device *dev, struct gen_args_vkQueueSubmit *args)
{
    struct job job = {.operation.batch_count = args->submitCount,
                      .command = GEN_vkQueueSubmit,
                      .args = (void *)args,
                      .since = UINT64_MAX};
    for (uint32_t i = 0; args->pSubmits && i < args->submitCount; i++)
        drop_passes(dev, (const void **)(uintptr_t)&args->pSubmits[i].pNext);
    return submit(r, dev, args->queue, &job);
}

enum lap_status replay_QueueSubmit2(struct replay *r, struct replay_device *dev, struct gen_args_vkQueueSubmit2 *args)
{
    struct job job = {.operation.batch_count = args->submitCount,
                      .command = GEN_vkQueueSubmit2,
                      .args = (void *)args,
                      .since = UINT64_MAX};
    for (uint32_t i = 0; args->pSubmits && i < args->submitCount; i++)
        drop_passes(dev, (const void **)(uintptr_t)&args->pSubmits[i].pNext);
    return submit(r, dev, args->queue, &job);
}

enum lap_status replay_submit_binds(struct replay *r, struct replay_device *dev,
                                    struct gen_args_vkQueueBindSparse *args)
{
    struct job job = {.operation.batch_count = args->bindInfoCount,
                      .command = GEN_vkQueueBindSparse,
                      .args = (void *)args,
                      .since = UINT64_MAX};
    return submit(r, dev, args->queue, &job);
}

enum lap_status replay_submits_signal(struct replay *r, struct replay_device *dev, VkSemaphore semaphore,
                                      uint64_t value)
{
    struct replay_semaphore *known = dev->sync.submits ? semaphore_of(r, semaphore) : NULL;

    return known ? replay_schedule_signal(&dev->sync.submits->schedule, known, value) : LAP_OK;
}

enum lap_status replay_submits_flush(struct replay *r, struct replay_device *dev, bool *out_any)
{
    *out_any = dev->sync.submits && dev->sync.submits->schedule.held;
    if (!*out_any)
        return LAP_OK;
    lap_log(r->log, LAP_LOG_WARNING,
            "packet %" PRIu64 ": work that waits for a signal which is still to come goes to the driver",
            r->at.packet.ticket);
    return replay_schedule_flush(&dev->sync.submits->schedule);
}

bool replay_submits_obstacle(const struct replay_device *dev, struct replay_obstacle *out, uint64_t *out_ticket)
{
    if (!dev->sync.submits || !replay_schedule_obstacle(&dev->sync.submits->schedule, out))
        return false;
    *out_ticket = job_of(out->operation)->packet.ticket;
    return true;
}

bool replay_submits_hold(const struct replay_device *dev)
{
    return dev->sync.submits && dev->sync.submits->schedule.held;
}

enum lap_status replay_submits_flush_queue(struct replay *r, struct replay_device *dev, VkQueue live)
{
    bool any;

    if (!dev->sync.submits || !dev->sync.submits->schedule.held)
        return LAP_OK;
    for (const struct queue *queue = dev->sync.submits->queues; queue; queue = queue->next)
        if (queue->recorded.first && queue->index == replay_object_index(r, GEN_HANDLE_VkQueue, gen_u64_VkQueue(live)))
            return replay_submits_flush(r, dev, &any);
    return LAP_OK;
}

enum lap_status replay_submits_need(struct replay *r, struct replay_device *dev, uint32_t count,
                                    const VkSemaphore *semaphores, bool *out_stuck)
{
    bool missing = false, any;
    enum lap_status status;

    for (uint32_t i = 0; dev->sync.submits && i < count; i++) {
        struct replay_semaphore *known = semaphore_of(r, semaphores[i]);
        missing = (known && !replay_schedule_wait(known)) || missing;
    }
    status = missing ? replay_submits_flush(r, dev, &any) : LAP_OK;
    *out_stuck = missing && replay_device_awaits_host(dev);
    return status == LAP_OK ? replay_binary_semaphores_wait(r, dev, count, semaphores) : status;
}

enum lap_status replay_submits_set_event(struct replay_device *dev, struct replay_event *event)
{
    return event && dev->sync.submits ? replay_schedule_set(&dev->sync.submits->schedule, event) : LAP_OK;
}

enum lap_status replay_submits_seen_event(struct replay *r, struct replay_device *dev, struct replay_event *event)
{
    bool awaited = replay_device_awaits_host(dev);
    enum lap_status status =
        event && dev->sync.submits ? replay_schedule_seen(&dev->sync.submits->schedule, event) : LAP_OK;

    if (!awaited && replay_device_awaits_host(dev))
        lap_log(r->log, LAP_LOG_WARNING,
                "packet %" PRIu64 ": work that waits on the device for an event of the host goes to the driver",
                r->at.packet.ticket);
    return status;
}

bool replay_submits_name_semaphore(const struct replay_device *dev, const struct replay_semaphore *semaphore)
{
    return dev->sync.submits && replay_schedule_names(&dev->sync.submits->schedule, semaphore);
}

void replay_submits_forget_event(struct replay_device *dev, const struct replay_event *event)
{
    if (dev->sync.submits)
        replay_schedule_forget(&dev->sync.submits->schedule, event);
}

bool replay_submits_name_event(const struct replay_device *dev, const struct replay_event *event)
{
    return dev->sync.submits && replay_schedule_names_event(&dev->sync.submits->schedule, event);
}

/* ---- semaphores ---- */

/* Begins the record of a live semaphore, if it is a timeline semaphore. */
static enum lap_status begin_timeline(struct replay *r, struct replay_device *dev, const VkSemaphoreCreateInfo *info,
                                      VkSemaphore live)
{
    const VkSemaphoreTypeCreateInfo *type = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    struct replay_semaphore *known;
    enum lap_status status;

    if (!type || type->semaphoreType != VK_SEMAPHORE_TYPE_TIMELINE)
        return LAP_OK;
    status = replay_submits_begin(r, dev);
    known = semaphore_of(r, live);
    if (!known)
        return replay_no_scratch(r);
    *known = (struct replay_semaphore){.timeline = true, .submitted = type->initialValue};
    return status;
}

enum lap_status replay_CreateSemaphore(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkCreateSemaphore *args)
{
    VkSemaphoreCreateInfo info = *args->pCreateInfo;
    bool shares = info.pNext && replay_external_sync_drop_exports(&info.pNext);
    VkSemaphore live = VK_NULL_HANDLE;
    VkResult result = dev->vk.CreateSemaphore(dev->live, &info, NULL, &live);
    enum lap_status status;

    if (result < 0)
        return replay_result(r, result);
    status = replay_object_keep(r, GEN_HANDLE_VkSemaphore, dev, gen_u64_VkSemaphore(*args->pSemaphore),
                                gen_u64_VkSemaphore(live));
    if (status == LAP_OK && *args->pSemaphore && info.pNext)
        status = begin_timeline(r, dev, &info, live);
    return status == LAP_OK && *args->pSemaphore && shares ? replay_external_sync_created(r, dev, live) : status;
}

enum lap_status replay_end_VkSemaphore(struct replay *r, struct replay_device *dev, uint64_t index,
                                       struct replay_object *object)
{
    const bool last = replay_external_sync_end(r, dev, GEN_HANDLE_VkSemaphore, index);
    struct replay_semaphore_record *known = object->record;

    if (!last) {
        replay_object_end(r, GEN_HANDLE_VkSemaphore, index, object);
        return LAP_OK;
    }
    if (known && replay_submits_name_semaphore(dev, &known->schedule))
        return replay_fail(r, "VkSemaphore:%" PRIu64 " is destroyed before the work that waits for it or signals it",
                           index);
    replay_acquired_images_forget(dev, gen_VkSemaphore(object->live));
    if (__builtin_expect(dev->busy, 0))
        replay_deferred_destroy_handle(dev, GEN_HANDLE_VkSemaphore, object->live);
    else
        dev->vk.DestroySemaphore(dev->live, gen_VkSemaphore(object->live), NULL);
    free(known);
    replay_object_end(r, GEN_HANDLE_VkSemaphore, index, object);
    return LAP_OK;
}

enum lap_status replay_SignalSemaphore(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkSignalSemaphore *args)
{
    enum lap_status status = replay_result(r, dev->vk.SignalSemaphore(dev->live, args->pSignalInfo));

    return status == LAP_OK ? replay_submits_signal(r, dev, args->pSignalInfo->semaphore, args->pSignalInfo->value)
                            : status;
}

#ifdef VK_NV_low_latency2
/* gen_replay.h declares it where VK_KHR_present_id is shown, which the extension needs. */
enum lap_status replay_LatencySleepNV(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkLatencySleepNV *args);
enum lap_status replay_LatencySleepNV(struct replay *r, struct replay_device *dev,
                                      struct gen_args_vkLatencySleepNV *args)
{
    const VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                          .semaphore = args->pSleepInfo->signalSemaphore,
                                          .value = args->pSleepInfo->value};
    return replay_SignalSemaphore(r, dev, &(struct gen_args_vkSignalSemaphore){.pSignalInfo = &signal});
}
#endif

#if defined VK_NV_low_latency && VK_NV_LOW_LATENCY_SPEC_VERSION >= 2
enum lap_status replay_LatencySleepLegacyNV(struct replay *r, struct replay_device *dev,
                                            struct gen_args_vkLatencySleepLegacyNV *args)
{
    const VkSemaphoreSignalInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = args->signalSemaphore, .value = args->value};
    return replay_SignalSemaphore(r, dev, &(struct gen_args_vkSignalSemaphore){.pSignalInfo = &signal});
}
#endif
