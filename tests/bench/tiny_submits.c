/* SPDX-License-Identifier: MIT */
/*
 * tiny_submits: many submits a frame while a large map is exposed to which nobody writes. Each submit reads a small
 * part of it. What is measured is what a submit costs that has nothing to say. With --present each frame ends with a
 * present into a window; without, a recorder can only take every submit for a frame.
 */
#include "common/present.h"

static uint32_t size_mib = 256, touched_kib = 64, submits = 2000;

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
        bench_target_create(&app, &target);
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
            bench_present(&target);
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
