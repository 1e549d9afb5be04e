/* SPDX-License-Identifier: MIT */
/*
 * tiny_submits: many submits a frame while a large map is exposed to which nobody writes. Each submit reads a small
 * part of it. What is measured is what a submit costs that has nothing to say. With --present each frame ends with a
 * present into a window; without, a recorder can only take every submit for a frame.
 */
#include "common/bench.h"
#include "tests/apps/common/target.h"

static uint32_t size_mib = 256, touched_kib = 64, submits = 2000;

static void look_at_nothing(const struct app *app, const struct app_pixels *pixels)
{
    (void)app;
    (void)pixels;
}

static void present(struct app_target *target)
{
    struct app_frame *frame = app_target_begin(target);
    const struct app_image image = {.image = target->swapchain.images[frame->image],
                                    .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    app_image_barrier(frame->commands, &image, VK_IMAGE_LAYOUT_UNDEFINED, target->final_layout);
    app_target_end(target, frame);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--size-mib", "size of the map", NULL, &size_mib},
                                                {"--touched-kib", "what a submit can read of it", NULL, &touched_kib},
                                                {"--submits", "submits a frame", NULL, &submits},
                                                {0}};
    static const struct app_program program = {
        .name = "tiny_submits", .what = "Many small submits.", .frames = 5, .can_present = true, .options = options};
    struct app app;
    struct app_target target;
    struct app_buffer buffer;
    struct bench_reader reader;
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    const char *const extensions[] = {"VK_KHR_swapchain"};
    const struct app_device_request request = {.extensions = extensions, .extension_count = app.present ? 1 : 0};
    app_device_create(&app, &request);
    if (app.present)
        app_target_create(&app, &target, look_at_nothing);
    app_buffer_create(&app, &buffer, size_mib * MIB, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    if (!buffer.coherent)
        app_skip(&app, "no coherent memory");
    bench_fill_pages(buffer.mapped, buffer.size);
    bench_reader_create(&app, &reader, buffer.buffer, (VkDeviceSize)touched_kib << 10);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &reader.commands;
    CHECK(submits);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        uint64_t start = bench_now();
        for (uint32_t i = 0; i < submits; i++)
            CHECK_VK(vkQueueSubmit(app.queue, 1, &submit, i == submits - 1 ? reader.fence : VK_NULL_HANDLE));
        bench_sample(&bench, "submits", bench_now() - start);
        CHECK_VK(vkWaitForFences(app.device, 1, &reader.fence, VK_TRUE, UINT64_MAX));
        CHECK_VK(vkResetFences(app.device, 1, &reader.fence));
        if (app.present)
            present(&target);
        bench_add(&bench, "submits", submits);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    if (app.present)
        app_target_destroy(&target);
    bench_reader_destroy(&app, &reader);
    app_buffer_destroy(&app, &buffer);
    return app_finish(&app);
}
