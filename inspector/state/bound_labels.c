/* SPDX-License-Identifier: MIT */
#include "inspector/state/bound_labels.h"

void bound_labels_begin(struct bound_labels *labels, const struct bound *bound)
{
    *labels = (struct bound_labels){.depth = 0};
    for (const struct bound *b = bound; b && labels->count < POSITION_MOST_PLACES; b = b->outer)
        labels->bounds[labels->count++] = b;
}

/* The next one of those that were open in front of the primary command buffer. */
static const char *next_around(struct bound_labels *labels)
{
    const struct bound *primary = labels->count ? labels->bounds[labels->count - 1] : NULL;
    const struct position_queue_labels *around = primary ? primary->around : NULL;
    size_t at = labels->next_around++;

    if (around && at < around->of_queue.count)
        return around->of_queue.texts[at];
    if (around && at - around->of_queue.count < around->left_open.count - primary->around_ended)
        return around->left_open.texts[at - around->of_queue.count];
    return NULL;
}

const char *bound_labels_next(struct bound_labels *labels)
{
    const char *around = next_around(labels);

    if (around)
        return around;
    for (; labels->depth < labels->count; labels->depth++, labels->next = 0) {
        const struct bound *bound = labels->bounds[labels->count - 1 - labels->depth];
        if (labels->next < bound->label_count)
            return bound->labels[labels->next++].text;
    }
    return NULL;
}
