/* SPDX-License-Identifier: MIT */
/*
 * fragments: draws to one texel, of which each passes or fails in another way: depth, stencil and depth bounds, a
 * discard in the code, scissor, viewport, culling, no vertices, the rasterizer's discard, the sample mask, the render
 * area, conditional rendering. Most state is dynamic. tests/e2e/pixel.py knows, too, how each draw ends.
 */
#include "common/app.h"
#include "shaders/fragments_depth_frag.h"
#include "shaders/fragments_early_frag.h"
#include "shaders/fragments_frag.h"
#include "shaders/fragments_vert.h"

#define SIZE   64u
#define X      20u
#define Y      40u
#define FORMAT VK_FORMAT_R8G8B8A8_UNORM
#define LAYOUT VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL
#define NARROW 6u /* the draw whose scissor is as wide as the small render area */

enum kind { PLAIN, DEPTH, EARLY, BLENDS, RED, MASKED, BARE, CLAMPS, FIXED, KINDS };

struct push {
    float color[4], depths[2];
    uint32_t turned, discards;
};

struct draw {
    enum kind kind;
    float depths[2];
    uint32_t vertices, instances;
    uint32_t width;  /* of the scissor; 0: all */
    float left;      /* of the viewport */
    float depth_end; /* of it; 0: 1 */
    VkCullModeFlags cull;
    bool turned, discards, rasterizer_discards, bounds, biased, indirect, conditional;
    VkCompareOp stencil; /* NEVER: it is not tested */
    VkStencilOp fail, pass, depth_fail;
    uint32_t reference, write_mask;
};

#define DRAW(which, depth, ...)                                                                                        \
    {                                                                                                                  \
        .kind = which, .depths = {depth, depth}, .vertices = 3, .instances = 1, __VA_ARGS__                            \
    }

static const struct draw draws[] = {
    {.kind = PLAIN, .depths = {0.5f, 0.75f}, .vertices = 6, .instances = 1},
    DRAW(PLAIN, 0.25f, .discards = true),
    DRAW(PLAIN, 0.25f, .stencil = VK_COMPARE_OP_EQUAL, .reference = 3, .fail = VK_STENCIL_OP_INCREMENT_AND_CLAMP,
         .write_mask = 255),
    DRAW(PLAIN, 0.75f, .stencil = VK_COMPARE_OP_ALWAYS, .reference = 7, .depth_fail = VK_STENCIL_OP_REPLACE,
         .write_mask = 255),
    DRAW(PLAIN, 0.25f, .stencil = VK_COMPARE_OP_EQUAL, .reference = 7, .pass = VK_STENCIL_OP_INVERT, .write_mask = 15),
    DRAW(PLAIN, 0.875f, .bounds = true), /* where there are none the depth test fails */
    DRAW(PLAIN, 0.125f, .width = X),
    DRAW(PLAIN, 0.125f, .left = 30),
    DRAW(PLAIN, 0.125f, .rasterizer_discards = true),
    {.kind = PLAIN, .instances = 1},
    {.kind = PLAIN, .vertices = 3},
    DRAW(PLAIN, 0.125f, .cull = VK_CULL_MODE_FRONT_AND_BACK),
    DRAW(PLAIN, 0.125f, .cull = VK_CULL_MODE_BACK_BIT, .turned = true),
    DRAW(MASKED, 0.2f), /* some drivers draw it */
    {.kind = DEPTH, .depths = {0.875f, 0.125f}, .vertices = 3, .instances = 1},
    DRAW(EARLY, 0.0625f, .discards = true),
    DRAW(BLENDS, 0.05f, .cull = VK_CULL_MODE_BACK_BIT),
    DRAW(RED, 0.04f, .cull = VK_CULL_MODE_FRONT_BIT, .turned = true),
    {.kind = PLAIN, .depths = {0.03f, 0.02f}, .vertices = 3, .instances = 2},
    DRAW(PLAIN, 0.01f, .indirect = true),
    DRAW(BARE, 0.005f),
    DRAW(CLAMPS, 7, .depth_end = 0.004f),
    DRAW(PLAIN, 0.003f, .biased = true),
    DRAW(FIXED, 0.001f),
    DRAW(PLAIN, 0.001f, .conditional = true)};

