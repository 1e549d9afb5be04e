/* SPDX-License-Identifier: MIT */
/* Reads the trace up to the end of the part, and notes the objects and effects of each packet. */
#include "inspector/slice/slice.h"
#include "inspector/edit/twins.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/slice/cut_draw.h"
#include "inspector/slice/slice_internal.h"
#include "vulkan/walk.h"

#define MOST_PACKETS (UINT64_C(1) << 29)
#define STEP_BYTES   (UINT64_C(1) << 20) /* of packets, between two reports of progress */

void slice_fail(struct slice *s, enum lap_status status)
{
    if (s->status == LAP_OK)
        s->status = status;
}

static void no_memory(struct slice *s)
{
    slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

bool slice_add_id(struct slice *s, struct slice_ids *to, uint32_t id)
{
    if (!lap_array_grow(&to->at, sizeof *to->at, &to->capacity, to->count + 1)) {
        no_memory(s);
        return false;
    }
    to->at[to->count++] = id;
    return true;
}

bool slice_add_step(struct slice *s, struct slice_steps *to, uint64_t step)
{
    if (!lap_array_grow(&to->at, sizeof *to->at, &to->capacity, to->count + 1)) {
        no_memory(s);
        return false;
    }
    to->at[to->count++] = step;
    return true;
}

/* ---- submits ---- */

static void submit_buffer(struct slice *s, VkCommandBuffer buffer)
{
    uint32_t object = buffer ? slice_object_of(s, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(buffer)) : 0;
    uint32_t packet = object ? s->objects[object].block : 0;

    if (packet && slice_add_step(s, &s->doing, slice_step(SLICE_RUN, packet)))
        s->packets[packet].submitted = true;
}

static void see_submit(struct slice *s, const struct trace_call *call)
{
    if (call->command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *a = call->args;
        for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)
            for (uint32_t k = 0; a->pSubmits[i].pCommandBuffers && k < a->pSubmits[i].commandBufferCount; k++)
                submit_buffer(s, a->pSubmits[i].pCommandBuffers[k]);
    } else if (call->command == GEN_vkQueueSubmit2) {
        const struct gen_args_vkQueueSubmit2 *a = call->args;
        for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)
            for (uint32_t k = 0; a->pSubmits[i].pCommandBufferInfos && k < a->pSubmits[i].commandBufferInfoCount; k++)
                submit_buffer(s, a->pSubmits[i].pCommandBufferInfos[k].commandBuffer);
    }
    slice_see_suspended_submit(s);
}

/* Its command buffer is the last one. */
static void end_with_draw(struct slice *s)
{
    uint32_t first = s->doing.count ? slice_draw_add(s) : 0;

    if (!first)
        return;
    slice_find_suspended(s, first);
    s->doing.at[s->doing.count - 1] = slice_step(SLICE_RUN, first);
}

static void see_present(struct slice *s, const VkPresentInfoKHR *info)
{
    for (uint32_t i = 0; info && info->pSwapchains && info->pImageIndices && i < info->swapchainCount; i++) {
        uint32_t swapchain =
            slice_object_of(s, GEN_HANDLE_VkSwapchainKHR, gen_u64_VkSwapchainKHR(info->pSwapchains[i]));
        if (swapchain && info->pImageIndices[i] < s->objects[swapchain].refs.count)
            slice_add_step(s, &s->doing,
                           slice_step(SLICE_READ, s->ids.at[s->objects[swapchain].refs.from + info->pImageIndices[i]]));
    }
}

/* ---- host writes ---- */

static void see_write(struct slice *s, uint32_t buffer, uint64_t offset, uint64_t size)
{
    if (buffer && slice_add_step(s, &s->doing, slice_step(SLICE_SPAN, 0)) && slice_add_step(s, &s->doing, offset))
        slice_add_step(s, &s->doing, size);
}

static void see_spans(struct slice *s, const struct gen_args_lapilliUpdateBufferSpans *a, uint32_t buffer)
{
    uint64_t at = 0;

    for (uint32_t i = 0; a->pGaps && a->pSizes && i < a->spanCount; i++) {
        at += a->pGaps[i];
        see_write(s, buffer, at, a->pSizes[i]);
        at += a->pSizes[i];
    }
}

/* ---- packets ---- */

/* Objects that the call creates or destroys. */
static void see_subjects(struct slice *s, const struct trace_call *call, uint32_t ticket)
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
            uint32_t object = slice_object_of(s, member->type, index);
            if (!object || !slice_add_id(s, &s->subjects, object))
                continue;
            if (member->flags & GEN_MEMBER_CREATED && gen_handle_addresses[member->type])
                (void)slice_add_id(s, &s->addressed, object);
            if (!(member->flags & GEN_MEMBER_CREATED))
                s->objects[object].destroyer = ticket;
            else if (!s->objects[object].maker)
                s->objects[object].maker = ticket;
        }
    }
}

