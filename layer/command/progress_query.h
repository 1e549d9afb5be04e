/* SPDX-License-Identifier: MIT */
/*
 * progress_query: events and queries of submitted work that the host can read while the work is running. A program that
 * finds one set or available may conclude that the commands before it are done (layer_work_finished_indirectly in
 * submit.h).
 */
#ifndef LAP_LAYER_PROGRESS_QUERY_H
#define LAP_LAYER_PROGRESS_QUERY_H

#include "layer/core/layer.h"

/* An event, or some queries of a pool. */
struct layer_progress_query {
    uint64_t object; /* never used twice, unlike a handle; 0: it is not known */
    uint32_t first, count;
};

struct layer_progress_query layer_progress_query_of_event(struct layer_device *dev, VkEvent event);
struct layer_progress_query layer_progress_query_of_queries(struct layer_device *dev, VkQueryPool pool, uint32_t first,
                                                            uint32_t count);

/* False when out of memory; the list is then as it was, or has a part of `more`. */
bool layer_progress_queries_add(struct layer_progress_queries *progress_queries, struct layer_progress_query query);
bool layer_progress_queries_append(struct layer_progress_queries *progress_queries,
                                   const struct layer_progress_queries *more);
/* True when the list has the event or one of the queries. */
bool layer_progress_queries_any(const struct layer_progress_queries *progress_queries,
                                struct layer_progress_query what);
/* Takes these away. False when out of memory. */
bool layer_progress_queries_remove(struct layer_progress_queries *progress_queries, struct layer_progress_query what);
void layer_progress_queries_finish(struct layer_progress_queries *progress_queries);

/* A command of a command buffer sets the event. */
void layer_progress_query_event(struct layer_cmdbuf *cb, VkEvent event);

/* A command of a command buffer copies results of queries, or the secondary one does that it executes. */
void layer_copied_queries(struct layer_cmdbuf *cb, VkQueryPool pool, uint32_t first, uint32_t count);
void layer_copied_queries_append(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary);

#endif
