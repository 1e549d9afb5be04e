/* SPDX-License-Identifier: MIT */
#include "memtrack/watch.h"

#include <stdio.h>

static enum lap_status begin(const struct lap_watch_ops *ops)
{
    return ops->begin ? ops->begin() : LAP_OK;
}

void lap_watch_take_many(const struct lap_watch_ops *ops, struct lap_watch_range *ranges, size_t count,
                         lap_watch_report_fn report)
{
    if (ops->take_many) {
        ops->take_many(ranges, count, report);
        return;
    }
    for (struct lap_watch_range *range = ranges; range < ranges + count; range++)
        range->failed = ops->take(range->region, range->begin, range->bytes, report, range->report_context) < 0;
}

const struct lap_watch_ops *lap_watch_choose(enum lap_watch_kind kind, char *reason, size_t reason_bytes)
{
    switch (kind) {
    case LAP_WATCH_AUTO:
    case LAP_WATCH_PAGEMAP:
        if (begin(&lap_watch_pagemap) == LAP_OK) {
            snprintf(reason, reason_bytes, "%s",
                     kind == LAP_WATCH_AUTO ? "the kernel reports written pages" : "asked for");
            return &lap_watch_pagemap;
        }
        snprintf(reason, reason_bytes, "%spagemap does not work here: %s",
                 kind == LAP_WATCH_AUTO ? "" : "pagemap was asked for, but ", lap_error_message());
        return &lap_watch_compare;
    case LAP_WATCH_MPROTECT:
        if (begin(&lap_watch_mprotect) == LAP_OK) {
            snprintf(reason, reason_bytes,
                     "asked for; system calls that write into mapped memory (read, recv, ...) fail with EFAULT, and a "
                     "program that replaces the SIGSEGV handler may crash");
            return &lap_watch_mprotect;
        }
        snprintf(reason, reason_bytes, "mprotect was asked for, but does not work here: %s", lap_error_message());
        return &lap_watch_compare;
    case LAP_WATCH_COMPARE:
        break;
    }
    snprintf(reason, reason_bytes, "asked for");
    return &lap_watch_compare;
}
