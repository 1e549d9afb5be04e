/* SPDX-License-Identifier: MIT */
#include "replayer/submit_parts.h"

#include <string.h>

#include "gen_replay.h"
#include "replayer/events.h"
#include "replayer/player.h"
#include "replayer/resource.h"

#define MOST ((uint64_t)1 << 23) /* pieces, and steps, of one submit: command buffers may be named again and again */

/* A command buffer of a recorded batch, or a part of one. */
struct piece {
    uint32_t batch, number; /* of the command buffer in the batch */
    VkCommandBuffer recorded, live;
    uint32_t steps;
    bool begins; /* a batch that the trace does not have */
};

struct cut {
    struct replay *r;
    const struct replay_device *dev;
    uint32_t batch_count, cuts;
    const VkSubmitInfo *one; /* either */
    const VkSubmitInfo2 *two;
    struct piece *pieces;
    uint32_t piece_count;
    struct replay_event_step *steps;
    uint32_t step_count;
    uint64_t look;
};

static uint32_t command_buffers(const struct cut *cut, uint32_t batch)
{
    const VkSubmitInfo *one = cut->one ? &cut->one[batch] : NULL;
    const VkSubmitInfo2 *two = cut->two ? &cut->two[batch] : NULL;

    if (one)
        return one->pCommandBuffers ? one->commandBufferCount : 0;
    return two && two->pCommandBufferInfos ? two->commandBufferInfoCount : 0;
}

static VkCommandBuffer command_buffer(const struct cut *cut, uint32_t batch, uint32_t number)
{
    return cut->one ? cut->one[batch].pCommandBuffers[number]
                    : cut->two[batch].pCommandBufferInfos[number].commandBuffer;
}

/* ---- where ---- */

/* Follows what the piece does with events, if what was submitted before has run: whether it waits for one that is not
 * set. */
static bool waits(const struct cut *cut, uint32_t first_step)
{
    bool any = false;

    for (uint32_t i = first_step; i < cut->step_count; i++) {
        struct replay_event *event = cut->steps[i].event;
        if (event->now.look != cut->look) {
            event->now.look = cut->look;
            event->now.set = event->set;
        }
        any = any || (cut->steps[i].use == REPLAY_EVENT_WAIT && !event->now.set);
        event->now.set = cut->steps[i].use != REPLAY_EVENT_RESET;
    }
    return any;
}

static void add_pieces(struct cut *cut, uint32_t batch, uint32_t number)
{
    VkCommandBuffer commands = command_buffer(cut, batch, number);
    uint32_t parts = replay_events_parts(cut->r, cut->dev, commands);

    for (uint32_t i = 0; i < parts; i++) {
        struct piece *piece = &cut->pieces[cut->piece_count++];
        uint32_t first = cut->step_count;
        bool waiting;
        *piece = (struct piece){batch, number, commands, replay_events_part(cut->r, cut->dev, commands, i), 0, i > 0};
        piece->steps = replay_events_write(cut->r, cut->dev, commands, i, cut->steps + first);
        cut->step_count += piece->steps;
        waiting = waits(cut, first);
        piece->begins = piece->begins || (number > 0 && waiting);
        cut->cuts += piece->begins;
    }
}

static enum lap_status find_pieces(struct cut *cut)
{
    uint64_t steps = 0, pieces = 0;

    for (uint32_t i = 0; i < cut->batch_count; i++)
        for (uint32_t j = 0; j < command_buffers(cut, i); j++) {
            steps += replay_events_count(cut->r, cut->dev, command_buffer(cut, i, j));
            pieces += replay_events_parts(cut->r, cut->dev, command_buffer(cut, i, j));
        }
    if (!steps)
        return LAP_OK;
    if (steps > MOST || pieces > MOST)
        return lap_fail(LAP_ERROR_LIMIT, "command buffers of one submit do more than %u million things with events",
                        (unsigned)(MOST >> 20));
    cut->steps = replay_scratch(cut->r, steps, sizeof *cut->steps);
    cut->pieces = replay_scratch(cut->r, pieces, sizeof *cut->pieces);
    if (!cut->steps || !cut->pieces)
        return replay_no_scratch(cut->r);
    for (uint32_t i = 0; i < cut->batch_count; i++)
        for (uint32_t j = 0; j < command_buffers(cut, i); j++)
            add_pieces(cut, i, j);
    return LAP_OK;
}

/* ---- the smaller batches ---- */

/* Pieces [first, first + count) of one recorded batch. */
struct slice {
    uint32_t batch, first, count;
    bool begin, end; /* of the recorded batch */
};

