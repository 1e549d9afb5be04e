/* SPDX-License-Identifier: MIT */
/* The objects and effects of a block's commands. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_effects.h"
#include "gen_reflect.h"
#include "gen_renamed.h"
#include "inspector/slice/slice_internal.h"
#include "vulkan/pass.h"
#include "vulkan/walk.h"

/* ---- accesses ---- */

static uint32_t *seen_of(struct slice *s, uint32_t object)
{
    size_t before = s->seen_capacity;

    if (!lap_array_grow(&s->seen, sizeof *s->seen, &s->seen_capacity, s->object_count)) {
        slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
        return NULL;
    }
    memset(s->seen + before, 0, (s->seen_capacity - before) * sizeof *s->seen);
    return &s->seen[object];
}

bool slice_see_once(struct slice *s, uint32_t object)
{
    uint32_t *seen = seen_of(s, object);

    if (!seen || *seen / 2 == s->seen_now)
        return false;
    *seen = s->seen_now * 2;
    return true;
}

/* The first access to an object decides whether its old contents matter; a later one only adds that it is written. */
static void add_access(struct slice *s, uint32_t object, enum slice_step kind)
{
    uint32_t *seen = seen_of(s, object);

    if (kind == SLICE_LAYOUT) { /* it does not concern the contents */
        slice_add_step(s, &s->doing, slice_step(kind, object));
        return;
    }
    if (!seen || *seen == s->seen_now * 2 + 1 || (*seen == s->seen_now * 2 && kind == SLICE_READ))
        return;
    if (*seen == s->seen_now * 2 && (kind == SLICE_REPLACE || kind == SLICE_CLEAR))
        kind = SLICE_CHANGE;
    *seen = s->seen_now * 2 + (kind != SLICE_READ);
    slice_add_step(s, &s->doing, slice_step(kind, object));
}

void slice_access(struct slice *s, uint32_t object, enum slice_step kind)
{
    const struct slice_object *o = &s->objects[object];
    struct slice_run contents = o->contents;

    if (o->type == GEN_HANDLE_VkDescriptorSet || o->type == GEN_HANDLE_VkCommandBuffer) {
        slice_add_step(s, &s->doing,
                       slice_step(o->type == GEN_HANDLE_VkDescriptorSet ? SLICE_SET : SLICE_EXECUTE, object));
        return;
    }
    s->saw_addresses |= o->addresses;
    /* Replacing a part does not replace the whole. */
    if ((kind == SLICE_REPLACE || kind == SLICE_CLEAR) && contents.count && s->ids.at[contents.from] != object &&
        !(o->type == GEN_HANDLE_VkImageView && o->full))
        kind = SLICE_CHANGE;
    for (uint32_t i = 0; i < contents.count; i++)
        add_access(s, s->ids.at[contents.from + i], kind);
}

/* ---- barriers and render passes ---- */

static bool covers(const struct slice_object *image, const VkImageSubresourceRange *range)
{
    return image->mips && range->baseMipLevel == 0 && range->baseArrayLayer == 0 &&
           (range->levelCount == VK_REMAINING_MIP_LEVELS || range->levelCount >= image->mips) &&
           (range->layerCount == VK_REMAINING_ARRAY_LAYERS || range->layerCount >= image->layers) &&
           (image->aspects & ~range->aspectMask) == 0;
}

static void image_barrier(struct slice *s, VkImage image, VkImageLayout from, VkImageLayout to, bool moves,
                          const VkImageSubresourceRange *range)
{
    uint32_t object = slice_object_of(s, GEN_HANDLE_VkImage, gen_u64_VkImage(image));

    if (!object || !slice_add_id(s, &s->names, object))
        return;
    if (from == VK_IMAGE_LAYOUT_UNDEFINED && covers(&s->objects[object], range))
        slice_access(s, object, SLICE_REPLACE);
    else
        slice_access(s, object, from != to || moves ? SLICE_LAYOUT : SLICE_READ);
}

void slice_see_transitions(struct slice *s, const struct trace_call *call)
{
#ifdef VK_EXT_host_image_copy
    const struct gen_args_vkTransitionImageLayoutEXT *a = call->args;

    for (uint32_t i = 0; call->command == GEN_vkTransitionImageLayoutEXT && a->pTransitions && i < a->transitionCount;
         i++)
        image_barrier(s, a->pTransitions[i].image, a->pTransitions[i].oldLayout, a->pTransitions[i].newLayout, false,
                      &a->pTransitions[i].subresourceRange);
#endif
}

struct walking {
    struct slice *s;
    bool begins_pass;                /* whose attachments get other layouts */
    const struct gen_effect *effect; /* NULL: only names */
};

static void buffer_barrier(struct slice *s, VkBuffer buffer, bool moves)
{
    uint32_t object = slice_object_of(s, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer));

    if (object && slice_add_id(s, &s->names, object) && moves)
        slice_access(s, object, SLICE_CHANGE);
}

