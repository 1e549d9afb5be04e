/* SPDX-License-Identifier: MIT */
#include "replayer/command/parallel.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/command/command_pool.h"
#include "replayer/command/playback_order.h"
#include "replayer/core/crash.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/format/format.h"

/* Waking a thread costs as much as playing some hundred commands. */
#define WORTH_WAKING_BYTES 4096u

/* The least arena for the arguments of one command: it holds a copy of a blob. */
#define LEAST_ARENA_BYTES ((size_t)64 << 20)

struct pending {
    struct replay_command_playback block;
    struct lap_packet packet; /* for messages */
    enum lap_status status;
    char *message; /* NULL: no message, or out of memory */
};

struct worker {
    struct replay_parallel *parallel;
    struct replay view; /* a copy of the context without its arena */
    pthread_t thread;
};

struct replay_parallel {
    struct replay_order gather;
    struct replay_order_step step;
    struct pending pending[REPLAY_ORDER_BLOCKS];
    struct lap_arena data; /* copies of the gathered blocks */
    pthread_mutex_t reader;

    /* A step: a thread that finds `invited` above 0 joins, and takes groups until none are left. */
    pthread_mutex_t mutex;
    pthread_cond_t begin, end;
    unsigned invited, busy;
    bool stop;
    atomic_uint next_group;

    unsigned thread_count;   /* includes the caller */
    struct worker workers[]; /* the first is the caller's */
};

/* ---- one block ---- */

/* Only one thread at a time may use the reader and its cache, and a full cache frees the bytes that it returned. So
 * the blob is copied. */
static enum lap_status blob_of_reader(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    struct replay *view = user;
    const uint8_t *data;
    enum lap_status status;
    uint8_t *copy;

    pthread_mutex_lock(&view->parallel->reader);
    status = lap_reader_blob(view->reader, LAP_BLOB_DATA, id, &data, out_bytes);
    copy = status == LAP_OK ? lap_arena_alloc(&view->arena, *out_bytes + 1, 16) : NULL;
    if (copy)
        memcpy(copy, data, *out_bytes);
    pthread_mutex_unlock(&view->parallel->reader);
    replay_watch_step(&view->watch);
    if (status == LAP_OK && !copy)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory for blob %" PRIu64, id);
    *out_data = copy;
    return status;
}

static void look_at(struct replay *view, const struct replay *r)
{
    struct lap_arena arena = view->arena;

    *view = *r;
    view->arena = arena;
    replay_tables_attach(view);
    view->source.user = view;
    view->source.blob = blob_of_reader;
    view->summary.skipped_structs = 0;
    view->at.block_command = NULL;
}

static void play(struct replay *view, struct pending *pending)
{
    const struct replay_position *before = replay_crash_set(&view->at);

    view->at.packet = pending->packet;
    pending->status = replay_command_playback_run(view, &pending->block);
    (void)replay_crash_set(before);
    replay_watch_step(&view->watch);
    if (pending->status < 0) {
        pending->status = replay_place(view, pending->status);
        pending->message = strdup(lap_error_message());
    }
}