struct scene {
    struct app app;
    struct app_image target, depth;
    struct app_buffer commands, condition, read;
    VkRenderPass passes[2];
    VkFramebuffer framebuffers[2];
    VkPipelineLayout layout;
    VkPipeline pipelines[KINDS];
    VkFormat depth_format;
    bool has_condition;
};

/* ---- creation ---- */

static VkRenderPass create_pass(const struct scene *scene, bool loads)
{
    const VkImageLayout layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    const VkAttachmentLoadOp load = loads ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR;
    const VkAttachmentDescription attachments[] = {{.format = FORMAT,
                                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                                    .loadOp = load,
                                                    .initialLayout = loads ? LAYOUT : VK_IMAGE_LAYOUT_UNDEFINED,
                                                    .finalLayout = LAYOUT},
                                                   {.format = scene->depth_format,
                                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                                    .loadOp = load,
                                                    .stencilLoadOp = load,
                                                    .initialLayout = loads ? layout : VK_IMAGE_LAYOUT_UNDEFINED,
                                                    .finalLayout = layout}};
    const VkAttachmentReference references[] = {{0, LAYOUT}, {1, layout}};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = 1,
                                          .pColorAttachments = references,
                                          .pDepthStencilAttachment = &references[1]};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 2,
                                         .pAttachments = attachments,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VkRenderPass pass;

    CHECK_VK(vkCreateRenderPass(scene->app.device, &info, NULL, &pass));
    return pass;
}

static const VkDynamicState dynamic[] = {
    VK_DYNAMIC_STATE_VIEWPORT,           VK_DYNAMIC_STATE_SCISSOR,
    VK_DYNAMIC_STATE_CULL_MODE,          VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE,
    VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE,  VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE,
    VK_DYNAMIC_STATE_DEPTH_COMPARE_OP,   VK_DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE,
    VK_DYNAMIC_STATE_DEPTH_BOUNDS,       VK_DYNAMIC_STATE_DEPTH_BIAS_ENABLE,
    VK_DYNAMIC_STATE_DEPTH_BIAS,         VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE,
    VK_DYNAMIC_STATE_STENCIL_OP,         VK_DYNAMIC_STATE_STENCIL_COMPARE_MASK,
    VK_DYNAMIC_STATE_STENCIL_WRITE_MASK, VK_DYNAMIC_STATE_STENCIL_REFERENCE};

static VkPipelineColorBlendAttachmentState blend_of(enum kind kind)
{
    return (VkPipelineColorBlendAttachmentState){.blendEnable = kind == BLENDS,
                                                 .srcColorBlendFactor = VK_BLEND_FACTOR_ONE,
                                                 .dstColorBlendFactor = VK_BLEND_FACTOR_ONE,
                                                 .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
                                                 .colorWriteMask = kind == RED    ? VK_COLOR_COMPONENT_R_BIT
                                                                   : kind == BARE ? 0
                                                                                  : 15};
}

/* A pipeline without dynamic state; its stencil test fails. */
static const VkPipelineDepthStencilStateCreateInfo fixed_tests = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
    .depthTestEnable = VK_TRUE,
    .depthCompareOp = VK_COMPARE_OP_LESS,
    .stencilTestEnable = VK_TRUE,
    .front = {.failOp = VK_STENCIL_OP_ZERO,
              .compareOp = VK_COMPARE_OP_GREATER,
              .compareMask = 1,
              .writeMask = 255,
              .reference = 2},
    .back = {.compareOp = VK_COMPARE_OP_ALWAYS}};

