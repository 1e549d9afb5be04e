/* SPDX-License-Identifier: MIT */
/*
 * painted: one texel that is written in every way, in one submit, each time with a colour of its own: by a clear, a
 * copy, a blit and a shader's store; in a render pass with depth and stencil by draws, of which one is behind and one
 * beside it, and by a clear in it; by the resolve of a render pass and by a resolve; and by a draw in a secondary
 * command buffer. The colours are in tests/e2e/pixel.py, too.
 */
#include "common/app.h"
#include "shaders/attached_store_comp.h"
#include "shaders/headless_frag.h"
#include "shaders/headless_vert.h"

#define SIZE    64u
#define X       20u
#define Y       40u
#define FORMAT  VK_FORMAT_R8G8B8A8_UNORM
#define SAMPLES VK_SAMPLE_COUNT_4_BIT
#define LAYOUT  VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL

enum { DRAWN, RESOLVED, LOADED, PASSES };

struct scene {
    struct app app;
    struct app_image target, source, depth, samples;
    struct app_buffer bytes, read;
    VkRenderPass passes[PASSES];
    VkFramebuffer framebuffers[PASSES];
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout, store_layout;
    VkPipeline with_depth, plain, store;
    VkCommandBuffer secondary;
};

struct store_push {
    int32_t x, y, width, height;
    uint32_t value;
};

static VkClearColorValue color(uint32_t r, uint32_t g, uint32_t b)
{
    return (VkClearColorValue){{(float)r / 255, (float)g / 255, (float)b / 255, 1}};
}

/* ---- creation ---- */

static VkRenderPass create_pass(const struct scene *scene, uint32_t which, VkFormat depth)
{
    const VkAttachmentDescription color = {
        .format = FORMAT,
        .samples = which == RESOLVED ? SAMPLES : VK_SAMPLE_COUNT_1_BIT,
        .loadOp = which == LOADED ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
        .initialLayout = which == RESOLVED ? VK_IMAGE_LAYOUT_UNDEFINED : LAYOUT,
        .finalLayout = which == LOADED ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : LAYOUT};
    const VkAttachmentDescription other = {
        .format = which == RESOLVED ? FORMAT : depth,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .loadOp = which == RESOLVED ? VK_ATTACHMENT_LOAD_OP_DONT_CARE : VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = which == RESOLVED ? VK_ATTACHMENT_STORE_OP_STORE : VK_ATTACHMENT_STORE_OP_DONT_CARE,
        .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
        .initialLayout = which == RESOLVED ? LAYOUT : VK_IMAGE_LAYOUT_UNDEFINED,
        .finalLayout = which == RESOLVED ? LAYOUT : VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
    const VkAttachmentReference references[] = {{0, LAYOUT}, {1, other.finalLayout}};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = 1,
                                          .pColorAttachments = references,
                                          .pResolveAttachments = which == RESOLVED ? &references[1] : NULL,
                                          .pDepthStencilAttachment = which == DRAWN ? &references[1] : NULL};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = which == LOADED ? 1 : 2,
                                         .pAttachments = (VkAttachmentDescription[]){color, other},
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VkRenderPass pass;

    CHECK_VK(vkCreateRenderPass(scene->app.device, &info, NULL, &pass));
    return pass;
}

static void create_images(struct scene *scene, VkFormat depth)
{
    const struct app *app = &scene->app;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = FORMAT,
                              .extent = {SIZE, SIZE, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = SAMPLES,
                              .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                       VK_IMAGE_USAGE_TRANSFER_DST_BIT};

    app_image_create_2d(app, &scene->target, FORMAT, SIZE, SIZE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
                            VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    app_image_create_2d(app, &scene->source, FORMAT, SIZE, SIZE,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    app_image_create(app, &scene->samples, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    info.format = depth;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    app_image_create(app, &scene->depth, &info, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT,
                     VK_IMAGE_VIEW_TYPE_2D);
}

static void create_store(struct scene *scene)
{
    const struct app *app = &scene->app;
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                  NULL};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &scene->set_layout};
    const VkDescriptorImageInfo image = {.imageView = scene->target.view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                  .pImageInfo = &image};

    scene->set_layout = app_set_layout(app, 1, &binding);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->pool));
    allocate.descriptorPool = scene->pool;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &scene->set));
    write.dstSet = scene->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    scene->store_layout =
        app_pipeline_layout(app, 1, &scene->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct store_push));
    scene->store = app_compute_pipeline(app, attached_store_comp, sizeof attached_store_comp, scene->store_layout);
}

