/* SPDX-License-Identifier: MIT */
/* The objects and effects of a block's commands. */
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_effects.h"
#include "gen_reflect.h"
#include "gen_renamed.h"
#include "inspector/slice/slice_see.h"
#include "vulkan/barrier.h"
#include "vulkan/chain.h"
#include "vulkan/pass.h"
#include "vulkan/walk.h"

/* ---- accesses ---- */

/* The first access to an object decides whether its old contents matter; a later one only adds that it is written. */
static void add_access(struct slice_facts *f, uint32_t object, enum slice_step kind)
{
    uint32_t *seen = slice_seen_of(f, object);

    if (kind == SLICE_LAYOUT || kind == SLICE_LAID) { /* it does not concern the contents */
        slice_add_step(f, &f->now.doing, slice_step(kind, object));
        return;
    }
    if (!seen || *seen == f->now.seen_number * 2 + 1 || (*seen == f->now.seen_number * 2 && kind == SLICE_READ))
        return;
    if (*seen == f->now.seen_number * 2 && (kind == SLICE_REPLACE || kind == SLICE_CLEAR))
        kind = SLICE_CHANGE;
    *seen = f->now.seen_number * 2 + (kind != SLICE_READ);
    slice_add_step(f, &f->now.doing, slice_step(kind, object));
}

void slice_access(struct slice_facts *f, uint32_t object, enum slice_step kind)
{
    const struct slice_object *o = &f->objects[object];
    struct slice_run contents = o->contents;

    if (o->type == GEN_HANDLE_VkDescriptorSet || o->type == GEN_HANDLE_VkCommandBuffer) {
        slice_add_step(f, &f->now.doing,
                       slice_step(o->type == GEN_HANDLE_VkDescriptorSet ? SLICE_SET : SLICE_EXECUTE, object));
        return;
    }
    f->now.saw_addresses |= o->addresses;
    /* Replacing a part does not replace the whole. */
    if ((kind == SLICE_REPLACE || kind == SLICE_CLEAR) && contents.count && f->ids.at[contents.from] != object &&
        !(o->type == GEN_HANDLE_VkImageView && o->full))
        kind = SLICE_CHANGE;
    for (uint32_t i = 0; i < contents.count; i++)
        add_access(f, f->ids.at[contents.from + i], kind);
}

/* ---- barriers and render passes ---- */

static void image_barrier(struct slice_facts *f, VkImage image, VkImageLayout from, VkImageLayout to,
                          uint32_t from_family, uint32_t to_family, const VkImageSubresourceRange *range)
{
    uint32_t object = OBJECT(f, VkImage, image);

    if (!object || !slice_add_id(f, &f->now.names, object))
        return;
    if (lap_barrier_drops(from, from_family) && slice_covers(&f->objects[object], range))
        slice_access(f, object, SLICE_REPLACE);
    else
        slice_access(f, object, from != to || from_family != to_family ? SLICE_LAYOUT : SLICE_LAID);
}

void slice_see_transitions(struct slice_facts *f, const struct trace_call *call)
{
#ifdef VK_EXT_host_image_copy
    const struct gen_args_vkTransitionImageLayoutEXT *a = call->args;

    for (uint32_t i = 0; call->command == GEN_vkTransitionImageLayoutEXT && a->pTransitions && i < a->transitionCount;
         i++)
        image_barrier(f, a->pTransitions[i].image, a->pTransitions[i].oldLayout, a->pTransitions[i].newLayout,
                      VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED, &a->pTransitions[i].subresourceRange);
#endif
}

struct walking {
    struct slice_facts *f;
    bool begins_pass;                /* whose attachments get other layouts */
    const struct gen_effect *effect; /* NULL: only names */
};

static void buffer_barrier(struct slice_facts *f, VkBuffer buffer, bool moves)
{
    uint32_t object = OBJECT(f, VkBuffer, buffer);

    if (object && slice_add_id(f, &f->now.names, object) && moves)
        slice_access(f, object, SLICE_CHANGE);
}

