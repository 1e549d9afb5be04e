/* SPDX-License-Identifier: MIT */
#include "layer/command/progress_query.h"

#include <stdlib.h>

#include "base/array.h"
#include "gen_layer.h"

struct layer_progress_query layer_progress_query_of_event(struct layer_device *dev, VkEvent event)
{
    const struct lap_object *record = LAYER_GET(dev, VkEvent, event);
    return (struct layer_progress_query){record ? record->index << 1 | 1 : 0, 0, 1};
}

struct layer_progress_query layer_progress_query_of_queries(struct layer_device *dev, VkQueryPool pool, uint32_t first,
                                                            uint32_t count)
{
    const struct lap_object *record = LAYER_GET(dev, VkQueryPool, pool);
    return (struct layer_progress_query){record ? record->index << 1 : 0, first, count};
}

bool layer_progress_queries_add(struct layer_progress_queries *list, struct layer_progress_query query)
{
    struct layer_progress_query *last = list->count ? &list->items[list->count - 1] : NULL;
    if (!query.object || !query.count)
        return true;
    /* Queries are mostly used one after the other. */
    if (last && last->object == query.object && (uint64_t)last->first + last->count == query.first) {
        last->count += query.count;
        return true;
    }
    if (!lap_array_grow_u32(&list->items, sizeof *list->items, &list->capacity, (size_t)list->count + 1))
        return false;
    list->items[list->count++] = query;
    return true;
}

bool layer_progress_queries_append(struct layer_progress_queries *list, const struct layer_progress_queries *more)
{
    for (uint32_t i = 0; i < more->count; i++)
        if (!layer_progress_queries_add(list, more->items[i]))
            return false;
    return true;
}

bool layer_progress_queries_any(const struct layer_progress_queries *list, struct layer_progress_query what)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct layer_progress_query *query = &list->items[i];
        if (query->object == what.object && query->first < (uint64_t)what.first + what.count &&
            what.first < (uint64_t)query->first + query->count)
            return true;
    }
    return false;
}

bool layer_progress_queries_remove(struct layer_progress_queries *list, struct layer_progress_query what)
{
    uint64_t end = (uint64_t)what.first + what.count;
    bool good = true;

    for (uint32_t i = list->count; i-- > 0;) {
        struct layer_progress_query *item = &list->items[i], whole = *item;
        uint64_t whole_end = (uint64_t)whole.first + whole.count;
        if (whole.object != what.object || whole.first >= end || what.first >= whole_end)
            continue;
        *item = list->items[--list->count];
        if (whole.first < what.first)
            good &= layer_progress_queries_add(
                list, (struct layer_progress_query){whole.object, whole.first, what.first - whole.first});
        if (whole_end > end)
            good &= layer_progress_queries_add(
                list, (struct layer_progress_query){whole.object, (uint32_t)end, (uint32_t)(whole_end - end)});
    }
    return good;
}

void layer_progress_queries_finish(struct layer_progress_queries *list)
{
    free(list->items);
    *list = (struct layer_progress_queries){0};
}

/* ---- commands ---- */

static void add(struct layer_cmdbuf *cb, struct layer_progress_query query)
{
    if (cb->state == LAYER_CMDBUF_RECORDING && !layer_progress_queries_add(&cb->progress_queries, query))
        layer_stop("out of memory");
}

void layer_progress_query_event(struct layer_cmdbuf *cb, VkEvent event)
{
    add(cb, layer_progress_query_of_event(cb->device, event));
}

/* Without those that the command buffer itself has made before: they are no results of earlier submits. */
static void add_copied(struct layer_cmdbuf *cb, struct layer_progress_query query)
{
    if (!layer_progress_queries_any(&cb->progress_queries, query) &&
        !layer_progress_queries_add(&cb->copied_queries, query))
        layer_stop("out of memory");
}

void layer_copied_queries(struct layer_cmdbuf *cb, VkQueryPool pool, uint32_t first, uint32_t count)
{
    if (layer.options.parts.on && cb->state == LAYER_CMDBUF_RECORDING)
        add_copied(cb, layer_progress_query_of_queries(cb->device, pool, first, count));
}

void layer_copied_queries_append(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary)
{
    for (uint32_t i = 0; i < secondary->copied_queries.count; i++)
        add_copied(cb, secondary->copied_queries.items[i]);
}

static void tell_queries(struct layer_cmdbuf *cb, VkQueryPool pool, uint32_t first, uint32_t count)
{
    add(cb, layer_progress_query_of_queries(cb->device, pool, first, count));
}

void hook_after_CreateQueryPool(struct layer_device *dev, VkDevice device, const VkQueryPoolCreateInfo *pCreateInfo,
                                const VkAllocationCallbacks *pAllocator, VkQueryPool *pQueryPool, VkResult result)
{
    struct layer_query_pool *pool = LAYER_GET(dev, VkQueryPool, *pQueryPool);
    if (pool) {
        pool->type = pCreateInfo->queryType;
        pool->count = pCreateInfo->queryCount;
    }
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
