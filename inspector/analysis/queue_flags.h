/* SPDX-License-Identifier: MIT */
/*
 * queue_flags: the kinds of work that queues do, as the recorded GPU has them. A visitor's state (trace_pass.h). One
 * thread.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_QUEUE_FLAGS_H
#define LAP_INSPECTOR_ANALYSIS_QUEUE_FLAGS_H

#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "inspector/analysis/trace_pass.h"

struct queue_flags_queue {
    VkQueueFlags flags; /* 0: the trace does not say */
    uint64_t device;
};

struct queue_flags {
    struct lap_map gpus, devices; /* the families of each, by number */
    struct lap_map queues;        /* struct queue_flags_queue, by number */
    struct lap_arena arena;
};

void queue_flags_init(struct queue_flags *flags);
void queue_flags_finish(struct queue_flags *flags); /* also of a zeroed one */

/* For the list of a trace_visitor's commands, which visits information packets, too. */
#define QUEUE_FLAGS_COMMANDS                                                                                           \
    GEN_lapilliPhysicalDevice, GEN_vkGetPhysicalDeviceQueueFamilyProperties,                                           \
        GEN_vkGetPhysicalDeviceQueueFamilyProperties2, GEN_vkCreateDevice, GEN_vkGetDeviceQueue, GEN_vkGetDeviceQueue2
/* A visited call; any other one changes nothing. LAP_ERROR_MEMORY. */
enum lap_status queue_flags_see(struct queue_flags *flags, const struct trace_call *call) LAP_MUST_CHECK;

/* All zero: the queue was not seen. */
struct queue_flags_queue queue_flags_of(const struct queue_flags *flags, uint64_t queue);

#endif
