/* SPDX-License-Identifier: MIT */
/*
 * again: one command buffer that copies from a buffer to an image and on to another buffer is under way several times
 * at once: within a batch, as a secondary one within a primary one, and on two queues of a family that semaphores put
 * in order. Between the copies the source changes, and every time what arrives must be what was there then.
 */
#include "common/app.h"

#define SIZE   16u
#define BYTES  (SIZE * SIZE * 4u)
#define ROUNDS 4u

struct scene {
    const struct app *app;
    VkQueue other; /* of the same family; NULL: there is none */
    VkCommandPool pool;
    struct app_image image;
    struct app_buffer upload, source, target, results;
    VkCommandBuffer copies, secondary, primary;
    VkCommandBuffer before[ROUNDS], after[ROUNDS];
    VkSemaphore semaphores[ROUNDS];
};

static void barrier(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

static VkCommandBuffer begin(const struct scene *scene, VkCommandBufferLevel level)
{
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = scene->pool,
                                                  .level = level,
                                                  .commandBufferCount = 1};
    const VkCommandBufferInheritanceInfo inherited = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
                                           .pInheritanceInfo = &inherited};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(scene->app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
    return commands;
}

static void record_copies(const struct scene *scene, VkCommandBuffer commands)
{
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIZE, SIZE, 1}};
    barrier(commands);
    vkCmdCopyBufferToImage(commands, scene->source.buffer, scene->image.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    barrier(commands);
    vkCmdCopyImageToBuffer(commands, scene->image.image, VK_IMAGE_LAYOUT_GENERAL, scene->target.buffer, 1, &region);
    barrier(commands);
}

static void record_before(const struct scene *scene, VkCommandBuffer commands, uint32_t round)
{
    barrier(commands);
    vkCmdCopyBuffer(commands, scene->upload.buffer, scene->source.buffer, 1,
                    &(VkBufferCopy){.srcOffset = round * BYTES, .size = BYTES});
    barrier(commands);
}

static void record_after(const struct scene *scene, VkCommandBuffer commands, uint32_t round)
{
    barrier(commands);
    vkCmdCopyBuffer(commands, scene->target.buffer, scene->results.buffer, 1,
                    &(VkBufferCopy){.dstOffset = round * BYTES, .size = BYTES});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

static void record_all(struct scene *scene)
{
    scene->copies = begin(scene, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    record_copies(scene, scene->copies);
    CHECK_VK(vkEndCommandBuffer(scene->copies));
    scene->secondary = begin(scene, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    record_copies(scene, scene->secondary);
    CHECK_VK(vkEndCommandBuffer(scene->secondary));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        scene->before[i] = begin(scene, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        record_before(scene, scene->before[i], i);
        CHECK_VK(vkEndCommandBuffer(scene->before[i]));
        scene->after[i] = begin(scene, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        record_after(scene, scene->after[i], i);
        CHECK_VK(vkEndCommandBuffer(scene->after[i]));
    }
    scene->primary = begin(scene, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        record_before(scene, scene->primary, i);
        vkCmdExecuteCommands(scene->primary, 1, &scene->secondary);
        record_after(scene, scene->primary, i);
    }
    CHECK_VK(vkEndCommandBuffer(scene->primary));
}

static void fill(struct scene *scene, uint32_t seed)
{
    memset(scene->results.mapped, 0, ROUNDS * BYTES);
    app_buffer_flush(scene->app, &scene->results, 0, ROUNDS * BYTES);
    for (uint32_t i = 0; i < ROUNDS * BYTES; i++)
        scene->upload.mapped[i] = (uint8_t)app_random(&seed);
    app_buffer_flush(scene->app, &scene->upload, 0, ROUNDS * BYTES);
}

static void expect_all(const struct scene *scene)
{
    const struct app *app = scene->app;
    app_buffer_invalidate(app, &scene->results, 0, ROUNDS * BYTES);
    for (uint32_t i = 0; i < ROUNDS; i++)
        EXPECT_EQ(app, memcmp(scene->results.mapped + i * BYTES, scene->upload.mapped + i * BYTES, BYTES), 0);
}

static void in_one_batch(struct scene *scene)
{
    VkCommandBuffer commands[3 * ROUNDS];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        commands[3 * i] = scene->before[i];
        commands[3 * i + 1] = scene->copies;
        commands[3 * i + 2] = scene->after[i];
    }
    fill(scene, 1);
    app_submit_wait(scene->app, COUNT_OF(commands), commands);
    expect_all(scene);
}

static void as_secondary(struct scene *scene)
{
    fill(scene, 2);
    app_submit_wait(scene->app, 1, &scene->primary);
    expect_all(scene);
}

/* The queues take turns, and nothing but semaphores stands between them. */
static void on_two_queues(struct scene *scene)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
    fill(scene, 3);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const VkCommandBuffer commands[] = {scene->before[i], scene->copies, scene->after[i]};
        const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                     .waitSemaphoreCount = i ? 1 : 0,
                                     .pWaitSemaphores = i ? &scene->semaphores[i - 1] : NULL,
                                     .pWaitDstStageMask = &stage,
                                     .commandBufferCount = COUNT_OF(commands),
                                     .pCommandBuffers = commands,
                                     .signalSemaphoreCount = i + 1 < ROUNDS ? 1 : 0,
                                     .pSignalSemaphores = &scene->semaphores[i]};
        CHECK_VK(vkQueueSubmit(i % 2 ? scene->other : scene->app->queue, 1, &submit, VK_NULL_HANDLE));
    }
    CHECK_VK(vkQueueWaitIdle(ROUNDS % 2 ? scene->app->queue : scene->other));
    expect_all(scene);
}

