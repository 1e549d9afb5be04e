/* SPDX-License-Identifier: MIT */
/*
 * tell: events and queries of submitted work that the host can ask for while the work is running. Who finds one set may
 * know that what stands before it is done (layer_learn_indirectly in submit.h).
 */
#ifndef LAP_LAYER_TELL_H
#define LAP_LAYER_TELL_H

#include "layer/layer.h"

/* An event, or some queries of a pool. */
struct layer_tell {
    uint64_t object; /* never used twice, unlike a handle; 0: it is not known */
    uint32_t first, count;
};

struct layer_tell layer_tell_of_event(struct layer_device *dev, VkEvent event);
struct layer_tell layer_tell_of_queries(struct layer_device *dev, VkQueryPool pool, uint32_t first, uint32_t count);

/* False when out of memory; the list is then as it was, or has a part of `more`. */
bool layer_tells_add(struct layer_tells *tells, struct layer_tell tell);
bool layer_tells_append(struct layer_tells *tells, const struct layer_tells *more);
/* True when the list has the event or one of the queries. */
bool layer_tells_any(const struct layer_tells *tells, struct layer_tell what);
void layer_tells_finish(struct layer_tells *tells);

/* A command of a command buffer sets the event. */
void layer_tell_event(struct layer_cmdbuf *cb, VkEvent event);

#endif
