/* SPDX-License-Identifier: MIT */
/* Shared by limits.c (numbers in calls), limits_offsets.c (offsets and ranges of buffers) and limits_shader.c
 * (declarations of shaders). */
#ifndef LAP_REPLAYER_DEVICE_LIMITS_INTERNAL_H
#define LAP_REPLAYER_DEVICE_LIMITS_INTERNAL_H

#include "base/map.h"
#include "replayer/device/limits.h"

/* Offsets into buffers that violate the GPU's alignment. */
struct limits_misaligned {
    uint64_t count;
    char first[192]; /* the first one, with its position */
};

struct replay_limits {
    const struct replay_instance *instance; /* the instance of the limits below */
    /* Zeroes: unknown. */
    VkPhysicalDeviceMaintenance4Properties maintenance4;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes;
    VkPhysicalDeviceRayTracingPipelinePropertiesKHR rays; /* sType 0: not queried yet */
    /* By index in the trace; objects may be used after they are destroyed. */
    struct lap_map sets, pipelines; /* limits_offsets.c: layouts */
    struct lap_map modules;         /* limits_shader.c */
    struct limits_misaligned misaligned;
};

/* The check of one call. */
struct limits_look {
    struct replay_limits *limits;
    struct replay_report *report; /* NULL: only offsets are checked */
    const VkPhysicalDeviceLimits *gpu;
    uint32_t api_version; /* the lower version of GPU and instance */
    const struct replay_limits_place *place;
};

/* Reports a number beyond a limit; the first one with its position. */
void limits_exceeds(const struct limits_look *look, const char *limit, const char *what, uint64_t recorded,
                    uint64_t most);
#define LIMITS_EXCEEDS(look, limit, what, recorded) limits_exceeds(look, #limit, what, recorded, (look)->gpu->limit)
/* Reports a finding of another area, with the position in front. */
void limits_report(const struct limits_look *look, enum replay_area area, enum replay_outcome outcome, const char *name,
                   const char *format, ...) LAP_PRINTF(5, 6);

/* Checks offsets and ranges of descriptors and texel buffers; stores layouts, for the types of dynamic descriptors. */
enum lap_status limits_look_at_offsets(const struct limits_look *look, const void *args) LAP_MUST_CHECK;
void limits_offsets_finish(struct replay_limits *limits);
/* Checks the declarations of shaders, and the requirements of pipeline stages. */
enum lap_status limits_look_at_code(const struct limits_look *look, const void *args) LAP_MUST_CHECK;

#endif
