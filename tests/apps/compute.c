/* SPDX-License-Identifier: MIT */
/*
 * compute: storage buffers, push constants and read-back. The result lies in host-visible memory between bytes that
 * the host keeps for itself and rewrites all the time, so the GPU and the host own neighbouring parts of one page.
 * The GPU adds to what it left there: a recorder that takes results for host writes, or writes stale ones back, shows.
 */
#include "common/app.h"
#include "shaders/compute_scale_comp.h"

#define GROUP      64u
#define COUNT      512u /* words that the GPU owns */
#define HOST_WORDS 192u /* words of the host before and after them, a multiple of every nonCoherentAtomSize */
#define SUBMITS    3u   /* in flight at a time */

struct push {
    uint32_t factor, first, count;
};

struct job {
    struct app_buffer input, constant, result, copy;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkCommandBuffer commands[SUBMITS];
    uint32_t expected[COUNT];
};

static uint32_t *host_words(struct job *job, bool after)
{
    return (uint32_t *)job->result.mapped + (after ? HOST_WORDS + COUNT : 0);
}

static void create(const struct app *app, struct job *job)
{
    const VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    app_buffer_create(app, &job->input, COUNT * 4, storage, APP_UPLOAD);
    app_buffer_create(app, &job->constant, COUNT * 4, storage | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    app_buffer_create(app, &job->result, (COUNT + 2 * HOST_WORDS) * 4, storage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                      APP_READBACK);
    app_buffer_create(app, &job->copy, (COUNT + 2 * HOST_WORDS) * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);

    uint32_t constants[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        constants[i] = i ^ 0x55;
    VkCommandBuffer commands = app_begin(app);
    vkCmdUpdateBuffer(commands, job->constant.buffer, 0, sizeof(constants), constants);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT);
    app_run(app, commands);

    VkDescriptorSetLayoutBinding bindings[3];
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    job->set_layout = app_set_layout(app, 3, bindings);
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->descriptor_pool));
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = job->descriptor_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &job->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &job->set));
    const VkDescriptorBufferInfo infos[3] = {
        {job->input.buffer, 0, VK_WHOLE_SIZE},
        {job->constant.buffer, 0, VK_WHOLE_SIZE},
        {job->result.buffer, HOST_WORDS * 4, COUNT * 4},
    };
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = job->set;
    write.descriptorCount = 3; /* goes on into the bindings after it */
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);

    job->layout = app_pipeline_layout(app, 1, &job->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct push));
    job->pipeline = app_compute_pipeline(app, compute_scale_comp, sizeof(compute_scale_comp), job->layout);
    VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    buffers.commandPool = app->pool;
    buffers.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    buffers.commandBufferCount = SUBMITS;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &buffers, job->commands));
}

