/* SPDX-License-Identifier: MIT */
#include "target.h"

#include <math.h>

static void create_plain(struct app *app, struct app_target *target)
{
    struct app_swapchain *images = &target->swapchain;
    images->format = app->srgb ? VK_FORMAT_R8G8B8A8_SRGB : VK_FORMAT_R8G8B8A8_UNORM;
    images->extent = (VkExtent2D){app->width, app->height};
    images->count = APP_IN_FLIGHT;
    images->readable = true;
    for (uint32_t i = 0; i < APP_IN_FLIGHT; i++) {
        app_image_create_2d(app, &target->plain[i], images->format, app->width, app->height,
                            VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
        images->images[i] = target->plain[i].image;
        images->views[i] = target->plain[i].view;
    }
}

void app_target_create(struct app *app, struct app_target *target,
                       void (*check)(const struct app *app, const struct app_pixels *pixels))
{
    *target = (struct app_target){.app = app, .check = check};
    if (app->present) {
        app_window_open(app, &target->window, app->width, app->height);
        CHECK(app_swapchain_create(app, &target->swapchain, target->window.surface, VK_PRESENT_MODE_FIFO_KHR,
                                   app->width, app->height));
    } else {
        create_plain(app, target);
    }
    const struct app_swapchain *images = &target->swapchain;
    target->final_layout = images->readable ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
    if (!images->readable)
        printf("pixels are not checked: the swapchain's images can't be copied\n");

    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = app->queue_family;
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &target->pool));
    for (uint32_t i = 0; i < APP_IN_FLIGHT; i++) {
        struct app_frame *frame = &target->frames[i];
        frame->slot = i;
        VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        CHECK_VK(vkCreateFence(app->device, &fence, NULL, &frame->done));
        VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
        CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &frame->acquired));
        VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
        allocate.commandPool = target->pool;
        allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        allocate.commandBufferCount = 1;
        CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &frame->commands));
        app_buffer_create(app, &frame->pixels, (VkDeviceSize)images->extent.width * images->extent.height * 4,
                          VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    }
}

