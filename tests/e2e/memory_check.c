/* SPDX-License-Identifier: MIT */
/*
 * memory-check TRACE: compares the contents of buffers and images, as the inspector finds them in a trace, with the
 * hashes that capture --verify recorded. Prints for buffers and images how many hashes there are, how many of them are
 * of bytes that are all known, and how many of these are other bytes; and each of those. The exit status is 1 if the
 * trace can't be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/memory/memory_state.h"
#include "trace/read/reader.h"
#include "vulkan/texel/pixels.h"

static struct counts {
    uint64_t checks, known, wrong;
} buffers, images;

static bool all_known(const struct memory_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        if (answer->parts[i].known != MEMORY_KNOWN && answer->parts[i].known != MEMORY_NOBODY)
            return false;
    return true;
}

static void compare(struct counts *counts, const char *type, uint64_t index, const struct trace_call *call,
                    const void *data, uint64_t bytes, uint64_t low, uint64_t high)
{
    uint64_t got_low, got_high;

    lap_pixels_hash(data, (size_t)bytes, &got_low, &got_high);
    counts->known++;
    if (got_low == low && got_high == high)
        return;
    counts->wrong++;
    printf("#%" PRIu64 " %s:%" PRIu64 " has other bytes\n", call->packet->ticket - 1, type, index);
}

static enum lap_status see_buffer(struct memory_state *state, const struct trace_call *call)
{
    const struct gen_args_lapilliCheckBuffer *args = call->args;
    uint64_t index = gen_u64_VkBuffer(args->buffer), size;
    struct memory_answer answer = {.parts = NULL};
    uint8_t *data = memory_buffer_size(state, index, &size) && args->size <= size ? malloc(args->size + 1) : NULL;
    enum lap_status status = LAP_OK;

    buffers.checks++;
    if (data)
        status = memory_of_buffer(state, index, args->offset, args->size, data, &answer);
    if (data && status == LAP_OK && all_known(&answer))
        compare(&buffers, "VkBuffer", index, call, data, args->size, args->hashLow, args->hashHigh);
    memory_answer_finish(&answer);
    free(data);
    return status;
}

/* rows: NULL: all of the subresource. */
static enum lap_status see_image(struct memory_state *state, const struct trace_call *call, VkImage image,
                                 VkImageAspectFlags aspect, uint32_t level, uint32_t layer,
                                 const struct gen_args_lapilliCheckImage *rows, uint64_t low, uint64_t high)
{
    uint64_t index = gen_u64_VkImage(image), bytes = memory_image_bytes(state, index, aspect, level, layer);
    const VkImageCreateInfo *info = memory_image_info(state, index);
    struct memory_answer answer = {.parts = NULL};
    struct lap_texels texels;
    uint8_t *data = bytes ? malloc(bytes) : NULL;
    enum lap_status status = LAP_OK;

    images.checks++;
    if (data)
        status = memory_of_image(state, index, aspect, level, layer, data, &answer);
    if (data && status == LAP_OK && all_known(&answer)) {
        lap_texels_clean(info->format, aspect, data, bytes);
        if (rows && lap_texels_describe(info, aspect, level, layer, &texels)) {
            uint64_t slice_rows = texels.rows / texels.extent.depth;
            for (uint32_t i = 0; i < rows->rowCount; i++)
                memmove(data + i * rows->bytesInRow,
                        data + (rows->slice * slice_rows + rows->row + i) * texels.row_bytes + rows->offsetInRow,
                        rows->bytesInRow);
            bytes = rows->rowCount * rows->bytesInRow;
        }
        compare(&images, "VkImage", index, call, data, bytes, low, high);
    }
    memory_answer_finish(&answer);
    free(data);
    return status;
}

static enum lap_status see(void *user, struct memory_state *state, const struct trace_call *call)
{
    if (call->command == GEN_lapilliCheckBuffer)
        return see_buffer(state, call);
    if (call->command == GEN_lapilliCheckTexels) {
        const struct gen_args_lapilliCheckTexels *a = call->args;
        return see_image(state, call, a->image, a->aspect, a->mipLevel, a->arrayLayer, NULL, a->hashLow, a->hashHigh);
    }
    const struct gen_args_lapilliCheckImage *a = call->args;
    return see_image(state, call, a->image, a->aspect, a->mipLevel, a->arrayLayer, a, a->hashLow, a->hashHigh);
}

int main(int argc, char **argv)
{
    static const uint16_t calls[] = {GEN_lapilliCheckBuffer, GEN_lapilliCheckTexels, GEN_lapilliCheckImage, 0};
    const struct memory_wish wish = {.calls = calls, .see = see};
    struct memory_state *state = NULL;
    struct lap_reader *trace = NULL;
    size_t segments;

    if (argc != 2 || lap_reader_open(argv[1], NULL, &trace) != LAP_OK ||
        memory_state_find(trace, &wish, &state) != LAP_OK) {
        fprintf(stderr, "memory-check: %s\n", argc == 2 ? lap_error_message() : "one trace is wanted");
        return 1;
    }
    segments = memory_state_segments(state);
    memory_state_free(&state);
    lap_reader_close(&trace);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " buffers, %" PRIu64 " %" PRIu64 " %" PRIu64 " images\n", buffers.checks,
           buffers.known, buffers.wrong, images.checks, images.known, images.wrong);
    fprintf(stderr, "%zu runs\n", segments);
    return 0;
}