static bool begin_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct walking *w = user;

    if (!w->effect)
        return true;
    switch (number) {
    case GEN_STRUCT_VkImageMemoryBarrier: {
        const VkImageMemoryBarrier *b = place->at;
        if (b->image)
            image_barrier(w->s, b->image, b->oldLayout, b->newLayout, b->srcQueueFamilyIndex != b->dstQueueFamilyIndex,
                          &b->subresourceRange);
        return false;
    }
    case GEN_STRUCT_VkImageMemoryBarrier2: {
        const VkImageMemoryBarrier2 *b = place->at;
        if (b->image)
            image_barrier(w->s, b->image, b->oldLayout, b->newLayout, b->srcQueueFamilyIndex != b->dstQueueFamilyIndex,
                          &b->subresourceRange);
        return false;
    }
    case GEN_STRUCT_VkBufferMemoryBarrier: {
        const VkBufferMemoryBarrier *b = place->at;
        if (b->buffer)
            buffer_barrier(w->s, b->buffer, b->srcQueueFamilyIndex != b->dstQueueFamilyIndex);
        return false;
    }
    case GEN_STRUCT_VkBufferMemoryBarrier2: {
        const VkBufferMemoryBarrier2 *b = place->at;
        if (b->buffer)
            buffer_barrier(w->s, b->buffer, b->srcQueueFamilyIndex != b->dstQueueFamilyIndex);
        return false;
    }
    default:
        return true;
    }
}

/* Attachments that a render pass takes from an undefined layout had no needed contents. */
static void begin_render_pass(struct slice *s, const VkRenderPassBeginInfo *info)
{
    uint32_t pass, framebuffer;

    if (!info || !info->renderPass || !info->framebuffer)
        return;
    pass = slice_object_of(s, GEN_HANDLE_VkRenderPass, gen_u64_VkRenderPass(info->renderPass));
    framebuffer = slice_object_of(s, GEN_HANDLE_VkFramebuffer, gen_u64_VkFramebuffer(info->framebuffer));
    if (!pass || !framebuffer)
        return;
    for (uint32_t i = 0; i < s->objects[framebuffer].refs.count && i < 32; i++)
        if (s->objects[pass].discards & 1u << i)
            slice_access(s, s->ids.at[s->objects[framebuffer].refs.from + i], SLICE_REPLACE);
}

/* ---- transfers ---- */

static void replace_buffer(struct slice *s, VkBuffer buffer, VkBuffer source, uint64_t offset, uint64_t size)
{
    uint32_t object = slice_object_of(s, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer));

    if (object && buffer != source && offset == 0 && size >= s->objects[object].bytes && s->objects[object].bytes)
        slice_access(s, object, SLICE_REPLACE);
}

static void replace_image(struct slice *s, VkImage image, uint32_t count, const VkImageSubresourceRange *ranges)
{
    uint32_t object = slice_object_of(s, GEN_HANDLE_VkImage, gen_u64_VkImage(image));

    for (uint32_t i = 0; object && ranges && i < count; i++)
        if (covers(&s->objects[object], &ranges[i]))
            slice_access(s, object, SLICE_CLEAR);
}

/* The old contents of a range that a transfer writes completely were not needed. Conditional rendering does not skip
 * transfers. */
static void replace_whole(struct slice *s, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCmdFillBuffer: {
        const struct gen_args_vkCmdFillBuffer *a = call->args;
        uint32_t object = slice_object_of(s, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(a->dstBuffer));
        /* VK_WHOLE_SIZE leaves out an incomplete word at the end. */
        if (a->size != VK_WHOLE_SIZE || s->objects[object].bytes % 4 == 0)
            replace_buffer(s, a->dstBuffer, VK_NULL_HANDLE, a->dstOffset, a->size);
        break;
    }
    case GEN_vkCmdUpdateBuffer: {
        const struct gen_args_vkCmdUpdateBuffer *a = call->args;
        replace_buffer(s, a->dstBuffer, VK_NULL_HANDLE, a->dstOffset, a->dataSize);
        break;
    }
    case GEN_vkCmdCopyBuffer: {
        const struct gen_args_vkCmdCopyBuffer *a = call->args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++)
            replace_buffer(s, a->dstBuffer, a->srcBuffer, a->pRegions[i].dstOffset, a->pRegions[i].size);
        break;
    }
    case GEN_vkCmdCopyBuffer2: {
        const VkCopyBufferInfo2 *info = ((const struct gen_args_vkCmdCopyBuffer2 *)call->args)->pCopyBufferInfo;
        for (uint32_t i = 0; info && info->pRegions && i < info->regionCount; i++)
            replace_buffer(s, info->dstBuffer, info->srcBuffer, info->pRegions[i].dstOffset, info->pRegions[i].size);
        break;
    }
    case GEN_vkCmdClearColorImage: {
        const struct gen_args_vkCmdClearColorImage *a = call->args;
        replace_image(s, a->image, a->rangeCount, a->pRanges);
        break;
    }
    case GEN_vkCmdClearDepthStencilImage: {
        const struct gen_args_vkCmdClearDepthStencilImage *a = call->args;
        replace_image(s, a->image, a->rangeCount, a->pRanges);
        break;
    }
    default:
        break;
    }
}

