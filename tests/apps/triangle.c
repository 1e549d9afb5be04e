/* SPDX-License-Identifier: MIT */
/*
 * triangle: the smallest program of the usual kind: a textured quad in front of a triangle, with a depth buffer, a
 * texture that came through a staging buffer, vertices, indices and a uniform buffer that changes with each frame.
 */
#include "common/target.h"
#include "shaders/triangle_frag.h"
#include "shaders/triangle_vert.h"

#define TEXTURE_SIZE   64u
#define UNIFORM_STRIDE 256u /* no device needs a larger alignment */

struct vertex {
    float position[3];
    float uv[2];
};

struct uniforms {
    float offset[4];
    float tint[4];
};

/* The quad stands in front; the triangle is drawn after it and must not cover it. Its uv never leaves one texel. */
static const struct vertex vertices[] = {
    {{-0.5f, -0.5f, 0.25f}, {0, 0}},      {{0.5f, -0.5f, 0.25f}, {1, 0}},       {{0.5f, 0.5f, 0.25f}, {1, 1}},
    {{-0.5f, 0.5f, 0.25f}, {0, 1}},       {{-1.0f, 0.9f, 0.75f}, {0.1f, 0.1f}}, {{1.0f, 0.9f, 0.75f}, {0.1f, 0.1f}},
    {{0.0f, -0.9f, 0.75f}, {0.1f, 0.1f}},
};
static const uint16_t indices[] = {0, 1, 2, 0, 2, 3, 4, 5, 6};
static const uint32_t quadrants[4] = {0xff4020ff, 0x20ff40ff, 0x4020ffff, 0xffff20ff}; /* RRGGBBAA */

struct scene {
    struct app_buffer geometry, uniforms;
    struct app_image texture, depth;
    VkSampler sampler;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet sets[APP_IN_FLIGHT];
    VkPipelineLayout layout;
    VkRenderPass pass;
    VkPipeline pipeline;
    VkFramebuffer framebuffers[APP_MAX_IMAGES];
};

static struct uniforms uniforms_of(uint32_t frame)
{
    return (struct uniforms){{(float)(frame % 5) * 0.05f - 0.1f, 0, 0, 0}, {1, frame % 2 ? 0.5f : 1.0f, 1, 1}};
}

static uint32_t tinted(uint32_t rgba, uint32_t frame)
{
    uint32_t green = rgba >> 16 & 0xff;
    return frame % 2 ? (rgba & 0xff00ffff) | green / 2 << 16 : rgba;
}

static void check(const struct app *app, const struct app_pixels *pixels)
{
    /* Positions of normalised device coordinates in 0..1, moved as the frame is. */
    double move = uniforms_of(pixels->frame).offset[0] / 2.0;
    EXPECT_PIXEL(app, pixels, 0.01, 0.01, 0x102030ff);
    EXPECT_PIXEL(app, pixels, 0.35 + move, 0.35, tinted(quadrants[0], pixels->frame));
    EXPECT_PIXEL(app, pixels, 0.65 + move, 0.35, tinted(quadrants[1], pixels->frame));
    EXPECT_PIXEL(app, pixels, 0.35 + move, 0.65, tinted(quadrants[2], pixels->frame));
    EXPECT_PIXEL(app, pixels, 0.65 + move, 0.65, tinted(quadrants[3], pixels->frame));
    EXPECT_PIXEL(app, pixels, 0.50 + move, 0.90, tinted(quadrants[0], pixels->frame));
}

static void create_buffers(const struct app *app, struct scene *scene)
{
    struct app_buffer staging;
    const VkDeviceSize index_offset = sizeof(vertices);
    app_buffer_create(app, &staging, sizeof(vertices) + sizeof(indices), VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    memcpy(staging.mapped, vertices, sizeof(vertices));
    memcpy(staging.mapped + index_offset, indices, sizeof(indices));
    app_buffer_flush(app, &staging, 0, staging.size);
    app_buffer_create(app, &scene->geometry, staging.size,
                      VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
                          VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_DEVICE);
    VkCommandBuffer commands = app_begin(app);
    vkCmdCopyBuffer(commands, staging.buffer, scene->geometry.buffer, 1, &(VkBufferCopy){0, 0, staging.size});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_VERTEX_INPUT_BIT,
                       VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT | VK_ACCESS_INDEX_READ_BIT);
    app_run(app, commands);
    app_buffer_destroy(app, &staging);
    app_buffer_create(app, &scene->uniforms, UNIFORM_STRIDE * APP_IN_FLIGHT, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
                      APP_UPLOAD);
}

