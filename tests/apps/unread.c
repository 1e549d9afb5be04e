/* SPDX-License-Identifier: MIT */
/*
 * unread: work whose results nobody reads, in memory that nobody maps: a buffer that is filled, images that are
 * cleared, with levels and layers, depth and stencil, a copy of one image into another, render passes that store and
 * that don't store, several samples. One submit waits for a timeline semaphore that the host signals later. With
 * --transient the image that is not stored is a transient attachment, of a framebuffer without images.
 */
#include "common/app.h"

#define SIDE      32u
#define TRANSIENT (VkImageUsageFlags) VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT

static bool transient;
static const struct app_option options[] = {
    {.name = "--transient", .help = "what is not stored is in a transient attachment", .flag = &transient},
    {.name = NULL},
};

struct scene {
    struct app *app;
    struct app_buffer buffer;
    struct app_image levels, depth, copy, stored, lost, samples;
    VkSemaphore timeline;
};

static void create(struct scene *scene, VkFormat depth)
{
    const struct app *app = scene->app;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {SIDE, SIDE, 1},
                              .mipLevels = 3,
                              .arrayLayers = 2,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};

    app_buffer_create(app, &scene->buffer, 1024, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    app_image_create(app, &scene->levels, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    info.mipLevels = info.arrayLayers = 1;
    info.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    app_image_create(app, &scene->copy, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    info.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    app_image_create(app, &scene->stored, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    info.usage |= transient ? TRANSIENT : 0;
    app_image_create(app, &scene->lost, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    info.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    info.samples = VK_SAMPLE_COUNT_4_BIT;
    app_image_create(app, &scene->samples, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.format = depth;
    info.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    app_image_create(app, &scene->depth, &info, VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    CHECK_VK(vkCreateSemaphore(app->device, &semaphore, NULL, &scene->timeline));
}

static void transfers(const struct scene *scene, bool has_stencil)
{
    const VkClearColorValue color = {.float32 = {0.25f, 0.5f, 0.75f, 1}};
    const VkClearDepthStencilValue value = {0.5f, 7};
    const VkImageSubresourceRange part = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, 0, 2},
                                  first = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 1, 1};
    const VkImageSubresourceRange depth = {VK_IMAGE_ASPECT_DEPTH_BIT | (has_stencil ? VK_IMAGE_ASPECT_STENCIL_BIT : 0u),
                                           0, 1, 0, 1};
    const VkImageCopy copy = {.srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 1},
                              .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .extent = {SIDE, SIDE, 1}};
    VkCommandBuffer commands = app_begin(scene->app);
    struct app_image whole = scene->depth;

    whole.aspect = depth.aspectMask;
    vkCmdFillBuffer(commands, scene->buffer.buffer, 64, 512, 0x12345678);
    app_image_barrier(commands, &scene->levels, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    app_image_barrier(commands, &scene->copy, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    app_image_barrier(commands, &whole, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdClearColorImage(commands, scene->levels.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1, &part);
    vkCmdClearColorImage(commands, scene->levels.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1, &first);
    vkCmdClearDepthStencilImage(commands, scene->depth.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &value, 1, &depth);
    app_image_barrier(commands, &scene->levels, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImage(commands, scene->levels.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->copy.image,
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &copy);
    app_run(scene->app, commands);
}

static VkFramebuffer framebuffer_without_images(const struct app *app, VkRenderPass pass)
{
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkFramebufferAttachmentImageInfo image = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENT_IMAGE_INFO,
                                                    .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | TRANSIENT,
                                                    .width = SIDE,
                                                    .height = SIDE,
                                                    .layerCount = 1,
                                                    .viewFormatCount = 1,
                                                    .pViewFormats = &format};
    const VkFramebufferAttachmentsCreateInfo images = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO,
                                                       .attachmentImageInfoCount = 1,
                                                       .pAttachmentImageInfos = &image};
    const VkFramebufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                          .pNext = &images,
                                          .flags = VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT,
                                          .renderPass = pass,
                                          .attachmentCount = 1,
                                          .width = SIDE,
                                          .height = SIDE,
                                          .layers = 1};
    VkFramebuffer framebuffer;

    CHECK_VK(vkCreateFramebuffer(app->device, &info, NULL, &framebuffer));
    return framebuffer;
}

/* A clear by a render pass. */
static void draw(const struct scene *scene, const struct app_image *image, VkSampleCountFlagBits samples,
                 VkAttachmentStoreOp store)
{
    const struct app *app = scene->app;
    const VkAttachmentDescription attachment = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                                .samples = samples,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                .storeOp = store,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                .finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.colorAttachmentCount = 1, .pColorAttachments = &reference};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 1,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    const VkClearValue clear = {.color = {.float32 = {1, 0.5f, 0, 1}}};
    const VkRenderPassAttachmentBeginInfo view = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO,
                                                  .attachmentCount = 1,
                                                  .pAttachments = &image->view};
    const bool imageless = transient && image == &scene->lost;
    VkCommandBuffer commands;
    VkFramebuffer framebuffer;
    VkRenderPass pass;

    CHECK_VK(vkCreateRenderPass(app->device, &info, NULL, &pass));
    framebuffer =
        imageless ? framebuffer_without_images(app, pass) : app_framebuffer(app, pass, 1, &image->view, SIDE, SIDE);
    commands = app_begin(app);
    vkCmdBeginRenderPass(commands,
                         &(VkRenderPassBeginInfo){.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                                  .pNext = imageless ? &view : NULL,
                                                  .renderPass = pass,
                                                  .framebuffer = framebuffer,
                                                  .renderArea = {{0, 0}, {SIDE, SIDE}},
                                                  .clearValueCount = 1,
                                                  .pClearValues = &clear},
                         VK_SUBPASS_CONTENTS_INLINE);
    vkCmdEndRenderPass(commands);
    app_run(app, commands);
    vkDestroyFramebuffer(app->device, framebuffer, NULL);
    vkDestroyRenderPass(app->device, pass, NULL);
}

/* Nobody may wait for this right behind its submit. */
static void later(const struct scene *scene)
{
    const struct app *app = scene->app;
    const uint64_t one = 1;
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = 1,
                                                  .pWaitSemaphoreValues = &one};
    const VkSemaphoreSignalInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = scene->timeline, .value = 1};
    VkCommandBuffer commands = app_begin(app);
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .pNext = &values,
                                 .waitSemaphoreCount = 1,
                                 .pWaitSemaphores = &scene->timeline,
                                 .pWaitDstStageMask = &stage,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands};

    vkCmdFillBuffer(commands, scene->buffer.buffer, 768, 128, 0x9abcdef0);
    CHECK_VK(vkEndCommandBuffer(commands));
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, VK_NULL_HANDLE));
    CHECK_VK(vkSignalSemaphore(app->device, &signal));
    CHECK_VK(vkQueueWaitIdle(app->queue));
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "unread", .what = "writes what nobody reads", .frames = 1, .options = options};
    VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .timelineSemaphore = VK_TRUE};
    const struct app_device_request request = {.next = &features};
    struct app app;
    struct scene scene = {.app = &app};
    VkFormat depth;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_2)
        app_skip(&app, "no Vulkan 1.2");
    features.imagelessFramebuffer = transient; /* every device of Vulkan 1.2 has them */
    app_device_create(&app, &request);
    depth = app_format_has(&app, VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_TILING_OPTIMAL,
                           VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT)
                ? VK_FORMAT_D24_UNORM_S8_UINT
                : VK_FORMAT_D32_SFLOAT_S8_UINT;
    create(&scene, depth);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        transfers(&scene, true);
        draw(&scene, &scene.stored, VK_SAMPLE_COUNT_1_BIT, VK_ATTACHMENT_STORE_OP_STORE);
        draw(&scene, &scene.lost, VK_SAMPLE_COUNT_1_BIT, VK_ATTACHMENT_STORE_OP_DONT_CARE);
        draw(&scene, &scene.samples, VK_SAMPLE_COUNT_4_BIT, VK_ATTACHMENT_STORE_OP_STORE);
        later(&scene);
    }
    vkDestroySemaphore(app.device, scene.timeline, NULL);
    app_image_destroy(&app, &scene.samples);
    app_image_destroy(&app, &scene.lost);
    app_image_destroy(&app, &scene.stored);
    app_image_destroy(&app, &scene.copy);
    app_image_destroy(&app, &scene.depth);
    app_image_destroy(&app, &scene.levels);
    app_buffer_destroy(&app, &scene.buffer);
    return app_finish(&app);
}
