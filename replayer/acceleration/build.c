/* SPDX-License-Identifier: MIT */
/* build: commands that build and copy acceleration structures. */
#include <inttypes.h>

#include "replayer/acceleration/acceleration.h"
#include "replayer/acceleration/build_scratch.h"
#include "replayer/core/handles.h"
#include "vulkan/chain.h"

static const struct replay_structure *structure_of(struct replay *r, VkAccelerationStructureKHR live,
                                                   uint64_t *out_index)
{
    const struct replay_object *object =
        replay_object_of(r, GEN_HANDLE_VkAccelerationStructureKHR, gen_u64_VkAccelerationStructureKHR(live), out_index);
    return object ? object->record : NULL;
}

/* ---- builds ---- */

/* Checks data that a driver uses without a check. */
static enum lap_status check_geometries(struct replay *r, const VkAccelerationStructureBuildGeometryInfoKHR *info)
{
    bool is_top = info->type == VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR;

    if (info->type != VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR &&
        info->type != VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR)
        return replay_invalid(r, "an acceleration structure of type %d is built", (int)info->type);
    if (info->mode != VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR &&
        info->mode != VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR)
        return replay_invalid(r, "an acceleration structure is built in mode %d", (int)info->mode);
    if (info->geometryCount && !info->pGeometries == !info->ppGeometries)
        return replay_absent(r, "pGeometries");
    for (uint32_t i = 0; i < info->geometryCount; i++) {
        const VkAccelerationStructureGeometryKHR *geometry =
            info->pGeometries ? &info->pGeometries[i] : info->ppGeometries[i];
        bool is_known = geometry && (is_top ? geometry->geometryType == VK_GEOMETRY_TYPE_INSTANCES_KHR
                                            : geometry->geometryType == VK_GEOMETRY_TYPE_TRIANGLES_KHR ||
                                                  geometry->geometryType == VK_GEOMETRY_TYPE_AABBS_KHR);
        if (!geometry)
            return replay_absent(r, "ppGeometries");
        if (!is_known)
            return replay_invalid(r, "an acceleration structure of type %d is built from geometry of type %d",
                                  (int)info->type, (int)geometry->geometryType);
        if (!is_top && geometry->geometryType == VK_GEOMETRY_TYPE_TRIANGLES_KHR) {
            const VkAccelerationStructureTrianglesOpacityMicromapEXT *micromap =
                lap_chain_find(geometry->geometry.triangles.pNext,
                               VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_TRIANGLES_OPACITY_MICROMAP_EXT);
            enum lap_status status =
                micromap ? replay_acceleration_check_usages(r, micromap->usageCountsCount, micromap->pUsageCounts,
                                                            micromap->ppUsageCounts)
                         : LAP_OK;
            if (status != LAP_OK)
                return status;
        }
    }
    return LAP_OK;
}

/* Checks that the target has room, and gives the build scratch memory. counts: the most primitives. */
static enum lap_status prepare(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                               VkAccelerationStructureBuildGeometryInfoKHR *info, const uint32_t *counts)
{
    VkAccelerationStructureBuildSizesInfoKHR sizes = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
    bool updates = info->mode == VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR;
    uint64_t index, source;
    const struct replay_structure *target = structure_of(r, info->dstAccelerationStructure, &index);

    if (!target)
        return replay_absent(r, "dstAccelerationStructure");
    if (updates && !structure_of(r, info->srcAccelerationStructure, &source))
        return replay_absent(r, "srcAccelerationStructure");
    dev->vk.GetAccelerationStructureBuildSizesKHR(dev->live, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, info,
                                                  counts, &sizes);
    if (sizes.accelerationStructureSize > target->bytes)
        return replay_fail(
            r, "VkAccelerationStructureKHR:%" PRIu64 " has %" PRIu64 " bytes, and this build needs %" PRIu64, index,
            (uint64_t)target->bytes, (uint64_t)sizes.accelerationStructureSize);
    return replay_build_scratch_take(r, dev, commands, info->scratchData.deviceAddress,
                                     updates ? sizes.updateScratchSize : sizes.buildScratchSize,
                                     &info->scratchData.deviceAddress);
}

