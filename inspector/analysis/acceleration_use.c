/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/acceleration_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/chain.h"

#define ARENA_BYTES ((size_t)1 << 30)

struct acceleration_use_part {
    struct lap_arena arena; /* everything below */
    struct lap_map uses;    /* [index of the structure] */
    struct lap_map micromaps;
};

static enum lap_status need_use(struct acceleration_use_part *part, struct lap_map *uses, uint64_t index,
                                struct acceleration_use **out)
{
    struct acceleration_use *use = *out = lap_map_get(uses, index);

    if (use)
        return LAP_OK;
    use = *out = lap_arena_zalloc(&part->arena, 1, sizeof *use, 8);
    return use && lap_map_put(uses, index, use, NULL) == LAP_OK
               ? LAP_OK
               : lap_no_memory("the builds of acceleration structures");
}

/* ---- builds ---- */

static const VkAccelerationStructureGeometryKHR *geometry_at(const VkAccelerationStructureBuildGeometryInfoKHR *info,
                                                             uint32_t i)
{
    return info->pGeometries ? &info->pGeometries[i] : info->ppGeometries ? info->ppGeometries[i] : NULL;
}

/* Copies the members that vkGetAccelerationStructureBuildSizesKHR reads into a zeroed geometry, so that equal ones have
 * equal bytes. */
static void take_geometry(const VkAccelerationStructureGeometryKHR *from, VkAccelerationStructureGeometryKHR *to)
{
    to->sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR;
    to->geometryType = from->geometryType;
    to->flags = from->flags;
    switch (from->geometryType) {
    case VK_GEOMETRY_TYPE_TRIANGLES_KHR: {
        const VkAccelerationStructureGeometryTrianglesDataKHR *source = &from->geometry.triangles;
        VkAccelerationStructureGeometryTrianglesDataKHR *triangles = &to->geometry.triangles;
        triangles->sType = source->sType;
        triangles->vertexFormat = source->vertexFormat;
        triangles->vertexStride = source->vertexStride;
        triangles->maxVertex = source->maxVertex;
        triangles->indexType = source->indexType;
        triangles->transformData.deviceAddress = source->transformData.deviceAddress != 0;
        break;
    }
    case VK_GEOMETRY_TYPE_AABBS_KHR:
        to->geometry.aabbs.sType = from->geometry.aabbs.sType;
        to->geometry.aabbs.stride = from->geometry.aabbs.stride;
        break;
    case VK_GEOMETRY_TYPE_INSTANCES_KHR:
        to->geometry.instances.sType = from->geometry.instances.sType;
        to->geometry.instances.arrayOfPointers = from->geometry.instances.arrayOfPointers;
        break;
    default:
        break;
    }
}

static const VkAccelerationStructureTrianglesOpacityMicromapEXT *
micromap_of(const VkAccelerationStructureGeometryKHR *geometry)
{
    return geometry->geometryType == VK_GEOMETRY_TYPE_TRIANGLES_KHR
               ? lap_chain_find(geometry->geometry.triangles.pNext,
                                VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_TRIANGLES_OPACITY_MICROMAP_EXT)
               : NULL;
}

static const VkMicromapUsageEXT *usage_at(const VkMicromapUsageEXT *usages, const VkMicromapUsageEXT *const *pointers,
                                          uint32_t i)
{
    return usages ? &usages[i] : pointers ? pointers[i] : NULL;
}

static bool has_usages(const VkMicromapUsageEXT *usages, const VkMicromapUsageEXT *const *pointers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!usage_at(usages, pointers, i))
            return false;
    return true;
}

static bool are_like(const VkMicromapUsageEXT *kept, uint32_t kept_count, const VkMicromapUsageEXT *usages,
                     const VkMicromapUsageEXT *const *pointers, uint32_t count)
{
    for (uint32_t i = 0; i < count && count == kept_count; i++)
        if (memcmp(&kept[i], usage_at(usages, pointers, i), sizeof *kept) != 0)
            return false;
    return count == kept_count;
}

