/* SPDX-License-Identifier: MIT */
/*
 * map_random: one persistent coherent map; each frame a few small writes at random places, then a submit that may read
 * all of it. What a recorder pays here should follow the pages written, not the bytes mapped.
 */
#include "common/bench.h"
#include "common/floor.h"

static uint32_t size_mib = 256, used_mib, writes = 64;
static bool check, sparse;

static uint64_t random_state = 88172645463325252u;

/* Nanoseconds; *out_bytes: how much was stored. */
static uint64_t store_some(uint8_t *mapped, VkDeviceSize bytes, uint64_t *out_bytes)
{
    static uint64_t data[1024 / 8];
    uint64_t spent = 0, sum = 0, *seed = &random_state;
    for (uint32_t i = 0; i < writes; i++) {
        VkDeviceSize size = 64 + bench_random_below(seed, (1024 - 64) / 8 + 1) * 8;
        VkDeviceSize offset = bench_random_below(seed, (bytes - size) / 8) * 8;
        bench_fill_random(data, size, seed);
        uint64_t start = bench_now();
        memcpy(mapped + offset, data, size);
        spent += bench_now() - start;
        sum += size;
    }
    *out_bytes = sum;
    return spent;
}

static void write_some(struct bench *bench, uint8_t *mapped, VkDeviceSize bytes)
{
    uint64_t stored;
    bench_sample(bench, "write", store_some(mapped, bytes, &stored));
    bench_add(bench, "written_bytes", stored);
}

static uint64_t store_again(void *context, uint8_t *memory, size_t bytes)
{
    return store_some(memory, bytes, context);
}

/* What the device sees in the end is what the host wrote; a recording with --verify has a check to make then. */
static void check_content(const struct app *app, const struct app_buffer *buffer)
{
    struct app_buffer seen;
    app_buffer_create(app, &seen, buffer->size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    VkCommandBuffer commands = app_begin(app);
    const VkBufferCopy region = {0, 0, buffer->size};
    vkCmdCopyBuffer(commands, buffer->buffer, seen.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &seen, 0, seen.size);
    EXPECT_EQ(app, memcmp(seen.mapped, buffer->mapped, buffer->size), 0);
    app_buffer_destroy(app, &seen);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--size-mib", "size of the map", NULL, &size_mib},
        {"--used-mib", "the program writes to these first MiB and never to the rest (0: to all)", NULL, &used_mib},
        {"--writes", "writes a frame", NULL, &writes},
        {"--sparse", "on a device with sparse binding", &sparse, NULL},
        {"--check", "look at the whole map in the end", &check, NULL},
        {0}};
    static const VkPhysicalDeviceFeatures with_sparse = {.sparseBinding = VK_TRUE};
    static const struct app_program program = {
        .name = "map_random", .what = "Few small writes into a large map.", .frames = 100, .options = options};
    struct app app;
    struct app_buffer buffer;
    struct bench_reader reader;
    struct bench bench = {.app = &app};
    VkDeviceSize used;
    uint64_t ignored;

    app_init(&app, argc, argv, &program);
    if (sparse && !app.features.sparseBinding)
        app_skip(&app, "the driver has no sparse binding");
    app_device_create(&app, &(struct app_device_request){.features = sparse ? &with_sparse : NULL});
    app_buffer_create(&app, &buffer, size_mib * MIB,
                      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    if (!buffer.coherent)
        app_skip(&app, "no coherent memory");
    used = used_mib && used_mib < size_mib ? used_mib * MIB : buffer.size;
    bench_fill_pages(buffer.mapped, used);
    bench_reader_create(&app, &reader, buffer.buffer, buffer.size);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        write_some(&bench, buffer.mapped, used);
        bench_submit_wait(&bench, reader.commands, reader.fence);
        bench_frame_end(&bench);
    }
    bench_kernel_floor(&bench, used, bench_frames(&bench), store_again, &ignored);
    bench_print(&bench);
    if (check)
        check_content(&app, &buffer);
    bench_reader_destroy(&app, &reader);
    app_buffer_destroy(&app, &buffer);
    return app_finish(&app);
}
