/* SPDX-License-Identifier: MIT */
/*
 * vendors: commands and chained structures of extensions that one vendor's drivers have: draws of clusters, tiles,
 * rotated copies, render pass chains, queries, hints, optical flow, decompression, generated commands, converted
 * matrices. It calls them, for a recorder to take them down; what they compute is not looked at. Run with --no-check
 * on a driver that pretends to have them all (tests/null); elsewhere parts are left out.
 */
#include "common/app.h"
#include "shaders/headless_frag.h"
#include "shaders/headless_vert.h"

#ifdef VK_QCOM_tile_shading

#define SIZE  16u
#define BYTES 1024u

struct job {
    struct app_buffer buffer, readback;
    VkDeviceAddress address;
    struct app_image image, target;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkQueryPool times;
    uint32_t parts;
};

static const char *const extensions[] = {
    "VK_HUAWEI_cluster_culling_shader",
    "VK_QCOM_tile_shading",
    "VK_QCOM_tile_properties",
    "VK_QCOM_rotated_copy_commands",
    "VK_QCOM_multiview_per_view_render_areas",
    "VK_QCOM_elapsed_timer_query",
    "VK_QCOM_queue_perf_hint",
    "VK_SEC_throttle_hint",
    "VK_SEC_amigo_profiling",
    "VK_ARM_performance_counters_by_region",
    "VK_NV_optical_flow",
    "VK_NV_memory_decompression",
    "VK_NV_copy_memory_indirect",
    "VK_NV_device_generated_commands",
    "VK_NV_cooperative_vector",
};

/* Also counts the parts that were there. */
static bool has(const struct app *app, struct job *job, const char *name)
{
    if (!app_has_extension(app, name))
        return false;
    job->parts++;
    return true;
}

#define FUNCTION(app, name) ((PFN_##name)app_device_function(app, #name))

/* ---- in a render pass ---- */

static void draw(const struct app *app, struct job *job, VkCommandBuffer commands)
{
    const VkRect2D area = {{0, 0}, {SIZE, SIZE}};
    uint32_t counter = 0;
    const uint32_t frame = 0;
    const VkRenderPassPerformanceCountersByRegionBeginInfoARM counters = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_PERFORMANCE_COUNTERS_BY_REGION_BEGIN_INFO_ARM,
        .counterAddressCount = 1,
        .pCounterAddresses = &job->address,
        .counterIndexCount = 1,
        .pCounterIndices = &counter};
    const VkMultiviewPerViewRenderAreasRenderPassBeginInfoQCOM areas = {
        .sType = VK_STRUCTURE_TYPE_MULTIVIEW_PER_VIEW_RENDER_AREAS_RENDER_PASS_BEGIN_INFO_QCOM,
        .pNext = &counters,
        .perViewRenderAreaCount = 1,
        .pPerViewRenderAreas = &area};
    const VkClearValue clear = {0};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .pNext = &areas,
                                         .renderPass = job->pass,
                                         .framebuffer = job->framebuffer,
                                         .renderArea = area,
                                         .clearValueCount = 1,
                                         .pClearValues = &clear};
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, job->pipeline);
    app_set_viewport(commands, SIZE, SIZE);
    vkCmdPushConstants(commands, job->layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4, &frame);
    if (has(app, job, "VK_HUAWEI_cluster_culling_shader")) {
        FUNCTION(app, vkCmdDrawClusterHUAWEI)(commands, 1, 2, 3);
        FUNCTION(app, vkCmdDrawClusterIndirectHUAWEI)(commands, job->buffer.buffer, 0);
    }
    if (has(app, job, "VK_QCOM_tile_shading")) {
        const VkPerTileBeginInfoQCOM tile = {.sType = VK_STRUCTURE_TYPE_PER_TILE_BEGIN_INFO_QCOM};
        const VkPerTileEndInfoQCOM end = {.sType = VK_STRUCTURE_TYPE_PER_TILE_END_INFO_QCOM};
        const VkDispatchTileInfoQCOM dispatch = {.sType = VK_STRUCTURE_TYPE_DISPATCH_TILE_INFO_QCOM};
        FUNCTION(app, vkCmdBeginPerTileExecutionQCOM)(commands, &tile);
        FUNCTION(app, vkCmdDispatchTileQCOM)(commands, &dispatch);
        FUNCTION(app, vkCmdEndPerTileExecutionQCOM)(commands, &end);
    }
    vkCmdEndRenderPass(commands);
}

