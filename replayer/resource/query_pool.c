/* SPDX-License-Identifier: MIT */
/*
 * query_pool: pools of queries, and the replacement of performance queries.
 *
 * Their counters are the recorded driver's: the same number means something else on another one. There, and where the
 * profiling lock is not available, a pool of timestamps substitutes: each query ends with a timestamp, so that waits
 * for results and copies of them complete. Results differ in any replay, and nothing compares them. Further passes of
 * the same queries write their timestamps again.
 */
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/device/gpu_choice.h"
#include "replayer/device/video_profile.h"
#include "replayer/resource/create.h"
#include "replayer/sync/deferred_destroy.h"

#define LOCK_TIMEOUT_NS 1000000000u

static bool is_performance(VkQueryType type)
{
    return type == VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR || type == VK_QUERY_TYPE_PERFORMANCE_QUERY_INTEL;
}

/* Whether the recorded counters mean the same on the replay device. The lock is held from the first pool to the end of
 * the device. */
static bool has_counters(struct replay *r, struct replay_device *dev, VkQueryType type)
{
    const VkAcquireProfilingLockInfoKHR info = {.sType = VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR,
                                                .timeout = LOCK_TIMEOUT_NS};

    if (type != VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR || !dev->vk.AcquireProfilingLockKHR ||
        !dev->vk.ReleaseProfilingLockKHR || !replay_gpu_is_recorded(r, dev->instance))
        return false;
    if (!dev->queries.has_lock)
        dev->queries.has_lock = dev->vk.AcquireProfilingLockKHR(dev->live, &info) == VK_SUCCESS;
    return dev->queries.has_lock;
}

static enum lap_status substitute(struct replay *r, const struct replay_device *dev, VkQueryPoolCreateInfo *info)
{
    if (!dev->instance->properties.limits.timestampComputeAndGraphics)
        return replay_refuse(r, "performance queries of another driver, and the GPU has no timestamps in their place");
    if (!dev->queries.any_substituted)
        lap_log(r->log, LAP_LOG_WARNING,
                "performance queries have counters of the recorded driver alone: they are played as timestamps");
    info->pNext = NULL;
    info->queryType = VK_QUERY_TYPE_TIMESTAMP;
    info->pipelineStatistics = 0;
    return LAP_OK;
}

enum lap_status replay_CreateQueryPool(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkCreateQueryPool *args)
{
    VkQueryPoolCreateInfo info = *args->pCreateInfo;
    const bool other = is_performance(info.queryType) && !has_counters(r, dev, info.queryType);
    enum lap_status status = other ? substitute(r, dev, &info) : LAP_OK;
    VkQueryPool live = VK_NULL_HANDLE;
    VkResult result;

    if (status == LAP_OK && info.pNext)
        status = replay_video_profiles_check(r, info.pNext);
    if (status != LAP_OK)
        return status;
    result = dev->vk.CreateQueryPool(dev->live, &info, NULL, &live);
    if (result < 0)
        return replay_result(r, result);
    if (other && lap_map_put(&dev->queries.substituted, gen_u64_VkQueryPool(live), dev, NULL) != LAP_OK) {
        dev->vk.DestroyQueryPool(dev->live, live, NULL);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a query pool");
    }
    dev->queries.any_substituted |= other;
    return gen_keep_VkQueryPool(r, dev, args->pQueryPool, &live, 1);
}

enum lap_status replay_end_VkQueryPool(struct replay *r, struct replay_device *dev, uint64_t index,
                                       struct replay_object *object)
{
    if (dev->queries.any_substituted)
        lap_map_remove(&dev->queries.substituted, object->live);
    if (__builtin_expect(dev->busy, 0))
        replay_deferred_destroy_handle(dev, GEN_HANDLE_VkQueryPool, object->live);
    else
        dev->vk.DestroyQueryPool(dev->live, gen_VkQueryPool(object->live), NULL);
    replay_object_end(r, GEN_HANDLE_VkQueryPool, index, object);
    return LAP_OK;
}

void replay_query_pools_finish(struct replay_device *dev)
{
    if (dev->queries.has_lock)
        dev->vk.ReleaseProfilingLockKHR(dev->live);
    dev->queries.has_lock = false;
    lap_map_finish(&dev->queries.substituted);
}

/* ---- commands ---- */

static bool is_substituted(const struct replay_device *dev, VkQueryPool pool)
{
    return __builtin_expect(dev->queries.any_substituted, 0) &&
           lap_map_get(&dev->queries.substituted, gen_u64_VkQueryPool(pool));
}

enum lap_status replay_CmdBeginQuery(struct replay *r, struct replay_device *dev, struct gen_args_vkCmdBeginQuery *args)
{
    if (!is_substituted(dev, args->queryPool))
        dev->vk.CmdBeginQuery(args->commandBuffer, args->queryPool, args->query, args->flags);
    return LAP_OK;
}

enum lap_status replay_CmdEndQuery(struct replay *r, struct replay_device *dev, struct gen_args_vkCmdEndQuery *args)
{
    if (is_substituted(dev, args->queryPool))
        dev->vk.CmdWriteTimestamp(args->commandBuffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, args->queryPool,
                                  args->query);
    else
        dev->vk.CmdEndQuery(args->commandBuffer, args->queryPool, args->query);
    return LAP_OK;
}

enum lap_status replay_CmdBeginQueryIndexedEXT(struct replay *r, struct replay_device *dev,
                                               struct gen_args_vkCmdBeginQueryIndexedEXT *args)
{
    if (!is_substituted(dev, args->queryPool))
        dev->vk.CmdBeginQueryIndexedEXT(args->commandBuffer, args->queryPool, args->query, args->flags, args->index);
    return LAP_OK;
}

enum lap_status replay_CmdEndQueryIndexedEXT(struct replay *r, struct replay_device *dev,
                                             struct gen_args_vkCmdEndQueryIndexedEXT *args)
{
    if (is_substituted(dev, args->queryPool))
        dev->vk.CmdWriteTimestamp(args->commandBuffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, args->queryPool,
                                  args->query);
    else
        dev->vk.CmdEndQueryIndexedEXT(args->commandBuffer, args->queryPool, args->query, args->index);
    return LAP_OK;
}
