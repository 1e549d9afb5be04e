/* SPDX-License-Identifier: MIT */
/* Reads the trace up to the end of the part, and notes the objects and effects of each packet. */
#include "inspector/slice/slice_see.h"

#include <string.h>

#include "gen_reflect.h"
#include "inspector/twin/twins.h"
#include "vulkan/walk.h"

#define MOST_PACKETS (UINT64_C(1) << 29)

/* ---- submits ---- */

static void submit_buffer(struct slice_facts *f, VkCommandBuffer buffer)
{
    uint32_t object = OBJECT(f, VkCommandBuffer, buffer);
    uint32_t packet = object ? f->objects[object].block : 0;

    if (packet && slice_add_step(f, &f->now.doing, slice_step(SLICE_RUN, packet)))
        f->packets[packet].submitted = true;
}

static void see_submit(struct slice_facts *f, const struct trace_call *call)
{
    if (call->command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *a = call->args;
        for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)
            for (uint32_t k = 0; a->pSubmits[i].pCommandBuffers && k < a->pSubmits[i].commandBufferCount; k++)
                submit_buffer(f, a->pSubmits[i].pCommandBuffers[k]);
    } else if (call->command == GEN_vkQueueSubmit2) {
        const struct gen_args_vkQueueSubmit2 *a = call->args;
        for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)
            for (uint32_t k = 0; a->pSubmits[i].pCommandBufferInfos && k < a->pSubmits[i].commandBufferInfoCount; k++)
                submit_buffer(f, a->pSubmits[i].pCommandBufferInfos[k].commandBuffer);
    }
    slice_see_suspended_submit(f);
}

/* Its command buffer is the last one. */
static void end_with_draw(struct slice_facts *f)
{
    uint32_t first = f->now.doing.count ? slice_draw_add(f) : 0;

    if (!first)
        return;
    slice_find_suspended(f, first);
    f->now.doing.at[f->now.doing.count - 1] = slice_step(SLICE_RUN, first);
}

static void see_present(struct slice_facts *f, const VkPresentInfoKHR *info)
{
    for (uint32_t i = 0; info && info->pSwapchains && info->pImageIndices && i < info->swapchainCount; i++) {
        uint32_t swapchain = OBJECT(f, VkSwapchainKHR, info->pSwapchains[i]);
        if (swapchain && info->pImageIndices[i] < f->objects[swapchain].refs.count)
            slice_add_step(f, &f->now.doing,
                           slice_step(SLICE_READ, f->ids.at[f->objects[swapchain].refs.from + info->pImageIndices[i]]));
    }
}

/* ---- host writes ---- */

static void see_write(struct slice_facts *f, uint32_t buffer, uint64_t offset, uint64_t size)
{
    if (buffer && slice_add_step(f, &f->now.doing, slice_step(SLICE_SPAN, 0)) &&
        slice_add_step(f, &f->now.doing, offset))
        slice_add_step(f, &f->now.doing, size);
}

static void see_spans(struct slice_facts *f, const struct gen_args_lapilliUpdateBufferSpans *a, uint32_t buffer)
{
    uint64_t at = 0;

    for (uint32_t i = 0; a->pGaps && a->pSizes && i < a->spanCount; i++) {
        at += a->pGaps[i];
        see_write(f, buffer, at, a->pSizes[i]);
        at += a->pSizes[i];
    }
}

/* ---- packets ---- */

/* Objects that the call creates or destroys. */
static void see_subjects(struct slice_facts *f, const struct trace_call *call, uint32_t ticket)
{
    const struct gen_command_info *info = &gen_command_infos[call->command];

    for (uint32_t i = 0; i < info->member_count; i++) {
        const struct gen_member *member = &info->members[i];
        const char *at = (const char *)call->args + member->offset;
        uint64_t count = 1;
        if (member->element != GEN_ELEMENT_HANDLE || !(member->flags & (GEN_MEMBER_CREATED | GEN_MEMBER_DESTROYED)) ||
            (member->shape != GEN_SHAPE_VALUE && member->shape != GEN_SHAPE_POINTER))
            continue;
        if (member->shape == GEN_SHAPE_POINTER) {
            memcpy(&at, at, sizeof at);
            count = at ? lap_walk_count(info->members, member, call->args) : 0;
        }
        for (uint64_t k = 0; k < count; k++) {
            uint64_t index = 0;
            memcpy(&index, at + k * member->element_bytes, member->element_bytes < 8 ? member->element_bytes : 8);
            uint32_t object = slice_object_of(f, member->type, index);
            if (!object || !slice_add_id(f, &f->now.subjects, object))
                continue;
            if (member->flags & GEN_MEMBER_CREATED && gen_handle_addresses[member->type])
                (void)slice_add_id(f, &f->addressed, object);
            if (!(member->flags & GEN_MEMBER_CREATED))
                f->objects[object].destroyer = ticket;
            else if (!f->objects[object].maker)
                f->objects[object].maker = ticket;
        }
    }
}

