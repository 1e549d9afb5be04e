/* SPDX-License-Identifier: MIT */
/*
 * enables: a program that switches everything on, as engines do: all features and all extensions that the device shows.
 * It draws one picture, for which none of that is needed; --geometry draws it through a geometry shader, --sampler
 * makes an anisotropic sampler, and then one feature is.
 */
#include "common/app.h"
#include "shaders/enables_geom.h"
#include "shaders/headless_frag.h"
#include "shaders/headless_vert.h"

#define SIZE       64u
#define EXTENSIONS 256u

/* Room for the largest structure of features. */
union features {
    VkPhysicalDeviceFeatures2 base;
    VkPhysicalDeviceVulkan11Features vulkan11;
    VkPhysicalDeviceVulkan12Features vulkan12;
    VkPhysicalDeviceVulkan13Features vulkan13;
    VkPhysicalDeviceExtendedDynamicState3FeaturesEXT dynamic_state3;
    uint8_t bytes[512];
};

/* Structures of features that no version has taken in whole. */
static const struct {
    const char *extension;
    VkStructureType type;
} more[] = {
    {"VK_EXT_4444_formats", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_4444_FORMATS_FEATURES_EXT},
    {"VK_EXT_attachment_feedback_loop_layout",
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ATTACHMENT_FEEDBACK_LOOP_LAYOUT_FEATURES_EXT},
    {"VK_EXT_blend_operation_advanced", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BLEND_OPERATION_ADVANCED_FEATURES_EXT},
    {"VK_EXT_border_color_swizzle", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BORDER_COLOR_SWIZZLE_FEATURES_EXT},
    {"VK_EXT_color_write_enable", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COLOR_WRITE_ENABLE_FEATURES_EXT},
    {"VK_EXT_conditional_rendering", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT},
    {"VK_EXT_custom_border_color", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_FEATURES_EXT},
    {"VK_EXT_depth_clip_control", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEPTH_CLIP_CONTROL_FEATURES_EXT},
    {"VK_EXT_depth_clip_enable", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEPTH_CLIP_ENABLE_FEATURES_EXT},
    {"VK_EXT_extended_dynamic_state", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_FEATURES_EXT},
    {"VK_EXT_extended_dynamic_state2", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_2_FEATURES_EXT},
    {"VK_EXT_extended_dynamic_state3", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT},
    {"VK_EXT_graphics_pipeline_library", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT},
    {"VK_EXT_image_2d_view_of_3d", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_2D_VIEW_OF_3D_FEATURES_EXT},
    {"VK_EXT_index_type_uint8", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INDEX_TYPE_UINT8_FEATURES_EXT},
    {"VK_EXT_line_rasterization", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_LINE_RASTERIZATION_FEATURES_EXT},
    {"VK_EXT_multi_draw", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTI_DRAW_FEATURES_EXT},
    {"VK_EXT_non_seamless_cube_map", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NON_SEAMLESS_CUBE_MAP_FEATURES_EXT},
    {"VK_EXT_pipeline_robustness", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT},
    {"VK_EXT_primitive_topology_list_restart",
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVE_TOPOLOGY_LIST_RESTART_FEATURES_EXT},
    {"VK_EXT_primitives_generated_query", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIMITIVES_GENERATED_QUERY_FEATURES_EXT},
    {"VK_EXT_provoking_vertex", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROVOKING_VERTEX_FEATURES_EXT},
    {"VK_EXT_robustness2", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT},
    {"VK_EXT_shader_atomic_float", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT},
    {"VK_EXT_texel_buffer_alignment", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TEXEL_BUFFER_ALIGNMENT_FEATURES_EXT},
    {"VK_EXT_transform_feedback", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT},
    {"VK_EXT_vertex_attribute_divisor", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT},
    {"VK_EXT_vertex_input_dynamic_state", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VERTEX_INPUT_DYNAMIC_STATE_FEATURES_EXT},
    {"VK_KHR_shader_clock", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR},
};

static bool geometry, sampler, list;

