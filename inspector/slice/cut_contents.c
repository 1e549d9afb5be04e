/* SPDX-License-Identifier: MIT */
#include "inspector/slice/cut_contents.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/object.h"
#include "gen_encode_block.h"
#include "vulkan/texel/texels.h"

#define PIECE_BYTES ((size_t)4 << 20) /* of a buffer or an image, in one packet */

/* Objects of the trace are encoded by their numbers: each is its own handle. */
struct numbers {
    struct lap_map maps[GEN_HANDLE_COUNT];
    struct lap_map *list[GEN_HANDLE_COUNT];
    struct lap_object_tables tables;
};

struct work {
    struct lap_writer *writer;
    struct lap_stream *stream;
    const struct lap_dictionary *dictionary;
    const struct slice *slice;
    const struct contents_file *file;
    struct numbers numbers;
    uint64_t next_pool, next_commands;
    uint8_t *piece;     /* PIECE_BYTES */
    struct lap_enc enc; /* a block */
    uint32_t count;     /* of its commands */
    enum lap_status status;
};

/* ---- numbers ---- */

static void free_object(void *user, uint64_t key, void *object)
{
    (void)user, (void)key;
    free(object);
}

static void begin_numbers(struct numbers *n)
{
    for (unsigned i = 0; i < GEN_HANDLE_COUNT; i++) {
        lap_map_init(&n->maps[i]);
        n->list[i] = &n->maps[i];
    }
    n->tables.maps = n->list;
}

static void end_numbers(struct numbers *n)
{
    for (unsigned i = 0; i < GEN_HANDLE_COUNT; i++) {
        lap_map_each(&n->maps[i], free_object, NULL);
        lap_map_finish(&n->maps[i]);
    }
}

static void fail(struct work *w, enum lap_status status)
{
    if (w->status == LAP_OK)
        w->status = status;
}

