/* SPDX-License-Identifier: MIT */
/* Answers: the bytes themselves are read here, from the packets and commands that have them. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/memory/memory_internal.h"
#include "inspector/position/blocks.h"
#include "inspector/position/packet.h"

struct memory_reading {
    struct position_packet packet;
    struct position_blocks blocks;
    uint64_t ticket; /* of the packet that was read; 0: none */
    uint64_t block;  /* the command of which `command` is; 0: none */
    uint32_t index;
    struct lap_args command;
};

static enum lap_status reading_of(struct memory_state *m)
{
    enum lap_status status;

    if (m->reading)
        return LAP_OK;
    m->reading = calloc(1, sizeof *m->reading);
    if (!m->reading)
        return memory_no_memory();
    status = position_packet_open(&m->reading->packet, m->trace);
    return status == LAP_OK ? position_blocks_open(&m->reading->blocks, m->trace) : status;
}

void memory_answers_end(struct memory_state *m)
{
    if (!m->reading)
        return;
    position_packet_close(&m->reading->packet);
    position_blocks_close(&m->reading->blocks);
    free(m->reading);
    m->reading = NULL;
}

/* ---- bytes ---- */

struct data {
    const uint8_t *at;
    size_t bytes;
};

#define DATA(type)                                                                                                     \
    {                                                                                                                  \
        const struct gen_args_##type *a = args;                                                                        \
        return (struct data){a->pData, a->pData ? a->dataSize : 0};                                                    \
    }

static struct data data_of(uint32_t command, const void *args)
{
    switch (command) {
    case GEN_lapilliUpdateBuffer:
        DATA(lapilliUpdateBuffer)
    case GEN_lapilliUpdateBufferSpans:
        DATA(lapilliUpdateBufferSpans)
    case GEN_lapilliUpdateImage:
        DATA(lapilliUpdateImage)
    case GEN_lapilliUpdateImageSpans:
        DATA(lapilliUpdateImageSpans)
    case GEN_lapilliWriteTexels:
        DATA(lapilliWriteTexels)
    case GEN_vkCmdUpdateBuffer:
        DATA(vkCmdUpdateBuffer)
    default:
        return (struct data){NULL, 0};
    }
}

static enum lap_status find_command(struct memory_reading *r, const struct memory_event *event)
{
    uint32_t command = GEN_COMMAND_NONE;
    enum lap_status status;

    if (r->block == event->block && r->index == event->index)
        return LAP_OK;
    r->block = 0;
    status = position_blocks_begin(&r->blocks, event->block, 0);
    for (uint32_t i = 0; i <= event->index && status == LAP_OK; i++)
        status = position_blocks_next(&r->blocks, &command, &r->command);
    if (status == LAP_OK && command != event->command)
        status = lap_fail(LAP_ERROR_FORMAT, "a command is not there any more");
    if (status != LAP_OK)
        return status == LAP_END ? lap_fail(LAP_ERROR_FORMAT, "a command is not there any more") : status;
    r->block = event->block;
    r->index = event->index;
    return LAP_OK;
}

static enum lap_status data_of_event(struct memory_state *m, const struct memory_event *event, struct data *out)
{
    enum lap_status status = reading_of(m);

    if (status == LAP_OK && event->kind == MEMORY_UPDATE) {
        status = find_command(m->reading, event);
        *out = status == LAP_OK ? data_of(event->command, m->reading->command.bytes) : (struct data){NULL, 0};
        return status;
    }
    if (status == LAP_OK && m->reading->ticket != event->ticket) {
        m->reading->ticket = 0;
        status = position_packet_read(&m->reading->packet, event->ticket);
        m->reading->ticket = status == LAP_OK ? event->ticket : 0;
    }
    if (status != LAP_OK)
        return status;
    *out = data_of(m->reading->packet.command, m->reading->packet.args.bytes);
    return LAP_OK;
}

static enum lap_status read_run(struct memory_state *m, const struct memory_run *run, uint64_t bytes, uint8_t *out)
{
    struct data data;
    enum lap_status status;

    if (run->origin->kind == MEMORY_FILL) {
        for (uint64_t i = 0; i < bytes; i++)
            out[i] = (uint8_t)(run->origin->fill >> 8 * ((run->skip + i) % 4));
        return LAP_OK;
    }
    status = data_of_event(m, run->origin, &data);
    if (status != LAP_OK)
        return status;
    if (run->skip > data.bytes || bytes > data.bytes - run->skip)
        return lap_fail(LAP_ERROR_FORMAT, "bytes that were written are not there any more");
    memcpy(out, data.at + run->skip, bytes);
    return LAP_OK;
}

/* ---- parts ---- */

void memory_answer_finish(struct memory_answer *answer)
{
    free(answer->parts);
    *answer = (struct memory_answer){.parts = NULL};
}