/* ---- copies ---- */

static void copy(const struct app *app, struct job *job, VkCommandBuffer commands)
{
    const VkCopyCommandTransformInfoQCOM turned = {.sType = VK_STRUCTURE_TYPE_COPY_COMMAND_TRANSFORM_INFO_QCOM,
                                                   .transform = VK_SURFACE_TRANSFORM_ROTATE_90_BIT_KHR};
    const VkBufferImageCopy2 region = {.sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2,
                                       .pNext = &turned,
                                       .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                       .imageExtent = {SIZE, SIZE, 1}};
    const VkCopyBufferToImageInfo2 info = {.sType = VK_STRUCTURE_TYPE_COPY_BUFFER_TO_IMAGE_INFO_2,
                                           .srcBuffer = job->buffer.buffer,
                                           .dstImage = job->image.image,
                                           .dstImageLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                           .regionCount = 1,
                                           .pRegions = &region};
    const VkImageSubresourceLayers layers = region.imageSubresource;

    app_image_barrier(commands, &job->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    if (has(app, job, "VK_QCOM_rotated_copy_commands"))
        FUNCTION(app, vkCmdCopyBufferToImage2)(commands, &info);
    if (has(app, job, "VK_NV_copy_memory_indirect")) {
        FUNCTION(app, vkCmdCopyMemoryIndirectNV)(commands, job->address, 1, sizeof(VkCopyMemoryIndirectCommandNV));
        FUNCTION(app, vkCmdCopyMemoryToImageIndirectNV)
        (commands, job->address, 1, sizeof(VkCopyMemoryToImageIndirectCommandNV), job->image.image,
         VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &layers);
    }
    if (has(app, job, "VK_NV_memory_decompression")) {
        const VkDecompressMemoryRegionNV part = {job->address, job->address + 256, 64, 128,
                                                 VK_MEMORY_DECOMPRESSION_METHOD_GDEFLATE_1_0_BIT_NV};
        FUNCTION(app, vkCmdDecompressMemoryNV)(commands, 1, &part);
        FUNCTION(app, vkCmdDecompressMemoryIndirectCountNV)(commands, job->address, job->address + 512, 32);
    }
    if (has(app, job, "VK_NV_cooperative_vector")) {
        size_t bytes = 256;
        VkConvertCooperativeVectorMatrixInfoNV matrix = {
            .sType = VK_STRUCTURE_TYPE_CONVERT_COOPERATIVE_VECTOR_MATRIX_INFO_NV,
            .srcSize = 64,
            .pDstSize = &bytes,
            .srcComponentType = VK_COMPONENT_TYPE_FLOAT16_KHR,
            .dstComponentType = VK_COMPONENT_TYPE_FLOAT16_KHR,
            .numRows = 4,
            .numColumns = 4,
            .srcLayout = VK_COOPERATIVE_VECTOR_MATRIX_LAYOUT_ROW_MAJOR_NV,
            .srcStride = 8,
            .dstLayout = VK_COOPERATIVE_VECTOR_MATRIX_LAYOUT_INFERENCING_OPTIMAL_NV};
        matrix.srcData.deviceAddress = job->address;
        matrix.dstData.deviceAddress = job->address + 512;
        FUNCTION(app, vkCmdConvertCooperativeVectorMatrixNV)(commands, 1, &matrix);
    }
}

/* ---- objects of their own ---- */

static void flow(const struct app *app, struct job *job)
{
    const VkOpticalFlowSessionCreateInfoNV info = {.sType = VK_STRUCTURE_TYPE_OPTICAL_FLOW_SESSION_CREATE_INFO_NV,
                                                   .width = SIZE,
                                                   .height = SIZE,
                                                   .imageFormat = VK_FORMAT_R8G8B8A8_UNORM,
                                                   .flowVectorFormat = VK_FORMAT_R16G16_SFLOAT,
                                                   .outputGridSize = VK_OPTICAL_FLOW_GRID_SIZE_4X4_BIT_NV};
    const VkOpticalFlowExecuteInfoNV execute = {.sType = VK_STRUCTURE_TYPE_OPTICAL_FLOW_EXECUTE_INFO_NV};
    VkOpticalFlowSessionNV session;
    VkCommandBuffer commands;

    if (!has(app, job, "VK_NV_optical_flow"))
        return;
    CHECK_VK(FUNCTION(app, vkCreateOpticalFlowSessionNV)(app->device, &info, NULL, &session));
    CHECK_VK(FUNCTION(app, vkBindOpticalFlowSessionImageNV)(app->device, session,
                                                            VK_OPTICAL_FLOW_SESSION_BINDING_POINT_INPUT_NV,
                                                            job->target.view, VK_IMAGE_LAYOUT_GENERAL));
    commands = app_begin(app);
    FUNCTION(app, vkCmdOpticalFlowExecuteNV)(commands, session, &execute);
    app_run(app, commands);
    FUNCTION(app, vkDestroyOpticalFlowSessionNV)(app->device, session, NULL);
}

static void generate(const struct app *app, struct job *job)
{
    const VkIndirectCommandsLayoutTokenNV token = {.sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_TOKEN_NV,
                                                   .tokenType = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DRAW_NV};
    const uint32_t stride = sizeof(VkDrawIndirectCommand);
    const VkIndirectCommandsLayoutCreateInfoNV info = {
        .sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_CREATE_INFO_NV,
        .flags = VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_NV,
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
        .tokenCount = 1,
        .pTokens = &token,
        .streamCount = 1,
        .pStreamStrides = &stride};
    const VkIndirectCommandsStreamNV stream = {job->buffer.buffer, 0};
    VkGeneratedCommandsInfoNV generated = {.sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_INFO_NV,
                                           .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                           .pipeline = job->pipeline,
                                           .streamCount = 1,
                                           .pStreams = &stream,
                                           .sequencesCount = 1,
                                           .preprocessBuffer = job->buffer.buffer,
                                           .preprocessOffset = 256,
                                           .preprocessSize = 256};
    VkCommandBuffer commands;

    if (!has(app, job, "VK_NV_device_generated_commands"))
        return;
    CHECK_VK(
        FUNCTION(app, vkCreateIndirectCommandsLayoutNV)(app->device, &info, NULL, &generated.indirectCommandsLayout));
    commands = app_begin(app);
    FUNCTION(app, vkCmdPreprocessGeneratedCommandsNV)(commands, &generated);
    FUNCTION(app, vkCmdExecuteGeneratedCommandsNV)(commands, VK_TRUE, &generated);
    app_run(app, commands);
    FUNCTION(app, vkDestroyIndirectCommandsLayoutNV)(app->device, generated.indirectCommandsLayout, NULL);
}

/* ---- hints ---- */

static void submit(const struct app *app, struct job *job, VkCommandBuffer commands)
{
    const VkAmigoProfilingSubmitInfoSEC profile = {
        .sType = VK_STRUCTURE_TYPE_AMIGO_PROFILING_SUBMIT_INFO_SEC, .firstDrawTimestamp = 1, .swapBufferTimestamp = 2};
    const VkThrottleHintSubmitInfoSEC throttle = {.sType = VK_STRUCTURE_TYPE_THROTTLE_HINT_SUBMIT_INFO_SEC,
                                                  .pNext = &profile};
    const bool hints = has(app, job, "VK_SEC_throttle_hint") && has(app, job, "VK_SEC_amigo_profiling");
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = hints ? &throttle : NULL,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
    if (has(app, job, "VK_QCOM_queue_perf_hint")) {
        const VkPerfHintInfoQCOM hint = {.sType = VK_STRUCTURE_TYPE_PERF_HINT_INFO_QCOM,
                                         .type = VK_PERF_HINT_TYPE_FREQUENCY_MAX_QCOM};
        CHECK_VK(FUNCTION(app, vkQueueSetPerfHintQCOM)(app->queue, &hint));
    }
    CHECK_VK(vkQueueSubmit(app->queue, 1, &info, VK_NULL_HANDLE));
    CHECK_VK(vkQueueWaitIdle(app->queue));
}

static void run(const struct app *app, struct job *job)
{
    VkCommandBuffer commands = app_begin(app);
    const bool timed = has(app, job, "VK_QCOM_elapsed_timer_query");

    if (timed) {
        vkCmdResetQueryPool(commands, job->times, 0, 1);
        vkCmdBeginQuery(commands, job->times, 0, 0);
    }
    copy(app, job, commands);
    draw(app, job, commands);
    if (timed)
        vkCmdEndQuery(commands, job->times, 0);
    vkCmdFillBuffer(commands, job->readback.buffer, 0, BYTES, 0);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
    submit(app, job, commands);
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
    flow(app, job);
    generate(app, job);
}

static void create_device(struct app *app)
{
    const char *names[COUNT_OF(extensions)];
    VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .bufferDeviceAddress = VK_TRUE};
    struct app_device_request request = {.extensions = names, .next = &features};

    for (uint32_t i = 0; i < COUNT_OF(extensions); i++)
        if (app_has_extension(app, extensions[i]))
            names[request.extension_count++] = extensions[i];
    if (app->api_version < VK_API_VERSION_1_3 || request.extension_count < COUNT_OF(extensions))
        app_skip(app, "this driver does not pretend to be all vendors' at once");
    app_device_create(app, &request);
}

