/* SPDX-License-Identifier: MIT */
/* micromap: creates, builds and copies micromaps, in the same way as acceleration structures. */
#include <inttypes.h>
#include <stdlib.h>

#include "replayer/acceleration/acceleration.h"
#include "replayer/acceleration/build_scratch.h"
#include "replayer/core/handles.h"
#include "replayer/sync/deferred_destroy.h"

static const struct replay_structure *micromap_of(struct replay *r, VkMicromapEXT live, uint64_t *out_index)
{
    const struct replay_object *object =
        replay_object_of(r, GEN_HANDLE_VkMicromapEXT, gen_u64_VkMicromapEXT(live), out_index);
    return object ? object->record : NULL;
}

enum lap_status replay_CreateMicromapEXT(struct replay *r, struct replay_device *dev,
                                         struct gen_args_vkCreateMicromapEXT *args)
{
    VkMicromapCreateInfoEXT info = *args->pCreateInfo;
    uint64_t index = gen_u64_VkMicromapEXT(*args->pMicromap);
    VkMicromapEXT live = VK_NULL_HANDLE;
    struct replay_structure *micromap;
    enum lap_status status;

    if (!index)
        return LAP_OK; /* the recorded call failed */
    if (!dev->vk.GetMicromapBuildSizesEXT)
        return replay_missing(r, GEN_vkGetMicromapBuildSizesEXT);
    micromap = calloc(1, sizeof *micromap);
    if (!micromap)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a micromap");
    status = replay_acceleration_find_size(r, dev, GEN_HANDLE_VkMicromapEXT, index, info.size, &micromap->bytes);
    if (status == LAP_OK)
        status = replay_acceleration_buffer(r, dev, VK_BUFFER_USAGE_MICROMAP_STORAGE_BIT_EXT, micromap->bytes,
                                            &micromap->buffer, &micromap->place);
    if (status != LAP_OK) {
        free(micromap);
        return status;
    }
    info.createFlags = 0;
    info.deviceAddress = 0;
    info.buffer = micromap->buffer;
    info.offset = 0;
    info.size = micromap->bytes;
    status = replay_result(r, dev->vk.CreateMicromapEXT(dev->live, &info, NULL, &live));
    if (status == LAP_OK)
        status = gen_keep_VkMicromapEXT(r, dev, args->pMicromap, &live, 1);
    if (status == LAP_OK) {
        replay_object_get(r, GEN_HANDLE_VkMicromapEXT, index)->record = micromap;
        return LAP_OK;
    }
    replay_acceleration_buffer_destroy(dev, micromap->buffer, &micromap->place);
    replay_objects_release(r, 1);
    free(micromap);
    return status;
}

enum lap_status replay_end_VkMicromapEXT(struct replay *r, struct replay_device *dev, uint64_t index,
                                         struct replay_object *object)
{
    struct replay_structure *micromap = object->record;

    replay_destroy(dev, GEN_HANDLE_VkMicromapEXT, object->live);
    if (micromap) {
        replay_acceleration_buffer_destroy(dev, micromap->buffer, &micromap->place);
        replay_objects_release(r, 1);
        free(micromap);
    }
    replay_object_end(r, GEN_HANDLE_VkMicromapEXT, index, object);
    return LAP_OK;
}

enum lap_status replay_acceleration_check_usages(struct replay *r, uint32_t count, const VkMicromapUsageEXT *usages,
                                                 const VkMicromapUsageEXT *const *pointers)
{
    if (count && !usages == !pointers)
        return replay_absent(r, "pUsageCounts");
    for (uint32_t i = 0; i < count && pointers; i++)
        if (!pointers[i])
            return replay_absent(r, "ppUsageCounts");
    return LAP_OK;
}

