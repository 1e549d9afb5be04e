/* SPDX-License-Identifier: MIT */
/*
 * feedback: transform feedback into a mapped buffer, with a counter, paused and resumed; how many primitives were
 * written is counted by a query and copied to a buffer.
 */
#include "common/app.h"
#include "shaders/feedback_vert.h"

#define FIRST  5u
#define SECOND 3u

static const struct app_option options[] = {{NULL, NULL, NULL, NULL}};

struct scene {
    const struct app *app;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkQueryPool pool;
    struct app_buffer captured, counter, counts;
};

static VkPipeline create_pipeline(const struct scene *scene, VkShaderModule vertex)
{
    const VkPipelineShaderStageCreateInfo stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                   .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                   .module = vertex,
                                                   .pName = "main"};
    const VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST};
    const VkPipelineRasterizationStateCreateInfo rasterization = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .rasterizerDiscardEnable = VK_TRUE,
        .lineWidth = 1};
    const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .stageCount = 1,
                                               .pStages = &stage,
                                               .pVertexInputState = &input,
                                               .pInputAssemblyState = &assembly,
                                               .pRasterizationState = &rasterization,
                                               .layout = scene->layout,
                                               .renderPass = scene->pass};
    VkPipeline pipeline;
    CHECK_VK(vkCreateGraphicsPipelines(scene->app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

static void create(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS};
    /* Feedback goes on where an earlier part of the pass stopped. */
    const VkSubpassDependency dependency = {.srcStageMask = VK_PIPELINE_STAGE_TRANSFORM_FEEDBACK_BIT_EXT,
                                            .dstStageMask = VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT |
                                                            VK_PIPELINE_STAGE_TRANSFORM_FEEDBACK_BIT_EXT,
                                            .srcAccessMask = VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT,
                                            .dstAccessMask = VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT};
    const VkRenderPassCreateInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass,
                                         .dependencyCount = 1,
                                         .pDependencies = &dependency};
    const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                           .queryType = VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT,
                                           .queryCount = 1};
    VkShaderModule vertex = app_shader(app, feedback_vert, sizeof feedback_vert);

    CHECK_VK(vkCreateRenderPass(app->device, &pass, NULL, &scene->pass));
    scene->framebuffer = app_framebuffer(app, scene->pass, 0, NULL, 8, 8);
    scene->layout = app_pipeline_layout(app, 0, NULL, 0, 0);
    scene->pipeline = create_pipeline(scene, vertex);
    CHECK_VK(vkCreateQueryPool(app->device, &queries, NULL, &scene->pool));
    app_buffer_create(app, &scene->captured, 512, VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT, APP_READBACK);
    app_buffer_create(app, &scene->counter, 64,
                      VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_READBACK);
    app_buffer_create(app, &scene->counts, 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    vkDestroyShaderModule(app->device, vertex, NULL);
}

static void draw(const struct scene *scene)
{
    const struct app *app = scene->app;
    PFN_vkCmdBindTransformFeedbackBuffersEXT bind =
        (PFN_vkCmdBindTransformFeedbackBuffersEXT)app_device_function(app, "vkCmdBindTransformFeedbackBuffersEXT");
    PFN_vkCmdBeginTransformFeedbackEXT begin =
        (PFN_vkCmdBeginTransformFeedbackEXT)app_device_function(app, "vkCmdBeginTransformFeedbackEXT");
    PFN_vkCmdEndTransformFeedbackEXT end =
        (PFN_vkCmdEndTransformFeedbackEXT)app_device_function(app, "vkCmdEndTransformFeedbackEXT");
    const VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                        .renderPass = scene->pass,
                                        .framebuffer = scene->framebuffer,
                                        .renderArea = {{0, 0}, {8, 8}}};
    const VkDeviceSize offset = 64, size = 256, counter_at = 16;
    VkCommandBuffer commands = app_begin(app);

    vkCmdResetQueryPool(commands, scene->pool, 0, 1);
    for (int part = 0; part < 2; part++) {
        if (part)
            app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFORM_FEEDBACK_BIT_EXT,
                               VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT, VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
                               VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_READ_BIT_EXT);
        vkCmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->pipeline);
        bind(commands, 0, 1, &scene->captured.buffer, &offset, &size);
        if (part == 0)
            vkCmdBeginQuery(commands, scene->pool, 0, 0);
        begin(commands, 0, part, &scene->counter.buffer, &counter_at);
        vkCmdDraw(commands, part ? SECOND : FIRST, 1, 0, 0);
        end(commands, 0, 1, &scene->counter.buffer, &counter_at);
        if (part == 0)
            vkCmdEndQuery(commands, scene->pool, 0);
        vkCmdEndRenderPass(commands);
    }
    vkCmdCopyQueryPoolResults(commands, scene->pool, 0, 1, scene->counts.buffer, 0, 16,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFORM_FEEDBACK_BIT_EXT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_TRANSFORM_FEEDBACK_WRITE_BIT_EXT | VK_ACCESS_TRANSFORM_FEEDBACK_COUNTER_WRITE_BIT_EXT |
                           VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
}

static void check(const struct scene *scene)
{
    const struct app *app = scene->app;
    uint32_t values[(FIRST + SECOND) * 4];
    uint64_t written;

    app_buffer_invalidate(app, &scene->captured, 0, scene->captured.size);
    app_buffer_invalidate(app, &scene->counts, 0, scene->counts.size);
    memcpy(values, scene->captured.mapped + 64, sizeof values);
    memcpy(&written, scene->counts.mapped, sizeof written);
    EXPECT_EQ(app, written, FIRST);
    for (uint32_t i = 0; i < FIRST + SECOND; i++) {
        uint32_t number = i < FIRST ? i : i - FIRST;
        EXPECT_EQ(app, values[i * 4], number);
        EXPECT_EQ(app, values[i * 4 + 1], number * 3);
        EXPECT_EQ(app, values[i * 4 + 3], 7);
    }
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "feedback", .what = "captures vertices", .frames = 3, .options = options};
    static const char *const extensions[] = {VK_EXT_TRANSFORM_FEEDBACK_EXTENSION_NAME};
    VkPhysicalDeviceTransformFeedbackFeaturesEXT feedback = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT, .transformFeedback = VK_TRUE};
    const struct app_device_request request = {.extensions = extensions, .extension_count = 1, .next = &feedback};
    struct app app;
    struct scene scene = {.app = &app};

    app_init(&app, argc, argv, &program);
    if (!app_has_extension(&app, extensions[0]))
        app_skip(&app, "no transform feedback");
    app_device_create(&app, &request);
    create(&scene);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        draw(&scene);
        check(&scene);
    }
    vkDestroyPipeline(app.device, scene.pipeline, NULL);
    vkDestroyPipelineLayout(app.device, scene.layout, NULL);
    vkDestroyFramebuffer(app.device, scene.framebuffer, NULL);
    vkDestroyRenderPass(app.device, scene.pass, NULL);
    vkDestroyQueryPool(app.device, scene.pool, NULL);
    app_buffer_destroy(&app, &scene.captured);
    app_buffer_destroy(&app, &scene.counter);
    app_buffer_destroy(&app, &scene.counts);
    return app_finish(&app);
}
