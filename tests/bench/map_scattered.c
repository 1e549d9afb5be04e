/* SPDX-License-Identifier: MIT */
/*
 * map_scattered: each frame the host stores 4 bytes at each of many places of a mapped buffer that the device writes,
 * too: all of it is copied away and back. So nothing between two stores may be recorded with them.
 */
#include "common/bench.h"

static uint32_t writes = 4096, stride = 64;
static bool check;

static float value_of(uint32_t frame, uint32_t i)
{
    return (float)(frame * 7919 + i);
}

static void write_some(struct bench *bench, const struct app_buffer *buffer)
{
    uint64_t start = bench_now();
    for (uint32_t i = 0; i < writes; i++) {
        float value = value_of(bench->frame, i);
        memcpy(buffer->mapped + (VkDeviceSize)i * stride, &value, sizeof value);
    }
    bench_sample(bench, "write", bench_now() - start);
    bench_add(bench, "written_bytes", (uint64_t)writes * sizeof(float));
}

static VkCommandBuffer record(const struct app *app, const struct app_buffer *buffer, const struct app_buffer *other)
{
    const VkBufferCopy region = {0, 0, buffer->size};
    VkCommandBuffer commands;
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = app->pool;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    vkCmdCopyBuffer(commands, buffer->buffer, other->buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    vkCmdCopyBuffer(commands, other->buffer, buffer->buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                           VK_ACCESS_TRANSFER_WRITE_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--writes", "stores of 4 bytes a frame", NULL, &writes},
                                                {"--stride", "bytes from one to the next", NULL, &stride},
                                                {"--check", "look at the whole map in the end", &check, NULL},
                                                {0}};
    static const struct app_program program = {.name = "map_scattered",
                                               .what = "Many small writes into a buffer that the device writes, too.",
                                               .frames = 60,
                                               .options = options};
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    struct app app;
    struct app_buffer buffer, other;
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &buffer, (VkDeviceSize)writes * stride, usage, APP_UPLOAD);
    if (!buffer.coherent)
        app_skip(&app, "no coherent memory");
    app_buffer_create(&app, &other, buffer.size, usage, APP_DEVICE);
    bench_fill_pages(buffer.mapped, buffer.size);
    VkCommandBuffer commands = record(&app, &buffer, &other);
    VkFence fence = bench_fence_create(&app);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        write_some(&bench, &buffer);
        bench_submit_wait(&bench, commands, fence);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    for (uint32_t i = 0; check && i < writes; i++) {
        float value;
        memcpy(&value, buffer.mapped + (VkDeviceSize)i * stride, sizeof value);
        EXPECT_EQ(&app, value == value_of(bench.frame - 1, i), true);
    }
    vkDestroyFence(app.device, fence, NULL);
    vkFreeCommandBuffers(app.device, app.pool, 1, &commands);
    app_buffer_destroy(&app, &buffer);
    app_buffer_destroy(&app, &other);
    return app_finish(&app);
}
