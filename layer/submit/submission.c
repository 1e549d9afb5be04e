/* SPDX-License-Identifier: MIT */
#include "layer/submit/submission.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "layer/core/records.h"
#include "layer/memory/payload.h"
#include "layer/submit/change_checks.h"
#include "layer/submit/external_sync.h"
#include "layer/submit/full_checks.h"
#include "layer/submit/host_gate.h"
#include "layer/submit/host_update.h"
#include "layer/submit/memory_checks.h"

#define MOST_SUBMISSIONS 256u  /* that are kept apart */
#define MOST_WRITTEN     1024u /* ranges of a folded submission before they are merged */

/* ---- one submission ---- */

bool layer_submission_signal(struct layer_submission *submission, struct layer_point point)
{
    if (!lap_array_grow_u32(&submission->signals, sizeof point, &submission->signal_capacity,
                            (size_t)submission->signal_count + 1))
        return false;
    submission->signals[submission->signal_count++] = point;
    return true;
}

bool layer_submission_wait(struct layer_submission *submission, struct layer_point point)
{
    if (!lap_array_grow_u32(&submission->waits, sizeof point, &submission->wait_capacity,
                            (size_t)submission->wait_count + 1))
        return false;
    submission->waits[submission->wait_count++] = point;
    return true;
}

bool layer_submission_gate(struct layer_submission *submission, struct layer_host_gate gate)
{
    if (!lap_array_grow_u32(&submission->gates, sizeof gate, &submission->gate_capacity,
                            (size_t)submission->gate_count + 1))
        return false;
    submission->gates[submission->gate_count++] = gate;
    return true;
}

bool layer_submission_wrote(struct layer_submission *submission, struct layer_written written)
{
    if (!lap_array_grow_u32(&submission->written, sizeof written, &submission->written_capacity,
                            (size_t)submission->written_count + 1))
        return false;
    submission->written[submission->written_count++] = written;
    return true;
}

static void destroy(struct layer_submission *submission)
{
    layer_progress_queries_finish(&submission->progress_queries);
    free(submission->signals);
    free(submission->waits);
    free(submission->gates);
    free(submission->written);
    free(submission);
}

struct layer_submission *layer_submission_begin(struct layer_device *dev, VkQueue queue)
{
    struct layer_submission *submission = dev->submit.spare;
    if (submission) {
        dev->submit.spare = submission->next;
        submission->next = NULL;
    } else {
        submission = calloc(1, sizeof *submission);
    }
    if (!submission) {
        layer_stop("out of memory");
        return NULL;
    }
    submission->queue = queue;
    submission->serial = dev->submit.serial;
    submission->fence = 0;
    submission->state = LAYER_RUNNING;
    submission->anywhere = submission->unsearched = submission->absorbed = submission->gated = false;
    submission->progress_queries.count = 0;
    submission->signal_count = submission->wait_count = submission->gate_count = submission->written_count = 0;
    if (dev->submit.last)
        dev->submit.last->next = submission;
    else
        dev->submit.first = submission;
    dev->submit.last = submission;
    atomic_fetch_add_explicit(&dev->submit.count, 1, memory_order_release);
    return submission;
}

/* ---- the list ---- */

bool layer_submission_is_running(const struct layer_device *dev, uint64_t serial)
{
    for (const struct layer_submission *s = dev->submit.first; s && s->serial <= serial; s = s->next)
        if (s->serial == serial)
            return s->state != LAYER_FINISHED;
    return false;
}

/* Takes *link out of the list, to be used again. */
static void take_out(struct layer_device *dev, struct layer_submission **link, struct layer_submission *before)
{
    struct layer_submission *submission = *link;
    layer_host_gate_lift(dev, submission);
    *link = submission->next;
    if (dev->submit.last == submission)
        dev->submit.last = before;
    submission->next = dev->submit.spare;
    dev->submit.spare = submission;
    atomic_fetch_sub_explicit(&dev->submit.count, 1, memory_order_release);
}

