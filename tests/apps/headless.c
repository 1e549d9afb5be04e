/* SPDX-License-Identifier: MIT */
/*
 * headless: never presents and never makes a window. Draws into an image, copies it to a buffer that the host reads,
 * and lets the host write and read images of linear tiling by rows, through their row pitch. The image has two layers
 * with --layers, of which the first is drawn to, and with --views, where both are.
 */
#include "common/app.h"
#include "shaders/headless_frag.h"
#include "shaders/headless_vert.h"

#define SIZE          128u /* of the image drawn; cells are 16 pixels wide */
#define LINEAR_WIDTH  100u /* a width that no row pitch is likely to equal */
#define LINEAR_HEIGHT 37u

/* The colour of a cell is computed by the shader from its place and the frame: the same here. */
static uint32_t cell(uint32_t x, uint32_t y, uint32_t frame)
{
    uint32_t column = x / 16, row = y / 16;
    return (column * 32) | (row * 32) << 8 | ((frame * 16) & 0xff) << 16 | 0xff000000u; /* bytes R, G, B, A */
}

static bool layers, views;
static const struct app_option options[] = {
    {.name = "--layers", .help = "the framebuffer has two layers", .flag = &layers},
    {.name = "--views", .help = "the render pass draws two views", .flag = &views},
    {.name = NULL},
};

/* Draws both views. */
static VkRenderPass multiview_pass(const struct app *app, VkFormat format)
{
    static const uint32_t both = 3;
    const VkRenderPassMultiviewCreateInfo multiview = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO, .subpassCount = 1, .pViewMasks = &both};
    const VkAttachmentDescription attachment = {.format = format,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.colorAttachmentCount = 1, .pColorAttachments = &color};
    const VkSubpassDependency dependency = {.srcSubpass = 0,
                                            .dstSubpass = VK_SUBPASS_EXTERNAL,
                                            .srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                                            .dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                            .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                            .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT};
    const VkRenderPassCreateInfo create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                           .pNext = &multiview,
                                           .attachmentCount = 1,
                                           .pAttachments = &attachment,
                                           .subpassCount = 1,
                                           .pSubpasses = &subpass,
                                           .dependencyCount = 1,
                                           .pDependencies = &dependency};
    VkRenderPass pass;
    CHECK_VK(vkCreateRenderPass(app->device, &create, NULL, &pass));
    return pass;
}

static VkFramebuffer layered_framebuffer(const struct app *app, VkRenderPass pass, VkImageView view)
{
    const VkFramebufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                            .renderPass = pass,
                                            .attachmentCount = 1,
                                            .pAttachments = &view,
                                            .width = SIZE,
                                            .height = SIZE,
                                            .layers = layers ? 2 : 1};
    VkFramebuffer framebuffer;
    CHECK_VK(vkCreateFramebuffer(app->device, &create, NULL, &framebuffer));
    return framebuffer;
}