static void first_subject(struct slice_facts *f)
{
    for (size_t i = 0; i < f->now.names.count; i++)
        if (f->objects[f->now.names.at[i]].type != GEN_HANDLE_VkDevice) {
            (void)slice_add_id(f, &f->now.subjects, f->now.names.at[i]);
            return;
        }
}

/* A packet that stays reads all that it names. */
static void read_all(struct slice_facts *f)
{
    f->now.seen_number++;
    for (size_t i = 0; i < f->now.names.count; i++)
        if (f->objects[f->now.names.at[i]].type != GEN_HANDLE_VkCommandBuffer &&
            f->objects[f->now.names.at[i]].type != GEN_HANDLE_VkDescriptorSet)
            slice_access(f, f->now.names.at[i], SLICE_READ);
}

static void join_named(struct slice_facts *f)
{
    uint32_t first = 0;

    for (size_t i = 0; i < f->now.names.count; i++) {
        uint32_t type = f->objects[f->now.names.at[i]].type;
        if (type != GEN_HANDLE_VkImage && type != GEN_HANDLE_VkBuffer && type != GEN_HANDLE_VkDeviceMemory)
            continue;
        if (first)
            slice_join(f, first, f->now.names.at[i]);
        else
            first = f->now.names.at[i];
    }
}

/* The secondary command buffers as they are now: the program may record them anew for others. */
static struct slice_run executed_by(struct slice_facts *f, uint64_t block)
{
    struct slice_run steps = {0, 0}, run = {f->ids.count, 0};

    if (block < f->block_capacity)
        steps = f->blocks[block].steps;
    for (uint32_t i = 0; i < steps.count; i++) {
        uint64_t step = f->steps.at[steps.from + i];
        if (slice_step_kind(step) == SLICE_EXECUTE &&
            slice_add_id(f, &f->ids, f->objects[slice_step_number(step)].block))
            run.count++;
    }
    return run;
}

static enum slice_kind see_block(struct slice_facts *f, const struct gen_args_lapilliBlock *a, uint32_t ticket,
                                 struct slice_run *executed)
{
    uint32_t object = OBJECT(f, VkCommandBuffer, a->commandBuffer);

    *executed = executed_by(f, a->block);
    f->objects[object].block = ticket;
    return SLICE_BLOCK;
}

static void see_written(struct slice_facts *f, const struct trace_call *call)
{
    const struct gen_args_lapilliUpdateBuffer *a = call->args;
    uint32_t object = f->now.names.count ? f->now.names.at[0] : 0;

    f->now.seen_number++;
    for (size_t i = 0; i < f->now.names.count; i++)
        slice_access(f, f->now.names.at[i], SLICE_CHANGE);
    if (call->command == GEN_lapilliUpdateBufferSpans)
        see_spans(f, call->args, object);
    else if (call->command == GEN_lapilliUpdateBuffer)
        see_write(f, object, a->offset, a->dataSize);
}

/* By the host. */
static void see_access(struct slice_facts *f, const struct trace_call *call)
{
    const size_t names = f->now.names.count; /* which are noted */

    f->now.seen_number++;
    slice_see_transitions(f, call);
    if (!f->now.doing.count)
        slice_walk(f, call->command, call->args, &gen_effects[call->command]);
    f->now.names.count = names;
}

static enum slice_kind see_effects(struct slice_facts *f, const struct trace_call *call, uint32_t ticket,
                                   struct slice_run *subjects)
{
    bool orders = slice_note_sync(f, call, ticket);
    uint32_t object;

