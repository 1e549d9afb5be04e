/* SPDX-License-Identifier: MIT */
#include "layer/parts.h"

#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/image_state.h"
#include "layer/tell.h"
#include "layer/touched.h"

static bool add_step(struct layer_event_steps *events, const struct layer_event_step *step)
{
    if (events->count == events->capacity) {
        uint32_t capacity = events->capacity ? events->capacity * 2 : 4;
        struct layer_event_step *more =
            capacity > UINT32_MAX / 4 ? NULL : realloc(events->items, capacity * sizeof *more);
        if (!more)
            return false;
        events->items = more;
        events->capacity = capacity;
    }
    events->items[events->count++] = *step;
    return true;
}

/* Whether the command buffer sets the event before it waits, or has waited already. */
static bool is_settled(const struct layer_cmdbuf *cb, const struct layer_event_step *wait)
{
    for (uint32_t part = cb->part_count + 1; part-- > 0;) {
        const struct layer_event_steps *events = layer_part_of(cb, part).events;
        for (uint32_t i = events->count; i-- > 0;)
            if (events->items[i].index == wait->index)
                return events->items[i].kind != LAYER_EVENT_RESET;
    }
    return false;
}

/* Nothing stands between the last wait, or the beginning, and now. */
static bool is_empty(const struct layer_cmdbuf *cb)
{
    struct layer_part part = layer_part_of(cb, cb->part_count);
    for (uint32_t i = 0; i < part.events->count; i++)
        if (part.events->items[i].kind != LAYER_EVENT_WAITED_FOR)
            return false;
    return !part.touched->ranges.count && !part.touched->ranges.everything && !part.tells->count &&
           part.sets_begin == part.sets_end;
}

static bool begin_part(struct layer_cmdbuf *cb)
{
    struct layer_cmdbuf_part *part;
    if (cb->part_count == cb->part_capacity) {
        uint32_t capacity = cb->part_capacity ? cb->part_capacity * 2 : 2;
        struct layer_cmdbuf_part *more = capacity > UINT32_MAX / 4 ? NULL : realloc(cb->parts, capacity * sizeof *more);
        if (!more)
            return false;
        cb->parts = more;
        cb->part_capacity = capacity;
    }
    layer_touched_seal(&cb->touched);
    part = &cb->parts[cb->part_count++];
    *part = (struct layer_cmdbuf_part){cb->touched, cb->tells, cb->events, cb->sets_count};
    layer_touched_init(&cb->touched);
    cb->tells = (struct layer_tells){0};
    cb->events = (struct layer_event_steps){0};
    return layer_touch_carry(cb);
}

void layer_parts_note(struct layer_cmdbuf *cb, const struct layer_event_step *step)
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

void layer_parts_reset(struct layer_cmdbuf *cb)
{
    for (uint32_t i = 0; i < cb->part_count; i++) {
        layer_touched_finish(&cb->parts[i].touched);
        layer_tells_finish(&cb->parts[i].tells);
        free(cb->parts[i].events.items);
    }
    cb->part_count = 0;
    cb->events.count = 0;
}

void layer_parts_finish(struct layer_cmdbuf *cb)
{
    layer_parts_reset(cb);
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
        layer_parts_note(cb, &step);
}

void hook_after_CmdSetEvent(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkEvent event,
                            VkPipelineStageFlags stageMask)
{
    layer_tell_event(cb, event);
    note(cb, event, LAYER_EVENT_SET);
}

void hook_after_CmdSetEvent2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkEvent event,
                             const VkDependencyInfo *pDependencyInfo)
{
    layer_tell_event(cb, event);
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
