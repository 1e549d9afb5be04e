/* SPDX-License-Identifier: MIT */
/*
 * wasteful: draws a textured triangle, each time from new bytes of the host, and reads it back, and does nothing that
 * is of no use. --what N: but for one thing, as the list of `names` counts from 1. "layout" breaks a rule of the
 * specification that drivers bear, in a barrier, a copy, a render pass and a descriptor.
 */
#include "common/canvas.h"
#include "shaders/move_comp.h"
#include "shaders/triangle_frag.h"
#include "shaders/triangle_vert.h"

#define SIDE    16u
#define BYTES   (SIDE * SIDE * 4)
#define FORMAT  VK_FORMAT_R8G8B8A8_UNORM
#define INDICES 1024u /* offset in the buffer of vertices */

enum what {
    NOTHING,
    LAYOUT,
    PIPELINE_BOUND,
    SETS_BOUND,
    VERTEX_BOUND,
    INDEX_BOUND,
    STATE_SET,
    CONSTANTS_PUSHED,
    DRAW_NOTHING,
    DISPATCH_NOTHING,
    CLEARED_AGAIN,
    BARRIER_IDLE,
    IMAGE_UNUSED,
    BUFFER_UNUSED,
    OBJECT_UNUSED,
    UPDATE_UNREAD,
    PIPELINE_LATE,
    SUBMIT_EMPTY,
    WAIT_IDLE,
    OBJECT_LEFT,
    WHATS
};

static const char *const names[WHATS] = {"nothing",       "layout",           "pipeline-bound", "sets-bound",
                                         "vertex-bound",  "index-bound",      "state-set",      "constants-pushed",
                                         "draw-nothing",  "dispatch-nothing", "cleared-again",  "barrier-idle",
                                         "image-unused",  "buffer-unused",    "object-unused",  "update-unread",
                                         "pipeline-late", "submit-empty",     "wait-idle",      "object-left"};

struct scene {
    struct app app;
    enum what what;
    struct app_image target, texture, spare;
    struct app_buffer vertices, uniforms, upload, read;
    VkSampler sampler;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipeline pipeline;
    struct app_compute compute;
};

/* ---- creation ---- */

static void create_set(struct scene *s)
{
    const struct app *app = &s->app;
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_ALL_GRAPHICS, NULL},
        {1, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL}};
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1},
                                          {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = COUNT_OF(sizes),
                                             .pPoolSizes = sizes};
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    const VkDescriptorBufferInfo buffer = {s->uniforms.buffer, 0, VK_WHOLE_SIZE};
    VkDescriptorImageInfo image = {.imageView = s->texture.view,
                                   .imageLayout = s->what == LAYOUT ? VK_IMAGE_LAYOUT_GENERAL
                                                                    : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};

    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &s->sampler));
    s->set_layout = app_set_layout(app, COUNT_OF(bindings), bindings);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &s->pool));
    allocate.descriptorPool = s->pool;
    allocate.pSetLayouts = &s->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &s->set));
    image.sampler = s->sampler;
    const VkWriteDescriptorSet writes[] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                            .dstSet = s->set,
                                            .dstBinding = 0,
                                            .descriptorCount = 1,
                                            .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                            .pBufferInfo = &buffer},
                                           {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                            .dstSet = s->set,
                                            .dstBinding = 1,
                                            .descriptorCount = 1,
                                            .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                            .pImageInfo = &image}};
    vkUpdateDescriptorSets(app->device, COUNT_OF(writes), writes, 0, NULL);
}

static VkRenderPass create_pass(const struct app *app, VkImageLayout initial)
{
    const VkAttachmentDescription attachment = {.format = FORMAT,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                .initialLayout = initial,
                                                .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
    const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = 1,
                                          .pColorAttachments = &reference};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 1,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VkRenderPass pass;

    CHECK_VK(vkCreateRenderPass(app->device, &info, NULL, &pass));
    return pass;
}

static VkPipeline create_pipeline(const struct scene *s)
{
    static const VkVertexInputBindingDescription binding = {0, 20, VK_VERTEX_INPUT_RATE_VERTEX};
    static const VkVertexInputAttributeDescription attributes[] = {{0, 0, VK_FORMAT_R32G32B32_SFLOAT, 0},
                                                                   {1, 0, VK_FORMAT_R32G32_SFLOAT, 12}};
    static const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = COUNT_OF(attributes),
        .pVertexAttributeDescriptions = attributes};
    struct app_pipeline pipeline = {.vertex = app_shader(&s->app, triangle_vert, sizeof triangle_vert),
                                    .fragment = app_shader(&s->app, triangle_frag, sizeof triangle_frag),
                                    .layout = s->layout,
                                    .render_pass = s->pass,
                                    .vertex_input = &input,
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .color_count = 1};
    VkPipeline made = app_graphics_pipeline(&s->app, &pipeline);

    vkDestroyShaderModule(s->app.device, pipeline.vertex, NULL);
    vkDestroyShaderModule(s->app.device, pipeline.fragment, NULL);
    return made;
}