static void take_part(struct worker *worker)
{
    struct replay_parallel *parallel = worker->parallel;
    unsigned number;

    while ((number = atomic_fetch_add(&parallel->next_group, 1)) < parallel->step.group_count) {
        const struct replay_order_group *group = &parallel->step.groups[number];
        for (uint32_t i = 0; i < group->count; i++) {
            struct pending *pending = &parallel->pending[parallel->step.order[group->first + i]];
            play(&worker->view, pending);
            if (pending->status != LAP_OK)
                break;
        }
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct replay_parallel *parallel = worker->parallel;

    pthread_mutex_lock(&parallel->mutex);
    for (;;) {
        while (!parallel->invited && !parallel->stop)
            pthread_cond_wait(&parallel->begin, &parallel->mutex);
        if (!parallel->invited)
            break;
        parallel->invited--;
        pthread_mutex_unlock(&parallel->mutex);
        take_part(worker);
        pthread_mutex_lock(&parallel->mutex);
        if (--parallel->busy == 0)
            pthread_cond_signal(&parallel->end);
    }
    pthread_mutex_unlock(&parallel->mutex);
    return NULL;
}

/* ---- all blocks ---- */

static unsigned others_for(const struct replay_parallel *parallel)
{
    unsigned others = parallel->step.group_count - 1;
    size_t shared = 0;

    for (uint32_t i = 1; i < parallel->step.group_count; i++)
        shared += parallel->step.groups[i].bytes;
    if (shared < WORTH_WAKING_BYTES)
        return 0;
    return others < parallel->thread_count ? others : parallel->thread_count - 1;
}

static void play_step(struct replay_parallel *parallel, const struct replay *r, unsigned number)
{
    unsigned others;

    replay_order_step(&parallel->gather, number, &parallel->step);
    if (parallel->step.group_count == 0)
        return;
    others = others_for(parallel);
    for (unsigned i = 0; i < parallel->thread_count; i++)
        look_at(&parallel->workers[i].view, r);
    atomic_store(&parallel->next_group, 0);
    if (others) {
        pthread_mutex_lock(&parallel->mutex);
        parallel->invited = parallel->busy = others;
        for (unsigned i = 0; i < others; i++)
            pthread_cond_signal(&parallel->begin);
        pthread_mutex_unlock(&parallel->mutex);
    }
    take_part(&parallel->workers[0]);
    if (others) {
        pthread_mutex_lock(&parallel->mutex);
        parallel->busy -= parallel->invited; /* a thread that has not joined by now has nothing to do */
        parallel->invited = 0;
        while (parallel->busy)
            pthread_cond_wait(&parallel->end, &parallel->mutex);
        pthread_mutex_unlock(&parallel->mutex);
    }
}

/* Discards the gathered blocks. The first failure in recorded order counts. */
static enum lap_status settle(struct replay *r)
{
    struct replay_parallel *parallel = r->parallel;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < parallel->gather.count; i++) {
        struct pending *pending = &parallel->pending[i];
        if (status == LAP_OK && pending->status != LAP_OK)
            status = lap_fail(pending->status, "%s", pending->message ? pending->message : "out of memory");
        free(pending->message);
    }
    for (unsigned i = 0; i < parallel->thread_count; i++) {
        r->summary.skipped_structs += parallel->workers[i].view.summary.skipped_structs;
        parallel->workers[i].view.summary.skipped_structs = 0;
    }
    parallel->gather.count = parallel->gather.secondaries = 0;
    parallel->gather.bytes = 0;
    lap_arena_reset(&parallel->data);
    return status;
}

enum lap_status replay_parallel_finish(struct replay *r)
{
    struct replay_parallel *parallel = r->parallel;

    if (!parallel || parallel->gather.count == 0)
        return LAP_OK;
    play_step(parallel, r, 0);
    for (uint32_t i = 0; i < parallel->gather.secondaries; i++)
        if (parallel->pending[i].status != LAP_OK)
            return settle(r);
    play_step(parallel, r, 1);
    return settle(r);
}

/* ---- gathering ---- */

/* Playback of a block finds the substituted formats and translated addresses, makes scratch memory and may copy binding
 * tables. With nested
 * command buffers a secondary one may need another. */
static bool can_gather(const struct replay_device *dev)
{
    return !(dev->formats.substitutes && dev->formats.substitutes->converts_copies) && !dev->addresses.translated &&
           !dev->enabled.nested_command_buffers && !dev->enabled.acceleration && !dev->descriptors.push &&
           !dev->generated_commands && !dev->descriptors.buffers && !dev->rays.tracing;
}

enum lap_status replay_parallel_add(struct replay *r, const struct replay_command_playback *block)
{
    struct replay_parallel *parallel = r->parallel;
    struct replay_ordered_block gathered = {.bytes = block->bytes};
    enum lap_status status;
    uint8_t *copy;

    if (!parallel)
        return replay_command_playback_run(r, block);
    gathered.pool = replay_command_buffer_pool(r, block->commands, &gathered.secondary);
    if (!can_gather(block->dev) || !replay_order_may_add(&parallel->gather, &gathered)) {
        status = replay_parallel_finish(r);
        if (status != LAP_OK)
            return status;
    }
    copy = NULL;
    if (can_gather(block->dev) && replay_order_may_add(&parallel->gather, &gathered))
        copy = lap_arena_alloc(&parallel->data, block->bytes + 1, 16);
    if (!copy) {
        status = replay_parallel_finish(r);
        return status == LAP_OK ? replay_command_playback_run(r, block) : status;
    }
    memcpy(copy, block->data, block->bytes);
    parallel->pending[parallel->gather.count] = (struct pending){.block = *block, .packet = r->at.packet};
    parallel->pending[parallel->gather.count].block.data = copy;
    replay_order_add(&parallel->gather, &gathered);
    return LAP_OK;
}

