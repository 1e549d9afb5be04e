/* SPDX-License-Identifier: MIT */
/*
 * device_state: buffers and images of the device, half of each, whose contents came from the host once, and then frames
 * in which the device reads a word. What is measured is what it costs to begin a recording in the middle: the longest
 * frame, and what the others take before. With --present each frame ends with a present.
 */
#include "common/present.h"

#define IMAGE_SIDE  2048u
#define IMAGE_BYTES (IMAGE_SIDE * IMAGE_SIDE * 4u) /* 16 MiB */

static uint32_t size_mib = 256;

/* Of each page a half is random, so that it compresses as textures and meshes do, and no two are equal. */
static void fill(const struct app *app, struct app_buffer *upload, uint64_t *state)
{
    for (VkDeviceSize at = 0; at < upload->size; at += BENCH_PAGE)
        bench_fill_random(upload->mapped + at, BENCH_PAGE / 2, state);
    app_buffer_flush(app, upload, 0, upload->size);
}

static void fill_buffer(const struct app *app, const struct app_buffer *from, const struct app_buffer *to)
{
    const VkBufferCopy all = {.size = from->size};
    VkCommandBuffer commands = app_begin(app);
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &all);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT);
    app_run(app, commands);
}

static void fill_image(const struct app *app, const struct app_buffer *from, const struct app_image *to)
{
    const VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .imageExtent = {IMAGE_SIDE, IMAGE_SIDE, 1}};
    VkCommandBuffer commands = app_begin(app);
    app_image_barrier(commands, to, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, from->buffer, to->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &all);
    app_image_barrier(commands, to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    app_run(app, commands);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--size-mib", "of what the device has, a multiple of 32", NULL, &size_mib}, {0}};
    static const struct app_program program = {.name = "device_state",
                                               .what = "Much that the device has.",
                                               .frames = 30,
                                               .can_present = true,
                                               .options = options};
    struct app app;
    struct app_target target;
    struct app_buffer upload, *buffers;
    struct app_image *images;
    struct bench_reader reader;
    struct bench bench = {.app = &app};
    uint64_t state = 88172645463325252u;

    app_init(&app, argc, argv, &program);
    const char *const extensions[] = {"VK_KHR_swapchain"};
    const struct app_device_request request = {.extensions = extensions, .extension_count = app.present ? 1 : 0};
    app_device_create(&app, &request);
    if (app.present)
        bench_target_create(&app, &target);
    const uint32_t count = size_mib / 32;
    CHECK(count);
    CHECK(buffers = calloc(count, sizeof *buffers));
    CHECK(images = calloc(count, sizeof *images));
    app_buffer_create(&app, &upload, IMAGE_BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    bench_fill_pages(upload.mapped, upload.size);
    for (uint32_t i = 0; i < count; i++) {
        app_buffer_create(&app, &buffers[i], IMAGE_BYTES,
                          VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_DEVICE);
        app_image_create_2d(&app, &images[i], VK_FORMAT_R8G8B8A8_UNORM, IMAGE_SIDE, IMAGE_SIDE,
                            VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT);
        fill(&app, &upload, &state);
        fill_buffer(&app, &upload, &buffers[i]);
        fill(&app, &upload, &state);
        fill_image(&app, &upload, &images[i]);
    }
    app_buffer_destroy(&app, &upload);
    bench_reader_create(&app, &reader, buffers[0].buffer, buffers[0].size);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        bench_submit_wait(&bench, reader.commands, reader.fence);
        if (app.present)
            bench_present(&target);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    if (app.present)
        app_target_destroy(&target);
    bench_reader_destroy(&app, &reader);
    for (uint32_t i = 0; i < count; i++) {
        app_buffer_destroy(&app, &buffers[i]);
        app_image_destroy(&app, &images[i]);
    }
    free(buffers);
    free(images);
    return app_finish(&app);
}
