/* SPDX-License-Identifier: MIT */
#include "replayer/submit_parts.h"

#include <string.h>

#include "gen_replay.h"
#include "replayer/events.h"
#include "replayer/player.h"
#include "replayer/resource.h"

/* A command buffer of a recorded batch, or a part of one. */
struct piece {
    uint32_t batch, number; /* of the command buffer in the batch */
    VkCommandBuffer live;
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

/* Whether an event is set before step `at`, if what was submitted before has run. */
static bool is_set(const struct cut *cut, uint32_t at)
{
    const struct replay_event *event = cut->steps[at].event;

    while (at-- > 0)
        if (cut->steps[at].event == event)
            return cut->steps[at].use != REPLAY_EVENT_RESET;
    return event->set;
}

static bool waits(const struct cut *cut, uint32_t first_step)
{
    for (uint32_t i = first_step; i < cut->step_count; i++)
        if (cut->steps[i].use == REPLAY_EVENT_WAIT && !is_set(cut, i))
            return true;
    return false;
}

static void add_pieces(struct cut *cut, uint32_t batch, uint32_t number)
{
    VkCommandBuffer commands = command_buffer(cut, batch, number);
    uint32_t parts = replay_events_parts(cut->r, cut->dev, commands);

    for (uint32_t i = 0; i < parts; i++) {
        struct piece *piece = &cut->pieces[cut->piece_count++];
        uint32_t first = cut->step_count;
        *piece = (struct piece){batch, number, replay_events_part(cut->r, cut->dev, commands, i), 0, i > 0};
        piece->steps = replay_events_write(cut->r, cut->dev, commands, i, cut->steps + first);
        cut->step_count += piece->steps;
        piece->begins = piece->begins || (number > 0 && waits(cut, first));
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
    cut->steps = steps <= UINT32_MAX ? replay_scratch(cut->r, steps, sizeof *cut->steps) : NULL;
    cut->pieces = pieces <= UINT32_MAX ? replay_scratch(cut->r, pieces, sizeof *cut->pieces) : NULL;
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

#define COPY(cut, type, from) ((type *)copy((cut)->r, (from), sizeof(type)))

static void *copy(struct replay *r, const void *from, size_t bytes)
{
    void *to = replay_scratch(r, 1, bytes);

    if (to)
        memcpy(to, from, bytes);
    return to;
}

/* What is chained, for the slice; what else may be there is for tools and for window systems. False: no memory. */
static bool chain_one(const struct cut *cut, const VkSubmitInfo *from, const struct slice *slice, uint32_t *masks,
                      VkSubmitInfo *to)
{
    const VkTimelineSemaphoreSubmitInfo *timeline =
        replay_chain_find(from->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    const VkDeviceGroupSubmitInfo *group = replay_chain_find(from->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
    const VkProtectedSubmitInfo *guarded = replay_chain_find(from->pNext, VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO);
    const VkPerformanceQuerySubmitInfoKHR *counters =
        replay_chain_find(from->pNext, VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);

    to->pNext = NULL;
    if (timeline) {
        VkTimelineSemaphoreSubmitInfo *here = COPY(cut, VkTimelineSemaphoreSubmitInfo, timeline);
        if (!here)
            return false;
        here->waitSemaphoreValueCount = slice->begin ? timeline->waitSemaphoreValueCount : 0;
        here->signalSemaphoreValueCount = slice->end ? timeline->signalSemaphoreValueCount : 0;
        here->pNext = to->pNext;
        to->pNext = here;
    }
    if (group) {
        VkDeviceGroupSubmitInfo *here = COPY(cut, VkDeviceGroupSubmitInfo, group);
        bool masked = group->commandBufferCount == from->commandBufferCount && group->pCommandBufferDeviceMasks;
        if (!here)
            return false;
        for (uint32_t i = 0; i < slice->count && masked; i++)
            masks[i] = group->pCommandBufferDeviceMasks[cut->pieces[slice->first + i].number];
        here->waitSemaphoreCount = slice->begin ? group->waitSemaphoreCount : 0;
        here->commandBufferCount = masked ? slice->count : 0;
        here->pCommandBufferDeviceMasks = masks;
        here->signalSemaphoreCount = slice->end ? group->signalSemaphoreCount : 0;
        here->pNext = to->pNext;
        to->pNext = here;
    }
    if (guarded) {
        VkProtectedSubmitInfo *here = COPY(cut, VkProtectedSubmitInfo, guarded);
        if (!here)
            return false;
        here->pNext = to->pNext;
        to->pNext = here;
    }
    if (counters) {
        VkPerformanceQuerySubmitInfoKHR *here = COPY(cut, VkPerformanceQuerySubmitInfoKHR, counters);
        if (!here)
            return false;
        here->pNext = to->pNext;
        to->pNext = here;
    }
    return true;
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
    return (slice->begin && slice->end) || chain_one(cut, from, slice, masks, to);
}

static bool write_two(const struct cut *cut, const struct slice *slice, VkCommandBufferSubmitInfo *commands,
                      VkSubmitInfo2 *to)
{
    const VkSubmitInfo2 *from = &cut->two[slice->batch];
    const VkPerformanceQuerySubmitInfoKHR *counters =
        replay_chain_find(from->pNext, VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR);

    *to = *from;
    for (uint32_t i = 0; i < slice->count; i++) {
        commands[i] = from->pCommandBufferInfos[cut->pieces[slice->first + i].number];
        commands[i].commandBuffer = cut->pieces[slice->first + i].live;
    }
    to->commandBufferInfoCount = slice->count;
    to->pCommandBufferInfos = commands;
    to->waitSemaphoreInfoCount = slice->begin ? from->waitSemaphoreInfoCount : 0;
    to->signalSemaphoreInfoCount = slice->end ? from->signalSemaphoreInfoCount : 0;
    if (slice->end || !from->pNext)
        return true;
    to->pNext = NULL;
    if (counters) {
        VkPerformanceQuerySubmitInfoKHR *here = COPY(cut, VkPerformanceQuerySubmitInfoKHR, counters);
        if (!here)
            return false;
        here->pNext = NULL;
        to->pNext = here;
    }
    return true;
}

/* step_counts: of the batches as they become. */
static enum lap_status write_batches(const struct cut *cut, uint32_t command, void *args, uint32_t *step_counts)
{
    struct replay *r = cut->r;
    uint32_t count = cut->batch_count + cut->cuts;
    VkSubmitInfo *one = cut->one ? replay_scratch(r, count, sizeof *one) : NULL;
    VkSubmitInfo2 *two = cut->two ? replay_scratch(r, count, sizeof *two) : NULL;
    VkCommandBuffer *commands = replay_scratch(r, cut->piece_count, sizeof *commands);
    VkCommandBufferSubmitInfo *infos = replay_scratch(r, cut->piece_count, sizeof *infos);
    uint32_t *masks = replay_scratch(r, cut->piece_count, sizeof *masks);
    struct slice slice;

    if ((!one && !two) || !commands || !infos || !masks)
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
                                  struct replay_parts *out)
{
    const struct gen_args_vkQueueSubmit *one = command == GEN_vkQueueSubmit ? args : NULL;
    const struct gen_args_vkQueueSubmit2 *two = one ? NULL : args;
    struct cut cut = {.r = r,
                      .dev = dev,
                      .batch_count = one ? one->submitCount : two->submitCount,
                      .one = one ? one->pSubmits : NULL,
                      .two = two ? two->pSubmits : NULL};
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
        status = write_batches(&cut, command, args, step_counts);
    } else {
        for (uint32_t i = 0; i < cut.piece_count; i++)
            step_counts[cut.pieces[i].batch] += cut.pieces[i].steps;
    }
    *out = (struct replay_parts){cut.batch_count + cut.cuts, step_counts, cut.steps};
    return status;
}
