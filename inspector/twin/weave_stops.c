/* SPDX-License-Identifier: MIT */
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/twin/weave_internal.h"

bool weave_is_in_pass(const struct weave *w, size_t stop, const struct position *begin)
{
    return stop < w->end && w->plan->stops[stop].begin.count && weave_is_same(&w->plan->stops[stop].begin, begin);
}

/* What a copy finds is what copies may read as it is. */
static VkImageLayout layout_of_copies(VkImageLayout layout)
{
    return layout == VK_IMAGE_LAYOUT_GENERAL || layout == VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR
               ? layout
               : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
}

static bool is_first_of_its_image(const struct weave_copy *copies, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (copies[i].image == copies[number].image && copies[i].level == copies[number].level &&
            (copies[i].is_volume || copies[i].layer == copies[number].layer))
            return false;
    return true;
}

static enum lap_status put_barrier(struct weave *w, const struct weave_stop *stop, bool back)
{
    const struct weave_copy *copies = &w->plan->copies[stop->first];
    const VkAccessFlags all = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT;
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = all, .dstAccessMask = all};
    VkImageMemoryBarrier *images;
    struct gen_args_vkCmdPipelineBarrier args = {.srcStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                 .dstStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                 .memoryBarrierCount = 1,
                                                 .pMemoryBarriers = &memory};

    lap_arena_reset(&w->arena);
    args.pImageMemoryBarriers = images = lap_arena_zalloc(&w->arena, stop->count, sizeof *images, 8);
    if (!images)
        return lap_no_memory("command buffers with more in them");
    for (size_t i = 0; i < stop->count; i++) {
        const struct weave_copy *c = &copies[i];
        const VkImageLayout other = layout_of_copies(c->layout);
        if (is_first_of_its_image(copies, i))
            images[args.imageMemoryBarrierCount++] =
                (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                       .srcAccessMask = all,
                                       .dstAccessMask = all,
                                       .oldLayout = back ? other : c->layout,
                                       .newLayout = back ? c->layout : other,
                                       .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                       .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                       .image = gen_VkImage(c->image),
                                       .subresourceRange = {c->aspects, c->level, 1, c->is_volume ? 0 : c->layer, 1}};
    }
    return weave_put(w, GEN_vkCmdPipelineBarrier, &args);
}

static enum lap_status put_copies(struct weave *w, const struct weave_stop *stop)
{
    enum lap_status status = put_barrier(w, stop, false);

    for (size_t i = 0; i < stop->count && status == LAP_OK; i++) {
        const struct weave_copy *c = &w->plan->copies[stop->first + i];
        const VkBufferImageCopy region = {
            .bufferOffset = c->at,
            .imageSubresource = {(VkImageAspectFlags)c->aspect, c->level, c->is_volume ? 0 : c->layer, 1},
            .imageOffset = {c->x, c->y, c->is_volume ? (int32_t)c->layer : 0},
            .imageExtent = {c->width, c->height, 1}};
        const struct gen_args_vkCmdCopyImageToBuffer args = {.srcImage = gen_VkImage(c->image),
                                                             .srcImageLayout = layout_of_copies(c->layout),
                                                             .dstBuffer = gen_VkBuffer(w->result->buffer),
                                                             .regionCount = 1,
                                                             .pRegions = &region};
        status = weave_put(w, GEN_vkCmdCopyImageToBuffer, &args);
    }
    return status == LAP_OK ? put_barrier(w, stop, true) : status;
}

/* All that was written is seen by copies, and what comes behind sees all that is there. */
static enum lap_status put_memory_barrier(struct weave *w)
{
    const VkAccessFlags all = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT;
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = all, .dstAccessMask = all};
    const struct gen_args_vkCmdPipelineBarrier args = {.srcStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                       .dstStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                       .memoryBarrierCount = 1,
                                                       .pMemoryBarriers = &memory};

    return weave_put(w, GEN_vkCmdPipelineBarrier, &args);
}

static enum lap_status put_bytes(struct weave *w, const struct weave_stop *stop)
{
    enum lap_status status = put_memory_barrier(w);

