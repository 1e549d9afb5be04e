/* SPDX-License-Identifier: MIT */
#include "layer/command/cmdbuf_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_layer.h"
#include "layer/command/image_state.h"
#include "layer/command/progress_query.h"
#include "layer/command/touched.h"

static bool add_step(struct layer_event_steps *events, const struct layer_event_step *step)
{
    if (!lap_array_grow_u32(&events->items, sizeof *events->items, &events->capacity, (size_t)events->count + 1))
        return false;
    events->items[events->count++] = *step;
    return true;
}

/* Whether the command buffer sets the event before it waits, or has waited already. */
static bool is_settled(const struct layer_cmdbuf *cb, const struct layer_event_step *wait)
{
    for (uint32_t part = cb->part_count + 1; part-- > 0;) {
        const struct layer_event_steps *events = layer_cmdbuf_part_at(cb, part).events;
        for (uint32_t i = events->count; i-- > 0;)
            if (events->items[i].index == wait->index)
                return events->items[i].kind != LAYER_EVENT_RESET;
    }
    return false;
}

/* No command was recorded since the last wait, or since the beginning. */
static bool is_empty(const struct layer_cmdbuf *cb)
{
    struct layer_cmdbuf_part_view part = layer_cmdbuf_part_at(cb, cb->part_count);
    for (uint32_t i = 0; i < part.events->count; i++)
        if (part.events->items[i].kind != LAYER_EVENT_WAITED_FOR)
            return false;
    return !part.touched->ranges.count && !part.touched->ranges.everything && !part.progress_queries->count &&
           part.sets_begin == part.sets_end;
}

static bool begin_part(struct layer_cmdbuf *cb)
{
    struct layer_cmdbuf_part *part;
    if (!lap_array_grow_u32(&cb->parts, sizeof *cb->parts, &cb->part_capacity, (size_t)cb->part_count + 1))
        return false;
    layer_touched_seal(&cb->touched);
    part = &cb->parts[cb->part_count++];
    *part = (struct layer_cmdbuf_part){cb->touched, cb->progress_queries, cb->events, cb->sets_count};
    layer_touched_init(&cb->touched);
    cb->progress_queries = (struct layer_progress_queries){0};
    cb->events = (struct layer_event_steps){0};
    return layer_touch_carry(cb);
}

void layer_cmdbuf_parts_note(struct layer_cmdbuf *cb, const struct layer_event_step *step)
{
    if (cb->state != LAYER_CMDBUF_RECORDING)
        return;
    if (step->kind == LAYER_EVENT_WAITED_FOR) {
        if (is_settled(cb, step))
            return;
        if (!is_empty(cb) && !begin_part(cb)) {
            layer_touch_failed(cb);
            return;
        }
    }
    if (!add_step(&cb->events, step))
        layer_touch_failed(cb);
}

void layer_cmdbuf_parts_reset(struct layer_cmdbuf *cb)
{
    for (uint32_t i = 0; i < cb->part_count; i++) {
        layer_touched_finish(&cb->parts[i].touched);
        layer_progress_queries_finish(&cb->parts[i].progress_queries);
        free(cb->parts[i].events.items);
    }
    cb->part_count = 0;
    cb->events.count = 0;
}

void layer_cmdbuf_parts_finish(struct layer_cmdbuf *cb)
{
    layer_cmdbuf_parts_reset(cb);
    free(cb->parts);
    free(cb->events.items);
    cb->parts = NULL;
    cb->part_capacity = 0;
    cb->events = (struct layer_event_steps){0};
}

/* ---- commands ---- */

static void note(struct layer_cmdbuf *cb, VkEvent event, enum layer_event_kind kind)
{
    const struct lap_object *record = LAYER_GET(cb->device, VkEvent, event);
    struct layer_event_step step = {gen_u64_VkEvent(event), record ? record->index : 0, kind};
    if (record)
        layer_cmdbuf_parts_note(cb, &step);
}

void hook_after_CmdSetEvent(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkEvent event,
                            VkPipelineStageFlags stageMask)
{
    layer_progress_query_event(cb, event);
    note(cb, event, LAYER_EVENT_SET);
}

void hook_after_CmdSetEvent2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkEvent event,
                             const VkDependencyInfo *pDependencyInfo)
{
    layer_progress_query_event(cb, event);
    note(cb, event, LAYER_EVENT_SET);
}

void hook_after_CmdResetEvent(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkEvent event,
                              VkPipelineStageFlags stageMask)
{
    note(cb, event, LAYER_EVENT_RESET);
}

void hook_after_CmdResetEvent2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkEvent event,
                               VkPipelineStageFlags2 stageMask)
{
    note(cb, event, LAYER_EVENT_RESET);
}

static void note_waits(struct layer_cmdbuf *cb, uint32_t count, const VkEvent *events)
{
    for (uint32_t i = 0; i < count; i++)
        note(cb, events[i], LAYER_EVENT_WAITED_FOR);
}

void hook_after_CmdWaitEvents(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t eventCount,
                              const VkEvent *pEvents, VkPipelineStageFlags srcStageMask,
                              VkPipelineStageFlags dstStageMask, uint32_t memoryBarrierCount,
                              const VkMemoryBarrier *pMemoryBarriers, uint32_t bufferMemoryBarrierCount,
                              const VkBufferMemoryBarrier *pBufferMemoryBarriers, uint32_t imageMemoryBarrierCount,
                              const VkImageMemoryBarrier *pImageMemoryBarriers)
{
    note_waits(cb, eventCount, pEvents);
    layer_image_barriers(cb, imageMemoryBarrierCount, pImageMemoryBarriers);
}

void hook_after_CmdWaitEvents2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t eventCount,
                               const VkEvent *pEvents, const VkDependencyInfo *pDependencyInfos)
{
    note_waits(cb, eventCount, pEvents);
    for (uint32_t i = 0; i < eventCount; i++)
        layer_image_dependency(cb, &pDependencyInfos[i]);
}
