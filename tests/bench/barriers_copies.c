/* SPDX-License-Identifier: MIT */
/*
 * barriers_copies: many copies a frame, each between barriers: of a part of a buffer into another buffer, and of that
 * into an image whose layout changes for it. Which parts they are differs from frame to frame. Measured is the
 * recording alone.
 */
#include "common/bench.h"

#define TEXELS       16u /* an edge of the image, and of what is copied to it */
#define PIECE_BYTES  (TEXELS * TEXELS * 4)
#define PIECES       64u /* in the buffers */
#define CALLS_A_COPY 5u

static uint32_t copies = 1000;

struct scene {
    struct app_buffer source, middle;
    struct app_image image;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
};

static void create(const struct app *app, struct scene *scene)
{
    app_buffer_create(app, &scene->source, PIECES * PIECE_BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->middle, PIECES * PIECE_BYTES,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    app_image_create_2d(app, &scene->image, VK_FORMAT_R8G8B8A8_UNORM, TEXELS, TEXELS,
                        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    bench_fill_pages(scene->source.mapped, scene->source.size);
    app_buffer_flush(app, &scene->source, 0, scene->source.size);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = app->queue_family;
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &scene->pool));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = scene->pool;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &scene->commands));
    scene->fence = bench_fence_create(app);
}

static void destroy(const struct app *app, struct scene *scene)
{
    vkDestroyFence(app->device, scene->fence, NULL);
    vkDestroyCommandPool(app->device, scene->pool, NULL);
    app_image_destroy(app, &scene->image);
    app_buffer_destroy(app, &scene->middle);
    app_buffer_destroy(app, &scene->source);
}

static void buffer_barrier(const struct scene *scene, VkDeviceSize offset)
{
    VkBufferMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.buffer = scene->middle.buffer;
    barrier.offset = offset;
    barrier.size = PIECE_BYTES;
    vkCmdPipelineBarrier(scene->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 1,
                         &barrier, 0, NULL);
}

/* The next copy writes where this one has read, which a barrier for execution alone keeps apart. */
static void record_copy(const struct scene *scene, uint32_t number)
{
    const VkDeviceSize from = number * 7 % PIECES * PIECE_BYTES, to = number % PIECES * PIECE_BYTES;
    const VkBufferCopy part = {from, to, PIECE_BYTES};
    VkBufferImageCopy texels = {.bufferOffset = to, .imageExtent = {TEXELS, TEXELS, 1}};
    texels.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    vkCmdCopyBuffer(scene->commands, scene->source.buffer, scene->middle.buffer, 1, &part);
    buffer_barrier(scene, to);
    app_image_barrier(scene->commands, &scene->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(scene->commands, scene->middle.buffer, scene->image.image,
                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &texels);
    app_image_barrier(scene->commands, &scene->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                      VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--copies", "copies a frame", NULL, &copies}, {0}};
    static const struct app_program program = {
        .name = "barriers_copies", .what = "Many barriers and copies.", .frames = 60, .options = options};
    struct app app;
    struct scene scene = {0};
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    create(&app, &scene);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
        CHECK_VK(vkResetCommandPool(app.device, scene.pool, 0));
        CHECK_VK(vkBeginCommandBuffer(scene.commands, &begin));
        uint64_t cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID), start = bench_now();
        for (uint32_t i = 0; i < copies; i++)
            record_copy(&scene, i + bench.frame);
        bench_sample(&bench, "record", bench_now() - start);
        bench_sample(&bench, "record_cpu", bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu);
        bench_add(&bench, "calls", (uint64_t)CALLS_A_COPY * copies);
        CHECK_VK(vkEndCommandBuffer(scene.commands));
        bench_submit_wait(&bench, scene.commands, scene.fence);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    destroy(&app, &scene);
    return app_finish(&app);
}
