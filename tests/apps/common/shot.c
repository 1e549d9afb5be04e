/* SPDX-License-Identifier: MIT */
#include "shot.h"

#define STAMP 16u /* side of the square that is copied into the picture */

static uint32_t color_of(uint32_t number)
{
    return (number * 16 & 0xff) << 24 | (number * 48 & 0xff) << 16 | 0x30ff;
}

void app_shot_create(const struct app *app, struct app_shot *shot)
{
    *shot = (struct app_shot){0};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = app->pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &shot->commands));
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK_VK(vkCreateFence(app->device, &fence, NULL, &shot->done));
    CHECK_VK(vkCreateFence(app->device, &fence, NULL, &shot->acquired_fence));
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &shot->acquired));
    app_buffer_create(app, &shot->pixels, 2 * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &shot->stamp, STAMP * STAMP * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
}

void app_shot_destroy(const struct app *app, struct app_shot *shot)
{
    vkFreeCommandBuffers(app->device, app->pool, 1, &shot->commands);
    vkDestroyFence(app->device, shot->done, NULL);
    vkDestroyFence(app->device, shot->acquired_fence, NULL);
    vkDestroySemaphore(app->device, shot->acquired, NULL);
    app_buffer_destroy(app, &shot->pixels);
    app_buffer_destroy(app, &shot->stamp);
}

static void record(const struct app *app, struct app_shot *shot, const struct app_swapchain *swapchain)
{
    VkCommandBuffer commands = shot->commands;
    const struct app_image image = {.image = swapchain->images[shot->image], .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    uint32_t rgba = color_of(shot->number);
    VkClearColorValue color;
    for (int c = 0; c < 4; c++)
        color.float32[c] = (float)(rgba >> (24 - 8 * c) & 0xff) / 255.0f;
    for (uint32_t i = 0; i < STAMP * STAMP; i++)
        ((uint32_t *)shot->stamp.mapped)[i] = 0xff000000u | (i + shot->number) * 257;
    app_buffer_flush(app, &shot->stamp, 0, shot->stamp.size);

    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdClearColorImage(commands, image.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1, &range);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    VkBufferImageCopy put = {.imageSubresource = layers, .imageOffset = {8, 8, 0}, .imageExtent = {STAMP, STAMP, 1}};
    vkCmdCopyBufferToImage(commands, shot->stamp.buffer, image.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &put);
    app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    const VkExtent2D extent = swapchain->extent;
    const VkBufferImageCopy get[2] = {
        {.imageSubresource = layers,
         .imageOffset = {(int32_t)extent.width - 1, (int32_t)extent.height - 1, 0},
         .imageExtent = {1, 1, 1}},
        {.bufferOffset = 4, .imageSubresource = layers, .imageOffset = {8 + 5, 8 + 1, 0}, .imageExtent = {1, 1, 1}},
    };
    vkCmdCopyImageToBuffer(commands, image.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, shot->pixels.buffer, 2, get);
    app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
}

void app_shot_draw(const struct app *app, struct app_shot *shot, const struct app_swapchain *swapchain, uint32_t number)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    shot->number = number;
    record(app, shot, swapchain);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.waitSemaphoreCount = shot->waits;
    submit.pWaitSemaphores = &shot->acquired;
    submit.pWaitDstStageMask = &stage;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &shot->commands;
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = &swapchain->drawn[shot->image];
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, shot->done));
}

void app_shot_check(const struct app *app, struct app_shot *shot, const struct app_swapchain *swapchain)
{
    app_buffer_invalidate(app, &shot->pixels, 0, shot->pixels.size);
    struct app_pixels corner = {.bytes = shot->pixels.mapped, .width = 1, .height = 1, .frame = shot->number};
    corner.blue_first = app_format_is_blue_first(swapchain->format);
    EXPECT_PIXEL(app, &corner, 0, 0, color_of(shot->number));
    EXPECT_EQ(app, ((uint32_t *)shot->pixels.mapped)[1], 0xff000000u | (STAMP + 5 + shot->number) * 257);
}

void app_shot_finish(const struct app *app, struct app_shot *shot, const struct app_swapchain *swapchain)
{
    CHECK_VK(vkWaitForFences(app->device, 1, &shot->done, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &shot->done));
    app_shot_check(app, shot, swapchain);
}
