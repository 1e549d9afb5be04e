/* SPDX-License-Identifier: MIT */
/*
 * ownership_transfer: images of a window are drawn on one queue family and presented on another one, to which they
 * belong in between: they go there and come back with what is in them. Every picture adds a stripe to what its image
 * has. Skipped where no second family can present.
 */
#include "common/target.h"

#define STRIPES 8u

struct scene {
    const struct app *app;
    uint32_t other_family;
    VkQueue other;
    VkCommandPool other_pool;
    struct app_window window;
    struct app_swapchain swapchain;
    struct app_buffer pixels;
    VkSemaphore acquired, back, drawn;
    uint32_t pictures[APP_MAX_IMAGES]; /* so far */
};

static VkImageMemoryBarrier transition(const struct scene *scene, uint32_t image, VkImageLayout from, VkImageLayout to)
{
    return (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .oldLayout = from,
                                  .newLayout = to,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .image = scene->swapchain.images[image],
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
}

static void record(VkCommandBuffer commands, const VkImageMemoryBarrier *barrier)
{
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL,
                         0, NULL, 1, barrier);
}

static VkCommandBuffer begin(const struct scene *scene, VkCommandPool pool)
{
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(scene->app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
    return commands;
}

static void submit(VkQueue queue, VkCommandBuffer commands, VkSemaphore wait, VkSemaphore signal)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = 1,
                               .pWaitSemaphores = &wait,
                               .pWaitDstStageMask = &stage,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &signal};
    CHECK_VK(vkEndCommandBuffer(commands));
    CHECK_VK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
}