    switch (call->command) {
    case GEN_lapilliSharedMemory: {
        const struct gen_args_lapilliSharedMemory *a = call->args;
        object = OBJECT(f, VkDeviceMemory, a->memory);
        f->objects[object].space = a->space;
        f->objects[object].bytes = a->offset;
        return SLICE_TELLS;
    }
    case GEN_lapilliBindBuffer: {
        const struct gen_args_lapilliBindBuffer *a = call->args;
        slice_see_place(f, OBJECT(f, VkBuffer, a->buffer), a->memory, a->memoryOffset, a->size);
        break;
    }
    case GEN_lapilliBindImage:
        slice_see_bound_image(f, call->args);
        break;
    default:
        break;
    }
    if (f->now.subjects.count)
        return SLICE_MAKES;
    switch ((enum gen_does)gen_effects[call->command].does) {
    case GEN_EFFECT_RECORDS:
        return see_block(f, call->args, ticket, subjects);
    case GEN_EFFECT_SUBMITS:
        see_submit(f, call);
        if (f->draw.at && ticket == f->draw.at->ticket)
            end_with_draw(f);
        return SLICE_SUBMIT;
    case GEN_EFFECT_PRESENTS:
        see_present(f, ((const struct gen_args_vkQueuePresentKHR *)call->args)->pPresentInfo);
        return SLICE_ORDERS;
    case GEN_EFFECT_ACQUIRES:
    case GEN_EFFECT_WAITS:
    case GEN_EFFECT_SIGNALS: /* events: work that was submitted before may wait for it */
        slice_see_events(f, call->command, call->args);
        return orders ? SLICE_ORDERS : SLICE_STAYS;
    case GEN_EFFECT_BINDS:
        join_named(f);
        return SLICE_STAYS;
    case GEN_EFFECT_DESCRIBES:
        *subjects = slice_update_sets(f, call->args, ticket);
        return SLICE_DESCRIBES;
    case GEN_EFFECT_WRITES:
        see_written(f, call);
        return SLICE_WRITES;
    case GEN_EFFECT_ACCESSES:
        see_access(f, call);
        return SLICE_ACCESSES;
    case GEN_EFFECT_MAKES:
    case GEN_EFFECT_STATE:
        first_subject(f);
        return SLICE_MAKES;
    case GEN_EFFECT_CHECKS:
        read_all(f);
        return SLICE_NOTHING;
    default:
        break;
    }
    if (gen_command_flags[call->command] & LAP_PACKET_INFO)
        return SLICE_TELLS;
    read_all(f);
    return SLICE_STAYS;
}

static void end_with_block(struct slice_facts *f, uint64_t block, struct slice_packet *packet)
{
    struct slice_suspended suspended;

    packet->steps = (struct slice_run){block, 0};
    if (block < f->block_capacity)
        packet->leaves = (uint8_t)slice_leaves_of(f, f->blocks[block].steps, packet->subjects, &suspended);
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct slice_facts *f = state;
    uint32_t ticket = (uint32_t)call->packet->ticket;
    struct slice_packet packet = f->packets[ticket];

    if (f->now.block)
        slice_end_block(f);
    if (f->draw.at && ticket == f->draw.at->ticket)
        twins_shorten(call->command, (void *)(uintptr_t)call->args, f->draw.at->batch,
                      f->draw.at->buffer); /* no pass visits it */
    f->now.names.count = f->now.subjects.count = f->now.doing.count = 0;
    slice_walk(f, call->command, call->args, NULL);
    see_subjects(f, call, ticket);
    slice_see_creation(f, call);
    packet.kind = (uint8_t)see_effects(f, call, ticket, &packet.subjects);
    if (f->takes && (call->command == GEN_vkGetQueryPoolResults || call->command == GEN_vkGetEventStatus)) {
        packet.kind = SLICE_ASKS;
        f->now.doing.count = 0;
        read_all(f);
    }
    packet.names = slice_keep_ids(f, &f->now.names);
    if (packet.kind == SLICE_MAKES)
        packet.subjects = slice_keep_ids(f, &f->now.subjects);
    for (size_t i = 0; i < f->now.subjects.count; i++)
        if (f->objects[f->now.subjects.at[i]].maker == ticket)
            slice_note_contents(f, f->now.subjects.at[i], packet.names);
    if (call->command == GEN_lapilliBlock)
        end_with_block(f, ((const struct gen_args_lapilliBlock *)call->args)->block, &packet);
    else
        packet.steps = slice_keep_steps(f, &f->now.doing);
    f->packets[ticket] = packet;
    return *f->status;
}

static void see_packet(void *state, const struct lap_packet *packet)
{
    struct slice_facts *f = state;
    size_t before = f->packet_capacity;

    if (packet->ticket >= MOST_PACKETS) {
        slice_fail(f, lap_fail(LAP_ERROR_LIMIT, "the part begins behind too many packets"));
        return;
    }
    if (!slice_make_room(f, &f->packets, sizeof *f->packets, &f->packet_capacity, (size_t)packet->ticket + 1))
        return;
    memset(f->packets + before, 0, (f->packet_capacity - before) * sizeof *f->packets);
    f->packet_count = (size_t)packet->ticket + 1;
    f->packets[packet->ticket].kind = packet->flags & LAP_PACKET_FAILED ? SLICE_NOTHING : SLICE_STAYS;
}

/* ---- the whole ---- */

struct trace_visitor slice_see_visitor(struct slice_facts *f)
{
    (void)slice_new_object(f, GEN_HANDLE_NONE);
    return (struct trace_visitor){.all_commands = true,
                                  .information = true,
                                  .visit = visit,
                                  .visit_in_block = slice_visit_in_block,
                                  .see_packet = see_packet,
                                  .state = f,
                                  .last_ticket = f->last};
}

void slice_see_end(struct slice_facts *f, struct slice_expansion *e)
{
    slice_join_places(f);
    slice_join_syncs(f);
    slice_find_late(f, e);
}