static enum lap_status prepare(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                               VkMicromapBuildInfoEXT *info)
{
    VkMicromapBuildSizesInfoEXT sizes = {.sType = VK_STRUCTURE_TYPE_MICROMAP_BUILD_SIZES_INFO_EXT};
    uint64_t index;
    const struct replay_structure *target = micromap_of(r, info->dstMicromap, &index);
    enum lap_status status =
        replay_acceleration_check_usages(r, info->usageCountsCount, info->pUsageCounts, info->ppUsageCounts);

    if (status != LAP_OK)
        return status;
    if (!target)
        return replay_absent(r, "dstMicromap");
    dev->vk.GetMicromapBuildSizesEXT(dev->live, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, info, &sizes);
    if (sizes.micromapSize > target->bytes)
        return replay_fail(r, "VkMicromapEXT:%" PRIu64 " has %" PRIu64 " bytes, and this build needs %" PRIu64, index,
                           (uint64_t)target->bytes, (uint64_t)sizes.micromapSize);
    return replay_build_scratch_take(r, dev, commands, info->scratchData.deviceAddress, sizes.buildScratchSize,
                                     &info->scratchData.deviceAddress);
}

enum lap_status replay_CmdBuildMicromapsEXT(struct replay *r, struct replay_device *dev,
                                            struct gen_args_vkCmdBuildMicromapsEXT *args)
{
    VkMicromapBuildInfoEXT *infos = (VkMicromapBuildInfoEXT *)(uintptr_t)args->pInfos; /* in the decoder's own memory */
    enum lap_status status = LAP_OK;

    if (!dev->vk.GetMicromapBuildSizesEXT)
        return replay_missing(r, GEN_vkGetMicromapBuildSizesEXT);
    for (uint32_t i = 0; i < args->infoCount && status == LAP_OK; i++)
        status = prepare(r, dev, args->commandBuffer, &infos[i]);
    if (status == LAP_OK)
        dev->vk.CmdBuildMicromapsEXT(args->commandBuffer, args->infoCount, infos);
    return status;
}

enum lap_status replay_CmdCopyMicromapEXT(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkCmdCopyMicromapEXT *args)
{
    uint64_t source_index, index;
    const struct replay_structure *source = micromap_of(r, args->pInfo->src, &source_index),
                                  *target = micromap_of(r, args->pInfo->dst, &index);

    if (!source || !target)
        return replay_absent(r, source ? "dst" : "src");
    if (source->bytes > target->bytes)
        return replay_fail(r,
                           "VkMicromapEXT:%" PRIu64 " has %" PRIu64 " bytes, and VkMicromapEXT:%" PRIu64
                           ", which is copied there, %" PRIu64,
                           index, (uint64_t)target->bytes, source_index, (uint64_t)source->bytes);
    dev->vk.CmdCopyMicromapEXT(args->commandBuffer, args->pInfo);
    return LAP_OK;
}

enum lap_status replay_CmdCopyMicromapToMemoryEXT(struct replay *r, struct replay_device *dev,
                                                  struct gen_args_vkCmdCopyMicromapToMemoryEXT *args)
{
    enum lap_status status = replay_acceleration_reads_serialized(r, dev);
    uint64_t index;

    if (status != LAP_OK)
        return status;
    if (!micromap_of(r, args->pInfo->src, &index))
        return replay_absent(r, "src");
    dev->vk.CmdCopyMicromapToMemoryEXT(args->commandBuffer, args->pInfo);
    return LAP_OK;
}

enum lap_status replay_CmdCopyMemoryToMicromapEXT(struct replay *r, struct replay_device *dev,
                                                  struct gen_args_vkCmdCopyMemoryToMicromapEXT *args)
{
    enum lap_status status = replay_acceleration_reads_serialized(r, dev);
    uint64_t index;

    if (status != LAP_OK)
        return status;
    if (!micromap_of(r, args->pInfo->dst, &index))
        return replay_absent(r, "dst");
    dev->vk.CmdCopyMemoryToMicromapEXT(args->commandBuffer, args->pInfo);
    return LAP_OK;
}