/* One dispatch over the words [first, first + count) of result += input * factor + constant. */
static void record(struct job *job, VkCommandBuffer commands, struct push push)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->layout, 0, 1, &job->set, 0, NULL);
    vkCmdPushConstants(commands, job->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
    vkCmdDispatch(commands, push.count / GROUP, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
}

static void fill_host_words(const struct app *app, struct job *job, uint32_t seed)
{
    for (uint32_t after = 0; after < 2; after++)
        for (uint32_t i = 0; i < HOST_WORDS; i++)
            host_words(job, after)[i] = seed * 1000 + after * 500 + i;
    app_buffer_flush(app, &job->result, 0, HOST_WORDS * 4);
    app_buffer_flush(app, &job->result, (HOST_WORDS + COUNT) * 4, HOST_WORDS * 4);
}

/* Of a version or of an extension. */
static PFN_vkWaitSemaphores wait_semaphores = vkWaitSemaphores;
static PFN_vkGetSemaphoreCounterValue get_counter = vkGetSemaphoreCounterValue;
static PFN_vkSignalSemaphore signal_semaphore = vkSignalSemaphore;

static void submit(const struct app *app, VkCommandBuffer commands, VkFence fence, VkSemaphore timeline, uint64_t value)
{
    uint64_t wait = value - 1;
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    if (timeline) {
        values.waitSemaphoreValueCount = values.signalSemaphoreValueCount = 1;
        values.pWaitSemaphoreValues = &wait;
        values.pSignalSemaphoreValues = &value;
        info.pNext = &values;
        info.waitSemaphoreCount = info.signalSemaphoreCount = 1;
        info.pWaitSemaphores = info.pSignalSemaphores = &timeline;
        info.pWaitDstStageMask = &stage;
    }
    CHECK_VK(vkQueueSubmit(app->queue, 1, &info, fence));
}

static void wait_for(const struct app *app, const VkFence *fences, VkSemaphore timeline, uint64_t value)
{
    if (timeline) {
        VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
        wait.semaphoreCount = 1;
        wait.pSemaphores = &timeline;
        wait.pValues = &value;
        CHECK_VK(wait_semaphores(app->device, &wait, UINT64_MAX));
        uint64_t reached = 0;
        CHECK_VK(get_counter(app->device, timeline, &reached));
        EXPECT_EQ(app, reached, value);
        return;
    }
    for (uint32_t i = 0; i < SUBMITS; i++)
        for (VkResult result; (result = vkGetFenceStatus(app->device, fences[i]));)
            CHECK(result == VK_NOT_READY); /* polling, as many programs do */
    CHECK_VK(vkWaitForFences(app->device, SUBMITS, fences, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, SUBMITS, fences));
}

static void check(const struct app *app, struct job *job, uint32_t seed)
{
    app_buffer_invalidate(app, &job->result, HOST_WORDS * 4, COUNT * 4);
    for (uint32_t i = 0; i < COUNT; i++)
        EXPECT_EQ(app, ((uint32_t *)job->result.mapped)[HOST_WORDS + i], job->expected[i]);
    for (uint32_t after = 0; after < 2; after++)
        for (uint32_t i = 0; i < HOST_WORDS; i++)
            CHECK(host_words(job, after)[i] == seed * 1000 + after * 500 + i);
}

static void run_rounds(const struct app *app, struct job *job, VkSemaphore timeline)
{
    VkFence fences[SUBMITS] = {0};
    uint64_t value = 0;
    for (uint32_t i = 0; i < SUBMITS && !timeline; i++) {
        VkFenceCreateInfo create_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        CHECK_VK(vkCreateFence(app->device, &create_info, NULL, &fences[i]));
    }
    for (uint32_t round = 0; round < app->frames; round++) {
        uint32_t *input = (uint32_t *)job->input.mapped;
        for (uint32_t i = round % 7; i < COUNT; i += 7)
            input[i] = round * 31 + i;
        app_buffer_flush(app, &job->input, 0, job->input.size);
        fill_host_words(app, job, round);
        for (uint32_t s = 0; s < SUBMITS; s++) {
            struct push push = {round + s + 1, s * (COUNT / 4), COUNT / 2};
            for (uint32_t i = push.first; i < push.first + push.count; i++)
                job->expected[i] += input[i] * push.factor + (i ^ 0x55);
            record(job, job->commands[s], push);
            submit(app, job->commands[s], fences[s], timeline, timeline ? value + s + 2 : 0);
        }
        if (timeline) { /* the device waits for the host: everything above is queued and starts here */
            VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO};
            signal.semaphore = timeline;
            signal.value = value + 1;
            CHECK_VK(signal_semaphore(app->device, &signal));
            value += SUBMITS + 1;
        }
        fill_host_words(app, job, round + 10000); /* while the GPU writes between them */
        wait_for(app, fences, timeline, value);
        check(app, job, round + 10000);
    }
    for (uint32_t i = 0; i < SUBMITS; i++)
        vkDestroyFence(app->device, fences[i], NULL);
}

