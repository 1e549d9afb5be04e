/* SPDX-License-Identifier: MIT */
/*
 * answers: work waits on the device for an event that the host sets after the submit. Meanwhile another queue, where
 * there is one, does something that the host waits for first, and the host writes what the work reads. The command
 * buffer is submitted again and again, so it resets the event behind itself. With --asks the work first sets an event
 * of its own, which the host waits for, and a shader that was bound before adds up what the host answers; with
 * --between in a command buffer of its own, and then the other queue's work comes in between as well. --two: by the
 * commands of synchronization2. --secondary: what waits is in a secondary command buffer, which one that asked before
 * executes. --semaphores: work before signals a semaphore that the work waits for, and the work one that the other
 * queue's waits for behind the answer.
 */
#include "common/app.h"
#include "shaders/compute_scale_comp.h"

#define BYTES 1024u
#define WORDS (BYTES / 4)

/* Adds four times the words of the source to the sums. */
struct adder {
    struct app_buffer sums;
    uint32_t expected[WORDS];
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

struct scene {
    const struct app *app;
    bool asks, between, two, secondary, semaphores;
    VkQueue other; /* the same one, where there is only one: then nothing is submitted there in between */
    VkEvent answer, question;
    VkFence fence, other_fence;
    VkSemaphore before, behind; /* --semaphores */
    struct app_buffer source, result, other_source, other_result;
    VkCommandBuffer asks_first, waits, copies;
    struct adder adder; /* --asks */
    PFN_vkCmdSetEvent2 set_event;
    PFN_vkCmdResetEvent2 reset_event;
    PFN_vkCmdWaitEvents2 wait_events;
};

static void record_copy(VkCommandBuffer commands, const struct app_buffer *from, const struct app_buffer *to)
{
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &(VkBufferCopy){.size = BYTES});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

static void bind_adder(const struct adder *adder, VkCommandBuffer commands)
{
    const uint32_t push[] = {3, 0, WORDS};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, adder->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, adder->layout, 0, 1, &adder->set, 0, NULL);
    vkCmdPushConstants(commands, adder->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), push);
}

static void record_adding(VkCommandBuffer commands)
{
    vkCmdDispatch(commands, WORDS / 64, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
}

static void ask(const struct scene *scene, VkCommandBuffer commands)
{
    const VkMemoryBarrier2 asked = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                    .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                    .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT};
    const VkDependencyInfo question = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &asked};
    if (scene->two)
        scene->set_event(commands, scene->question, &question);
    else
        vkCmdSetEvent(commands, scene->question, VK_PIPELINE_STAGE_TRANSFER_BIT);
}

static void record_old(const struct scene *scene, VkCommandBuffer commands)
{
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_HOST_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_SHADER_READ_BIT};
    vkCmdWaitEvents(commands, 1, &scene->answer, VK_PIPELINE_STAGE_HOST_BIT,
                    VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 1, &barrier, 0, NULL, 0,
                    NULL);
    record_copy(commands, &scene->source, &scene->result);
    if (scene->asks)
        record_adding(commands);
    vkCmdResetEvent(commands, scene->answer, VK_PIPELINE_STAGE_TRANSFER_BIT);
}

static void record_two(const struct scene *scene, VkCommandBuffer commands)
{
    const VkMemoryBarrier2 answered = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                       .srcStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                       .srcAccessMask = VK_ACCESS_2_HOST_WRITE_BIT,
                                       .dstStageMask =
                                           VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                       .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_SHADER_READ_BIT};
    const VkDependencyInfo answer = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &answered};
    scene->wait_events(commands, 1, &scene->answer, &answer);
    record_copy(commands, &scene->source, &scene->result);
    if (scene->asks)
        record_adding(commands);
    scene->reset_event(commands, scene->answer, VK_PIPELINE_STAGE_2_COPY_BIT);
}

