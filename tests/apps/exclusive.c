/* SPDX-License-Identifier: MIT */
/*
 * exclusive: the host writes buffers once, in part, and a queue family that is not the one for everything reads all of
 * them: it is the only one that they ever belong to. Skipped where there is one family.
 */
#include "common/app.h"

#define BYTES 4096u

struct scene {
    const struct app *app;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    struct app_buffer result;
};

static VkCommandBuffer record(const struct scene *scene, const struct app_buffer *source)
{
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = scene->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(scene->app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
    vkCmdCopyBuffer(commands, source->buffer, scene->result.buffer, 1, &(VkBufferCopy){.size = BYTES});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = scene->app;
    struct app_buffer source;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1};
    VkCommandBuffer commands;
    app_buffer_create(app, &source, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    for (uint32_t i = 64 * (frame % 8 + 1); i < BYTES; i++)
        source.mapped[i] = (uint8_t)(frame * 31 + i);
    app_buffer_flush(app, &source, 0, BYTES);
    commands = record(scene, &source);
    submit.pCommandBuffers = &commands;
    CHECK_VK(vkQueueSubmit(scene->queue, 1, &submit, VK_NULL_HANDLE));
    CHECK_VK(vkQueueWaitIdle(scene->queue));
    app_buffer_invalidate(app, &scene->result, 0, BYTES);
    for (uint32_t i = 64 * (frame % 8 + 1); i < BYTES; i++)
        EXPECT_EQ(app, scene->result.mapped[i], (uint8_t)(frame * 31 + i));
    app_buffer_destroy(app, &source);
    CHECK_VK(vkResetCommandPool(app->device, scene->pool, 0));
}

static void create(struct scene *scene, struct app *app)
{
    static const float priority = 1;
    VkDeviceQueueCreateInfo queues[2] = {{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = app->queue_family,
                                          .queueCount = 1,
                                          .pQueuePriorities = &priority},
                                         {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = scene->family,
                                          .queueCount = 1,
                                          .pQueuePriorities = &priority}};
    const struct app_device_request request = {.queues = queues, .queue_count = 2};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = scene->family};
    app_device_create(app, &request);
    vkGetDeviceQueue(app->device, scene->family, 0, &scene->queue);
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &scene->pool));
    app_buffer_create(app, &scene->result, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "exclusive",
        .what = "The host writes buffers that one queue family reads, which is not the one for everything.",
        .frames = 12,
    };
    struct scene scene = {.family = UINT32_MAX};
    VkQueueFamilyProperties families[16];
    uint32_t count = COUNT_OF(families);
    struct app app;
    app_init(&app, argc, argv, &program);
    scene.app = &app;
    vkGetPhysicalDeviceQueueFamilyProperties(app.physical, &count, families);
    for (uint32_t i = 0; i < count; i++)
        if (i != app.queue_family && families[i].queueFlags)
            scene.family = i;
    if (scene.family == UINT32_MAX)
        app_skip(&app, "there is one queue family");
    create(&scene, &app);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&scene, frame);
    app_buffer_destroy(&app, &scene.result);
    vkDestroyCommandPool(app.device, scene.pool, NULL);
    return app_finish(&app);
}
