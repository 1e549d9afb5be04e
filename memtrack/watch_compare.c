/* SPDX-License-Identifier: MIT */
#include "memtrack/watch.h"

static enum lap_status compare_arm(void *context, void *begin, size_t bytes, void **out_region)
{
    *out_region = NULL; /* there is nothing to remember: every byte is a candidate every time */
    return LAP_OK;
}

static enum lap_status compare_take(void *region, const void *begin, size_t bytes, lap_watch_report_fn report,
                                    void *report_context)
{
    report(report_context, begin, bytes);
    return LAP_OK;
}

static void compare_disarm(void *region) {}

const struct lap_watch_ops lap_watch_compare = {
    .name = "compare", .arm = compare_arm, .take = compare_take, .disarm = compare_disarm};
