/* SPDX-License-Identifier: MIT */
/*
 * redraws: draws only what is new of each picture, over what the image of the window had when it was presented. Each
 * picture adds a stripe to its image, by a render pass that loads, and all stripes so far are read back. Images are
 * acquired with a semaphore and with a fence in turn.
 */
#include "common/target.h"

#define STRIPES 8u

struct scene {
    const struct app *app;
    struct app_window window;
    struct app_swapchain swapchain;
    VkRenderPass clears, loads;
    VkFramebuffer framebuffers[APP_MAX_IMAGES];
    struct app_buffer pixels;
    VkSemaphore acquired;
    VkFence fence;
    uint32_t pictures[APP_MAX_IMAGES]; /* so far */
};

static VkRenderPass render_pass(const struct scene *scene, bool loads)
{
    const VkAttachmentDescription attachment = {
        .format = scene->swapchain.format,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .loadOp = loads ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
        .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
        .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
        .initialLayout = loads ? VK_IMAGE_LAYOUT_PRESENT_SRC_KHR : VK_IMAGE_LAYOUT_UNDEFINED,
        .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
    };
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS, .colorAttachmentCount = 1, .pColorAttachments = &color};
    const VkAccessFlags draws = VK_ACCESS_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    const VkSubpassDependency around[] = {
        {VK_SUBPASS_EXTERNAL, 0, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, 0,
         draws, 0},
        {0, VK_SUBPASS_EXTERNAL, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
         VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT, 0},
    };
    const VkRenderPassCreateInfo create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                           .attachmentCount = 1,
                                           .pAttachments = &attachment,
                                           .subpassCount = 1,
                                           .pSubpasses = &subpass,
                                           .dependencyCount = COUNT_OF(around),
                                           .pDependencies = around};
    VkRenderPass pass;
    CHECK_VK(vkCreateRenderPass(scene->app->device, &create, NULL, &pass));
    return pass;
}

static uint32_t stripe_rows(const struct scene *scene)
{
    return scene->swapchain.extent.height / STRIPES;
}

/* The colour of a stripe by the number of the picture that drew it: whole steps of 1 / 255. */
static VkClearValue color_of(uint32_t number)
{
    return (VkClearValue){.color.float32 = {(float)(number + 1) / 255, (float)(number * 3 + 1) / 255, 0, 1}};
}

static void draw(const struct scene *scene, VkCommandBuffer commands, uint32_t image, uint32_t number)
{
    const VkClearValue black = {.color.float32 = {0, 0, 0, 1}};
    const VkExtent2D extent = scene->swapchain.extent;
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = number ? scene->loads : scene->clears,
                                         .framebuffer = scene->framebuffers[image],
                                         .renderArea = {.extent = extent},
                                         .clearValueCount = 1,
                                         .pClearValues = &black};
    const VkClearAttachment clear = {VK_IMAGE_ASPECT_COLOR_BIT, 0, color_of(number)};
    const uint32_t rows = stripe_rows(scene);
    const VkClearRect stripe = {.rect = {{0, (int32_t)(number % STRIPES * rows)}, {extent.width, rows}},
                                .layerCount = 1};
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdClearAttachments(commands, 1, &clear, 1, &stripe);
    vkCmdEndRenderPass(commands);
}