/* FNV-1a. */
static uint64_t hash_of(const uint8_t *bytes, uint64_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static void finish_frame(struct app_target *target, struct app_frame *frame)
{
    const struct app *app = target->app;
    if (!frame->pending)
        return;
    CHECK_VK(vkWaitForFences(app->device, 1, &frame->done, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &frame->done));
    frame->pending = false;
    if (!target->swapchain.readable)
        return;
    app_buffer_invalidate(app, &frame->pixels, 0, frame->pixels.size);
    struct app_pixels pixels = {
        .bytes = frame->pixels.mapped,
        .width = target->swapchain.extent.width,
        .height = target->swapchain.extent.height,
        .frame = frame->number,
        .blue_first = app_format_is_blue_first(target->swapchain.format),
        .srgb = app->srgb,
    };
    if (app->hash)
        printf("frame %u: %016" PRIx64 "\n", pixels.frame, hash_of(pixels.bytes, frame->pixels.size));
    target->check(app, &pixels);
}

struct app_frame *app_target_begin(struct app_target *target)
{
    const struct app *app = target->app;
    struct app_frame *frame = &target->frames[target->next % APP_IN_FLIGHT];
    finish_frame(target, frame);
    frame->number = target->next++;
    frame->image = frame->slot;
    if (app->present) {
        VkResult result = vkAcquireNextImageKHR(app->device, target->swapchain.swapchain, UINT64_MAX, frame->acquired,
                                                VK_NULL_HANDLE, &frame->image);
        CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
        CHECK(frame->image < target->swapchain.count);
    }
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    CHECK_VK(vkBeginCommandBuffer(frame->commands, &begin));
    return frame;
}

static void record_read_back(struct app_target *target, struct app_frame *frame)
{
    const struct app_swapchain *images = &target->swapchain;
    VkBufferImageCopy region = {0};
    region.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = (VkExtent3D){images->extent.width, images->extent.height, 1};
    vkCmdCopyImageToBuffer(frame->commands, images->images[frame->image], VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                           frame->pixels.buffer, 1, &region);
    app_memory_barrier(frame->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    if (target->app->present) {
        struct app_image image = {.image = images->images[frame->image], .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
        app_image_barrier(frame->commands, &image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                          VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    }
}

void app_target_end(struct app_target *target, struct app_frame *frame)
{
    const struct app *app = target->app;
    struct app_swapchain *images = &target->swapchain;
    if (images->readable)
        record_read_back(target, frame);
    CHECK_VK(vkEndCommandBuffer(frame->commands));
    /* Transfers and layout changes too must wait for the image. */
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &frame->commands;
    if (app->present) {
        submit.waitSemaphoreCount = 1;
        submit.pWaitSemaphores = &frame->acquired;
        submit.pWaitDstStageMask = &stage;
        submit.signalSemaphoreCount = 1;
        submit.pSignalSemaphores = &images->drawn[frame->image];
    }
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, frame->done));
    frame->pending = true;
    if (!app->present)
        return;
    VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR};
    present.waitSemaphoreCount = 1;
    present.pWaitSemaphores = &images->drawn[frame->image];
    present.swapchainCount = 1;
    present.pSwapchains = &images->swapchain;
    present.pImageIndices = &frame->image;
    VkResult result = vkQueuePresentKHR(app->queue, &present);
    CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
}

void app_target_drain(struct app_target *target)
{
    for (uint32_t i = 0; i < APP_IN_FLIGHT; i++)
        finish_frame(target, &target->frames[(target->next + i) % APP_IN_FLIGHT]);
}

void app_target_destroy(struct app_target *target)
{
    const struct app *app = target->app;
    app_target_drain(target);
    CHECK_VK(vkDeviceWaitIdle(app->device));
    for (uint32_t i = 0; i < APP_IN_FLIGHT; i++) {
        vkDestroyFence(app->device, target->frames[i].done, NULL);
        vkDestroySemaphore(app->device, target->frames[i].acquired, NULL);
        app_buffer_destroy(app, &target->frames[i].pixels);
    }
    vkDestroyCommandPool(app->device, target->pool, NULL);
    if (app->present) {
        app_swapchain_destroy(app, &target->swapchain);
        app_window_close(app, &target->window);
    } else {
        for (uint32_t i = 0; i < APP_IN_FLIGHT; i++)
            app_image_destroy(app, &target->plain[i]);
    }
    *target = (struct app_target){0};
}

uint32_t app_pixel(const struct app_pixels *pixels, double x, double y)
{
    uint32_t column = (uint32_t)(x * pixels->width), row = (uint32_t)(y * pixels->height);
    CHECK(column < pixels->width && row < pixels->height);
    const uint8_t *p = pixels->bytes + ((size_t)row * pixels->width + column) * 4;
    uint32_t red = p[pixels->blue_first ? 2 : 0], blue = p[pixels->blue_first ? 0 : 2];
    return red << 24 | (uint32_t)p[1] << 16 | blue << 8 | p[3];
}

/* A linear value as it stands in an image of an sRGB format (Khronos Data Format Specification, section 13.3). */
static int encoded(uint32_t value)
{
    double linear = value / 255.0;
    return (int)(255 * (linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055) + 0.5);
}

void app_expect_pixel(const struct app *app, const char *file, int line, const struct app_pixels *pixels, double x,
                      double y, uint32_t rgba)
{
    uint32_t got = app_pixel(pixels, x, y);
    for (uint32_t shift = 0; shift < 32 && !app->no_check; shift += 8) {
        uint32_t value = rgba >> shift & 0xff;
        if (abs((int)(got >> shift & 0xff) - (pixels->srgb && shift ? encoded(value) : (int)value)) > 2)
            app_fail(file, line, "frame %u: pixel (%.3f, %.3f) is %08x, expected %08x%s", pixels->frame, x, y, got,
                     rgba, pixels->srgb ? " as sRGB" : "");
    }
}