static enum memory_known known_of(const struct memory_run *run)
{
    if (!run->origin)
        return run->is_lost ? MEMORY_NOT_FOLLOWED : MEMORY_NOBODY;
    return run->origin->kind < MEMORY_DEVICE    ? MEMORY_KNOWN
           : run->origin->kind == MEMORY_DEVICE ? MEMORY_BY_DEVICE
                                                : MEMORY_NOT_FOLLOWED;
}

static enum lap_status add_part(struct memory_answer *answer, const struct memory_run *run, uint64_t begin,
                                uint64_t end)
{
    struct memory_part part = {begin, end, known_of(run), run->origin, run->copy};
    struct memory_part *last = answer->count ? &answer->parts[answer->count - 1] : NULL;

    if (last && last->known == part.known && last->by == part.by && last->copy == part.copy) {
        last->end = end;
        return LAP_OK;
    }
    if (!lap_array_grow(&answer->parts, sizeof *answer->parts, &answer->capacity, answer->count + 1))
        return memory_no_memory();
    answer->parts[answer->count++] = part;
    return LAP_OK;
}

static enum lap_status answer_side(struct memory_state *m, const struct memory_side *side, uint64_t bytes, uint8_t *out,
                                   struct memory_answer *answer)
{
    enum lap_status status = LAP_OK;

    answer->count = 0;
    for (uint64_t at = 0, end; at < bytes && status == LAP_OK; at = end) {
        struct memory_run run;
        memory_look(m, side, side->at + at, side->at + bytes, &run);
        end = run.end - side->at;
        status = add_part(answer, &run, at, end);
        if (!out || status != LAP_OK)
            continue;
        if (known_of(&run) == MEMORY_KNOWN)
            status = read_run(m, &run, end - at, out + at);
        else
            memset(out + at, 0, (size_t)(end - at));
    }
    return status;
}

enum lap_status memory_of_buffer(struct memory_state *m, uint64_t index, uint64_t offset, uint64_t bytes, uint8_t *out,
                                 struct memory_answer *answer)
{
    const struct memory_buffer *buffer = lap_map_get(&m->buffers, index);
    struct memory_side side;

    answer->not_followed = NULL;
    if (memory_side_of_buffer(m, index, offset, &side))
        return answer_side(m, &side, bytes, out, answer);
    side = (struct memory_side){.is_lost = true};
    answer->not_followed = buffer && buffer->is_sparse ? "it is sparse" : "no memory is bound to it";
    return answer_side(m, &side, bytes, out, answer);
}

uint64_t memory_image_bytes(const struct memory_state *m, uint64_t index, VkImageAspectFlags aspect, uint32_t level,
                            uint32_t layer)
{
    const struct memory_image *image = lap_map_get(&m->images, index);
    uint64_t row_blocks, rows;

    return image && memory_is_one_aspect(aspect) && layer < image->info.arrayLayers
               ? memory_level_bytes(image, aspect, level, &row_blocks, &rows)
               : 0;
}

bool memory_image_texels(const struct memory_state *m, uint64_t index, VkImageAspectFlags aspect, uint32_t level,
                         uint32_t layer, struct lap_texels *out)
{
    const struct memory_image *image = lap_map_get(&m->images, index);
    struct lap_texel_block block;
    uint64_t row_blocks, rows;

    if (!memory_image_bytes(m, index, aspect, level, layer) ||
        !memory_level_bytes(image, aspect, level, &row_blocks, &rows) || !memory_region_block(image, aspect, &block))
        return false;
    *out = (struct lap_texels){
        .aspect = aspect,
        .level = level,
        .layer = layer,
        .extent = {(uint32_t)memory_divide_up(memory_level_size(image->info.extent.width, level), block.divide_x),
                   (uint32_t)memory_divide_up(memory_level_size(image->info.extent.height, level), block.divide_y),
                   memory_level_size(image->info.extent.depth, level)},
        .row_bytes = row_blocks * block.bytes};
    out->rows = rows * out->extent.depth;
    return true;
}

static const char *reason_of(const struct memory_image *image)
{
    if (image->is_presentable)
        return "it belongs to a swapchain";
    if (image->info.flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT)
        return "it is sparse";
    if (memory_image_is_large(image))
        return "it is too large";
    return "no memory is bound to it";
}

enum lap_status memory_of_image(struct memory_state *m, uint64_t index, VkImageAspectFlags aspect, uint32_t level,
                                uint32_t layer, uint8_t *out, struct memory_answer *answer)
{
    struct memory_image *image = memory_find_image(m, index);
    uint64_t bytes = memory_image_bytes(m, index, aspect, level, layer);
    const struct memory_image *any = lap_map_get(&m->images, index);
    struct memory_side side = {.is_lost = true};

    answer->not_followed = image ? NULL : any ? reason_of(any) : "its creation is not in the trace";
    if (image && !memory_side_of_image(m, image, aspect, level, layer, false, &side))
        return memory_no_memory();
    return answer_side(m, &side, bytes, out, answer);
}