static void read_back(const struct scene *scene, VkCommandBuffer commands, uint32_t image)
{
    const VkExtent2D extent = scene->swapchain.extent;
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {extent.width, extent.height, 1}};
    const struct app_image presented = {.image = scene->swapchain.images[image], .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    vkCmdCopyImageToBuffer(commands, presented.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->pixels.buffer, 1,
                           &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_image_barrier(commands, &presented, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
}

static void check_stripes(const struct scene *scene, uint32_t number)
{
    const bool blue_first = app_format_is_blue_first(scene->swapchain.format);
    const size_t stripe_bytes = (size_t)scene->swapchain.extent.width * stripe_rows(scene) * 4;
    const uint8_t *bytes = scene->pixels.mapped;
    app_buffer_invalidate(scene->app, &scene->pixels, 0, scene->pixels.size);
    for (uint32_t i = 0; i < STRIPES; i++) {
        const uint8_t *pixel = bytes + i * stripe_bytes;
        uint32_t last = number < i ? UINT32_MAX : number - (number - i) % STRIPES;
        EXPECT_EQ(scene->app, pixel[blue_first ? 2 : 0], last == UINT32_MAX ? 0 : last + 1);
        EXPECT_EQ(scene->app, pixel[1], last == UINT32_MAX ? 0 : last * 3 + 1);
    }
}

static void submit(const struct scene *scene, VkCommandBuffer commands, uint32_t image, bool waits)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = waits,
                               .pWaitSemaphores = &scene->acquired,
                               .pWaitDstStageMask = &stage,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &scene->swapchain.drawn[image]};
    const VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                      .waitSemaphoreCount = 1,
                                      .pWaitSemaphores = &scene->swapchain.drawn[image],
                                      .swapchainCount = 1,
                                      .pSwapchains = &scene->swapchain.swapchain,
                                      .pImageIndices = &image};
    CHECK_VK(vkEndCommandBuffer(commands));
    CHECK_VK(vkQueueSubmit(scene->app->queue, 1, &info, VK_NULL_HANDLE));
    CHECK_VK(vkDeviceWaitIdle(scene->app->device));
    CHECK_VK(vkQueuePresentKHR(scene->app->queue, &present));
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = scene->app;
    const bool waits = frame % 2;
    uint32_t image = 0, number;
    CHECK_VK(vkAcquireNextImageKHR(app->device, scene->swapchain.swapchain, UINT64_MAX,
                                   waits ? scene->acquired : VK_NULL_HANDLE, waits ? VK_NULL_HANDLE : scene->fence,
                                   &image));
    if (!waits) {
        CHECK_VK(vkWaitForFences(app->device, 1, &scene->fence, VK_TRUE, UINT64_MAX));
        CHECK_VK(vkResetFences(app->device, 1, &scene->fence));
    }
    number = scene->pictures[image]++;
    VkCommandBuffer commands = app_begin(app);
    draw(scene, commands, image, number);
    read_back(scene, commands, image);
    submit(scene, commands, image, waits);
    check_stripes(scene, number);
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
    app_window_listen(&scene->window);
}

static void create(struct scene *scene, const struct app *app)
{
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    scene->app = app;
    app_window_open(app, &scene->window, 96, 64);
    CHECK(app_swapchain_create(app, &scene->swapchain, scene->window.surface, VK_PRESENT_MODE_FIFO_KHR, 96, 64));
    if (!scene->swapchain.readable)
        app_skip(app, "the swapchain's images can't be copied from");
    scene->clears = render_pass(scene, false);
    scene->loads = render_pass(scene, true);
    for (uint32_t i = 0; i < scene->swapchain.count; i++)
        scene->framebuffers[i] = app_framebuffer(app, scene->clears, 1, &scene->swapchain.views[i],
                                                 scene->swapchain.extent.width, scene->swapchain.extent.height);
    app_buffer_create(app, &scene->pixels,
                      (VkDeviceSize)scene->swapchain.extent.width * scene->swapchain.extent.height * 4,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->acquired));
    CHECK_VK(vkCreateFence(app->device, &fence, NULL, &scene->fence));
}

static void destroy(struct scene *scene)
{
    const struct app *app = scene->app;
    CHECK_VK(vkDeviceWaitIdle(app->device));
    for (uint32_t i = 0; i < scene->swapchain.count; i++)
        vkDestroyFramebuffer(app->device, scene->framebuffers[i], NULL);
    vkDestroyRenderPass(app->device, scene->clears, NULL);
    vkDestroyRenderPass(app->device, scene->loads, NULL);
    vkDestroySemaphore(app->device, scene->acquired, NULL);
    vkDestroyFence(app->device, scene->fence, NULL);
    app_buffer_destroy(app, &scene->pixels);
    app_swapchain_destroy(app, &scene->swapchain);
    app_window_close(app, &scene->window);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "redraws",
        .what = "Each picture of a window adds to what its image had when it was presented.",
        .frames = 24,
        .can_present = true,
        .presents_by_default = true,
    };
    struct scene scene = {0};
    struct app app;
    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    create(&scene, &app);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&scene, frame);
    destroy(&scene);
    return app_finish(&app);
}
