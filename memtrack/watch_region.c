/* SPDX-License-Identifier: MIT */
#include "memtrack/watch_region.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/process/process.h"

struct lap_watch_region *lap_watch_region_create(const void *begin, size_t bytes)
{
    struct lap_watch_region *region = calloc(1, sizeof(*region));
    if (!region) {
        lap_fail(LAP_ERROR_MEMORY, "no memory for a watched range");
        return NULL;
    }
    region->process = lap_process();
    region->node.begin = (uintptr_t)begin;
    region->node.end = region->node.begin + bytes;
    return region;
}

void lap_watch_region_destroy(struct lap_watch_region *region)
{
    if (!region)
        return;
    lap_interval_finish(&region->taken);
    free(region->counts);
    free(region);
}

bool lap_watch_region_inherited(const struct lap_watch_region *region)
{
    return region->process != lap_process();
}

void lap_watch_region_insert(struct lap_watch_regions *regions, struct lap_watch_region *region)
{
    region->node.order = regions->next_order++;
    lap_tree_insert(&regions->tree, &region->node);
}

void lap_watch_region_remove(struct lap_watch_regions *regions, struct lap_watch_region *region)
{
    lap_tree_remove(&regions->tree, &region->node);
}

uint64_t lap_watch_page_bytes(void)
{
    long bytes = sysconf(_SC_PAGESIZE);
    return bytes > 0 ? (uint64_t)bytes : 4096;
}

bool lap_watch_region_own_pages(const struct lap_watch_regions *regions, uint64_t *at, uint64_t end,
                                uint64_t *out_begin, uint64_t *out_end)
{
    uint64_t page = lap_watch_page_bytes();
    while (*at < end) {
        const struct lap_tree_node *other = lap_tree_first(regions->tree, *at, end);
        uint64_t begin = *at, other_begin = other ? lap_watch_page_floor(other->begin, page) : end;
        *at = other ? lap_watch_page_ceil(other->end, page) : end;
        if (begin < other_begin) {
            *out_begin = begin;
            *out_end = other_begin;
            return true;
        }
    }
    return false;
}

struct found {
    uint64_t begin, end;
    lap_watch_report_fn report;
};

static void report_node(void *context, struct lap_tree_node *node)
{
    const struct found *found = context;
    struct lap_watch_region *region =
        (struct lap_watch_region *)(void *)((char *)node - offsetof(struct lap_watch_region, node));
    uint64_t begin = found->begin > node->begin ? found->begin : node->begin;
    uint64_t end = found->end < node->end ? found->end : node->end;
    if (region->asked)
        found->report(region->asked, (const void *)(uintptr_t)begin, (size_t)(end - begin));
    else if (!lap_interval_add(&region->taken, begin, end))
        region->all = true;
}

void lap_watch_region_found(struct lap_watch_regions *regions, uint64_t begin, uint64_t end, lap_watch_report_fn report)
{
    struct found found = {begin, end, report};
    lap_tree_visit(regions->tree, begin, end, report_node, &found);
}

void lap_watch_region_left(struct lap_watch_region *region, uint64_t begin, uint64_t end, lap_watch_report_fn report,
                           void *report_context)
{
    uint64_t from, to;
    if (region->all) {
        region->all = false;
        lap_interval_clear(&region->taken);
        report(report_context, (const void *)(uintptr_t)region->node.begin,
               (size_t)(region->node.end - region->node.begin));
        return;
    }
    while (lap_interval_first_in(&region->taken, begin, end, &from, &to)) {
        if (!lap_interval_remove(&region->taken, from, to))
            region->all = true; /* it stays, and is reported again */
        report(report_context, (const void *)(uintptr_t)from, (size_t)(to - from));
        begin = to;
    }
}
