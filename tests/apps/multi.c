/* SPDX-License-Identifier: MIT */
/*
 * multi: instances one after the other, two instances at the same time, two devices of one instance at the same time,
 * with work on each. Drivers hand out the same handle values again, and different devices may hand out equal ones.
 * With --fork the program starts itself as a child that uses Vulkan too, while it goes on working on its own device,
 * and forks a child that never executes another program and leaves without a word.
 */
#include "common/app.h"
#include "shaders/compute_scale_comp.h"

#include <sys/wait.h>
#include <unistd.h>

#define WORDS 256u

struct bench {
    const struct app *app;
    struct app_buffer input, constant, result;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    uint32_t total; /* factors so far */
};

static void bench_create(struct bench *bench, const struct app *app, uint32_t salt)
{
    *bench = (struct bench){.app = app};
    const VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    app_buffer_create(app, &bench->input, WORDS * 4, storage, APP_UPLOAD);
    app_buffer_create(app, &bench->constant, WORDS * 4, storage | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    app_buffer_create(app, &bench->result, WORDS * 4, storage | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < WORDS; i++)
        ((uint32_t *)bench->input.mapped)[i] = salt + i;
    app_buffer_flush(app, &bench->input, 0, bench->input.size);
    VkCommandBuffer commands = app_begin(app);
    vkCmdFillBuffer(commands, bench->constant.buffer, 0, VK_WHOLE_SIZE, 0);
    vkCmdFillBuffer(commands, bench->result.buffer, 0, VK_WHOLE_SIZE, salt);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    app_run(app, commands);

    VkDescriptorSetLayoutBinding bindings[3];
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    bench->set_layout = app_set_layout(app, 3, bindings);
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &bench->descriptor_pool));
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = bench->descriptor_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &bench->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &bench->set));
    const VkDescriptorBufferInfo infos[3] = {
        {bench->input.buffer, 0, VK_WHOLE_SIZE},
        {bench->constant.buffer, 0, VK_WHOLE_SIZE},
        {bench->result.buffer, 0, VK_WHOLE_SIZE},
    };
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = bench->set;
    write.descriptorCount = 3;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    bench->layout = app_pipeline_layout(app, 1, &bench->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 12);
    bench->pipeline = app_compute_pipeline(app, compute_scale_comp, sizeof(compute_scale_comp), bench->layout);
}

static void bench_run(struct bench *bench, uint32_t salt, uint32_t factor)
{
    const struct app *app = bench->app;
    const uint32_t push[3] = {factor, 0, WORDS};
    VkCommandBuffer commands = app_begin(app);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, bench->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, bench->layout, 0, 1, &bench->set, 0, NULL);
    vkCmdPushConstants(commands, bench->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), push);
    vkCmdDispatch(commands, WORDS / 64, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    bench->total += factor;
    app_buffer_invalidate(app, &bench->result, 0, bench->result.size);
    for (uint32_t i = 0; i < WORDS; i++)
        EXPECT_EQ(app, ((uint32_t *)bench->result.mapped)[i], salt + (salt + i) * bench->total);
}

static void bench_destroy(struct bench *bench)
{
    const struct app *app = bench->app;
    vkDestroyPipeline(app->device, bench->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, bench->layout, NULL);
    vkDestroyDescriptorPool(app->device, bench->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, bench->set_layout, NULL);
    app_buffer_destroy(app, &bench->input);
    app_buffer_destroy(app, &bench->constant);
    app_buffer_destroy(app, &bench->result);
}

/* Rounds that take turns on two devices; `second` may belong to another instance. */
static void run_two(const struct app *first, const struct app *second, uint32_t rounds)
{
    struct bench benches[2];
    bench_create(&benches[0], first, 10);
    bench_create(&benches[1], second, 20);
    for (uint32_t round = 0; round < rounds; round++) {
        bench_run(&benches[0], 10, round + 1);
        bench_run(&benches[1], 20, round * 2 + 1);
    }
    bench_destroy(&benches[1]);
    bench_destroy(&benches[0]);
}

static void check_child(pid_t child)
{
    int status = 0;
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void run_with_children(const struct app *app, uint32_t rounds)
{
    struct bench bench;
    char count[16], gpu[16];
    snprintf(count, sizeof(count), "%u", rounds);
    snprintf(gpu, sizeof(gpu), "%u", app->gpu);
    bench_create(&bench, app, 30);
    bench_run(&bench, 30, 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", app->path, "--frames", count, "--gpu", gpu, app->no_check ? "--no-check" : (char *)NULL,
              (char *)NULL);
        _exit(127);
    }
    for (uint32_t round = 0; round < rounds; round++)
        bench_run(&bench, 30, round);
    check_child(child);

    child = fork();
    if (child == 0) { /* a copy of this process with one thread: it must not touch the device */
        memset(&bench, 0, sizeof(bench));
        _exit(0);
    }
    check_child(child);
    bench_run(&bench, 30, 7);
    bench_destroy(&bench);
}

int main(int argc, char **argv)
{
    static bool use_fork;
    static const struct app_option options[] = {
        {"--fork", "start this program as a child, and fork", &use_fork, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "multi",
        .what = "Several instances and devices, one after the other and at the same time.",
        .frames = 10,
        .options = options,
    };
    struct app first, second;
    for (uint32_t i = 0; i < 2; i++) { /* one after the other, the first without a device */
        app_init(&first, argc, argv, &program);
        if (i) {
            struct bench bench;
            app_device_create(&first, NULL);
            bench_create(&bench, &first, 5);
            bench_run(&bench, 5, 3);
            bench_destroy(&bench);
        }
        app_close(&first);
    }
    app_init(&first, argc, argv, &program);
    second = first; /* two devices of one instance */
    app_device_create(&first, NULL);
    app_device_create(&second, NULL);
    run_two(&first, &second, first.frames);
    app_device_destroy(&second);

    app_init(&second, argc, argv, &program); /* two instances */
    app_device_create(&second, NULL);
    run_two(&second, &first, first.frames);
    if (use_fork)
        run_with_children(&first, first.frames);
    app_close(&first);
    return app_finish(&second);
}