static void create(const struct app *app, struct job *job)
{
    const VkQueryPoolCreateInfo times = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                         .queryType = VK_QUERY_TYPE_TIME_ELAPSED_QCOM,
                                         .queryCount = 1};
    VkBufferDeviceAddressInfo ask = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    struct app_pipeline pipeline = {.vertex = app_shader(app, headless_vert, sizeof headless_vert),
                                    .fragment = app_shader(app, headless_frag, sizeof headless_frag),
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .color_count = 1};

    app_buffer_create(app, &job->buffer, BYTES,
                      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                          VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
                      APP_DEVICE);
    app_buffer_create(app, &job->readback, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    ask.buffer = job->buffer.buffer;
    job->address = vkGetBufferDeviceAddress(app->device, &ask);
    app_image_create_2d(app, &job->image, VK_FORMAT_R8G8B8A8_UNORM, SIZE, SIZE, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    app_image_create_2d(app, &job->target, VK_FORMAT_R8G8B8A8_UNORM, SIZE, SIZE, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
    job->pass = app_render_pass(app, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    job->framebuffer = app_framebuffer(app, job->pass, 1, &job->target.view, SIZE, SIZE);
    job->layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    pipeline.layout = job->layout;
    pipeline.render_pass = job->pass;
    job->pipeline = app_graphics_pipeline(app, &pipeline);
    vkDestroyShaderModule(app->device, pipeline.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline.fragment, NULL);
    CHECK_VK(vkCreateQueryPool(app->device, &times, NULL, &job->times));
}

static void destroy(const struct app *app, struct job *job)
{
    vkDestroyQueryPool(app->device, job->times, NULL);
    vkDestroyPipeline(app->device, job->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, job->layout, NULL);
    vkDestroyFramebuffer(app->device, job->framebuffer, NULL);
    vkDestroyRenderPass(app->device, job->pass, NULL);
    app_image_destroy(app, &job->image);
    app_image_destroy(app, &job->target);
    app_buffer_destroy(app, &job->buffer);
    app_buffer_destroy(app, &job->readback);
}
#endif

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{0}};
    static const struct app_program program = {
        .name = "vendors",
        .what = "Calls what one vendor's drivers have, on a driver that pretends to be all of theirs.",
        .frames = 1,
        .options = options,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
#ifdef VK_QCOM_tile_shading
    struct job job = {0};
    create_device(&app);
    create(&app, &job);
    run(&app, &job);
    destroy(&app, &job);
    printf("%u parts\n", job.parts);
    return app_finish(&app);
#else
    app_skip(&app, "the headers that it was built with are too old");
#endif
}