#define IMAGE_BARRIER(type)                                                                                            \
    case GEN_STRUCT_##type: {                                                                                          \
        const type *b = place->at;                                                                                     \
        image_barrier(w->f, b->image, b->oldLayout, b->newLayout, b->srcQueueFamilyIndex, b->dstQueueFamilyIndex,      \
                      &b->subresourceRange);                                                                           \
        return false;                                                                                                  \
    }
#define BUFFER_BARRIER(type)                                                                                           \
    case GEN_STRUCT_##type: {                                                                                          \
        const type *b = place->at;                                                                                     \
        buffer_barrier(w->f, b->buffer, b->srcQueueFamilyIndex != b->dstQueueFamilyIndex);                             \
        return false;                                                                                                  \
    }

static bool begin_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct walking *w = user;

    if (!w->effect)
        return true;
    switch (number) {
        IMAGE_BARRIER(VkImageMemoryBarrier)
        IMAGE_BARRIER(VkImageMemoryBarrier2)
        BUFFER_BARRIER(VkBufferMemoryBarrier)
        BUFFER_BARRIER(VkBufferMemoryBarrier2)
    default:
        return true;
    }
}

/* Whether a rectangle of some layers is all of an image. view: it is full. */
static bool is_all_of(const struct slice_facts *f, uint32_t view, const VkRect2D *area, uint32_t layers)
{
    const struct slice_run contents = f->objects[view].contents;
    const struct slice_object *image = contents.count ? &f->objects[f->ids.at[contents.from]] : &f->objects[0];

    return image->width && !area->offset.x && !area->offset.y && area->extent.width >= image->width &&
           area->extent.height >= image->height && layers >= image->layers;
}

/* Each device, or each rotation, may have an area of its own. */
static bool has_one_area(const void *chain)
{
    return !lap_chain_find(chain, VK_STRUCTURE_TYPE_DEVICE_GROUP_RENDER_PASS_BEGIN_INFO) &&
           !lap_chain_find(chain, VK_STRUCTURE_TYPE_RENDER_PASS_TRANSFORM_BEGIN_INFO_QCOM);
}

/* Attachments that a render pass takes from an undefined layout, or clears, had no needed contents. */
static void begin_render_pass(struct slice_facts *f, const VkRenderPassBeginInfo *info)
{
    const VkRenderPassAttachmentBeginInfo *own; /* views, of an imageless framebuffer */
    uint32_t pass, framebuffer, count;

    if (!info || !info->renderPass || !info->framebuffer)
        return;
    pass = OBJECT(f, VkRenderPass, info->renderPass);
    framebuffer = OBJECT(f, VkFramebuffer, info->framebuffer);
    if (!pass || !framebuffer)
        return;
    own = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
    count = own && own->pAttachments ? own->attachmentCount : f->objects[framebuffer].refs.count;
    for (uint32_t i = 0; i < count && i < 32; i++) {
        const uint32_t view = own && own->pAttachments ? OBJECT(f, VkImageView, own->pAttachments[i])
                                                       : f->ids.at[f->objects[framebuffer].refs.from + i];
        if (f->objects[pass].discards & 1u << i)
            slice_access(f, view, SLICE_REPLACE);
        else if (f->objects[pass].clears & 1u << i && has_one_area(info->pNext) &&
                 is_all_of(f, view, &info->renderArea, f->objects[framebuffer].layers))
            slice_access(f, view, SLICE_CLEAR);
    }
}

static uint32_t cleared_view(struct slice_facts *f, const VkRenderingAttachmentInfo *attachment,
                             const VkRenderingInfo *info)
{
    const uint32_t view =
        attachment && slice_begins_anew(attachment->loadOp) ? OBJECT(f, VkImageView, attachment->imageView) : 0;

    return view && is_all_of(f, view, &info->renderArea, info->layerCount) ? view : 0;
}