static VkPipeline create_pipeline(const struct scene *scene, enum kind kind,
                                  const VkPipelineShaderStageCreateInfo *stages)
{
    const VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    const VkViewport viewport = {0, 0, SIZE, SIZE, 0, 1};
    const VkRect2D scissor = {.extent = {SIZE, SIZE}};
    const VkPipelineViewportStateCreateInfo view = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                                    .viewportCount = 1,
                                                    .pViewports = &viewport,
                                                    .scissorCount = 1,
                                                    .pScissors = &scissor};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .depthClampEnable = kind == CLAMPS && scene->app.features.depthClamp,
        .frontFace = VK_FRONT_FACE_CLOCKWISE,
        .lineWidth = 1};
    const VkSampleMask mask = 0xfffffffe;
    const VkPipelineMultisampleStateCreateInfo samples = {.sType =
                                                              VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                          .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
                                                          .pSampleMask = kind == MASKED ? &mask : NULL};
    const VkPipelineColorBlendAttachmentState blend = blend_of(kind);
    const VkPipelineColorBlendStateCreateInfo output = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                        .attachmentCount = 1,
                                                        .pAttachments = &blend};
    const VkPipelineDynamicStateCreateInfo dynamic_state = {.sType =
                                                                VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                            .dynamicStateCount = COUNT_OF(dynamic),
                                                            .pDynamicStates = dynamic};
    const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .stageCount = kind == BARE ? 1 : 2,
                                               .pStages = stages,
                                               .pVertexInputState = &input,
                                               .pInputAssemblyState = &assembly,
                                               .pViewportState = &view,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &samples,
                                               .pDepthStencilState = &fixed_tests,
                                               .pColorBlendState = &output,
                                               .pDynamicState = kind == FIXED ? NULL : &dynamic_state,
                                               .layout = scene->layout,
                                               .renderPass = scene->passes[0]};
    VkPipeline pipeline;

    CHECK_VK(vkCreateGraphicsPipelines(scene->app.device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

static void create_pipelines(struct scene *scene)
{
    const struct app *app = &scene->app;
    const VkShaderModule vertex = app_shader(app, fragments_vert, sizeof fragments_vert);
    const VkShaderModule fragments[] = {app_shader(app, fragments_frag, sizeof fragments_frag),
                                        app_shader(app, fragments_depth_frag, sizeof fragments_depth_frag),
                                        app_shader(app, fragments_early_frag, sizeof fragments_early_frag)};

    scene->layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT,
                                        sizeof(struct push));
    for (uint32_t i = 0; i < KINDS; i++) {
        const VkPipelineShaderStageCreateInfo stages[] = {{.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                           .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                           .module = vertex,
                                                           .pName = "main"},
                                                          {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                           .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
                                                           .module = fragments[i == DEPTH   ? 1
                                                                               : i == EARLY ? 2
                                                                                            : 0],
                                                           .pName = "main"}};
        scene->pipelines[i] = create_pipeline(scene, i, stages);
    }
    vkDestroyShaderModule(app->device, vertex, NULL);
    for (uint32_t i = 0; i < COUNT_OF(fragments); i++)
        vkDestroyShaderModule(app->device, fragments[i], NULL);
}

static void create(struct scene *scene)
{
    static const VkDrawIndirectCommand indirect = {3, 1, 0, 0};
    const struct app *app = &scene->app;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = scene->depth_format,
                                    .extent = {SIZE, SIZE, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};

    app_image_create_2d(app, &scene->target, FORMAT, SIZE, SIZE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_image_create(app, &scene->depth, &info, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT,
                     VK_IMAGE_VIEW_TYPE_2D);
    app_buffer_create(app, &scene->read, 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &scene->commands, sizeof indirect, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT, APP_UPLOAD);
    memcpy(scene->commands.mapped, &indirect, sizeof indirect);
    app_buffer_flush(app, &scene->commands, 0, VK_WHOLE_SIZE);
    app_buffer_create(app, &scene->condition, 4,
                      scene->has_condition ? VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT
                                           : VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_UPLOAD);
    memset(scene->condition.mapped, 0, 4);
    app_buffer_flush(app, &scene->condition, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < 2; i++) {
        scene->passes[i] = create_pass(scene, i == 1);
        scene->framebuffers[i] = app_framebuffer(app, scene->passes[i], 2,
                                                 (VkImageView[]){scene->target.view, scene->depth.view}, SIZE, SIZE);
    }
    create_pipelines(scene);
}

static void destroy(struct scene *scene)
{
    const struct app *app = &scene->app;

    for (uint32_t i = 0; i < KINDS; i++)
        vkDestroyPipeline(app->device, scene->pipelines[i], NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        vkDestroyFramebuffer(app->device, scene->framebuffers[i], NULL);
        vkDestroyRenderPass(app->device, scene->passes[i], NULL);
    }
    app_buffer_destroy(app, &scene->read);
    app_buffer_destroy(app, &scene->commands);
    app_buffer_destroy(app, &scene->condition);
    app_image_destroy(app, &scene->target);
    app_image_destroy(app, &scene->depth);
}

/* ---- work ---- */

static void begin_pass(const struct scene *scene, VkCommandBuffer commands, uint32_t which, uint32_t width)
{
    const VkClearValue clears[] = {{.color = {{0, 0, 0, 1}}}, {.depthStencil = {1, 0}}};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = scene->passes[which],
                                         .framebuffer = scene->framebuffers[which],
                                         .renderArea.extent = {width, SIZE},
                                         .clearValueCount = 2,
                                         .pClearValues = clears};

    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
}

static void set_state(VkCommandBuffer commands, const struct draw *d, bool has_bounds)
{
    const VkViewport viewport = {d->left, 0, SIZE, SIZE, 0, d->depth_end != 0 ? d->depth_end : 1};
    const VkRect2D scissor = {.extent = {d->width ? d->width : SIZE, SIZE}};

    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &scissor);
    vkCmdSetCullMode(commands, d->cull);
    vkCmdSetRasterizerDiscardEnable(commands, d->rasterizer_discards);
    vkCmdSetDepthTestEnable(commands, VK_TRUE);
    vkCmdSetDepthWriteEnable(commands, VK_TRUE);
    vkCmdSetDepthCompareOp(commands, VK_COMPARE_OP_LESS);
    vkCmdSetDepthBoundsTestEnable(commands, d->bounds && has_bounds);
    vkCmdSetDepthBounds(commands, 0.5f, 1);
    vkCmdSetDepthBiasEnable(commands, d->biased);
    vkCmdSetDepthBias(commands, -1000, 0, 0);
    vkCmdSetStencilTestEnable(commands, d->stencil != VK_COMPARE_OP_NEVER);
    /* That of the back is never met. */
    vkCmdSetStencilOp(commands, VK_STENCIL_FACE_FRONT_BIT, d->fail, d->pass, d->depth_fail, d->stencil);
    vkCmdSetStencilOp(commands, VK_STENCIL_FACE_BACK_BIT, VK_STENCIL_OP_ZERO, VK_STENCIL_OP_ZERO, VK_STENCIL_OP_ZERO,
                      VK_COMPARE_OP_NEVER);
    vkCmdSetStencilCompareMask(commands, VK_STENCIL_FACE_FRONT_AND_BACK, 255);
    vkCmdSetStencilWriteMask(commands, VK_STENCIL_FACE_FRONT_AND_BACK, d->write_mask);
    vkCmdSetStencilReference(commands, VK_STENCIL_FACE_FRONT_BIT, d->reference);
    vkCmdSetStencilReference(commands, VK_STENCIL_FACE_BACK_BIT, 99);
}

