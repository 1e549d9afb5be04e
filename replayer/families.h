/* SPDX-License-Identifier: MIT */
/*
 * families: which queue family and which queue here stands for a recorded one. What counts is what the trace does on a
 * family, not what the recorded machine said that it could: flags only decide between families that all suffice.
 * Knows no device and no trace. One thread.
 */
#ifndef LAP_REPLAYER_FAMILIES_H
#define LAP_REPLAYER_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/status.h"

#define REPLAY_MAX_FAMILIES 32u
#define REPLAY_QUEUE_KINDS                                                                                             \
    (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT)

/* What work asks of a queue family. */
struct replay_family_needs {
    uint16_t one_of;    /* bit m, m of REPLAY_QUEUE_KINDS: something that goes to families of one of the kinds in m */
    VkQueueFlags other; /* kinds beside these that are needed, all of them */
    bool image_copies;  /* of any part: a family that only transfers may want whole blocks of texels */
    bool timestamps;
};

/* Something that takes one of these kinds (gen_command_queues); 0: it goes anywhere. */
void replay_needs_kinds(struct replay_family_needs *needs, VkQueueFlags kinds);
/* Waits for these stages and the like, as far as a family with `flags` could have them (0: not known). */
void replay_needs_stages(struct replay_family_needs *needs, VkPipelineStageFlags2 stages, VkQueueFlags flags);
/* All that a family with these flags could do. */
void replay_needs_flags(struct replay_family_needs *needs, VkQueueFlags flags);
void replay_needs_merge(struct replay_family_needs *needs, const struct replay_family_needs *more);

#define REPLAY_KINDS_BYTES 96
/* "graphics, graphics or compute", and so on; "nothing that is known". */
void replay_needs_write(const struct replay_family_needs *needs, char out[REPLAY_KINDS_BYTES]);

/* A family of the recorded machine. */
struct replay_recorded_family {
    VkQueueFlags flags;     /* 0: not known, or there is no such family */
    VkExtent3D granularity; /* minImageTransferGranularity */
    uint32_t queue_count;   /* that the program made; 0: none, so that only barriers and lists may name it */
    struct replay_family_needs needs;
};

struct replay_queue_plan {
    uint32_t families[REPLAY_MAX_FAMILIES];     /* [recorded]: the family here */
    uint32_t first_queues[REPLAY_MAX_FAMILIES]; /* [recorded]: the number here of its queue 0 */
    uint32_t queue_counts[REPLAY_MAX_FAMILIES]; /* [here]: queues to make */
    bool differs;                               /* some family has another number here */
    bool shared;                                /* some queue here stands for several */
    uint32_t unfit;                             /* bit i: no family here takes all copies or timestamps of recorded i */
    uint32_t failed;                            /* with LAP_ERROR_UNSUPPORTED: the first family that has none here */
};

/* Every family and queue as it was, with no look at what the trace does with them. False: that can't be. */
bool replay_plan_same(const struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES],
                      const VkQueueFamilyProperties *here, uint32_t here_count, struct replay_queue_plan *out_plan);

/* For each recorded family one that suffices: with queues that stand for no other if there are enough, else of the same
 * kinds, else with the fewest more. LAP_ERROR_UNSUPPORTED, without a sentence: plan->failed has none; it and others
 * like it stand for the first family then, or with `force` for the one that can do most. here_count is not 0. */
enum lap_status replay_plan_queues(const struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES],
                                   const VkQueueFamilyProperties *here, uint32_t here_count, bool force,
                                   struct replay_queue_plan *out_plan) LAP_MUST_CHECK;

/* The number here, in its family, of a recorded queue. */
uint32_t replay_plan_queue(const struct replay_queue_plan *plan, uint32_t family, uint32_t number);

#endif
