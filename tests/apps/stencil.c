/* SPDX-License-Identifier: MIT */
/*
 * stencil: images of stencil and nothing else, cleared, filled from buffers, drawn against by render passes of both
 * forms and by dynamic rendering, from a secondary command buffer, too, cleared and loaded there, resolved, copied,
 * blitted, sampled, and copied to buffers. All pipelines test depths, which pass where there are none: by their own
 * state, or by dynamic state that was set in front of the pass or within it. Layouts are those of stencil alone where
 * the device has them.
 */
#include "common/app.h"
#include "shaders/depth_frag.h"
#include "shaders/depth_vert.h"
#include "shaders/stencil_look_comp.h"

#define WIDTH   37u /* odd, as are rows of a byte then */
#define HEIGHT  19u
#define PITCH   43u /* texels from row to row in buffers */
#define SLICE   23u /* rows from layer to layer */
#define LAYERS  2u
#define SPAN    (PITCH * SLICE * LAYERS)
#define GUARD   0xa5u
#define COLUMN  9u /* cleared within the pass */
#define COLOR   VK_FORMAT_R8G8B8A8_UNORM
#define STENCIL VK_FORMAT_S8_UINT
#define SAMPLES VK_SAMPLE_COUNT_4_BIT

static bool with_resolves, with_blits, together; /* --resolve, --blit, --together */

enum way { WAY_PASS, WAY_PASS2, WAY_RENDERING };

struct scene {
    struct app *app;
    bool has_pass2, has_1_3, has_layouts, has_blit, has_resolve;
    PFN_vkCreateRenderPass2 create_pass2;
    PFN_vkCmdBeginRendering begin_rendering;
    PFN_vkCmdEndRendering end_rendering;
    PFN_vkCmdPipelineBarrier2 barrier2;
    PFN_vkCmdSetDepthTestEnable set_depth_test;
    VkImageLayout drawn, looked; /* layouts of attachments, and of what is sampled */
    VkShaderModule vertex, fragment;
    VkPipelineLayout draw_layout, look_layout;
    VkPipeline look;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
    VkSampler sampler;
    struct app_image color, images[2], samples;
    VkImageView views[2], samples_view; /* of layer 1 */
    struct app_buffer upload, download, second, results, colors;
};

/* ---- what is where ---- */

static uint8_t stencil_at(uint32_t layer, uint32_t x, uint32_t y)
{
    return layer == 0 ? 7 : y % 3 ? 1 : (uint8_t)(x + 3);
}

static bool is_drawn(uint32_t x, uint32_t y)
{
    return stencil_at(1, x, y) == 1;
}

static uint8_t final_at(uint32_t layer, uint32_t x, uint32_t y)
{
    return layer == 0 ? 7 : x == COLUMN ? 5 : is_drawn(x, y) ? 2 : stencil_at(1, x, y);
}

static void fill_upload(const struct scene *scene)
{
    memset(scene->upload.mapped, GUARD, scene->upload.size);
    for (uint32_t layer = 0; layer < LAYERS; layer++)
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (uint32_t x = 0; x < WIDTH; x++)
                scene->upload.mapped[(layer * SLICE + y) * PITCH + x] = stencil_at(layer, x, y);
    app_buffer_flush(scene->app, &scene->upload, 0, scene->upload.size);
}

/* ---- making ---- */

static void create_device(struct scene *scene)
{
    struct app *app = scene->app;
    VkPhysicalDeviceVulkan12Features has12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES},
                                     want12 = has12;
    VkPhysicalDeviceVulkan13Features want13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                               .dynamicRendering = VK_TRUE,
                                               .synchronization2 = VK_TRUE};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has12};
    struct app_device_request request = {0};
    scene->has_pass2 = app->api_version >= VK_API_VERSION_1_2;
    scene->has_1_3 = app->api_version >= VK_API_VERSION_1_3;
    if (scene->has_pass2) {
        vkGetPhysicalDeviceFeatures2(app->physical, &has);
        want12.separateDepthStencilLayouts = has12.separateDepthStencilLayouts && !together;
        request.next = &want12;
    }
    if (scene->has_1_3)
        want12.pNext = &want13;
    app_device_create(app, &request);
    scene->has_layouts = want12.separateDepthStencilLayouts;
    scene->drawn = scene->has_layouts ? VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL
                                      : VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    scene->looked = scene->has_layouts ? VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL
                                       : VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL;
    if (scene->has_pass2)
        scene->create_pass2 = (PFN_vkCreateRenderPass2)app_device_function(app, "vkCreateRenderPass2");
    if (!scene->has_1_3)
        return;
    scene->begin_rendering = (PFN_vkCmdBeginRendering)app_device_function(app, "vkCmdBeginRendering");
    scene->end_rendering = (PFN_vkCmdEndRendering)app_device_function(app, "vkCmdEndRendering");
    scene->barrier2 = (PFN_vkCmdPipelineBarrier2)app_device_function(app, "vkCmdPipelineBarrier2");
    scene->set_depth_test = (PFN_vkCmdSetDepthTestEnable)app_device_function(app, "vkCmdSetDepthTestEnable");
}

