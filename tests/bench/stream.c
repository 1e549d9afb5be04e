/* SPDX-License-Identifier: MIT */
/*
 * stream: each frame rewrites all of a mapped buffer and submits a copy of it. A recorder has to take a copy of
 * everything and to compress it, so the same process measures what one memcpy and one LZ4 compression of it take; and,
 * for whoever replays it, one LZ4 decompression and one memcpy.
 */
#include "common/bench.h"

#include <lz4.h>

#define PIECE      (256 << 10) /* compressed at a time */
#define REFERENCES 5u

static uint32_t size_mib = 64;

/* Half of each word can't be compressed; no page is the same in two frames. */
static void rewrite(uint64_t *to, const uint64_t *from, VkDeviceSize bytes, uint32_t frame)
{
    for (VkDeviceSize i = 0; i < bytes / 8; i++)
        to[i] = from[i] + frame * 0x10001u;
}

static void measure_reference(struct bench *bench, const void *source, size_t bytes)
{
    size_t pieces = (bytes + PIECE - 1) / PIECE, room = (size_t)LZ4_compressBound(PIECE);
    uint8_t *copy = malloc(bytes), *unpacked = malloc(bytes), *packed = malloc(pieces * room);
    int *sizes = calloc(pieces + 1, sizeof(*sizes));
    uint64_t packed_bytes = 0;
    CHECK(copy && unpacked && packed && sizes);
    memset(copy, 1, bytes);
    memset(unpacked, 1, bytes);
    memset(packed, 1, pieces * room);
    for (uint32_t i = 0; i < REFERENCES; i++) {
        uint64_t cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID), start = bench_now();
        memcpy(copy, source, bytes);
        uint64_t copied = bench_now();
        packed_bytes = 0;
        for (size_t at = 0; at < bytes; at += PIECE) {
            int piece = bytes - at < PIECE ? (int)(bytes - at) : PIECE, *size = &sizes[at / PIECE];
            *size = LZ4_compress_default((const char *)copy + at, (char *)packed + at / PIECE * room, piece, (int)room);
            CHECK(*size > 0);
            packed_bytes += (uint64_t)*size;
        }
        bench_sample_once(bench, "memcpy", copied - start);
        bench_sample_once(bench, "lz4", bench_now() - copied);
        bench_sample_once(bench, "reference_cpu", bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu);

        /* What nobody who replays it can do without. */
        cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
        for (size_t at = 0; at < bytes; at += PIECE) {
            int piece = bytes - at < PIECE ? (int)(bytes - at) : PIECE;
            CHECK(LZ4_decompress_safe((const char *)packed + at / PIECE * room, (char *)unpacked + at,
                                      sizes[at / PIECE], piece) == piece);
        }
        memcpy(copy, unpacked, bytes);
        bench_sample_once(bench, "unpack_cpu", bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu);
    }
    bench_add(bench, "lz4_bytes", packed_bytes);
    free(sizes);
    free(packed);
    free(unpacked);
    free(copy);
}

static VkCommandBuffer record_copy(const struct app *app, const struct app_buffer *from, const struct app_buffer *to)
{
    VkCommandBuffer commands = bench_commands_begin(app);
    const VkBufferCopy region = {0, 0, from->size};
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--size-mib", "what is rewritten", NULL, &size_mib}, {0}};
    static const struct app_program program = {
        .name = "stream", .what = "Rewrites a mapped buffer each frame.", .frames = 15, .options = options};
    struct app app;
    struct app_buffer upload, target;
    struct bench bench = {.app = &app};
    uint64_t seed = 88172645463325252u;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &upload, size_mib * MIB, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(&app, &target, size_mib * MIB, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    uint64_t *source = malloc(upload.size);
    CHECK(source);
    bench_fill_random(source, upload.size, &seed);
    for (VkDeviceSize i = 0; i < upload.size / 8; i++)
        source[i] &= UINT32_MAX;

    VkCommandBuffer commands = record_copy(&app, &upload, &target);
    VkFence fence = bench_fence_create(&app);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        uint64_t start = bench_now();
        rewrite((uint64_t *)upload.mapped, source, upload.size, bench.frame);
        app_buffer_flush(&app, &upload, 0, upload.size);
        bench_sample(&bench, "write", bench_now() - start);
        bench_add(&bench, "written_bytes", upload.size);
        bench_submit_wait(&bench, commands, fence);
        bench_frame_end(&bench);
    }
    measure_reference(&bench, source, upload.size);
    bench_print(&bench);
    vkDestroyFence(app.device, fence, NULL);
    vkFreeCommandBuffers(app.device, app.pool, 1, &commands);
    app_buffer_destroy(&app, &upload);
    app_buffer_destroy(&app, &target);
    free(source);
    return app_finish(&app);
}
