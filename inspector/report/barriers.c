/* SPDX-License-Identifier: MIT */
/* Barriers that have nothing to do: they wait for nothing and change nothing, or the barrier in front of them, with no
 * work between, does all that they do. Only outside of render passes. */
#include <inttypes.h>
#include <string.h>

#include "inspector/report/inside.h"

#define MOST_PARTS 256u /* of a barrier; longer ones are not followed */

enum part_kind { PART_EXECUTION, PART_MEMORY, PART_BUFFER, PART_IMAGE };

struct part {
    enum part_kind kind;
    bool moves; /* to another queue family */
    uint64_t from_stages, to_stages, from_access, to_access;
    uint64_t object, offset, size;
    VkImageLayout old, new;
    VkImageSubresourceRange range;
};

struct barriers {
    struct part last[MOST_PARTS], now[MOST_PARTS];
    size_t last_count, now_count;
    bool is_known; /* `last` is of the command buffer, and no work is behind it */
    uint32_t command;
};

/* ---- parts ---- */

static void add(struct barriers *b, const struct part *part)
{
    if (b->now_count < MOST_PARTS)
        b->now[b->now_count] = *part;
    b->now_count++;
}

#define ADD_ALL(memories, memory_count, buffers, buffer_count, images, image_count, from_, to_)                        \
    do {                                                                                                               \
        for (uint32_t i = 0; (memories) && i < (memory_count); i++)                                                    \
            add(b, &(struct part){.kind = PART_MEMORY,                                                                 \
                                  .from_stages = from_(&(memories)[i]),                                                \
                                  .to_stages = to_(&(memories)[i]),                                                    \
                                  .from_access = (memories)[i].srcAccessMask,                                          \
                                  .to_access = (memories)[i].dstAccessMask});                                          \
        for (uint32_t i = 0; (buffers) && i < (buffer_count); i++)                                                     \
            add(b, &(struct part){.kind = PART_BUFFER,                                                                 \
                                  .moves = (buffers)[i].srcQueueFamilyIndex != (buffers)[i].dstQueueFamilyIndex,       \
                                  .from_stages = from_(&(buffers)[i]),                                                 \
                                  .to_stages = to_(&(buffers)[i]),                                                     \
                                  .from_access = (buffers)[i].srcAccessMask,                                           \
                                  .to_access = (buffers)[i].dstAccessMask,                                             \
                                  .object = gen_u64_VkBuffer((buffers)[i].buffer),                                     \
                                  .offset = (buffers)[i].offset,                                                       \
                                  .size = (buffers)[i].size});                                                         \
        for (uint32_t i = 0; (images) && i < (image_count); i++)                                                       \
            add(b, &(struct part){.kind = PART_IMAGE,                                                                  \
                                  .moves = (images)[i].srcQueueFamilyIndex != (images)[i].dstQueueFamilyIndex,         \
                                  .from_stages = from_(&(images)[i]),                                                  \
                                  .to_stages = to_(&(images)[i]),                                                      \
                                  .from_access = (images)[i].srcAccessMask,                                            \
                                  .to_access = (images)[i].dstAccessMask,                                              \
                                  .object = gen_u64_VkImage((images)[i].image),                                        \
                                  .old = (images)[i].oldLayout,                                                        \
                                  .new = (images)[i].newLayout,                                                        \
                                  .range = (images)[i].subresourceRange});                                             \
    } while (0)

#define FROM_COMMAND(x) ((void)(x), (uint64_t)a->srcStageMask)
#define TO_COMMAND(x)   ((void)(x), (uint64_t)a->dstStageMask)
#define FROM_PART(x)    ((x)->srcStageMask)
#define TO_PART(x)      ((x)->dstStageMask)

/* False: what it does is not known. */
static bool read_parts(struct barriers *b, const struct bound_visit *visit)
{
    b->now_count = 0;
    if (visit->command == GEN_vkCmdPipelineBarrier) {
        const struct gen_args_vkCmdPipelineBarrier *a = visit->args;
        ADD_ALL(a->pMemoryBarriers, a->memoryBarrierCount, a->pBufferMemoryBarriers, a->bufferMemoryBarrierCount,
                a->pImageMemoryBarriers, a->imageMemoryBarrierCount, FROM_COMMAND, TO_COMMAND);
        if (!b->now_count)
            add(b,
                &(struct part){.kind = PART_EXECUTION, .from_stages = a->srcStageMask, .to_stages = a->dstStageMask});
        for (uint32_t i = 0; a->pImageMemoryBarriers && i < a->imageMemoryBarrierCount; i++)
            if (a->pImageMemoryBarriers[i].pNext)
                return false;
        return !a->dependencyFlags && b->now_count <= MOST_PARTS;
    }
    const VkDependencyInfo *a = ((const struct gen_args_vkCmdPipelineBarrier2 *)visit->args)->pDependencyInfo;
    if (!a || a->pNext || a->dependencyFlags)
        return false;
    ADD_ALL(a->pMemoryBarriers, a->memoryBarrierCount, a->pBufferMemoryBarriers, a->bufferMemoryBarrierCount,
            a->pImageMemoryBarriers, a->imageMemoryBarrierCount, FROM_PART, TO_PART);
    for (uint32_t i = 0; a->pImageMemoryBarriers && i < a->imageMemoryBarrierCount; i++)
        if (a->pImageMemoryBarriers[i].pNext)
            return false;
    return b->now_count <= MOST_PARTS;
}