/* For many submits; the caller ends it. */
static VkCommandBuffer begin(const struct scene *scene)
{
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = scene->app->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(scene->app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
    return commands;
}

/* What waits, and what comes behind it. */
static void record_waiting(const struct scene *scene, VkCommandBuffer commands)
{
    if (scene->two)
        record_two(scene, commands);
    else
        record_old(scene, commands);
}

/* The same in a command buffer of its own. */
static VkCommandBuffer record_secondary(const struct scene *scene)
{
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = scene->app->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                                  .commandBufferCount = 1};
    const VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .pInheritanceInfo = &inheritance};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(scene->app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
    if (scene->asks)
        bind_adder(&scene->adder, commands); /* nothing that is bound is inherited */
    record_waiting(scene, commands);
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

static void fill(const struct app *app, const struct app_buffer *buffer, uint32_t seed)
{
    for (uint32_t i = 0; i < BYTES; i++)
        buffer->mapped[i] = (uint8_t)app_random(&seed);
    app_buffer_flush(app, buffer, 0, BYTES);
}

static void expect_same(const struct app *app, const struct app_buffer *a, const struct app_buffer *b)
{
    app_buffer_invalidate(app, b, 0, BYTES);
    EXPECT_EQ(app, memcmp(a->mapped, b->mapped, BYTES), 0);
}

static void finish(const struct app *app, VkFence fence)
{
    CHECK_VK(vkWaitForFences(app->device, 1, &fence, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &fence));
}

static void expect_sums(const struct app *app, struct scene *scene)
{
    app_buffer_invalidate(app, &scene->adder.sums, 0, BYTES);
    for (uint32_t i = 0; i < WORDS; i++) {
        scene->adder.expected[i] += 4 * ((const uint32_t *)(const void *)scene->source.mapped)[i];
        EXPECT_EQ(app, ((const uint32_t *)(const void *)scene->adder.sums.mapped)[i], scene->adder.expected[i]);
    }
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = scene->app;
    const VkCommandBuffer both[] = {scene->asks_first, scene->waits};
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkSubmitInfo before = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = 1, .pSignalSemaphores = &scene->before};
    const VkSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .waitSemaphoreCount = scene->semaphores,
                                .pWaitSemaphores = &scene->before,
                                .pWaitDstStageMask = &stage,
                                .commandBufferCount = scene->between ? 2 : 1,
                                .pCommandBuffers = scene->between ? both : &scene->waits,
                                .signalSemaphoreCount = scene->semaphores,
                                .pSignalSemaphores = &scene->behind};
    const VkSubmitInfo copies = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &scene->copies};
    const VkSubmitInfo behind = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .waitSemaphoreCount = 1,
                                 .pWaitSemaphores = &scene->behind,
                                 .pWaitDstStageMask = &stage,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &scene->copies};
    if (scene->semaphores)
        CHECK_VK(vkQueueSubmit(scene->other, 1, &before, VK_NULL_HANDLE));
    CHECK_VK(vkQueueSubmit(app->queue, 1, &waits, scene->fence));
    if (scene->asks || scene->between) {
        while (vkGetEventStatus(app->device, scene->question) == VK_EVENT_RESET && !app->no_check) {
        }
        CHECK_VK(vkResetEvent(app->device, scene->question));
    }
    if (!scene->asks && scene->other != app->queue) {
        fill(app, &scene->other_source, 1000 + frame);
        CHECK_VK(vkQueueSubmit(scene->other, 1, &copies, scene->other_fence));
        finish(app, scene->other_fence);
        expect_same(app, &scene->other_source, &scene->other_result);
    }
    fill(app, &scene->source, frame);
    CHECK_VK(vkSetEvent(app->device, scene->answer));
    if (scene->semaphores) {
        fill(app, &scene->other_source, 2000 + frame);
        CHECK_VK(vkQueueSubmit(scene->other, 1, &behind, scene->other_fence));
        finish(app, scene->other_fence);
        expect_same(app, &scene->other_source, &scene->other_result);
    }
    finish(app, scene->fence);
    expect_same(app, &scene->source, &scene->result);
    if (scene->asks)
        expect_sums(app, scene);
}

static void create_adder(const struct app *app, struct adder *adder, const struct app_buffer *source)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetLayoutBinding bindings[3];
    VkDescriptorBufferInfo infos[3];
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    app_buffer_create(app, &adder->sums, BYTES, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    memset(adder->sums.mapped, 0, BYTES);
    app_buffer_flush(app, &adder->sums, 0, BYTES);
    for (uint32_t i = 0; i < 3; i++) {
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
        infos[i] = (VkDescriptorBufferInfo){i < 2 ? source->buffer : adder->sums.buffer, 0, VK_WHOLE_SIZE};
    }
    adder->set_layout = app_set_layout(app, 3, bindings);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &adder->pool));
    allocate.descriptorPool = adder->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &adder->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &adder->set));
    write.dstSet = adder->set;
    write.descriptorCount = 3;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    adder->layout = app_pipeline_layout(app, 1, &adder->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 12);
    adder->pipeline = app_compute_pipeline(app, compute_scale_comp, sizeof(compute_scale_comp), adder->layout);
}

