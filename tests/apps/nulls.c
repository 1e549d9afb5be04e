/* SPDX-License-Identifier: MIT */
/*
 * nulls: waits for, resets and asks about null fences, beside one that is none, which some drivers bear. Not in
 * list.txt: none of it is valid, and other drivers crash.
 */
#include "common/app.h"

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "nulls", .what = "Waits for null fences, on a driver that bears it.", .frames = 4};
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1};
    VkFence fences[2] = {VK_NULL_HANDLE, VK_NULL_HANDLE};
    struct app_buffer buffer;
    struct app app;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &buffer, 4096, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    CHECK_VK(vkCreateFence(app.device, &info, NULL, &fences[1]));
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        VkCommandBuffer commands = app_begin(&app);
        vkCmdFillBuffer(commands, buffer.buffer, 0, VK_WHOLE_SIZE, frame);
        CHECK_VK(vkEndCommandBuffer(commands));
        submit.pCommandBuffers = &commands;
        CHECK_VK(vkQueueSubmit(app.queue, 1, &submit, fences[1]));
        CHECK_VK(vkWaitForFences(app.device, 2, fences, VK_TRUE, UINT64_MAX));
        CHECK_VK(vkWaitForFences(app.device, 2, fences, VK_FALSE, UINT64_MAX));
        CHECK_VK(vkGetFenceStatus(app.device, VK_NULL_HANDLE));
        CHECK_VK(vkResetFences(app.device, 2, fences));
        vkFreeCommandBuffers(app.device, app.pool, 1, &commands);
    }
    vkDestroyFence(app.device, fences[1], NULL);
    app_buffer_destroy(&app, &buffer);
    return app_finish(&app);
}