/* What else the device does with such images. */
static void ask(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkFormatFeatureFlags blits = VK_FORMAT_FEATURE_BLIT_SRC_BIT | VK_FORMAT_FEATURE_BLIT_DST_BIT;
    VkImageFormatProperties most;
    VkResult result = vkGetPhysicalDeviceImageFormatProperties(
        app->physical, STENCIL, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
        VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT, 0, &most);
    scene->has_blit = with_blits && app_format_has(app, STENCIL, VK_IMAGE_TILING_OPTIMAL, blits);
    scene->has_resolve = with_resolves && scene->has_pass2 && result == VK_SUCCESS && most.sampleCounts & SAMPLES &&
                         app->properties.limits.framebufferStencilSampleCounts & SAMPLES;
    if (with_blits && !scene->has_blit)
        app_skip(app, "no blits of stencil alone");
    if (with_resolves && !scene->has_resolve)
        app_skip(app, "no resolves of stencil alone");
}

static VkImageView view_of(const struct app *app, VkImage image, uint32_t layer)
{
    const VkImageViewCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                          .image = image,
                                          .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                          .format = STENCIL,
                                          .subresourceRange = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 1, layer, 1}};
    VkImageView view;
    CHECK_VK(vkCreateImageView(app->device, &create, NULL, &view));
    return view;
}

static void create_images(struct scene *scene)
{
    const struct app *app = scene->app;
    VkImageCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = STENCIL,
        .extent = {WIDTH, HEIGHT, 1},
        .mipLevels = 1,
        .arrayLayers = LAYERS,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                 VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    for (uint32_t i = 0; i < 2; i++) {
        app_image_create(app, &scene->images[i], &create, VK_IMAGE_ASPECT_STENCIL_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
        scene->views[i] = view_of(app, scene->images[i].image, 1);
    }
    if (scene->has_resolve) {
        create.samples = SAMPLES;
        create.arrayLayers = 1;
        create.usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        app_image_create(app, &scene->samples, &create, VK_IMAGE_ASPECT_STENCIL_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
        scene->samples_view = view_of(app, scene->samples.image, 0);
    }
    app_image_create_2d(app, &scene->color, COLOR, WIDTH, HEIGHT,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
}

static void create_buffers(struct scene *scene)
{
    const struct app *app = scene->app;
    app_buffer_create(app, &scene->upload, SPAN, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->download, SPAN, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &scene->second, WIDTH * HEIGHT, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &scene->results, WIDTH * HEIGHT * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    app_buffer_create(app, &scene->colors, WIDTH * HEIGHT * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    fill_upload(scene);
}

static void create_look(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkDescriptorSetLayoutBinding bindings[2] = {
        {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1},
                                           {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 2, .pPoolSizes = sizes};
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    const VkDescriptorBufferInfo buffer = {scene->results.buffer, 0, VK_WHOLE_SIZE};
    VkDescriptorImageInfo image = {VK_NULL_HANDLE, scene->views[1], scene->looked};
    VkWriteDescriptorSet writes[2] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                       .pImageInfo = &image},
                                      {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstBinding = 1,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &buffer}};
    scene->set_layout = app_set_layout(app, 2, bindings);
    scene->look_layout = app_pipeline_layout(app, 1, &scene->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 8);
    scene->look = app_compute_pipeline(app, stencil_look_comp, sizeof(stencil_look_comp), scene->look_layout);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->descriptors));
    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &scene->sampler));
    allocate.descriptorPool = scene->descriptors;
    allocate.pSetLayouts = &scene->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &scene->set));
    image.sampler = scene->sampler;
    writes[0].dstSet = writes[1].dstSet = scene->set;
    vkUpdateDescriptorSets(app->device, 2, writes, 0, NULL);
}

