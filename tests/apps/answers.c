/* SPDX-License-Identifier: MIT */
/*
 * answers: work waits on the device for an event that the host sets after the submit. Meanwhile another queue, where
 * there is one, does something that the host waits for first, and the host writes what the work reads. The command
 * buffer is submitted again and again, so it resets the event behind itself. With --asks the work first sets an event
 * of its own, which the host waits for; with --two by the commands of synchronization2.
 */
#include "common/app.h"

#define BYTES 1024u

struct scene {
    const struct app *app;
    bool asks, two;
    VkQueue other; /* the same one, where there is only one: then nothing is submitted there in between */
    VkEvent answer, question;
    VkFence fence, other_fence;
    struct app_buffer source, result, other_source, other_result;
    VkCommandBuffer waits, copies;
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

static void record_old(const struct scene *scene, VkCommandBuffer commands)
{
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_HOST_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT};
    if (scene->asks)
        vkCmdSetEvent(commands, scene->question, VK_PIPELINE_STAGE_TRANSFER_BIT);
    vkCmdWaitEvents(commands, 1, &scene->answer, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 1,
                    &barrier, 0, NULL, 0, NULL);
    record_copy(commands, &scene->source, &scene->result);
    vkCmdResetEvent(commands, scene->answer, VK_PIPELINE_STAGE_TRANSFER_BIT);
}

static void record_two(const struct scene *scene, VkCommandBuffer commands)
{
    const VkMemoryBarrier2 asked = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                    .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                    .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT};
    const VkMemoryBarrier2 answered = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                       .srcStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                       .srcAccessMask = VK_ACCESS_2_HOST_WRITE_BIT,
                                       .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                       .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT};
    const VkDependencyInfo question = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &asked};
    const VkDependencyInfo answer = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &answered};
    if (scene->asks)
        scene->set_event(commands, scene->question, &question);
    scene->wait_events(commands, 1, &scene->answer, &answer);
    record_copy(commands, &scene->source, &scene->result);
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

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = scene->app;
    const VkSubmitInfo waits = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &scene->waits};
    const VkSubmitInfo copies = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &scene->copies};
    CHECK_VK(vkQueueSubmit(app->queue, 1, &waits, scene->fence));
    if (scene->asks) {
        while (vkGetEventStatus(app->device, scene->question) == VK_EVENT_RESET && !app->no_check) {
        }
        CHECK_VK(vkResetEvent(app->device, scene->question));
    } else if (scene->other != app->queue) {
        fill(app, &scene->other_source, 1000 + frame);
        CHECK_VK(vkQueueSubmit(scene->other, 1, &copies, scene->other_fence));
        finish(app, scene->other_fence);
        expect_same(app, &scene->other_source, &scene->other_result);
    }
    fill(app, &scene->source, frame);
    CHECK_VK(vkSetEvent(app->device, scene->answer));
    finish(app, scene->fence);
    expect_same(app, &scene->source, &scene->result);
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
    app_buffer_create(app, &scene->source, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->result, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &scene->other_source, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->other_result, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    scene->waits = begin(scene);
    if (scene->two)
        record_two(scene, scene->waits);
    else
        record_old(scene, scene->waits);
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
    app_buffer_destroy(&app, &scene.source);
    app_buffer_destroy(&app, &scene.result);
    app_buffer_destroy(&app, &scene.other_source);
    app_buffer_destroy(&app, &scene.other_result);
    vkDestroyFence(app.device, scene.fence, NULL);
    vkDestroyFence(app.device, scene.other_fence, NULL);
    vkDestroyEvent(app.device, scene.answer, NULL);
    vkDestroyEvent(app.device, scene.question, NULL);
    return app_finish(&app);
}