/* The same for dynamic rendering. */
static void begin_rendering(struct slice_facts *f, const VkRenderingInfo *info)
{
    uint32_t depth, stencil, view;
    VkImageAspectFlags cleared;

    if (!info || info->flags & VK_RENDERING_RESUMING_BIT || info->viewMask || !has_one_area(info->pNext))
        return;
    for (uint32_t i = 0; info->pColorAttachments && i < info->colorAttachmentCount; i++)
        if ((view = cleared_view(f, &info->pColorAttachments[i], info)) != 0)
            slice_access(f, view, SLICE_CLEAR);
    depth = cleared_view(f, info->pDepthAttachment, info);
    stencil = cleared_view(f, info->pStencilAttachment, info);
    view = depth ? depth : stencil;
    cleared =
        (depth ? VK_IMAGE_ASPECT_DEPTH_BIT : 0u) | (stencil && stencil == view ? VK_IMAGE_ASPECT_STENCIL_BIT : 0u);
    if (view && !(f->objects[f->ids.at[f->objects[view].contents.from]].aspects & ~cleared))
        slice_access(f, view, SLICE_CLEAR);
}

/* ---- transfers ---- */

static void replace_buffer(struct slice_facts *f, VkBuffer buffer, VkBuffer source, uint64_t offset, uint64_t size)
{
    uint32_t object = OBJECT(f, VkBuffer, buffer);

    if (object && buffer != source && offset == 0 && size >= f->objects[object].bytes && f->objects[object].bytes)
        slice_access(f, object, SLICE_REPLACE);
}

static void replace_image(struct slice_facts *f, VkImage image, uint32_t count, const VkImageSubresourceRange *ranges)
{
    uint32_t object = OBJECT(f, VkImage, image);

    for (uint32_t i = 0; object && ranges && i < count; i++)
        if (slice_covers(&f->objects[object], &ranges[i]))
            slice_access(f, object, SLICE_CLEAR);
}

/* The old contents of a range that a transfer writes completely were not needed. Conditional rendering does not skip
 * transfers. */