static void draw(const struct scene *scene, VkCommandBuffer commands, uint32_t number)
{
    const struct draw *d = &draws[number];
    struct push push = {{(float)(10 * number) / 255, 100.0f / 255, 200.0f / 255, 1},
                        {d->depths[0], d->depths[1]},
                        d->turned,
                        d->discards};

    if (d->kind == CLAMPS && !scene->app.features.depthClamp)
        push.depths[0] = push.depths[1] = 1;
    if (d->kind != FIXED)
        set_state(commands, d, scene->app.features.depthBounds);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->pipelines[d->kind]);
    vkCmdPushConstants(commands, scene->layout, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0,
                       sizeof push, &push);
    if (d->indirect)
        vkCmdDrawIndirect(commands, scene->commands.buffer, 0, 1, sizeof(VkDrawIndirectCommand));
    else
        vkCmdDraw(commands, d->vertices, d->instances, 0, 0);
}

static void draw_conditional(const struct scene *scene, VkCommandBuffer commands, uint32_t number)
{
    PFN_vkCmdBeginConditionalRenderingEXT begin_condition =
        (PFN_vkCmdBeginConditionalRenderingEXT)app_device_function(&scene->app, "vkCmdBeginConditionalRenderingEXT");
    PFN_vkCmdEndConditionalRenderingEXT end_condition =
        (PFN_vkCmdEndConditionalRenderingEXT)app_device_function(&scene->app, "vkCmdEndConditionalRenderingEXT");
    const VkConditionalRenderingBeginInfoEXT begin = {.sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
                                                      .buffer = scene->condition.buffer};

    begin_condition(commands, &begin);
    draw(scene, commands, number);
    end_condition(commands);
}

