/* SPDX-License-Identifier: MIT */
/*
 * queue_families: maps the recorded queue families and queues to those of the replay device. The trace's use of a
 * family decides, not the flags of the recorded family: flags only choose between families that all suffice. Depends on
 * no device and no trace. One thread.
 */
#ifndef LAP_REPLAYER_DEVICE_QUEUE_FAMILIES_H
#define LAP_REPLAYER_DEVICE_QUEUE_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/status.h"
#include "replayer/core/device.h"
#include "vulkan/queue_kinds.h"

/* The requirements of work for a queue family. */
struct replay_family_needs {
    uint64_t one_of;    /* of lap_queue_kinds_set: some work needs one of the kinds in the set */
    VkQueueFlags other; /* further required kinds, all of them */
    bool image_copies;  /* of any part: a transfer-only family may have a coarser granularity */
    bool timestamps;
};

/* Adds work for one of these kinds (gen_command_queues); 0: any family. */
void replay_family_needs_kinds(struct replay_family_needs *needs, VkQueueFlags kinds);
/* Adds sets of kinds (lap_queue_kinds_set), but not those that a family with `flags` does without (0: unknown). */
void replay_family_needs_sets(struct replay_family_needs *needs, uint64_t sets, VkQueueFlags flags);
/* Adds the kinds for these pipeline stages, as far as a family with `flags` supports them (0: unknown). */
void replay_family_needs_stages(struct replay_family_needs *needs, VkPipelineStageFlags2 stages, VkQueueFlags flags);
/* Adds all that a family with these flags supports. */
void replay_family_needs_flags(struct replay_family_needs *needs, VkQueueFlags flags);

#define REPLAY_KINDS_BYTES 160
/* Writes "graphics, graphics or compute", and so on; "nothing that is known". */
void replay_family_needs_write(const struct replay_family_needs *needs, char out[REPLAY_KINDS_BYTES]);

/* A family of the recorded machine. */
struct replay_recorded_family {
    VkQueueFlags flags;     /* 0: unknown, or no such family */
    VkExtent3D granularity; /* minImageTransferGranularity */
    uint32_t queue_count; /* queues that the program created; 0: none, so only barriers and lists may name the family */
    struct replay_family_needs needs;
};

struct replay_queue_plan {
    uint32_t families[REPLAY_MAX_FAMILIES];     /* [recorded]: the replay device's family */
    uint32_t first_queues[REPLAY_MAX_FAMILIES]; /* [recorded]: the replay device's number of its queue 0 */
    uint32_t queue_counts[REPLAY_MAX_FAMILIES]; /* [replay device's family]: queues to create */
    bool differs;                               /* some family has another number on the replay device */
    bool shared;                                /* some queue serves several recorded ones */
    uint32_t unfit;  /* bit i: no family supports all copies or timestamps of recorded family i */
    uint32_t failed; /* with LAP_ERROR_UNSUPPORTED: the first recorded family without a match */
};

/* Maps every family and queue to the same numbers, without regard to their use in the trace. False: impossible. */
bool replay_queue_plan_identity(const struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES],
                                const VkQueueFamilyProperties *available, uint32_t available_count,
                                struct replay_queue_plan *out_plan);

/* Maps each recorded family to one that suffices: preferably with enough queues of its own, then of the same kinds,
 * then with the fewest additional kinds; where the recorded kinds are unknown, then of the same number, then with the
 * most kinds. LAP_ERROR_UNSUPPORTED, without a sentence: plan->failed has no match. It
 * maps to the first family then, or with `force` to the most capable one. available_count is not 0. */
enum lap_status replay_queue_plan_choose(const struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES],
                                         const VkQueueFamilyProperties *available, uint32_t available_count, bool force,
                                         struct replay_queue_plan *out_plan) LAP_MUST_CHECK;

/* The number of a recorded queue within its family on the replay device. */
uint32_t replay_queue_plan_number(const struct replay_queue_plan *plan, uint32_t family, uint32_t number);

#endif
