/* SPDX-License-Identifier: MIT */
#include "replayer/submit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/support/block.h"
#include "gen_replay.h"
#include "replayer/acquired.h"
#include "replayer/handles.h"
#include "replayer/measure.h"
#include "replayer/named.h"
#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/resource.h"
#include "replayer/schedule.h"
#include "replayer/sparse.h"
#include "replayer/submit_parts.h"

struct queue {
    struct replay_recorded_queue recorded; /* first */
    uint64_t index;                        /* in the trace: several may have one live handle */
    struct queue *next;
};

struct replay_submits {
    struct replay *r;
    struct replay_device *dev;
    struct replay_schedule schedule;
    struct queue *queues;
    struct lap_arena arena; /* what is looked at again when it is given */
    size_t held_bytes;      /* of the arguments of what is held */
    uint64_t since;         /* while it is looked at: the job's */
};

#define HELD_MOST_BYTES  ((size_t)256 << 20)
#define HELD_LEAST_BYTES ((size_t)16 << 10) /* an arena's first block */

/* One call on a queue. What is held has taken the arena that its arguments were decoded into. */
struct job {
    struct replay_operation operation; /* first */
    uint32_t command;                  /* enum gen_command */
    struct lap_args *args;
    const VkCommandBuffer *recorded; /* for each command buffer of all batches that of the trace; NULL: they are */
    uint64_t since; /* held: what was created or recorded later, by replay.next_order, is not meant; else UINT64_MAX */
    uint64_t removed; /* held: replay.removed when all that it names was alive */
    struct lap_packet packet;
    struct lap_arena arena;
};

static struct job *job_of(const struct replay_operation *operation)
{
    return (struct job *)(uintptr_t)operation;
}

/* ---- to the driver ---- */

