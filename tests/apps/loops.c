/* SPDX-License-Identifier: MIT */
/*
 * loops: attachments that are used in unusual ways: fragments sample the attachment that they are drawn to, with loops
 * that the pipeline announces and that a command does (VK_EXT_attachment_feedback_loop_layout and _dynamic_state);
 * --samples: several samples a pixel without an image of so many (VK_EXT_multisampled_render_to_single_sampled), and
 * attachments that are not there although the pipeline has a format for them
 * (VK_EXT_dynamic_rendering_unused_attachments).
 */
#include "common/canvas.h"

#define LOOP    "VK_EXT_attachment_feedback_loop_layout"
#define DYNAMIC "VK_EXT_attachment_feedback_loop_dynamic_state"
#define SAMPLES "VK_EXT_multisampled_render_to_single_sampled"
#define UNUSED  "VK_EXT_dynamic_rendering_unused_attachments"

#if defined(VK_EXT_attachment_feedback_loop_dynamic_state) && defined(VK_EXT_multisampled_render_to_single_sampled)

#include "shaders/loop_frag.h"

#define FORMAT VK_FORMAT_R8G8B8A8_UNORM
#define ROUNDS 4u

struct state {
    struct app app;
    bool samples, dynamic, unused;
    struct app_canvas canvas;
    struct app_image image; /* what is drawn to; copied to the canvas */
    struct app_buffer texels;
    VkSampler sampler;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline still, changing, many, two;
};

static uint32_t base_of(uint32_t cell, uint32_t round)
{
    return 0xff000000u | (cell + round * 8) * 0x010101u;
}

static void create_image(struct state *state, VkImageUsageFlags usage, VkImageCreateFlags flags)
{
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .flags = flags,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = FORMAT,
                                    .extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = usage | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    app_image_create(&state->app, &state->image, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
}

/* Into the canvas, and to the host. */
static void read_back(const struct state *state, VkCommandBuffer commands, VkImageLayout layout)
{
    const VkImageSubresourceLayers all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkImageCopy region = {
        .srcSubresource = all, .dstSubresource = all, .extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE, 1}};
    app_image_barrier(commands, &state->image, layout, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    app_image_barrier(commands, &state->canvas.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdCopyImage(commands, state->image.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, state->canvas.image.image,
                   VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    app_canvas_read(&state->canvas, commands);
}

/* ---- feedback ---- */

static void create_loop(struct state *state)
{
    const struct app *app = &state->app;
    const VkImageLayout layout = VK_IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
                                                  VK_SHADER_STAGE_FRAGMENT_BIT, NULL};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    VkDescriptorImageInfo image = {.imageLayout = layout};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                  .pImageInfo = &image};
    const VkDynamicState enable = VK_DYNAMIC_STATE_ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT;
    struct app_pipeline pipeline = {.vertex = state->canvas.vertex,
                                    .next = &app_canvas_rendering,
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .color_count = 1,
                                    .flags = VK_PIPELINE_CREATE_COLOR_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT};

    create_image(state, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT, 0);
    app_buffer_create(app, &state->texels, APP_CANVAS_SIZE * APP_CANVAS_SIZE * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                      APP_UPLOAD);
    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &state->sampler));
    state->set_layout = app_set_layout(app, 1, &binding);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &state->pool));
    allocate.descriptorPool = state->pool;
    allocate.pSetLayouts = &state->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &state->set));
    image.sampler = state->sampler;
    image.imageView = state->image.view;
    write.dstSet = state->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    state->layout =
        app_pipeline_layout(app, 1, &state->set_layout, VK_SHADER_STAGE_VERTEX_BIT, sizeof(struct app_rect_push));
    pipeline.fragment = app_shader(app, loop_frag, sizeof(loop_frag));
    pipeline.layout = state->layout;
    state->still = app_graphics_pipeline(app, &pipeline);
    if (state->dynamic) {
        pipeline.flags = 0;
        pipeline.dynamic = &enable;
        pipeline.dynamic_count = 1;
        state->changing = app_graphics_pipeline(app, &pipeline);
    }
    vkDestroyShaderModule(app->device, pipeline.fragment, NULL);
}