static void first_subject(struct slice *s)
{
    for (size_t i = 0; i < s->names.count; i++)
        if (s->objects[s->names.at[i]].type != GEN_HANDLE_VkDevice) {
            (void)slice_add_id(s, &s->subjects, s->names.at[i]);
            return;
        }
}

static struct slice_run keep_ids(struct slice *s, const struct slice_ids *from)
{
    struct slice_run run = {s->ids.count, (uint32_t)from->count};
    for (size_t i = 0; i < from->count; i++)
        if (!slice_add_id(s, &s->ids, from->at[i]))
            return (struct slice_run){0, 0};
    return run;
}

static void keep_steps(struct slice *s, struct slice_packet *packet)
{
    packet->steps = (struct slice_run){s->steps.count, (uint32_t)s->doing.count};
    for (size_t i = 0; i < s->doing.count; i++)
        if (!slice_add_step(s, &s->steps, s->doing.at[i]))
            return;
}

/* A packet that stays reads all that it names. */
static void read_all(struct slice *s)
{
    s->seen_now++;
    for (size_t i = 0; i < s->names.count; i++)
        if (s->objects[s->names.at[i]].type != GEN_HANDLE_VkCommandBuffer &&
            s->objects[s->names.at[i]].type != GEN_HANDLE_VkDescriptorSet)
            slice_access(s, s->names.at[i], SLICE_READ);
}

static void join_named(struct slice *s)
{
    uint32_t first = 0;

    for (size_t i = 0; i < s->names.count; i++) {
        uint32_t type = s->objects[s->names.at[i]].type;
        if (type != GEN_HANDLE_VkImage && type != GEN_HANDLE_VkBuffer && type != GEN_HANDLE_VkDeviceMemory)
            continue;
        if (first)
            slice_join(s, first, s->names.at[i]);
        else
            first = s->names.at[i];
    }
}

static void change_named(struct slice *s)
{
    for (size_t i = 0; i < s->names.count; i++)
        slice_access(s, s->names.at[i], SLICE_CHANGE);
}

/* The secondary command buffers as they are now: the program may record them anew for others. */
static struct slice_run executed_by(struct slice *s, uint64_t block)
{
    struct slice_run steps = {0, 0}, run = {s->ids.count, 0};

    if (block < s->block_capacity)
        steps = s->blocks[block].steps;
    for (uint32_t i = 0; i < steps.count; i++) {
        uint64_t step = s->steps.at[steps.from + i];
        if (slice_step_kind(step) == SLICE_EXECUTE &&
            slice_add_id(s, &s->ids, s->objects[slice_step_number(step)].block))
            run.count++;
    }
    return run;
}

static enum slice_kind see_block(struct slice *s, const struct gen_args_lapilliBlock *a, uint32_t ticket,
                                 struct slice_run *executed)
{
    uint32_t object = slice_object_of(s, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(a->commandBuffer));

    *executed = executed_by(s, a->block);
    s->objects[object].block = ticket;
    return SLICE_BLOCK;
}

static void see_written(struct slice *s, const struct trace_call *call)
{
    uint32_t object = s->names.count ? s->names.at[0] : 0;

    s->seen_now++;
    change_named(s);
    if (call->command == GEN_lapilliUpdateBufferSpans)
        see_spans(s, call->args, object);
    else if (call->command == GEN_lapilliUpdateBuffer)
        see_write(s, object, ((const struct gen_args_lapilliUpdateBuffer *)call->args)->offset,
                  ((const struct gen_args_lapilliUpdateBuffer *)call->args)->dataSize);
}

/* By the host. */
static void see_access(struct slice *s, const struct trace_call *call)
{
    const size_t names = s->names.count; /* which are noted */

    s->seen_now++;
    slice_see_transitions(s, call);
    if (!s->doing.count)
        slice_walk(s, call->command, call->args, &gen_effects[call->command]);
    s->names.count = names;
}

static enum slice_kind see_effects(struct slice *s, const struct trace_call *call, uint32_t ticket,
                                   struct slice_run *subjects)
{
    bool orders = slice_note_sync(s, call, ticket);
    uint32_t object;