static void work(const struct scene *scene)
{
    const struct app *app = &scene->app;
    const VkImageLayout from = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkBufferImageCopy texel = {
        .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageOffset = {X, Y, 0}, .imageExtent = {1, 1, 1}};
    VkCommandBuffer commands = app_begin(app);

    begin_pass(scene, commands, 0, SIZE);
    for (uint32_t i = 0; i < COUNT_OF(draws); i++)
        if (!draws[i].conditional)
            draw(scene, commands, i);
        else if (scene->has_condition)
            draw_conditional(scene, commands, i);
    vkCmdEndRenderPass(commands);
    app_image_barrier(commands, &scene->target, LAYOUT, LAYOUT);
    begin_pass(scene, commands, 1, X);
    draw(scene, commands, NARROW);
    vkCmdEndRenderPass(commands);
    app_image_barrier(commands, &scene->target, LAYOUT, from);
    vkCmdCopyImageToBuffer(commands, scene->target.image, from, scene->read.buffer, 1, &texel);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->read, 0, VK_WHOLE_SIZE);
    EXPECT_EQ(app, *(const uint32_t *)(const void *)scene->read.mapped, 0xffc864dc); /* of the one with a bias */
}

int main(int argc, char **argv)
{
    static const char *const extensions[] = {VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME};
    const VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT, .conditionalRendering = VK_TRUE};
    const struct app_program program = {
        .name = "fragments", .what = "Draws that pass and fail in many ways.", .frames = 1};
    struct scene scene = {.layout = VK_NULL_HANDLE};
    VkPhysicalDeviceFeatures features = {.depthBounds = VK_FALSE};
    struct app_device_request request = {.features = &features};

    app_init(&scene.app, argc, argv, &program);
    if (scene.app.api_version < VK_API_VERSION_1_3)
        app_skip(&scene.app, "the dynamic state of Vulkan 1.3 is missing");
    features.depthBounds = scene.app.features.depthBounds;
    features.depthClamp = scene.app.features.depthClamp;
    features.geometryShader = scene.app.features.geometryShader; /* with it code may know its primitive */
    scene.has_condition = app_has_extension(&scene.app, extensions[0]);
    if (scene.has_condition) {
        request.extensions = extensions;
        request.extension_count = 1;
        request.next = &conditional;
    }
    app_device_create(&scene.app, &request);
    scene.depth_format = app_format_has(&scene.app, VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_TILING_OPTIMAL,
                                        VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT)
                             ? VK_FORMAT_D32_SFLOAT_S8_UINT
                             : VK_FORMAT_D24_UNORM_S8_UINT;
    create(&scene);
    for (uint32_t frame = 0; frame < scene.app.frames; frame++)
        work(&scene);
    destroy(&scene);
    return app_finish(&scene.app);
}
