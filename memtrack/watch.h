/* SPDX-License-Identifier: MIT */
/*
 * watch: finds the pages of a mapping that may have been written since the last request. A back end only limits the
 * comparison; it never decides that bytes changed, so reporting too much costs time and nothing else.
 *
 * Every call is made under the tracker's mutex. pagemap and mprotect have one object a process, because pages are the
 * process's and several memories, of several trackers, may lie in one: it has a mutex of its own, taken inside the
 * tracker's and never the other way round. The program's threads may write to the range at any time, also during a
 * call; the rule that makes this safe: take() rearms a page before it reports it, and the caller reads a page only
 * after it was reported. So a write lands in the bytes that are read now or in the next report, or in both.
 */
#ifndef LAP_MEMTRACK_WATCH_H
#define LAP_MEMTRACK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "memtrack/memtrack.h"

/* One run of bytes that may have been written. Inside the armed range; may pass the requested range, because a back end
 * takes and rearms whole pages. Must not call the watch. */
typedef void (*lap_watch_report_fn)(void *context, const void *begin, size_t bytes);

/* One request of a take: a part of an armed region. */
struct lap_watch_range {
    void *region;
    const void *begin;
    size_t bytes;
    void *report_context; /* the same for all ranges of a region */
    bool failed;          /* set by the back end: ranges that were not reported count as written */
};

struct lap_watch_ops {
    const char *name;

    /* take() reports only pages that were written, so others need not be read. Without it take() reports exactly the
     * requested ranges. */
    bool exact;

    /* Starts to watch [begin, begin + bytes); neither need be page-aligned. Earlier writes may go unreported; from its
     * return on every write is reported. *out_region is handed to the other calls. An error leaves nothing behind but a
     * sentence (lap_error_message); the tracker then compares this mapping. `context` is the one in the ops. */
    enum lap_status (*arm)(void *context, void *begin, size_t bytes, void **out_region);

    /* Reports the ranges in [begin, begin + bytes) that may have been written since they were armed or last reported,
     * in any order, and rearms them. On an error ranges that were not reported count as written: the caller reads all
     * that it requested. */
    enum lap_status (*take)(void *region, const void *begin, size_t bytes, lap_watch_report_fn report,
                            void *report_context);

    /* The same for many ranges at once, of any regions, with fewer system calls; changes their order. NULL: there is
     * nothing to be won. */
    void (*take_many)(struct lap_watch_range *ranges, size_t count, lap_watch_report_fn report);

    /* Stops watching; the range is still mapped. */
    void (*disarm)(void *region);

    /* A tracker begins to use the back end, or no longer does. begin probes, and opens or installs all that is needed.
     * On an error (with a sentence) nothing was begun. NULL: nothing to do. */
    enum lap_status (*begin)(void);
    void (*end)(void);
};

/* Always reports everything. Works anywhere, and costs a read of every requested byte. */
extern const struct lap_watch_ops lap_watch_compare;

/* userfaultfd in WP_ASYNC mode and the PAGEMAP_SCAN ioctl (Linux 6.7): no signal, no thread; writes by system calls are
 * seen as well. */
extern const struct lap_watch_ops lap_watch_pagemap;

/* Read-only pages and a SIGSEGV handler. System calls that write into watched memory fail with EFAULT, so it is used
 * only on request. */
extern const struct lap_watch_ops lap_watch_mprotect;

/* take_many where there is one, else take after take. */
void lap_watch_take_many(const struct lap_watch_ops *ops, struct lap_watch_range *ranges, size_t count,
                         lap_watch_report_fn report);

/* Picks a back end, which has begun: end() it. reason gets a sentence. Never fails: compare is always available. */
const struct lap_watch_ops *lap_watch_choose(enum lap_watch_kind kind, char *reason, size_t reason_bytes);

#endif