/* The next one; pieces are in the order of their batches, of which some have none. */
static struct slice next_slice(const struct cut *cut, const struct slice *last)
{
    uint32_t at = last ? last->first + last->count : 0;
    struct slice slice = {.batch = last ? last->batch + last->end : 0, .first = at, .begin = !last || last->end};

    while (at < cut->piece_count && cut->pieces[at].batch == slice.batch &&
           (at == slice.first || !cut->pieces[at].begins))
        at++;
    slice.count = at - slice.first;
    slice.end = at == cut->piece_count || cut->pieces[at].batch != slice.batch;
    return slice;
}

struct chain {
    const void *first;
    VkBaseOutStructure *last;
};

/* Appends a copy of a structure. NULL: no memory. */
static void *append(struct replay *r, struct chain *chain, const void *from, size_t bytes)
{
    VkBaseOutStructure *to = replay_scratch(r, 1, bytes);

    if (!to)
        return NULL;
    memcpy(to, from, bytes);
    to->pNext = NULL;
    if (chain->last)
        chain->last->pNext = to;
    else
        chain->first = to;
    return chain->last = to;
}

/* What is chained to a batch, for one that is not the last of those that it becomes: what says how all of its work is
 * to be done. What says that something is over, and what is not known here, belongs to the last one. */
static bool chain_earlier(struct replay *r, const void *from, const void **to)
{
    struct chain chain = {NULL, NULL};

    for (const VkBaseInStructure *at = from; at; at = at->pNext) {
        bool enough = true;
        switch ((int)at->sType) {
        case VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO:
            enough = append(r, &chain, at, sizeof(VkTimelineSemaphoreSubmitInfo));
            break;
        case VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO:
            enough = append(r, &chain, at, sizeof(VkDeviceGroupSubmitInfo));
            break;
        case VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO:
            enough = append(r, &chain, at, sizeof(VkProtectedSubmitInfo));
            break;
        case VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR:
            enough = append(r, &chain, at, sizeof(VkPerformanceQuerySubmitInfoKHR));
            break;
#ifdef VK_EXT_frame_boundary
        case VK_STRUCTURE_TYPE_FRAME_BOUNDARY_EXT: {
            VkFrameBoundaryEXT *here = append(r, &chain, at, sizeof *here);
            if (here) { /* which frame it is of; its end and its results come with the last one */
                here->flags &= ~(VkFrameBoundaryFlagsEXT)VK_FRAME_BOUNDARY_FRAME_END_BIT_EXT;
                here->imageCount = here->bufferCount = 0;
            }
            enough = here != NULL;
            break;
        }
#endif
        default:
            break;
        }
        if (!enough)
            return false;
    }
    *to = chain.first;
    return true;
}