static void create_scene(struct scene *scene)
{
    const struct app *app = scene->app;
    create_images(scene);
    create_buffers(scene);
    create_look(scene);
    scene->vertex = app_shader(app, depth_vert, sizeof(depth_vert));
    scene->fragment = app_shader(app, depth_frag, sizeof(depth_frag));
    scene->draw_layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_VERTEX_BIT, sizeof(float));
}

static void destroy_scene(struct scene *scene)
{
    const struct app *app = scene->app;
    vkDestroyPipelineLayout(app->device, scene->draw_layout, NULL);
    vkDestroyShaderModule(app->device, scene->fragment, NULL);
    vkDestroyShaderModule(app->device, scene->vertex, NULL);
    vkDestroySampler(app->device, scene->sampler, NULL);
    vkDestroyDescriptorPool(app->device, scene->descriptors, NULL);
    vkDestroyPipeline(app->device, scene->look, NULL);
    vkDestroyPipelineLayout(app->device, scene->look_layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    app_buffer_destroy(app, &scene->colors);
    app_buffer_destroy(app, &scene->results);
    app_buffer_destroy(app, &scene->second);
    app_buffer_destroy(app, &scene->download);
    app_buffer_destroy(app, &scene->upload);
    app_image_destroy(app, &scene->color);
    if (scene->has_resolve) {
        vkDestroyImageView(app->device, scene->samples_view, NULL);
        app_image_destroy(app, &scene->samples);
    }
    for (uint32_t i = 0; i < 2; i++) {
        vkDestroyImageView(app->device, scene->views[i], NULL);
        app_image_destroy(app, &scene->images[i]);
    }
}

/* ---- passes ---- */

struct pass {
    enum way way;
    bool dynamic; /* whether depths are tested is dynamic */
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipeline pipeline;
};

static VkRenderPass create_pass(const struct scene *scene)
{
    /* What is said of the depth means nothing here. */
    const VkAttachmentDescription attachments[2] = {{.format = COLOR,
                                                     .samples = VK_SAMPLE_COUNT_1_BIT,
                                                     .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                     .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                     .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                     .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                     .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                                     .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL},
                                                    {.format = STENCIL,
                                                     .samples = VK_SAMPLE_COUNT_1_BIT,
                                                     .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                     .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                     .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                     .stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                     .initialLayout = scene->drawn,
                                                     .finalLayout = scene->drawn}};
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL}, stencil = {1, scene->drawn};
    const VkSubpassDescription subpass = {
        .colorAttachmentCount = 1, .pColorAttachments = &color, .pDepthStencilAttachment = &stencil};
    const VkRenderPassCreateInfo create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                           .attachmentCount = 2,
                                           .pAttachments = attachments,
                                           .subpassCount = 1,
                                           .pSubpasses = &subpass};
    VkRenderPass pass;
    CHECK_VK(vkCreateRenderPass(scene->app->device, &create, NULL, &pass));
    return pass;
}

/* One attachment of stencil; `resolves` to the second one. */
static VkRenderPass create_pass2(const struct scene *scene, bool with_color, bool resolves)
{
    const VkAttachmentDescription2 stencil = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
                                              .format = STENCIL,
                                              .samples = resolves ? SAMPLES : VK_SAMPLE_COUNT_1_BIT,
                                              .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                              .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                              .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                              .stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE,
                                              .initialLayout = scene->drawn,
                                              .finalLayout = scene->drawn};
    VkAttachmentDescription2 attachments[2] = {stencil, stencil};
    if (with_color) {
        attachments[0].format = COLOR;
        attachments[0].initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
        attachments[0].finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        attachments[0].stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    }
    attachments[1].samples = VK_SAMPLE_COUNT_1_BIT;
    if (resolves)
        attachments[1].stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    const VkAttachmentReference2 color = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                          .attachment = 0,
                                          .layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                          .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT},
                                 first = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                          .attachment = 0,
                                          .layout = scene->drawn,
                                          .aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT},
                                 second = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                           .attachment = 1,
                                           .layout = scene->drawn,
                                           .aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT};
    const VkSubpassDescriptionDepthStencilResolve resolve = {
        .sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE,
        .stencilResolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT,
        .depthResolveMode = VK_RESOLVE_MODE_NONE,
        .pDepthStencilResolveAttachment = &second};
    const VkSubpassDescription2 subpass = {.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2,
                                           .pNext = resolves ? &resolve : NULL,
                                           .colorAttachmentCount = with_color,
                                           .pColorAttachments = &color,
                                           .pDepthStencilAttachment = resolves ? &first : &second};
    const VkRenderPassCreateInfo2 create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2,
                                            .attachmentCount = 2,
                                            .pAttachments = attachments,
                                            .subpassCount = 1,
                                            .pSubpasses = &subpass};
    VkRenderPass pass;
    CHECK_VK(scene->create_pass2(scene->app->device, &create, NULL, &pass));
    return pass;
}

