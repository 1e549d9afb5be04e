/* SPDX-License-Identifier: MIT */
/*
 * limits: recorded numbers and formats that this GPU does not allow or promise. A replay hands them to the driver as
 * they are, because shaders and data of the trace were made for them. One thread.
 */
#ifndef LAP_REPLAYER_LIMITS_H
#define LAP_REPLAYER_LIMITS_H

#include "replayer/report.h"

struct replay_limits;

/* Offsets into buffers that are no multiples of what the GPU wants. */
struct replay_misaligned {
    uint64_t count;
    char first[192]; /* the first one, with its place */
};

/* Where a call is. */
struct replay_limits_place {
    uint32_t command; /* enum gen_command */
    uint64_t frame, ticket;
};

/* NULL without memory. */
struct replay_limits *replay_limits_create(void);
void replay_limits_destroy(struct replay_limits *limits); /* also for NULL */
/* Looks at a call of a device of this instance; handles in args are trace indices. Without a report only offsets are
 * looked at. */
enum lap_status replay_limits_look(struct replay_limits *limits, const struct replay_instance *instance,
                                   struct replay_report *report, const struct replay_limits_place *place,
                                   const void *args) LAP_MUST_CHECK;
const struct replay_misaligned *replay_limits_misaligned(const struct replay_limits *limits);

/* Members of VkPhysicalDeviceLimits that are compared with nothing, and why. */
struct replay_limit_reason {
    const char *name, *reason;
};
extern const struct replay_limit_reason replay_limit_reasons[]; /* NULL ends it */
/* Limits past which drivers work, and why. Past all others that are compared a replay may fail. */
extern const struct replay_limit_reason replay_limit_advice[]; /* NULL ends it */

#endif
