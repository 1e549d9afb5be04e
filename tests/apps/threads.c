/* SPDX-License-Identifier: MIT */
/*
 * threads: four threads create, fill, record and destroy at the same time, each with pools of its own, while the main
 * thread submits and checks the round before. Their inputs and results lie side by side in two shared allocations, so
 * one page is written by several threads, some of them for a submit that has not happened yet.
 */
#include "common/app.h"
#include "shaders/threads_scale_comp.h"

#include <pthread.h>
#include <semaphore.h>

#define THREADS 4u
#define SLOTS   2u  /* rounds in the making */
#define WORDS   64u /* of one thread's input and result: 256 bytes, enough for any offset alignment */

struct slot {
    sem_t free, ready;
    VkCommandPool command_pool;
    VkCommandBuffer commands;
    VkDescriptorPool descriptor_pool;
    VkBuffer scratch; /* what the commands use is destroyed when the slot is free again */
    VkDeviceMemory scratch_memory;
    VkBufferView input_view;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

struct shared {
    const struct app *app;
    struct app_buffer inputs, results; /* of all threads and slots */
    VkDescriptorSetLayout set_layout;
    VkShaderModule module;
    struct worker {
        struct shared *shared;
        uint32_t index;
        pthread_t thread;
        struct slot slots[SLOTS];
    } workers[THREADS];
};

static VkDeviceSize offset_of(uint32_t worker, uint32_t slot)
{
    return (VkDeviceSize)(slot * THREADS + worker) * WORDS * 4;
}

static uint32_t input_word(uint32_t worker, uint32_t round, uint32_t i)
{
    return worker * 1000003u + round * 101u + i;
}

static uint32_t factor(uint32_t worker, uint32_t round)
{
    return 3 + worker + round % 5;
}

static void release_slot(const struct app *app, struct slot *slot)
{
    vkDestroyPipeline(app->device, slot->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, slot->layout, NULL);
    vkDestroyBufferView(app->device, slot->input_view, NULL);
    vkDestroyBuffer(app->device, slot->scratch, NULL);
    vkFreeMemory(app->device, slot->scratch_memory, NULL);
    if (slot->command_pool)
        CHECK_VK(vkResetCommandPool(app->device, slot->command_pool, 0));
    if (slot->descriptor_pool)
        CHECK_VK(vkResetDescriptorPool(app->device, slot->descriptor_pool, 0));
}

static void create_pools(const struct app *app, struct slot *slot)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = app->queue_family;
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &slot->command_pool));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = slot->command_pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &slot->commands));
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2}};
    VkDescriptorPoolCreateInfo descriptors = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    descriptors.maxSets = 1;
    descriptors.poolSizeCount = COUNT_OF(sizes);
    descriptors.pPoolSizes = sizes;
    CHECK_VK(vkCreateDescriptorPool(app->device, &descriptors, NULL, &slot->descriptor_pool));
}

/* Objects that live for a moment: their handles are soon reused, perhaps by another thread. */
static void churn(const struct app *app)
{
    for (uint32_t i = 0; i < 8; i++) {
        VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
        info.size = 64 + i * 4;
        info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        VkBuffer buffer;
        CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffer));
        VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
        VkSampler sampler;
        CHECK_VK(vkCreateSampler(app->device, &sampler_info, NULL, &sampler));
        VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        fence_info.flags = VK_FENCE_CREATE_SIGNALED_BIT;
        VkFence fence;
        CHECK_VK(vkCreateFence(app->device, &fence_info, NULL, &fence));
        CHECK_VK(vkWaitForFences(app->device, 1, &fence, VK_TRUE, 0));
        vkDestroyFence(app->device, fence, NULL);
        vkDestroySampler(app->device, sampler, NULL);
        vkDestroyBuffer(app->device, buffer, NULL);
    }
}

static void create_objects(const struct shared *shared, struct slot *slot, uint32_t worker, uint32_t slot_index,
                           uint32_t round)
{
    const struct app *app = shared->app;
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    buffer.size = WORDS * 4;
    buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    CHECK_VK(vkCreateBuffer(app->device, &buffer, NULL, &slot->scratch));
    VkMemoryRequirements requirements;
    vkGetBufferMemoryRequirements(app->device, slot->scratch, &requirements);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &slot->scratch_memory));
    CHECK_VK(vkBindBufferMemory(app->device, slot->scratch, slot->scratch_memory, 0));

    VkBufferViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
    view.buffer = shared->inputs.buffer;
    view.format = VK_FORMAT_R32_UINT;
    view.offset = offset_of(worker, slot_index);
    view.range = WORDS * 4;
    CHECK_VK(vkCreateBufferView(app->device, &view, NULL, &slot->input_view));

    const uint32_t scale = factor(worker, round);
    const VkSpecializationMapEntry entry = {0, 0, 4};
    const VkSpecializationInfo specialization = {1, &entry, 4, &scale};
    slot->layout = app_pipeline_layout(app, 1, &shared->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 4);
    VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    pipeline.stage.module = shared->module;
    pipeline.stage.pName = "main";
    pipeline.stage.pSpecializationInfo = &specialization;
    pipeline.layout = slot->layout;
    pipeline.basePipelineIndex = -1;
    CHECK_VK(vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &slot->pipeline));
}