/* A name that a page must not take for its own. */
static void name_image(const struct app *app, VkImage image)
{
    PFN_vkSetDebugUtilsObjectNameEXT set_name =
        (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(app->instance, "vkSetDebugUtilsObjectNameEXT");
    const VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                                .objectType = VK_OBJECT_TYPE_IMAGE,
                                                .objectHandle = (uint64_t)(uintptr_t)image,
                                                .pObjectName = "<script>alert(1)</script>&\"'"};

    if (set_name)
        CHECK_VK(set_name(app->device, &info));
}

static void create(struct scene *s)
{
    const struct app *app = &s->app;
    const VkBufferUsageFlags more = s->what == DISPATCH_NOTHING ? VK_BUFFER_USAGE_STORAGE_BUFFER_BIT : 0;

    app_image_create_2d(app, &s->target, FORMAT, SIDE, SIDE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_image_create_2d(app, &s->texture, FORMAT, SIDE, SIDE,
                        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    if (s->what == IMAGE_UNUSED) {
        app_image_create_2d(app, &s->spare, FORMAT, SIDE, SIDE, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
        name_image(app, s->spare.image);
    }
    app_buffer_create(app, &s->vertices, 2 * INDICES,
                      VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &s->uniforms, 32, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &s->upload, BYTES,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT | more, APP_UPLOAD);
    app_buffer_create(app, &s->read, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT | more, APP_READBACK);
    create_set(s);
    s->layout = app_pipeline_layout(app, 1, &s->set_layout, VK_SHADER_STAGE_VERTEX_BIT, 16);
    s->pass =
        create_pass(app, s->what == LAYOUT ? VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL : VK_IMAGE_LAYOUT_UNDEFINED);
    s->framebuffer = app_framebuffer(app, s->pass, 1, &s->target.view, SIDE, SIDE);
    s->pipeline = create_pipeline(s);
    if (s->what == DISPATCH_NOTHING)
        app_compute_create(app, &s->compute, move_comp, sizeof move_comp, &s->upload, &s->read);
}

static void destroy(struct scene *s)
{
    const struct app *app = &s->app;

    if (s->what == DISPATCH_NOTHING)
        app_compute_destroy(app, &s->compute);
    vkDestroyPipeline(app->device, s->pipeline, NULL);
    vkDestroyFramebuffer(app->device, s->framebuffer, NULL);
    vkDestroyRenderPass(app->device, s->pass, NULL);
    vkDestroyPipelineLayout(app->device, s->layout, NULL);
    vkDestroyDescriptorPool(app->device, s->pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, s->set_layout, NULL);
    if (s->what != OBJECT_LEFT)
        vkDestroySampler(app->device, s->sampler, NULL);
    app_buffer_destroy(app, &s->read);
    app_buffer_destroy(app, &s->upload);
    app_buffer_destroy(app, &s->uniforms);
    app_buffer_destroy(app, &s->vertices);
    if (s->what == IMAGE_UNUSED)
        app_image_destroy(app, &s->spare);
    app_image_destroy(app, &s->texture);
    app_image_destroy(app, &s->target);
}

/* ---- a frame ---- */

static void write_bytes(const struct scene *s, uint32_t frame)
{
    static const float triangle[] = {-1, -1, 0, 0, 0, 3, -1, 0, 0, 0, -1, 3, 0, 0, 0};
    static const uint16_t indices[] = {0, 1, 2};
    const float uniforms[8] = {0, 0, 0, 0, 1, 1, 1, (float)frame};

    memcpy(s->vertices.mapped, triangle, sizeof triangle);
    memcpy(s->vertices.mapped + INDICES, indices, sizeof indices);
    memcpy(s->uniforms.mapped, uniforms, sizeof uniforms);
    memset(s->upload.mapped, (int)(0x40 + 0x10 * frame), BYTES);
    app_buffer_flush(&s->app, &s->vertices, 0, 2 * INDICES);
    app_buffer_flush(&s->app, &s->uniforms, 0, sizeof uniforms);
    app_buffer_flush(&s->app, &s->upload, 0, BYTES);
}

static void upload(const struct scene *s, VkCommandBuffer commands)
{
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIDE, SIDE, 1}};

    app_image_barrier(commands, &s->texture, VK_IMAGE_LAYOUT_UNDEFINED,
                      s->what == LAYOUT ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, s->upload.buffer, s->texture.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &region);
    app_image_barrier(commands, &s->texture, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                      VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
}

static void begin_pass(const struct scene *s, VkCommandBuffer commands)
{
    const VkClearValue clear = {.color.float32 = {0, 0, 0, 1}};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = s->pass,
                                         .framebuffer = s->framebuffer,
                                         .renderArea = {.extent = {SIDE, SIDE}},
                                         .clearValueCount = 1,
                                         .pClearValues = &clear};

    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
}

/* Each command once, but for the one that is of no use. */
static void draw(const struct scene *s, VkCommandBuffer commands)
{
    static const uint8_t constants[16] = {1, 2, 3};
    const VkViewport viewport = {0, 0, SIDE, SIDE, 0, 1};
    const VkRect2D scissor = {.extent = {SIDE, SIDE}};
    const VkDeviceSize offset = 0;

    for (int i = 0; i <= (s->what == PIPELINE_BOUND); i++)
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, s->pipeline);
    for (int i = 0; i <= (s->what == SETS_BOUND); i++)
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, s->layout, 0, 1, &s->set, 0, NULL);
    for (int i = 0; i <= (s->what == VERTEX_BOUND); i++)
        vkCmdBindVertexBuffers(commands, 0, 1, &s->vertices.buffer, &offset);
    for (int i = 0; i <= (s->what == INDEX_BOUND); i++)
        vkCmdBindIndexBuffer(commands, s->vertices.buffer, INDICES, VK_INDEX_TYPE_UINT16);
    vkCmdSetViewport(commands, 0, 1, &viewport);
    for (int i = 0; i <= (s->what == STATE_SET); i++)
        vkCmdSetScissor(commands, 0, 1, &scissor);
    for (int i = 0; i <= (s->what == CONSTANTS_PUSHED); i++)
        vkCmdPushConstants(commands, s->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof constants, constants);
    vkCmdDrawIndexed(commands, 3, 1, 0, 0, 0);
    if (s->what == DRAW_NOTHING)
        vkCmdDrawIndexed(commands, 0, 1, 0, 0, 0);
}

