/* SPDX-License-Identifier: MIT */
/*
 * targets: depth images that each frame clears and fills, in every way that replaces what they held: by render passes
 * from an undefined layout and from the one that they have, by dynamic rendering, by a clear, and over a barrier that
 * keeps the layout. Two more need what they held: one is cleared in half, one is read before it is cleared.
 */
#include "common/app.h"

#define SIDE   96u
#define TEXELS (SIDE * SIDE)
#define FORMAT VK_FORMAT_D32_SFLOAT

enum way { UNDEFINED_PASS, PASS, RENDERING, CLEAR, HALF, READ, WAYS };

struct scene {
    struct app app;
    struct app_image images[WAYS];
    VkRenderPass undefined, known;
    VkFramebuffer framebuffers[WAYS];
    struct app_buffer noise, read;
    float wanted[WAYS][TEXELS], before[TEXELS];
};

/* ---- creation ---- */

static VkRenderPass create_pass(const struct app *app, VkImageLayout initial)
{
    const VkAttachmentDescription attachment = {.format = FORMAT,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                .initialLayout = initial,
                                                .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .pDepthStencilAttachment = &reference};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 1,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VkRenderPass pass;

    CHECK_VK(vkCreateRenderPass(app->device, &info, NULL, &pass));
    return pass;
}

static void create(struct scene *scene)
{
    const struct app *app = &scene->app;
    uint32_t seed = 5;

    scene->undefined = create_pass(app, VK_IMAGE_LAYOUT_UNDEFINED);
    scene->known = create_pass(app, VK_IMAGE_LAYOUT_GENERAL);
    for (uint32_t way = 0; way < WAYS; way++) {
        app_image_create_2d(app, &scene->images[way], FORMAT, SIDE, SIDE,
                            VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                VK_IMAGE_USAGE_TRANSFER_DST_BIT);
        scene->framebuffers[way] = app_framebuffer(app, scene->known, 1, &scene->images[way].view, SIDE, SIDE);
    }
    app_buffer_create(app, &scene->noise, WAYS * TEXELS * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->read, (WAYS + 1) * TEXELS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < WAYS * TEXELS; i++) {
        const float depth = (float)(app_random(&seed) % 65536) / 65536.0f;
        memcpy(scene->noise.mapped + i * sizeof depth, &depth, sizeof depth);
    }
    app_buffer_flush(app, &scene->noise, 0, VK_WHOLE_SIZE);
}

static void destroy(struct scene *scene)
{
    const struct app *app = &scene->app;

    for (uint32_t way = 0; way < WAYS; way++) {
        vkDestroyFramebuffer(app->device, scene->framebuffers[way], NULL);
        app_image_destroy(app, &scene->images[way]);
    }
    vkDestroyRenderPass(app->device, scene->undefined, NULL);
    vkDestroyRenderPass(app->device, scene->known, NULL);
    app_buffer_destroy(app, &scene->noise);
    app_buffer_destroy(app, &scene->read);
}

/* ---- frames ---- */

static float cleared_to(uint32_t frame)
{
    return (float)(frame % 2);
}

static void copy_out(const struct scene *scene, VkCommandBuffer commands, enum way way, uint32_t place)
{
    const VkBufferImageCopy region = {.bufferOffset = (VkDeviceSize)place * TEXELS * 4,
                                      .imageSubresource = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0, 1},
                                      .imageExtent = {SIDE, SIDE, 1}};
    vkCmdCopyImageToBuffer(commands, scene->images[way].image, VK_IMAGE_LAYOUT_GENERAL, scene->read.buffer, 1, &region);
}

static void begin_and_end_pass(const struct scene *scene, VkCommandBuffer commands, enum way way, VkRenderPass pass,
                               const VkClearValue *value)
{
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = pass,
                                         .framebuffer = scene->framebuffers[way],
                                         .renderArea = {{0, 0}, {way == HALF ? SIDE / 2 : SIDE, SIDE}},
                                         .clearValueCount = 1,
                                         .pClearValues = value};
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdEndRenderPass(commands);
}

static void render(const struct scene *scene, VkCommandBuffer commands, enum way way, const VkClearValue *value)
{
    const VkRenderingAttachmentInfo depth = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = scene->images[way].view,
                                             .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                             .clearValue = *value};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .renderArea = {{0, 0}, {SIDE, SIDE}},
                                  .layerCount = 1,
                                  .pDepthAttachment = &depth};
    vkCmdBeginRendering(commands, &info);
    vkCmdEndRendering(commands);
}