    for (size_t i = 0; i < stop->count && status == LAP_OK; i++) {
        const struct weave_bytes *b = &w->plan->buffer_bytes[stop->first + i];
        const VkBufferCopy region = {b->offset, b->at, b->bytes};
        const struct gen_args_vkCmdCopyBuffer args = {.srcBuffer = gen_VkBuffer(b->buffer),
                                                      .dstBuffer = gen_VkBuffer(w->result->buffer),
                                                      .regionCount = 1,
                                                      .pRegions = &region};
        status = weave_put(w, GEN_vkCmdCopyBuffer, &args);
    }
    return status == LAP_OK ? put_memory_barrier(w) : status;
}

static enum lap_status put_query(struct weave *w, const struct weave_stop *stop)
{
    const struct gen_args_vkCmdWriteTimestamp stamp = {.pipelineStage = VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                                       .queryPool = gen_VkQueryPool(w->result->timestamps),
                                                       .query = (uint32_t)stop->first};
    const struct gen_args_vkCmdBeginQuery begin = {.queryPool = gen_VkQueryPool(w->result->statistics),
                                                   .query = (uint32_t)stop->first};
    const struct gen_args_vkCmdEndQuery end = {.queryPool = gen_VkQueryPool(w->result->statistics),
                                               .query = (uint32_t)stop->first};

    return stop->kind == WEAVE_TIMESTAMP     ? weave_put(w, GEN_vkCmdWriteTimestamp, &stamp)
           : stop->kind == WEAVE_BEGIN_QUERY ? weave_put(w, GEN_vkCmdBeginQuery, &begin)
                                             : weave_put(w, GEN_vkCmdEndQuery, &end);
}

/* All queries of the command buffer, of a pool. */
static enum lap_status put_reset(struct weave *w, enum weave_kind kind, uint64_t pool)
{
    size_t first = SIZE_MAX, end = 0;

    for (size_t i = w->next; i < w->end; i++) {
        const struct weave_stop *stop = &w->plan->stops[i];
        if (stop->kind != kind)
            continue;
        first = stop->first < first ? stop->first : first;
        end = stop->first + stop->count > end ? stop->first + stop->count : end;
    }
    if (first < end) {
        const struct gen_args_vkCmdResetQueryPool args = {
            .queryPool = gen_VkQueryPool(pool), .firstQuery = (uint32_t)first, .queryCount = (uint32_t)(end - first)};
        return weave_put(w, GEN_vkCmdResetQueryPool, &args);
    }
    return LAP_OK;
}

/* Probes find zeros in their regions. */
static enum lap_status put_fill(struct weave *w)
{
    enum lap_status status = LAP_OK;
    bool any = false;

    for (size_t i = w->next; i < w->end && status == LAP_OK; i++) {
        const struct weave_stop *stop = &w->plan->stops[i];
        if (stop->kind == WEAVE_PROBE && w->plan->uses[stop->first].bytes) {
            status = probes_fill(&w->twins, &w->plan->uses[stop->first], w->result->buffer);
            any = true;
        }
    }
    return status == LAP_OK && any ? probes_wait(&w->twins) : status;
}

static enum lap_status put_stop(struct weave *w, const struct weave_stop *stop)
{
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;

    if (stop->kind == WEAVE_PROBE) {
        w->use = &w->plan->uses[stop->first];
        return probes_bind(&w->probes, &w->twins, w->use);
    }
    if (stop->kind == WEAVE_BYTES)
        return put_bytes(w, stop);
    if (stop->kind != WEAVE_COPIES)
        return put_query(w, stop);
    if (!stop->begin.count)
        return put_copies(w, stop);
    if (!w->pass || !weave_is_same(&w->pass->begin, &stop->begin))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s is in no render pass that can be split",
                        position_text(&stop->position, text));
    status = weave_end_piece(w);
    if (status == LAP_OK)
        status = put_copies(w, stop);
    return status == LAP_OK ? weave_begin_piece(w, !weave_is_in_pass(w, w->next, &stop->begin)) : status;
}

enum lap_status weave_put_stops(struct weave *w, bool before)
{
    enum lap_status status = LAP_OK;

    while (status == LAP_OK && w->next < w->end && w->plan->stops[w->next].before == before &&
           weave_is_same(&w->plan->stops[w->next].position, &w->now))
        status = put_stop(w, &w->plan->stops[w->next++]);
    return status;
}
enum lap_status weave_begin_stops(struct weave *w)
{
    enum lap_status status = put_reset(w, WEAVE_TIMESTAMP, w->result->timestamps);

    if (status == LAP_OK)
        status = put_reset(w, WEAVE_BEGIN_QUERY, w->result->statistics);
    return status == LAP_OK ? put_fill(w) : status;
}