static bool may_pass(struct replay *r, uint32_t command, const void *args)
{
    const struct replay_order *gather = &r->parallel->gather;
    bool secondary = false;
    uint64_t pool;

    if (!(gen_command_flags[command] & LAP_PACKET_BARRIER))
        return true;
    switch (command) {
    case GEN_vkResetCommandPool:
        pool =
            replay_object_index(r, GEN_HANDLE_VkCommandPool,
                                gen_u64_VkCommandPool(((const struct gen_args_vkResetCommandPool *)args)->commandPool));
        return replay_order_may_reset(gather, pool, replay_command_pool_has_secondary(r, pool));
    case GEN_vkResetCommandBuffer:
        pool = replay_command_buffer_pool(r, ((const struct gen_args_vkResetCommandBuffer *)args)->commandBuffer,
                                          &secondary);
        return replay_order_may_reset(gather, pool, secondary);
    default:
        return false;
    }
}

enum lap_status replay_parallel_before(struct replay *r, uint32_t command, const void *args)
{
    if (!r->parallel || r->parallel->gather.count == 0 || command == GEN_lapilliBlock || may_pass(r, command, args))
        return LAP_OK;
    return replay_parallel_finish(r);
}

/* ---- threads ---- */

unsigned replay_processors(void)
{
    cpu_set_t set;
    unsigned count = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;

    return count < REPLAY_THREADS_MAX ? count : REPLAY_THREADS_MAX;
}

unsigned replay_parallel_threads(const struct replay *r, unsigned wanted)
{
    if (wanted)
        return wanted;
    return lap_reader_summary(r->reader)->streams > 1 ? replay_processors() : 1;
}

enum lap_status replay_parallel_create(struct replay *r, unsigned threads)
{
    struct replay_parallel *parallel;
    size_t limit = r->arena.limit_bytes / (threads ? threads : 1);

    /* All arenas together take about as much as one. */
    if (limit < LEAST_ARENA_BYTES)
        limit = LEAST_ARENA_BYTES;
    if (threads < 2)
        return LAP_OK;
    parallel = calloc(1, sizeof *parallel + threads * sizeof *parallel->workers);
    if (!parallel)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for %u threads", threads);
    pthread_mutex_init(&parallel->reader, NULL);
    pthread_mutex_init(&parallel->mutex, NULL);
    pthread_cond_init(&parallel->begin, NULL);
    pthread_cond_init(&parallel->end, NULL);
    lap_arena_init(&parallel->data, 0);
    r->parallel = parallel;
    for (unsigned i = 0; i < threads; i++) {
        struct worker *worker = &parallel->workers[i];
        int error;
        worker->parallel = parallel;
        lap_arena_init(&worker->view.arena, limit);
        error = i ? pthread_create(&worker->thread, NULL, work, worker) : 0;
        if (error) {
            lap_log(r->log, LAP_LOG_WARNING, "%u threads play, not %u: %s", i, threads, strerror(error));
            break;
        }
        parallel->thread_count++;
    }
    return LAP_OK;
}

void replay_parallel_destroy(struct replay *r)
{
    struct replay_parallel *parallel = r->parallel;

    if (!parallel)
        return;
    pthread_mutex_lock(&parallel->mutex);
    parallel->stop = true;
    pthread_cond_broadcast(&parallel->begin);
    pthread_mutex_unlock(&parallel->mutex);
    for (unsigned i = 1; i < parallel->thread_count; i++)
        pthread_join(parallel->workers[i].thread, NULL);
    for (unsigned i = 0; i < parallel->thread_count; i++)
        lap_arena_finish(&parallel->workers[i].view.arena);
    lap_arena_finish(&parallel->data);
    pthread_cond_destroy(&parallel->end);
    pthread_cond_destroy(&parallel->begin);
    pthread_mutex_destroy(&parallel->mutex);
    pthread_mutex_destroy(&parallel->reader);
    free(parallel);
    r->parallel = NULL;
}
