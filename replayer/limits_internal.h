/* SPDX-License-Identifier: MIT */
/* What the topics of limits share: limits.c (the rest), limits_layout.c (descriptors), limits_pipeline.c (pipelines and
 * shaders), limits_format.c (what formats are used for). */
#ifndef LAP_REPLAYER_LIMITS_INTERNAL_H
#define LAP_REPLAYER_LIMITS_INTERNAL_H

#include "base/map.h"
#include "replayer/limits.h"

struct replay_limits {
    const struct replay_instance *instance; /* of the answers */
    VkPhysicalDeviceMaintenance3Properties maintenance3;
    VkPhysicalDeviceMaintenance4Properties maintenance4; /* zeroes where the GPU does not say */
    VkPhysicalDeviceDescriptorIndexingProperties indexing;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes;
    /* By index in the trace; objects may be used after they are destroyed. */
    struct lap_map sets, pipelines; /* struct limits_layout */
    struct lap_map modules;         /* struct limits_shader */
    struct lap_map images, views;   /* struct limits_image */
    struct lap_map samplers;        /* struct limits_sampler */
    uint64_t samplers_alive;
    struct replay_misaligned misaligned;
};

/* One call that is looked at. */
struct limits_look {
    struct replay_limits *limits;
    struct replay_report *report; /* NULL: only offsets are looked at */
    const VkPhysicalDeviceLimits *gpu;
    uint32_t api_version; /* of Vulkan, as far as GPU and instance both have it */
    uint32_t command;
    uint64_t frame, ticket;
};

/* The first one is reported with its place; recorded numbers are handed to the driver as they are. */
void limits_exceeds(const struct limits_look *look, const char *limit, const char *what, uint64_t recorded,
                    uint64_t most);
#define LIMITS_EXCEEDS(look, limit, what, recorded) limits_exceeds(look, #limit, what, recorded, (look)->gpu->limit)
void limits_aligned(const struct limits_look *look, const char *limit, const char *what, VkDeviceSize offset,
                    VkDeviceSize alignment);
/* Of another area, with the place in front. */
void limits_report(const struct limits_look *look, enum replay_area area, enum replay_outcome outcome, const char *name,
                   const char *format, ...) LAP_PRINTF(5, 6);
/* Zeroed memory that becomes the map's, in place of what was there; NULL: there is none. */
void *limits_keep(struct lap_map *map, uint64_t index, size_t bytes);
enum lap_status limits_no_memory(void);

/* Each looks at calls of its topic, and passes over others. */
enum lap_status limits_look_at_layouts(struct limits_look *look, const void *args) LAP_MUST_CHECK;
enum lap_status limits_look_at_pipelines(struct limits_look *look, const void *args) LAP_MUST_CHECK;
enum lap_status limits_look_at_formats(struct limits_look *look, const void *args) LAP_MUST_CHECK;
void limits_layout_destroy(void *layout); /* struct limits_layout *, or NULL */

#endif
