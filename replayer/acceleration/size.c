/* SPDX-License-Identifier: MIT */
/* size: finds the sizes of acceleration structures and micromaps on this device. */
#include <stdlib.h>

#include "base/array.h"
#include "replayer/acceleration/acceleration.h"
#include "replayer/analysis/analysis.h"
#include "replayer/core/handles.h"

/* The build's geometries, with their micromaps as far as they exist now. */
static const VkAccelerationStructureGeometryKHR *geometries_of(struct replay *r, const struct acceleration_build *build)
{
    VkAccelerationStructureTrianglesOpacityMicromapEXT *micromaps;
    VkAccelerationStructureGeometryKHR *geometries;

    if (!build->micromaps)
        return build->geometries;
    micromaps = replay_scratch(r, build->geometry_count, sizeof *micromaps);
    geometries = replay_scratch(r, build->geometry_count, sizeof *geometries);
    for (uint32_t i = 0; micromaps && geometries && i < build->geometry_count; i++) {
        const struct replay_object *object;
        geometries[i] = build->geometries[i];
        if (!build->micromaps[i].exists)
            continue;
        micromaps[i] = build->micromaps[i].info;
        object = replay_object_get(r, GEN_HANDLE_VkMicromapEXT, gen_u64_VkMicromapEXT(micromaps[i].micromap));
        micromaps[i].micromap = gen_VkMicromapEXT(object ? object->live : 0);
        geometries[i].geometry.triangles.pNext = &micromaps[i];
    }
    return micromaps ? geometries : NULL;
}

static enum lap_status size_of_micromap(const struct replay_device *dev, const struct acceleration_build *build,
                                        VkDeviceSize *out_bytes)
{
    VkMicromapBuildSizesInfoEXT sizes = {.sType = VK_STRUCTURE_TYPE_MICROMAP_BUILD_SIZES_INFO_EXT};
    const VkMicromapBuildInfoEXT info = {.sType = VK_STRUCTURE_TYPE_MICROMAP_BUILD_INFO_EXT,
                                         .type = (VkMicromapTypeEXT)build->type,
                                         .flags = build->flags,
                                         .usageCountsCount = build->usage_count,
                                         .pUsageCounts = build->usages};

    dev->vk.GetMicromapBuildSizesEXT(dev->live, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &sizes);
    *out_bytes = sizes.micromapSize;
    return LAP_OK;
}

static enum lap_status size_of_build(struct replay *r, const struct replay_device *dev,
                                     const struct acceleration_build *build, VkDeviceSize *out_bytes)
{
    VkAccelerationStructureBuildSizesInfoKHR sizes = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
    const VkAccelerationStructureBuildGeometryInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
        .type = (VkAccelerationStructureTypeKHR)build->type,
        .flags = build->flags,
        .geometryCount = build->geometry_count,
        .pGeometries = geometries_of(r, build)};

    if (build->geometry_count && !info.pGeometries)
        return replay_no_scratch(r);
    dev->vk.GetAccelerationStructureBuildSizesKHR(dev->live, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info,
                                                  build->counts, &sizes);
    *out_bytes = sizes.accelerationStructureSize;
    return LAP_OK;
}

static struct acceleration_use *use_of(const struct replay *r, enum gen_handle_type type, uint64_t index)
{
    return type == GEN_HANDLE_VkMicromapEXT ? trace_analysis_micromap(r->analysis.trace, index)
                                            : trace_analysis_acceleration(r->analysis.trace, index);
}

/* The structures whose contents may reach one structure, which is the first of them. */
struct search {
    uint64_t *indices;
    size_t count, capacity;
};

static enum lap_status add(struct search *search, struct acceleration_use *use, uint64_t index)
{
    if (use && use->seen)
        return LAP_OK;
    if (!lap_array_grow(&search->indices, sizeof *search->indices, &search->capacity, search->count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the sources of an acceleration structure");
    search->indices[search->count++] = index;
    if (use)
        use->seen = true;
    return LAP_OK;
}

enum lap_status replay_acceleration_find_size(struct replay *r, const struct replay_device *dev,
                                              enum gen_handle_type type, uint64_t index, VkDeviceSize recorded,
                                              VkDeviceSize *out_bytes)
{
    struct search search = {0};
    enum lap_status status;

    *out_bytes = 0;
    /* Damage ends the pass; playback reports it. */
    if (replay_analyze(r, TRACE_ANALYSIS_ACCELERATION) == LAP_ERROR_MEMORY)
        return LAP_ERROR_MEMORY;
    status = add(&search, use_of(r, type, index), index);
    for (size_t i = 0; i < search.count && status == LAP_OK; i++) {
        const struct acceleration_use *use = use_of(r, type, search.indices[i]);
        const struct replay_object *object = i ? replay_object_get(r, type, search.indices[i]) : NULL;
        VkDeviceSize bytes = i ? (use ? use->created_bytes : 0) : recorded;
        if (object && object->record) {
            bytes = ((const struct replay_structure *)object->record)->bytes;
        } else if (use && (use->builds || use->sources)) {
            bytes = 0;
            for (const struct acceleration_build *build = use->builds; build && status == LAP_OK; build = build->next) {
                VkDeviceSize size = 0;
                status = type == GEN_HANDLE_VkMicromapEXT ? size_of_micromap(dev, build, &size)
                                                          : size_of_build(r, dev, build, &size);
                bytes = size > bytes ? size : bytes;
            }
            for (const struct acceleration_source *from = use->sources; from && status == LAP_OK; from = from->next)
                status = add(&search, use_of(r, type, from->index), from->index);
        }
        *out_bytes = bytes > *out_bytes ? bytes : *out_bytes;
    }
    for (size_t i = 0; i < search.count; i++) {
        struct acceleration_use *use = use_of(r, type, search.indices[i]);
        if (use)
            use->seen = false;
    }
    free(search.indices);
    *out_bytes = *out_bytes ? *out_bytes : recorded ? recorded : 1;
    return status;
}