static const VkPipelineRenderingCreateInfo rendering_formats = {.sType =
                                                                    VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                                .colorAttachmentCount = 1,
                                                                .pColorAttachmentFormats = &(const VkFormat){COLOR},
                                                                .stencilAttachmentFormat = STENCIL};

static void open_pass(const struct scene *scene, enum way way, bool dynamic, struct pass *out)
{
    static const VkDynamicState tested = VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE;
    const struct app *app = scene->app;
    const VkImageView views[2] = {scene->color.view, scene->views[0]};
    struct app_pipeline pipeline = {.vertex = scene->vertex,
                                    .fragment = scene->fragment,
                                    .layout = scene->draw_layout,
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .depth = true,
                                    .never = true,
                                    .stencil = true,
                                    .color_count = 1,
                                    .dynamic = &tested};
    *out = (struct pass){.way = way, .dynamic = dynamic};
    pipeline.dynamic_count = out->dynamic;
    if (way == WAY_RENDERING) {
        pipeline.next = &rendering_formats;
    } else {
        out->pass = way == WAY_PASS ? create_pass(scene) : create_pass2(scene, true, false);
        out->framebuffer = app_framebuffer(app, out->pass, 2, views, WIDTH, HEIGHT);
        pipeline.render_pass = out->pass;
    }
    out->pipeline = app_graphics_pipeline(app, &pipeline);
}

static void close_pass(const struct scene *scene, struct pass *pass)
{
    vkDestroyPipeline(scene->app->device, pass->pipeline, NULL);
    vkDestroyFramebuffer(scene->app->device, pass->framebuffer, NULL);
    vkDestroyRenderPass(scene->app->device, pass->pass, NULL);
}

static void draw(const struct scene *scene, VkCommandBuffer commands, const struct pass *pass)
{
    const float depth = 0.5f;
    const VkClearAttachment clear = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, {.depthStencil = {0.0f, 5}}};
    const VkClearRect column = {{{(int32_t)COLUMN, 0}, {1, HEIGHT}}, 0, 1};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pass->pipeline);
    if (pass->dynamic && pass->way == WAY_RENDERING)
        scene->set_depth_test(commands, VK_TRUE);
    vkCmdPushConstants(commands, scene->draw_layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(depth), &depth);
    app_set_viewport(commands, WIDTH, HEIGHT);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdClearAttachments(commands, 1, &clear, 1, &column);
}

static VkCommandBuffer record_secondary(const struct scene *scene, const struct pass *pass)
{
    const struct app *app = scene->app;
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = app->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                                  .commandBufferCount = 1};
    const VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = rendering_formats.pColorAttachmentFormats,
        .stencilAttachmentFormat = STENCIL,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                        .pNext = &rendering};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                            .pInheritanceInfo = &inheritance};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    draw(scene, commands, pass);
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

static void draw_rendering(const struct scene *scene, VkCommandBuffer commands, VkCommandBuffer secondary)
{
    const VkClearValue clear = {.color = {.float32 = {0.0f, 0.0f, 0.0f, 1.0f}}};
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = scene->color.view,
                                             .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                             .clearValue = clear};
    const VkRenderingAttachmentInfo stencil = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                               .imageView = scene->views[0],
                                               .imageLayout = scene->drawn,
                                               .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                               .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .flags = VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT,
                                       .renderArea = {{0, 0}, {WIDTH, HEIGHT}},
                                       .layerCount = 1,
                                       .colorAttachmentCount = 1,
                                       .pColorAttachments = &color,
                                       .pStencilAttachment = &stencil};
    app_image_barrier(commands, &scene->color, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    scene->begin_rendering(commands, &rendering);
    vkCmdExecuteCommands(commands, 1, &secondary);
    scene->end_rendering(commands);
    app_image_barrier(commands, &scene->color, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
}

/* Whether depths are tested is said in front of the pass and once more within it. */
static void draw_pass(const struct scene *scene, VkCommandBuffer commands, const struct pass *pass)
{
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = pass->pass,
                                         .framebuffer = pass->framebuffer,
                                         .renderArea = {{0, 0}, {WIDTH, HEIGHT}},
                                         .clearValueCount = 1,
                                         .pClearValues =
                                             &(VkClearValue){.color = {.float32 = {0.0f, 0.0f, 0.0f, 1.0f}}}};
    if (pass->dynamic)
        scene->set_depth_test(commands, VK_TRUE);
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    draw(scene, commands, pass);
    if (pass->dynamic)
        scene->set_depth_test(commands, VK_TRUE);
    vkCmdEndRenderPass(commands);
}