void layer_submission_writes_to(struct layer_device *dev, const struct layer_submission *submission,
                                struct lap_touched *touched)
{
    for (uint32_t i = 0; i < submission->written_count; i++) {
        const struct layer_written *written = &submission->written[i];
        struct lap_memobj *object = layer_resource_get(dev, written->resource);
        if (object && !lap_touched_add(touched, object, written->offset, written->bytes, true))
            layer_stop("out of memory");
    }
}

/* Updates memory tracking: memory that running ungated work writes is not compared; the writes of other work count as
 * device writes. */
static void tell_tracker(struct layer_device *dev, bool cancelled)
{
    lap_touched_reset(&dev->submit.touched);
    for (struct layer_submission *s = dev->submit.first; s; s = s->next)
        if (s->state != LAYER_RUNNING && !s->absorbed) {
            layer_submission_writes_to(dev, s, &dev->submit.touched);
            s->absorbed = true;
        }
    lap_touched_seal(&dev->submit.touched);
    if (!dev->memtrack || (!dev->submit.touched.count && !cancelled))
        return;
    layer_payload_look(dev);
    lap_memtrack_device_wrote(dev->memtrack, &dev->submit.touched);
    layer_payload_looked(dev);
    lap_touched_reset(&dev->submit.batch.ranges);
    for (struct layer_submission *s = dev->submit.first; s; s = s->next)
        if (s->state == LAYER_RUNNING && !s->gated)
            layer_submission_writes_to(dev, s, &dev->submit.batch.ranges);
    lap_touched_seal(&dev->submit.batch.ranges);
    lap_memtrack_device_busy(dev->memtrack, &dev->submit.batch.ranges, true);
}

/* False: no gated work was released. */
static bool open_gates(struct layer_device *dev)
{
    uint64_t oldest;
    lap_touched_reset(&dev->submit.touched);
    oldest = layer_host_gate_open(dev, &dev->submit.touched);
    lap_touched_seal(&dev->submit.touched);
    return oldest != UINT64_MAX;
}

/* Writes packets of all host writes; then the memory of released work belongs to the device. */
static void send_and_begin(struct layer_device *dev)
{
    layer_emit_updates(dev, NULL);
    if (!dev->submit.touched.count && !dev->submit.touched.everything)
        return;
    layer_emit_updates(dev, &dev->submit.touched);
    if (dev->memtrack)
        lap_memtrack_device_busy(dev->memtrack, &dev->submit.touched, false);
}

void layer_submission_let_go(struct layer_device *dev)
{
    (void)open_gates(dev);
    send_and_begin(dev);
}

void layer_submission_cancel(struct layer_device *dev, uint64_t first, uint64_t last)
{
    struct layer_submission *before = NULL, **link = &dev->submit.first;
    while (*link) {
        if ((*link)->serial >= first && (*link)->serial <= last) {
            take_out(dev, link, before);
        } else {
            before = *link;
            link = &before->next;
        }
    }
    tell_tracker(dev, true);
}