    switch (call->command) {
    case GEN_lapilliSharedMemory: {
        const struct gen_args_lapilliSharedMemory *a = call->args;
        object = slice_object_of(s, GEN_HANDLE_VkDeviceMemory, gen_u64_VkDeviceMemory(a->memory));
        s->objects[object].space = a->space;
        s->objects[object].bytes = a->offset;
        return SLICE_TELLS;
    }
    case GEN_lapilliBindBuffer: {
        const struct gen_args_lapilliBindBuffer *a = call->args;
        slice_see_place(s, slice_object_of(s, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(a->buffer)), a->memory,
                        a->memoryOffset, a->size);
        break;
    }
    case GEN_lapilliBindImage:
        slice_see_bound_image(s, call->args);
        break;
    default:
        break;
    }
    if (s->subjects.count)
        return SLICE_MAKES;
    switch ((enum gen_does)gen_effects[call->command].does) {
    case GEN_EFFECT_RECORDS:
        return see_block(s, call->args, ticket, subjects);
    case GEN_EFFECT_SUBMITS:
        see_submit(s, call);
        if (s->draw.at && ticket == s->draw.at->ticket)
            end_with_draw(s);
        return SLICE_SUBMIT;
    case GEN_EFFECT_PRESENTS:
        see_present(s, ((const struct gen_args_vkQueuePresentKHR *)call->args)->pPresentInfo);
        return SLICE_ORDERS;
    case GEN_EFFECT_ACQUIRES:
    case GEN_EFFECT_WAITS:
    case GEN_EFFECT_SIGNALS: /* events: work that was submitted before may wait for it */
        slice_draw_see_events(s, call->command, call->args);
        return orders ? SLICE_ORDERS : SLICE_STAYS;
    case GEN_EFFECT_BINDS:
        join_named(s);
        return SLICE_STAYS;
    case GEN_EFFECT_DESCRIBES:
        *subjects = slice_update_sets(s, call->args, ticket);
        return SLICE_DESCRIBES;
    case GEN_EFFECT_WRITES:
        see_written(s, call);
        return SLICE_WRITES;
    case GEN_EFFECT_ACCESSES:
        see_access(s, call);
        return SLICE_ACCESSES;
    case GEN_EFFECT_MAKES:
    case GEN_EFFECT_STATE:
        first_subject(s);
        return SLICE_MAKES;
    case GEN_EFFECT_CHECKS:
        read_all(s);
        return SLICE_NOTHING;
    default:
        break;
    }
    if (gen_command_flags[call->command] & LAP_PACKET_INFO)
        return SLICE_TELLS;
    read_all(s);
    return SLICE_STAYS;
}

static void end_with_block(struct slice *s, uint64_t block, struct slice_packet *packet)
{
    struct slice_suspended suspended;

    packet->steps = (struct slice_run){block, 0};
    if (block < s->block_capacity)
        packet->leaves = (uint8_t)slice_leaves_of(s, s->blocks[block].steps, packet->subjects, &suspended);
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct slice *s = state;
    uint32_t ticket = (uint32_t)call->packet->ticket;
    struct slice_packet packet = s->packets[ticket];

    if (s->block_now)
        slice_end_block(s);
    if (s->draw.at && ticket == s->draw.at->ticket)
        twins_shorten(call->command, (void *)(uintptr_t)call->args, s->draw.at->batch,
                      s->draw.at->buffer); /* no pass visits it */
    s->names.count = s->subjects.count = s->doing.count = 0;
    slice_walk(s, call->command, call->args, NULL);
    see_subjects(s, call, ticket);
    slice_see_creation(s, call);
    packet.kind = (uint8_t)see_effects(s, call, ticket, &packet.subjects);
    if (s->taking && (call->command == GEN_vkGetQueryPoolResults || call->command == GEN_vkGetEventStatus)) {
        packet.kind = SLICE_ASKS;
        s->doing.count = 0;
        read_all(s);
    }
    packet.names = keep_ids(s, &s->names);
    if (packet.kind == SLICE_MAKES)
        packet.subjects = keep_ids(s, &s->subjects);
    for (size_t i = 0; i < s->subjects.count; i++)
        if (s->objects[s->subjects.at[i]].maker == ticket)
            slice_note_contents(s, s->subjects.at[i], packet.names);
    if (call->command == GEN_lapilliBlock)
        end_with_block(s, ((const struct gen_args_lapilliBlock *)call->args)->block, &packet);
    else
        keep_steps(s, &packet);
    packet.kept = ticket >= s->first;
    s->packets[ticket] = packet;
    return s->status;
}

static void see_packet(void *state, const struct lap_packet *packet)
{
    struct slice *s = state;
    size_t before = s->packet_capacity;

    if (packet->ticket >= MOST_PACKETS) {
        slice_fail(s, lap_fail(LAP_ERROR_LIMIT, "the part begins behind too many packets"));
        return;
    }
    if (!lap_array_grow(&s->packets, sizeof *s->packets, &s->packet_capacity, (size_t)packet->ticket + 1)) {
        no_memory(s);
        return;
    }
    memset(s->packets + before, 0, (s->packet_capacity - before) * sizeof *s->packets);
    s->packet_count = (size_t)packet->ticket + 1;
    s->packets[packet->ticket].kind = packet->flags & LAP_PACKET_FAILED ? SLICE_NOTHING : SLICE_STAYS;
    s->packets[packet->ticket].kept = packet->ticket >= s->first;
}