static void create(struct scene *scene)
{
    const struct app *app = &scene->app;
    const VkFormat depth = app_format_has(app, VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_TILING_OPTIMAL,
                                          VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT)
                               ? VK_FORMAT_D32_SFLOAT_S8_UINT
                               : VK_FORMAT_D24_UNORM_S8_UINT;
    struct app_pipeline pipeline = {.vertex = app_shader(app, headless_vert, sizeof headless_vert),
                                    .fragment = app_shader(app, headless_frag, sizeof headless_frag),
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .depth = true,
                                    .stencil = true,
                                    .color_count = 1};
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = app->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                                  .commandBufferCount = 1};

    create_images(scene, depth);
    create_store(scene);
    app_buffer_create(app, &scene->bytes, SIZE * SIZE * 4,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    app_buffer_create(app, &scene->read, 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < PASSES; i++) {
        const VkImageView views[] = {i == RESOLVED ? scene->samples.view : scene->target.view,
                                     i == RESOLVED ? scene->target.view : scene->depth.view};
        scene->passes[i] = create_pass(scene, i, depth);
        scene->framebuffers[i] = app_framebuffer(app, scene->passes[i], i == LOADED ? 1 : 2, views, SIZE, SIZE);
    }
    pipeline.layout = scene->layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    pipeline.render_pass = scene->passes[DRAWN];
    scene->with_depth = app_graphics_pipeline(app, &pipeline);
    pipeline.depth = pipeline.stencil = false;
    pipeline.render_pass = scene->passes[LOADED];
    scene->plain = app_graphics_pipeline(app, &pipeline);
    vkDestroyShaderModule(app->device, pipeline.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline.fragment, NULL);
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &scene->secondary));
}

static void destroy(struct scene *scene)
{
    const struct app *app = &scene->app;
    const VkPipeline pipelines[] = {scene->with_depth, scene->plain, scene->store};

    for (uint32_t i = 0; i < COUNT_OF(pipelines); i++)
        vkDestroyPipeline(app->device, pipelines[i], NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    vkDestroyPipelineLayout(app->device, scene->store_layout, NULL);
    vkDestroyDescriptorPool(app->device, scene->pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    for (uint32_t i = 0; i < PASSES; i++) {
        vkDestroyFramebuffer(app->device, scene->framebuffers[i], NULL);
        vkDestroyRenderPass(app->device, scene->passes[i], NULL);
    }
    app_buffer_destroy(app, &scene->bytes);
    app_buffer_destroy(app, &scene->read);
    app_image_destroy(app, &scene->target);
    app_image_destroy(app, &scene->source);
    app_image_destroy(app, &scene->depth);
    app_image_destroy(app, &scene->samples);
}

/* ---- work ---- */

static void clear_image(VkCommandBuffer commands, const struct app_image *image, VkClearColorValue value)
{
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};

    vkCmdClearColorImage(commands, image->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &value, 1, &all);
}

static void transfer(const struct scene *scene, VkCommandBuffer commands)
{
    const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkBufferImageCopy copy = {.imageSubresource = layers, .imageExtent = {SIZE, SIZE, 1}};
    const VkImageBlit blit = {layers, {{0, 0, 0}, {SIZE, SIZE, 1}}, layers, {{0, 0, 0}, {SIZE, SIZE, 1}}};
    const VkImageLayout to = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    const struct store_push push = {X, Y, 1, 1, 0xff030201};

    app_image_barrier(commands, &scene->target, VK_IMAGE_LAYOUT_UNDEFINED, to);
    app_image_barrier(commands, &scene->source, VK_IMAGE_LAYOUT_UNDEFINED, to);
    clear_image(commands, &scene->source, color(70, 80, 90));
    clear_image(commands, &scene->target, color(10, 20, 30));
    vkCmdFillBuffer(commands, scene->bytes.buffer, 0, VK_WHOLE_SIZE, 0xff3c3228);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    app_image_barrier(commands, &scene->source, to, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    app_image_barrier(commands, &scene->target, to, to);
    vkCmdCopyBufferToImage(commands, scene->bytes.buffer, scene->target.image, to, 1, &copy);
    app_image_barrier(commands, &scene->target, to, to);
    vkCmdBlitImage(commands, scene->source.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->target.image, to, 1,
                   &blit, VK_FILTER_NEAREST);
    app_image_barrier(commands, &scene->target, to, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->store);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->store_layout, 0, 1, &scene->set, 0, NULL);
    vkCmdPushConstants(commands, scene->store_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(commands, 1, 1, 1);
    app_image_barrier(commands, &scene->target, VK_IMAGE_LAYOUT_GENERAL, LAYOUT);
}

static void begin_pass(const struct scene *scene, VkCommandBuffer commands, uint32_t which, VkClearColorValue value,
                       VkSubpassContents contents)
{
    const VkClearValue clears[] = {{.color = value}, {.depthStencil = {1, 1}}};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = scene->passes[which],
                                         .framebuffer = scene->framebuffers[which],
                                         .renderArea.extent = {SIZE, SIZE},
                                         .clearValueCount = 2,
                                         .pClearValues = clears};

    vkCmdBeginRenderPass(commands, &begin, contents);
}

/* number: what becomes the blue. */
static void draw(const struct scene *scene, VkCommandBuffer commands, uint32_t number, float depth, uint32_t width)
{
    const VkViewport viewport = {0, 0, SIZE, SIZE, depth, depth};
    const VkRect2D scissor = {{0, 0}, {width, SIZE}};

    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &scissor);
    vkCmdPushConstants(commands, scene->layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof number, &number);
    vkCmdDraw(commands, 3, 1, 0, 0);
}