static void replace_whole(struct slice_facts *f, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCmdFillBuffer: {
        const struct gen_args_vkCmdFillBuffer *a = call->args;
        uint32_t object = OBJECT(f, VkBuffer, a->dstBuffer);
        /* VK_WHOLE_SIZE leaves out an incomplete word at the end. */
        if (a->size != VK_WHOLE_SIZE || f->objects[object].bytes % 4 == 0)
            replace_buffer(f, a->dstBuffer, VK_NULL_HANDLE, a->dstOffset, a->size);
        break;
    }
    case GEN_vkCmdUpdateBuffer: {
        const struct gen_args_vkCmdUpdateBuffer *a = call->args;
        replace_buffer(f, a->dstBuffer, VK_NULL_HANDLE, a->dstOffset, a->dataSize);
        break;
    }
    case GEN_vkCmdCopyBuffer: {
        const struct gen_args_vkCmdCopyBuffer *a = call->args;
        for (uint32_t i = 0; a->pRegions && i < a->regionCount; i++)
            replace_buffer(f, a->dstBuffer, a->srcBuffer, a->pRegions[i].dstOffset, a->pRegions[i].size);
        break;
    }
    case GEN_vkCmdCopyBuffer2: {
        const VkCopyBufferInfo2 *info = ((const struct gen_args_vkCmdCopyBuffer2 *)call->args)->pCopyBufferInfo;
        for (uint32_t i = 0; info && info->pRegions && i < info->regionCount; i++)
            replace_buffer(f, info->dstBuffer, info->srcBuffer, info->pRegions[i].dstOffset, info->pRegions[i].size);
        break;
    }
    case GEN_vkCmdClearColorImage: {
        const struct gen_args_vkCmdClearColorImage *a = call->args;
        replace_image(f, a->image, a->rangeCount, a->pRanges);
        break;
    }
    case GEN_vkCmdClearDepthStencilImage: {
        const struct gen_args_vkCmdClearDepthStencilImage *a = call->args;
        replace_image(f, a->image, a->rangeCount, a->pRanges);
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
    object = slice_object_of(w->f, value->type, value->u);
    if (!object || !slice_add_id(w->f, &w->f->now.names, object) || !w->effect)
        return;
    if (value->type == GEN_HANDLE_VkDescriptorSet || value->type == GEN_HANDLE_VkCommandBuffer) {
        slice_access(w->f, object, SLICE_CHANGE);
        return;
    }
    if (w->effect->objects == GEN_OBJECTS_NAMES)
        return;
    bool reads = w->effect->objects == GEN_OBJECTS_READS || (place->member && place->member->flags & GEN_MEMBER_READ);
    if (reads && value->type == GEN_HANDLE_VkQueryPool && w->f->objects[object].queries != VK_QUERY_TYPE_TIMESTAMP)
        w->f->objects[object].opaque = true; /* the device uses its results later */
    if (w->begins_pass && (value->type == GEN_HANDLE_VkFramebuffer || value->type == GEN_HANDLE_VkImageView))
        slice_access(w->f, object, SLICE_LAYOUT);
    slice_access(w->f, object, reads ? SLICE_READ : SLICE_CHANGE);
}

void slice_walk(struct slice_facts *f, uint32_t command, const void *args, const struct gen_effect *effect)
{
    struct walking walking = {f, lap_pass_step_of(command) == LAP_PASS_BEGIN, effect};
    const struct lap_visitor visitor = {.begin_struct = begin_struct, .value = see_value, .user = &walking};

    lap_walk_command(command, args, false, &visitor);
}

/* ---- blocks ---- */

static int compare_ids(const void *a, const void *b)
{
    return SLICE_ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

void slice_end_block(struct slice_facts *f)
{
    size_t count = 0, before = f->block_capacity;

    if (!f->now.block || *f->status != LAP_OK)
        return;
    if (f->now.saw_addresses)
        slice_add_step(f, &f->now.doing, slice_step(SLICE_ADDRESSES, 0));
    if (f->now.names.count)
        qsort(f->now.names.at, f->now.names.count, sizeof *f->now.names.at, compare_ids);
    for (size_t i = 0; i < f->now.names.count; i++)
        if (i == 0 || f->now.names.at[i] != f->now.names.at[i - 1])
            f->now.names.at[count++] = f->now.names.at[i];
    f->now.names.count = count;
    if (!slice_make_room(f, &f->blocks, sizeof *f->blocks, &f->block_capacity, (size_t)f->now.block + 1))
        return;
    memset(f->blocks + before, 0, (f->block_capacity - before) * sizeof *f->blocks);
    f->blocks[f->now.block].names = slice_keep_ids(f, &f->now.names);
    f->blocks[f->now.block].steps = slice_keep_steps(f, &f->now.doing);
    f->now.names.count = f->now.doing.count = 0;
    f->now.block = 0;
    f->now.saw_addresses = false;
}

enum lap_status slice_visit_in_block(void *facts, const struct trace_call *call)
{
    struct slice_facts *f = facts;
    const struct gen_effect *effect = &gen_effects[call->command];
    size_t steps_before;

    if (f->now.block != call->block) {
        f->now.names.count = f->now.doing.count = 0;
        f->now.saw_addresses = false;
        f->now.suspends = 0;
        f->now.block = call->block;
        f->now.seen_number++;
    }
    steps_before = f->now.doing.count;
    if (effect->addresses && !f->now.saw_addresses) {
        f->now.saw_addresses = true;
        slice_add_step(f, &f->now.doing, slice_step(SLICE_ADDRESSES, 0));
    }
    if (effect->everything)
        slice_add_step(f, &f->now.doing, slice_step(SLICE_EVERYTHING, 0));
    begin_render_pass(f, lap_pass_begin_info(call->command, call->args));
    begin_rendering(f, lap_pass_rendering_info(call->command, call->args));
    replace_whole(f, call);
    slice_walk(f, call->command, call->args, effect);
    slice_see_suspended(f, call);
    slice_see_events(f, call->command, call->args);
    slice_draw_see(f, call, steps_before);
    return *f->status;
}
