/* SPDX-License-Identifier: MIT */
#include "layer/tell.h"

#include <stdlib.h>

#include "gen_layer.h"

struct layer_tell layer_tell_of_event(struct layer_device *dev, VkEvent event)
{
    const struct lap_object *record = LAYER_GET(dev, VkEvent, event);
    return (struct layer_tell){record ? record->index << 1 | 1 : 0, 0, 1};
}

struct layer_tell layer_tell_of_queries(struct layer_device *dev, VkQueryPool pool, uint32_t first, uint32_t count)
{
    const struct lap_object *record = LAYER_GET(dev, VkQueryPool, pool);
    return (struct layer_tell){record ? record->index << 1 : 0, first, count};
}

bool layer_tells_add(struct layer_tells *tells, struct layer_tell tell)
{
    struct layer_tell *last = tells->count ? &tells->items[tells->count - 1] : NULL;
    if (!tell.object || !tell.count)
        return true;
    /* Queries are mostly used one after the other. */
    if (last && last->object == tell.object && (uint64_t)last->first + last->count == tell.first) {
        last->count += tell.count;
        return true;
    }
    if (tells->count == tells->capacity) {
        uint32_t capacity = tells->capacity ? tells->capacity * 2 : 8;
        struct layer_tell *more = capacity > UINT32_MAX / 4 ? NULL : realloc(tells->items, capacity * sizeof *more);
        if (!more)
            return false;
        tells->items = more;
        tells->capacity = capacity;
    }
    tells->items[tells->count++] = tell;
    return true;
}

bool layer_tells_append(struct layer_tells *tells, const struct layer_tells *more)
{
    for (uint32_t i = 0; i < more->count; i++)
        if (!layer_tells_add(tells, more->items[i]))
            return false;
    return true;
}

bool layer_tells_any(const struct layer_tells *tells, struct layer_tell what)
{
    for (uint32_t i = 0; i < tells->count; i++) {
        const struct layer_tell *tell = &tells->items[i];
        if (tell->object == what.object && tell->first < (uint64_t)what.first + what.count &&
            what.first < (uint64_t)tell->first + tell->count)
            return true;
    }
    return false;
}

void layer_tells_finish(struct layer_tells *tells)
{
    free(tells->items);
    *tells = (struct layer_tells){0};
}

/* ---- commands ---- */

static void add(struct layer_cmdbuf *cb, struct layer_tell tell)
{
    if (cb->state == LAYER_CMDBUF_RECORDING && !layer_tells_add(&cb->tells, tell))
        layer_stop("out of memory");
}

void layer_tell_event(struct layer_cmdbuf *cb, VkEvent event)
{
    add(cb, layer_tell_of_event(cb->device, event));
}

static void tell_queries(struct layer_cmdbuf *cb, VkQueryPool pool, uint32_t first, uint32_t count)
{
    add(cb, layer_tell_of_queries(cb->device, pool, first, count));
}

void hook_after_CreateQueryPool(struct layer_device *dev, VkDevice device, const VkQueryPoolCreateInfo *pCreateInfo,
                                const VkAllocationCallbacks *pAllocator, VkQueryPool *pQueryPool, VkResult result)
{
    struct layer_query_pool *pool = LAYER_GET(dev, VkQueryPool, *pQueryPool);
    if (pool)
        pool->type = pCreateInfo->queryType;
}

static void begin_query(struct layer_cmdbuf *cb, VkQueryPool handle, VkQueryControlFlags flags)
{
    struct layer_query_pool *pool = layer.options.verify ? LAYER_GET(cb->device, VkQueryPool, handle) : NULL;
    if (pool && !(flags & VK_QUERY_CONTROL_PRECISE_BIT))
        atomic_store_explicit(&pool->imprecise, true, memory_order_relaxed);
}

void hook_after_CmdBeginQuery(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkQueryPool queryPool,
                              uint32_t query, VkQueryControlFlags flags)
{
    begin_query(cb, queryPool, flags);
}

void hook_after_CmdBeginQueryIndexedEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkQueryPool queryPool,
                                        uint32_t query, VkQueryControlFlags flags, uint32_t index)
{
    begin_query(cb, queryPool, flags);
}

void hook_after_CmdEndQuery(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkQueryPool queryPool,
                            uint32_t query)
{
    tell_queries(cb, queryPool, query, 1);
}

void hook_after_CmdEndQueryIndexedEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkQueryPool queryPool,
                                      uint32_t query, uint32_t index)
{
    tell_queries(cb, queryPool, query, 1);
}

void hook_after_CmdWriteTimestamp(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                  VkPipelineStageFlagBits pipelineStage, VkQueryPool queryPool, uint32_t query)
{
    tell_queries(cb, queryPool, query, 1);
}

void hook_after_CmdWriteTimestamp2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkPipelineStageFlags2 stage,
                                   VkQueryPool queryPool, uint32_t query)
{
    tell_queries(cb, queryPool, query, 1);
}

void hook_after_CmdWriteAccelerationStructuresPropertiesKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                            uint32_t accelerationStructureCount,
                                                            const VkAccelerationStructureKHR *pAccelerationStructures,
                                                            VkQueryType queryType, VkQueryPool queryPool,
                                                            uint32_t firstQuery)
{
    tell_queries(cb, queryPool, firstQuery, accelerationStructureCount);
}

void hook_after_CmdWriteAccelerationStructuresPropertiesNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                           uint32_t accelerationStructureCount,
                                                           const VkAccelerationStructureNV *pAccelerationStructures,
                                                           VkQueryType queryType, VkQueryPool queryPool,
                                                           uint32_t firstQuery)
{
    tell_queries(cb, queryPool, firstQuery, accelerationStructureCount);
}

void hook_after_CmdWriteMicromapsPropertiesEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                               uint32_t micromapCount, const VkMicromapEXT *pMicromaps,
                                               VkQueryType queryType, VkQueryPool queryPool, uint32_t firstQuery)
{
    tell_queries(cb, queryPool, firstQuery, micromapCount);
}
