/* SPDX-License-Identifier: MIT */
/*
 * slice_trace: traces for the tests of slices: buffers, recorded command buffers, submits; and what stays of them.
 */
#ifndef LAP_TESTS_SLICE_TRACE_H
#define LAP_TESTS_SLICE_TRACE_H

#include "gen_decode.h"
#include "inspector/slice/slice.h"
#include "tests/unit/sample_trace.h"

#define BUFFERS 6
#define SETS    2
#define DEPTH   21 /* of command buffers, one in another */

struct written {
    struct sample s;
    VkDevice device;
    VkQueue queue;
    VkBuffer buffers[BUFFERS];
    VkDescriptorSet sets[SETS];
    VkCommandBuffer commands[DEPTH];
    uint64_t ticket; /* of the last packet */
    uint64_t made[BUFFERS];
    struct lap_reader *reader;
    struct slice *slice;
};

#define PUT(w, command, ...)                                                                                           \
    (gen_encode_##command(sample_packet(&(w)->s, GEN_##command, 0), __VA_ARGS__), lap_packet_end((w)->s.stream),       \
     ++(w)->ticket)

/* ---- blocks ---- */

struct block {
    struct written *w;
    struct lap_enc enc;
    uint32_t count;
};

static inline struct lap_enc *command(struct block *b, uint32_t number)
{
    CHECK(lap_enc_reserve(&b->enc, LAP_WIRE_MAX_VARINT));
    lap_put_u64(&b->enc, number);
    b->count++;
    return &b->enc;
}

static inline struct block begin_block(struct written *w)
{
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    struct block b = {.w = w};
    lap_enc_init(&b.enc, &w->s.tables);
    lap_enc_use_writer(&b.enc, w->s.writer);
    gen_encode_vkBeginCommandBuffer(command(&b, GEN_vkBeginCommandBuffer), &info);
    return b;
}

static inline uint64_t end_block(struct block *b, unsigned commands)
{
    struct written *w = b->w;
    uint64_t id;
    gen_encode_vkEndCommandBuffer(command(b, GEN_vkEndCommandBuffer));
    CHECK(!b->enc.failed);
    id = lap_writer_blob(w->s.writer, LAP_BLOB_BLOCK, b->enc.base, (size_t)(b->enc.p - b->enc.base), NULL);
    lap_enc_finish(&b->enc);
    return PUT(w, lapilliBlock, w->commands[commands], id, b->count);
}

static inline void copy(struct block *b, unsigned from, unsigned to)
{
    VkBufferCopy region = {.size = 4};
    gen_encode_vkCmdCopyBuffer(command(b, GEN_vkCmdCopyBuffer), b->w->buffers[from], b->w->buffers[to], 1, &region);
}

static inline uint64_t put_copy(struct written *w, unsigned commands, unsigned from, unsigned to)
{
    struct block b = begin_block(w);
    copy(&b, from, to);
    return end_block(&b, commands);
}

static inline uint64_t put_submit(struct written *w, unsigned commands)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &w->commands[commands]};
    return PUT(w, vkQueueSubmit, w->queue, 1, &info, VK_NULL_HANDLE);
}

/* ---- traces ---- */

static inline void begin(struct written *w)
{
    memset(w, 0, sizeof *w);
    CHECK(sample_begin(&w->s));
    w->device = gen_VkDevice(sample_handle(&w->s, GEN_HANDLE_VkDevice, 1));
    w->queue = gen_VkQueue(sample_handle(&w->s, GEN_HANDLE_VkQueue, 1));
    for (unsigned i = 0; i < SETS; i++)
        w->sets[i] = gen_VkDescriptorSet(sample_handle(&w->s, GEN_HANDLE_VkDescriptorSet, i + 1));
    for (unsigned i = 0; i < DEPTH; i++)
        w->commands[i] = gen_VkCommandBuffer(sample_handle(&w->s, GEN_HANDLE_VkCommandBuffer, i + 1));
    PUT(w, vkGetDeviceQueue, w->device, 0, 0, &w->queue);
}

static inline void put_buffers(struct written *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 16};
        w->buffers[i] = gen_VkBuffer(sample_handle(&w->s, GEN_HANDLE_VkBuffer, i + 1));
        w->made[i] = PUT(w, vkCreateBuffer, w->device, &info, NULL, &w->buffers[i], VK_SUCCESS);
    }
}

/* Ends the trace, if that has not been done, and drops what was found before. */
static inline void begin_search(struct written *w)
{
    if (w->s.writer)
        sample_end(&w->s);
    if (!w->reader)
        CHECK_EQ_INT(lap_reader_open(w->s.path, NULL, &w->reader), LAP_OK);
    slice_destroy(&w->slice);
}

static inline enum lap_status find(struct written *w, uint64_t first)
{
    enum lap_status status;
    begin_search(w);
    status = slice_find(w->reader, first, w->ticket, NULL, NULL, NULL, &w->slice);
    CHECK((status == LAP_OK) == (w->slice != NULL));
    return status;
}

/* With contents: what a replay is to read, or with what was read of `count` buffers, in lines of their numbers. */
static inline enum lap_status find_with_contents(struct written *w, uint64_t first, const struct contents_file *file)
{
    begin_search(w);
    return slice_find_with_contents(w->reader, first, w->ticket, file, NULL, NULL, &w->slice);
}

static inline enum slice_fate fate(const struct written *w, uint64_t ticket)
{
    return slice_fate_of(w->slice, ticket);
}

static inline void end(struct written *w)
{
    slice_destroy(&w->slice);
    lap_reader_close(&w->reader);
    sample_finish(&w->s);
}

#endif