/* Only waits and signals are left of it. The arguments are the replay's own, decoded for this call. */
static void leave_out_commands(const struct job *job)
{
    if (job->command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *args = (const void *)job->args->bytes;
        for (uint32_t i = 0; i < args->submitCount; i++) {
            VkSubmitInfo *info = (VkSubmitInfo *)(uintptr_t)&args->pSubmits[i];
            VkDeviceGroupSubmitInfo *group = (VkDeviceGroupSubmitInfo *)(uintptr_t)replay_chain_find(
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

/* Number j of batch i, as the trace names it; `given` stands for it. Where something was cut the batches' command
 * buffers lie one behind the other. */
static enum lap_status look_at_one(struct replay *r, struct replay_device *dev, const struct job *job, VkQueue queue,
                                   VkCommandBuffer given, ptrdiff_t number)
{
    VkCommandBuffer commands = job->recorded ? job->recorded[number] : given;
    enum lap_status status = replay_named_submit(r, commands, job->since);

    return status == LAP_OK ? replay_named_use(r, dev, commands, queue) : status;
}

static enum lap_status look_at_commands(struct replay *r, struct replay_device *dev, const struct job *job,
                                        uint32_t first, uint32_t count)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = first; i < first + count && status == LAP_OK; i++) {
        if (job->command == GEN_vkQueueSubmit) {
            const struct gen_args_vkQueueSubmit *args = (const void *)job->args->bytes;
            const VkSubmitInfo *infos = args->pSubmits;
            const VkCommandBuffer *commands = infos[i].pCommandBuffers;
            for (uint32_t j = 0; j < infos[i].commandBufferCount && status == LAP_OK; j++)
                status = look_at_one(r, dev, job, args->queue, commands[j],
                                     job->recorded ? &commands[j] - infos[0].pCommandBuffers : 0);
        } else if (job->command == GEN_vkQueueSubmit2) {
            const struct gen_args_vkQueueSubmit2 *args = (const void *)job->args->bytes;
            const VkSubmitInfo2 *infos = args->pSubmits;
            const VkCommandBufferSubmitInfo *commands = infos[i].pCommandBufferInfos;
            for (uint32_t j = 0; j < infos[i].commandBufferInfoCount && status == LAP_OK; j++)
                status = look_at_one(r, dev, job, args->queue, commands[j].commandBuffer,
                                     job->recorded ? &commands[j] - infos[0].pCommandBufferInfos : 0);
        }
    }
    return status;
}

static enum lap_status give_binds(struct replay *r, struct replay_device *dev, const struct job *job, uint32_t first,
                                  uint32_t count, bool last)
{
    const struct gen_args_vkQueueBindSparse *args = (const void *)job->args->bytes;
    struct replay_telling telling;
    enum lap_status status = replay_pending_before_bind(r, dev, last ? args->fence : VK_NULL_HANDLE, &telling);
    VkResult result;

    if (status != LAP_OK)
        return status;
    result = dev->vk.QueueBindSparse(args->queue, count, args->pBindInfo + first, telling.fence);
    replay_pending_given_bind(r, dev, &telling, result >= 0);
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
    struct replay_telling telling;
    enum lap_status status = replay_pending_before(r, dev, queue, last ? fence : VK_NULL_HANDLE, &telling);
    VkResult result;

    if (status != LAP_OK)
        return status;
    replay_measure_before_submit(r, dev, queue);
    result = is_one ? dev->vk.QueueSubmit(queue, count, one->pSubmits + first, telling.fence)
                    : dev->vk.QueueSubmit2(queue, count, two->pSubmits + first, telling.fence);
    replay_pending_given(r, dev, queue, &telling, result >= 0);
    replay_measure_after_submit(r, dev, queue);
    return replay_result(r, result);
}

static enum lap_status call(struct replay *r, struct replay_device *dev, const struct job *job, uint32_t first,
                            uint32_t count)
{
    bool last = first + count == job->operation.batch_count;
    enum lap_status status = look_at_commands(r, dev, job, first, count);

    if (status == LAP_OK)
        status = replay_acquired_before(r, dev, job->command, job->args->bytes, first, count);
    if (status != LAP_OK)
        return status;
    if (job->command == GEN_vkQueueBindSparse)
        return give_binds(r, dev, job, first, count, last);
    if (r->options.blackhole)
        leave_out_commands(job);
    return give_work(r, dev, job, first, count, last);
}

/* As the context's source, but that what came to be since is not what was submitted, though it has its number. */
static enum lap_status held_handle(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    struct replay *r = user;
    const struct replay_device *dev = r->caller;
    const struct replay_object *object = replay_object_get(r, (enum gen_handle_type)type, index);
    uint64_t order = object ? object->order : 0;

    *out = index;
    /* Queues end with the device. Semaphores can't end while something that is held names them, and command buffers are
     * looked at when their batch is given: those of an earlier one may be gone. */
    if (type == GEN_HANDLE_VkQueue || type == GEN_HANDLE_VkSemaphore || type == GEN_HANDLE_VkCommandBuffer)
        return LAP_OK;
    /* It may have been for a batch that was given: look_at_binds. */
    if (r->command == GEN_vkQueueBindSparse &&
        (type == GEN_HANDLE_VkBuffer || type == GEN_HANDLE_VkImage || type == GEN_HANDLE_VkDeviceMemory))
        return LAP_OK;
    if (order > dev->submits->since)
        return lap_fail(LAP_ERROR_REPLAY, "%s:%" PRIu64 " is not alive any more, another one has its number",
                        gen_handle_names[type], index);
    return r->source.handle(user, type, index, out);
}

/* Of what a batch of vkQueueBindSparse names, by its index. */
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

/* As they were recorded: what the driver is given was put together for this host (sparse_bind.c). */
static enum lap_status look_at_binds(const struct replay_submits *s, const VkBindSparseInfo *recorded, uint32_t first,
                                     uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        if (is_batch_gone(s, &recorded[i]))
            return lap_fail(LAP_ERROR_REPLAY, "a buffer, an image or memory that is bound is not alive any more");
    return LAP_OK;
}

/* A program keeps what it submitted alive, a trace may say anything: all handles are looked up again, if any object has
 * ended since. */
static enum lap_status check_alive(struct replay_submits *s, struct job *job, uint32_t first, uint32_t count)
{
    struct lap_dec_source source = s->r->source;
    struct lap_args args;
    struct lap_dec dec;
    bool sparse = job->command == GEN_vkQueueBindSparse; /* whose memory may be gone without an object's end */

    if (!sparse && job->removed == s->r->removed)
        return LAP_OK;
    lap_arena_reset(&s->arena);
    s->r->caller = s->dev;
    s->since = job->since;
    source.live = NULL;
    source.handle = held_handle;
    lap_dec_init(&dec, job->packet.body, job->packet.bytes, &s->arena, &source);
    gen_decode_table[job->command](&dec, args.bytes);
    if (dec.status == LAP_OK && sparse)
        return look_at_binds(s, ((const struct gen_args_vkQueueBindSparse *)(const void *)args.bytes)->pBindInfo, first,
                             count);
    job->removed = dec.status == LAP_OK ? s->r->removed : job->removed;
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
    struct lap_packet packet = r->packet;
    uint32_t command = r->command;
    enum lap_status status;

    if (!is_held(job))
        return call(r, s->dev, job, first, count);
    r->packet = job->packet; /* messages name the packet that the work came with */
    r->command = job->command;
    status = check_alive(s, job, first, count);
    if (status == LAP_OK)
        status = call(r, s->dev, job, first, count);
    if (status < 0)
        status = replay_place(r, status);
    r->packet = packet;
    r->command = command;
    return status;
}

/* The arguments lie in the replay's arena with all that they point to: the copy takes it away. */
static enum lap_status keep(void *user, const struct replay_operation *operation, struct replay_operation **out_copy)
{
    struct replay_submits *s = user;
    struct replay *r = s->r;
    struct job *copy = malloc(sizeof *copy);
    uint8_t *body = lap_arena_alloc(&r->arena, r->packet.bytes, 1);
    struct lap_args *args = lap_arena_alloc(&r->arena, sizeof *args, 16);

    if (!copy || !body || !args) {
        free(copy);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for what is submitted");
    }
    if (lap_arena_used_bytes(&r->arena) + HELD_LEAST_BYTES > HELD_MOST_BYTES - s->held_bytes) {
        free(copy);
        return lap_fail(LAP_ERROR_LIMIT, "what waits for later signals takes more than %zu MiB", HELD_MOST_BYTES >> 20);
    }
    *copy = *job_of(operation);
    memcpy(args, copy->args, sizeof *args);
    memcpy(body, r->packet.body, r->packet.bytes);
    copy->args = args;
    copy->packet = r->packet;
    copy->packet.body = body;
    copy->since = r->next_order;
    copy->removed = r->removed;
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

/* ---- what waits for what ---- */

enum lap_status replay_submits_begin(struct replay *r, struct replay_device *dev)
{
    struct replay_submits *s;

    if (dev->submits)
        return LAP_OK;
    s = calloc(1, sizeof *s);
    if (!s)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    s->r = r;
    s->dev = dev;
    s->schedule = (struct replay_schedule){.user = s, .give = give, .keep = keep, .drop = drop};
    lap_arena_init(&s->arena, r->arena.limit_bytes);
    dev->submits = s;
    return LAP_OK;
}

void replay_submits_end(struct replay_device *dev)
{
    struct replay_submits *s = dev->submits;

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
    dev->submits = NULL;
}

/* NULL when there is no memory. */
static struct queue *queue_of(struct replay_submits *s, VkQueue live)
{
    uint64_t index = replay_object_index(s->r, GEN_HANDLE_VkQueue, gen_u64_VkQueue(live)); /* the one that was named */
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

/* What is known of a live semaphore, made when it is first asked for; NULL: there is none such, or no memory. */
static struct replay_semaphore *semaphore_of(struct replay *r, VkSemaphore live)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkSemaphore, gen_u64_VkSemaphore(live));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSemaphore, index);

    if (object && !object->record)
        object->record = calloc(1, sizeof(struct replay_semaphore));
    return object ? object->record : NULL;
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

/* The shape that VkSubmitInfo and VkBindSparseInfo have in common. */
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
            replay_chain_find(batch.chain, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
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

/* ---- what the trace does ---- */

static enum lap_status submit(struct replay *r, struct replay_device *dev, VkQueue live, struct job *job)
{
    struct replay_submits *s = dev->submits;
    uint32_t count = job->operation.batch_count;
    struct replay_parts parts = {.batch_count = count};
    struct builder b = {0};
    struct queue *queue;
    enum lap_status status = LAP_OK;

    if (!s)
        return call(r, dev, job, 0, count);
    if (job->command != GEN_vkQueueBindSparse)
        status = replay_submit_cut(r, dev, job->command, job->args, ++s->schedule.looks, &parts);
    if (status != LAP_OK)
        return status;
    job->operation.batch_count = count = parts.batch_count;
    job->recorded = parts.recorded;
    status = job->command == GEN_vkQueueSubmit2
                 ? build_new(&b, r, ((const struct gen_args_vkQueueSubmit2 *)(const void *)job->args->bytes)->pSubmits,
                             count)
                 : build_old(&b, r, job, count);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < count && parts.step_counts; i++)
        b.batches[i].step_count = parts.step_counts[i];
    queue = queue_of(s, live);
    if (!queue || b.failed)
        return b.failed ? replay_fail(r, "a semaphore that is not alive, or no memory for it") : replay_no_scratch(r);
    job->operation.batches = b.batches;
    job->operation.points = b.points;
    job->operation.steps = parts.steps;
    return replay_schedule_add(&s->schedule, &queue->recorded, &job->operation);
}

enum lap_status replay_QueueSubmit(struct replay *r, struct replay_device *dev, struct gen_args_vkQueueSubmit *args)
{
    struct job job = {.operation.batch_count = args->submitCount,
                      .command = GEN_vkQueueSubmit,
                      .args = (void *)args,
                      .since = UINT64_MAX};
    return submit(r, dev, args->queue, &job);
}

enum lap_status replay_QueueSubmit2(struct replay *r, struct replay_device *dev, struct gen_args_vkQueueSubmit2 *args)
{
    struct job job = {.operation.batch_count = args->submitCount,
                      .command = GEN_vkQueueSubmit2,
                      .args = (void *)args,
                      .since = UINT64_MAX};
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
    struct replay_semaphore *known = dev->submits ? semaphore_of(r, semaphore) : NULL;

    return known ? replay_schedule_signal(&dev->submits->schedule, known, value) : LAP_OK;
}

enum lap_status replay_submits_flush(struct replay *r, struct replay_device *dev, bool *out_any)
{
    *out_any = dev->submits && dev->submits->schedule.held;
    if (!*out_any)
        return LAP_OK;
    lap_log(r->log, LAP_LOG_WARNING,
            "packet %" PRIu64 ": work that waits for a signal which is still to come goes to the driver",
            r->packet.ticket);
    return replay_schedule_flush(&dev->submits->schedule);
}

enum lap_status replay_submits_flush_queue(struct replay *r, struct replay_device *dev, VkQueue live)
{
    bool any;

    if (!dev->submits || !dev->submits->schedule.held)
        return LAP_OK;
    for (const struct queue *queue = dev->submits->queues; queue; queue = queue->next)
        if (queue->recorded.first && queue->index == replay_object_index(r, GEN_HANDLE_VkQueue, gen_u64_VkQueue(live)))
            return replay_submits_flush(r, dev, &any);
    return LAP_OK;
}

enum lap_status replay_submits_need(struct replay *r, struct replay_device *dev, uint32_t count,
                                    const VkSemaphore *semaphores, bool *out_stuck)
{
    bool missing = false, any;
    enum lap_status status;

    for (uint32_t i = 0; dev->submits && i < count; i++) {
        struct replay_semaphore *known = semaphore_of(r, semaphores[i]);
        missing = (known && !replay_schedule_wait(known)) || missing;
    }
    status = missing ? replay_submits_flush(r, dev, &any) : LAP_OK;
    *out_stuck = missing && replay_submits_await(dev);
    return status;
}

enum lap_status replay_submits_set_event(struct replay_device *dev, struct replay_event *event)
{
    return event && dev->submits ? replay_schedule_set(&dev->submits->schedule, event) : LAP_OK;
}

enum lap_status replay_submits_seen_event(struct replay *r, struct replay_device *dev, struct replay_event *event)
{
    bool awaited = replay_submits_await(dev);
    enum lap_status status = event && dev->submits ? replay_schedule_seen(&dev->submits->schedule, event) : LAP_OK;

    if (!awaited && replay_submits_await(dev))
        lap_log(r->log, LAP_LOG_WARNING,
                "packet %" PRIu64 ": work that waits on the device for an event of the host goes to the driver",
                r->packet.ticket);
    return status;
}

bool replay_submits_await(const struct replay_device *dev)
{
    return dev->submits && dev->submits->schedule.awaited;
}

void replay_submits_forget_event(struct replay_device *dev, const struct replay_event *event)
{
    if (dev->submits)
        replay_schedule_forget(&dev->submits->schedule, event);
}

bool replay_submits_name_event(const struct replay_device *dev, const struct replay_event *event)
{
    return dev->submits && replay_schedule_names_event(&dev->submits->schedule, event);
}

/* ---- semaphores ---- */

/* A semaphore that is there, if it is one with values. */
static enum lap_status begin_timeline(struct replay *r, struct replay_device *dev, const VkSemaphoreCreateInfo *info,
                                      VkSemaphore live)
{
    const VkSemaphoreTypeCreateInfo *type =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    struct replay_semaphore *known;
    enum lap_status status;

    if (!type || type->semaphoreType != VK_SEMAPHORE_TYPE_TIMELINE)
        return LAP_OK;
    status = replay_submits_begin(r, dev);
    known = semaphore_of(r, live);
    if (!known)
        return replay_no_scratch(r);
    *known = (struct replay_semaphore){.timeline = true, .given = type->initialValue};
    return status;
}

enum lap_status replay_CreateSemaphore(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkCreateSemaphore *args)
{
    VkSemaphore live = VK_NULL_HANDLE;
    VkResult result = dev->vk.CreateSemaphore(dev->live, args->pCreateInfo, NULL, &live);
    enum lap_status status;

    if (result < 0)
        return replay_result(r, result);
    status = replay_object_keep(r, GEN_HANDLE_VkSemaphore, dev, gen_u64_VkSemaphore(*args->pSemaphore),
                                gen_u64_VkSemaphore(live));
    if (status != LAP_OK || !*args->pSemaphore || !args->pCreateInfo->pNext)
        return status;
    return begin_timeline(r, dev, args->pCreateInfo, live);
}

enum lap_status replay_end_VkSemaphore(struct replay *r, struct replay_device *dev, uint64_t index,
                                       struct replay_object *object)
{
    struct replay_semaphore *known = object->record;

    if (known && dev->submits && replay_schedule_names(&dev->submits->schedule, known))
        return replay_fail(r, "VkSemaphore:%" PRIu64 " is destroyed before the work that waits for it or signals it",
                           index);
    replay_acquired_forget(dev, gen_VkSemaphore(object->live));
    if (__builtin_expect(dev->pending.busy, 0))
        replay_pending_end(dev, GEN_HANDLE_VkSemaphore, object->live, 0);
    else
        dev->vk.DestroySemaphore(dev->live, gen_VkSemaphore(object->live), NULL);
    if (known)
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
