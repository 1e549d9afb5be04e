/* SPDX-License-Identifier: MIT */
/* What the host writes, as far as packets have it. */
#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "gen_renamed.h"
#include "inspector/memory/memory_internal.h"
#include "vulkan/walk.h"

static struct memory_event *host_event(struct memory_state *m, const struct trace_call *call)
{
    struct memory_event *event = memory_event_new(MEMORY_HOST);

    if (!event) {
        memory_fail(m, memory_no_memory());
        return NULL;
    }
    event->command = call->command;
    event->ticket = call->packet->ticket;
    return event;
}

static void update_buffer(struct memory_state *m, const struct gen_args_lapilliUpdateBuffer *args,
                          struct memory_event *event)
{
    memory_put_buffer(m, gen_u64_VkBuffer(args->buffer), args->offset, args->dataSize, event, 0);
}

static void update_spans(struct memory_state *m, const struct gen_args_lapilliUpdateBufferSpans *args,
                         struct memory_event *event)
{
    uint64_t at = 0, skip = 0;

    for (uint32_t i = 0; args->pGaps && args->pSizes && i < args->spanCount && m->status == LAP_OK; i++) {
        if (args->pGaps[i] > UINT64_MAX / 4 || args->pSizes[i] > args->dataSize - skip || at > UINT64_MAX / 4)
            return;
        at += args->pGaps[i];
        memory_put_buffer(m, gen_u64_VkBuffer(args->buffer), at, args->pSizes[i], event, skip);
        at += args->pSizes[i];
        skip += args->pSizes[i];
    }
}

struct row {
    VkImageAspectFlags aspect;
    uint32_t level, layer, slice, row;
    uint64_t offset, bytes;
};

static void put_row(struct memory_state *m, struct memory_image *image, const struct row *row,
                    struct memory_event *event, uint64_t skip)
{
    uint64_t row_blocks, rows, bytes = memory_level_bytes(image, row->aspect, row->level, &row_blocks, &rows), begin;
    struct lap_texel_block block;
    struct memory_side side;

    if (!bytes || row->row >= rows || !memory_region_block(image, row->aspect, &block) ||
        row->bytes > row_blocks * block.bytes || row->offset > row_blocks * block.bytes - row->bytes)
        return;
    memory_begin_image_write(m, image);
    if (!memory_side_of_image(m, image, row->aspect, row->level, row->layer, true, &side))
        return;
    begin = ((uint64_t)row->slice * rows + row->row) * row_blocks * block.bytes + row->offset;
    memory_fail(m, memory_store_put(side.store, begin, begin + row->bytes, event, NULL, skip, ++m->serial));
}

static void update_image(struct memory_state *m, const struct gen_args_lapilliUpdateImage *args,
                         struct memory_event *event)
{
    struct memory_image *image = memory_find_image(m, gen_u64_VkImage(args->image));
    const struct row row = {args->aspect, args->mipLevel,    args->arrayLayer, args->slice,
                            args->row,    args->offsetInRow, args->dataSize};

    if (image && memory_is_one_aspect(args->aspect))
        put_row(m, image, &row, event, 0);
}

static void update_image_spans(struct memory_state *m, const struct gen_args_lapilliUpdateImageSpans *args,
                               struct memory_event *event)
{
    struct memory_image *image = memory_find_image(m, gen_u64_VkImage(args->image));
    uint64_t skip = 0;

    if (!image || !memory_is_one_aspect(args->aspect) || !args->pSlices || !args->pRows || !args->pOffsets ||
        !args->pSizes)
        return;
    for (uint32_t i = 0; i < args->spanCount && m->status == LAP_OK; i++) {
        const struct row row = {args->aspect,   args->mipLevel,    args->arrayLayer, args->pSlices[i],
                                args->pRows[i], args->pOffsets[i], args->pSizes[i]};
        if (row.bytes > args->dataSize - skip)
            return;
        put_row(m, image, &row, event, skip);
        skip += row.bytes;
    }
}

/* Texels without padding: rows of slices of layers. */
static void write_texels(struct memory_state *m, const struct gen_args_lapilliWriteTexels *args,
                         struct memory_event *event)
{
    struct memory_image *image = memory_find_image(m, gen_u64_VkImage(args->image));
    struct lap_texel_block block;
    uint64_t skip = 0, width, height;

    if (!image || !memory_is_one_aspect(args->aspect) || !args->pOffset || !args->pExtent ||
        !memory_region_block(image, args->aspect, &block))
        return;
    width = memory_divide_up(args->pExtent->width, block.width) * block.bytes;
    height = memory_divide_up(args->pExtent->height, block.height);
    for (uint32_t layer = 0; layer < args->layerCount; layer++)
        for (uint32_t z = 0; z < args->pExtent->depth; z++)
            for (uint64_t y = 0; y < height && width && skip < args->dataSize && m->status == LAP_OK; y++) {
                const struct row row = {args->aspect,
                                        args->mipLevel,
                                        args->arrayLayer + layer,
                                        (uint32_t)args->pOffset->z + z,
                                        (uint32_t)args->pOffset->y / block.height + (uint32_t)y,
                                        (uint64_t)(uint32_t)args->pOffset->x / block.width * block.bytes,
                                        width};
                put_row(m, image, &row, event, skip);
                skip += width;
            }
}

void memory_see_write(struct memory_state *m, const struct trace_call *call)
{
    struct memory_event *event = host_event(m, call);

    switch (event ? call->command : GEN_COMMAND_NONE) {
    case GEN_lapilliUpdateBuffer:
        update_buffer(m, call->args, event);
        break;
    case GEN_lapilliUpdateBufferSpans:
        update_spans(m, call->args, event);
        break;
    case GEN_lapilliUpdateImage:
        update_image(m, call->args, event);
        break;
    case GEN_lapilliUpdateImageSpans:
        update_image_spans(m, call->args, event);
        break;
    case GEN_lapilliWriteTexels:
        write_texels(m, call->args, event);
        break;
    default:
        break;
    }
    memory_event_release(event);
}

/* Images that the host copies to one another, or whose contents a transition drops. */
static void lose_image(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct memory_state *m = user;
    struct memory_image *image;

    if (value->kind != LAP_VALUE_HANDLE || value->type != GEN_HANDLE_VkImage ||
        (place->member->flags & GEN_MEMBER_READ))
        return;
    image = memory_find_image(m, value->u);
    if (!image)
        return;
    memory_begin_image_write(m, image);
    memory_forget_image(image);
    image->is_lost = true;
}

void memory_lose_images(struct memory_state *m, const struct trace_call *call)
{
    const struct lap_visitor visitor = {.value = lose_image, .user = m};
    lap_walk_command(call->command, call->args, false, &visitor);
}

#ifdef VK_EXT_host_image_copy
void memory_see_transitions(struct memory_state *m, const struct trace_call *call)
{
    const struct gen_args_vkTransitionImageLayoutEXT *args = call->args;

    for (uint32_t i = 0; args->pTransitions && i < args->transitionCount; i++)
        if (args->pTransitions[i].oldLayout == VK_IMAGE_LAYOUT_UNDEFINED) {
            struct memory_image *image = memory_find_image(m, gen_u64_VkImage(args->pTransitions[i].image));
            struct memory_event *event = host_event(m, call);
            if (event)
                event->kind = MEMORY_UNDEFINED;
            if (image && event)
                memory_put_range(m, image, &args->pTransitions[i].subresourceRange, event);
            memory_event_release(event);
        }
}
#endif