static void destroy_adder(const struct app *app, struct adder *adder)
{
    vkDestroyPipeline(app->device, adder->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, adder->layout, NULL);
    vkDestroyDescriptorPool(app->device, adder->pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, adder->set_layout, NULL);
    app_buffer_destroy(app, &adder->sums);
}

static void create(struct scene *scene, struct app *app)
{
    static const float priorities[] = {1, 1};
    const VkPhysicalDeviceSynchronization2Features synchronization2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES, .synchronization2 = VK_TRUE};
    const VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueFamilyIndex = app->queue_family,
                                            .queueCount = app->queue_properties.queueCount > 1 ? 2 : 1,
                                            .pQueuePriorities = priorities};
    const struct app_device_request request = {
        .next = scene->two ? &synchronization2 : NULL, .queues = &queues, .queue_count = 1};
    const VkEventCreateInfo event = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkCommandBuffer secondary = VK_NULL_HANDLE;
    app_device_create(app, &request);
    vkGetDeviceQueue(app->device, app->queue_family, queues.queueCount - 1, &scene->other);
    if (scene->two) {
        scene->set_event = (PFN_vkCmdSetEvent2)app_device_function(app, "vkCmdSetEvent2");
        scene->reset_event = (PFN_vkCmdResetEvent2)app_device_function(app, "vkCmdResetEvent2");
        scene->wait_events = (PFN_vkCmdWaitEvents2)app_device_function(app, "vkCmdWaitEvents2");
    }
    CHECK_VK(vkCreateEvent(app->device, &event, NULL, &scene->answer));
    CHECK_VK(vkCreateEvent(app->device, &event, NULL, &scene->question));
    CHECK_VK(vkCreateFence(app->device, &fence, NULL, &scene->fence));
    CHECK_VK(vkCreateFence(app->device, &fence, NULL, &scene->other_fence));
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->before));
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->behind));
    app_buffer_create(app, &scene->source, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                      APP_UPLOAD);
    app_buffer_create(app, &scene->result, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &scene->other_source, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->other_result, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    if (scene->between) {
        scene->asks_first = begin(scene);
        ask(scene, scene->asks_first);
        CHECK_VK(vkEndCommandBuffer(scene->asks_first));
    }
    if (scene->asks)
        create_adder(app, &scene->adder, &scene->source);
    if (scene->secondary)
        secondary = record_secondary(scene);
    scene->waits = begin(scene);
    if (scene->asks) {
        bind_adder(&scene->adder, scene->waits);
        ask(scene, scene->waits);
    }
    if (secondary)
        vkCmdExecuteCommands(scene->waits, 1, &secondary);
    else
        record_waiting(scene, scene->waits);
    CHECK_VK(vkEndCommandBuffer(scene->waits));
    scene->copies = begin(scene);
    record_copy(scene->copies, &scene->other_source, &scene->other_result);
    CHECK_VK(vkEndCommandBuffer(scene->copies));
}

int main(int argc, char **argv)
{
    static struct scene scene;
    static const struct app_option options[] = {
        {.name = "--asks", .help = "the host waits for an event of the work first", .flag = &scene.asks},
        {.name = "--between",
         .help = "the same in two command buffers, and another queue is waited for",
         .flag = &scene.between},
        {.name = "--secondary", .help = "what waits is executed by what asks", .flag = &scene.secondary},
        {.name = "--semaphores", .help = "with semaphores before and behind it", .flag = &scene.semaphores},
        {.name = "--two", .help = "by the commands of synchronization2", .flag = &scene.two},
        {.name = NULL},
    };
    static const struct app_program program = {
        .name = "answers",
        .what = "Work waits on the device for events that the host sets after the submit.",
        .frames = 8,
        .options = options,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
    scene.app = &app;
    if (scene.two && app.api_version < VK_API_VERSION_1_3)
        app_skip(&app, "synchronization2 needs Vulkan 1.3");
    create(&scene, &app);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&scene, frame);
    if (scene.asks)
        destroy_adder(&app, &scene.adder);
    app_buffer_destroy(&app, &scene.source);
    app_buffer_destroy(&app, &scene.result);
    app_buffer_destroy(&app, &scene.other_source);
    app_buffer_destroy(&app, &scene.other_result);
    vkDestroyFence(app.device, scene.fence, NULL);
    vkDestroyFence(app.device, scene.other_fence, NULL);
    vkDestroySemaphore(app.device, scene.before, NULL);
    vkDestroySemaphore(app.device, scene.behind, NULL);
    vkDestroyEvent(app.device, scene.answer, NULL);
    vkDestroyEvent(app.device, scene.question, NULL);
    return app_finish(&app);
}