static VkDescriptorSet create_set(const struct shared *shared, const struct slot *slot, uint32_t worker,
                                  uint32_t slot_index)
{
    const struct app *app = shared->app;
    VkDescriptorSet set;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = slot->descriptor_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &shared->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &set));
    const VkDescriptorBufferInfo infos[2] = {
        {slot->scratch, 0, VK_WHOLE_SIZE},
        {shared->results.buffer, offset_of(worker, slot_index), WORDS * 4},
    };
    VkWriteDescriptorSet writes[2] = {{0}};
    writes[0].sType = writes[1].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[0].dstSet = writes[1].dstSet = set;
    writes[0].descriptorCount = 1;
    writes[0].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    writes[0].pTexelBufferView = &slot->input_view;
    writes[1].dstBinding = 1;
    writes[1].descriptorCount = 2;
    writes[1].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[1].pBufferInfo = infos;
    vkUpdateDescriptorSets(app->device, 2, writes, 0, NULL);
    return set;
}

/* Two passes: input to scratch, scratch to result. */
static void record(const struct slot *slot, VkDescriptorSet set)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK_VK(vkBeginCommandBuffer(slot->commands, &begin));
    vkCmdBindPipeline(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, slot->pipeline);
    vkCmdBindDescriptorSets(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, slot->layout, 0, 1, &set, 0, NULL);
    for (uint32_t pass = 0; pass < 2; pass++) {
        vkCmdPushConstants(slot->commands, slot->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &pass);
        vkCmdDispatch(slot->commands, 1, 1, 1);
        app_memory_barrier(slot->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_HOST_READ_BIT);
    }
    CHECK_VK(vkEndCommandBuffer(slot->commands));
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct shared *shared = worker->shared;
    const struct app *app = shared->app;
    for (uint32_t round = 0; round < app->frames; round++) {
        struct slot *slot = &worker->slots[round % SLOTS];
        CHECK(!sem_wait(&slot->free));
        if (round < SLOTS)
            create_pools(app, slot);
        else
            release_slot(app, slot);
        create_objects(shared, slot, worker->index, round % SLOTS, round);
        uint32_t *input = (uint32_t *)(shared->inputs.mapped + offset_of(worker->index, round % SLOTS));
        for (uint32_t i = 0; i < WORDS; i++)
            input[i] = input_word(worker->index, round, i);
        record(slot, create_set(shared, slot, worker->index, round % SLOTS));
        churn(app);
        CHECK(!sem_post(&slot->ready));
    }
    return NULL;
}

static void submit_and_check(struct shared *shared, uint32_t round)
{
    const struct app *app = shared->app;
    VkCommandBuffer commands[THREADS];
    for (uint32_t w = 0; w < THREADS; w++) {
        CHECK(!sem_wait(&shared->workers[w].slots[round % SLOTS].ready));
        commands[w] = shared->workers[w].slots[round % SLOTS].commands;
    }
    const VkDeviceSize start = offset_of(0, round % SLOTS), size = THREADS * WORDS * 4;
    app_buffer_flush(app, &shared->inputs, start, size);
    app_submit_wait(app, THREADS, commands);
    app_buffer_invalidate(app, &shared->results, start, size);
    for (uint32_t w = 0; w < THREADS; w++) {
        const uint32_t *result = (const uint32_t *)(shared->results.mapped + offset_of(w, round % SLOTS));
        uint32_t scale = factor(w, round);
        for (uint32_t i = 0; i < WORDS; i++)
            EXPECT_EQ(app, result[i], (input_word(w, round, i) * scale) * scale + 1);
    }
    for (uint32_t w = 0; w < THREADS; w++)
        CHECK(!sem_post(&shared->workers[w].slots[round % SLOTS].free));
}

int main(int argc, char **argv)
{
    static bool tell;
    static const struct app_option options[] = {
        {.name = "--tell", .help = "print a line when a submit is done", .flag = &tell},
        {.name = NULL},
    };
    static const struct app_program program = {
        .name = "threads",
        .options = options,
        .what = "Four threads create objects and record; the main thread submits and checks.",
        .frames = 60,
    };
    struct app app;
    struct shared shared = {.app = &app};
    app_init(&app, argc, argv, &program);
    app.tell = tell;
    app_device_create(&app, NULL);
    app_buffer_create(&app, &shared.inputs, SLOTS * THREADS * WORDS * 4, VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT,
                      APP_UPLOAD);
    app_buffer_create(&app, &shared.results, SLOTS * THREADS * WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                      APP_READBACK);
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
    };
    shared.set_layout = app_set_layout(&app, COUNT_OF(bindings), bindings);
    shared.module = app_shader(&app, threads_scale_comp, sizeof(threads_scale_comp));
    for (uint32_t w = 0; w < THREADS; w++) {
        struct worker *worker = &shared.workers[w];
        worker->shared = &shared;
        worker->index = w;
        for (uint32_t s = 0; s < SLOTS; s++)
            CHECK(!sem_init(&worker->slots[s].free, 0, 1) && !sem_init(&worker->slots[s].ready, 0, 0));
        CHECK(!pthread_create(&worker->thread, NULL, work, worker));
    }
    for (uint32_t round = 0; round < app.frames; round++)
        submit_and_check(&shared, round);
    for (uint32_t w = 0; w < THREADS; w++) {
        CHECK(!pthread_join(shared.workers[w].thread, NULL));
        for (uint32_t s = 0; s < SLOTS; s++) {
            struct slot *slot = &shared.workers[w].slots[s];
            release_slot(&app, slot);
            vkDestroyCommandPool(app.device, slot->command_pool, NULL);
            vkDestroyDescriptorPool(app.device, slot->descriptor_pool, NULL);
            sem_destroy(&slot->free);
            sem_destroy(&slot->ready);
        }
    }
    vkDestroyShaderModule(app.device, shared.module, NULL);
    vkDestroyDescriptorSetLayout(app.device, shared.set_layout, NULL);
    app_buffer_destroy(&app, &shared.inputs);
    app_buffer_destroy(&app, &shared.results);
    return app_finish(&app);
}
