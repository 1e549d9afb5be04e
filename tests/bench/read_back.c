/* SPDX-License-Identifier: MIT */
/*
 * read_back: each frame the device writes new values into mapped memory and the host reads them all. Nothing that the
 * host wrote has to be recorded. By default a copy writes; --shader: a compute shader does; --words: a copy of so many
 * words, each 64 bytes from the one before.
 */
#include "common/bench.h"
#include "shaders/bench_store_comp.h"

#define GROUP  64u
#define STRIDE 64u

static uint32_t size_mib = 16, words;
static bool shader;

struct work {
    struct app_buffer result, source;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkCommandBuffer commands;
    VkFence fence;
};

static void create_pipeline(const struct app *app, struct work *work)
{
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                  NULL};
    work->set_layout = app_set_layout(app, 1, &binding);
    work->layout = app_pipeline_layout(app, 1, &work->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 4);
    work->pipeline = app_compute_pipeline(app, bench_store_comp, sizeof(bench_store_comp), work->layout);
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &work->descriptor_pool));
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = work->descriptor_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &work->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &work->set));
    const VkDescriptorBufferInfo info = {work->result.buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = work->set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &info;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

static void copy(const struct work *work)
{
    const VkBufferCopy whole = {0, 0, work->result.size};
    VkBufferCopy *regions = calloc(words + 1, sizeof(*regions));
    CHECK(regions);
    for (uint32_t i = 0; i < words; i++)
        regions[i] = (VkBufferCopy){(VkDeviceSize)i * STRIDE, (VkDeviceSize)i * STRIDE, 4};
    vkCmdCopyBuffer(work->commands, work->source.buffer, work->result.buffer, words ? words : 1,
                    words ? regions : &whole);
    free(regions);
}

static void record(const struct app *app, struct work *work, uint32_t frame)
{
    if (work->commands)
        vkFreeCommandBuffers(app->device, app->pool, 1, &work->commands);
    work->commands = bench_commands_begin(app);
    if (shader) {
        uint32_t rows = (uint32_t)(work->result.size / 4 / GROUP / 1024);
        vkCmdBindPipeline(work->commands, VK_PIPELINE_BIND_POINT_COMPUTE, work->pipeline);
        vkCmdBindDescriptorSets(work->commands, VK_PIPELINE_BIND_POINT_COMPUTE, work->layout, 0, 1, &work->set, 0,
                                NULL);
        vkCmdPushConstants(work->commands, work->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &frame);
        vkCmdDispatch(work->commands, 1024, rows, 1);
    } else {
        vkCmdFillBuffer(work->commands, work->source.buffer, 0, VK_WHOLE_SIZE, frame);
        app_memory_barrier(work->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
        copy(work);
    }
    app_memory_barrier(work->commands, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT |
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    CHECK_VK(vkEndCommandBuffer(work->commands));
}

static void read_all(struct bench *bench, const struct work *work)
{
    const uint32_t *values = (const uint32_t *)work->result.mapped;
    const VkDeviceSize stride = words ? STRIDE : 4;
    uint64_t sum = 0, start = bench_now();
    app_buffer_invalidate(bench->app, &work->result, 0, work->result.size);
    for (VkDeviceSize i = 0; i < work->result.size; i += stride)
        sum += values[i / 4];
    bench_sample(bench, "read", bench_now() - start);
    bench_add(bench, "read_bytes", work->result.size / stride * 4);
    EXPECT_EQ(bench->app, sum, work->result.size / stride * (bench->frame + 1));
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{"--size-mib", "what the device writes", NULL, &size_mib},
                                                {"--shader", "a shader writes it", &shader, NULL},
                                                {"--words", "scattered words instead, copied", NULL, &words},
                                                {0}};
    static const struct app_program program = {
        .name = "read_back", .what = "The host reads what the device wrote.", .frames = 60, .options = options};
    struct app app;
    struct work work = {0};
    struct bench bench = {.app = &app};

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &work.result, words ? (VkDeviceSize)words * STRIDE : size_mib * MIB,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    app_buffer_create(&app, &work.source, work.result.size,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_DEVICE);
    create_pipeline(&app, &work);
    work.fence = bench_fence_create(&app);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        record(&app, &work, bench.frame + 1);
        bench_submit_wait(&bench, work.commands, work.fence);
        read_all(&bench, &work);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    vkDestroyFence(app.device, work.fence, NULL);
    vkFreeCommandBuffers(app.device, app.pool, 1, &work.commands);
    vkDestroyPipeline(app.device, work.pipeline, NULL);
    vkDestroyPipelineLayout(app.device, work.layout, NULL);
    vkDestroyDescriptorPool(app.device, work.descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app.device, work.set_layout, NULL);
    app_buffer_destroy(&app, &work.result);
    app_buffer_destroy(&app, &work.source);
    return app_finish(&app);
}