static void create_texture(const struct app *app, struct scene *scene)
{
    struct app_buffer staging;
    app_buffer_create(app, &staging, TEXTURE_SIZE * TEXTURE_SIZE * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    for (uint32_t y = 0; y < TEXTURE_SIZE; y++) {
        for (uint32_t x = 0; x < TEXTURE_SIZE; x++) {
            uint32_t rgba = quadrants[(y >= TEXTURE_SIZE / 2) * 2 + (x >= TEXTURE_SIZE / 2)];
            uint8_t *texel = staging.mapped + (y * TEXTURE_SIZE + x) * 4;
            for (int c = 0; c < 4; c++)
                texel[c] = (uint8_t)(rgba >> (24 - 8 * c));
        }
    }
    app_buffer_flush(app, &staging, 0, staging.size);
    app_image_create_2d(app, &scene->texture, VK_FORMAT_R8G8B8A8_UNORM, TEXTURE_SIZE, TEXTURE_SIZE,
                        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    VkCommandBuffer commands = app_begin(app);
    app_image_barrier(commands, &scene->texture, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    VkBufferImageCopy region = {0};
    region.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = (VkExtent3D){TEXTURE_SIZE, TEXTURE_SIZE, 1};
    vkCmdCopyBufferToImage(commands, staging.buffer, scene->texture.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &region);
    app_image_barrier(commands, &scene->texture, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                      VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    app_run(app, commands);
    app_buffer_destroy(app, &staging);

    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    sampler.addressModeU = sampler.addressModeV = sampler.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &scene->sampler));
}

static void create_descriptors(const struct app *app, struct scene *scene)
{
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL},
    };
    scene->set_layout = app_set_layout(app, COUNT_OF(bindings), bindings);
    const VkDescriptorPoolSize sizes[] = {
        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, APP_IN_FLIGHT},
        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, APP_IN_FLIGHT},
    };
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = APP_IN_FLIGHT;
    pool.poolSizeCount = COUNT_OF(sizes);
    pool.pPoolSizes = sizes;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->descriptor_pool));
    for (uint32_t i = 0; i < APP_IN_FLIGHT; i++) {
        VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
        allocate.descriptorPool = scene->descriptor_pool;
        allocate.descriptorSetCount = 1;
        allocate.pSetLayouts = &scene->set_layout;
        CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &scene->sets[i]));
        VkDescriptorBufferInfo buffer = {scene->uniforms.buffer, i * UNIFORM_STRIDE, sizeof(struct uniforms)};
        VkDescriptorImageInfo image = {scene->sampler, scene->texture.view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
        VkWriteDescriptorSet writes[2] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET},
                                          {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET}};
        writes[0].dstSet = writes[1].dstSet = scene->sets[i];
        writes[0].descriptorCount = writes[1].descriptorCount = 1;
        writes[0].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        writes[0].pBufferInfo = &buffer;
        writes[1].dstBinding = 1;
        writes[1].descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
        writes[1].pImageInfo = &image;
        vkUpdateDescriptorSets(app->device, 2, writes, 0, NULL);
    }
}

