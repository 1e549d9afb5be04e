/* SPDX-License-Identifier: MIT */
/*
 * watch: which pages of a mapping may have been written since they were last asked for. A back end narrows down what
 * has to be compared; it never decides that something changed, so reporting too much costs time and nothing else.
 *
 * Every call is made under the tracker's mutex. The program's threads may write to the range at any time, also during
 * a call; the rule that makes this safe: take() rearms a page before it reports it, and the caller reads a page only
 * after it was reported. So a write lands in the bytes that are read now or in the next report, or in both.
 */
#ifndef LAP_MEMTRACK_WATCH_H
#define LAP_MEMTRACK_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* One run of bytes that may have been written. Inside the armed range; may pass the range that was asked for, because a
 * back end takes and rearms whole pages. */
typedef void (*lap_watch_report_fn)(void *context, const void *begin, size_t bytes);

struct lap_watch_ops {
    const char *name;

    /* Starts to watch [begin, begin + bytes); neither need be page-aligned. Until it returns, nothing is known; from
     * then on every write is reported. *out_region is handed to the other calls. An error leaves nothing behind; the
     * tracker then compares this mapping. `context` is what came with the ops. */
    enum lap_status (*arm)(void *context, void *begin, size_t bytes, void **out_region);

    /* Reports what may have been written in [begin, begin + bytes) since it was armed or last reported, in any order,
     * and rearms it. On an error whatever was not reported counts as written: the caller reads all it asked for. */
    enum lap_status (*take)(void *region, const void *begin, size_t bytes, lap_watch_report_fn report,
                            void *report_context);

    /* Stops watching; the range is still mapped. */
    void (*disarm)(void *region);
};

/* Says "all of it" every time. Works anywhere, and costs a read of every byte that is asked for. */
extern const struct lap_watch_ops lap_watch_compare;

#endif
