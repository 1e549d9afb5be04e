/* SPDX-License-Identifier: MIT */
/*
 * invalid: breaks rules of the specification that drivers bear, for validation layers to report: a sampler with a bias
 * beyond the limit, wide lines that no feature allows, with nothing drawn (--times N: so often; --secondary: in a
 * secondary command buffer), and a submit of a clear of an image that is in another layout than the command says.
 * --hazard: breaks no rule but that of two fills of the same bytes without a barrier between them. --semaphore: nothing
 * but a semaphore that is signalled twice, and then waited for twice, which only a driver that does nothing bears.
 * --noise: nothing but a shader module whose code is no SPIR-V, which drivers bear that read it later.
 */
#include "common/app.h"

#define BYTES 1024u

static void create_sampler(const struct app *app)
{
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                .mipLodBias = 2 * app->properties.limits.maxSamplerLodBias};
    VkSampler sampler;

    CHECK_VK(vkCreateSampler(app->device, &info, NULL, &sampler));
    vkDestroySampler(app->device, sampler, NULL);
}

static VkCommandBuffer begin_secondary(const struct app *app)
{
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = app->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                                  .commandBufferCount = 1};
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .pInheritanceInfo = &inherits};
    VkCommandBuffer commands;

    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

static void set_width(const struct app *app, uint32_t times, bool inside)
{
    VkCommandBuffer secondary = inside ? begin_secondary(app) : VK_NULL_HANDLE;
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < times; i++)
        vkCmdSetLineWidth(inside ? secondary : commands, 2);
    if (inside) {
        CHECK_VK(vkEndCommandBuffer(secondary));
        vkCmdExecuteCommands(commands, 1, &secondary);
    }
    app_run(app, commands);
}

static void fill_twice(const struct app *app)
{
    VkCommandBuffer commands = app_begin(app);
    struct app_buffer buffer;

    app_buffer_create(app, &buffer, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    vkCmdFillBuffer(commands, buffer.buffer, 0, BYTES, 0x01020304);
    vkCmdFillBuffer(commands, buffer.buffer, 0, BYTES, 0x01020304);
    app_run(app, commands);
    app_buffer_destroy(app, &buffer);
}

static void clear(const struct app *app)
{
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkClearColorValue color = {.float32 = {1, 0, 0, 1}};
    VkCommandBuffer commands = app_begin(app);
    struct app_image image;

    app_image_create_2d(app, &image, VK_FORMAT_R8G8B8A8_UNORM, 16, 16, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    vkCmdClearColorImage(commands, image.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1, &all);
    app_run(app, commands);
    app_image_destroy(app, &image);
}

static void signal_twice(const struct app *app)
{
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSemaphore semaphore;

    CHECK_VK(vkCreateSemaphore(app->device, &info, NULL, &semaphore));
    for (uint32_t i = 0; i < 4; i++) {
        const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                     .waitSemaphoreCount = i / 2,
                                     .pWaitSemaphores = &semaphore,
                                     .pWaitDstStageMask = &stage,
                                     .signalSemaphoreCount = 1 - i / 2,
                                     .pSignalSemaphores = &semaphore};
        CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, VK_NULL_HANDLE));
    }
    CHECK_VK(vkDeviceWaitIdle(app->device));
    vkDestroySemaphore(app->device, semaphore, NULL);
}

static void create_noise(const struct app *app)
{
    static const uint32_t code[] = {1, 2, 3, 4, 5, 6};
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof code, .pCode = code};
    VkShaderModule module;

    CHECK_VK(vkCreateShaderModule(app->device, &info, NULL, &module));
    vkDestroyShaderModule(app->device, module, NULL);
}

int main(int argc, char **argv)
{
    static uint32_t times = 1;
    static bool secondary, hazard, semaphore, noise;
    static const struct app_option options[] = {
        {"--times", "the width is set so often (default: 1)", NULL, &times},
        {"--secondary", "in a secondary command buffer", &secondary, NULL},
        {"--hazard", "nothing but two fills without a barrier", &hazard, NULL},
        {"--semaphore", "nothing but a semaphore that is signalled twice and waited for twice", &semaphore, NULL},
        {"--noise", "nothing but a shader module whose code is no SPIR-V", &noise, NULL},
        {NULL, NULL, NULL, NULL},
    };
    static const struct app_program program = {
        .name = "invalid", .what = "breaks rules, which validation layers report", .options = options};
    struct app app;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    if (hazard) {
        fill_twice(&app);
    } else if (semaphore) {
        signal_twice(&app);
    } else if (noise) {
        create_noise(&app);
    } else {
        create_sampler(&app);
        set_width(&app, times, secondary);
        clear(&app);
    }
    return app_finish(&app);
}