/* ---- copies ---- */

#define TO(image, from, to) app_image_barrier(commands, &scene->images[image], from, to)

static const VkBufferImageCopy padded = {.bufferRowLength = PITCH,
                                         .bufferImageHeight = SLICE,
                                         .imageSubresource = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 0, LAYERS},
                                         .imageExtent = {WIDTH, HEIGHT, 1}};

static void to_attachment(const struct scene *scene, VkCommandBuffer commands, bool second_form)
{
    const VkImageMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                           .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                           .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                                           .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                           .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
                                           .oldLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                           .newLayout = scene->drawn,
                                           .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                           .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                           .image = scene->images[0].image,
                                           .subresourceRange = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 1, 0, LAYERS}};
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .imageMemoryBarrierCount = 1, .pImageMemoryBarriers = &barrier};
    if (second_form)
        scene->barrier2(commands, &dependency);
    else
        TO(0, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, scene->drawn);
}

static void fill(const struct scene *scene, VkCommandBuffer commands)
{
    const VkClearDepthStencilValue nine = {1.0f, 9};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 1, 0, LAYERS};
    TO(0, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdClearDepthStencilImage(commands, scene->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &nine, 1, &all);
    TO(0, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, scene->upload.buffer, scene->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           1, &padded);
}

/* Layer 1 of the first image becomes layer 1 of the second one. */
static void pass_on(const struct scene *scene, VkCommandBuffer commands, bool blits)
{
    const VkImageSubresourceLayers layer = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 1, 1};
    const VkImageCopy copy = {layer, {0}, layer, {0}, {WIDTH, HEIGHT, 1}};
    const VkImageBlit blit = {
        layer, {{0}, {(int32_t)WIDTH, (int32_t)HEIGHT, 1}}, layer, {{0}, {(int32_t)WIDTH, (int32_t)HEIGHT, 1}}};
    if (blits)
        vkCmdBlitImage(commands, scene->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->images[1].image,
                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &blit, VK_FILTER_NEAREST);
    else
        vkCmdCopyImage(commands, scene->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->images[1].image,
                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &copy);
}

static void read_out(const struct scene *scene, VkCommandBuffer commands)
{
    const VkBufferImageCopy color = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                     .imageExtent = {WIDTH, HEIGHT, 1}};
    vkCmdFillBuffer(commands, scene->download.buffer, 0, VK_WHOLE_SIZE, GUARD * 0x01010101u);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    vkCmdCopyImageToBuffer(commands, scene->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                           scene->download.buffer, 1, &padded);
    vkCmdCopyImageToBuffer(commands, scene->color.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->colors.buffer, 1,
                           &color);
}

static void look(const struct scene *scene, VkCommandBuffer commands)
{
    const uint32_t size[2] = {WIDTH, HEIGHT};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->look);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->look_layout, 0, 1, &scene->set, 0, NULL);
    vkCmdPushConstants(commands, scene->look_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(size), size);
    vkCmdDispatch(commands, (WIDTH + 7) / 8, (HEIGHT + 7) / 8, 1);
}

static void to_host(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

/* ---- checks ---- */

static void check_all(const struct scene *scene)
{
    const struct app *app = scene->app;
    app_buffer_invalidate(app, &scene->download, 0, scene->download.size);
    app_buffer_invalidate(app, &scene->results, 0, scene->results.size);
    app_buffer_invalidate(app, &scene->colors, 0, scene->colors.size);
    for (uint32_t layer = 0; layer < LAYERS; layer++)
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (uint32_t x = 0; x < PITCH; x++)
                EXPECT_EQ(app, scene->download.mapped[(layer * SLICE + y) * PITCH + x],
                          x < WIDTH ? final_at(layer, x, y) : GUARD);
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++) {
            uint32_t color, stencil;
            memcpy(&color, scene->colors.mapped + (y * WIDTH + x) * 4, 4);
            memcpy(&stencil, scene->results.mapped + (y * WIDTH + x) * 4, 4);
            EXPECT_EQ(app, color & 0xff, is_drawn(x, y) ? 0xff : 0);
            EXPECT_EQ(app, stencil, final_at(1, x, y));
        }
}