/* Each fragment adds to what the host had put there. */
static void draw_loop(const struct state *state, uint32_t round)
{
    const struct app *app = &state->app;
    const VkImageLayout layout = VK_IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT;
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE, 1}};
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = state->image.view,
                                             .imageLayout = layout,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .renderArea.extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE},
                                       .layerCount = 1,
                                       .colorAttachmentCount = 1,
                                       .pColorAttachments = &color};
    const struct app_rect_push all = {
        .box = {0, 0, 1, 1}, .color = {32 / 255.0f, 64 / 255.0f, 96 / 255.0f, 0}, .depth = 0.5f};
    const bool changes = state->dynamic && round % 2;
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < APP_CANVAS_SIZE * APP_CANVAS_SIZE; i++)
        ((uint32_t *)state->texels.mapped)[i] =
            base_of(i / APP_CANVAS_SIZE / APP_CELL * APP_CELLS + i % APP_CANVAS_SIZE / APP_CELL, round);
    app_buffer_flush(app, &state->texels, 0, VK_WHOLE_SIZE);
    app_image_barrier(commands, &state->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, state->texels.buffer, state->image.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &region);
    app_image_barrier(commands, &state->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, layout);
    vkCmdBeginRendering(commands, &rendering);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, changes ? state->changing : state->still);
    if (changes) {
        PFN_vkCmdSetAttachmentFeedbackLoopEnableEXT enable =
            (PFN_vkCmdSetAttachmentFeedbackLoopEnableEXT)app_device_function(app,
                                                                             "vkCmdSetAttachmentFeedbackLoopEnableEXT");
        enable(commands, VK_IMAGE_ASPECT_COLOR_BIT);
    }
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->layout, 0, 1, &state->set, 0, NULL);
    vkCmdPushConstants(commands, state->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(all), &all);
    vkCmdDraw(commands, 6, 1, 0, 0);
    vkCmdEndRendering(commands);
    read_back(state, commands, layout);
    app_run(app, commands);
    for (uint32_t cell = 0; cell < APP_CELLS * APP_CELLS; cell++)
        EXPECT_EQ(app, app_canvas_look(&state->canvas, cell), base_of(cell, round) + 0x604020u);
}

/* ---- samples ---- */

static void create_samples(struct state *state)
{
    const VkFormat formats[] = {FORMAT, FORMAT};
    const VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                     .colorAttachmentCount = 2,
                                                     .pColorAttachmentFormats = formats};
    struct app_pipeline pipeline = {.vertex = state->canvas.vertex,
                                    .fragment = state->canvas.fragment,
                                    .layout = state->canvas.layout,
                                    .next = &app_canvas_rendering,
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .samples = VK_SAMPLE_COUNT_4_BIT,
                                    .color_count = 1};

    create_image(state, 0, VK_IMAGE_CREATE_MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_BIT_EXT);
    state->many = app_graphics_pipeline(&state->app, &pipeline);
    if (!state->unused)
        return;
    pipeline.next = &rendering;
    pipeline.samples = VK_SAMPLE_COUNT_1_BIT;
    pipeline.color_count = 2;
    state->two = app_graphics_pipeline(&state->app, &pipeline);
}