enum lap_status replay_CmdBuildAccelerationStructuresKHR(struct replay *r, struct replay_device *dev,
                                                         struct gen_args_vkCmdBuildAccelerationStructuresKHR *args)
{
    VkAccelerationStructureBuildGeometryInfoKHR *infos =
        (VkAccelerationStructureBuildGeometryInfoKHR *)(uintptr_t)args->pInfos; /* in the decoder's own memory */
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->infoCount && status == LAP_OK; i++) {
        const VkAccelerationStructureBuildRangeInfoKHR *ranges = args->ppBuildRangeInfos[i];
        uint32_t *counts = replay_scratch(r, infos[i].geometryCount, sizeof *counts);
        if (infos[i].geometryCount && !ranges)
            return replay_absent(r, "ppBuildRangeInfos");
        if (infos[i].geometryCount && !counts)
            return replay_no_scratch(r);
        for (uint32_t j = 0; j < infos[i].geometryCount; j++)
            counts[j] = ranges[j].primitiveCount;
        status = check_geometries(r, &infos[i]);
        if (status == LAP_OK)
            status = prepare(r, dev, args->commandBuffer, &infos[i], counts);
    }
    if (status == LAP_OK)
        dev->vk.CmdBuildAccelerationStructuresKHR(args->commandBuffer, args->infoCount, infos, args->ppBuildRangeInfos);
    return status;
}

enum lap_status
replay_CmdBuildAccelerationStructuresIndirectKHR(struct replay *r, struct replay_device *dev,
                                                 struct gen_args_vkCmdBuildAccelerationStructuresIndirectKHR *args)
{
    VkAccelerationStructureBuildGeometryInfoKHR *infos =
        (VkAccelerationStructureBuildGeometryInfoKHR *)(uintptr_t)args->pInfos; /* in the decoder's own memory */
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->infoCount && status == LAP_OK; i++) {
        if (infos[i].geometryCount && !args->ppMaxPrimitiveCounts[i])
            return replay_absent(r, "ppMaxPrimitiveCounts");
        status = check_geometries(r, &infos[i]);
        if (status == LAP_OK)
            status = prepare(r, dev, args->commandBuffer, &infos[i], args->ppMaxPrimitiveCounts[i]);
    }
    if (status == LAP_OK)
        dev->vk.CmdBuildAccelerationStructuresIndirectKHR(args->commandBuffer, args->infoCount, infos,
                                                          args->pIndirectDeviceAddresses, args->pIndirectStrides,
                                                          args->ppMaxPrimitiveCounts);
    return status;
}

/* ---- copies ---- */

enum lap_status replay_CmdCopyAccelerationStructureKHR(struct replay *r, struct replay_device *dev,
                                                       struct gen_args_vkCmdCopyAccelerationStructureKHR *args)
{
    uint64_t source_index, index;
    const struct replay_structure *source = structure_of(r, args->pInfo->src, &source_index),
                                  *target = structure_of(r, args->pInfo->dst, &index);

    if (!source || !target)
        return replay_absent(r, source ? "dst" : "src");
    if (source->bytes > target->bytes)
        return replay_fail(r,
                           "VkAccelerationStructureKHR:%" PRIu64 " has %" PRIu64
                           " bytes, and VkAccelerationStructureKHR:%" PRIu64 ", which is copied there, %" PRIu64,
                           index, (uint64_t)target->bytes, source_index, (uint64_t)source->bytes);
    dev->vk.CmdCopyAccelerationStructureKHR(args->commandBuffer, args->pInfo);
    return LAP_OK;
}

enum lap_status replay_acceleration_reads_serialized(struct replay *r, const struct replay_device *dev)
{
    return dev->recorded.same_driver ? LAP_OK
                                     : replay_refuse(r, "serialized acceleration structures are bytes that only the "
                                                        "recorded driver reads, and this is another one");
}

enum lap_status
replay_CmdCopyAccelerationStructureToMemoryKHR(struct replay *r, struct replay_device *dev,
                                               struct gen_args_vkCmdCopyAccelerationStructureToMemoryKHR *args)
{
    enum lap_status status = replay_acceleration_reads_serialized(r, dev);
    uint64_t index;

    if (status != LAP_OK)
        return status;
    if (!structure_of(r, args->pInfo->src, &index))
        return replay_absent(r, "src");
    dev->vk.CmdCopyAccelerationStructureToMemoryKHR(args->commandBuffer, args->pInfo);
    return LAP_OK;
}

enum lap_status
replay_CmdCopyMemoryToAccelerationStructureKHR(struct replay *r, struct replay_device *dev,
                                               struct gen_args_vkCmdCopyMemoryToAccelerationStructureKHR *args)
{
    enum lap_status status = replay_acceleration_reads_serialized(r, dev);
    uint64_t index;

    if (status != LAP_OK)
        return status;
    if (!structure_of(r, args->pInfo->dst, &index))
        return replay_absent(r, "dst");
    dev->vk.CmdCopyMemoryToAccelerationStructureKHR(args->commandBuffer, args->pInfo);
    return LAP_OK;
}