/* ---- runs ---- */

static void run(const struct scene *scene, enum way way, bool dynamic)
{
    const struct app *app = scene->app;
    VkCommandBuffer commands, secondary = VK_NULL_HANDLE;
    struct pass pass;

    open_pass(scene, way, dynamic, &pass);
    if (way == WAY_RENDERING)
        secondary = record_secondary(scene, &pass);
    commands = app_begin(app);
    fill(scene, commands);
    to_attachment(scene, commands, way == WAY_RENDERING);
    if (way == WAY_RENDERING)
        draw_rendering(scene, commands, secondary);
    else
        draw_pass(scene, commands, &pass);
    TO(0, scene->drawn, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT);
    read_out(scene, commands);
    TO(1, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    pass_on(scene, commands, scene->has_blit && way == WAY_PASS2);
    TO(1, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, scene->looked);
    look(scene, commands);
    to_host(commands);
    app_run(app, commands);
    check_all(scene);
    if (secondary)
        vkFreeCommandBuffers(app->device, app->pool, 1, &secondary);
    close_pass(scene, &pass);
}

/* Samples that were cleared, and drawn to where the pass draws, become layer 1 of the first image. */
static void resolve(const struct scene *scene)
{
    const struct app *app = scene->app;
    const VkClearDepthStencilValue one = {0.0f, 1};
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 1, 0, 1};
    const VkImageView views[2] = {scene->samples_view, scene->views[0]};
    const VkBufferImageCopy packed = {.imageSubresource = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 1, 1},
                                      .imageExtent = {WIDTH, HEIGHT, 1}};
    struct app_pipeline pipeline = {.vertex = scene->vertex,
                                    .fragment = scene->fragment,
                                    .layout = scene->draw_layout,
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .samples = SAMPLES,
                                    .depth = true,
                                    .never = true,
                                    .stencil = true};
    struct pass pass = {.way = WAY_PASS2, .pass = create_pass2(scene, false, true)};
    VkCommandBuffer commands = app_begin(app);
    pass.framebuffer = app_framebuffer(app, pass.pass, 2, views, WIDTH, HEIGHT);
    pipeline.render_pass = pass.pass;
    pass.pipeline = app_graphics_pipeline(app, &pipeline);
    app_image_barrier(commands, &scene->samples, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdClearDepthStencilImage(commands, scene->samples.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &one, 1, &all);
    app_image_barrier(commands, &scene->samples, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, scene->drawn);
    TO(0, VK_IMAGE_LAYOUT_UNDEFINED, scene->drawn);
    draw_pass(scene, commands, &pass);
    TO(0, scene->drawn, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, scene->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->second.buffer,
                           1, &packed);
    to_host(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->second, 0, scene->second.size);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        EXPECT_EQ(app, scene->second.mapped[i], i % WIDTH == COLUMN ? 5 : 2);
    close_pass(scene, &pass);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--resolve", "resolves samples, too, which not all drivers do", &with_resolves, NULL},
        {"--blit", "blits, too, which not all drivers do", &with_blits, NULL},
        {"--together", "uses no layouts of stencil alone", &together, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "stencil",
        .options = options,
        .what = "Fills, draws against, resolves, samples and reads images of stencil alone."};
    const VkFormatFeatureFlags needed = VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT |
                                        VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
                                        VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    struct scene scene = {0};
    struct app app;

    app_init(&app, argc, argv, &program);
    scene.app = &app;
    if (!app_format_has(&app, STENCIL, VK_IMAGE_TILING_OPTIMAL, needed))
        app_skip(&app, "no images of stencil alone");
    create_device(&scene);
    ask(&scene);
    create_scene(&scene);
    run(&scene, WAY_PASS, false);
    if (scene.has_pass2)
        run(&scene, WAY_PASS2, scene.has_1_3);
    for (int dynamic = 0; dynamic < 2 && scene.has_1_3; dynamic++)
        run(&scene, WAY_RENDERING, dynamic);
    if (scene.has_resolve)
        resolve(&scene);
    destroy_scene(&scene);
    return app_finish(&app);
}