static VkMicromapUsageEXT *take_usages(struct acceleration_use_part *part, const VkMicromapUsageEXT *usages,
                                       const VkMicromapUsageEXT *const *pointers, uint32_t count)
{
    VkMicromapUsageEXT *kept = lap_arena_zalloc(&part->arena, (size_t)count + 1, sizeof *kept, 8);

    for (uint32_t i = 0; kept && i < count; i++)
        kept[i] = *usage_at(usages, pointers, i);
    return kept;
}

static bool has_same_micromap(const struct acceleration_build *build, uint32_t i,
                              const VkAccelerationStructureTrianglesOpacityMicromapEXT *info)
{
    const VkAccelerationStructureTrianglesOpacityMicromapEXT *kept =
        build->micromaps ? &build->micromaps[i].info : NULL;

    if (!kept || !build->micromaps[i].exists || !info)
        return (kept && build->micromaps[i].exists) == (info != NULL);
    return kept->indexType == info->indexType && kept->indexStride == info->indexStride &&
           kept->baseTriangle == info->baseTriangle && kept->micromap == info->micromap &&
           are_like(kept->pUsageCounts, kept->usageCountsCount, info->pUsageCounts, info->ppUsageCounts,
                    info->usageCountsCount);
}

static bool take_micromap(struct acceleration_use_part *part, struct acceleration_build *build, uint32_t i,
                          const VkAccelerationStructureTrianglesOpacityMicromapEXT *info)
{
    VkAccelerationStructureTrianglesOpacityMicromapEXT *kept;

    if (!info)
        return true;
    if (!build->micromaps)
        build->micromaps = lap_arena_zalloc(&part->arena, build->geometry_count, sizeof *build->micromaps, 8);
    if (!build->micromaps)
        return false;
    build->micromaps[i].exists = true;
    kept = &build->micromaps[i].info;
    kept->sType = info->sType;
    kept->indexType = info->indexType;
    kept->indexStride = info->indexStride;
    kept->baseTriangle = info->baseTriangle;
    kept->usageCountsCount = info->usageCountsCount;
    kept->micromap = info->micromap;
    kept->pUsageCounts = take_usages(part, info->pUsageCounts, info->ppUsageCounts, info->usageCountsCount);
    return kept->pUsageCounts != NULL;
}

static bool is_like(const struct acceleration_build *build, const VkAccelerationStructureBuildGeometryInfoKHR *info)
{
    if (build->type != (uint32_t)info->type || build->flags != info->flags ||
        build->geometry_count != info->geometryCount)
        return false;
    for (uint32_t i = 0; i < info->geometryCount; i++) {
        VkAccelerationStructureGeometryKHR geometry;
        memset(&geometry, 0, sizeof geometry);
        take_geometry(geometry_at(info, i), &geometry);
        if (memcmp(&geometry, &build->geometries[i], sizeof geometry) != 0 ||
            !has_same_micromap(build, i, micromap_of(geometry_at(info, i))))
            return false;
    }
    return true;
}

static struct acceleration_build *add_build(struct acceleration_use_part *part, struct acceleration_use *use,
                                            const VkAccelerationStructureBuildGeometryInfoKHR *info)
{
    struct acceleration_build *build = lap_arena_zalloc(&part->arena, 1, sizeof *build, 8);

    if (!build)
        return NULL;
    build->type = (uint32_t)info->type;
    build->flags = info->flags;
    build->geometry_count = info->geometryCount;
    build->geometries = lap_arena_zalloc(&part->arena, info->geometryCount, sizeof *build->geometries, 8);
    build->counts = lap_arena_zalloc(&part->arena, info->geometryCount, sizeof *build->counts, 8);
    if (info->geometryCount && (!build->geometries || !build->counts))
        return NULL;
    for (uint32_t i = 0; i < info->geometryCount; i++) {
        take_geometry(geometry_at(info, i), &build->geometries[i]);
        if (!take_micromap(part, build, i, micromap_of(geometry_at(info, i))))
            return NULL;
    }
    build->next = use->builds;
    use->builds = build;
    return build;
}

/* The counts of a build: of its ranges, or the most that an indirect one allows. Incomplete builds are left out: a
 * replay refuses them. */
