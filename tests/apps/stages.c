/* SPDX-License-Identifier: MIT */
/*
 * stages: barriers, render passes, semaphores and events that name stages and accesses of features which are switched
 * on and never used: geometry and tessellation shaders, and, where they are, conditional rendering and transform
 * feedback.
 */
#include "common/app.h"

#define BYTES 256u

struct scene {
    const struct app *app;
    struct app_buffer source, middle, result;
    VkPipelineStageFlags unused, stages; /* of unused features only; with transfers */
    VkAccessFlags accesses;              /* of unused features */
    VkSemaphore semaphore;
    VkEvent event;
    VkRenderPass pass;
};

static void barriers(const struct scene *scene, VkCommandBuffer commands)
{
    /* Of unused features only, on one side and on the other. */
    app_memory_barrier(commands, scene->unused, scene->accesses, VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, scene->unused,
                       scene->accesses);
    app_memory_barrier(commands, scene->stages, scene->accesses | VK_ACCESS_TRANSFER_WRITE_BIT, scene->stages,
                       scene->accesses | VK_ACCESS_TRANSFER_READ_BIT);
}

static void copy(const struct scene *scene, const struct app_buffer *from, const struct app_buffer *to,
                 VkCommandBuffer commands)
{
    const VkBufferMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                           .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT | scene->accesses,
                                           .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | scene->accesses,
                                           .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                           .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                           .buffer = to->buffer,
                                           .size = BYTES};
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &(VkBufferCopy){.size = BYTES});
    vkCmdPipelineBarrier(commands, scene->stages, scene->stages | VK_PIPELINE_STAGE_HOST_BIT, 0, 0, NULL, 1, &barrier,
                         0, NULL);
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = scene->app;
    VkCommandBuffer first = app_begin(app), second = app_begin(app);
    const VkPipelineStageFlags waits = scene->stages;
    VkSubmitInfo submits[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &first,
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &scene->semaphore},
                               {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &scene->semaphore,
                                .pWaitDstStageMask = &waits,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &second}};
    for (uint32_t i = 0; i < BYTES; i++)
        scene->source.mapped[i] = (uint8_t)(i + frame);
    app_buffer_flush(app, &scene->source, 0, BYTES);
    barriers(scene, first);
    copy(scene, &scene->source, &scene->middle, first);
    vkCmdSetEvent(first, scene->event, scene->stages);
    vkCmdWaitEvents(first, 1, &scene->event, scene->stages, scene->stages, 0, NULL, 0, NULL, 0, NULL);
    vkCmdResetEvent(first, scene->event, scene->stages);
    CHECK_VK(vkEndCommandBuffer(first));
    copy(scene, &scene->middle, &scene->result, second);
    app_memory_barrier(second, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_HOST_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(second));
    CHECK_VK(vkQueueSubmit(app->queue, 2, submits, VK_NULL_HANDLE));
    CHECK_VK(vkQueueWaitIdle(app->queue));
    app_buffer_invalidate(app, &scene->result, 0, BYTES);
    EXPECT_EQ(app, memcmp(scene->result.mapped, scene->source.mapped, BYTES), 0);
    vkFreeCommandBuffers(app->device, app->pool, 1, &first);
    vkFreeCommandBuffers(app->device, app->pool, 1, &second);
}

static void create(struct scene *scene, struct app *app)
{
    static const char *extensions[2];
    VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT, .conditionalRendering = VK_TRUE};
    VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT, .transformFeedback = VK_TRUE};
    const VkPhysicalDeviceFeatures features = {.geometryShader = VK_TRUE, .tessellationShader = VK_TRUE};
    struct app_device_request request = {.extensions = extensions, .features = &features};
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkEventCreateInfo event = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    const VkSubpassDependency dependency = {.srcSubpass = VK_SUBPASS_EXTERNAL,
                                            .srcStageMask =
                                                VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_GEOMETRY_SHADER_BIT,
                                            .dstStageMask = VK_PIPELINE_STAGE_TESSELLATION_CONTROL_SHADER_BIT,
                                            .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                            .dstAccessMask = VK_ACCESS_SHADER_READ_BIT};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS};
    const VkRenderPassCreateInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass,
                                         .dependencyCount = 1,
                                         .pDependencies = &dependency};
    scene->unused = VK_PIPELINE_STAGE_GEOMETRY_SHADER_BIT | VK_PIPELINE_STAGE_TESSELLATION_EVALUATION_SHADER_BIT;
    if (app_has_extension(app, VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME)) {
        extensions[request.extension_count++] = VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME;
        request.next = &conditional;
        scene->unused |= VK_PIPELINE_STAGE_CONDITIONAL_RENDERING_BIT_EXT;
        scene->accesses |= VK_ACCESS_CONDITIONAL_RENDERING_READ_BIT_EXT;
    }
    if (app_has_extension(app, VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME)) {
        extensions[request.extension_count++] = VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME;
        feedback.pNext = (void *)(uintptr_t)request.next;
        request.next = &feedback;
        scene->unused |= VK_PIPELINE_STAGE_TRANSFORM_FEEDBACK_BIT_EXT;
        scene->accesses |= VK_ACCESS_TRANSFORM_FEEDBACK_WRITE_BIT_EXT;
    }
    scene->stages = scene->unused | VK_PIPELINE_STAGE_TRANSFER_BIT;
    app_device_create(app, &request);
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->semaphore));
    CHECK_VK(vkCreateEvent(app->device, &event, NULL, &scene->event));
    CHECK_VK(vkCreateRenderPass(app->device, &pass, NULL, &scene->pass));
    app_buffer_create(app, &scene->source, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->middle, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_DEVICE);
    app_buffer_create(app, &scene->result, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "stages",
        .what = "Barriers name stages of features that are on and not used.",
        .frames = 4,
    };
    struct scene scene = {0};
    struct app app;
    app_init(&app, argc, argv, &program);
    if (!app.features.geometryShader || !app.features.tessellationShader)
        app_skip(&app, "no geometry and tessellation shaders");
    scene.app = &app;
    create(&scene, &app);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&scene, frame);
    app_buffer_destroy(&app, &scene.source);
    app_buffer_destroy(&app, &scene.middle);
    app_buffer_destroy(&app, &scene.result);
    vkDestroyRenderPass(app.device, scene.pass, NULL);
    vkDestroyEvent(app.device, scene.event, NULL);
    vkDestroySemaphore(app.device, scene.semaphore, NULL);
    return app_finish(&app);
}
