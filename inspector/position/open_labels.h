/* SPDX-License-Identifier: MIT */
/*
 * open_labels: the debug labels that are open on each queue between its command buffers: those of the queue, and those
 * that began in a command buffer and have not ended (vulkan/label.h). One thread.
 */
#ifndef LAP_INSPECTOR_POSITION_OPEN_LABELS_H
#define LAP_INSPECTOR_POSITION_OPEN_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"
#include "inspector/position/contents.h"

/* Of each of the two kinds on a queue. A program that ends no label loses the oldest ones. */
#define POSITION_MOST_LABELS 64u

struct position_label_list {
    const char *texts[POSITION_MOST_LABELS]; /* the outermost first */
    size_t count;
};

struct position_queue_labels {
    struct position_label_list of_queue; /* by vkQueueBeginDebugUtilsLabelEXT; they are around the others */
    struct position_label_list left_open;
};

struct position_open_labels {
    struct lap_map queues; /* struct position_queue_labels, by number */
    struct lap_arena arena;
    bool may_be; /* the program has enabled an extension with labels: else no command buffer is decoded for them */
};

/* The calls that position_open_labels_see takes. */
#define POSITION_OPEN_LABELS_COMMANDS                                                                                  \
    GEN_vkQueueBeginDebugUtilsLabelEXT, GEN_vkQueueEndDebugUtilsLabelEXT, GEN_vkCreateInstance, GEN_vkCreateDevice

void position_open_labels_init(struct position_open_labels *labels);
void position_open_labels_finish(struct position_open_labels *labels);

/* A visited call; others change nothing. LAP_ERROR_MEMORY. */
enum lap_status position_open_labels_see(struct position_open_labels *labels,
                                         const struct trace_call *call) LAP_MUST_CHECK;

/* A primary command buffer that the queue runs. It changes nothing if it is NULL, which was not recorded, or can't be
 * decoded. LAP_ERROR_MEMORY. */
enum lap_status position_open_labels_run(struct position_open_labels *labels, struct position_contents *contents,
                                         uint64_t queue, const struct position_recording *recording) LAP_MUST_CHECK;

/* Those that are open now. Valid until the next one is seen or run, the texts as long as `labels` and `contents`. */
const struct position_queue_labels *position_open_labels_of(const struct position_open_labels *labels, uint64_t queue);

#endif
