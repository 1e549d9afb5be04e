/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/process/process.h"
#include "memtrack/memtrack_internal.h"

/* About the size of an update packet's head: sending fewer equal bytes than that is cheaper than a new packet. */
#define DEFAULT_GAP_BYTES 32u

enum lap_status lap_memtrack_create_watched(const struct lap_memtrack_options *options, const struct lap_watch_ops *ops,
                                            void *context, const char *reason, struct lap_memtrack **out)
{
    struct lap_memtrack *tracker = calloc(1, sizeof(*tracker));
    *out = NULL;
    if (!tracker)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a memory tracker");
    tracker->watch = ops;
    tracker->watch_context = context;
    tracker->process = lap_process();
    snprintf(tracker->watch_reason, sizeof(tracker->watch_reason), "%s", reason);
    tracker->log = options->log;
    tracker->atom_bytes = options->non_coherent_atom_bytes ? options->non_coherent_atom_bytes : 1;
    tracker->small_bytes = options->small_bytes;
    tracker->gap_bytes = options->coalesce_gap_bytes ? options->coalesce_gap_bytes : DEFAULT_GAP_BYTES;
    if (pthread_mutex_init(&tracker->mutex, NULL) != 0) {
        free(tracker);
        return lap_fail(LAP_ERROR_MEMORY, "no mutex for a memory tracker");
    }
    *out = tracker;
    return LAP_OK;
}

enum lap_status lap_memtrack_create(const struct lap_memtrack_options *options, struct lap_memtrack **out)
{
    char reason[sizeof((*out)->watch_reason)];
    const struct lap_watch_ops *ops;
    enum lap_status status;
    *out = NULL;
    if ((unsigned)options->watch > LAP_WATCH_COMPARE)
        return lap_fail(LAP_ERROR_ARGUMENT, "no write watch has the number %u", (unsigned)options->watch);
    ops = lap_watch_choose(options->watch, reason, sizeof(reason));
    status = lap_memtrack_create_watched(options, ops, NULL, reason, out);
    if (status != LAP_OK && ops->end)
        ops->end();
    return status;
}

void lap_memtrack_destroy(struct lap_memtrack **tracker)
{
    struct lap_memtrack *old = *tracker;
    if (!old)
        return;
    while (old->objects) {
        struct lap_memobj *object = old->objects;
        lap_memobj_destroy(&object);
    }
    while (old->views) {
        struct lap_mem *view = old->views;
        lap_mem_destroy(&view);
    }
    while (old->mems) {
        struct lap_mem *mem = old->mems;
        lap_mem_destroy(&mem);
    }
    if (old->watch->end && old->process == lap_process()) /* a child's copy has begun nothing */
        old->watch->end();
    lap_page_pool_finish(&old->shadow_pages);
    pthread_mutex_destroy(&old->mutex);
    free(old->chunk);
    free(old->asked);
    free(old);
    *tracker = NULL;
}

const char *lap_memtrack_watch_name(const struct lap_memtrack *tracker)
{
    return tracker->watch->name;
}

const char *lap_memtrack_watch_reason(const struct lap_memtrack *tracker)
{
    return tracker->watch_reason;
}

pthread_mutex_t *lap_memtrack_mutex(struct lap_memtrack *tracker)
{
    return &tracker->mutex;
}

struct lap_watch_counts lap_memtrack_watch_counts(const struct lap_memtrack *tracker, const char **out_reason)
{
    struct lap_watch_counts counts;
    lap_memtrack_lock(tracker);
    counts = tracker->watch_counts;
    if (out_reason)
        *out_reason = counts.compared ? tracker->compared_reason : NULL;
    lap_memtrack_unlock(tracker);
    return counts;
}

bool lap_memtrack_can_watch(struct lap_memtrack *tracker, void *begin, size_t bytes)
{
    void *region = NULL;
    bool can;
    lap_memtrack_lock(tracker);
    can = tracker->watch->arm(tracker->watch_context, begin, bytes, &region) == LAP_OK;
    if (can)
        tracker->watch->disarm(region);
    lap_memtrack_unlock(tracker);
    return can;
}

void lap_memtrack_break(struct lap_memtrack *tracker)
{
    if (tracker->failed == LAP_OK)
        lap_log(tracker->log, LAP_LOG_ERROR, "out of memory while tracking what the program writes");
    tracker->failed = LAP_ERROR_MEMORY;
}
