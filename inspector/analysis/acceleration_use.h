/* SPDX-License-Identifier: MIT */
/*
 * acceleration_use: finds how a trace fills each acceleration structure and each micromap: the builds into it, and the
 * others that are copied into it. Sizes of builds differ between drivers, so a replay asks for the sizes before it
 * creates a structure. A part of trace_analysis.h.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_ACCELERATION_USE_H
#define LAP_INSPECTOR_ANALYSIS_ACCELERATION_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "inspector/analysis/trace_pass.h"

/* The micromap of a geometry; its address is 0, and its handle an index in the trace. */
struct acceleration_geometry_micromap {
    bool exists;
    VkAccelerationStructureTrianglesOpacityMicromapEXT info; /* its chain is NULL */
};

/* Builds that differ in the number of primitives only, with the most of them for each geometry. Those of micromaps have
 * `usages` in the place of geometries. */
struct acceleration_build {
    uint32_t type;  /* VkAccelerationStructureTypeKHR, VkMicromapTypeEXT */
    uint32_t flags; /* of the build */
    uint32_t geometry_count;
    struct acceleration_geometry_micromap *micromaps; /* of the geometries; NULL: none has one */
    uint32_t usage_count;
    VkMicromapUsageEXT *usages;
    /* The inputs of a size. Addresses are 0, or 1 for a transform that exists; the chains are NULL. */
    VkAccelerationStructureGeometryKHR *geometries;
    uint32_t *counts; /* of primitives */
    struct acceleration_build *next;
};

/* Another structure that is copied into it. */
struct acceleration_source {
    uint64_t index;
    struct acceleration_source *next;
};

struct acceleration_use {
    VkDeviceSize created_bytes; /* the recorded size; 0: its creation was not found */
    struct acceleration_build *builds;
    struct acceleration_source *sources;
    bool seen; /* for a search of the caller's; false before and after it */
};

/* The part: NULL without memory; its visitor. */
void *acceleration_use_create(void);
void acceleration_use_destroy(void *part);
void acceleration_use_visitor(void *part, struct trace_visitor *out);
/* By the structure's index in the trace; NULL: nothing fills it. */
struct acceleration_use *acceleration_use_of(void *part, uint64_t index);
struct acceleration_use *acceleration_use_of_micromap(void *part, uint64_t index);

#endif