/* What the GPU sees in the result's buffer must be what the host saw in it. */
static void check_copy(const struct app *app, struct job *job)
{
    VkCommandBuffer commands = app_begin(app);
    vkCmdCopyBuffer(commands, job->result.buffer, job->copy.buffer, 1, &(VkBufferCopy){0, 0, job->copy.size});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &job->copy, 0, job->copy.size);
    for (uint32_t i = 0; i < job->copy.size; i++)
        EXPECT_EQ(app, job->copy.mapped[i], job->result.mapped[i]);
}

/* Vulkan 1.0: what later versions took in has only the extensions' names. */
static void use_extension(const struct app *app, struct app_device_request *request)
{
    static const char *const name = "VK_KHR_timeline_semaphore";
    VkPhysicalDeviceTimelineSemaphoreFeatures have = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &have};
    PFN_vkGetPhysicalDeviceFeatures2KHR get =
        (PFN_vkGetPhysicalDeviceFeatures2KHR)vkGetInstanceProcAddr(app->instance, "vkGetPhysicalDeviceFeatures2KHR");
    if (!get || !app_has_extension(app, name))
        app_skip(app, "no VK_KHR_timeline_semaphore");
    get(app->physical, &features);
    CHECK(app->no_check || have.timelineSemaphore);
    request->extensions = &name;
    request->extension_count = 1;
}

static void load_extension(const struct app *app)
{
    wait_semaphores = (PFN_vkWaitSemaphores)app_device_function(app, "vkWaitSemaphoresKHR");
    get_counter = (PFN_vkGetSemaphoreCounterValue)app_device_function(app, "vkGetSemaphoreCounterValueKHR");
    signal_semaphore = (PFN_vkSignalSemaphore)app_device_function(app, "vkSignalSemaphoreKHR");
}

int main(int argc, char **argv)
{
    static bool use_timeline, old;
    static const char *const instance_extensions[] = {"VK_KHR_get_physical_device_properties2", NULL};
    static const struct app_option options[] = {
        {"--timeline", "order the submits by a timeline semaphore, not by fences", &use_timeline, NULL},
        {"--old", "use Vulkan 1.0; with --timeline, the extension", &old, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "compute",
        .what = "Computes with storage buffers; results are written among bytes of the host.",
        .frames = 40,
        .instance_extensions = instance_extensions,
        .options = options,
        .vulkan_1_0 = &old,
    };
    struct app app;
    struct job job = {0};
    VkSemaphore timeline = VK_NULL_HANDLE;
    VkPhysicalDeviceTimelineSemaphoreFeatures features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
    struct app_device_request request = {0};
    app_init(&app, argc, argv, &program);
    request.next = use_timeline ? &features : NULL;
    if (use_timeline && old)
        use_extension(&app, &request);
    else if (use_timeline && app.api_version < VK_API_VERSION_1_2)
        app_skip(&app, "timeline semaphores need Vulkan 1.2");
    app_device_create(&app, &request);
    if (use_timeline && old)
        load_extension(&app);
    if (use_timeline) {
        VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
        type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
        VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
        CHECK_VK(vkCreateSemaphore(app.device, &info, NULL, &timeline));
    }
    create(&app, &job);
    memset(job.input.mapped, 0, job.input.size);
    memset(job.result.mapped, 0, job.result.size);
    app_buffer_flush(&app, &job.result, 0, job.result.size);
    run_rounds(&app, &job, timeline);
    check_copy(&app, &job);

    vkDestroySemaphore(app.device, timeline, NULL);
    vkDestroyPipeline(app.device, job.pipeline, NULL);
    vkDestroyPipelineLayout(app.device, job.layout, NULL);
    vkDestroyDescriptorPool(app.device, job.descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app.device, job.set_layout, NULL);
    app_buffer_destroy(&app, &job.input);
    app_buffer_destroy(&app, &job.constant);
    app_buffer_destroy(&app, &job.result);
    app_buffer_destroy(&app, &job.copy);
    return app_finish(&app);
}