static enum lap_status see_build(struct acceleration_use_part *part,
                                 const VkAccelerationStructureBuildGeometryInfoKHR *info,
                                 const VkAccelerationStructureBuildRangeInfoKHR *ranges, const uint32_t *most)
{
    struct acceleration_build *build;
    struct acceleration_use *use;
    enum lap_status status;

    if (!info->dstAccelerationStructure || (info->geometryCount && !ranges && !most))
        return LAP_OK;
    for (uint32_t i = 0; i < info->geometryCount; i++) {
        const VkAccelerationStructureGeometryKHR *geometry = geometry_at(info, i);
        const VkAccelerationStructureTrianglesOpacityMicromapEXT *micromap = geometry ? micromap_of(geometry) : NULL;
        if (!geometry ||
            (micromap && !has_usages(micromap->pUsageCounts, micromap->ppUsageCounts, micromap->usageCountsCount)))
            return LAP_OK;
    }
    status = need_use(part, &part->uses, gen_u64_VkAccelerationStructureKHR(info->dstAccelerationStructure), &use);
    if (status != LAP_OK)
        return status;
    build = use->builds;
    while (build && !is_like(build, info))
        build = build->next;
    if (!build && !(build = add_build(part, use, info)))
        return lap_no_memory("the builds of acceleration structures");
    for (uint32_t i = 0; i < info->geometryCount; i++) {
        uint32_t count = ranges ? ranges[i].primitiveCount : most[i];
        build->counts[i] = count > build->counts[i] ? count : build->counts[i];
    }
    return LAP_OK;
}

static bool is_like_micromap(const struct acceleration_build *build, const VkMicromapBuildInfoEXT *info)
{
    return build->type == (uint32_t)info->type && build->flags == info->flags &&
           are_like(build->usages, build->usage_count, info->pUsageCounts, info->ppUsageCounts, info->usageCountsCount);
}

static enum lap_status see_micromap(struct acceleration_use_part *part, const VkMicromapBuildInfoEXT *info)
{
    struct acceleration_build *build;
    struct acceleration_use *use;
    enum lap_status status;

    if (!info->dstMicromap || !has_usages(info->pUsageCounts, info->ppUsageCounts, info->usageCountsCount))
        return LAP_OK;
    status = need_use(part, &part->micromaps, gen_u64_VkMicromapEXT(info->dstMicromap), &use);
    if (status != LAP_OK)
        return status;
    for (build = use->builds; build; build = build->next)
        if (is_like_micromap(build, info))
            return LAP_OK;
    build = lap_arena_zalloc(&part->arena, 1, sizeof *build, 8);
    if (!build)
        return lap_no_memory("the builds of acceleration structures");
    build->type = (uint32_t)info->type;
    build->flags = info->flags;
    build->usage_count = info->usageCountsCount;
    build->usages = take_usages(part, info->pUsageCounts, info->ppUsageCounts, info->usageCountsCount);
    if (!build->usages)
        return lap_no_memory("the builds of acceleration structures");
    build->next = use->builds;
    use->builds = build;
    return LAP_OK;
}

/* ---- copies ---- */

static enum lap_status see_copy(struct acceleration_use_part *part, struct lap_map *uses, uint64_t from, uint64_t to)
{
    struct acceleration_source *source;
    struct acceleration_use *use;
    enum lap_status status;

    if (!from || !to)
        return LAP_OK;
    status = need_use(part, uses, to, &use);
    if (status != LAP_OK)
        return status;
    for (source = use->sources; source; source = source->next)
        if (source->index == from)
            return LAP_OK;
    source = lap_arena_zalloc(&part->arena, 1, sizeof *source, 8);
    if (!source)
        return lap_no_memory("the builds of acceleration structures");
    source->index = from;
    source->next = use->sources;
    use->sources = source;
    return LAP_OK;
}

/* ---- the pass ---- */