static void read_back(const struct scene *s, VkCommandBuffer commands)
{
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIDE, SIDE, 1}};

    for (int i = 0; i <= (s->what == BARRIER_IDLE); i++)
        app_memory_barrier(commands, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                           VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_ACCESS_TRANSFER_READ_BIT);
    vkCmdCopyImageToBuffer(commands, s->target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, s->read.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

/* A submit that binds the bytes of the host, and reads none of them. */
static void submit_beside(const struct scene *s)
{
    VkCommandBuffer commands = app_begin(&s->app);

    vkCmdBindIndexBuffer(commands, s->upload.buffer, 0, VK_INDEX_TYPE_UINT16);
    app_run(&s->app, commands);
}

static void run_frame(struct scene *s, uint32_t frame)
{
    const struct app *app = &s->app;
    VkCommandBuffer commands;

    if (s->what == UPDATE_UNREAD && frame) {
        memset(s->upload.mapped, 0x77, BYTES);
        app_buffer_flush(app, &s->upload, 0, BYTES);
        submit_beside(s);
    }
    if (s->what == PIPELINE_LATE && frame) {
        vkDestroyPipeline(app->device, s->pipeline, NULL);
        s->pipeline = create_pipeline(s);
    }
    write_bytes(s, frame);
    commands = app_begin(app);
    upload(s, commands);
    if (s->what == DISPATCH_NOTHING)
        app_compute_run(&s->compute, commands, (const uint32_t[4]){0, 0, 1, 0}, 0);
    if (s->what == CLEARED_AGAIN) {
        begin_pass(s, commands);
        vkCmdEndRenderPass(commands);
        app_memory_barrier(commands, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                           VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                           VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT);
    }
    begin_pass(s, commands);
    draw(s, commands);
    vkCmdEndRenderPass(commands);
    read_back(s, commands);
    app_run(app, commands);
    if (s->what == SUBMIT_EMPTY && !frame)
        CHECK_VK(vkQueueSubmit(app->queue, 0, NULL, VK_NULL_HANDLE));
    if (s->what == WAIT_IDLE && frame == 1)
        CHECK_VK(vkDeviceWaitIdle(app->device));
    app_buffer_invalidate(app, &s->read, 0, BYTES);
    EXPECT_EQ(app, s->read.mapped[4], 0x40 + 0x10 * frame);
}

int main(int argc, char **argv)
{
    static uint32_t what;
    static const struct app_option options[] = {
        {"--what", "the thing that is of no use, from 1; 0: none (default)", NULL, &what}, {NULL, NULL, NULL, NULL}};
    static const char *const instance_extensions[] = {"VK_EXT_debug_utils", NULL};
    static const struct app_program program = {.name = "wasteful",
                                               .what = "does one thing of no use",
                                               .frames = 3,
                                               .instance_extensions = instance_extensions,
                                               .options = options};
    struct scene s = {.what = NOTHING};
    struct app_buffer buffer;
    VkSampler sampler;
    const VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};

    app_init(&s.app, argc, argv, &program);
    CHECK(what < WHATS);
    s.what = (enum what)what;
    printf("of no use: %s\n", names[what]);
    app_device_create(&s.app, NULL);
    create(&s);
    if (s.what == BUFFER_UNUSED) {
        app_buffer_create(&s.app, &buffer, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
        app_buffer_destroy(&s.app, &buffer);
    }
    if (s.what == OBJECT_UNUSED) {
        CHECK_VK(vkCreateSampler(s.app.device, &info, NULL, &sampler));
        vkDestroySampler(s.app.device, sampler, NULL);
    }
    for (uint32_t frame = 0; frame < s.app.frames; frame++)
        run_frame(&s, frame);
    destroy(&s);
    return app_finish(&s.app);
}