static int compare_written(const void *a, const void *b)
{
    const struct layer_written *x = a, *y = b;
    if (x->resource != y->resource)
        return x->resource < y->resource ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void merge_written(struct layer_submission *submission)
{
    struct layer_written *w = submission->written;
    uint32_t kept = 0;
    qsort(w, submission->written_count, sizeof *w, compare_written);
    for (uint32_t i = 1; i < submission->written_count; i++) {
        if (w[i].resource == w[kept].resource && w[i].offset <= w[kept].offset + w[kept].bytes) {
            uint64_t end = w[i].offset + w[i].bytes;
            if (end > w[kept].offset + w[kept].bytes)
                w[kept].bytes = end - w[kept].offset;
            w[kept].check = w[kept].check && w[i].check;
        } else {
            w[++kept] = w[i];
        }
    }
    submission->written_count = kept + 1;
}

/* The next submission on the same queue in the same state. Gated submissions are never merged: they begin
 * separately. */
static struct layer_submission *successor(const struct layer_submission *submission)
{
    struct layer_submission *next = submission->next;
    if (submission->gated)
        return NULL;
    while (next && (next->queue != submission->queue || next->state != submission->state || next->gated))
        next = next->next;
    return next;
}

/* Makes the oldest submission part of the next one on its queue: it is then known to be finished a little later. */
static bool fold(struct layer_device *dev)
{
    struct layer_submission *before = NULL, **link = &dev->submit.first;
    for (struct layer_submission *old = dev->submit.first; old; before = old, link = &old->next, old = old->next) {
        struct layer_submission *next = successor(old);
        if (!next)
            continue;
        next->anywhere |= old->anywhere;
        next->unsearched |= old->unsearched;
        if (!layer_progress_queries_append(&next->progress_queries, &old->progress_queries))
            return false;
        for (uint32_t i = 0; i < old->written_count; i++)
            if (!layer_submission_wrote(next, old->written[i]))
                return false;
        for (uint32_t i = 0; i < old->wait_count && next->wait_count < MOST_WRITTEN; i++)
            if (!layer_submission_wait(next, old->waits[i]))
                return false;
        if (next->written_count > MOST_WRITTEN)
            merge_written(next);
        take_out(dev, link, before);
        return true;
    }
    return true;
}

void layer_submission_end(struct layer_device *dev)
{
    if (atomic_load_explicit(&dev->submit.count, memory_order_relaxed) > MOST_SUBMISSIONS && !fold(dev))
        layer_stop("out of memory");
}

void layer_submit_finish(struct layer_device *dev)
{
    struct layer_submission *lists[2] = {dev->submit.first, dev->submit.spare}, *next;
    for (uint32_t i = 0; i < 2; i++)
        for (struct layer_submission *submission = lists[i]; submission; submission = next) {
            next = submission->next;
            destroy(submission);
        }
    dev->submit.first = dev->submit.last = dev->submit.spare = NULL;
    layer_sparse_snapshots_release(dev, true);
    lap_touched_finish(&dev->submit.touched);
    layer_touched_finish(&dev->submit.batch);
    layer_progress_queries_finish(&dev->submit.progress_queries);
    layer_progress_queries_finish(&dev->submit.lost_queries);
    lap_map_finish(&dev->submit.resources);
    layer_check_finish(dev);
}

/* ---- learning that work has finished ---- */

static void learn_point(struct layer_device *dev, const struct layer_point *point, enum layer_submission_state state);

/* Everything on the queue up to here. */
static void learn_through(struct layer_device *dev, VkQueue queue, uint64_t serial, enum layer_submission_state state)
{
    for (struct layer_submission *s = dev->submit.first; s && s->serial <= serial; s = s->next) {
        if (s->queue != queue || s->state >= state)
            continue;
        s->state = state;
        layer_host_gate_lift(dev, s);
        for (uint32_t i = 0; i < s->wait_count; i++)
            learn_point(dev, &s->waits[i], state);
    }
}

static void learn_point(struct layer_device *dev, const struct layer_point *point, enum layer_submission_state state)
{
    if (point->semaphore == LAYER_POINT_WORK) {
        learn_through(dev, (VkQueue)(uintptr_t)point->handle, point->value, state);
        return;
    }
    for (struct layer_submission *s = dev->submit.first; s; s = s->next)
        for (uint32_t i = 0; i < s->signal_count && s->state < state; i++)
            if (s->signals[i].semaphore == point->semaphore && s->signals[i].value <= point->value)
                learn_through(dev, s->queue, s->serial, s->signals[i].partial ? LAYER_SEEN : state);
}

/* True if unfinished work also writes the range, or if later work wrote contents there that differ between runs. Gated
 * work does not count: it has not begun in a replay either. */
bool layer_submission_may_differ(const struct layer_device *dev, const struct layer_submission *submission,
                                 const struct layer_written *range)
{
    for (const struct layer_submission *s = dev->submit.first; s; s = s->next)
        for (uint32_t i = 0; i < s->written_count && !s->gated; i++) {
            const struct layer_written *other = &s->written[i];
            bool foreign = s->state != LAYER_FINISHED || (!other->check && s->serial >= submission->serial);
            if (foreign && layer_written_overlap(other, range))
                return true;
        }
    return false;
}

bool layer_submission_writes(const struct layer_device *dev, const struct layer_written *range)
{
    for (const struct layer_submission *s = dev->submit.first; s; s = s->next)
        for (uint32_t i = 0; i < s->written_count; i++)
            if (layer_written_overlap(&s->written[i], range))
                return true;
    return false;
}

bool layer_submission_stores_anywhere(const struct layer_device *dev)
{
    for (const struct layer_submission *s = dev->submit.first; s; s = s->next)
        if (s->anywhere && s->state != LAYER_FINISHED && !s->gated)
            return true;
    return false;
}

static void leave_out(struct layer_device *dev, const struct layer_written *written, enum lap_unchecked reason)
{
    struct lap_memobj *object = layer.options.verify_all ? layer_resource_get(dev, written->resource) : NULL;
    struct lap_object *record = object ? lap_memobj_user(object) : NULL;
    if (record && (record->type == GEN_HANDLE_VkBuffer || record->type == GEN_HANDLE_VkImage))
        layer_check_left_out(dev, record, reason);
}

static void check(struct layer_device *dev)
{
    for (const struct layer_submission *s = dev->submit.first; s; s = s->next) {
        for (uint32_t i = 0; i < s->written_count && s->state == LAYER_FINISHED; i++) {
            const struct layer_written *written = &s->written[i];
            if (!written->check) {
                layer_check_forget(dev, written);
                leave_out(dev, written, LAP_UNCHECKED_UNDEFINED);
            } else if (layer_submission_may_differ(dev, s, written)) {
                leave_out(dev, written, LAP_UNCHECKED_PENDING);
            } else {
                layer_check_written(dev, s, written);
            }
        }
        if (s->unsearched && s->state == LAYER_FINISHED && layer.options.verify_all)
            layer_verify_all_anywhere(dev, s);
    }
}

/* Finds stores of shaders through addresses before the host can write there again: if it restored the old bytes,
 * neither write could be found. */
static void look_anywhere(struct layer_device *dev)
{
    struct layer_changes *changes;
    bool any = false;
    for (struct layer_submission *s = dev->submit.first; s; s = s->next)
        if (s->state != LAYER_RUNNING) {
            any |= s->unsearched;
            s->unsearched = false;
        }
    if (!any || !dev->memtrack || !layer_is_recording())
        return;
    lap_memtrack_doubt(dev->memtrack);
    changes = layer_changes_begin(dev, layer_submission_stores_anywhere(dev));
    layer_emit_updates(dev, NULL);
    layer_changes_end(changes);
}

/* The mutex is held to the end: another thread that learns of the same work must find it handled. */
static void retire(struct layer_device *dev)
{
    struct layer_submission *before = NULL, **link = &dev->submit.first;
    bool checking = layer.options.verify && layer_is_writing();

    tell_tracker(dev, false);
    if (checking)
        check(dev);
    if (dev->submit.gated_count && open_gates(dev)) /* released by an unknown signal */
        send_and_begin(dev);
    look_anywhere(dev);
    while (*link) {
        if ((*link)->state == LAYER_FINISHED || ((*link)->state == LAYER_SEEN && !checking)) {
            take_out(dev, link, before);
        } else {
            before = *link;
            link = &before->next;
        }
    }
    if (dev->submit.snapshots.count)
        layer_sparse_snapshots_release(dev, false);
}

static bool nothing_to_learn(const struct layer_device *dev)
{
    return atomic_load_explicit(&dev->submit.count, memory_order_acquire) == 0;
}

static void begin_learning(struct layer_device *dev, int *cancel)
{
    layer_queues_lock(dev, cancel);
    pthread_mutex_lock(&dev->submit.mutex);
}

static void end_learning(struct layer_device *dev, int cancel)
{
    pthread_mutex_unlock(&dev->submit.mutex);
    layer_queues_unlock(dev, cancel);
}

void layer_submission_waited(struct layer_device *dev, VkQueue queue)
{
    pthread_mutex_lock(&dev->submit.mutex);
    learn_through(dev, queue, UINT64_MAX, LAYER_FINISHED);
    retire(dev);
    pthread_mutex_unlock(&dev->submit.mutex);
}

void layer_work_finished_fence(struct layer_device *dev, VkFence fence)
{
    int cancel = 0;
    const struct layer_fence *record = LAYER_GET(dev, VkFence, fence);
    if (!record || nothing_to_learn(dev))
        return;
    begin_learning(dev, &cancel);
    for (struct layer_submission *s = dev->submit.first; s; s = s->next)
        if (s->fence == layer_fence_key(record))
            learn_through(dev, s->queue, s->serial, LAYER_FINISHED);
    if (record->work.serial)
        learn_through(dev, record->work.queue, record->work.serial, LAYER_FINISHED);
    retire(dev);
    end_learning(dev, cancel);
}

void layer_work_finished_semaphore(struct layer_device *dev, VkSemaphore semaphore, uint64_t value)
{
    int cancel = 0;
    const struct layer_semaphore *record = LAYER_GET(dev, VkSemaphore, semaphore);
    if (!record || nothing_to_learn(dev))
        return;
    begin_learning(dev, &cancel);
    learn_point(dev, &(struct layer_point){layer_sync_key(record->object.index, record->payload), 0, value, false},
                LAYER_FINISHED);
    retire(dev);
    end_learning(dev, cancel);
}

void layer_work_finished_work(struct layer_device *dev, struct layer_work work)
{
    int cancel = 0;
    if (nothing_to_learn(dev))
        return;
    begin_learning(dev, &cancel);
    learn_through(dev, work.queue, work.serial, LAYER_FINISHED);
    retire(dev);
    end_learning(dev, cancel);
}

struct layer_work layer_submission_of_semaphore(const struct layer_device *dev, uint64_t key)
{
    struct layer_work work = {0};
    for (const struct layer_submission *s = dev->submit.first; s; s = s->next)
        for (uint32_t i = 0; i < s->signal_count; i++)
            if (s->signals[i].semaphore == key)
                work = (struct layer_work){s->queue, s->serial};
    return work;
}

struct layer_work layer_submission_of_fence(const struct layer_device *dev, uint64_t key)
{
    struct layer_work work = {0};
    for (const struct layer_submission *s = dev->submit.first; s; s = s->next)
        if (s->fence == key)
            work = (struct layer_work){s->queue, s->serial};
    return work;
}

void layer_work_finished_queue(struct layer_device *dev, VkQueue queue)
{
    int cancel = 0;
    if (nothing_to_learn(dev))
        return;
    begin_learning(dev, &cancel);
    learn_through(dev, queue, UINT64_MAX, LAYER_FINISHED);
    retire(dev);
    end_learning(dev, cancel);
}

static void finish_all(struct layer_device *dev)
{
    for (struct layer_submission *s = dev->submit.first; s; s = s->next) {
        s->state = LAYER_FINISHED;
        layer_host_gate_lift(dev, s);
    }
    retire(dev);
}

void layer_submission_idle(struct layer_device *dev)
{
    pthread_mutex_lock(&dev->submit.mutex);
    finish_all(dev);
    pthread_mutex_unlock(&dev->submit.mutex);
}

void layer_work_finished_device(struct layer_device *dev)
{
    int cancel = 0;
    if (nothing_to_learn(dev))
        return;
    begin_learning(dev, &cancel);
    finish_all(dev);
    end_learning(dev, cancel);
}

void layer_work_finished_indirectly(struct layer_device *dev, struct layer_progress_query what)
{
    int cancel = 0;
    if (nothing_to_learn(dev))
        return;
    begin_learning(dev, &cancel);
    for (struct layer_submission *s = dev->submit.first; s; s = s->next)
        if (s->state == LAYER_RUNNING && !s->gated && layer_progress_queries_any(&s->progress_queries, what))
            learn_through(dev, s->queue, s->serial, LAYER_SEEN);
    retire(dev);
    end_learning(dev, cancel);
}

void layer_forget_fence(struct layer_device *dev, VkFence fence)
{
    struct layer_fence *record = LAYER_GET(dev, VkFence, fence);
    if (!record || (nothing_to_learn(dev) && !record->borrowed))
        return;
    pthread_mutex_lock(&dev->submit.mutex);
    for (struct layer_submission *s = dev->submit.first; s; s = s->next)
        if (s->fence == layer_fence_key(record))
            s->fence = 0;
    record->work.serial = 0;
    atomic_store_explicit(&record->borrowed, 0, memory_order_relaxed);
    pthread_mutex_unlock(&dev->submit.mutex);
}
