/* SPDX-License-Identifier: MIT */
/*
 * bound_labels: the debug labels that are open at a command, the outermost first: those of the queue, those that
 * earlier command buffers left open, and those of the command buffer. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_BOUND_LABELS_H
#define LAP_INSPECTOR_STATE_BOUND_LABELS_H

#include "inspector/position/find.h"
#include "inspector/state/bound.h"

struct bound_labels {
    const struct bound *bounds[POSITION_MOST_PLACES]; /* the primary command buffer last */
    unsigned depth, count;
    size_t next, next_around;
};

void bound_labels_begin(struct bound_labels *labels, const struct bound *bound);
/* The next one. NULL: that were all. */
const char *bound_labels_next(struct bound_labels *labels);

#endif