static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    struct acceleration_use_part *part = state;
    enum lap_status status = LAP_OK;

    if (call->command == GEN_vkCmdBuildAccelerationStructuresKHR) {
        const struct gen_args_vkCmdBuildAccelerationStructuresKHR *args = call->args;
        for (uint32_t i = 0; args->pInfos && args->ppBuildRangeInfos && i < args->infoCount && status == LAP_OK; i++)
            status = see_build(part, &args->pInfos[i], args->ppBuildRangeInfos[i], NULL);
    } else if (call->command == GEN_vkCmdBuildAccelerationStructuresIndirectKHR) {
        const struct gen_args_vkCmdBuildAccelerationStructuresIndirectKHR *args = call->args;
        for (uint32_t i = 0; args->pInfos && args->ppMaxPrimitiveCounts && i < args->infoCount && status == LAP_OK; i++)
            status = see_build(part, &args->pInfos[i], NULL, args->ppMaxPrimitiveCounts[i]);
    } else if (call->command == GEN_vkCmdCopyAccelerationStructureKHR) {
        const VkCopyAccelerationStructureInfoKHR *info =
            ((const struct gen_args_vkCmdCopyAccelerationStructureKHR *)call->args)->pInfo;
        if (info)
            status = see_copy(part, &part->uses, gen_u64_VkAccelerationStructureKHR(info->src),
                              gen_u64_VkAccelerationStructureKHR(info->dst));
    } else if (call->command == GEN_vkCmdBuildMicromapsEXT) {
        const struct gen_args_vkCmdBuildMicromapsEXT *args = call->args;
        for (uint32_t i = 0; args->pInfos && i < args->infoCount && status == LAP_OK; i++)
            status = see_micromap(part, &args->pInfos[i]);
    } else if (call->command == GEN_vkCmdCopyMicromapEXT) {
        const VkCopyMicromapInfoEXT *info = ((const struct gen_args_vkCmdCopyMicromapEXT *)call->args)->pInfo;
        if (info)
            status =
                see_copy(part, &part->micromaps, gen_u64_VkMicromapEXT(info->src), gen_u64_VkMicromapEXT(info->dst));
    }
    return status;
}

static const uint16_t commands[] = {GEN_vkCreateAccelerationStructureKHR, GEN_vkCreateMicromapEXT, GEN_COMMAND_NONE};

static enum lap_status see_creation(struct acceleration_use_part *part, struct lap_map *uses, uint64_t index,
                                    VkDeviceSize bytes)
{
    struct acceleration_use *use;
    enum lap_status status = index ? need_use(part, uses, index, &use) : LAP_END;

    if (status == LAP_OK)
        use->created_bytes = bytes;
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct acceleration_use_part *part = state;

    if (call->command == GEN_vkCreateMicromapEXT) {
        const struct gen_args_vkCreateMicromapEXT *args = call->args;
        return args->pCreateInfo && args->pMicromap
                   ? see_creation(part, &part->micromaps, gen_u64_VkMicromapEXT(*args->pMicromap),
                                  args->pCreateInfo->size)
                   : LAP_OK;
    }
    const struct gen_args_vkCreateAccelerationStructureKHR *args = call->args;
    return args->pCreateInfo && args->pAccelerationStructure
               ? see_creation(part, &part->uses, gen_u64_VkAccelerationStructureKHR(*args->pAccelerationStructure),
                              args->pCreateInfo->size)
               : LAP_OK;
}

void *acceleration_use_create(void)
{
    struct acceleration_use_part *part = calloc(1, sizeof *part);

    if (part) {
        lap_arena_init(&part->arena, ARENA_BYTES);
        lap_map_init(&part->uses);
        lap_map_init(&part->micromaps);
    }
    return part;
}

void acceleration_use_destroy(void *state)
{
    struct acceleration_use_part *part = state;

    if (!part)
        return;
    lap_map_finish(&part->uses);
    lap_map_finish(&part->micromaps);
    lap_arena_finish(&part->arena);
    free(part);
}

void acceleration_use_visitor(void *part, struct trace_visitor *out)
{
    *out =
        (struct trace_visitor){.commands = commands, .visit = visit, .visit_in_block = visit_in_block, .state = part};
}

struct acceleration_use *acceleration_use_of(void *part, uint64_t index)
{
    return lap_map_get(&((struct acceleration_use_part *)part)->uses, index);
}

struct acceleration_use *acceleration_use_of_micromap(void *part, uint64_t index)
{
    return lap_map_get(&((struct acceleration_use_part *)part)->micromaps, index);
}