/* By turns with four samples, and with an attachment less than the pipeline has. */
static void draw_samples(const struct state *state, uint32_t round)
{
    const struct app *app = &state->app;
    const bool many = !state->unused || round % 2 == 0;
    const VkMultisampledRenderToSingleSampledInfoEXT samples = {
        .sType = VK_STRUCTURE_TYPE_MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_INFO_EXT,
        .multisampledRenderToSingleSampledEnable = VK_TRUE,
        .rasterizationSamples = VK_SAMPLE_COUNT_4_BIT};
    VkRenderingAttachmentInfo colors[2] = {{.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                            .imageView = state->image.view,
                                            .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                            .resolveMode = many ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_NONE,
                                            .resolveImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                            .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                            .storeOp = VK_ATTACHMENT_STORE_OP_STORE}};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .pNext = many ? &samples : NULL,
                                       .renderArea.extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE},
                                       .layerCount = 1,
                                       .colorAttachmentCount = many ? 1 : 2,
                                       .pColorAttachments = colors};
    VkCommandBuffer commands = app_begin(app);

    colors[1] = colors[0];
    colors[1].imageView = VK_NULL_HANDLE;
    app_image_barrier(commands, &state->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdBeginRendering(commands, &rendering);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, many ? state->many : state->two);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    for (uint32_t cell = 0; cell < APP_CELLS; cell++)
        app_canvas_cell(&state->canvas, commands, cell * 3, base_of(cell, round));
    vkCmdEndRendering(commands);
    read_back(state, commands, VK_IMAGE_LAYOUT_GENERAL);
    app_run(app, commands);
    for (uint32_t cell = 0; cell < APP_CELLS; cell++) {
        EXPECT_EQ(app, app_canvas_look(&state->canvas, cell * 3), base_of(cell, round));
        EXPECT_EQ(app, app_canvas_look(&state->canvas, cell * 3 + 1), 0);
    }
}

/* ---- */

static void destroy(struct state *state)
{
    const struct app *app = &state->app;
    const VkPipeline pipelines[] = {state->still, state->changing, state->many, state->two};

    for (uint32_t i = 0; i < COUNT_OF(pipelines); i++)
        vkDestroyPipeline(app->device, pipelines[i], NULL);
    vkDestroyPipelineLayout(app->device, state->layout, NULL);
    vkDestroyDescriptorPool(app->device, state->pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, state->set_layout, NULL);
    vkDestroySampler(app->device, state->sampler, NULL);
    if (state->texels.buffer)
        app_buffer_destroy(app, &state->texels);
    app_image_destroy(app, &state->image);
    app_canvas_destroy(&state->canvas);
}

static void run(struct state *state)
{
    struct app *app = &state->app;
    VkPhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT loop = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ATTACHMENT_FEEDBACK_LOOP_LAYOUT_FEATURES_EXT};
    VkPhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT dynamic = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ATTACHMENT_FEEDBACK_LOOP_DYNAMIC_STATE_FEATURES_EXT};
    VkPhysicalDeviceMultisampledRenderToSingleSampledFeaturesEXT samples = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_FEATURES_EXT};
    VkPhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT unused = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_UNUSED_ATTACHMENTS_FEATURES_EXT};
    struct app_wishes wishes = {.app = app};

    if (app->api_version < VK_API_VERSION_1_3)
        app_skip(app, "needs Vulkan 1.3");
    if (state->samples) {
        if (!APP_WISH(&wishes, SAMPLES, samples, multisampledRenderToSingleSampled))
            app_skip(app, "no " SAMPLES);
        state->unused = APP_WISH(&wishes, UNUSED, unused, dynamicRenderingUnusedAttachments);
    } else {
        if (!APP_WISH(&wishes, LOOP, loop, attachmentFeedbackLoopLayout))
            app_skip(app, "no " LOOP);
        state->dynamic = APP_WISH(&wishes, DYNAMIC, dynamic, attachmentFeedbackLoopDynamicState);
    }
    app_wishes_device(&wishes, app, NULL);
    app_canvas_create(app, &state->canvas);
    if (state->samples)
        create_samples(state);
    else
        create_loop(state);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (state->samples)
            draw_samples(state, round);
        else
            draw_loop(state, round);
    }
    destroy(state);
}

#else

struct state {
    struct app app;
    bool samples;
};

static void run(struct state *state)
{
    app_skip(&state->app, "these headers have no " LOOP " with " DYNAMIC);
}

#endif

int main(int argc, char **argv)
{
    static struct state state;
    static const struct app_option options[] = {
        {"--samples", "several samples, and attachments that are not there", &state.samples, NULL},
        {NULL, NULL, NULL, NULL}};
    static const struct app_program program = {
        .name = "loops", .what = "attachments in unusual ways", .options = options};

    app_init(&state.app, argc, argv, &program);
    run(&state);
    return app_finish(&state.app);
}