static void draw_all(const struct scene *scene, VkCommandBuffer commands)
{
    const VkClearAttachment clears[] = {
        {VK_IMAGE_ASPECT_COLOR_BIT, 0, {.color = color(100, 110, 120)}},
        {VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, 0, {.depthStencil = {0.75f, 1}}}};
    const VkClearRect rect = {.rect = {{X, Y}, {1, 1}}, .layerCount = 1};

    begin_pass(scene, commands, DRAWN, color(5, 6, 7), VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->with_depth);
    draw(scene, commands, 1, 0.5f, SIZE);
    draw(scene, commands, 2, 0.75f, SIZE);
    draw(scene, commands, 3, 0.25f, X);
    vkCmdClearAttachments(commands, 2, clears, 1, &rect);
    draw(scene, commands, 4, 0.25f, SIZE);
    vkCmdEndRenderPass(commands);
}

static void resolve(const struct scene *scene, VkCommandBuffer commands)
{
    const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkImageResolve region = {layers, {0, 0, 0}, layers, {0, 0, 0}, {SIZE, SIZE, 1}};
    const VkImageLayout to = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, from = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;

    app_image_barrier(commands, &scene->target, LAYOUT, LAYOUT);
    begin_pass(scene, commands, RESOLVED, color(130, 140, 150), VK_SUBPASS_CONTENTS_INLINE);
    vkCmdEndRenderPass(commands);
    app_image_barrier(commands, &scene->samples, LAYOUT, to);
    app_image_barrier(commands, &scene->target, LAYOUT, to);
    clear_image(commands, &scene->samples, color(160, 170, 180));
    app_image_barrier(commands, &scene->samples, to, from);
    vkCmdResolveImage(commands, scene->samples.image, from, scene->target.image, to, 1, &region);
    app_image_barrier(commands, &scene->target, to, LAYOUT);
}

static void draw_secondary(const struct scene *scene, VkCommandBuffer commands)
{
    const VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                        .renderPass = scene->passes[LOADED],
                                                        .framebuffer = scene->framebuffers[LOADED]};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                            .pInheritanceInfo = &inheritance};

    CHECK_VK(vkBeginCommandBuffer(scene->secondary, &begin));
    vkCmdBindPipeline(scene->secondary, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->plain);
    draw(scene, scene->secondary, 5, 0, SIZE);
    CHECK_VK(vkEndCommandBuffer(scene->secondary));
    begin_pass(scene, commands, LOADED, color(0, 0, 0), VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
    vkCmdExecuteCommands(commands, 1, &scene->secondary);
    vkCmdEndRenderPass(commands);
}

static void work(const struct scene *scene)
{
    const struct app *app = &scene->app;
    const VkImageLayout from = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkBufferImageCopy texel = {
        .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageOffset = {X, Y, 0}, .imageExtent = {1, 1, 1}};
    VkCommandBuffer commands = app_begin(app);

    transfer(scene, commands);
    draw_all(scene, commands);
    resolve(scene, commands);
    draw_secondary(scene, commands);
    app_image_barrier(commands, &scene->target, from, from);
    vkCmdCopyImageToBuffer(commands, scene->target.image, from, scene->read.buffer, 1, &texel);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->read, 0, VK_WHOLE_SIZE);
    EXPECT_EQ(app, *(const uint32_t *)(const void *)scene->read.mapped, 0xff504020);
}

int main(int argc, char **argv)
{
    struct scene scene = {.secondary = VK_NULL_HANDLE};
    const struct app_program program = {
        .name = "painted", .what = "A texel that is written in every way.", .frames = 1};

    app_init(&scene.app, argc, argv, &program);
    app_device_create(&scene.app, NULL);
    create(&scene);
    for (uint32_t frame = 0; frame < scene.app.frames; frame++)
        work(&scene);
    destroy(&scene);
    return app_finish(&scene.app);
}
