/* SPDX-License-Identifier: MIT */
/*
 * limits: finds recorded numbers beyond the replay device's limits with which a driver may crash or silently compute
 * wrong results: offsets and ranges of descriptors, workgroups, counts that index driver arrays, declarations of
 * shaders, formats of vertices and texel buffers. A replay passes them to the driver unchanged, because shaders and
 * data of the trace depend on them. The validation layer reports all other limits (validation.h). One thread.
 */
#ifndef LAP_REPLAYER_DEVICE_LIMITS_H
#define LAP_REPLAYER_DEVICE_LIMITS_H

#include "replayer/core/report.h"

struct replay_limits;
struct replay_recorded_gpu; /* analysis/recorded_machine.h */

/* The position of a call. */
struct replay_limits_place {
    uint32_t command; /* enum gen_command */
    uint64_t frame, ticket;
};

/* NULL without memory. */
struct replay_limits *replay_limits_create(void);
void replay_limits_destroy(struct replay_limits *limits); /* also for NULL */
/* Checks a call of a device of this instance; handles in args are trace indices. Without a report it checks only
 * offsets. */
enum lap_status replay_limits_check(struct replay_limits *limits, const struct replay_instance *instance,
                                    struct replay_report *report, const struct replay_limits_place *place,
                                    const void *args) LAP_MUST_CHECK;

/* Offsets of the trace that violate an alignment of this GPU. Where the recorded machine had a smaller one, they wait
 * for a pass over the trace (replay_analysis_await); elsewhere *out is NULL, as nothing is to be found. On failure,
 * too, the caller destroys *out. */
struct replay_limits_offsets;
enum lap_status replay_limits_offsets_await(struct replay *r, const struct replay_instance *instance,
                                            const struct replay_recorded_gpu *recorded,
                                            struct replay_limits_offsets **out) LAP_MUST_CHECK;
/* After the pass, which may have ended at damage. Also for NULL. */
void replay_limits_offsets_warn(struct replay *r, const struct replay_limits_offsets *offsets);
void replay_limits_offsets_destroy(struct replay *r, struct replay_limits_offsets **offsets);

#endif