static void create(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = app->queue_family};
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkBufferUsageFlags both = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkCommandBuffer commands;
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &scene->pool));
    for (uint32_t i = 0; i < ROUNDS; i++)
        CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->semaphores[i]));
    app_image_create_2d(app, &scene->image, VK_FORMAT_B8G8R8A8_UNORM, SIZE, SIZE,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    app_buffer_create(app, &scene->upload, ROUNDS * BYTES, both, APP_UPLOAD);
    app_buffer_create(app, &scene->source, BYTES, both, APP_DEVICE);
    app_buffer_create(app, &scene->target, BYTES, both, APP_DEVICE);
    app_buffer_create(app, &scene->results, ROUNDS * BYTES, both, APP_READBACK);
    commands = app_begin(app);
    app_image_barrier(commands, &scene->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    app_run(app, commands);
    record_all(scene);
}

static void destroy(struct scene *scene)
{
    const struct app *app = scene->app;
    CHECK_VK(vkDeviceWaitIdle(app->device));
    for (uint32_t i = 0; i < ROUNDS; i++)
        vkDestroySemaphore(app->device, scene->semaphores[i], NULL);
    vkDestroyCommandPool(app->device, scene->pool, NULL);
    app_buffer_destroy(app, &scene->results);
    app_buffer_destroy(app, &scene->target);
    app_buffer_destroy(app, &scene->source);
    app_buffer_destroy(app, &scene->upload);
    app_image_destroy(app, &scene->image);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "again",
        .what = "One command buffer is under way several times at once.",
        .frames = 3,
    };
    static const float priorities[] = {1, 1};
    VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .pQueuePriorities = priorities};
    const struct app_device_request request = {.queues = &queues, .queue_count = 1};
    struct scene scene = {0};
    struct app app;
    app_init(&app, argc, argv, &program);
    if (!app_format_has(&app, VK_FORMAT_B8G8R8A8_UNORM, VK_IMAGE_TILING_OPTIMAL,
                        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT))
        app_skip(&app, "no such images");
    queues.queueFamilyIndex = app.queue_family;
    queues.queueCount = app.queue_properties.queueCount > 1 ? 2 : 1;
    app_device_create(&app, &request);
    if (queues.queueCount > 1)
        vkGetDeviceQueue(app.device, app.queue_family, 1, &scene.other);
    else
        printf("left out: two queues\n");
    scene.app = &app;
    create(&scene);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        in_one_batch(&scene);
        as_secondary(&scene);
        if (scene.other)
            on_two_queues(&scene);
    }
    destroy(&scene);
    return app_finish(&app);
}