static void create_pipeline(const struct app *app, struct scene *scene, const struct app_target *target)
{
    const struct app_swapchain *images = &target->swapchain;
    VkFormat depth_format = app_depth_format(app);
    app_image_create_2d(app, &scene->depth, depth_format, images->extent.width, images->extent.height,
                        VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
    scene->pass = app_render_pass(app, images->format, depth_format, target->final_layout);
    for (uint32_t i = 0; i < images->count; i++) {
        const VkImageView views[] = {images->views[i], scene->depth.view};
        scene->framebuffers[i] =
            app_framebuffer(app, scene->pass, 2, views, images->extent.width, images->extent.height);
    }
    scene->layout = app_pipeline_layout(app, 1, &scene->set_layout, 0, 0);

    const VkVertexInputBindingDescription binding = {0, sizeof(struct vertex), VK_VERTEX_INPUT_RATE_VERTEX};
    const VkVertexInputAttributeDescription attributes[] = {
        {0, 0, VK_FORMAT_R32G32B32_SFLOAT, offsetof(struct vertex, position)},
        {1, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(struct vertex, uv)},
    };
    VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    input.vertexBindingDescriptionCount = 1;
    input.pVertexBindingDescriptions = &binding;
    input.vertexAttributeDescriptionCount = COUNT_OF(attributes);
    input.pVertexAttributeDescriptions = attributes;
    struct app_pipeline pipeline = {
        .vertex = app_shader(app, triangle_vert, sizeof(triangle_vert)),
        .fragment = app_shader(app, triangle_frag, sizeof(triangle_frag)),
        .layout = scene->layout,
        .render_pass = scene->pass,
        .vertex_input = &input,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
        .depth = true,
        .color_count = 1,
    };
    scene->pipeline = app_graphics_pipeline(app, &pipeline);
    vkDestroyShaderModule(app->device, pipeline.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline.fragment, NULL);
}

static void draw(struct app_target *target, struct scene *scene)
{
    struct app_frame *frame = app_target_begin(target);
    struct uniforms uniforms = uniforms_of(frame->number);
    memcpy(scene->uniforms.mapped + frame->slot * UNIFORM_STRIDE, &uniforms, sizeof(uniforms));
    app_buffer_flush(target->app, &scene->uniforms, frame->slot * UNIFORM_STRIDE, sizeof(uniforms));

    VkCommandBuffer commands = frame->commands;
    const VkClearValue clears[2] = {{.color.float32 = {16 / 255.0f, 32 / 255.0f, 48 / 255.0f, 1}},
                                    {.depthStencil.depth = 1}};
    VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    begin.renderPass = scene->pass;
    begin.framebuffer = scene->framebuffers[frame->image];
    begin.renderArea.extent = target->swapchain.extent;
    begin.clearValueCount = 2;
    begin.pClearValues = clears;
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->pipeline);
    app_set_viewport(commands, target->swapchain.extent.width, target->swapchain.extent.height);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, scene->layout, 0, 1, &scene->sets[frame->slot],
                            0, NULL);
    vkCmdBindVertexBuffers(commands, 0, 1, &scene->geometry.buffer, &(VkDeviceSize){0});
    vkCmdBindIndexBuffer(commands, scene->geometry.buffer, sizeof(vertices), VK_INDEX_TYPE_UINT16);
    vkCmdDrawIndexed(commands, 6, 1, 0, 0, 0);
    vkCmdDrawIndexed(commands, 3, 1, 6, 0, 0);
    vkCmdEndRenderPass(commands);
    app_target_end(target, frame);
}

static void destroy(const struct app *app, struct scene *scene)
{
    for (uint32_t i = 0; i < APP_MAX_IMAGES; i++)
        vkDestroyFramebuffer(app->device, scene->framebuffers[i], NULL);
    vkDestroyPipeline(app->device, scene->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, scene->layout, NULL);
    vkDestroyRenderPass(app->device, scene->pass, NULL);
    vkDestroyDescriptorPool(app->device, scene->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->set_layout, NULL);
    vkDestroySampler(app->device, scene->sampler, NULL);
    app_image_destroy(app, &scene->texture);
    app_image_destroy(app, &scene->depth);
    app_buffer_destroy(app, &scene->geometry);
    app_buffer_destroy(app, &scene->uniforms);
}

int main(int argc, char **argv)
{
    static bool tell, srgb, hash;
    static const struct app_option options[] = {
        {.name = "--srgb", .help = "draw into images of an sRGB format", .flag = &srgb},
        {.name = "--hash", .help = "print a hash of each frame's pixels", .flag = &hash},
        {.name = "--tell", .help = "print a line when a frame was presented", .flag = &tell},
        {.name = NULL},
    };
    static const struct app_program program = {
        .name = "triangle",
        .options = options,
        .what = "Draws a textured quad in front of a triangle, in a window or off screen.",
        .frames = 60,
        .can_present = true,
        .presents_by_default = true,
    };
    struct app app;
    struct app_target target;
    struct scene scene = {0};
    app_init(&app, argc, argv, &program);
    app.srgb = srgb;
    app.hash = hash;
    app_device_create(&app, NULL);
    app_target_create(&app, &target, check);
    create_buffers(&app, &scene);
    create_texture(&app, &scene);
    create_descriptors(&app, &scene);
    create_pipeline(&app, &scene, &target);
    for (uint32_t i = 0; i < app.frames; i++) {
        draw(&target, &scene);
        if (tell) {
            printf("frame\n");
            fflush(stdout);
        }
    }
    app_target_drain(&target);
    CHECK_VK(vkDeviceWaitIdle(app.device));
    destroy(&app, &scene);
    app_target_destroy(&target);
    return app_finish(&app);
}
