/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include "shaders/bench_probe_comp.h"

struct probe {
    uint32_t word;
};

VkCommandBuffer bench_commands_begin(const struct app *app)
{
    VkCommandBuffer commands = NULL;
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = app->pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

VkFence bench_fence_create(const struct app *app)
{
    VkFence fence;
    VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK_VK(vkCreateFence(app->device, &create, NULL, &fence));
    return fence;
}

void bench_submit_wait(struct bench *bench, VkCommandBuffer commands, VkFence fence)
{
    const struct app *app = bench->app;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    uint64_t start = bench_now();
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, fence));
    uint64_t submitted = bench_now();
    CHECK_VK(vkWaitForFences(app->device, 1, &fence, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &fence));
    bench_sample(bench, "submit", submitted - start);
    bench_sample(bench, "wait", bench_now() - submitted);
}

static void create_pipeline(const struct app *app, struct bench_reader *reader, uint32_t set_count)
{
    VkDescriptorSetLayoutBinding bindings[2];
    for (uint32_t i = 0; i < 2; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    reader->set_layout = app_set_layout(app, 2, bindings);
    reader->layout =
        app_pipeline_layout(app, 1, &reader->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct probe));
    reader->pipeline = app_compute_pipeline(app, bench_probe_comp, sizeof(bench_probe_comp), reader->layout);
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 * set_count};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = set_count;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &reader->descriptor_pool));
}

static VkDescriptorSet create_set(const struct app *app, const struct bench_reader *reader, VkBuffer buffer,
                                  VkDeviceSize offset, VkDeviceSize bytes)
{
    VkDescriptorSet set;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = reader->descriptor_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &reader->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &set));
    const VkDescriptorBufferInfo infos[2] = {{buffer, offset, bytes}, {reader->result.buffer, 0, VK_WHOLE_SIZE}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.descriptorCount = 2; /* goes on into the binding after it */
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    return set;
}

void bench_reader_create(const struct app *app, struct bench_reader *reader, VkBuffer buffer, VkDeviceSize bytes)
{
    /* A power of two below the limit keeps every offset aligned. */
    VkDeviceSize piece = MIB;
    while (piece * 2 <= app->properties.limits.maxStorageBufferRange && piece < bytes)
        piece *= 2;

    *reader = (struct bench_reader){0};
    app_buffer_create(app, &reader->result, 256, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_DEVICE);
    create_pipeline(app, reader, (uint32_t)((bytes + piece - 1) / piece));
    reader->fence = bench_fence_create(app);
    reader->commands = bench_commands_begin(app);
    vkCmdBindPipeline(reader->commands, VK_PIPELINE_BIND_POINT_COMPUTE, reader->pipeline);
    for (VkDeviceSize offset = 0; offset < bytes; offset += piece) {
        VkDeviceSize range = bytes - offset < piece ? bytes - offset : piece;
        VkDescriptorSet set = create_set(app, reader, buffer, offset, range);
        const struct probe probe = {(uint32_t)(range / 4 - 1)};
        vkCmdBindDescriptorSets(reader->commands, VK_PIPELINE_BIND_POINT_COMPUTE, reader->layout, 0, 1, &set, 0, NULL);
        vkCmdPushConstants(reader->commands, reader->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(probe), &probe);
        vkCmdDispatch(reader->commands, 1, 1, 1);
        app_memory_barrier(reader->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    }
    CHECK_VK(vkEndCommandBuffer(reader->commands));
}

void bench_reader_destroy(const struct app *app, struct bench_reader *reader)
{
    vkDestroyFence(app->device, reader->fence, NULL);
    vkFreeCommandBuffers(app->device, app->pool, 1, &reader->commands);
    vkDestroyPipeline(app->device, reader->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, reader->layout, NULL);
    vkDestroyDescriptorPool(app->device, reader->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, reader->set_layout, NULL);
    app_buffer_destroy(app, &reader->result);
}
