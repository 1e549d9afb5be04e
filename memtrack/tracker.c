/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "memtrack/internal.h"

/* About what the head of an update packet takes: sending fewer equal bytes than that is cheaper than a new packet. */
#define DEFAULT_GAP_BYTES 32u

enum lap_status lap_memtrack_create_watched(const struct lap_memtrack_options *options, const struct lap_watch_ops *ops,
                                            void *context, const char *reason, struct lap_memtrack **out)
{
    struct lap_memtrack *tracker = calloc(1, sizeof(*tracker));
    *out = NULL;
    if (!tracker)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a memory tracker");
    tracker->watch = ops ? ops : &lap_watch_compare;
    tracker->watch_context = context;
    tracker->watch_reason = reason;
    tracker->log = options->log;
    tracker->atom_bytes = options->non_coherent_atom_bytes ? options->non_coherent_atom_bytes : 1;
    tracker->gap_bytes = options->coalesce_gap_bytes ? options->coalesce_gap_bytes : DEFAULT_GAP_BYTES;
    if (pthread_mutex_init(&tracker->mutex, NULL) != 0) {
        free(tracker);
        return lap_fail(LAP_ERROR_MEMORY, "no mutex for a memory tracker");
    }
    *out = tracker;
    return LAP_OK;
}

static const char *const reasons[] = {
    [LAP_WATCH_AUTO] = "the only write watch of this build",
    [LAP_WATCH_PAGEMAP] = "pagemap was asked for, but this build has no pagemap watch: mapped memory is compared",
    [LAP_WATCH_MPROTECT] = "mprotect was asked for, but this build has no mprotect watch: mapped memory is compared",
    [LAP_WATCH_COMPARE] = "asked for",
};

enum lap_status lap_memtrack_create(const struct lap_memtrack_options *options, struct lap_memtrack **out)
{
    *out = NULL;
    if ((unsigned)options->watch >= sizeof(reasons) / sizeof(reasons[0]))
        return lap_fail(LAP_ERROR_ARGUMENT, "no write watch has the number %u", (unsigned)options->watch);
    return lap_memtrack_create_watched(options, NULL, NULL, reasons[options->watch], out);
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
    while (old->mems) {
        struct lap_mem *mem = old->mems;
        lap_mem_destroy(&mem);
    }
    pthread_mutex_destroy(&old->mutex);
    free(old->chunk);
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

void lap_memtrack_break(struct lap_memtrack *tracker)
{
    if (tracker->failed == LAP_OK)
        lap_log(tracker->log, LAP_LOG_ERROR, "out of memory while tracking what the program writes");
    tracker->failed = LAP_ERROR_MEMORY;
}