/* The image comes back from the family that presented it. */
static VkCommandBuffer fetch(struct scene *scene, uint32_t image)
{
    VkCommandBuffer commands = begin(scene, scene->other_pool);
    VkImageMemoryBarrier barrier =
        transition(scene, image, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    barrier.srcQueueFamilyIndex = scene->other_family;
    barrier.dstQueueFamilyIndex = scene->app->queue_family;
    record(commands, &barrier);
    submit(scene->other, commands, scene->acquired, scene->back);
    commands = begin(scene, scene->app->pool);
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    record(commands, &barrier);
    return commands;
}

/* An image that was never presented belongs to nobody. */
static VkCommandBuffer take(struct scene *scene, uint32_t image)
{
    const VkClearColorValue black = {.float32 = {0, 0, 0, 1}};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkCommandBuffer commands = begin(scene, scene->app->pool);
    VkImageMemoryBarrier barrier =
        transition(scene, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    record(commands, &barrier);
    vkCmdClearColorImage(commands, scene->swapchain.images[image], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &black, 1,
                         &all);
    barrier.oldLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    record(commands, &barrier);
    return commands;
}

static VkBufferImageCopy stripe(const struct scene *scene, uint32_t number)
{
    uint32_t height = scene->swapchain.extent.height / STRIPES;
    return (VkBufferImageCopy){.bufferOffset = (VkDeviceSize)number * scene->swapchain.extent.width * height * 4,
                               .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                               .imageOffset = {0, (int32_t)(number * height), 0},
                               .imageExtent = {scene->swapchain.extent.width, height, 1}};
}

/* The first bytes of the buffer are the stripe; then all stripes are read back. */
static void draw(struct scene *scene, VkCommandBuffer commands, uint32_t image, uint32_t number)
{
    VkImageMemoryBarrier barrier =
        transition(scene, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkBufferImageCopy region = stripe(scene, number % STRIPES), all[STRIPES];
    region.bufferOffset = 0;
    vkCmdCopyBufferToImage(commands, scene->pixels.buffer, scene->swapchain.images[image],
                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    record(commands, &barrier);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    for (uint32_t i = 0; i < STRIPES; i++)
        all[i] = stripe(scene, i);
    vkCmdCopyImageToBuffer(commands, scene->swapchain.images[image], VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                           scene->pixels.buffer, STRIPES, all);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

/* To the family that presents. */
static void present(struct scene *scene, VkCommandBuffer commands, uint32_t image, VkSemaphore wait)
{
    VkImageMemoryBarrier barrier =
        transition(scene, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    const VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                   .waitSemaphoreCount = 1,
                                   .pWaitSemaphores = &scene->swapchain.drawn[image],
                                   .swapchainCount = 1,
                                   .pSwapchains = &scene->swapchain.swapchain,
                                   .pImageIndices = &image};
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    barrier.srcQueueFamilyIndex = scene->app->queue_family;
    barrier.dstQueueFamilyIndex = scene->other_family;
    record(commands, &barrier);
    submit(scene->app->queue, commands, wait, scene->drawn);
    commands = begin(scene, scene->other_pool);
    barrier.srcAccessMask = 0;
    record(commands, &barrier);
    submit(scene->other, commands, scene->drawn, scene->swapchain.drawn[image]);
    CHECK_VK(vkQueuePresentKHR(scene->other, &info));
}

static void run_frame(struct scene *scene)
{
    const struct app *app = scene->app;
    const uint32_t stripe_words = scene->swapchain.extent.width * (scene->swapchain.extent.height / STRIPES);
    uint32_t *words = (uint32_t *)(void *)scene->pixels.mapped, image = 0, number;
    VkCommandBuffer commands;
    CHECK_VK(vkAcquireNextImageKHR(app->device, scene->swapchain.swapchain, UINT64_MAX, scene->acquired, VK_NULL_HANDLE,
                                   &image));
    number = scene->pictures[image]++;
    for (uint32_t i = 0; i < stripe_words; i++)
        words[i] = 0xff000000u | (number + 1) * 0x030507u;
    app_buffer_flush(app, &scene->pixels, 0, stripe_words * 4);
    commands = number ? fetch(scene, image) : take(scene, image);
    draw(scene, commands, image, number);
    present(scene, commands, image, number ? scene->back : scene->acquired);
    CHECK_VK(vkDeviceWaitIdle(app->device));
    app_buffer_invalidate(app, &scene->pixels, 0, scene->pixels.size);
    for (uint32_t i = 0; i <= number && number < STRIPES; i++)
        EXPECT_EQ(app, words[i * stripe_words], 0xff000000u | (i + 1) * 0x030507u);
    CHECK_VK(vkResetCommandPool(app->device, app->pool, 0));
    CHECK_VK(vkResetCommandPool(app->device, scene->other_pool, 0));
    app_window_listen(&scene->window);
}

/* Another family that can present: the window says which, so it comes first. */
static void open_window(struct scene *scene)
{
    const struct app *app = scene->app;
    VkQueueFamilyProperties families[16];
    uint32_t count = COUNT_OF(families);
    app_window_open(app, &scene->window, 96, 64);
    vkGetPhysicalDeviceQueueFamilyProperties(app->physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        VkBool32 supported = VK_FALSE;
        CHECK_VK(vkGetPhysicalDeviceSurfaceSupportKHR(app->physical, i, scene->window.surface, &supported));
        if (supported && i != app->queue_family && families[i].queueFlags & VK_QUEUE_TRANSFER_BIT) {
            scene->other_family = i;
            return;
        }
    }
    app_skip(app, "no second queue family can present");
}

static void create(struct scene *scene, struct app *app)
{
    static const char *const extensions[] = {VK_KHR_SWAPCHAIN_EXTENSION_NAME};
    static const float priority = 1;
    VkDeviceQueueCreateInfo queues[2] = {{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = app->queue_family,
                                          .queueCount = 1,
                                          .pQueuePriorities = &priority},
                                         {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = scene->other_family,
                                          .queueCount = 1,
                                          .pQueuePriorities = &priority}};
    const struct app_device_request request = {
        .extensions = extensions, .extension_count = 1, .queues = queues, .queue_count = 2};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = scene->other_family};
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    app_device_create(app, &request);
    vkGetDeviceQueue(app->device, scene->other_family, 0, &scene->other);
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &scene->other_pool));
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->acquired));
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->back));
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->drawn));
    CHECK(app_swapchain_create(app, &scene->swapchain, scene->window.surface, VK_PRESENT_MODE_FIFO_KHR, 96, 64));
    if (!scene->swapchain.writable || !scene->swapchain.readable)
        app_skip(app, "the swapchain's images can't be copied from and to");
    app_buffer_create(app, &scene->pixels,
                      (VkDeviceSize)scene->swapchain.extent.width * scene->swapchain.extent.height * 4,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "ownership_transfer",
        .what = "Images are drawn on one queue family and presented on another one.",
        .frames = 16,
        .can_present = true,
        .presents_by_default = true,
    };
    struct scene scene = {0};
    struct app app;
    app_init(&app, argc, argv, &program);
    scene.app = &app;
    open_window(&scene);
    create(&scene, &app);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&scene);
    app_buffer_destroy(&app, &scene.pixels);
    app_swapchain_destroy(&app, &scene.swapchain);
    vkDestroySemaphore(app.device, scene.acquired, NULL);
    vkDestroySemaphore(app.device, scene.back, NULL);
    vkDestroySemaphore(app.device, scene.drawn, NULL);
    vkDestroyCommandPool(app.device, scene.other_pool, NULL);
    app_device_destroy(&app);
    app_window_close(&app, &scene.window);
    return app_finish(&app);
}