/* ---- walking ---- */

static void see_value(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct walking *w = user;
    uint32_t object;

    if (value->kind != LAP_VALUE_HANDLE || value->u == 0)
        return;
    object = slice_object_of(w->s, value->type, value->u);
    if (!object || !slice_add_id(w->s, &w->s->names, object) || !w->effect)
        return;
    if (value->type == GEN_HANDLE_VkDescriptorSet || value->type == GEN_HANDLE_VkCommandBuffer) {
        slice_access(w->s, object, SLICE_CHANGE);
        return;
    }
    if (w->effect->objects == GEN_OBJECTS_NAMES)
        return;
    bool reads = w->effect->objects == GEN_OBJECTS_READS || (place->member && place->member->flags & GEN_MEMBER_READ);
    if (reads && value->type == GEN_HANDLE_VkQueryPool && w->s->objects[object].queries != VK_QUERY_TYPE_TIMESTAMP)
        w->s->objects[object].opaque = true; /* the device uses its results later */
    if (w->begins_pass && (value->type == GEN_HANDLE_VkFramebuffer || value->type == GEN_HANDLE_VkImageView))
        slice_access(w->s, object, SLICE_LAYOUT);
    slice_access(w->s, object, reads ? SLICE_READ : SLICE_CHANGE);
}

void slice_walk(struct slice *s, uint32_t command, const void *args, const struct gen_effect *effect)
{
    struct walking walking = {s, lap_pass_step_of(command) == LAP_PASS_BEGIN, effect};
    const struct lap_visitor visitor = {.begin_struct = begin_struct, .value = see_value, .user = &walking};

    lap_walk_command(command, args, false, &visitor);
}

/* ---- blocks ---- */

static void take(struct slice *s, struct slice_run *names, struct slice_run *steps)
{
    *names = (struct slice_run){s->ids.count, (uint32_t)s->names.count};
    for (size_t i = 0; i < s->names.count; i++)
        if (!slice_add_id(s, &s->ids, s->names.at[i]))
            return;
    *steps = (struct slice_run){s->steps.count, (uint32_t)s->doing.count};
    for (size_t i = 0; i < s->doing.count; i++)
        if (!slice_add_step(s, &s->steps, s->doing.at[i]))
            return;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

void slice_end_block(struct slice *s)
{
    size_t count = 0, before = s->block_capacity;

    if (!s->block_now || s->status != LAP_OK)
        return;
    if (s->saw_addresses)
        slice_add_step(s, &s->doing, slice_step(SLICE_ADDRESSES, 0));
    if (s->names.count)
        qsort(s->names.at, s->names.count, sizeof *s->names.at, compare_ids);
    for (size_t i = 0; i < s->names.count; i++)
        if (i == 0 || s->names.at[i] != s->names.at[i - 1])
            s->names.at[count++] = s->names.at[i];
    s->names.count = count;
    if (!lap_array_grow(&s->blocks, sizeof *s->blocks, &s->block_capacity, (size_t)s->block_now + 1)) {
        slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
        return;
    }
    memset(s->blocks + before, 0, (s->block_capacity - before) * sizeof *s->blocks);
    take(s, &s->blocks[s->block_now].names, &s->blocks[s->block_now].steps);
    s->names.count = s->doing.count = 0;
    s->block_now = 0;
    s->saw_addresses = false;
}

enum lap_status slice_visit_in_block(void *state, const struct trace_call *call)
{
    struct slice *s = state;
    const struct gen_effect *effect = &gen_effects[call->command];
    size_t steps_before;

    if (s->block_now != call->block) {
        s->names.count = s->doing.count = 0;
        s->saw_addresses = false;
        s->suspends = 0;
        s->block_now = call->block;
        s->seen_now++;
    }
    steps_before = s->doing.count;
    if (effect->addresses && !s->saw_addresses) {
        s->saw_addresses = true;
        slice_add_step(s, &s->doing, slice_step(SLICE_ADDRESSES, 0));
    }
    if (effect->everything)
        slice_add_step(s, &s->doing, slice_step(SLICE_EVERYTHING, 0));
    begin_render_pass(s, lap_pass_begin_info(call->command, call->args));
    replace_whole(s, call);
    slice_walk(s, call->command, call->args, effect);
    slice_see_suspended(s, call);
    slice_draw_see_events(s, call->command, call->args);
    slice_draw_see(s, call, steps_before);
    return s->status;
}