static void draw_frames(const struct app *app)
{
    struct app_image image;
    struct app_buffer pixels;
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                      .imageType = VK_IMAGE_TYPE_2D,
                                      .format = format,
                                      .extent = {SIZE, SIZE, 1},
                                      .mipLevels = 1,
                                      .arrayLayers = layers || views ? 2 : 1,
                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                      .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    app_image_create(app, &image, &create, VK_IMAGE_ASPECT_COLOR_BIT,
                     layers || views ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D);
    app_buffer_create(app, &pixels, SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    VkRenderPass pass = views ? multiview_pass(app, format)
                              : app_render_pass(app, format, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkFramebuffer framebuffer = layered_framebuffer(app, pass, image.view);
    VkPipelineLayout layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    struct app_pipeline pipeline_info = {
        .vertex = app_shader(app, headless_vert, sizeof(headless_vert)),
        .fragment = app_shader(app, headless_frag, sizeof(headless_frag)),
        .layout = layout,
        .render_pass = pass,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
        .color_count = 1,
    };
    VkPipeline pipeline = app_graphics_pipeline(app, &pipeline_info);
    for (uint32_t frame = 0; frame < app->frames; frame++) {
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
        app_set_viewport(commands, SIZE, SIZE / 2); /* the lower half stays clear */
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
                EXPECT_EQ(app, ((uint32_t *)pixels.mapped)[y * SIZE + x], y < SIZE / 2 ? cell(x, y, frame) : 0);
    }
    vkDestroyShaderModule(app->device, pipeline_info.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline_info.fragment, NULL);
    vkDestroyPipeline(app->device, pipeline, NULL);
    vkDestroyPipelineLayout(app->device, layout, NULL);
    vkDestroyFramebuffer(app->device, framebuffer, NULL);
    vkDestroyRenderPass(app->device, pass, NULL);
    app_image_destroy(app, &image);
    app_buffer_destroy(app, &pixels);
}

struct linear {
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize allocated;
    VkSubresourceLayout layout;
    uint8_t *rows; /* the first texel */
    bool coherent;
};

static void linear_create(const struct app *app, struct linear *linear, VkImageUsageFlags usage, enum app_memory kind)
{
    VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    create.imageType = VK_IMAGE_TYPE_2D;
    create.format = VK_FORMAT_R8G8B8A8_UNORM;
    create.extent = (VkExtent3D){LINEAR_WIDTH, LINEAR_HEIGHT, 1};
    create.mipLevels = create.arrayLayers = 1;
    create.samples = VK_SAMPLE_COUNT_1_BIT;
    create.tiling = VK_IMAGE_TILING_LINEAR;
    create.usage = usage;
    create.initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED;
    CHECK_VK(vkCreateImage(app->device, &create, NULL, &linear->image));
    VkMemoryRequirements requirements;
    vkGetImageMemoryRequirements(app->device, linear->image, &requirements);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = linear->allocated = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, kind);
    linear->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &linear->memory));
    CHECK_VK(vkBindImageMemory(app->device, linear->image, linear->memory, 0));
    const VkImageSubresource color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    vkGetImageSubresourceLayout(app->device, linear->image, &color, &linear->layout);
    if (linear->layout.rowPitch < LINEAR_WIDTH * 4 && app->no_check) /* a driver that only pretends */
        linear->layout = (VkSubresourceLayout){.rowPitch = LINEAR_WIDTH * 4};
    CHECK(linear->layout.rowPitch >= LINEAR_WIDTH * 4);
    const VkDeviceSize last_row = linear->layout.offset + linear->layout.rowPitch * (LINEAR_HEIGHT - 1);
    CHECK(last_row + LINEAR_WIDTH * 4 <= requirements.size);
    void *mapped = NULL;
    CHECK_VK(vkMapMemory(app->device, linear->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    linear->rows = (uint8_t *)mapped + linear->layout.offset;
}

static void linear_destroy(const struct app *app, struct linear *linear)
{
    vkUnmapMemory(app->device, linear->memory);
    vkDestroyImage(app->device, linear->image, NULL);
    vkFreeMemory(app->device, linear->memory, NULL);
}

static uint32_t linear_texel(uint32_t x, uint32_t y, uint32_t round)
{
    return x | y << 8 | (round * 37 & 0xff) << 16 | (x * y % 251) << 24;
}

/* host -> linear image -> optimal image -> linear image -> host */
static void linear_round_trip(const struct app *app)
{
    const VkFormatFeatureFlags features = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    if (!app_format_has(app, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TILING_LINEAR, features)) {
        printf("left out: images of linear tiling\n");
        return;
    }
    struct linear source, target;
    struct app_image between;
    linear_create(app, &source, VK_IMAGE_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    linear_create(app, &target, VK_IMAGE_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_image_create_2d(app, &between, VK_FORMAT_R8G8B8A8_UNORM, LINEAR_WIDTH, LINEAR_HEIGHT,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    struct app_image source_image = {.image = source.image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    struct app_image target_image = {.image = target.image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    const uint32_t rounds = 8;
    for (uint32_t round = 0; round < rounds; round++) {
        /* All rows first, then a band of them: most of the image is as the round before left it. */
        for (uint32_t y = round ? round * 3 : 0; y < (round ? round * 3 + 5 : LINEAR_HEIGHT); y++)
            for (uint32_t x = 0; x < LINEAR_WIDTH; x++)
                ((uint32_t *)(source.rows + y * source.layout.rowPitch))[x] = linear_texel(x, y, round);
        if (!source.coherent)
            app_memory_sync(app, source.memory, source.allocated, 0, source.allocated, false);
        VkCommandBuffer commands = app_begin(app);
        /* The host writes only in PREINITIALIZED and GENERAL, which keep contents. */
        app_image_barrier(commands, &source_image, round ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_PREINITIALIZED,
                          VK_IMAGE_LAYOUT_GENERAL);
        app_image_barrier(commands, &target_image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        app_image_barrier(commands, &between, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        const VkImageSubresourceLayers color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
        VkImageCopy copy = {color, {0, 0, 0}, color, {0, 0, 0}, {LINEAR_WIDTH, LINEAR_HEIGHT, 1}};
        vkCmdCopyImage(commands, source.image, VK_IMAGE_LAYOUT_GENERAL, between.image,
                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &copy);
        app_image_barrier(commands, &between, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                          VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        vkCmdCopyImage(commands, between.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, target.image,
                       VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        app_run(app, commands);
        if (!target.coherent)
            app_memory_sync(app, target.memory, target.allocated, 0, target.allocated, true);
        for (uint32_t y = 0; y < LINEAR_HEIGHT; y++)
            for (uint32_t x = 0; x < LINEAR_WIDTH; x++) {
                uint32_t last = 0; /* the last round that wrote this row */
                for (uint32_t r = 1; r <= round; r++)
                    last = y >= r * 3 && y < r * 3 + 5 ? r : last;
                EXPECT_EQ(app, ((uint32_t *)(target.rows + y * target.layout.rowPitch))[x], linear_texel(x, y, last));
            }
    }
    linear_destroy(app, &source);
    linear_destroy(app, &target);
    app_image_destroy(app, &between);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "headless",
        .what = "Draws into an image and reads it back; the host reads and writes linear images.",
        .frames = 16,
        .options = options,
    };
    const VkPhysicalDeviceMultiviewFeatures multiview = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES,
                                                         .multiview = VK_TRUE};
    const struct app_device_request request = {.next = &multiview};
    struct app app;
    app_init(&app, argc, argv, &program);
    app_device_create(&app, views ? &request : NULL);
    draw_frames(&app);
    linear_round_trip(&app);
    return app_finish(&app);
}