/* ---- what they do ---- */

static bool changes(const struct part *p)
{
    return p->moves || (p->kind == PART_IMAGE && p->old != p->new);
}

static bool waits_for_nothing(const struct part *p)
{
    return !p->from_access && !p->to_access &&
           (p->from_stages == VK_PIPELINE_STAGE_2_NONE || p->from_stages == VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT ||
            p->to_stages == VK_PIPELINE_STAGE_2_NONE || p->to_stages == VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT);
}

static bool has_all(uint64_t have, uint64_t want, uint64_t everything)
{
    return have & everything || !(want & ~have);
}

static bool has_range(uint64_t first, uint64_t count, uint64_t wanted, uint64_t wanted_count)
{
    /* VK_WHOLE_SIZE, or what remains. */
    return first <= wanted && (count == UINT64_MAX || count == UINT32_MAX ||
                               (wanted_count != UINT64_MAX && wanted_count != UINT32_MAX && wanted - first <= count &&
                                wanted_count <= count - (wanted - first)));
}

/* Whether an earlier part does what a later one does. */
static bool covers(const struct part *p, const struct part *later)
{
    if (p->moves || !has_all(p->from_stages, later->from_stages, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT) ||
        !has_all(p->to_stages, later->to_stages, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT) ||
        !has_all(p->from_access, later->from_access, 0) || !has_all(p->to_access, later->to_access, 0))
        return false;
    if (later->kind == PART_EXECUTION || p->kind == PART_MEMORY)
        return true;
    if (p->kind != later->kind || p->object != later->object)
        return false;
    if (p->kind == PART_BUFFER)
        return has_range(p->offset, p->size, later->offset, later->size);
    return p->kind == PART_IMAGE && p->new == later->old && !(later->range.aspectMask & ~p->range.aspectMask) &&
           has_range(p->range.baseMipLevel, p->range.levelCount, later->range.baseMipLevel, later->range.levelCount) &&
           has_range(p->range.baseArrayLayer, p->range.layerCount, later->range.baseArrayLayer,
                     later->range.layerCount);
}

static bool is_covered(const struct barriers *b, const struct part *part)
{
    for (size_t i = 0; b->is_known && i < b->last_count; i++)
        if (covers(&b->last[i], part))
            return true;
    return false;
}

/* ---- the whole ---- */

static enum lap_status see_barrier(struct report_inside *r, struct barriers *b, const struct bound_visit *visit)
{
    const struct report_finding finding = report_at(visit);
    bool is_idle = read_parts(b, visit), is_again = false;
    bool is_known = is_idle;

    report_count(r, REPORT_BARRIER_IDLE);
    for (size_t i = 0; is_idle && i < b->now_count; i++) {
        bool waits = !waits_for_nothing(&b->now[i]);
        is_idle = !changes(&b->now[i]) && (!waits || is_covered(b, &b->now[i]));
        is_again |= waits;
    }
    if (is_idle && !is_again)
        return report_find(r, REPORT_BARRIER_IDLE, &finding, "it waits for nothing");
    if (is_idle) /* the earlier one stays the last */
        return report_find(r, REPORT_BARRIER_IDLE, &finding, "command %" PRIu32 " does the same, with no work between",
                           b->command);
    b->is_known = is_known;
    b->command = (uint32_t)visit->position.numbers[visit->position.count - 1];
    b->last_count = is_known ? b->now_count : 0;
    memcpy(b->last, b->now, b->last_count * sizeof *b->last);
    return LAP_OK;
}

static enum lap_status behind(struct report_inside *r, void *state, const struct bound_visit *visit)
{
    struct barriers *b = state;
    bool is_barrier = visit->command == GEN_vkCmdPipelineBarrier || visit->command == GEN_vkCmdPipelineBarrier2;

    if (is_barrier && visit->bound->pass.kind == BOUND_NO_PASS)
        return see_barrier(r, b, visit);
    if (!report_is_quiet(visit->command))
        b->is_known = false;
    return LAP_OK;
}

const struct report_part report_barriers = {.bytes = sizeof(struct barriers), .behind = behind};