/* Counts of the slice in what is chained to it, which is its own: the last one has what was recorded. */
static void count_chained(const struct cut *cut, const struct slice *slice, const VkSubmitInfo *from, uint32_t *masks,
                          const void *chain)
{
    VkTimelineSemaphoreSubmitInfo *timeline = (VkTimelineSemaphoreSubmitInfo *)(uintptr_t)replay_chain_find(
        chain, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    VkDeviceGroupSubmitInfo *group =
        (VkDeviceGroupSubmitInfo *)(uintptr_t)replay_chain_find(chain, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);

    if (timeline && !slice->begin)
        timeline->waitSemaphoreValueCount = 0;
    if (timeline && !slice->end)
        timeline->signalSemaphoreValueCount = 0;
    if (!group)
        return;
    if (!slice->begin)
        group->waitSemaphoreCount = 0;
    if (!slice->end)
        group->signalSemaphoreCount = 0;
    if (group->commandBufferCount == from->commandBufferCount && group->pCommandBufferDeviceMasks) {
        for (uint32_t i = 0; i < slice->count; i++)
            masks[i] = group->pCommandBufferDeviceMasks[cut->pieces[slice->first + i].number];
        group->commandBufferCount = slice->count;
        group->pCommandBufferDeviceMasks = masks;
    } else {
        group->commandBufferCount = 0; /* all of them on all devices */
    }
}

static bool write_one(const struct cut *cut, const struct slice *slice, VkCommandBuffer *commands, uint32_t *masks,
                      VkSubmitInfo *to)
{
    const VkSubmitInfo *from = &cut->one[slice->batch];

    *to = *from;
    for (uint32_t i = 0; i < slice->count; i++)
        commands[i] = cut->pieces[slice->first + i].live;
    to->commandBufferCount = slice->count;
    to->pCommandBuffers = commands;
    to->waitSemaphoreCount = slice->begin ? from->waitSemaphoreCount : 0;
    to->signalSemaphoreCount = slice->end ? from->signalSemaphoreCount : 0;
    if (slice->begin && slice->end)
        return true;
    if (!slice->end && !chain_earlier(cut->r, from->pNext, &to->pNext))
        return false;
    count_chained(cut, slice, from, masks, to->pNext);
    return true;
}

static bool write_two(const struct cut *cut, const struct slice *slice, VkCommandBufferSubmitInfo *commands,
                      VkSubmitInfo2 *to)
{
    const VkSubmitInfo2 *from = &cut->two[slice->batch];

    *to = *from;
    for (uint32_t i = 0; i < slice->count; i++) {
        commands[i] = from->pCommandBufferInfos[cut->pieces[slice->first + i].number];
        commands[i].commandBuffer = cut->pieces[slice->first + i].live;
    }
    to->commandBufferInfoCount = slice->count;
    to->pCommandBufferInfos = commands;
    to->waitSemaphoreInfoCount = slice->begin ? from->waitSemaphoreInfoCount : 0;
    to->signalSemaphoreInfoCount = slice->end ? from->signalSemaphoreInfoCount : 0;
    return slice->end || chain_earlier(cut->r, from->pNext, &to->pNext);
}

/* step_counts: of the batches as they become. */
static enum lap_status write_batches(const struct cut *cut, uint32_t command, void *args, uint32_t *step_counts,
                                     const VkCommandBuffer **out_recorded)
{
    struct replay *r = cut->r;
    uint32_t count = cut->batch_count + cut->cuts;
    VkSubmitInfo *one = cut->one ? replay_scratch(r, count, sizeof *one) : NULL;
    VkSubmitInfo2 *two = cut->two ? replay_scratch(r, count, sizeof *two) : NULL;
    VkCommandBuffer *commands = replay_scratch(r, cut->piece_count, sizeof *commands);
    VkCommandBuffer *recorded = replay_scratch(r, cut->piece_count, sizeof *recorded);
    VkCommandBufferSubmitInfo *infos = replay_scratch(r, cut->piece_count, sizeof *infos);
    uint32_t *masks = replay_scratch(r, cut->piece_count, sizeof *masks);
    struct slice slice;

    if ((!one && !two) || !commands || !recorded || !infos || !masks)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < count; i++) {
        slice = next_slice(cut, i ? &slice : NULL);
        if (one ? !write_one(cut, &slice, commands + slice.first, masks + slice.first, &one[i])
                : !write_two(cut, &slice, infos + slice.first, &two[i]))
            return replay_no_scratch(r);
        step_counts[i] = 0;
        for (uint32_t j = 0; j < slice.count; j++)
            step_counts[i] += cut->pieces[slice.first + j].steps;
    }
    for (uint32_t i = 0; i < cut->piece_count; i++)
        recorded[i] = cut->pieces[i].recorded;
    *out_recorded = recorded;
    if (command == GEN_vkQueueSubmit) {
        ((struct gen_args_vkQueueSubmit *)args)->submitCount = count;
        ((struct gen_args_vkQueueSubmit *)args)->pSubmits = one;
    } else {
        ((struct gen_args_vkQueueSubmit2 *)args)->submitCount = count;
        ((struct gen_args_vkQueueSubmit2 *)args)->pSubmits = two;
    }
    return LAP_OK;
}

enum lap_status replay_submit_cut(struct replay *r, const struct replay_device *dev, uint32_t command, void *args,
                                  uint64_t look, struct replay_parts *out)
{
    const struct gen_args_vkQueueSubmit *one = command == GEN_vkQueueSubmit ? args : NULL;
    const struct gen_args_vkQueueSubmit2 *two = one ? NULL : args;
    struct cut cut = {.r = r,
                      .dev = dev,
                      .look = look,
                      .batch_count = one ? one->submitCount : two->submitCount,
                      .one = one ? one->pSubmits : NULL,
                      .two = two ? two->pSubmits : NULL};
    const VkCommandBuffer *recorded = NULL;
    uint32_t *step_counts;
    enum lap_status status = dev->events ? find_pieces(&cut) : LAP_OK;

    *out = (struct replay_parts){.batch_count = cut.batch_count};
    if (status != LAP_OK || !cut.steps)
        return status;
    step_counts = replay_scratch(r, cut.batch_count + cut.cuts, sizeof *step_counts);
    if (!step_counts)
        return replay_no_scratch(r);
    memset(step_counts, 0, (cut.batch_count + cut.cuts) * sizeof *step_counts);
    if (cut.cuts) {
        status = write_batches(&cut, command, args, step_counts, &recorded);
    } else {
        for (uint32_t i = 0; i < cut.piece_count; i++)
            step_counts[cut.pieces[i].batch] += cut.pieces[i].steps;
    }
    *out = (struct replay_parts){cut.batch_count + cut.cuts, step_counts, cut.steps, recorded};
    return status;
}
