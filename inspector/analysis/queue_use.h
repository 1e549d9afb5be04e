/* SPDX-License-Identifier: MIT */
/*
 * queue_use: finds the use of each queue family of each device: by command buffers of the family's pools, and by
 * operations on its queues. A part of trace_analysis.h.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_QUEUE_USE_H
#define LAP_INSPECTOR_ANALYSIS_QUEUE_USE_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "inspector/analysis/trace_pass.h"
#include "vulkan/queue_kinds.h"

#define QUEUE_USE_FAMILIES 32u

struct queue_family_use {
    uint64_t one_of;              /* of lap_queue_kinds_set: some work needs one of the kinds in the set */
    VkQueueFlags other;           /* further required kinds, all of them */
    uint64_t by_arguments;        /* the same, by arguments (command_queues.h) */
    VkPipelineStageFlags2 stages; /* in barriers, waits and signals */
    bool image_copies;            /* of parts of images */
    bool timestamps;
};

struct queue_use;

/* The part, a struct queue_use: NULL without memory; its visitor. */
void *queue_use_create(void);
void queue_use_destroy(void *part);
void queue_use_visitor(void *part, struct trace_visitor *out);

/* By the index of the VkDevice in the trace; family < QUEUE_USE_FAMILIES. NULL: the trace does nothing there. */
const struct queue_family_use *queue_use_of(const struct queue_use *use, uint64_t device, uint32_t family);

#endif
