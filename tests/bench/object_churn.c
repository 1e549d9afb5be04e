/* SPDX-License-Identifier: MIT */
/*
 * object_churn: each frame creates many buffers, image views, samplers and semaphores, and destroys them again; then a
 * submit that does nothing. With --allocations also buffers with memory of their own that is mapped, filled and freed.
 */
#include "common/bench.h"

#define KINDS 4u

static uint32_t objects = 2000, allocations, allocation_bytes = 4096;

struct quad {
    VkBuffer buffer;
    VkImageView view;
    VkSampler sampler;
    VkSemaphore semaphore;
};

static void create_quad(const struct app *app, VkImage image, uint32_t number, struct quad *quad)
{
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    buffer.size = 256 + number % 64 * 16;
    buffer.usage = VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    CHECK_VK(vkCreateBuffer(app->device, &buffer, NULL, &quad->buffer));
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
    view.image = image;
    view.viewType = VK_IMAGE_VIEW_TYPE_2D;
    view.format = VK_FORMAT_R8G8B8A8_UNORM;
    view.subresourceRange = (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    CHECK_VK(vkCreateImageView(app->device, &view, NULL, &quad->view));
    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    sampler.maxLod = (float)(number % 8);
    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &quad->sampler));
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &quad->semaphore));
}

static void destroy_quad(const struct app *app, const struct quad *quad)
{
    vkDestroyBuffer(app->device, quad->buffer, NULL);
    vkDestroyImageView(app->device, quad->view, NULL);
    vkDestroySampler(app->device, quad->sampler, NULL);
    vkDestroySemaphore(app->device, quad->semaphore, NULL);
}

static void upload(const struct app *app, uint32_t number)
{
    struct app_buffer buffer;
    app_buffer_create(app, &buffer, allocation_bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    memset(buffer.mapped, (int)number, allocation_bytes);
    app_buffer_flush(app, &buffer, 0, allocation_bytes);
    app_buffer_destroy(app, &buffer);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--objects", "objects a frame", NULL, &objects},
        {"--allocations", "buffers a frame with memory that is mapped, filled and freed", NULL, &allocations},
        {"--allocation-bytes", "how large these are", NULL, &allocation_bytes},
        {0}};
    static const struct app_program program = {
        .name = "object_churn", .what = "Objects come and go.", .frames = 60, .options = options};
    struct app app;
    struct app_image image;
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_image_create_2d(&app, &image, VK_FORMAT_R8G8B8A8_UNORM, 16, 16, VK_IMAGE_USAGE_SAMPLED_BIT);
    const uint32_t count = objects / KINDS;
    struct quad *quads = calloc(count + 1, sizeof(*quads));
    CHECK(quads);
    VkCommandBuffer nothing = bench_commands_begin(&app);
    CHECK_VK(vkEndCommandBuffer(nothing));
    VkFence fence = bench_fence_create(&app);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        uint64_t cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID), start = bench_now();
        for (uint32_t i = 0; i < count; i++)
            create_quad(&app, image.image, i + bench.frame, &quads[i]);
        for (uint32_t i = 0; i < count; i++)
            destroy_quad(&app, &quads[i]);
        bench_sample(&bench, "record", bench_now() - start);
        bench_sample(&bench, "record_cpu", bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu);
        bench_add(&bench, "calls", (uint64_t)2 * KINDS * count);
        start = bench_now();
        for (uint32_t i = 0; i < allocations; i++)
            upload(&app, i + bench.frame);
        bench_sample(&bench, "allocations", bench_now() - start);
        bench_submit_wait(&bench, nothing, fence);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    free(quads);
    vkDestroyFence(app.device, fence, NULL);
    vkFreeCommandBuffers(app.device, app.pool, 1, &nothing);
    app_image_destroy(&app, &image);
    return app_finish(&app);
}