/* Extensions that need others of the instance, which this program has none of, or that exclude each other. */
static bool is_left_out(const char *name)
{
    static const char *const parts[] = {"swapchain",
                                        "present",
                                        "display",
                                        "hdr_metadata",
                                        "full_screen",
                                        "negative_viewport",
                                        "buffer_device_address",
                                        "external_memory_host"};
    for (uint32_t i = 0; i < COUNT_OF(parts); i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

static void *chain(union features *structure, VkStructureType type, void *next)
{
    structure->base.sType = type;
    structure->base.pNext = next;
    return structure;
}

static void create_device(struct app *app)
{
    static union features features, vulkan[3], extra[COUNT_OF(more)];
    const char *names[EXTENSIONS];
    struct app_device_request request = {.extensions = names};
    void *next = NULL;

    for (uint32_t i = 0; i < app->extension_count && request.extension_count < EXTENSIONS; i++)
        if (!is_left_out(app->extensions[i].extensionName))
            names[request.extension_count++] = app->extensions[i].extensionName;
    for (uint32_t i = 0; i < COUNT_OF(more); i++)
        if (app_has_extension(app, more[i].extension))
            next = chain(&extra[i], more[i].type, next);
    if (app->api_version >= VK_API_VERSION_1_2) {
        next = chain(&vulkan[0], VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, next);
        next = chain(&vulkan[1], VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, next);
    }
    if (app->api_version >= VK_API_VERSION_1_3)
        next = chain(&vulkan[2], VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, next);
    chain(&features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, next);
    vkGetPhysicalDeviceFeatures2(app->physical, &features.base);
    request.next = &features;
    app_device_create(app, &request);
}

/* headless.frag's. */
static uint32_t cell(uint32_t x, uint32_t y)
{
    return (x / 16 * 32) | (y / 16 * 32) << 8 | 0xff000000u;
}

/* As app_graphics_pipeline, with a stage more. */
static VkPipeline pipeline_with_geometry(const struct app *app, const VkPipelineShaderStageCreateInfo stages[3],
                                         VkPipelineLayout layout, VkRenderPass pass)
{
    const VkDynamicState dynamic_states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineVertexInputStateCreateInfo vertices = {.sType =
                                                         VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                       .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
    VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
    VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                    .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    VkPipelineColorBlendAttachmentState target = {.colorWriteMask = 0xf};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = 1,
                                                 .pAttachments = &target};
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = 2,
                                                .pDynamicStates = dynamic_states};
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .stageCount = geometry ? 3 : 2,
                                         .pStages = stages,
                                         .pVertexInputState = &vertices,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &viewport,
                                         .pRasterizationState = &raster,
                                         .pMultisampleState = &samples,
                                         .pColorBlendState = &blend,
                                         .pDynamicState = &dynamic,
                                         .layout = layout,
                                         .renderPass = pass};
    VkPipeline pipeline;
    CHECK_VK(vkCreateGraphicsPipelines(app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

static void draw(const struct app *app)
{
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const uint32_t frame = 0;
    struct app_image image;
    struct app_buffer pixels;
    app_image_create_2d(app, &image, format, SIZE, SIZE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_buffer_create(app, &pixels, SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    VkRenderPass pass = app_render_pass(app, format, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkFramebuffer framebuffer = app_framebuffer(app, pass, 1, &image.view, SIZE, SIZE);
    VkPipelineLayout layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    VkPipelineShaderStageCreateInfo stages[3] = {
        {.stage = VK_SHADER_STAGE_VERTEX_BIT, .module = app_shader(app, headless_vert, sizeof(headless_vert))},
        {.stage = VK_SHADER_STAGE_FRAGMENT_BIT, .module = app_shader(app, headless_frag, sizeof(headless_frag))},
        {.stage = VK_SHADER_STAGE_GEOMETRY_BIT}};
    if (geometry)
        stages[2].module = app_shader(app, enables_geom, sizeof(enables_geom));
    for (uint32_t i = 0; i < 3; i++) {
        stages[i].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        stages[i].pName = "main";
    }
    VkPipeline pipeline = pipeline_with_geometry(app, stages, layout, pass);
    for (uint32_t i = 0; i < 3; i++)
        vkDestroyShaderModule(app->device, stages[i].module, NULL);

    VkCommandBuffer commands = app_begin(app);
    VkClearValue clear = {0};
    VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    begin.renderPass = pass;
    begin.framebuffer = framebuffer;
    begin.renderArea.extent = (VkExtent2D){SIZE, SIZE};
    begin.clearValueCount = 1;
    begin.pClearValues = &clear;
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    app_set_viewport(commands, SIZE, SIZE);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4, &frame);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRenderPass(commands);
    VkBufferImageCopy region = {0};
    region.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = (VkExtent3D){SIZE, SIZE, 1};
    vkCmdCopyImageToBuffer(commands, image.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, pixels.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &pixels, 0, pixels.size);
    for (uint32_t y = 0; y < SIZE; y++)
        for (uint32_t x = 0; x < SIZE; x++)
            EXPECT_EQ(app, ((uint32_t *)pixels.mapped)[y * SIZE + x], cell(x, y));
    vkDestroyPipeline(app->device, pipeline, NULL);
    vkDestroyPipelineLayout(app->device, layout, NULL);
    vkDestroyFramebuffer(app->device, framebuffer, NULL);
    vkDestroyRenderPass(app->device, pass, NULL);
    app_image_destroy(app, &image);
    app_buffer_destroy(app, &pixels);
}

static void make_sampler(const struct app *app)
{
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                .magFilter = VK_FILTER_LINEAR,
                                .minFilter = VK_FILTER_LINEAR,
                                .anisotropyEnable = VK_TRUE,
                                .maxAnisotropy = 2};
    VkSampler made;

    CHECK_VK(vkCreateSampler(app->device, &info, NULL, &made));
    vkDestroySampler(app->device, made, NULL);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--geometry", "draw through a geometry shader", &geometry, NULL},
        {"--sampler", "make an anisotropic sampler", &sampler, NULL},
        {"--list", "print the device's extensions, and nothing else", &list, NULL},
        {0}};
    static const struct app_program program = {
        .name = "enables",
        .what = "Switches on all features and extensions of the device, and uses none of them.",
        .frames = 1,
        .options = options,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
    if (list) {
        printf("%s\n", app.properties.deviceName);
        for (uint32_t i = 0; i < app.extension_count; i++)
            printf("%s\n", app.extensions[i].extensionName);
        return app_finish(&app);
    }
    if (app.api_version < VK_API_VERSION_1_1)
        app_skip(&app, "Vulkan 1.0");
    if ((geometry && !app.features.geometryShader) || (sampler && !app.features.samplerAnisotropy))
        app_skip(&app, "the feature is missing");
    create_device(&app);
    draw(&app);
    if (sampler)
        make_sampler(&app);
    return app_finish(&app);
}