/* ---- the whole ---- */

static enum lap_status find(struct slice *s, const struct lap_reader *trace,
                            void (*progress)(void *user, uint64_t done, uint64_t all), void *user)
{
    const uint64_t last = s->last;
    struct trace_pass *pass = NULL;
    enum lap_status status;

    (void)slice_new_object(s, GEN_HANDLE_NONE);
    struct trace_visitor visitors[2] = {{.all_commands = true,
                                         .information = true,
                                         .visit = visit,
                                         .visit_in_block = slice_visit_in_block,
                                         .see_packet = see_packet,
                                         .state = s,
                                         .last_ticket = last}};
    if (s->taking)
        image_layouts_visitor(s->taking->layouts, s->first - 1, &visitors[1]);
    status =
        s->status == LAP_OK ? trace_pass_open(trace, 0, visitors, s->taking && s->first > 1 ? 2 : 1, &pass) : s->status;
    for (uint64_t bytes = STEP_BYTES; status == LAP_OK; bytes += STEP_BYTES) {
        status = s->status == LAP_OK ? trace_pass_advance(pass, bytes) : s->status;
        if (progress)
            progress(user, trace_pass_packet(pass)->ticket, last * 2);
    }
    trace_pass_close(&pass);
    if (status == LAP_END)
        status = s->status;
    if (status == LAP_OK) {
        slice_join_places(s);
        slice_join_syncs(s);
        slice_find_late(s);
        status = s->draw.at ? slice_draw_check_events(s) : s->status;
    }
    if (status == LAP_OK)
        status = slice_solve(s);
    if (status == LAP_OK && s->draw.at)
        status = slice_draw_check(s);
    return status;
}

static struct slice *create(uint64_t first, uint64_t last)
{
    struct slice *s = calloc(1, sizeof *s);

    if (s) {
        s->first = first;
        s->last = last;
    }
    return s;
}

enum lap_status slice_find(const struct lap_reader *trace, uint64_t first, uint64_t last,
                           const struct position_found *draw, void (*progress)(void *user, uint64_t done, uint64_t all),
                           void *user, struct slice **out)
{
    enum lap_status status;

    *out = create(first, last);
    if (*out)
        (*out)->draw.at = draw;
    status = *out ? find(*out, trace, progress, user) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (status != LAP_OK)
        slice_destroy(out);
    return status;
}

enum lap_status slice_find_with_contents(const struct lap_reader *trace, uint64_t first, uint64_t last,
                                         const struct contents_file *file,
                                         void (*progress)(void *user, uint64_t done, uint64_t all), void *user,
                                         struct slice **out)
{
    enum lap_status status;

    *out = create(first, last);
    status = *out ? slice_begin_taking(*out, file) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (status == LAP_OK)
        status = find(*out, trace, progress, user);
    if (status != LAP_OK)
        slice_destroy(out);
    return status;
}

void slice_destroy(struct slice **slice)
{
    struct slice *s = *slice;

    if (!s)
        return;
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        free(s->numbers[i].at);
    slice_free_sets(s);
    slice_end_taking(s);
    free(s->packets);
    free(s->objects);
    free(s->ids.at);
    free(s->steps.at);
    free(s->blocks);
    free(s->places);
    free(s->syncs);
    free(s->needs);
    free(s->late);
    free(s->names.at);
    free(s->subjects.at);
    free(s->addressed.at);
    free(s->doing.at);
    free(s->seen);
    free(s);
    *slice = NULL;
}

enum slice_fate slice_fate_of(const struct slice *s, uint64_t ticket)
{
    const struct slice_packet *p;

    if (ticket >= s->packet_count)
        return SLICE_DROPPED;
    p = &s->packets[ticket];
    if (p->kind == SLICE_BLOCK && ticket < s->first)
        return (s->taking && s->taking->records_again ? p->early : p->whole) ? SLICE_KEPT
               : p->kept                                                     ? SLICE_EMPTIED
                                                                             : SLICE_DROPPED;
    return p->kept ? SLICE_KEPT : SLICE_DROPPED;
}

uint64_t slice_holes(const struct slice *s)
{
    uint64_t holes = 0;

    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        uint64_t behind = 0; /* the highest that stays so far */
        for (size_t index = 1; index < s->numbers[type].capacity; index++) {
            uint32_t object = s->numbers[type].at[index], maker = object ? s->objects[object].maker : 0;
            if (maker && s->packets[maker].kept) {
                holes += index - behind - 1;
                behind = index;
            }
        }
    }
    return holes;
}