static void know(struct work *w, uint32_t type, uint64_t number)
{
    struct lap_object *object;

    if (lap_map_get(&w->numbers.maps[type], number))
        return;
    object = calloc(1, sizeof *object);
    if (object)
        *object = (struct lap_object){.index = number, .handle = number, .type = type};
    if (object && lap_map_put(&w->numbers.maps[type], number, object, NULL) == LAP_OK)
        return;
    free(object);
    fail(w, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

static uint32_t number_of(struct work *w, uint32_t command)
{
    for (uint32_t i = 0; i < w->dictionary->command_count; i++)
        if (lap_dictionary_command(w->dictionary, i) == command)
            return i;
    fail(w, lap_fail(LAP_ERROR_UNSUPPORTED, "the trace has no number for %s", gen_command_names[command]));
    return 0;
}

/* ---- packets ---- */

static struct lap_enc *begin_packet(struct work *w, uint32_t command)
{
    const uint32_t number = w->status == LAP_OK ? number_of(w, command) : 0;
    struct lap_enc *enc;
    uint64_t ticket;

    if (w->status != LAP_OK)
        return NULL;
    enc = lap_packet_begin(w->stream, number, gen_command_flags[command], &w->numbers.tables, &ticket);
    if (!enc)
        fail(w, LAP_ERROR_IO); /* the writer has stopped, with a sentence */
    else if (gen_command_providers[command])
        lap_writer_count(w->writer, LAP_COUNTER_CALLS, 1);
    return enc;
}

static void end_packet(struct work *w)
{
    lap_packet_end(w->stream);
}

static void mark(struct work *w, bool begins)
{
    struct lap_enc *enc = begin_packet(w, GEN_lapilliState);

    if (enc) {
        gen_encode_lapilliState(enc, begins);
        end_packet(w);
    }
}

/* The remaining earlier work may read or write the memory that is written now. */
static void wait_for_devices(struct work *w)
{
    for (uint64_t device = 0; (device = slice_next_alive(w->slice, GEN_HANDLE_VkDevice, device));) {
        know(w, GEN_HANDLE_VkDevice, device);
        struct lap_enc *enc = begin_packet(w, GEN_vkDeviceWaitIdle);
        if (enc) {
            gen_encode_vkDeviceWaitIdle(enc, gen_VkDevice(device), VK_SUCCESS);
            end_packet(w);
        }
    }
}

/* Their command buffers are recorded again. */
static void reset_pools(struct work *w, const struct cut_again *again)
{
    for (size_t i = 0; i < again->count; i++) {
        const uint64_t pool = again->pools[i],
                       device = slice_parent_of(w->slice, GEN_HANDLE_VkCommandPool, pool, GEN_HANDLE_VkDevice);
        struct lap_enc *enc;
        know(w, GEN_HANDLE_VkDevice, device);
        know(w, GEN_HANDLE_VkCommandPool, pool);
        if ((enc = begin_packet(w, GEN_vkResetCommandPool))) {
            gen_encode_vkResetCommandPool(enc, gen_VkDevice(device), gen_VkCommandPool(pool), 0);
            end_packet(w);
        }
    }
    if (w->status == LAP_OK && again->count)
        fail(w, again->record(again->user));
}

/* ---- layouts and queries ---- */

static struct lap_enc *command(struct work *w, uint32_t command)
{
    const uint32_t number = w->status == LAP_OK ? number_of(w, command) : 0;

    if (w->status == LAP_OK && lap_enc_reserve(&w->enc, LAP_WIRE_MAX_VARINT)) {
        lap_put_u64(&w->enc, number);
        w->count++;
    }
    return &w->enc;
}

static void barrier(struct work *w, const struct content *content, const VkImageSubresourceRange *range)
{
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
        .newLayout = content->layout,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = gen_VkImage(content->index),
        .subresourceRange = *range,
    };
    gen_encode_vkCmdPipelineBarrier(command(w, GEN_vkCmdPipelineBarrier), VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

/* The lines of one image follow each other. Returns the one behind them. */
static size_t set_image(struct work *w, const struct contents *list, size_t first)
{
    const VkImageCreateInfo *info = slice_image_info(w->slice, list->at[first].index);
    const VkImageAspectFlags parts = lap_texels_parts(info->format), aspects = lap_texels_range_of(parts);
    const uint64_t per_level = (uint64_t)__builtin_popcount(parts);
    bool all_same = true;
    size_t end = first;

    for (; end < list->count && list->at[end].kind == CONTENT_IMAGE && list->at[end].index == list->at[first].index;
         end++)
        all_same &= list->at[end].layout == list->at[first].layout;
    know(w, GEN_HANDLE_VkImage, list->at[first].index);
    if (all_same && end - first == per_level * info->mipLevels * info->arrayLayers) {
        barrier(w, &list->at[first],
                &(VkImageSubresourceRange){aspects, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS});
        return end;
    }
    for (size_t i = first; i < end; i += per_level) /* one for all aspects */
        barrier(w, &list->at[i], &(VkImageSubresourceRange){aspects, list->at[i].level, 1, list->at[i].layer, 1});
    return end;
}

static void end_query(struct work *w, const struct content *content, uint32_t query)
{
    const VkQueryPool pool = gen_VkQueryPool(content->index);

    if (content->queries == VK_QUERY_TYPE_TIMESTAMP) {
        gen_encode_vkCmdWriteTimestamp(command(w, GEN_vkCmdWriteTimestamp), VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool,
                                       query);
        return;
    }
    gen_encode_vkCmdBeginQuery(command(w, GEN_vkCmdBeginQuery), pool, query, 0);
    gen_encode_vkCmdEndQuery(command(w, GEN_vkCmdEndQuery), pool, query);
}

/* The results differ; programs only wait for their availability. */
static void set_queries(struct work *w, const struct content *content, size_t line)
{
    know(w, GEN_HANDLE_VkQueryPool, content->index);
    fail(w, contents_read(w->file, line, 0, w->piece, (size_t)content->bytes)); /* slice_taken.c: they are few */
    gen_encode_vkCmdResetQueryPool(command(w, GEN_vkCmdResetQueryPool), gen_VkQueryPool(content->index), 0,
                                   (uint32_t)content->bytes);
    for (uint32_t i = 0; i < content->bytes && w->status == LAP_OK; i++)
        if (w->piece[i] == 1)
            end_query(w, content, i);
}

static void create_commands(struct work *w, VkDevice device, VkCommandPool pool, VkCommandBuffer commands,
                            uint32_t family)
{
    const VkCommandPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                            .queueFamilyIndex = family};
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    struct lap_enc *enc;

    if ((enc = begin_packet(w, GEN_vkCreateCommandPool))) {
        gen_encode_vkCreateCommandPool(enc, device, &create, NULL, &pool, VK_SUCCESS);
        end_packet(w);
    }
    if ((enc = begin_packet(w, GEN_vkAllocateCommandBuffers))) {
        gen_encode_vkAllocateCommandBuffers(enc, device, &allocate, &commands, VK_SUCCESS);
        end_packet(w);
    }
}

static void write_block(struct work *w, VkCommandBuffer commands)
{
    const uint64_t block =
        w->status == LAP_OK && !w->enc.failed
            ? lap_writer_blob(w->writer, LAP_BLOB_BLOCK, w->enc.base, (size_t)(w->enc.p - w->enc.base), NULL)
            : 0;
    struct lap_enc *enc;

    if (!block) {
        fail(w, w->enc.failed ? lap_fail(LAP_ERROR_MEMORY, "out of memory") : LAP_ERROR_IO);
    } else if ((enc = begin_packet(w, GEN_lapilliBlock))) {
        gen_encode_lapilliBlock(enc, commands, block, w->count);
        end_packet(w);
        lap_writer_count(w->writer, LAP_COUNTER_BLOCKS_RECORDED, 1);
        lap_writer_count(w->writer, LAP_COUNTER_COMMANDS, w->count);
    }
}

static void submit(struct work *w, VkDevice device, VkQueue queue, VkCommandPool pool, VkCommandBuffer commands)
{
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    struct lap_enc *enc;

    if ((enc = begin_packet(w, GEN_vkQueueSubmit))) {
        gen_encode_vkQueueSubmit(enc, queue, 1, &info, VK_NULL_HANDLE);
        end_packet(w);
    }
    if ((enc = begin_packet(w, GEN_vkQueueWaitIdle))) {
        gen_encode_vkQueueWaitIdle(enc, queue, VK_SUCCESS);
        end_packet(w);
    }
    if ((enc = begin_packet(w, GEN_vkDestroyCommandPool))) {
        gen_encode_vkDestroyCommandPool(enc, device, pool, NULL);
        end_packet(w);
    }
}

/* All images and queries that were last used on a queue. */
static void set_states_on(struct work *w, uint64_t queue)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const struct contents *list = slice_contents(w->slice), *laid = slice_laid(w->slice);
    const uint64_t device = slice_parent_of(w->slice, GEN_HANDLE_VkQueue, queue, GEN_HANDLE_VkDevice);
    const VkCommandPool pool = gen_VkCommandPool(w->next_pool);
    const VkCommandBuffer commands = gen_VkCommandBuffer(w->next_commands);

    know(w, GEN_HANDLE_VkDevice, device);
    know(w, GEN_HANDLE_VkQueue, queue);
    know(w, GEN_HANDLE_VkCommandPool, w->next_pool++);
    know(w, GEN_HANDLE_VkCommandBuffer, w->next_commands++);
    lap_enc_init(&w->enc, &w->numbers.tables);
    w->count = 0;
    gen_encode_vkBeginCommandBuffer(command(w, GEN_vkBeginCommandBuffer), &begin);
    for (size_t i = 0; i < list->count && w->status == LAP_OK;) {
        const bool is_here = list->at[i].queue == queue && slice_takes_content(w->slice, i);
        if (is_here && list->at[i].kind == CONTENT_QUERIES)
            set_queries(w, &list->at[i], i);
        i = is_here && list->at[i].kind == CONTENT_IMAGE ? set_image(w, list, i) : i + 1;
    }
    for (size_t i = 0; i < laid->count && w->status == LAP_OK;)
        i = laid->at[i].queue == queue && slice_takes_layout(w->slice, i) ? set_image(w, laid, i) : i + 1;
    gen_encode_vkEndCommandBuffer(command(w, GEN_vkEndCommandBuffer));
    create_commands(w, gen_VkDevice(device), pool, commands, slice_queue_family(w->slice, queue));
    write_block(w, commands);
    submit(w, gen_VkDevice(device), gen_VkQueue(queue), pool, commands);
    lap_enc_finish(&w->enc);
}

static void set_states(struct work *w)
{
    const struct contents *list = slice_contents(w->slice), *laid = slice_laid(w->slice);
    uint64_t done = 0;

    for (;;) { /* queues by their numbers; there are few */
        uint64_t next = 0;
        for (size_t i = 0; i < list->count; i++)
            if (slice_takes_content(w->slice, i) && list->at[i].queue > done && (!next || list->at[i].queue < next))
                next = list->at[i].queue;
        for (size_t i = 0; i < laid->count; i++)
            if (slice_takes_layout(w->slice, i) && laid->at[i].queue > done && (!next || laid->at[i].queue < next))
                next = laid->at[i].queue;
        if (!next || w->status != LAP_OK)
            return;
        set_states_on(w, next);
        done = next;
    }
}

/* ---- bytes and texels ---- */

static void write_buffer(struct work *w, const struct content *content, size_t line)
{
    know(w, GEN_HANDLE_VkBuffer, content->index);
    for (uint64_t at = 0; at < content->bytes && w->status == LAP_OK; at += PIECE_BYTES) {
        const size_t bytes = content->bytes - at < PIECE_BYTES ? (size_t)(content->bytes - at) : PIECE_BYTES;
        struct lap_enc *enc;
        fail(w, contents_read(w->file, line, at, w->piece, bytes));
        if (!(enc = begin_packet(w, GEN_lapilliUpdateBuffer)))
            return;
        gen_encode_lapilliUpdateBuffer(enc, gen_VkBuffer(content->index), content->offset + at, bytes, w->piece);
        end_packet(w);
        lap_writer_count(w->writer, LAP_COUNTER_UPDATES, 1);
        lap_writer_count(w->writer, LAP_COUNTER_UPDATE_BYTES, bytes);
    }
}

struct texels_written {
    struct work *w;
    const struct content *content;
    size_t line;
    uint64_t at;
};

static enum lap_status write_piece(void *context, const struct lap_texel_region *piece, size_t bytes)
{
    struct texels_written *t = context;
    struct work *w = t->w;
    struct lap_enc *enc;

    if (bytes > PIECE_BYTES) /* a texel has not so many */
        return LAP_ERROR_LIMIT;
    fail(w, contents_read(w->file, t->line, t->at, w->piece, bytes));
    t->at += bytes;
    if (!(enc = begin_packet(w, GEN_lapilliWriteTexels)))
        return w->status;
    gen_encode_lapilliWriteTexels(enc, gen_VkImage(t->content->index), t->content->layout, piece->aspect, piece->level,
                                  piece->layer, piece->layer_count, &piece->offset, &piece->extent, bytes, w->piece);
    end_packet(w);
    return LAP_OK;
}

static void write_texels(struct work *w, const struct content *content, size_t line)
{
    const VkImageCreateInfo *info = slice_image_info(w->slice, content->index);
    struct texels_written written = {w, content, line, 0};
    struct lap_texel_region all = {content->aspect, content->level, content->layer, 1, {0, 0, 0}, {0, 0, 0}};
    struct lap_texel_block block;
    struct lap_texels texels;

    know(w, GEN_HANDLE_VkImage, content->index);
    if (!lap_texels_describe(info, content->aspect, content->level, content->layer, &texels) ||
        !lap_texels_block(info->format, content->aspect, &block)) {
        fail(w, lap_fail(LAP_ERROR_FORMAT, "the trace has no such image"));
        return;
    }
    all.extent = texels.extent;
    fail(w, lap_texels_cut(&block, &all, PIECE_BYTES, write_piece, &written));
}

/* ---- the whole ---- */

enum lap_status cut_write_contents(struct lap_writer *writer, struct lap_stream *stream,
                                   const struct lap_dictionary *dictionary, const struct slice *slice,
                                   const struct contents_file *file, const struct cut_again *again)
{
    const struct contents *list = slice_contents(slice);
    struct work *w = calloc(1, sizeof *w);
    enum lap_status status;

    if (!w)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    *w = (struct work){.writer = writer,
                       .stream = stream,
                       .dictionary = dictionary,
                       .slice = slice,
                       .file = file,
                       .next_pool = slice_unused_number(slice, GEN_HANDLE_VkCommandPool),
                       .next_commands = slice_unused_number(slice, GEN_HANDLE_VkCommandBuffer),
                       .piece = malloc(PIECE_BYTES)};
    begin_numbers(&w->numbers);
    if (!w->piece)
        fail(w, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    mark(w, true);
    wait_for_devices(w);
    reset_pools(w, again);
    set_states(w);
    for (size_t line = 0; line < list->count && w->status == LAP_OK; line++) {
        if (!slice_takes_content(slice, line))
            continue;
        if (list->at[line].kind == CONTENT_IMAGE)
            write_texels(w, &list->at[line], line);
        else if (list->at[line].kind == CONTENT_BUFFER)
            write_buffer(w, &list->at[line], line);
    }
    mark(w, false);
    status = w->status;
    end_numbers(&w->numbers);
    free(w->piece);
    free(w);
    return status;
}