static void clear(const struct scene *scene, VkCommandBuffer commands, enum way way, uint32_t frame)
{
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, 1, 0, 1};
    const VkClearValue value = {.depthStencil = {cleared_to(frame), 0}};
    const VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;

    if (way == UNDEFINED_PASS) {
        begin_and_end_pass(scene, commands, way, scene->undefined, &value);
        return;
    }
    app_image_barrier(commands, &scene->images[way], frame ? layout : VK_IMAGE_LAYOUT_UNDEFINED, layout);
    if (way == READ && frame) {
        copy_out(scene, commands, way, WAYS);
        app_image_barrier(commands, &scene->images[way], layout, layout);
    }
    if (way == RENDERING)
        render(scene, commands, way, &value);
    else if (way == CLEAR || way == READ)
        vkCmdClearDepthStencilImage(commands, scene->images[way].image, layout, &value.depthStencil, 1, &all);
    else
        begin_and_end_pass(scene, commands, way, scene->known, &value);
}

/* The lower half becomes noise, of the one that is cleared in half only in the first frame. */
static void fill(struct scene *scene, VkCommandBuffer commands, enum way way, uint32_t frame)
{
    const VkBufferImageCopy region = {.bufferOffset = (VkDeviceSize)way * TEXELS * 4,
                                      .imageSubresource = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0, 1},
                                      .imageOffset = {0, SIDE / 2, 0},
                                      .imageExtent = {SIDE, SIDE / 2, 1}};
    float *wanted = scene->wanted[way];

    for (uint32_t i = 0; i < TEXELS; i++)
        if (way != HALF || i % SIDE < SIDE / 2)
            wanted[i] = cleared_to(frame);
    if (way == HALF && frame)
        return;
    if (way == HALF) /* nothing has cleared the rest */
        for (uint32_t i = 0; i < TEXELS / 2; i++)
            wanted[i] = cleared_to(frame);
    app_image_barrier(commands, &scene->images[way], VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    if (way == HALF) {
        const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, 1, 0, 1};
        const VkClearDepthStencilValue value = {cleared_to(frame), 0};
        vkCmdClearDepthStencilImage(commands, scene->images[way].image, VK_IMAGE_LAYOUT_GENERAL, &value, 1, &all);
        app_image_barrier(commands, &scene->images[way], VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    }
    vkCmdCopyBufferToImage(commands, scene->noise.buffer, scene->images[way].image, VK_IMAGE_LAYOUT_GENERAL, 1,
                           &region);
    memcpy(wanted + TEXELS / 2, scene->noise.mapped + region.bufferOffset, TEXELS / 2 * sizeof *wanted);
}

static void run_frame(struct scene *scene, uint32_t frame)
{
    const struct app *app = &scene->app;
    VkCommandBuffer commands = app_begin(app);
    const uint8_t *read = scene->read.mapped;

    memcpy(scene->before, scene->wanted[READ], sizeof scene->before);
    for (uint32_t way = 0; way < WAYS; way++) {
        clear(scene, commands, way, frame);
        fill(scene, commands, way, frame);
        app_image_barrier(commands, &scene->images[way], VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
        copy_out(scene, commands, way, way);
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->read, 0, VK_WHOLE_SIZE);
    EXPECT_EQ(app, memcmp(read, scene->wanted, sizeof scene->wanted), 0);
    if (frame)
        EXPECT_EQ(app, memcmp(read + sizeof scene->wanted, scene->before, sizeof scene->before), 0);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "targets", .what = "images that frames clear", .frames = 8};
    const VkPhysicalDeviceVulkan13Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                       .dynamicRendering = VK_TRUE};
    const struct app_device_request request = {.next = &features};
    static struct scene scene;
    struct app *app = &scene.app;

    app_init(app, argc, argv, &program);
    if (app->api_version < VK_API_VERSION_1_3)
        app_skip(app, "no Vulkan 1.3");
    app_device_create(app, &request);
    create(&scene);
    for (uint32_t frame = 0; frame < app->frames; frame++)
        run_frame(&scene, frame);
    destroy(&scene);
    return app_finish(app);
}
